//! What a workspace's tree holds, without git.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixListener;

use perspt_core::hash::Sha;
use perspt_core::tree::EntryKind;
use perspt_sandbox::slot::{StatCache, WalkError, WalkLimits, WalkNote, walk};
use rustix::fs::{CWD, FileType, Mode};
use tempfile::tempdir;

use super::util::{chmod, link, names, path, try_walk, walked, write};

#[test]
fn without_git_a_tree_holds_every_file_by_its_bytes_and_no_folder() {
    let temp = tempdir().unwrap();
    write(temp.path(), "grüße/日本.txt", "ja\r\nnein\r\n");
    write(temp.path(), ".hidden", "");
    chmod(&write(temp.path(), "bin/go", "#!/bin/sh\n"), 0o755);
    // Only the owner's right counts.
    chmod(&write(temp.path(), "bin/group", ""), 0o614);
    fs::create_dir_all(temp.path().join("empty/below")).unwrap();

    let found = walked(temp.path());

    assert_eq!(names(&found.tree), [".hidden", "bin/go", "bin/group", "grüße/日本.txt"]);
    let crlf = found.tree.entries[&path("grüße/日本.txt")];
    assert_eq!((crlf.kind, crlf.hash, crlf.size), (EntryKind::File, Sha::of(b"ja\r\nnein\r\n"), 10));
    assert_eq!(found.tree.entries[&path("bin/go")].kind, EntryKind::Exec);
    assert_eq!(found.tree.entries[&path("bin/group")].kind, EntryKind::File);
    assert_eq!((found.hashed, found.dirs_read), (4, 5));
    assert_eq!(found.notes, []);
}

#[test]
fn links_are_entries_and_are_never_followed() {
    let (temp, outside) = (tempdir().unwrap(), tempdir().unwrap());
    write(outside.path(), "deep/secret", "s");
    write(temp.path(), "real/file", "f");
    let out = outside.path().to_str().unwrap();
    link(temp.path(), "out", out);
    link(temp.path(), "folder", "real");
    link(temp.path(), "loop", "loop");
    link(temp.path(), "up/again", "..");
    link(temp.path(), "dangling", "no/such");

    let found = walked(temp.path());

    assert_eq!(names(&found.tree), ["dangling", "folder", "loop", "out", "real/file", "up/again"]);
    let entry = found.tree.entries[&path("out")];
    assert_eq!((entry.kind, entry.hash), (EntryKind::Symlink, Sha::of(out.as_bytes())));
    assert_eq!(found.dirs_read, 3);
}

#[test]
fn a_name_that_is_not_utf8_is_refused_by_name_unless_it_is_ignored() {
    let temp = tempdir().unwrap();
    fs::create_dir(temp.path().join("a")).unwrap();
    fs::write(temp.path().join("a").join(OsStr::from_bytes(b"caf\xe9.txt")), "x").unwrap();
    let Err(WalkError::NotUtf8 { shown }) = try_walk(temp.path()) else { panic!("not refused") };
    assert_eq!(shown, "a/caf\u{fffd}.txt");

    write(temp.path(), ".gitignore", "caf*\n");
    assert_eq!(names(&walked(temp.path()).tree), [".gitignore"]);
}

#[test]
fn a_name_with_a_control_character_is_refused_and_shown_escaped() {
    let temp = tempdir().unwrap();
    write(temp.path(), "a/line\nbreak", "x");
    let Err(WalkError::ControlCharacter { shown }) = try_walk(temp.path()) else { panic!("not refused") };
    assert_eq!(shown, "a/line\\nbreak");
}

#[test]
fn sockets_and_fifos_are_passed_over_with_a_note_and_never_opened() {
    let temp = tempdir().unwrap();
    write(temp.path(), "file", "x");
    let _listener = UnixListener::bind(temp.path().join("socket")).unwrap();
    rustix::fs::mknodat(CWD, temp.path().join("fifo"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();

    let mut found = walked(temp.path());

    assert_eq!(names(&found.tree), ["file"]);
    found.notes.sort_by_key(|note| format!("{note:?}"));
    assert_eq!(
        found.notes,
        [WalkNote::Special { path: path("fifo") }, WalkNote::Special { path: path("socket") }]
    );
}

#[test]
fn ignore_files_work_without_git_at_every_level_and_the_nearest_rule_decides() {
    let temp = tempdir().unwrap();
    let root = temp.path();
    write(root, ".gitignore", "*.log\r\n/only-top\nbuild/\n!keep.log\n\\#odd\n");
    write(root, "sub/.gitignore", "\u{feff}!special.log\nkeep.log\n");
    for name in [
        "a.log",
        "keep.log",
        "only-top",
        "sub/only-top",
        "sub/special.log",
        "sub/keep.log",
        "sub/b.log",
        "build/x",
        "sub/build/y",
        "#odd",
        "file/build",
    ] {
        write(root, name, "x");
    }

    assert_eq!(
        names(&walked(root).tree),
        [".gitignore", "file/build", "keep.log", "sub/.gitignore", "sub/only-top", "sub/special.log"]
    );
}

#[test]
fn nothing_below_an_ignored_folder_is_taken_back_in() {
    let temp = tempdir().unwrap();
    write(temp.path(), ".gitignore", "out/\n!out/wanted\n");
    write(temp.path(), "out/wanted", "x");
    write(temp.path(), "out/.gitignore", "!*\n");
    assert_eq!(names(&walked(temp.path()).tree), [".gitignore"]);
}

#[test]
fn braces_in_a_rule_are_plain_characters_as_in_git() {
    let temp = tempdir().unwrap();
    write(temp.path(), ".gitignore", "*.{a,b}\n[{x]y\n");
    for name in ["f.a", "f.b", "f.{a,b}", "{y", "xy", "zy"] {
        write(temp.path(), name, "x");
    }
    assert_eq!(names(&walked(temp.path()).tree), [".gitignore", "f.a", "f.b", "zy"]);
}

#[test]
fn spaces_at_the_end_of_a_rule_count_only_after_a_backslash() {
    let temp = tempdir().unwrap();
    write(temp.path(), ".gitignore", "plain  \r\none\\   \n");
    for name in ["plain", "plain  ", "one", "one ", "one  "] {
        write(temp.path(), name, "x");
    }
    assert_eq!(names(&walked(temp.path()).tree), [".gitignore", "one", "one  ", "plain  "]);
}

#[test]
fn a_rule_that_cannot_be_understood_is_noted_and_the_others_hold() {
    let temp = tempdir().unwrap();
    write(temp.path(), "d/.gitignore", b"*.log\na[\n\xff\xfe\n*.tmp\n");
    write(temp.path(), "d/x.log", "");
    write(temp.path(), "d/x.tmp", "");
    let found = walked(temp.path());
    assert_eq!(names(&found.tree), ["d/.gitignore"]);
    let note = |line| WalkNote::Rule { folder: path("d"), line };
    assert_eq!(found.notes, [note(2), note(3)]);
}

#[test]
fn rules_of_folders_above_the_workspace_do_not_count() {
    let temp = tempdir().unwrap();
    write(temp.path(), ".gitignore", "*\n");
    fs::create_dir_all(temp.path().join(".git/info")).unwrap();
    write(temp.path(), ".git/info/exclude", "*\n");
    write(temp.path(), "ws/file", "x");
    assert_eq!(names(&walked(&temp.path().join("ws")).tree), ["file"]);
}

#[test]
fn a_link_in_the_place_of_an_ignore_file_is_not_read() {
    let temp = tempdir().unwrap();
    let rules = write(temp.path(), "elsewhere/rules", "*\n");
    link(temp.path(), "ws/.gitignore", rules.to_str().unwrap());
    write(temp.path(), "ws/file", "x");
    assert_eq!(names(&walked(&temp.path().join("ws")).tree), [".gitignore", "file"]);
}

#[test]
fn an_ignored_folder_of_20000_files_is_not_entered() {
    let temp = tempdir().unwrap();
    write(temp.path(), ".gitignore", "node_modules/\n");
    let file = write(temp.path(), "src/a", "x");
    for folder in 0..20 {
        let folder = temp.path().join(format!("node_modules/{folder}"));
        fs::create_dir_all(&folder).unwrap();
        for name in 0..1000 {
            // Names are what counts, and links are ten times quicker to make than files.
            fs::hard_link(&file, folder.join(name.to_string())).unwrap();
        }
    }
    let found = walked(temp.path());
    assert_eq!(names(&found.tree), [".gitignore", "src/a"]);
    assert_eq!((found.dirs_read, found.hashed), (2, 2));
}

#[test]
fn leftovers_of_publishing_are_passed_over_and_names_like_them_are_not() {
    let temp = tempdir().unwrap();
    for name in ["d/.perspt-0123abcd-7", ".perspt-0123abcd-", ".perspt-0123ABCD-1", ".perspt-0123abc-1"] {
        write(temp.path(), name, "x");
    }
    write(temp.path(), ".perspt-0123abcd-9/file", "a folder of that name is someone else's");
    assert_eq!(
        names(&walked(temp.path()).tree),
        [".perspt-0123ABCD-1", ".perspt-0123abc-1", ".perspt-0123abcd-", ".perspt-0123abcd-9/file"]
    );
}

#[test]
fn more_files_than_allowed_is_an_error_and_exactly_as_many_is_not() {
    let temp = tempdir().unwrap();
    for name in ["a", "b", "c"] {
        write(temp.path(), name, "x");
    }
    let count = |max_files| walk(temp.path(), &mut StatCache::new(), &WalkLimits { max_files });
    assert_eq!(count(3).unwrap().tree.entries.len(), 3);
    assert!(matches!(count(2), Err(WalkError::TooManyFiles { limit: 2 })));
    assert_eq!(WalkLimits::default().max_files, 200_000);
}

#[test]
fn a_workspace_that_is_not_there_is_an_error() {
    let temp = tempdir().unwrap();
    assert!(matches!(try_walk(&temp.path().join("none")), Err(WalkError::Io { .. })));
}
