//! The home: what it lists, what it refuses, and that looking makes nothing.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;

use perspt_core::ids::{Millis, SessionId};
use perspt_store::{Home, LogWriter, RealDisk, StoreError, Traces, WorkspaceLease, publish};
use serde_json::json;

use crate::support::{Real, abort, id, session_of};

#[test]
fn looking_at_a_home_makes_nothing() {
    let real = Real::new();
    assert!(real.home.sessions().unwrap().is_empty());
    assert!(publish::pending(&real.home, &real.workspace()).unwrap().is_none());
    assert!(real.home.blobs(&id()).is_ok() && real.home.inbox(&id()).is_ok());
    assert!(matches!(real.home.blobs(&id()).unwrap().put(b"x"), Err(StoreError::NoSession(_))));
    assert!(!real.home.root().exists());
    assert_eq!(real.home.slots_dir(), real.home.root().join("slots"));
    assert!(matches!(Home::open(PathBuf::from("rel"), Arc::new(RealDisk)), Err(StoreError::NotAbsolute(_))));
}

#[test]
fn everything_in_a_home_is_for_its_owner_alone() {
    let real = Real::new();
    let _writer = session_of(&real.home, 1);
    real.home.blobs(&id()).unwrap().put(b"text").unwrap();
    real.home.inbox(&id()).unwrap().send(&abort("x")).unwrap();
    let _lease = WorkspaceLease::try_acquire(&real.home, &real.workspace(), &id()).unwrap();
    let mut open = vec![real.home.root().to_owned()];
    let mut seen = 0;
    while let Some(path) = open.pop() {
        let meta = fs::symlink_metadata(&path).unwrap();
        assert_eq!(meta.permissions().mode() & 0o077, 0, "{}", path.display());
        seen += 1;
        if meta.is_dir() {
            open.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
    assert_eq!(seen, 12);
}

#[test]
fn sessions_are_listed_newest_first_and_half_created_ones_are_among_them() {
    let real = Real::new();
    for (name, at) in [("b", 2_000), ("a", 3_000), ("c", 1_000)] {
        let mut writer = LogWriter::create(&real.home, &SessionId::from(name)).unwrap();
        writer.append(Millis(at), 1, &json!({"kind": "begin"})).unwrap();
        writer.append(Millis(9_999), 1, &json!({"kind": "more"})).unwrap();
    }
    let sessions = real.home.root().join("sessions");
    fs::create_dir(sessions.join("half")).unwrap();
    fs::create_dir(sessions.join("broken")).unwrap();
    fs::write(sessions.join("broken/log.jsonl"), b"what\nis this\n").unwrap();
    fs::create_dir(sessions.join("not a session")).unwrap();
    fs::write(sessions.join("file"), b"").unwrap();
    let found = real.home.sessions().unwrap();
    let names: Vec<_> = found.iter().map(|info| info.id.as_str()).collect();
    // What has no record counts by the time on the disk, which is later than these.
    assert_eq!(&names[2..], ["a", "b", "c"]);
    assert!(names[..2].contains(&"half") && names[..2].contains(&"broken"));
    assert_eq!(found[4].begun, Some(Millis(1_000)));
    assert!(found[..2].iter().all(|info| info.begun.is_none()));
    assert!(found[2].bytes > 100);
}

#[test]
fn a_session_id_that_is_no_tame_name_is_refused_everywhere() {
    let real = Real::new();
    for bad in ["", ".", "..", "../x", "a/b", ".hidden", "a b", "ä", "a\n", &"x".repeat(101)] {
        let bad = SessionId::from(bad);
        let refused = |result: Result<(), StoreError>| matches!(result, Err(StoreError::BadSessionId(_)));
        assert!(refused(LogWriter::create(&real.home, &bad).map(drop)));
        assert!(refused(LogWriter::open(&real.home, &bad, &mut |_| {}).map(drop)));
        assert!(refused(real.home.blobs(&bad).map(drop)));
        assert!(refused(real.home.inbox(&bad).map(drop)));
    }
    assert!(!real.home.root().exists());
}

#[test]
fn a_folder_is_told_from_a_session_that_was_begun_and_from_one_that_had_records() {
    let real = Real::new();
    assert!(matches!(real.home.traces(&id()), Err(StoreError::NoSession(_))));
    let folder = real.home.session_dir(&id());
    fs::create_dir_all(folder.join("blobs")).unwrap();
    fs::write(folder.join("notes.txt"), b"whose is this?").unwrap();
    assert_eq!(real.home.traces(&id()).unwrap(), Traces::Nothing);
    fs::write(folder.join("lock"), b"").unwrap();
    assert_eq!(real.home.traces(&id()).unwrap(), Traces::Begun);
    fs::remove_file(folder.join("lock")).unwrap();
    drop(session_of(&real.home, 1));
    assert_eq!(real.home.traces(&id()).unwrap(), Traces::Begun);
    for blobs in [real.home.blobs(&id()).unwrap(), real.home.texts(&id()).unwrap()] {
        blobs.put(b"text").unwrap();
        assert_eq!(real.home.traces(&id()).unwrap(), Traces::Blobs);
        blobs.release().unwrap();
        assert_eq!(real.home.traces(&id()).unwrap(), Traces::Begun);
    }
}
