//! A reader of a long log needs no more memory than one of a short log.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use perspt_core::ids::Millis;
use perspt_store::{Chain, LogReader, check_log};
use serde_json::json;

use crate::support::{Real, id};

/// Counts what each thread holds, so that tests beside this one do not count.
struct Counting;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
    static MOST: Cell<isize> = const { Cell::new(0) };
}

fn count(bytes: isize) {
    // A thread that is ending has no counters any more.
    let _ = HELD.try_with(|held| {
        held.set(held.get() + bytes);
        let _ = MOST.try_with(|most| most.set(most.get().max(held.get())));
    });
}

// SAFETY: every call is passed on to the system's allocator with the arguments it came with; counting
// allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: as above.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn log_of(records: u64) -> Real {
    let (mut chain, mut bytes) = (Chain::default(), Vec::new());
    for n in 0..records {
        chain
            .seal(
                Millis(n),
                1,
                &json!({"kind": "note", "text": "a sentence of some length", "n": n}),
                &mut bytes,
            )
            .unwrap();
    }
    let real = Real::new();
    std::fs::create_dir_all(real.home.session_dir(&id())).unwrap();
    std::fs::write(real.log(), bytes).unwrap();
    real
}

/// The most memory that reading took, beyond what was held before.
fn most_while(read: impl FnOnce() -> u64, records: u64) -> isize {
    let before = HELD.get();
    MOST.set(before);
    assert_eq!(read(), records);
    MOST.get() - before
}

#[test]
fn reading_100_000_events_takes_no_more_memory_than_reading_1_000() {
    let mut most = Vec::new();
    for records in [1_000, 100_000] {
        let real = log_of(records);
        let follow = || {
            let mut reader = LogReader::open(&real.home, &id()).unwrap();
            std::iter::from_fn(|| reader.poll().unwrap()).count() as u64
        };
        let check = || check_log(&real.home, &id(), &mut |_| {}).unwrap().records;
        most.push((most_while(follow, records), most_while(check, records)));
    }
    println!("{most:?}");
    // Two megabytes more would be allowed; there is no reason for even a page.
    assert!(most[1].0 - most[0].0 < 4096 && most[1].1 - most[0].1 < 4096, "{most:?}");
    assert!(most[1].0 < 200_000, "{most:?}");
}
