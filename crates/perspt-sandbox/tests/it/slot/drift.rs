//! What a stage did to its tree is found out, without reading what it left alone.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use perspt_core::hash::Sha;
use perspt_core::tree::EntryKind;
use perspt_sandbox::slot::{Drift, FileStamp, LaidOut, NAMED_AT_MOST, SlotError, StatCache};
use rustix::fs::{CWD, FileType, Mode};

use super::util::{Made, Place, chmod, mtime, path, touch_to, write};

fn made() -> Made {
    Made::of(&[("a", "aaaa"), ("b", "bbbb"), ("d/c", "cccc")]).with("l", EntryKind::Symlink, "a")
}

fn laid_out() -> Place {
    let mut place = Place::new();
    place.slot.lay_out(&made().tree, &made()).unwrap();
    place
}

#[test]
fn an_unchanged_tree_costs_no_reading_also_for_the_next_process() {
    let mut place = laid_out();
    assert_eq!(place.slot.recheck().unwrap(), Drift::default());
    let mut place = place.reopened();
    assert_eq!(place.slot.recheck().unwrap(), Drift::default());
    assert!(place.slot.recheck().unwrap().is_faithful());
}

#[test]
fn nothing_can_be_checked_before_anything_was_laid_out() {
    assert!(matches!(Place::new().slot.recheck(), Err(SlotError::NotLaidOut { .. })));
}

#[test]
fn changed_gone_and_new_files_are_told_apart_and_the_next_layout_restores_them() {
    let mut place = laid_out();
    fs::write(place.file("a"), "AAAA").unwrap();
    fs::remove_file(place.file("b")).unwrap();
    chmod(&place.file("d/c"), 0o755);
    write(&place.slot.tree(), "d/new", "x");
    write(&place.slot.tree(), "target/x/y", "x");

    let drift = place.slot.recheck().unwrap();

    assert_eq!(drift.changed, [path("a"), path("d/c")]);
    assert_eq!(drift.gone, [path("b")]);
    assert_eq!((drift.new, drift.new_count), (vec![path("d/new"), path("target")], 2));
    // The right to execute is told without reading.
    assert_eq!(drift.hashed, 1);
    assert!(!place.file("d/new").exists() && !place.file("target").exists());
    assert_eq!(place.text("a"), "AAAA");
    // Still so when asked again, by another process too.
    let mut place = place.reopened();
    let drift = place.slot.recheck().unwrap();
    assert_eq!((drift.changed.len(), drift.gone.len(), drift.new_count), (2, 1, 0));

    let done = place.slot.lay_out(&made().tree, &made()).unwrap();
    assert_eq!((done.written, done.kept), (3, 1));
    place.holds_exactly(&made());
    assert_eq!(place.slot.recheck().unwrap(), Drift::default());
}

#[test]
fn a_change_is_seen_although_size_and_time_are_put_back() {
    for round in 0..50 {
        let mut place = laid_out();
        let file = place.file("a");
        let old = fs::metadata(&file).unwrap().modified().unwrap();
        fs::write(&file, format!("{round:04}")).unwrap();
        touch_to(&file, old);
        assert_eq!(place.slot.recheck().unwrap().changed, [path("a")]);
    }
}

#[test]
fn a_file_swapped_for_another_kind_of_thing_counts_as_changed() {
    let mut place = laid_out();
    for name in ["a", "b", "d/c", "l"] {
        fs::remove_file(place.file(name)).unwrap();
    }
    symlink("b", place.file("a")).unwrap();
    write(&place.slot.tree(), "b/inside", "x");
    rustix::fs::mknodat(CWD, place.file("d/c"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    symlink("b", place.file("l")).unwrap();
    let drift = place.slot.recheck().unwrap();
    assert_eq!(drift.changed, [path("a"), path("b"), path("d/c"), path("l")]);
    assert_eq!((drift.gone, drift.new_count), (vec![], 0));
    place.slot.lay_out(&made().tree, &made()).unwrap();
    place.holds_exactly(&made());
}

#[test]
fn a_folder_swapped_for_a_link_to_the_same_files_is_seen() {
    let mut place = laid_out();
    let away = place.slot.tmp().join("d");
    fs::rename(place.file("d"), &away).unwrap();
    symlink(&away, place.file("d")).unwrap();
    let drift = place.slot.recheck().unwrap();
    assert_eq!((drift.gone, drift.new), (vec![path("d/c")], vec![path("d")]));
    assert!(away.join("c").exists());
}

#[test]
fn a_file_touched_but_not_changed_gets_the_time_of_now() {
    let mut place = laid_out();
    let file = place.file("a");
    let first = mtime(&file);
    // A program that builds from other bytes and then puts the old ones back with their time.
    let old = fs::metadata(&file).unwrap().modified().unwrap();
    fs::write(&file, "XXXX").unwrap();
    let built = mtime(&write(&place.slot.build(), "out", "XXXX"));
    fs::write(&file, "aaaa").unwrap();
    touch_to(&file, old);
    chmod(&file, 0o444);

    let drift = place.slot.recheck().unwrap();

    assert_eq!(drift, Drift { refreshed: 1, hashed: 1, ..Drift::default() });
    assert!(mtime(&file) > first && mtime(&file) > built);
    assert_eq!(place.slot.recheck().unwrap(), Drift::default());

    // The same where a layout finds it first.
    touch_to(&file, old);
    let built = mtime(&write(&place.slot.build(), "out", "XXXX"));
    let done = place.slot.lay_out(&made().tree, &made()).unwrap();
    assert_eq!(done, LaidOut { kept: 3, refreshed: 1, hashed: 1, ..LaidOut::default() });
    assert!(mtime(&file) > built);
}

#[test]
fn times_forged_into_the_far_future_are_undone_without_waiting_for_them() {
    let mut place = laid_out();
    let future = SystemTime::now() + Duration::from_secs(1_000_000_000);
    touch_to(&place.file("a"), future);
    touch_to(&place.file("b"), UNIX_EPOCH);
    assert_eq!(place.slot.recheck().unwrap().refreshed, 2);
    assert!(mtime(&place.file("a")).secs < mtime(&place.file("b")).secs + 1_000_000);
    touch_to(&place.file("a"), future);
    place.slot.lay_out(&made().tree, &made()).unwrap();
    let written = write(&place.dir, "now", "");
    assert!(mtime(&place.file("a")) <= mtime(&written));
}

#[test]
fn at_most_fifty_new_names_are_told_and_all_are_counted_and_removed() {
    let mut place = laid_out();
    for at in 0..70 {
        write(&place.slot.tree(), &format!("n{at:02}"), "x");
    }
    let drift = place.slot.recheck().unwrap();
    assert_eq!((drift.new.len(), drift.new_count), (NAMED_AT_MOST, 70));
    assert_eq!(drift.new[49], path("n49"));
    place.holds_exactly(&made());
}

#[test]
fn new_names_that_no_path_can_hold_are_shown_as_well_as_can_be() {
    let mut place = laid_out();
    write(&place.slot.tree(), "d/line\nbreak", "x");
    let bytes = <std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"\xff");
    fs::write(place.slot.tree().join(bytes), "x").unwrap();
    let drift = place.slot.recheck().unwrap();
    assert_eq!(drift.new, [path("d/line\u{fffd}break"), path("\u{fffd}")]);
    place.holds_exactly(&made());
}

/// Replaces the slot's index by one from another start of the machine, in which all files have their present
/// stamps and the hashes they should have.
fn index_of_another_boot(place: &Place) {
    let mut files = StatCache::new();
    for (name, entry) in &made().tree.entries {
        let stamp = FileStamp::of(&fs::symlink_metadata(place.file(name.as_str())).unwrap()).unwrap();
        let floor = stamp.ctime.plus(Duration::from_secs(1));
        files.record(name.clone(), stamp, entry.hash, floor);
    }
    let mut bytes = b"pslot-01".to_vec();
    for part in [b"another".to_vec(), files.to_bytes()] {
        bytes.extend_from_slice(&u32::try_from(part.len()).unwrap().to_be_bytes());
        bytes.extend_from_slice(&part);
    }
    let digest = Sha::of(&bytes);
    bytes.extend_from_slice(&digest.0);
    fs::write(place.dir.join("index"), bytes).unwrap();
}

#[test]
fn stamps_from_before_the_machine_was_started_are_not_relied_on() {
    let place = laid_out();
    let times = mtime(&place.file("b"));
    fs::write(place.file("a"), "lost").unwrap();
    index_of_another_boot(&place);
    let mut place = place.reopened();
    let drift = place.slot.recheck().unwrap();
    assert_eq!((drift.changed, drift.hashed), (vec![path("a")], 4));
    // A check must not make the record one that is relied on.
    let mut place = place.reopened();
    let done = place.slot.lay_out(&made().tree, &made()).unwrap();
    assert_eq!(done, LaidOut { written: 1, kept: 3, hashed: 4, ..LaidOut::default() });
    assert_eq!(mtime(&place.file("b")), times);
    place.holds_exactly(&made());
    assert_eq!(place.slot.recheck().unwrap(), Drift::default());
}
