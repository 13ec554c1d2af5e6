//! What git tracks, read from indexes that real git wrote.
#![allow(clippy::disallowed_types)]

use std::fs;
use std::path::Path;
use std::process::Command;

use perspt_core::path::RelPath;
use perspt_sandbox::slot::{IndexProblem, WalkNote};
use tempfile::{TempDir, tempdir};

use super::util::{link, names, path, walked, write};

fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@t", "-c", "protocol.file.allow=always"])
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env_remove("GIT_DIR")
        .env_remove("GIT_INDEX_FILE")
        .env_remove("GIT_WORK_TREE")
        .output()
        .unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A repository with rules of each kind and files on both sides of them.
fn repository(init: &[&str]) -> TempDir {
    let temp = tempdir().unwrap();
    let root = temp.path();
    git(root, &[&["init", "-q"], init].concat());
    write(root, ".gitignore", "target/\n*.o\n");
    write(root, ".git/info/exclude", "private\n!kept.o\n");
    for name in [
        "src/main.c",
        "src/über.c",
        "src/a.o",
        "kept.o",
        "private",
        "target/debug/out",
        "target/pinned/x.txt",
    ] {
        write(root, name, name);
    }
    git(root, &["add", "-f", "src/main.c", "src/a.o", "target/pinned/x.txt"]);
    temp
}

/// What git itself counts: tracked and still there, or not ignored.
fn by_git(root: &Path) -> Vec<String> {
    let list = git(root, &["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let mut names: Vec<String> =
        list.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    names.retain(|name| fs::symlink_metadata(root.join(name)).is_ok());
    names.sort();
    names.dedup();
    names
}

fn tracked_but_ignored_is_found_in(temp: &TempDir, version: u8) {
    let index = fs::read(temp.path().join(".git/index")).unwrap();
    assert_eq!(index[7], version);
    let found = walked(temp.path());
    assert_eq!(found.notes, []);
    assert_eq!(
        names(&found.tree),
        [".gitignore", "src/a.o", "src/main.c", "src/über.c", "target/pinned/x.txt"]
    );
    assert_eq!(names(&found.tree), by_git(temp.path()));
    // The workspace and `src`, but not `target`.
    assert_eq!(found.dirs_read, 2);
}

#[test]
fn tracked_files_count_although_they_are_ignored() {
    tracked_but_ignored_is_found_in(&repository(&[]), 2);
}

#[test]
fn tracked_files_are_found_in_an_index_of_version_3() {
    let temp = repository(&[]);
    git(temp.path(), &["add", "-N", "src/über.c"]);
    tracked_but_ignored_is_found_in(&temp, 3);
}

#[test]
fn tracked_files_are_found_in_an_index_of_version_4() {
    let temp = repository(&[]);
    // Long common parts, so that the shortened names of this version are more than one byte's worth.
    let long = format!("target/{}", "l".repeat(200));
    for name in [format!("{long}/one"), format!("{long}/two"), "target/z".to_owned()] {
        write(temp.path(), &name, "x");
        git(temp.path(), &["add", "-f", &name]);
    }
    git(temp.path(), &["update-index", "--index-version", "4"]);
    assert_eq!(fs::read(temp.path().join(".git/index")).unwrap()[7], 4);
    let found = walked(temp.path());
    assert_eq!(found.notes, []);
    assert_eq!(names(&found.tree), by_git(temp.path()));
    assert_eq!(found.tree.entries.len(), 8);
}

#[test]
fn tracked_files_are_found_in_a_repository_of_the_longer_hash() {
    tracked_but_ignored_is_found_in(&repository(&["--object-format=sha256"]), 2);
}

#[test]
fn a_large_index_with_extensions_is_read_in_full() {
    let temp = tempdir().unwrap();
    git(temp.path(), &["init", "-q"]);
    write(temp.path(), ".gitignore", "gen/\n");
    for at in 0..300 {
        write(temp.path(), &format!("gen/{at}/{}", "n".repeat(at % 40 + 1)), "x");
    }
    git(temp.path(), &["add", "-f", "."]);
    git(temp.path(), &["commit", "-q", "-m", "all"]);
    let found = walked(temp.path());
    assert_eq!((found.tree.entries.len(), found.dirs_read), (301, 1));
    assert_eq!(found.notes, []);
}

#[test]
fn a_tracked_file_that_is_deleted_is_not_in_the_tree() {
    let temp = repository(&[]);
    fs::remove_file(temp.path().join("src/main.c")).unwrap();
    fs::remove_dir_all(temp.path().join("target/pinned")).unwrap();
    assert_eq!(names(&walked(temp.path()).tree), [".gitignore", "src/a.o", "src/über.c"]);
}

#[test]
fn a_tracked_path_is_not_followed_through_a_link() {
    let (temp, outside) = (repository(&[]), tempdir().unwrap());
    write(outside.path(), "x.txt", "not ours");
    fs::remove_dir_all(temp.path().join("target/pinned")).unwrap();
    link(temp.path(), "target/pinned", outside.path().to_str().unwrap());
    assert_eq!(names(&walked(temp.path()).tree), [".gitignore", "src/a.o", "src/main.c", "src/über.c"]);
}

#[test]
fn settings_of_the_user_that_name_further_rules_do_not_count() {
    let temp = repository(&[]);
    let rules = write(temp.path(), ".git/mine", "*.c\n");
    git(temp.path(), &["config", "core.excludesFile", rules.to_str().unwrap()]);
    assert!(names(&walked(temp.path()).tree).contains(&"src/über.c"));
}

#[test]
fn a_repository_without_an_index_has_no_tracked_files_and_no_note() {
    let temp = tempdir().unwrap();
    git(temp.path(), &["init", "-q"]);
    write(temp.path(), "file", "x");
    let found = walked(temp.path());
    assert_eq!((names(&found.tree), found.notes), (vec!["file"], vec![]));
}

#[test]
fn a_broken_index_is_noted_and_the_other_files_are_found() {
    let temp = repository(&[]);
    let place = temp.path().join(".git/index");
    let whole = fs::read(&place).unwrap();
    let problem_of = |bytes: &[u8]| {
        fs::write(&place, bytes).unwrap();
        let found = walked(temp.path());
        assert!(names(&found.tree).contains(&"src/main.c"));
        match found.notes.as_slice() {
            [] => None,
            [WalkNote::Index { folder, problem }] if folder.is_root() => Some(problem.clone()),
            notes => panic!("{notes:?}"),
        }
    };
    assert_eq!(problem_of(&whole), None);
    assert_eq!(problem_of(b"garbage, not an index"), Some(IndexProblem::NotAnIndex));
    let newer = [&whole[..7], &[9], &whole[8..]].concat();
    assert_eq!(problem_of(&newer), Some(IndexProblem::Version(9)));
    for cut in 12..whole.len() {
        assert_eq!(problem_of(&whole[..cut]), Some(IndexProblem::Damaged), "cut at {cut}");
    }
    for at in 8..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 0xff;
        problem_of(&bytes);
    }
    fs::remove_file(&place).unwrap();
    fs::create_dir(&place).unwrap();
    let notes = walked(temp.path()).notes;
    assert!(matches!(notes.as_slice(), [WalkNote::Index { problem: IndexProblem::Unreadable(_), .. }]));
}

#[test]
fn a_split_index_is_noted() {
    let temp = repository(&[]);
    git(temp.path(), &["update-index", "--split-index"]);
    let notes = walked(temp.path()).notes;
    assert_eq!(notes, [WalkNote::Index { folder: RelPath::root(), problem: IndexProblem::Split }]);
}

#[test]
fn an_index_cannot_name_files_of_git_or_outside() {
    let temp = repository(&[]);
    let root = temp.path().join("ws");
    write(temp.path(), "outside.txt", "x");
    git(temp.path(), &["init", "-q", "ws"]);
    write(&root, ".gitignore", "out/\n");
    write(&root, "out/s.txt", "ignored, and not tracked under a plain name");
    // Git would never write such paths; each takes the place of one of the same length.
    let forged = [
        ("aa/outside.txt", "../outside.txt"),
        ("bbbb/config", ".git/config"),
        ("c/x", "/cx"),
        ("dd/out/s.txt", "./out//s.txt"),
    ];
    for (name, _) in forged {
        write(&root, name, "x");
        git(&root, &["add", "-f", name]);
    }
    let place = root.join(".git/index");
    let mut bytes = fs::read(&place).unwrap();
    for (from, to) in forged {
        assert_eq!(from.len(), to.len());
        let at = bytes.windows(from.len()).position(|window| window == from.as_bytes()).unwrap();
        bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
    }
    fs::write(&place, bytes).unwrap();
    let found = walked(&root);
    assert_eq!(found.notes, []);
    // What the rules leave in: `dd/out` is left out with the other.
    assert_eq!(names(&found.tree), [".gitignore", "aa/outside.txt", "bbbb/config", "c/x"]);
}

#[test]
fn a_linked_work_tree_is_read_through_its_pointer() {
    let temp = repository(&[]);
    git(temp.path(), &["commit", "-q", "-m", "first"]);
    let other = tempdir().unwrap();
    let tree = other.path().join("linked");
    git(temp.path(), &["worktree", "add", "-q", tree.to_str().unwrap()]);
    write(&tree, ".gitignore", "target/\n*.o\n");
    assert_eq!(names(&walked(&tree).tree), [".gitignore", "src/a.o", "src/main.c", "target/pinned/x.txt"]);

    fs::remove_dir_all(temp.path().join(".git/worktrees")).unwrap();
    let found = walked(&tree);
    assert_eq!(names(&found.tree), [".gitignore", "src/main.c"]);
    assert!(matches!(
        found.notes.as_slice(),
        [WalkNote::Index { problem: IndexProblem::Unreadable(std::io::ErrorKind::NotFound), .. }]
    ));
}

#[test]
fn nested_repositories_and_submodules_are_ordinary_folders_without_their_git() {
    let (temp, library) = (repository(&[]), repository(&[]));
    git(library.path(), &["commit", "-q", "-m", "first"]);
    git(temp.path(), &["submodule", "--quiet", "add", library.path().to_str().unwrap(), "sub"]);
    git(temp.path(), &["init", "-q", "nested/deeper"]);
    write(temp.path(), "nested/deeper/.gitignore", "*.gen\n");
    write(temp.path(), "nested/deeper/own.gen", "x");
    write(temp.path(), "nested/deeper/pinned.gen", "x");
    write(temp.path(), "nested/deeper/a.o", "the outer rules hold here too");
    git(&temp.path().join("nested/deeper"), &["add", "-f", "pinned.gen"]);

    let found = walked(temp.path());

    let all = names(&found.tree);
    assert!(all.iter().all(|name| !name.split('/').any(|part| part == ".git")), "{all:?}");
    let inner: Vec<&&str> =
        all.iter().filter(|name| name.starts_with("sub/") || name.starts_with("nested/")).collect();
    assert_eq!(
        inner,
        [
            &"nested/deeper/.gitignore",
            &"nested/deeper/pinned.gen",
            &"sub/src/a.o",
            &"sub/src/main.c",
            &"sub/target/pinned/x.txt",
        ]
    );
    assert_eq!(found.notes, []);
    assert!(found.tree.entries.contains_key(&path(".gitmodules")));
}
