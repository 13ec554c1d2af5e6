//! Events only grow: a log of each released schema version folds to its stored state for ever. The files of a
//! released version are never edited; a new version gets new ones. Until this one is released, a change to events is
//! taken in by `cargo test -p perspt-core -- --ignored golden`, and the difference is read before it is committed.

use std::collections::BTreeSet;
use std::path::Path;

use perspt_core::consent::{ConsentKind, Declared};
use perspt_core::effect::Effect;
use perspt_core::energy::ReadingSummary;
use perspt_core::event::{
    Approval, AskNext, Calibration, Decision, Ended, Event, KeptPlace, ParseState, RetryClass, SCHEMA,
    SessionResumed, SessionStarted, Settings,
};
use perspt_core::ids::Millis;
use perspt_core::outcome::EndReason;
use perspt_core::reading::StageKind;
use perspt_core::state::SessionState;
use perspt_core::view::{History, Owner, SessionView};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::dice::Dice;
use crate::support::*;
use crate::world::World;

const LOG: &str = include_str!("golden/v2.jsonl");
const VIEW: &str = include_str!("golden/v2.view.json");

#[derive(Serialize, Deserialize)]
struct Line {
    at: Millis,
    event: Value,
}

fn lines() -> impl Iterator<Item = Line> {
    LOG.lines().map(|line| serde_json::from_str(line).unwrap())
}

#[test]
fn the_second_versions_log_is_seen_as_it_was() {
    assert_eq!(SCHEMA, 2, "a new version needs a golden log of its own, beside this one");
    let events = lines().map(|line| (line.at, serde_json::from_value(line.event).unwrap()));
    let seen: Value = serde_json::from_str(&seen(events)).unwrap();
    let stored: Value = serde_json::from_str(VIEW).unwrap();
    assert!(holds(&seen, &stored), "{seen:#}");
}

/// What people see of these events.
fn seen(events: impl Iterator<Item = (Millis, Event)>) -> String {
    let (mut state, mut history) = (SessionState::default(), History::default());
    for (at, event) in events {
        state.apply(at, &event);
        history.apply(&event);
    }
    serde_json::to_string_pretty(&SessionView::of(&state, &history, Owner::Gone)).unwrap() + "\n"
}

/// Whether everything that was stored is still seen. A view may grow.
fn holds(seen: &Value, stored: &Value) -> bool {
    match (seen, stored) {
        (Value::Object(seen), Value::Object(stored)) => stored.iter().all(|(key, value)| {
            let now = seen.get(key);
            now.is_some_and(|now| holds(now, value)) || (now.is_none() && value.is_null())
        }),
        (Value::Array(seen), Value::Array(stored)) => {
            seen.len() == stored.len() && seen.iter().zip(stored).all(|(seen, stored)| holds(seen, stored))
        }
        (seen, stored) => seen == stored,
    }
}

#[test]
fn the_second_versions_events_are_written_as_they_were() {
    for line in lines() {
        let event: Event = serde_json::from_value(line.event.clone()).unwrap();
        assert_eq!(serde_json::to_value(&event).unwrap(), line.event);
    }
}

#[test]
fn the_golden_log_holds_every_kind_of_event_effect_and_outcome() {
    let mut met = [(); 3].map(|()| BTreeSet::new());
    for line in lines() {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        met[0].insert(text(&line.event["kind"]));
        if let Some(effect) = line.event.get("effect") {
            met[1].insert(text(&effect["do"]));
        }
        if let Some(outcome) = line.event.get("outcome").filter(|outcome| outcome.is_object()) {
            met[2].insert(text(&outcome["ended"]));
        }
    }
    let all = [
        "abort_asked attempt_judged bytes_kept effect_ended effect_started node_closed node_proposed \
            pause_asked plan_adopted session_ended session_resumed session_started tail_cut",
        "ask assemble calibrate fetch judge lay_out measure parse probe publish question \
            run_new_tests run_old_tests snapshot",
        // A workspace that cannot be worked with ends a session for good, before anything else happens in it.
        "answered ask_failed assembled base_moved broke bundle_parsed calibrated cancelled decided fetched \
            judged laid_out layout_refused lost measured new_tests_ran overtaken plan_parsed probed \
            published snapshotted",
    ];
    for (met, all) in met.iter().zip(all) {
        assert!(met.iter().map(String::as_str).eq(all.split_whitespace()), "{met:?}");
    }
}

#[test]
#[ignore = "writes the golden files anew"]
fn the_golden_files_are_written_from_the_story() {
    let world = story();
    let line = |(at, event): &(Millis, Event)| {
        let line = Line { at: *at, event: serde_json::to_value(event).unwrap() };
        serde_json::to_string(&line).unwrap() + "\n"
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/golden");
    let log: String = world.log.iter().map(line).collect();
    std::fs::write(folder.join("v2.jsonl"), log).unwrap();
    std::fs::write(folder.join("v2.view.json"), seen(world.log.iter().cloned())).unwrap();
}

fn parses(effect: &Effect) -> bool {
    matches!(effect, Effect::Parse { .. })
}

fn judges(effect: &Effect) -> bool {
    matches!(effect, Effect::Judge { .. })
}

fn asks(effect: &Effect) -> bool {
    matches!(effect, Effect::Ask { .. })
}

fn lays_out(effect: &Effect) -> bool {
    matches!(effect, Effect::LayOut { .. })
}

fn bundle(retry: Option<RetryClass>) -> Ended {
    let told = retry.is_some();
    Ended::BundleParsed {
        state: if told { ParseState::SemanticallyRejected } else { ParseState::TolerantRecoveryOk },
        capture: capture("a bundle"),
        changes: (!told).then(|| blob("changes")),
        retry,
        violations: if told { vec!["outside its files".to_owned()] } else { vec![] },
        evidence: told.then(|| blob("rejected answer")),
        widened: if told { vec![] } else { vec![path("src/beside.rs")] },
        changes_tests: if told { vec![] } else { vec![declaration("tests/a.rs")] },
        leaves_red: if told { vec![] } else { vec!["old".to_owned()] },
        skipped: if told { vec![] } else { vec!["cargo test".to_owned()] },
        refused: vec!["`a | b`: it needs a shell".to_owned()],
        commands: if told { vec![] } else { vec!["make assets".to_owned()] },
        needs: if told { vec![] } else { vec![need(ConsentKind::Command, "make assets", Declared::No)] },
    }
}

fn ends(world: &World, reason: EndReason) {
    assert_eq!(world.state.end.as_ref().map(|end| end.reason), Some(reason));
}

fn resumed(world: &mut World, with: SessionResumed) {
    world.now = world.now.plus(5000);
    world.record(Event::SessionResumed(with));
}

fn settle(world: &mut World) {
    while let Some(event) = world.state.due(world.now) {
        world.record(event);
    }
}

/// Four nodes: one waits for a consent and is published after a resume, one is published over a moved base, one is
/// rejected, and the last is cut short.
fn story() -> World {
    let settings = Settings { limits: plenty(), output_tokens: 1000, ..Settings::default() };
    let allow = vec![grant("command:make assets")];
    let mut world = World::begun(Dice::lucky(), SessionStarted { allow, ..started(settings) });
    begins(&mut world);
    core_waits(&mut world);
    page_is_published(&mut world);
    ends(&world, EndReason::Consents);
    let (allow, approval) = (vec![grant("tests")], Some(Approval::Person));
    resumed(&mut world, SessionResumed { allow, approval, ..SessionResumed::default() });
    core_is_asked_about(&mut world);
    glue_is_rejected(&mut world);
    world.until_node("shell", asks);
    world.record(Event::AbortAsked { by: "this terminal".to_owned() });
    world.ends_as_cancelled();
    settle(&mut world);
    ends(&world, EndReason::Aborted);
    world
}

fn begins(world: &mut World) {
    world.until(|flight| flight.effect == Effect::Probe);
    world.ends_with(Ended::Broke { trouble: trouble() });
    settle(world);
    ends(world, EndReason::Internal);
    world.record(Event::TailCut { offset: 700, bytes: 12, kept_as: "log.cut".to_owned() });
    let place = KeptPlace::Blob(blob("theirs"));
    world.record(Event::BytesKept { path: path("src/lib.rs"), place });
    resumed(world, SessionResumed::default());
    let tests =
        |effect: &Effect| matches!(effect, Effect::Calibrate { stage, .. } if stage.kind == StageKind::Test);
    world.until(|flight| tests(&flight.effect));
    let verdict = Calibration::Sees(vec!["a failing test".to_owned()]);
    world.ends_with(Ended::Calibrated { verdict, runs: vec![run_note()] });
    let mut core = plan_node("core", &[]);
    core.changes_tests.push(declaration("tests/core.rs"));
    core.leaves_red.push("old".to_owned());
    let (rust, web) = (vec![root("", "rust")], vec![root("web", "go")]);
    world.plans(&[
        (core, rust.clone()),
        (plan_node("page", &[]), web),
        (plan_node("glue", &["core"]), rust.clone()),
        (plan_node("shell", &["core"]), rust),
    ]);
}

fn core_waits(world: &mut World) {
    world.until_node("core", asks);
    world.ends_with(Ended::AskFailed {
        class: "Status".to_owned(),
        what: "529".to_owned(),
        next: AskNext::Again(Some(2000)),
        began: false,
        tokens: None,
    });
    world.now = world.state.next_wake(world.now).unwrap();
    world.until_node("core", parses);
    world.ends_with(bundle(Some(RetryClass::Retarget)));
    world.until_node("core", parses);
    world.ends_with(bundle(None));
    world.until_node("core", lays_out);
    world.ends_with(Ended::Overtaken { files: vec![path("src/core.rs")] });
    world.until_node("core", parses);
    world.ends_with(bundle(None));
    world.until_node("core", lays_out);
    let violations = vec!["`make assets` wrote `b`".to_owned()];
    world.ends_with(Ended::LayoutRefused { violations, runs: vec![run_note()] });
    let mut reading = structure_of(world, "core");
    reading.old_tests = true;
    world.ends_with(Ended::Measured { reading, environment: None, runs: vec![], reused: false });
    world.until_node("core", judges);
    let mut judgement = unstable(2, "undeclared");
    judgement.told_undeclared = true;
    world.ends_with(Ended::Judged { judgement: Box::new(judgement) });
    let (_, flight) = world.until_node("core", judges);
    let mut tests = need(ConsentKind::Tests, "tests/core.rs::adds", Declared::InTime);
    tests.weaker.push("3 assertions before, 1 now".to_owned());
    tests.notes.push("as it was, it fails over the new code".to_owned());
    let Effect::Judge { branch, .. } = &flight.effect else { panic!("{flight:?}") };
    world.needs.insert(branch.tree, vec![tests.clone()]);
    world.ends_with(Ended::Judged { judgement: Box::new(waiting_for(&[tests])) });
}

/// A green reading for the look at what this node changes, which is under way then.
fn structure_of(world: &mut World, node: &str) -> ReadingSummary {
    let (_, flight) = world.until_node(
        node,
        |effect| matches!(effect, Effect::Measure { stage, .. } if stage.kind == StageKind::Structure),
    );
    let Effect::Measure { branch, stage, .. } = &flight.effect else { panic!("{flight:?}") };
    green(branch.tree, stage)
}

fn page_is_published(world: &mut World) {
    let (id, _) = world.until_node("page", asks);
    // The process dies. What waits is judged again by the next, and waits on.
    world.record(world.state.effect_ended(id, Ended::Lost));
    resumed(world, SessionResumed::default());
    world.until_node("page", |effect| matches!(effect, Effect::Publish { .. }));
    let changed = vec![path("README.md")];
    world.ends_with(Ended::BaseMoved { head: tree("moved"), changed, more: 0 });
    world.run_once();
}

fn core_is_asked_about(world: &mut World) {
    let mut reading = structure_of(world, "core");
    reading.added_tests = 1;
    world.ends_with(Ended::Measured { reading, environment: None, runs: vec![], reused: false });
    world.until_node("core", judges);
    let red = need(ConsentKind::Red, "tests/old.rs::old", Declared::No);
    world.ends_with(Ended::Judged { judgement: Box::new(waiting_for(&[red])) });
    world.until_node("core", |effect| matches!(effect, Effect::Question { .. }));
    world.record(Event::PauseAsked);
    world.ends_as_cancelled();
    settle(world);
    ends(world, EndReason::Paused);
    resumed(world, SessionResumed { model: Some("another model".to_owned()), ..SessionResumed::default() });
    world.until_node("core", judges);
    let red = need(ConsentKind::Red, "tests/old.rs::old", Declared::No);
    world.ends_with(Ended::Judged { judgement: Box::new(waiting_for(&[red])) });
    world.until_node("core", |effect| matches!(effect, Effect::Publish { .. }));
}

fn glue_is_rejected(world: &mut World) {
    world.until_node("glue", judges);
    let need = need(ConsentKind::Evidence, "build.rs", Declared::No);
    world.ends_with(Ended::Judged { judgement: Box::new(waiting_for(&[need])) });
    world.until_node("glue", |effect| matches!(effect, Effect::Question { .. }));
    world.ends_with(Ended::Decided {
        answer: Decision::No,
        by: Approval::Person,
        from: None,
        grants: vec![],
    });
}
