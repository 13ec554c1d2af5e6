//! A slot's tree folder holds exactly the tree that was laid out last.

use std::cell::Cell;
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::thread;
use std::time::Duration;

use perspt_core::path::RelPath;
use perspt_core::tree::{Entry, EntryKind, Tree};
use perspt_sandbox::slot::{BadTarget, Contents, Folder, LaidOut, Slot, SlotError};
use rustix::fs::{CWD, FileType, Mode, OFlags};
use tempfile::tempdir;

use super::util::{
    Made, PATIENCE, Place, chmod, everything, link, mtime, path, walked, without_privilege, write,
};

fn good() -> Made {
    Made::of(&[("src/main.rs", "fn main() {}\r\n"), ("src/ä/ö.rs", ""), ("README", "read\n")])
        .with("run", EntryKind::Exec, "#!/bin/sh\n")
        .with("latest", EntryKind::Symlink, "src/main.rs")
        .with("nowhere", EntryKind::Symlink, "/no/such/place")
}

#[test]
fn a_tree_is_laid_out_with_bytes_links_and_rights_to_execute() {
    let mut place = Place::new();
    let done = place.slot.lay_out(&good().tree, &good()).unwrap();
    assert_eq!(done, LaidOut { written: 6, ..LaidOut::default() });
    place.holds_exactly(&good());
    assert_eq!(place.slot.laid_tree().unwrap().id(), good().tree.id());
}

#[test]
fn the_walk_of_a_slot_gives_the_id_of_the_workspace() {
    let workspace = tempdir().unwrap();
    good().put(workspace.path());
    write(workspace.path(), ".gitignore", "*.tmp\n");
    write(workspace.path(), "src/x.tmp", "not laid out");
    fs::create_dir(workspace.path().join("empty")).unwrap();
    let tree = walked(workspace.path()).tree;

    let mut place = Place::new();
    place.slot.lay_out(&tree, &Folder::new(workspace.path())).unwrap();

    assert_eq!(walked(&place.slot.tree()).tree, tree);
    assert_eq!(tree.entries.len(), 7);
    // Copies, never hard links: writing in the slot must not reach the workspace.
    assert_eq!(fs::metadata(workspace.path().join("README")).unwrap().nlink(), 1);
    fs::write(place.file("README"), "other").unwrap();
    assert_eq!(walked(workspace.path()).tree, tree);
}

#[test]
fn what_is_right_is_left_alone_and_the_rest_is_written_or_removed() {
    let mut place = Place::new();
    place.slot.lay_out(&good().tree, &good()).unwrap();
    let untouched = (mtime(&place.file("src/main.rs")), mtime(&place.file("latest")));

    let mut next = good().with("README", EntryKind::File, "READ\n").with("new/file", EntryKind::File, "n");
    next.tree.entries.remove(&path("src/ä/ö.rs"));
    let done = place.slot.lay_out(&next.tree, &next).unwrap();

    assert_eq!(done, LaidOut { written: 2, removed: 1, kept: 4, ..LaidOut::default() });
    place.holds_exactly(&next);
    assert_eq!((mtime(&place.file("src/main.rs")), mtime(&place.file("latest"))), untouched);

    let done = place.slot.lay_out(&next.tree, &next).unwrap();
    assert_eq!(done, LaidOut { kept: 6, ..LaidOut::default() });
}

#[test]
fn what_is_known_outlives_the_process() {
    let mut place = Place::new();
    place.slot.lay_out(&good().tree, &good()).unwrap();
    let mut place = place.reopened();
    let done = place.slot.lay_out(&good().tree, &good()).unwrap();
    assert_eq!(done, LaidOut { kept: 6, ..LaidOut::default() });
}

#[test]
fn kinds_replace_each_other() {
    let (file, exec, link_) = (EntryKind::File, EntryKind::Exec, EntryKind::Symlink);
    let kinds = [
        Made::default().with("x", file, "same"),
        Made::default().with("x", exec, "same"),
        Made::default().with("x", link_, "same"),
        Made::default().with("x/y", file, "below"),
        Made::default().with("x/y/z", link_, "../.."),
    ];
    let mut place = Place::new();
    for from in &kinds {
        for to in &kinds {
            place.slot.lay_out(&from.tree, from).unwrap();
            place.holds_exactly(from);
            place.slot.lay_out(&to.tree, to).unwrap();
            place.holds_exactly(to);
        }
    }
}

#[test]
fn everything_that_is_not_listed_is_removed_and_no_link_is_followed() {
    let outside = tempdir().unwrap();
    let treasure = write(outside.path(), "treasure", "gold");
    chmod(outside.path(), 0o500);
    let mut place = Place::new();
    place.slot.lay_out(&good().tree, &good()).unwrap();

    let tree = place.slot.tree();
    write(&tree, ".gitignore", "*.pyc\n");
    write(&tree, "src/__pycache__/main.pyc", "stale");
    write(&tree, "target/debug/deep/er/lib.rlib", "x");
    fs::create_dir_all(tree.join("empty/below")).unwrap();
    fs::create_dir_all(tree.join(".git/objects")).unwrap();
    write(&tree, ".perspt-0123abcd-1", "x");
    link(&tree, "out", outside.path().to_str().unwrap());
    link(&tree, "target/out", outside.path().to_str().unwrap());
    rustix::fs::mknodat(CWD, tree.join("fifo"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    fs::write(tree.join(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"\xff")), "x")
        .unwrap();
    // A folder of the tree became a link, with the same files behind it.
    fs::rename(tree.join("src"), outside.path().join("src")).unwrap();
    link(&tree, "src", outside.path().join("src").to_str().unwrap());

    place.slot.lay_out(&good().tree, &good()).unwrap();

    place.holds_exactly(&good());
    assert_eq!(fs::read_to_string(&treasure).unwrap(), "gold");
    assert_eq!(fs::metadata(outside.path()).unwrap().permissions().mode() & 0o777, 0o500);
    assert!(outside.path().join("src/main.rs").exists());
    assert!(!place.dir.join("trash").exists());
}

#[test]
fn folders_and_files_without_rights_are_removed_or_restored_without_privilege() {
    without_privilege(|| {
        let mut place = Place::new();
        place.slot.lay_out(&good().tree, &good()).unwrap();
        let tree = place.slot.tree();
        write(&tree, "junk/a/b/c", "x");
        write(&tree, "src/ä/new", "x");
        write(&place.slot.tmp(), "t/u", "x");
        for folder in ["junk/a/b", "junk/a", "junk", "src/ä", "src", ""] {
            chmod(&tree.join(folder), 0o000);
        }
        for folder in ["t", ""] {
            chmod(&place.slot.tmp().join(folder), 0o500);
        }
        place.slot.lay_out(&good().tree, &good()).unwrap();
        chmod(&place.file("README"), 0o000);
        place.slot.lay_out(&good().tree, &good()).unwrap();
        place.holds_exactly(&good());
        place.slot.reset_tmp().unwrap();
        assert_eq!(everything(&place.slot.tmp()), [""; 0]);
    });
}

/// Makes folders in folders until their path is longer than the kernel takes, and their number larger than
/// that of the files a process may have open.
fn dig(place: &Path) {
    let open = |at: &dyn AsRef<Path>, from: Option<&std::os::fd::OwnedFd>| {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match from {
            Some(from) => rustix::fs::openat(from, at.as_ref(), flags, Mode::empty()).unwrap(),
            None => rustix::fs::open(at.as_ref(), flags, Mode::empty()).unwrap(),
        }
    };
    let mut folder = open(&place, None);
    for _ in 0..1100 {
        rustix::fs::mkdirat(&folder, "down", Mode::RWXU).unwrap();
        folder = open(&"down", Some(&folder));
    }
}

#[test]
fn trees_deeper_than_any_path_are_removed() {
    let mut place = Place::new();
    dig(&place.slot.tree());
    place.slot.lay_out(&good().tree, &good()).unwrap();
    place.holds_exactly(&good());
    dig(&place.slot.tree());
    assert_eq!(place.slot.recheck().unwrap().new, [path("down")]);
    dig(&place.slot.build());
    place.slot.wipe_build().unwrap();
    assert_eq!(everything(&place.dir).iter().filter(|name| name.contains("down")).count(), 0);
}

#[test]
fn mount_points_stay_as_empty_folders_and_conflicts_are_refused() {
    let mut place = Place::new();
    place.slot.set_mount_points(vec![path(".venv"), path("a/b")]);
    place.slot.lay_out(&good().tree, &good()).unwrap();
    write(&place.slot.tree(), ".venv/bin/python", "x");
    fs::create_dir(place.file("other")).unwrap();
    assert_eq!(place.slot.recheck().unwrap().new, [path(".venv/bin"), path("other")]);
    place.slot.lay_out(&good().tree, &good()).unwrap();
    let all = everything(&place.slot.tree());
    assert!(all.contains(&".venv/".to_owned()) && all.contains(&"a/b/".to_owned()));
    assert_eq!(all.len(), 6 + 2 + 3);

    for name in ["a", ".venv"] {
        let made = good().with(name, EntryKind::File, "x");
        let refused = place.slot.lay_out(&made.tree, &made);
        assert!(matches!(refused, Err(SlotError::BadTarget { why: BadTarget::MountPoint, .. })), "{name}");
    }
}

#[test]
fn a_tree_that_cannot_be_laid_out_is_refused_before_anything_changes() {
    let mut place = Place::new();
    place.slot.lay_out(&good().tree, &good()).unwrap();
    let cases = [
        (".git/hooks/post-checkout", BadTarget::Git),
        ("sub/.git", BadTarget::Git),
        ("src/.perspt-0123abcd-1", BadTarget::Reserved),
        ("README/below", BadTarget::BelowFile),
        ("latest/through/a/link", BadTarget::BelowFile),
    ];
    for (name, expected) in cases {
        let made = good().with(name, EntryKind::File, "x");
        let Err(SlotError::BadTarget { path: at, why }) = place.slot.lay_out(&made.tree, &made) else {
            panic!("{name} was laid out")
        };
        assert_eq!((at.as_str(), why), (name, expected));
    }
    place.holds_exactly(&good());
}

#[test]
fn content_that_is_gone_or_different_is_named() {
    let workspace = tempdir().unwrap();
    good().put(workspace.path());
    let tree = walked(workspace.path()).tree;
    let contents = Folder::new(workspace.path());
    let readme = workspace.path().join("README");
    let mut place = Place::new();
    let mut gone = |what: &str| match place.slot.lay_out(&tree, &contents) {
        Err(SlotError::BaseGone { path }) => assert_eq!(path.as_str(), "README", "{what}"),
        other => panic!("{what}: {other:?}"),
    };
    fs::write(&readme, "Read\n").unwrap();
    gone("same size");
    fs::remove_file(&readme).unwrap();
    gone("deleted");
    link(workspace.path(), "README", "src/main.rs");
    gone("a link");
    fs::remove_file(&readme).unwrap();
    fs::create_dir(&readme).unwrap();
    gone("a folder");
    fs::remove_dir(&readme).unwrap();
    write(workspace.path(), "README", "read\n");
    place.slot.lay_out(&tree, &contents).unwrap();
    place.holds_exactly(&good());
}

/// Contents that end after so many files, as a process does that is killed there.
struct Ending<'a>(&'a Made, Cell<usize>);

impl Contents for Ending<'_> {
    fn open(&self, path: &RelPath, entry: &Entry) -> io::Result<Box<dyn Read>> {
        let left = self.1.get().checked_sub(1).ok_or(io::ErrorKind::Other)?;
        self.1.set(left);
        self.0.open(path, entry)
    }
}

#[test]
fn a_layout_that_ended_at_any_file_is_brought_right_by_the_next() {
    let other = Made::of(&[("README", "R"), ("src", "a file now"), ("run", "r"), ("z/z", "z")]).with(
        "latest",
        EntryKind::Symlink,
        "README",
    );
    for end in 0..5 {
        let mut place = Place::new();
        place.slot.lay_out(&good().tree, &good()).unwrap();
        place.slot.lay_out(&other.tree, &Ending(&other, Cell::new(end))).unwrap_err();
        let mut place = place.reopened();
        place.slot.lay_out(&good().tree, &good()).unwrap();
        place.holds_exactly(&good());
        place.slot.lay_out(&other.tree, &Ending(&other, Cell::new(end))).unwrap_err();
        let mut place = place.reopened();
        place.slot.lay_out(&other.tree, &other).unwrap();
        place.holds_exactly(&other);
    }
}

#[test]
fn without_a_whole_index_every_file_is_read_and_the_tree_comes_right() {
    type Wreck = (&'static str, fn(&Path));
    let wreck: [Wreck; 4] = [
        ("lost", |index| fs::remove_file(index).unwrap()),
        ("empty", |index| fs::write(index, "").unwrap()),
        ("cut", |index| fs::write(index, &fs::read(index).unwrap()[..100]).unwrap()),
        ("foreign", |index| fs::write(index, [7; 500]).unwrap()),
    ];
    for (what, wreck) in wreck {
        let mut place = Place::new();
        place.slot.lay_out(&good().tree, &good()).unwrap();
        fs::write(place.file("README"), "READ\n").unwrap();
        wreck(&place.dir.join("index"));
        let mut place = place.reopened();
        assert!(matches!(place.slot.recheck(), Err(SlotError::NotLaidOut { .. })), "{what}");
        let done = place.slot.lay_out(&good().tree, &good()).unwrap();
        assert_eq!((done.hashed, done.written, done.refreshed, done.kept), (6, 1, 5, 0), "{what}");
        place.holds_exactly(&good());
    }
}

#[test]
fn what_a_killed_process_left_beside_the_tree_does_no_harm() {
    let mut place = Place::new();
    place.slot.lay_out(&good().tree, &good()).unwrap();
    link(&place.dir, "incoming", "lock");
    write(&place.dir, "trash/7/a/b", "x");
    write(&place.dir, "index.new", "half an ind");
    let mut place = place.reopened();
    assert!(!place.dir.join("trash").exists());
    place.slot.lay_out(&Tree::default(), &good()).unwrap();
    place.slot.lay_out(&good().tree, &good()).unwrap();
    place.holds_exactly(&good());
    assert!(fs::symlink_metadata(place.dir.join("lock")).unwrap().is_file());
}

#[test]
fn a_slot_has_its_folders_for_its_owner_alone_and_can_empty_two_of_them() {
    let mut place = Place::new();
    let slot = &place.slot;
    for folder in [slot.dir().to_owned(), slot.tree(), slot.build(), slot.tmp(), slot.assets()] {
        assert_eq!(fs::metadata(folder).unwrap().permissions().mode() & 0o777, 0o700);
    }
    for folder in [slot.build(), slot.tmp(), slot.assets()] {
        write(&folder, "a/b", "x");
    }
    place.slot.reset_tmp().unwrap();
    place.slot.wipe_build().unwrap();
    assert_eq!(everything(&place.slot.tmp()), [""; 0]);
    assert_eq!(everything(&place.slot.build()), [""; 0]);
    assert_eq!(everything(&place.slot.assets()), ["a/", "a/b"]);
    assert_eq!(fs::metadata(place.slot.tmp()).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn a_slot_is_held_by_one_and_stays_taken_while_a_helper_has_its_lock() {
    let place = Place::new();
    let busy = |dir: &Path| matches!(Slot::open(dir, Duration::ZERO), Err(SlotError::Busy { .. }));
    assert!(busy(&place.dir));
    let inherited = place.slot.lock_fd().try_clone_to_owned().unwrap();
    let Place { slot, dir, _temp } = place;
    drop(slot);
    assert!(busy(&dir));
    thread::scope(|scope| {
        let waiting = scope.spawn(|| Slot::open(&dir, PATIENCE).map(drop));
        drop(inherited);
        waiting.join().unwrap().unwrap();
    });
    assert!(!busy(&dir));
}

#[test]
fn something_else_in_the_place_of_a_folder_is_an_error() {
    let temp = tempdir().unwrap();
    link(temp.path(), "slot/tree", "/");
    let opened = Slot::open(&temp.path().join("slot"), PATIENCE);
    assert!(matches!(opened, Err(SlotError::NotAFolder { .. })));

    write(temp.path(), "treasure/README", "gold");
    let mut place = Place::new();
    fs::remove_dir(place.slot.tree()).unwrap();
    link(&place.dir, "tree", temp.path().join("treasure").to_str().unwrap());
    assert!(matches!(place.slot.lay_out(&good().tree, &good()), Err(SlotError::NotAFolder { .. })));
    assert_eq!(fs::read_to_string(temp.path().join("treasure/README")).unwrap(), "gold");
}
