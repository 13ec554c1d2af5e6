//! What is laid down is later than all there was, by the file system's own clock.

use std::fs;
use std::time::Duration;

use perspt_sandbox::slot::{Build, FsTime, LaidOut};

use super::util::{Made, Place, mtime, write};

fn one() -> Made {
    Made::of(&[("a", "one"), ("b", "both")])
}

fn two() -> Made {
    Made::of(&[("a", "two"), ("b", "both")])
}

#[test]
fn a_restored_file_is_later_than_everything_that_was_in_the_slot() {
    let mut place = Place::new();
    place.slot.lay_out(&one().tree, &one()).unwrap();
    let both = mtime(&place.file("b"));
    for round in 0..100 {
        let made = if round % 2 == 0 { two() } else { one() };
        // What a build and a stage leave at the last moment.
        let last = mtime(&write(&place.slot.build(), "out", "x")).max(mtime(&write(
            &place.slot.tree(),
            "junk",
            "x",
        )));
        let before = last.max(mtime(&place.file("a")));
        place.slot.lay_out(&made.tree, &made).unwrap();
        let now = mtime(&write(&place.dir, "now", ""));
        assert!(mtime(&place.file("a")) > before, "round {round}");
        assert!(mtime(&place.file("a")) <= now, "dated ahead");
        assert_eq!(mtime(&place.file("b")), both);
    }
}

#[test]
fn a_time_of_the_tree_a_little_ahead_is_waited_for() {
    let mut place = Place::new();
    place.slot.lay_out(&one().tree, &one()).unwrap();
    let soon = std::time::SystemTime::now() + Duration::from_millis(300);
    super::util::touch_to(&place.file("a"), soon);
    place.slot.lay_out(&two().tree, &two()).unwrap();
    assert!(mtime(&place.file("a")) > FsTime::of_system(soon));
}

fn set_clock(place: &Place, time: FsTime) {
    fs::write(place.dir.join("clock"), format!("{:020}.{:09}\n", time.secs, time.nanos)).unwrap();
}

#[test]
fn the_slots_last_time_is_waited_for_if_it_is_a_little_ahead() {
    let mut place = Place::new();
    place.slot.lay_out(&one().tree, &one()).unwrap();
    let ahead = mtime(&write(&place.dir, "now", "")).plus(Duration::from_millis(300));
    set_clock(&place, ahead);
    let done = place.slot.lay_out(&two().tree, &two()).unwrap();
    assert_eq!(done.build, Build::Kept);
    assert!(mtime(&place.file("a")) > ahead);
}

#[test]
fn a_clock_that_was_set_back_costs_the_build_and_all_times() {
    let mut place = Place::new();
    place.slot.lay_out(&one().tree, &one()).unwrap();
    write(&place.slot.build(), "deps/out", "x");
    let now = mtime(&write(&place.dir, "now", ""));
    set_clock(&place, now.plus(Duration::from_secs(3600)));

    let done = place.slot.lay_out(&one().tree, &one()).unwrap();

    assert_eq!(done, LaidOut { refreshed: 2, hashed: 2, build: Build::Wiped, ..LaidOut::default() });
    assert_eq!(super::util::everything(&place.slot.build()), [""; 0]);
    assert!(mtime(&place.file("b")) > now);
    // From here on all is as usual.
    write(&place.slot.build(), "deps/out", "x");
    let done = place.slot.lay_out(&one().tree, &one()).unwrap();
    assert_eq!(done, LaidOut { kept: 2, ..LaidOut::default() });
}

#[test]
fn a_lost_or_broken_clock_costs_the_build_too() {
    for text in ["", "12", "12.x\n", "12.9999999999\n", "12.5\n", "\u{0}"] {
        let mut place = Place::new();
        place.slot.lay_out(&one().tree, &one()).unwrap();
        write(&place.slot.build(), "out", "x");
        fs::write(place.dir.join("clock"), text).unwrap();
        assert_eq!(place.slot.lay_out(&one().tree, &one()).unwrap().build, Build::Wiped, "{text:?}");
    }
}

#[test]
fn a_check_notes_the_time() {
    let mut place = Place::new();
    place.slot.lay_out(&one().tree, &one()).unwrap();
    set_clock(&place, FsTime { secs: 1, nanos: 0 });
    let out = mtime(&write(&place.slot.build(), "out", "x"));
    place.slot.recheck().unwrap();
    let text = fs::read_to_string(place.dir.join("clock")).unwrap();
    let (secs, nanos) = text.trim_end().split_once('.').unwrap();
    assert!(FsTime { secs: secs.parse().unwrap(), nanos: nanos.parse().unwrap() } >= out);
}
