//! Sessions that verify: the tree as it is, with no plan and no model.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use perspt_core::effect::{Effect, EffectKind};
use perspt_core::event::{Event, Purpose};
use perspt_core::outcome::{EndReason, Outcome};
use perspt_core::state::{End, SessionState};
use perspt_testkit::server::Table;
use perspt_testkit::session::Point;
use perspt_testkit::toy::Flaw;

use crate::support::{PROJECT, World};

/// A world whose session verifies these files.
fn verifying(files: &[(&str, &str)], flaw: Flaw) -> World {
    let mut world = World::with_flaw(files, Table::new(), flaw);
    world.rig.started.purpose = Purpose::Verify { since: None };
    world
}

/// Runs it to its end. No model is asked and nothing in the workspace changes, whatever is found.
fn verified(world: &World) -> (SessionState, End) {
    let before = world.place.picture();
    let state = world.begin();
    assert_eq!(world.place.picture(), before);
    assert!(world.server.requests().is_empty(), "{:?}", world.tags());
    let end = state.end.clone().unwrap();
    (state, end)
}

fn with(changes: &[(&'static str, &'static str)]) -> Vec<(&'static str, &'static str)> {
    let kept = PROJECT.iter().filter(|(path, _)| changes.iter().all(|(changed, _)| changed != path));
    kept.chain(changes).copied().collect()
}

fn energy(state: &SessionState) -> u64 {
    state.last_look.as_ref().unwrap().1.energy.total.0
}

#[test]
fn a_green_tree_is_clean_once_its_stages_have_seen_planted_errors() {
    let world = verifying(PROJECT, Flaw::None);
    let (state, end) = verified(&world);
    assert_eq!((end.reason, end.outcome), (EndReason::NodesClosed, Outcome::Success));
    assert_eq!(energy(&state), 0);
    let calibrated = world.rig.events().into_iter().filter(|(_, event)| {
        let Event::EffectEnded { of: Some(of), .. } = event else { return false };
        matches!(of.kind, EffectKind::Calibrate(_))
    });
    assert_eq!(calibrated.count(), 2, "the build and the tests");
}

#[test]
fn a_failing_test_counts_though_it_was_there_before() {
    let world = verifying(&with(&[("lib/two.toy", "let two = 3\n")]), Flaw::None);
    let (state, end) = verified(&world);
    assert_eq!(end.outcome, Outcome::Failed);
    assert_eq!(energy(&state), 6000);
}

#[test]
fn tests_that_a_red_build_kept_from_running_make_it_red_and_not_unmeasured() {
    let world = verifying(&with(&[("main.toy", "let answer = nobody\n")]), Flaw::None);
    let (state, end) = verified(&world);
    assert_eq!(end.outcome, Outcome::Failed);
    assert_eq!(state.last_look.unwrap().1.energy.unmeasured, 1);
}

#[test]
fn a_green_result_of_a_blind_sensor_is_never_clean() {
    for flaw in [Flaw::Blind, Flaw::BlindTests] {
        let (_, end) = verified(&verifying(PROJECT, flaw));
        assert_eq!(end.outcome, Outcome::DegradedVerification, "{flaw:?}");
        let trouble = end.trouble.unwrap();
        assert!(trouble.why.contains("although an error was put there on purpose"), "{trouble:?}");
    }
}

#[test]
fn a_file_that_is_changed_meanwhile_is_looked_at_as_it_is_then() {
    let mut world = verifying(PROJECT, Flaw::None);
    let (file, edited) = (world.place.work().join("main.toy"), AtomicBool::new(false));
    world.rig.watch = Arc::new(move |point: &Point<'_>| {
        if let Point::AfterAct(wanted, _) = point
            && wanted.effect == Effect::Snapshot
            && !edited.swap(true, Ordering::Relaxed)
        {
            std::fs::write(&file, "let answer = nobody + nobody\n").unwrap();
        }
    });
    let end = world.begin().end.unwrap();
    assert_eq!((end.outcome, world.moves()), (Outcome::Failed, 1));
}

#[test]
fn a_missing_tool_is_named_and_its_root_is_never_clean() {
    let mut world = World::with_tool(PROJECT, Table::new(), Path::new("/nowhere/toyc"), Flaw::None);
    world.rig.started.purpose = Purpose::Verify { since: None };
    let (_, end) = verified(&world);
    assert_eq!(end.outcome, Outcome::DegradedVerification);
    assert!(end.trouble.unwrap().what.contains("`toyc`"));
}

#[test]
fn a_folder_that_no_tool_looks_at_is_never_clean() {
    for files in [&[("NOTES.md", "notes\n")][..], &[("run.sh", "exit 0\n")], &[]] {
        let (_, end) = verified(&verifying(files, Flaw::None));
        assert_eq!(end.outcome, Outcome::DegradedVerification, "{files:?}");
        let trouble = end.trouble.unwrap();
        assert_eq!(trouble.what, "nothing was measured");
        assert!(trouble.todo.contains("`--test-cmd`"), "{}", trouble.todo);
    }
}

#[test]
fn less_than_what_is_required_is_not_clean() {
    let mut world = verifying(&with(&[("tests/two.toy", "let unused = 1\n")]), Flaw::None);
    world.rig.started.settings.require = Some(perspt_core::grade::Require::Tests);
    let (_, end) = verified(&world);
    assert_eq!(end.outcome, Outcome::DegradedVerification);
    assert!(end.trouble.unwrap().what.contains("--require tests"));
}
