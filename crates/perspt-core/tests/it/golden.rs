//! Events only grow: a log of each released schema version folds to its stored state for ever. The files of a
//! released version are never edited; a new version gets new ones. Until this one is released, a change to events is
//! taken in by `cargo test -p perspt-core -- --ignored golden`, and the difference is read before it is committed.

use std::collections::BTreeSet;
use std::path::Path;

use perspt_core::budget::Spend;
use perspt_core::consent::{ConsentKind, Declared};
use perspt_core::context::ContextRequest;
use perspt_core::effect::{Effect, Expects, Intent};
use perspt_core::energy::ReadingSummary;
use perspt_core::event::{
    Approval, AskNext, Calibration, Decision, Ended, Event, KeptPlace, ParseState, PlanningPolicy, Recovered,
    RetryClass, SCHEMA, SessionResumed, SessionStarted, Settings,
};
use perspt_core::ids::Millis;
use perspt_core::outcome::EndReason;
use perspt_core::reading::StageKind;
use perspt_core::route::{Price, Route, Tier, TierRoute};
use perspt_core::state::{SessionState, Wanted};
use perspt_core::view::{History, Owner, SessionView};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::dice::Dice;
use crate::steps::*;
use crate::support::*;
use crate::world::World;

/// A log and what is seen of it.
struct Golden {
    name: &'static str,
    log: &'static str,
    view: &'static str,
    story: fn() -> World,
}

const ALL: [Golden; 2] = [
    Golden {
        name: "v2",
        log: include_str!("golden/v2.jsonl"),
        view: include_str!("golden/v2.view.json"),
        story,
    },
    Golden {
        name: "v2-solo",
        log: include_str!("golden/v2-solo.jsonl"),
        view: include_str!("golden/v2-solo.view.json"),
        story: solo_story,
    },
];

/// The beginning of a log from before there were tiers, up to a candidate that is not stable.
const BEFORE_TIERS: &str = include_str!("golden/v2-before-tiers.jsonl");

#[derive(Serialize, Deserialize)]
struct Line {
    at: Millis,
    event: Value,
}

fn lines(log: &str) -> impl Iterator<Item = Line> {
    log.lines().map(|line| serde_json::from_str(line).unwrap())
}

#[test]
fn the_second_versions_log_is_seen_as_it_was() {
    assert_eq!(SCHEMA, 2, "a new version needs a golden log of its own, beside this one");
    for golden in ALL {
        let events = lines(golden.log).map(|line| (line.at, serde_json::from_value(line.event).unwrap()));
        let seen: Value = serde_json::from_str(&seen(events)).unwrap();
        let stored: Value = serde_json::from_str(golden.view).unwrap();
        assert!(holds(&seen, &stored), "{}: {seen:#}", golden.name);
    }
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
    for line in ALL.map(|golden| golden.log).into_iter().chain([BEFORE_TIERS]).flat_map(lines) {
        let event: Event = serde_json::from_value(line.event.clone()).unwrap();
        assert_eq!(serde_json::to_value(&event).unwrap(), line.event);
    }
}

#[test]
fn a_log_from_before_there_were_tiers_goes_on_as_it_would_have() {
    let mut state = SessionState::default();
    for line in lines(BEFORE_TIERS) {
        state.apply(line.at, &serde_json::from_value(line.event).unwrap());
    }
    assert_eq!(state.due(state.last_at), None);
    let wanted: Vec<Wanted> = state.wanted(state.last_at).into_values().collect();
    let [Wanted { effect: Effect::Assemble { intent, attempt, analysis, .. }, .. }] = &wanted[..] else {
        panic!("{wanted:?}")
    };
    assert_eq!((*intent, *attempt, *analysis), (Intent::Correction, 1, None), "nobody explains the findings");
    assert_eq!(state.route(Tier::Actuator).model, "m");
    let tiers = state.account.tiers.values().fold(Spend::default(), |sum, tier| sum.plus(*tier));
    assert_eq!((tiers, state.account.used.steps), (state.account.used, 6));
    assert!(!state.plans_locally() && state.fallen.is_empty());
}

#[test]
fn the_golden_log_holds_every_kind_of_event_effect_and_outcome() {
    let mut met = [(); 3].map(|()| BTreeSet::new());
    for line in ALL.into_iter().flat_map(|golden| lines(golden.log)) {
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
            pause_asked plan_adopted session_ended session_resumed session_started tail_cut tier_moved",
        "ask assemble calibrate fetch judge lay_out measure parse plan_local probe publish question \
            run_new_tests run_old_tests snapshot",
        // A workspace that cannot be worked with ends a session for good, before anything else happens in it.
        "analysis_parsed answered ask_failed assembled base_moved broke bundle_parsed calibrated cancelled decided fetched \
            judged laid_out layout_refused lost measured new_tests_ran overtaken plan_parsed planned_locally probed \
            published snapshotted too_large_for_model",
    ];
    for (met, all) in met.iter().zip(all) {
        assert!(met.iter().map(String::as_str).eq(all.split_whitespace()), "{met:?}");
    }
}

#[test]
#[ignore = "writes the golden files anew"]
fn the_golden_files_are_written_from_the_story() {
    let line = |(at, event): &(Millis, Event)| {
        let line = Line { at: *at, event: serde_json::to_value(event).unwrap() };
        serde_json::to_string(&line).unwrap() + "\n"
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/golden");
    for golden in ALL {
        let world = (golden.story)();
        let log: String = world.log.iter().map(line).collect();
        let write = |ending: &str, text: String| {
            std::fs::write(folder.join(format!("{}.{ending}", golden.name)), text).unwrap();
        };
        write("jsonl", log);
        write("view.json", seen(world.log.iter().cloned()));
    }
}

fn lays_out(effect: &Effect) -> bool {
    matches!(effect, Effect::LayOut { .. })
}

/// An answer that only asks to see more.
fn asks_to_see() -> Ended {
    let requests = vec![
        ContextRequest::Read { path: "src/core.rs".to_owned(), lines: Some((1, 40)) },
        ContextRequest::Search { query: "adds".to_owned() },
        ContextRequest::Symbol { symbol: "Adder".to_owned() },
    ];
    bundle_of(None, requests)
}

fn bundle(retry: Option<RetryClass>) -> Ended {
    bundle_of(retry, vec![])
}

fn bundle_of(retry: Option<RetryClass>, requests: Vec<ContextRequest>) -> Ended {
    let told = retry.is_some() || !requests.is_empty();
    Ended::BundleParsed {
        state: if retry.is_some() {
            ParseState::SemanticallyRejected
        } else {
            ParseState::TolerantRecoveryOk
        },
        capture: capture("a bundle"),
        changes: (!told).then(|| blob("changes")),
        retry,
        violations: if retry.is_some() { vec!["outside its files".to_owned()] } else { vec![] },
        evidence: retry.map(|_| blob("rejected answer")),
        widened: if told { vec![] } else { vec![path("src/beside.rs")] },
        changes_tests: if told { vec![] } else { vec![declaration("tests/a.rs")] },
        leaves_red: if told { vec![] } else { vec!["old".to_owned()] },
        skipped: if told { vec![] } else { vec!["cargo test".to_owned()] },
        refused: vec!["`a | b`: it needs a shell".to_owned()],
        commands: if told { vec![] } else { vec!["make assets".to_owned()] },
        needs: if told { vec![] } else { vec![need(ConsentKind::Command, "make assets", Declared::No)] },
        recovered: Recovered { form: "json".to_owned(), mended: vec!["a comma was missing".to_owned()] },
        requests,
        roots: if told { vec![] } else { vec![root("", "rust")] },
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

/// A tree that does not fit the architect's window: its one node is nobody's plan.
fn solo_story() -> World {
    let mut settings = Settings { limits: plenty(), output_tokens: 1000, ..Settings::default() };
    settings.limits.cost = Some(5_000_000);
    let tiny = Route { window: Some(4096), output: Some(512), local: true, ..model("tiny") };
    let routes = vec![TierRoute { tier: Tier::Architect, main: tiny, fallback: None }];
    let planning = Some(PlanningPolicy::FeatureIncrement);
    let mut world = World::begun(Dice::lucky(), SessionStarted { routes, planning, ..started(settings) });
    world.until(|flight| assembles(&flight.effect));
    let model = "tiny".to_owned();
    world.ends_with(Ended::TooLargeForModel { needed: 9000, window: 4096, model });
    world.run_once();
    ends(&world, EndReason::NodesClosed);
    world
}

/// Four nodes: one waits for a consent and is published after a resume, one is published over a moved base, one is
/// rejected, and the last is cut short.
fn story() -> World {
    let settings = Settings { limits: plenty(), output_tokens: 1000, ..Settings::default() };
    let allow = vec![grant("command:make assets")];
    let price = Price { input: 1_000_000, cached: 100_000, output: 4_000_000 };
    let fast = Route { price: Some(price), window: Some(128_000), ..model("fast") };
    let actuator = TierRoute { tier: Tier::Actuator, main: fast, fallback: Some(model("spare")) };
    let routes = vec![actuator, tier(Tier::Verifier, "wise", None)];
    let mut world = World::begun(Dice::lucky(), SessionStarted { allow, routes, ..started(settings) });
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
        cost: None,
        tries: None,
    });
    world.now = world.state.next_wake(world.now).unwrap();
    world.until_node("core", asks);
    world.ends_with(unusable());
    world.until_node("core", parses);
    world.ends_with(asks_to_see());
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
    world.until_node("core", |effect| matches!(effect, Effect::Parse { expects: Expects::Analysis, .. }));
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
