//! The disk fails under a session, and later works again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use perspt_agent::open;
use perspt_agent::ports::Unseen;
use perspt_core::event::SessionStarted;
use perspt_core::ids::{Millis, SessionId, TreeId};
use perspt_core::outcome::Outcome;
use perspt_store::{RealDisk, check_log, publish};
use perspt_testkit::disk::{Fault, Watched};
use perspt_testkit::home::Picture;
use perspt_testkit::server::Table;
use perspt_testkit::session::Point;
use rustix::io::Errno;

use crate::support::{PROJECT, World, answers, bundle, code_node, delete, rename, write};

/// A node that replaces, moves and deletes.
fn table() -> Table {
    let answer = bundle(&[
        write("lib/two.toy", "let two = 1 + 1\n"),
        rename("lib/old.toy", "lib/new.toy"),
        delete("lib/gone.toy"),
    ]);
    let files = ["lib/two.toy", "lib/old.toy", "lib/new.toy", "lib/gone.toy"];
    answers(code_node(&files), &[("actuator.generate", 1, answer)])
}

fn world() -> (World, Watched) {
    let mut world = World::new(PROJECT, table());
    world.place.write("lib/old.toy", "let old = 1\n");
    world.place.write("lib/gone.toy", "let gone = 0\n");
    let disk = Watched::new(Arc::new(RealDisk), &[]);
    world.rig.home = world.place.home_on(Arc::new(disk.clone()));
    (world, disk)
}

/// How it comes out where nothing fails.
struct Reference {
    files: Picture,
    tree: TreeId,
    /// Every ninth of the disk's steps, from the first after the session has begun to the last.
    steps: Vec<u64>,
}

fn undisturbed() -> Reference {
    let (mut world, disk) = world();
    let begun = Arc::new(AtomicU64::new(0));
    world.rig.watch = {
        let (begun, disk) = (begun.clone(), disk.clone());
        Arc::new(move |_: &Point<'_>| {
            let _ = begun.compare_exchange(0, disk.steps(), Ordering::Relaxed, Ordering::Relaxed);
        })
    };
    let state = world.begin();
    assert_eq!(state.end.unwrap().outcome, Outcome::Success);
    let steps = (begun.load(Ordering::Relaxed) + 1..=disk.steps()).step_by(9).collect();
    Reference { files: world.place.picture(), tree: state.head.unwrap().id, steps }
}

/// After the disk works again, a resume comes to the same end and buys nothing twice.
fn comes_right(world: &World, reference: &Reference, case: &str) {
    let state = world.resume();
    let end = state.end.unwrap();
    assert_eq!(end.outcome, Outcome::Success, "{case}: {end:?}");
    assert_eq!(state.head.unwrap().id, reference.tree, "{case}");
    assert_eq!(world.place.picture(), reference.files, "{case}");
    let lost = state.account.used.steps - 2;
    assert!(world.server.asks() as u64 <= 2 + lost, "{case}: {:?}", world.tags());
    assert_eq!(publish::pending(&world.rig.home, &world.place.work()).unwrap().map(|_| ()), None, "{case}");
    assert_eq!(check_log(&world.rig.home, world.rig.id(), &mut |_| {}).unwrap().torn, None, "{case}");
}

/// From some step on everything fails: a disk that was pulled out.
#[test]
fn a_disk_that_goes_away_ends_the_session_and_a_resume_goes_on() {
    let reference = undisturbed();
    for step in reference.steps.iter().copied() {
        let (world, disk) = world();
        disk.reset(&[Fault::Stop(step)]);
        assert!(world.rig.begin().is_err(), "step {step}");
        disk.reset(&[]);
        comes_right(&world, &reference, &format!("step {step}"));
    }
}

/// One write or sync fails and the next one does not.
#[test]
fn a_disk_that_is_full_for_a_moment_ends_the_session_and_a_resume_goes_on() {
    let reference = undisturbed();
    for step in reference.steps.iter().copied() {
        let (world, disk) = world();
        disk.reset(&[Fault::Fail(step, Errno::NOSPC)]);
        // A step may be one that is allowed to fail.
        let ended = world.rig.begin().map(|state| state.end.unwrap().outcome);
        disk.reset(&[]);
        match ended {
            Ok(Outcome::Success) => assert_eq!(world.place.picture(), reference.files, "step {step}"),
            Ok(Outcome::InternalError) | Err(_) => comes_right(&world, &reference, &format!("step {step}")),
            Ok(other) => panic!("step {step}: {other:?}"),
        }
    }
}

/// From this step of publishing on everything fails, until the publication is over.
fn fails_while_publishing(world: &mut World, disk: Watched, step: u64) {
    world.rig.watch = Arc::new(move |point: &Point<'_>| match point {
        Point::BeforeAct(_) if point.before_publish("one") => disk.reset(&[Fault::Stop(step)]),
        Point::AfterAct(..) => disk.reset(&[]),
        _ => {}
    });
}

/// Publishing fails half way and cannot be taken back either; then the log can be written again.
#[test]
fn a_publication_that_fails_half_way_is_made_whole_by_the_resume() {
    let reference = undisturbed();
    for step in 1..40 {
        let (mut world, disk) = world();
        fails_while_publishing(&mut world, disk, step);
        let end = world.begin().end.unwrap();
        if end.outcome == Outcome::Success {
            assert!(step > 20, "a publication has more than {step} steps");
            return;
        }
        assert_eq!(end.outcome, Outcome::InternalError, "step {step}");
        world.rig.watch = Arc::new(|_: &Point<'_>| {});
        comes_right(&world, &reference, &format!("step {step} of publishing"));
    }
}

/// The same, and nobody resumes: another session begins in that workspace.
#[test]
fn what_one_session_left_half_published_is_made_whole_before_another_begins() {
    let reference = undisturbed();
    let mut left = 0;
    for step in (1..40).step_by(3) {
        let (mut world, disk) = world();
        fails_while_publishing(&mut world, disk, step);
        world.begin();
        let (home, work) = (&world.rig.home, world.place.work());
        if publish::pending(home, &work).unwrap().is_none() {
            continue;
        }
        left += 1;
        let started = SessionStarted { session: SessionId::from("another"), ..world.rig.started.clone() };
        let opened = open::begin(home, Millis(0), started, &mut Unseen).unwrap();
        assert!(publish::pending(home, &work).unwrap().is_none(), "step {step}");
        assert_eq!(world.place.picture(), reference.files, "step {step}");
        drop(opened);
    }
    assert!(left > 3, "half published {left} times");
}
