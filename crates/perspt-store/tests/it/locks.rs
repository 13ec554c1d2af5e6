//! One writer per session, one session per workspace, and nothing held by the dead.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;

use perspt_core::ids::SessionId;
use perspt_store::{Holder, Home, LogWriter, RealDisk, StoreError, WorkspaceLease};

use crate::support::{Real, id, session_of};

fn holder_of(error: StoreError) -> Holder {
    match error {
        StoreError::Held { holder, .. } => *holder,
        other => panic!("not held: {other}"),
    }
}

#[test]
fn a_second_writer_is_refused_and_told_who_holds_the_session() {
    let real = Real::new();
    let writer = session_of(&real.home, 1);
    for refused in [
        LogWriter::open(&real.home, &id(), &mut |_| {}).map(drop),
        LogWriter::create(&real.home, &id()).map(drop),
    ] {
        let holder = holder_of(refused.unwrap_err());
        assert_eq!(holder, Holder::this_process(&id()));
        assert_eq!(holder.pid, std::process::id());
        assert!(holder.started > 0 && !holder.command.is_empty());
    }
    drop(writer);
    LogWriter::open(&real.home, &id(), &mut |_| {}).unwrap();
}

#[test]
fn a_second_session_in_a_workspace_is_refused_and_told_which_one_holds_it() {
    let real = Real::new();
    let other = SessionId::from("s-2");
    let lease = WorkspaceLease::try_acquire(&real.home, &real.workspace(), &id()).unwrap();
    let refused = WorkspaceLease::try_acquire(&real.home, &real.workspace(), &other).map(drop);
    assert_eq!(holder_of(refused.unwrap_err()).session, Some(id()));
    // A home of another user knows nothing of the holder, yet the workspace is held.
    let elsewhere = Home::open(real.folder.path().join("home2"), Arc::new(RealDisk)).unwrap();
    let refused = WorkspaceLease::try_acquire(&elsewhere, &real.workspace(), &other).map(drop);
    assert_eq!(holder_of(refused.unwrap_err()).session, None);
    drop(lease);
    let lease = WorkspaceLease::try_acquire(&real.home, &real.workspace(), &other).unwrap();
    let refused = WorkspaceLease::try_acquire(&real.home, &real.workspace(), &id()).map(drop);
    assert_eq!(holder_of(refused.unwrap_err()).session, Some(other));
    drop(lease);
}

#[test]
fn sessions_in_different_workspaces_do_not_disturb_each_other() {
    let real = Real::new();
    std::fs::create_dir(real.folder.path().join("ws2")).unwrap();
    let one = WorkspaceLease::try_acquire(&real.home, &real.workspace(), &id()).unwrap();
    let two =
        WorkspaceLease::try_acquire(&real.home, &real.folder.path().join("ws2"), &"s-2".into()).unwrap();
    assert_ne!(one.workspace(), two.workspace());
    assert!(matches!(
        WorkspaceLease::try_acquire(&real.home, Path::new("ws"), &id()),
        Err(StoreError::NotAbsolute(_))
    ));
}

const CHILD: &str = "PERSPT_STORE_TEST_HOLDER";

/// Not a test of its own: the process that the next test starts and kills.
#[test]
fn a_holder_for_the_next_test() {
    let Some(folder) = std::env::var_os(CHILD) else { return };
    let folder = Path::new(&folder);
    let home = Home::open(folder.join("home"), Arc::new(RealDisk)).unwrap();
    let _writer = session_of(&home, 2);
    let _lease = WorkspaceLease::try_acquire(&home, &folder.join("ws"), &id()).unwrap();
    println!("holding");
    // Ends when the parent does, at the latest.
    let _ = std::io::stdin().lines().next();
}

#[test]
#[allow(clippy::disallowed_types)]
fn what_a_killed_process_held_is_free_at_once() {
    let real = Real::new();
    let mut child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "locks::a_holder_for_the_next_test", "--nocapture"])
        .env(CHILD, real.folder.path())
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("holding")));

    let refused = LogWriter::open(&real.home, &id(), &mut |_| {}).map(drop);
    let holder = holder_of(refused.unwrap_err());
    assert_eq!((holder.session, holder.pid), (Some(id()), child.id()));
    let refused = WorkspaceLease::try_acquire(&real.home, &real.workspace(), &"s-2".into()).map(drop);
    assert_eq!(holder_of(refused.unwrap_err()).pid, child.id());

    child.kill().unwrap();
    child.wait().unwrap();
    let opened = LogWriter::open(&real.home, &id(), &mut |_| {}).unwrap();
    assert_eq!(opened.records, 2);
    let refused = LogWriter::open(&real.home, &id(), &mut |_| {}).map(drop);
    assert_eq!(holder_of(refused.unwrap_err()).pid, std::process::id());
    drop(WorkspaceLease::try_acquire(&real.home, &real.workspace(), &"s-2".into()).unwrap());
}

#[test]
#[allow(clippy::disallowed_types)]
fn a_process_that_is_started_meanwhile_does_not_inherit_a_lock() {
    let real = Real::new();
    let writer = session_of(&real.home, 1);
    let lease = WorkspaceLease::try_acquire(&real.home, &real.workspace(), &id()).unwrap();
    let mut child = std::process::Command::new("cat")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    drop((writer, lease));
    let free = LogWriter::open(&real.home, &id(), &mut |_| {}).map(drop);
    let free_too = WorkspaceLease::try_acquire(&real.home, &real.workspace(), &id()).map(drop);
    child.kill().unwrap();
    child.wait().unwrap();
    free.unwrap();
    free_too.unwrap();
}

/// Copies of every handle this process has of a file or folder, as a child has them that was just forked.
fn copies_of(path: &Path) -> Vec<std::os::fd::OwnedFd> {
    use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};
    let this = pidfd_open(getpid(), PidfdFlags::empty()).unwrap();
    let handles = std::fs::read_dir("/proc/self/fd").unwrap().map(|entry| entry.unwrap().path());
    let same = handles.filter(|handle| std::fs::read_link(handle).is_ok_and(|target| target == path));
    let numbers = same.map(|handle| handle.file_name().unwrap().to_str().unwrap().parse().unwrap());
    numbers.map(|number| pidfd_getfd(&this, number, PidfdGetfdFlags::empty()).unwrap()).collect()
}

#[test]
fn what_is_given_up_is_free_though_a_forked_child_still_has_a_copy() {
    let real = Real::new();
    let writer = session_of(&real.home, 1);
    let lease = WorkspaceLease::try_acquire(&real.home, &real.workspace(), &id()).unwrap();
    let log_lock = real.folder.path().join("home/sessions").join(id().as_str()).join("lock");
    let copies = [copies_of(&real.workspace()), copies_of(&log_lock)];
    assert!(copies.iter().all(|copies| !copies.is_empty()));
    drop((writer, lease));
    LogWriter::open(&real.home, &id(), &mut |_| {}).map(drop).unwrap();
    drop(WorkspaceLease::try_acquire(&real.home, &real.workspace(), &id()).unwrap());
    drop(copies);
}
