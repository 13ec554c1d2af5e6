//! Blobs: durable when they are named, checked when they are read.

use std::fs;
use std::sync::Arc;

use perspt_core::ids::BlobId;
use perspt_store::{LogWriter, StoreError};
use perspt_testkit::disk::{Op, Watched};

use crate::support::{Real, home_on, id, session_of, sim};

#[test]
fn a_blob_is_read_back_by_its_hash() {
    let real = Real::new();
    let _writer = session_of(&real.home, 0);
    let blobs = real.home.blobs(&id()).unwrap();
    let big = vec![7; 300_000];
    for bytes in [&b""[..], b"text", "größe\n".as_bytes(), &big] {
        let blob = blobs.put(bytes).unwrap();
        assert_eq!(blob, BlobId::of(bytes));
        assert_eq!(blobs.get(blob).unwrap(), bytes);
        assert!(blobs.exists(blob).unwrap());
    }
    assert!(!blobs.exists(BlobId::of(b"never stored")).unwrap());
    assert!(matches!(blobs.get(BlobId::of(b"never stored")), Err(StoreError::Io { .. })));
}

#[test]
fn releasing_texts_takes_all_of_them_and_nothing_that_is_kept_for_good() {
    let real = Real::new();
    let _writer = session_of(&real.home, 0);
    let (blobs, texts) = (real.home.blobs(&id()).unwrap(), real.home.texts(&id()).unwrap());
    texts.release().unwrap();
    // A file of the project that has the very bytes of an answer.
    let same = blobs.put(b"answer").unwrap();
    let said = [texts.put(b"answer").unwrap(), texts.put(b"prompt").unwrap()];
    assert_eq!(same, said[0]);
    texts.release().unwrap();
    assert_eq!(blobs.get(same).unwrap(), b"answer");
    for text in said {
        assert!(!texts.exists(text).unwrap());
    }
    assert_eq!(texts.put(b"prompt").unwrap(), said[1]);
    assert_eq!(texts.get(said[1]).unwrap(), b"prompt");
}

#[test]
fn a_truncated_or_changed_blob_is_an_error_that_names_the_file_and_putting_it_again_mends_it() {
    let real = Real::new();
    let _writer = session_of(&real.home, 0);
    let blobs = real.home.blobs(&id()).unwrap();
    let blob = blobs.put(b"the whole text").unwrap();
    let file = real.home.session_dir(&id()).join("blobs").join(blob.to_string());
    for bad in [&b"the whole"[..], b"", b"the whole texT"] {
        fs::write(&file, bad).unwrap();
        match blobs.get(blob) {
            Err(StoreError::Damaged { file: named, .. }) => assert_eq!(named, file),
            other => panic!("{other:?}"),
        }
        blobs.put(b"the whole text").unwrap();
        assert_eq!(blobs.get(blob).unwrap(), b"the whole text");
    }
}

#[test]
fn a_blob_that_is_there_is_not_written_again() {
    let watched = Watched::new(Arc::new(sim()), &[]);
    let home = home_on(watched.clone());
    let _writer = session_of(&home, 0);
    let blobs = home.blobs(&id()).unwrap();
    blobs.put(b"text").unwrap();
    watched.reset(&[]);
    blobs.put(b"other").unwrap();
    let counts = watched.counts();
    let count = |op| counts.get(&op).copied().unwrap_or(0);
    assert_eq!([Op::Append, Op::SyncData, Op::Rename, Op::SyncFolder].map(count), [1, 1, 1, 1]);
    watched.reset(&[]);
    blobs.put(b"text").unwrap();
    let counts = watched.counts();
    assert_eq!((counts.get(&Op::OpenToWrite), counts.get(&Op::Append), watched.steps()), (None, None, 1));
}

#[test]
fn what_a_killed_writer_left_unfinished_is_swept_when_the_session_is_opened() {
    let real = Real::new();
    drop(session_of(&real.home, 0));
    let blob = real.home.blobs(&id()).unwrap().put(b"text").unwrap();
    let folder = real.home.session_dir(&id()).join("blobs");
    fs::write(folder.join("new-77-1"), b"half").unwrap();
    LogWriter::open(&real.home, &id(), &mut |_| {}).unwrap();
    let names: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, [blob.to_string().as_str()]);
}
