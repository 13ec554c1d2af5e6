//! When a file is read again, and when it need not be.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::thread;
use std::time::Duration;

use perspt_core::hash::Sha;
use perspt_sandbox::slot::{
    FileStamp, FsTime, READ_TRIES, Settled, StatCache, WalkLimits, Walked, read_hash, settle, walk,
};
use rustix::fs::{CWD, FileType, Mode};
use tempfile::tempdir;

use super::util::{chmod, path, write};

fn again(root: &Path, cache: &mut StatCache) -> Walked {
    walk(root, cache, &WalkLimits::default()).unwrap()
}

/// Walks until the files are old enough to be remembered.
fn until_known(root: &Path, cache: &mut StatCache) -> Walked {
    for _ in 0..600 {
        let found = again(root, cache);
        if found.hashed == 0 {
            return found;
        }
        thread::sleep(Duration::from_millis(100));
    }
    panic!("the files are never remembered");
}

fn stamp(place: &Path) -> FileStamp {
    FileStamp::of(&fs::symlink_metadata(place).unwrap()).unwrap()
}

#[test]
fn unchanged_files_are_not_read_again_and_changed_ones_are() {
    let temp = tempdir().unwrap();
    let a = write(temp.path(), "a", "one");
    write(temp.path(), "b", "two");
    let c = write(temp.path(), "c", "three");
    std::os::unix::fs::symlink("b", temp.path().join("link")).unwrap();
    let mut cache = StatCache::new();
    let first = until_known(temp.path(), &mut cache);
    assert_eq!(cache.len(), 4);

    // The same through bytes, as the caller keeps them.
    let mut kept = StatCache::from_bytes(&cache.to_bytes());
    assert_eq!(kept, cache);
    let second = again(temp.path(), &mut kept);
    assert_eq!((second.hashed, second.tree.id()), (0, first.tree.id()));

    // Same size, and the old time put back: only the change time tells.
    let old = fs::metadata(&a).unwrap().modified().unwrap();
    fs::write(&a, "ONE").unwrap();
    super::util::touch_to(&a, old);
    chmod(&c, 0o755);
    let third = again(temp.path(), &mut cache);
    assert_eq!(third.hashed, 2);
    assert_ne!(third.tree.id(), first.tree.id());
    assert_eq!(third.tree.entries[&path("a")].hash, Sha::of(b"ONE"));

    fs::remove_file(&a).unwrap();
    assert_eq!(again(temp.path(), &mut cache).tree.entries.len(), 3);
    assert_eq!(cache.trusted(&path("a"), &stamp(&c)), None);
}

#[test]
fn a_file_renamed_into_place_is_another_file() {
    let temp = tempdir().unwrap();
    write(temp.path(), "ws/a", "one");
    write(temp.path(), "other", "two");
    let mut cache = StatCache::new();
    let root = temp.path().join("ws");
    until_known(&root, &mut cache);
    fs::rename(temp.path().join("other"), root.join("a")).unwrap();
    assert_eq!(again(&root, &mut cache).tree.entries[&path("a")].hash, Sha::of(b"two"));
}

#[test]
fn a_rewrite_within_the_same_second_at_the_same_size_is_seen() {
    let temp = tempdir().unwrap();
    let mut cache = StatCache::new();
    for round in 0..200 {
        let text = format!("{round:04}");
        write(temp.path(), "a", &text);
        assert_eq!(again(temp.path(), &mut cache).tree.entries[&path("a")].hash, Sha::of(text.as_bytes()));
    }
}

#[test]
fn a_stamp_too_young_to_tell_a_later_change_is_not_remembered() {
    let temp = tempdir().unwrap();
    let place = write(temp.path(), "a", "one");
    let (name, stamp, hash) = (path("a"), stamp(&place), Sha::of(b"one"));
    let mut cache = StatCache::new();
    let just_after = stamp.ctime.plus(Duration::from_nanos(1));
    cache.record(name.clone(), stamp, hash, just_after);
    assert_eq!(cache.trusted(&name, &stamp), Some(hash));
    cache.record(name.clone(), stamp, hash, stamp.ctime);
    assert_eq!(cache.trusted(&name, &stamp), None);

    // A walk right after a write is within the margin.
    let mut cache = StatCache::new();
    write(temp.path(), "a", "two");
    again(temp.path(), &mut cache);
    assert!(cache.is_empty() || fs::metadata(&place).unwrap().ctime() + 1 < now_secs());
}

fn now_secs() -> i64 {
    FsTime::of_system(std::time::SystemTime::now()).secs
}

#[test]
fn every_field_of_a_stamp_counts() {
    let temp = tempdir().unwrap();
    let known = stamp(&write(temp.path(), "a", "one"));
    let later = known.ctime.plus(Duration::from_secs(1));
    let mut cache = StatCache::new();
    cache.record(path("a"), known, Sha::of(b"one"), later.plus(Duration::from_secs(1)));
    let others = [
        FileStamp { size: known.size + 1, ..known },
        FileStamp { mtime: later, ..known },
        FileStamp { ctime: later, ..known },
        FileStamp { ino: known.ino + 1, ..known },
        FileStamp { kind: perspt_core::tree::EntryKind::Exec, ..known },
    ];
    for other in others {
        assert_eq!(cache.trusted(&path("a"), &other), None, "{other:?}");
    }
    assert_eq!(cache.trusted(&path("b"), &known), None);
    assert!(cache.trusted(&path("a"), &known).is_some());
}

#[test]
fn bytes_that_are_cut_changed_or_foreign_are_an_empty_cache() {
    let temp = tempdir().unwrap();
    let stamp = stamp(&write(temp.path(), "a", "one"));
    let mut cache = StatCache::new();
    let floor = stamp.ctime.plus(Duration::from_secs(1));
    cache.record(path("a"), stamp, Sha::of(b"one"), floor);
    cache.record(path("ü/b"), stamp, Sha::of(b"two"), floor);
    let bytes = cache.to_bytes();
    assert_eq!(StatCache::from_bytes(&bytes), cache);
    for at in 0..bytes.len() {
        assert!(StatCache::from_bytes(&bytes[..at]).is_empty(), "cut at {at}");
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        assert!(StatCache::from_bytes(&changed).is_empty(), "changed at {at}");
    }
    assert!(StatCache::from_bytes(b"").is_empty());
    assert!(StatCache::from_bytes(&[0; 100]).is_empty());
}

#[test]
fn a_file_that_changes_while_it_is_read_is_read_again_until_it_holds_still() {
    let temp = tempdir().unwrap();
    let place = write(temp.path(), "a", "");
    let mut readings = 0;
    let settled = settle(&place, &mut |at, stamp| {
        let hash = read_hash(at, stamp);
        readings += 1;
        if readings < READ_TRIES {
            fs::write(at, "x".repeat(readings as usize)).unwrap();
        }
        hash
    });
    assert_eq!(readings, READ_TRIES);
    assert!(matches!(settled.unwrap(), Settled::Is(_, hash) if hash == Sha::of(b"xx")));
}

#[test]
fn a_file_that_never_holds_still_is_told_so_after_three_readings() {
    let temp = tempdir().unwrap();
    let place = write(temp.path(), "a", "");
    let mut readings = 0;
    let settled = settle(&place, &mut |at, stamp| {
        let hash = read_hash(at, stamp);
        readings += 1;
        fs::write(at, "x".repeat(readings)).unwrap();
        hash
    });
    assert_eq!((settled.unwrap(), readings), (Settled::Changing, 3));
}

#[test]
fn a_file_replaced_by_something_else_while_it_is_read_is_taken_as_what_it_became() {
    let temp = tempdir().unwrap();
    let place = write(temp.path(), "a", "x");
    let settled = settle(&place, &mut |at, _| {
        fs::remove_file(at).unwrap();
        fs::create_dir(at).unwrap();
        Err(std::io::ErrorKind::NotFound.into())
    });
    assert_eq!(settled.unwrap(), Settled::Folder);
}

#[test]
fn what_took_a_files_place_is_neither_read_through_nor_waited_for() {
    let temp = tempdir().unwrap();
    let place = write(temp.path(), "a", "x");
    let stamp = stamp(&place);
    fs::rename(&place, temp.path().join("b")).unwrap();
    std::os::unix::fs::symlink("b", &place).unwrap();
    assert!(read_hash(&place, &stamp).is_err());
    fs::remove_file(&place).unwrap();
    rustix::fs::mknodat(CWD, &place, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    assert!(read_hash(&place, &stamp).is_err());
}
