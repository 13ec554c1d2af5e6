//! A disk that refuses: clear errors, no panic, and nothing acknowledged that is not so.

use std::sync::{Arc, Mutex};

use perspt_store::{LogWriter, StoreError, WorkspaceLease};
use perspt_testkit::disk::{Fault, SimDisk, Watched};
use rustix::io::Errno;

use crate::crash::{Acks, Told, check, session, start};
use crate::support::{WORKSPACE, abort, home_on, id, session_of, sim};

/// Runs a session over a failing disk, and then checks what is left as the next process finds it, and as it
/// would after a crash.
fn run(fault: Fault) -> Result<(), StoreError> {
    let sim = start();
    let told = Told::new(Mutex::new(Acks::default()));
    let watched = Watched::new(Arc::new(sim.clone()), &[fault]);
    let result = session(watched, &told);
    let acks = told.lock().unwrap().clone();
    for left in [sim.kill(), sim.crash(0), sim.crash(7)] {
        check(&left, &acks).unwrap_or_else(|why| panic!("{fault:?}: {why}"));
    }
    result
}

fn steps() -> u64 {
    let watched = Watched::new(Arc::new(start()), &[]);
    session(watched.clone(), &Told::default()).unwrap();
    watched.steps()
}

#[test]
fn any_one_call_may_fail_and_the_error_says_what_where_and_why() {
    for errno in [Errno::NOSPC, Errno::IO] {
        for n in 1..=steps() {
            match run(Fault::Fail(n, errno)) {
                Err(StoreError::Io { doing, path, source }) => {
                    assert_eq!(source.raw_os_error(), Some(errno.raw_os_error()));
                    assert!(path.is_absolute() && !doing.is_empty());
                }
                other => panic!("call {n}: {other:?}"),
            }
        }
    }
}

#[test]
fn a_short_write_is_completed_or_reported() {
    let results: Vec<bool> = (1..=steps()).map(|n| run(Fault::Short(n)).is_ok()).collect();
    assert!(results.contains(&true) && results.contains(&false));
}

#[test]
fn a_process_that_stops_anywhere_leaves_what_the_next_one_can_go_on_from() {
    for n in 1..=steps() {
        assert!(run(Fault::Stop(n)).is_err());
    }
}

#[test]
fn a_read_only_home_can_be_read_and_every_write_says_so() {
    let disk = sim();
    drop(session_of(&home_on(disk.clone()), 2));
    let blob = home_on(disk.clone()).blobs(&id()).unwrap().put(b"text").unwrap();
    let home = home_on(Watched::new(Arc::new(disk.clone()), &[Fault::ReadOnly]));
    assert_eq!(home.sessions().unwrap().len(), 1);
    assert_eq!(perspt_store::check_log(&home, &id(), &mut |_| {}).unwrap().records, 2);
    assert_eq!(home.blobs(&id()).unwrap().get(blob).unwrap(), b"text");
    assert!(home.inbox(&id()).unwrap().take_all().unwrap().messages.is_empty());
    let read_only = |result: Result<(), StoreError>| match result {
        Err(StoreError::Io { path, source, .. }) => {
            assert_eq!(source.raw_os_error(), Some(Errno::ROFS.raw_os_error()), "{}", path.display());
        }
        other => panic!("{other:?}"),
    };
    read_only(LogWriter::open(&home, &id(), &mut |_| {}).map(drop));
    read_only(LogWriter::create(&home, &"s-2".into()).map(drop));
    read_only(home.blobs(&id()).unwrap().put(b"new").map(drop));
    read_only(home.inbox(&id()).unwrap().send(&abort("x")));
    read_only(WorkspaceLease::try_acquire(&home, WORKSPACE.as_ref(), &id()).map(drop));
    let fresh = home_on(Watched::new(Arc::new(SimDisk::new()), &[Fault::ReadOnly]));
    read_only(LogWriter::create(&fresh, &id()).map(drop));
}
