//! Publishing into a real tree.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::sync::Arc;

use perspt_core::tree::{Change, EntryKind};
use perspt_store::publish::{finish, pending, publish, settle};
use perspt_store::{LogWriter, PublishRefusal, Published, StoreError, WorkspaceLease};
use perspt_testkit::disk::{Fault, Op, Watched};
use rustix::io::Errno;

use crate::crash::{after, before, start};
use crate::support::{
    HOME, Real, WORKSPACE, change, entry, file, home_on, id, path, publication, real_tree, session_of,
};

struct Tree {
    real: Real,
    _writer: LogWriter,
    lease: WorkspaceLease,
}

impl Tree {
    fn new(files: &[(&str, &str)]) -> Tree {
        let real = Real::new();
        let writer = session_of(&real.home, 1);
        for (name, bytes) in files {
            let file = real.workspace().join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, bytes).unwrap();
        }
        let lease = WorkspaceLease::try_acquire(&real.home, &real.workspace(), &id()).unwrap();
        Tree { real, _writer: writer, lease }
    }

    /// Publishes; the new contents are put into blobs first.
    fn publish(&self, contents: &[&str], changes: Vec<Change>) -> Result<Published, StoreError> {
        for bytes in contents {
            self.real.home.blobs(&id()).unwrap().put(bytes.as_bytes()).unwrap();
        }
        publish(&self.real.home, &self.lease, &publication(&self.real.workspace(), changes))
    }

    fn settle(&self) {
        assert_eq!(settle(&self.real.home, &self.lease).unwrap(), Vec::new());
        assert!(pending(&self.real.home, &self.real.workspace()).unwrap().is_none());
    }

    fn files(&self) -> Vec<(String, String)> {
        let tree = real_tree(&self.real.workspace());
        tree.into_iter().map(|(name, bytes)| (name, String::from_utf8(bytes).unwrap())).collect()
    }

    fn mode(&self, name: &str) -> u32 {
        fs::symlink_metadata(self.real.workspace().join(name)).unwrap().permissions().mode() & 0o7777
    }
}

fn owned(files: &[(&str, &str)]) -> Vec<(String, String)> {
    files.iter().map(|(name, bytes)| ((*name).to_owned(), (*bytes).to_owned())).collect()
}

#[test]
fn writes_creations_deletions_and_moves_arrive_together() {
    let tree = Tree::new(&[("a.txt", "old"), ("d/e/gone.txt", "gone"), ("from.txt", "m"), ("keep", "k")]);
    let changes = vec![
        change("a.txt", file("old"), file("new")),
        change("d/e/gone.txt", file("gone"), None),
        change("from.txt", file("m"), None),
        change("größe/Ünïcode 文件.txt", None, file("m")),
        change("x/y/z/new.txt", None, file("")),
    ];
    assert_eq!(tree.publish(&["new", "m", ""], changes).unwrap(), Published::Done);
    // The old ones wait beside the new until the commit is in the log.
    let waiting = tree.files().iter().filter(|(name, _)| name.contains(".perspt-")).count();
    assert_eq!(waiting, 3);
    assert_eq!(pending(&tree.real.home, &tree.real.workspace()).unwrap().unwrap().changes.len(), 5);
    tree.settle();
    let wanted = [("a.txt", "new"), ("größe/Ünïcode 文件.txt", "m"), ("keep", "k"), ("x/y/z/new.txt", "")];
    assert_eq!(tree.files(), owned(&wanted));
    assert!(!tree.real.workspace().join("d").exists(), "a folder that became empty is removed");
    tree.settle();
}

#[test]
fn a_replaced_file_keeps_owner_and_permissions_and_only_the_execute_bit_follows_the_tree() {
    let tree = Tree::new(&[("a", "1"), ("b", "2"), ("c", "3"), ("d", "4"), ("sub/keep", "")]);
    for (name, mode) in [("a", 0o640), ("b", 0o640), ("c", 0o751), ("d", 0o700)] {
        fs::set_permissions(tree.real.workspace().join(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    // Only root may give a file away; for others there is nothing to check here.
    let root = rustix::process::geteuid().is_root();
    if root {
        std::os::unix::fs::chown(tree.real.workspace().join("a"), Some(1234), Some(4321)).unwrap();
        std::os::unix::fs::chown(tree.real.workspace().join("sub"), Some(1234), Some(4321)).unwrap();
    }
    let exec = |bytes| Some(entry(EntryKind::Exec, bytes));
    let changes = vec![
        change("a", file("1"), file("new")),
        change("b", file("2"), exec("new")),
        change("c", exec("3"), file("3")),
        change("d", exec("4"), exec("new")),
        change("sub/deep/new.sh", None, exec("new")),
        change("sub/new", None, file("new")),
        change("sub/link", None, Some(entry(EntryKind::Symlink, "new"))),
    ];
    assert_eq!(tree.publish(&["new", "3"], changes).unwrap(), Published::Done);
    tree.settle();
    let modes = ["a", "b", "c", "d"].map(|name| tree.mode(name));
    assert_eq!(modes, [0o640, 0o750, 0o640, 0o700]);
    let plain = tree.real.workspace().join("probe");
    fs::write(&plain, "").unwrap();
    assert_eq!(tree.mode("sub/new"), tree.mode("probe"), "a new file's permissions are what the umask gives");
    assert_eq!(tree.mode("sub/deep/new.sh") & 0o700, 0o700);
    if root {
        for name in ["a", "sub/deep", "sub/deep/new.sh", "sub/new", "sub/link"] {
            let meta = fs::symlink_metadata(tree.real.workspace().join(name)).unwrap();
            assert_eq!((meta.uid(), meta.gid()), (1234, 4321), "{name}");
        }
    }
}

#[test]
fn links_are_published_as_links_and_never_followed() {
    let tree = Tree::new(&[("target", "outside"), ("file", "f")]);
    let outside = tree.real.folder.path().join("elsewhere");
    fs::write(&outside, "mine").unwrap();
    symlink(&outside, tree.real.workspace().join("link")).unwrap();
    let old = Some(entry(EntryKind::Symlink, outside.to_str().unwrap()));
    let changes = vec![
        change("file", file("f"), Some(entry(EntryKind::Symlink, "target"))),
        change("link", old, file("plain")),
    ];
    assert_eq!(tree.publish(&["target", "plain"], changes).unwrap(), Published::Done);
    tree.settle();
    assert_eq!(tree.files(), owned(&[("file", "target"), ("link", "plain"), ("target", "outside")]));
    assert_eq!(fs::read_to_string(outside).unwrap(), "mine");
    assert!(fs::symlink_metadata(tree.real.workspace().join("link")).unwrap().is_file());
}

#[test]
fn a_path_through_a_linked_folder_is_refused() {
    let tree = Tree::new(&[]);
    let outside = tree.real.folder.path().join("elsewhere");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("f"), "old").unwrap();
    symlink(&outside, tree.real.workspace().join("d")).unwrap();
    let refused = tree.publish(&["new"], vec![change("d/new", None, file("new"))]);
    assert!(
        matches!(&refused, Err(StoreError::Unpublishable { why: PublishRefusal::ThroughLink, .. })),
        "{refused:?}"
    );
    // A file that the base had below it is not where it was.
    let moved = tree.publish(&["new"], vec![change("d/f", file("old"), file("new"))]).unwrap();
    assert_eq!(moved, Published::BaseMoved { paths: vec![path("d/f")], kept: Vec::new() });
    assert_eq!(real_tree(&outside).len(), 1);
    assert_eq!(fs::read_to_string(outside.join("f")).unwrap(), "old");
}

#[test]
fn a_file_that_became_a_link_to_the_same_bytes_is_a_moved_base() {
    let tree = Tree::new(&[("real", "old")]);
    symlink("real", tree.real.workspace().join("f")).unwrap();
    let moved = tree.publish(&["new"], vec![change("f", file("old"), file("new"))]).unwrap();
    assert_eq!(moved, Published::BaseMoved { paths: vec![path("f")], kept: Vec::new() });
}

#[test]
fn every_path_of_a_moved_base_is_named_and_nothing_is_touched() {
    let tree = Tree::new(&[("a", "edited"), ("b", "1"), ("c", "there"), ("e", "1"), ("f/x", "")]);
    let exec = Some(entry(EntryKind::Exec, "1"));
    let changes = vec![
        change("a", file("1"), file("new")),
        change("b", file("1"), file("new")),
        change("c", None, file("new")),
        change("d", file("1"), None),
        change("e", exec, None),
        change("f", file("1"), file("new")),
        change("b2/g", file("1"), None),
    ];
    let before = tree.files();
    let moved = tree.publish(&["new"], changes).unwrap();
    let paths = ["a", "c", "d", "e", "f", "b2/g"].map(path).to_vec();
    assert_eq!(moved, Published::BaseMoved { paths, kept: Vec::new() });
    assert_eq!(tree.files(), before);
    assert!(pending(&tree.real.home, &tree.real.workspace()).unwrap().is_none());
}

#[test]
fn what_is_never_published_is_refused_before_anything_is_touched() {
    let tree = Tree::new(&[("a", "1"), (".git/config", "1")]);
    let new = || file("new");
    for (changes, why) in [
        (vec![change(".git/config", file("1"), new())], PublishRefusal::Name),
        (vec![change("sub/.git/hooks/x", None, new())], PublishRefusal::Name),
        (vec![change(".perspt-1-1", None, new())], PublishRefusal::Name),
        (vec![change("a", file("1"), file("1"))], PublishRefusal::NoChange),
        (vec![change("b", None, None)], PublishRefusal::NoChange),
        (vec![change("a", file("1"), new()), change("a", file("1"), None)], PublishRefusal::Twice),
        (vec![change("a", file("1"), None), change("a/b", None, new())], PublishRefusal::FileAndFolder),
    ] {
        match tree.publish(&["new"], changes) {
            Err(StoreError::Unpublishable { why: found, .. }) => assert_eq!(found, why),
            other => panic!("{other:?}"),
        }
    }
    let mut root = change("a", None, new());
    root.path = perspt_core::path::RelPath::root();
    assert!(matches!(tree.publish(&["new"], vec![root]), Err(StoreError::Unpublishable { .. })));
    let mut other = publication(&tree.real.workspace().join("sub"), Vec::new());
    other.changes = vec![change("a", None, new())];
    let wrong = publish(&tree.real.home, &tree.lease, &other);
    assert!(matches!(wrong, Err(StoreError::WrongLease { .. })));
    assert_eq!(tree.files(), owned(&[(".git/config", "1"), ("a", "1")]));
}

#[test]
fn a_second_publication_waits_for_the_first_to_be_settled() {
    let tree = Tree::new(&[("a", "1")]);
    assert_eq!(tree.publish(&["2"], vec![change("a", file("1"), file("2"))]).unwrap(), Published::Done);
    let early = tree.publish(&["3"], vec![change("a", file("2"), file("3"))]);
    assert!(matches!(early, Err(StoreError::PublishPending(_))));
    assert_eq!(finish(&tree.real.home, &tree.lease).unwrap(), Published::Done);
    tree.settle();
    assert_eq!(tree.publish(&["3"], vec![change("a", file("2"), file("3"))]).unwrap(), Published::Done);
    tree.settle();
    assert!(matches!(finish(&tree.real.home, &tree.lease), Err(StoreError::NothingPending(_))));
    assert_eq!(tree.files(), owned(&[("a", "3")]));
}

#[test]
fn a_missing_or_damaged_blob_takes_everything_back() {
    let tree = Tree::new(&[("a", "1"), ("b", "1")]);
    let changes = || vec![change("a", file("1"), file("2")), change("n/b", None, file("3"))];
    assert!(matches!(tree.publish(&["2"], changes()), Err(StoreError::Damaged { .. })));
    assert!(pending(&tree.real.home, &tree.real.workspace()).unwrap().is_none());
    assert_eq!(tree.files(), owned(&[("a", "1"), ("b", "1")]));
    assert!(!tree.real.workspace().join("n").exists());
}

#[test]
fn a_finish_whose_blobs_are_lost_takes_everything_back_and_says_so() {
    let tree = Tree::new(&[("a", "1"), ("b", "1")]);
    let changes = vec![change("a", file("1"), file("2")), change("b", file("1"), file("3"))];
    assert_eq!(tree.publish(&["2", "3"], changes).unwrap(), Published::Done);
    // As after a crash that undid the second exchange.
    let mut temp = fs::read_dir(tree.real.workspace()).unwrap().map(|entry| entry.unwrap().path());
    let temp = temp.find(|path| path.to_str().unwrap().ends_with("-1")).unwrap();
    fs::rename(temp, tree.real.workspace().join("b")).unwrap();
    fs::remove_dir_all(tree.real.home.session_dir(&id()).join("blobs")).unwrap();
    assert!(matches!(finish(&tree.real.home, &tree.lease), Err(StoreError::Damaged { .. })));
    assert!(pending(&tree.real.home, &tree.real.workspace()).unwrap().is_none());
    assert_eq!(tree.files(), owned(&[("a", "1"), ("b", "1")]));
}

#[test]
fn a_damaged_journal_is_an_error_that_names_it_and_nothing_is_touched() {
    let tree = Tree::new(&[("a", "1")]);
    assert_eq!(tree.publish(&["2"], vec![change("a", file("1"), file("2"))]).unwrap(), Published::Done);
    let journal = real_tree(&tree.real.home.root().join("workspaces"));
    let (name, bytes) = journal.iter().find(|(name, _)| name.ends_with("/publish.json")).unwrap();
    let place = tree.real.home.root().join("workspaces").join(name);
    let text = String::from_utf8(bytes.clone()).unwrap();
    for bad in [text.replace("\"a\"", "\"b\""), text[..text.len() / 2].to_owned(), String::new()] {
        fs::write(&place, bad).unwrap();
        for result in [
            finish(&tree.real.home, &tree.lease).map(drop),
            settle(&tree.real.home, &tree.lease).map(drop),
            pending(&tree.real.home, &tree.real.workspace()).map(drop),
        ] {
            assert!(matches!(result, Err(StoreError::Damaged { file, .. }) if file == place));
        }
    }
    fs::write(&place, text).unwrap();
    tree.settle();
    assert_eq!(tree.files(), owned(&[("a", "2")]));
}

#[test]
fn a_disk_that_cannot_exchange_names_leaves_the_tree_as_it_was() {
    let sim = start();
    let watched = Watched::new(Arc::new(sim.clone()), &[Fault::FailAll(Op::Exchange, Errno::INVAL)]);
    let home = home_on(watched);
    let _writer = session_of(&home, 1);
    home.blobs(&id()).unwrap().put(b"new z").unwrap();
    home.blobs(&id()).unwrap().put(b"n").unwrap();
    let lease = WorkspaceLease::try_acquire(&home, WORKSPACE.as_ref(), &id()).unwrap();
    let changes = vec![
        change("keep.txt", file("kept"), None),
        change("n/n.txt", None, file("n")),
        change("z.txt", file("old z"), file("new z")),
    ];
    let error = publish(&home, &lease, &publication(lease.workspace(), changes)).unwrap_err();
    assert!(matches!(error, StoreError::Io { doing: "exchange", .. }), "{error}");
    assert!(pending(&home, lease.workspace()).unwrap().is_none());
    assert_eq!(sim.images(WORKSPACE), before());
    assert_ne!(before(), after());
    assert!(sim.images(HOME).keys().all(|name| !name.contains("publish.json")));
}

#[test]
fn a_file_that_cannot_be_given_back_to_its_owner_is_published_all_the_same() {
    let sim = start();
    sim.put("/u/ws/z.txt", 0o664, b"old z");
    let folder = perspt_store::disk::Disk::root(&sim, WORKSPACE.as_ref()).unwrap();
    folder.set_owner("z.txt", 0, 7).unwrap();
    sim.flush();
    let watched = Watched::new(Arc::new(sim.clone()), &[Fault::FailAll(Op::SetOwner, Errno::PERM)]);
    let home = home_on(watched);
    let _writer = session_of(&home, 1);
    home.blobs(&id()).unwrap().put(b"new z").unwrap();
    let lease = WorkspaceLease::try_acquire(&home, WORKSPACE.as_ref(), &id()).unwrap();
    let changes = vec![change("z.txt", file("old z"), file("new z"))];
    assert_eq!(publish(&home, &lease, &publication(lease.workspace(), changes)).unwrap(), Published::Done);
    let now = sim.stat("/u/ws/z.txt").unwrap();
    assert_ne!(now.gid, 7);
    assert_eq!(now.mode & 0o777, 0o644, "another group gets no more than everybody");
}

#[test]
fn nothing_is_published_without_the_log_that_says_so() {
    let tree = Tree::new(&[("a", "1")]);
    fs::remove_file(tree.real.home.session_dir(&id()).join("log.jsonl")).unwrap();
    let error = tree.publish(&["2"], vec![change("a", file("1"), file("2"))]).unwrap_err();
    assert!(error.to_string().contains("log.jsonl"), "{error}");
    assert_eq!(tree.files(), owned(&[("a", "1")]));
}

#[test]
fn a_commit_of_one_changed_file_syncs_a_fixed_number_of_times() {
    let sim = start();
    let watched = Watched::new(Arc::new(sim), &[]);
    let home = home_on(watched.clone());
    let mut writer = session_of(&home, 1);
    let lease = WorkspaceLease::try_acquire(&home, WORKSPACE.as_ref(), &id()).unwrap();
    home.blobs(&id()).unwrap().put(b"new z").unwrap();
    watched.reset(&[]);
    let changes = vec![change("z.txt", file("old z"), file("new z"))];
    assert_eq!(publish(&home, &lease, &publication(lease.workspace(), changes)).unwrap(), Published::Done);
    // The journal and its folder, the new file, the folder it is in.
    assert_eq!(watched.syncs(), 4);
    writer.append(perspt_core::ids::Millis(1), 1, &serde_json::json!({"kind": "committed"})).unwrap();
    settle(&home, &lease).unwrap();
    // The record, the folder without the old file, the folder without the journal.
    assert_eq!(watched.syncs(), 7);
    assert_eq!(watched.counts()[&Op::Exchange], 1);
}
