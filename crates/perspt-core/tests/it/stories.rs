//! Stories of single guarantees: one thing goes wrong, and this is what must follow.

use perspt_core::effect::{Effect, Intent};
use perspt_core::event::{
    Calibration, Decision, Ended, EscalateReason, Event, RetryClass, SessionStarted, Settings, Verdict,
};
use perspt_core::ids::Millis;
use perspt_core::outcome::{EndReason, NodeEnd, Outcome};
use perspt_core::reading::{StageKind, Status};
use perspt_core::stage::{Preset, StageRole};
use perspt_core::state::{InFlight, NodeState, Work};

use crate::dice::Dice;
use crate::steps::*;
use crate::support::*;
use crate::world::World;

#[test]
fn an_abort_cancels_everything_but_a_started_publish() {
    let mut world = World::lucky();
    let (id, _) = world.until_node("core", publishes);
    world.record(Event::AbortAsked { by: "me".to_owned() });
    assert_eq!(world.state.due(world.now), None, "it waits for the publication");
    assert!(world.state.wanted(world.now).contains_key(&id));
    world.run();
    assert_eq!(world.state.nodes[&"core".into()].end, Some(NodeEnd::Committed));
    assert_eq!(ended(&world), (EndReason::Aborted, Outcome::Interrupted));

    let mut world = World::lucky();
    world.until_node("core", asks);
    world.record(Event::AbortAsked { by: "me".to_owned() });
    assert!(world.state.wanted(world.now).is_empty());
    world.run();
    let outcomes = |event: &&Event| matches!(event, Event::EffectEnded { outcome: Ended::Cancelled, .. });
    assert_eq!(world.events().filter(outcomes).count(), 1);
    assert_eq!(ended(&world).1.exit_code(), 130);
}

#[test]
fn a_pause_lets_what_runs_end_and_starts_nothing_new() {
    let mut world = World::lucky();
    let (id, _) = world.until_node("core", measures(StageKind::Test));
    world.record(Event::PauseAsked);
    assert_eq!(world.state.wanted(world.now).keys().collect::<Vec<_>>(), [&id]);
    world.run();
    assert_eq!(ended(&world), (EndReason::Paused, Outcome::Interrupted));
    assert_eq!(world.state.nodes[&"core".into()].state(), NodeState::Verifying);
    let length = world.log.len();
    world.resume();
    world.until_node("core", publishes);
    assert_eq!(world.started_since(length), ["core: judge", "core: publish"], "nothing is measured again");
    world.run();
    assert_eq!(ended(&world), (EndReason::NodesClosed, Outcome::Success));
}

#[test]
fn what_was_judged_is_decided_before_the_pause() {
    let mut world = World::lucky();
    world.until_node("core", |effect| matches!(effect, Effect::Judge { .. }));
    world.record(Event::PauseAsked);
    world.run();
    assert_eq!(ended(&world), (EndReason::Paused, Outcome::Interrupted));
    assert!(matches!(world.state.nodes[&"core".into()].work, Work::Stable(_)));
    assert_eq!(world.state.nodes[&"core".into()].state(), NodeState::Committing);
}

#[test]
fn a_request_lost_in_a_crash_is_charged_and_repeated_with_the_same_tag_and_bytes() {
    let mut world = World::lucky();
    let (first_id, first) = world.until_node("core", asks);
    let used = world.state.account.used;
    world.crash();
    let (second_id, second) = world.running();
    assert_ne!(first_id, second_id);
    assert_eq!(first.effect, second.effect);
    assert_eq!(second.key.ordinal, first.key.ordinal + 1);
    assert_eq!(world.state.account.used, used.plus(first.effect.reserve()));
}

#[test]
fn a_failed_request_waits_longer_each_time_and_at_least_as_long_as_it_was_told() {
    let mut world = with(Settings { ask_tries: 9, ..Settings::default() });
    world.until_node("core", asks);
    let mut waits = vec![];
    for told in [None, None, None, Some(500_000)] {
        let (_, flight) = world.running();
        let Effect::Ask { attempt: 1, intent: Intent::Generate, .. } = flight.effect else { panic!() };
        world.ends_with(again(told));
        let wake = world.state.next_wake(world.now).unwrap();
        waits.push(wake.since(world.now));
        assert!(world.state.wanted(world.now).is_empty());
        assert!(world.state.wanted(Millis(wake.0 - 1)).is_empty());
        assert_eq!(world.state.wanted(wake).len(), 1);
        world.now = wake;
    }
    let within = |wait: u64, low: u64| wait >= low && wait <= low + low / 4;
    assert!(within(waits[0], 1000) && within(waits[1], 2000) && within(waits[2], 4000), "{waits:?}");
    assert_eq!(waits[3], 500_000);
}

#[test]
fn a_provider_that_keeps_failing_ends_the_session_and_a_resume_asks_again() {
    let mut world = with(Settings { ask_tries: 2, ..Settings::default() });
    world.until_node("core", asks);
    world.ends_with(again(None));
    world.now = world.state.next_wake(world.now).unwrap();
    world.ends_with(again(None));
    world.run();
    assert_eq!(ended(&world), (EndReason::Provider, Outcome::ProviderUnusable));
    world.resume();
    let (_, flight) = world.running();
    assert!(asks(&flight.effect) && flight.key.ordinal == 2);
}

#[test]
fn a_call_that_just_fits_the_budget_is_made_and_the_next_is_not() {
    let mut settings = Settings { limits: plenty(), output_tokens: 1000, ..Settings::default() };
    settings.limits.steps = 2;
    let mut world = World::with(Dice::lucky(), settings);
    world.run();
    assert_eq!(ended(&world), (EndReason::Budget, Outcome::BudgetExhausted));
    assert_eq!(world.state.account.used.steps, 2);
    assert_eq!(world.state.nodes[&"core".into()].end, Some(NodeEnd::Committed));
    let todo = &world.state.end.as_ref().unwrap().trouble.as_ref().unwrap().todo;
    assert!(todo.contains("--max-steps"), "{todo}");
}

#[test]
fn the_time_between_a_crash_and_its_resume_is_not_the_sessions_time() {
    let mut world = World::lucky();
    world.until_node("core", asks);
    let worked = world.state.active_ms();
    world.now = world.now.plus(100_000_000);
    world.crash();
    assert_eq!(world.state.active_ms(), worked);
}

#[test]
fn a_node_whose_base_moved_gets_no_more_answers_than_any_other() {
    let mut world = with(Settings { answers: 2, ..Settings::default() });
    build_fails(&mut world, 1, "a finding");
    world.until_node("core", publishes);
    let changed = vec![path("src/core.rs")];
    world.ends_with(Ended::BaseMoved { head: tree("moved"), changed: changed.clone(), more: 0 });
    world.until_node("core", |effect| matches!(effect, Effect::LayOut { .. }));
    world.ends_with(Ended::Overtaken { files: changed });
    world.run();
    assert_eq!(world.state.nodes[&"core".into()].answers_used(), 2);
    assert_eq!(escalation(&world, "core"), EscalateReason::BaseKeptMoving);
    assert_eq!(world.state.nodes[&"shell".into()].end, Some(NodeEnd::Blocked));
    assert_eq!(ended(&world), (EndReason::NodesClosed, Outcome::Failed));
}

#[test]
fn a_base_that_moved_elsewhere_costs_no_model_call() {
    let mut world = World::lucky();
    world.until_node("core", publishes);
    let answers = world.state.nodes[&"core".into()].answers_used();
    let changed = vec![path("README.md")];
    world.ends_with(Ended::BaseMoved { head: tree("moved"), changed, more: 0 });
    let (_, flight) = world.until_node("core", publishes);
    assert_eq!(flight.key.generation, 1);
    assert_eq!(world.state.nodes[&"core".into()].answers_used(), answers);
    let Effect::Publish { branch, .. } = &flight.effect else { panic!() };
    assert_eq!(branch.base, tree("moved"));
}

#[test]
fn a_base_that_keeps_moving_is_given_up_on() {
    let mut world = with(Settings { rebuilds: 1, ..Settings::default() });
    for moved in ["once", "twice"] {
        world.until_node("core", publishes);
        let changed = vec![path("README.md")];
        world.ends_with(Ended::BaseMoved { head: tree(moved), changed, more: 0 });
    }
    world.run();
    assert_eq!(escalation(&world, "core"), EscalateReason::BaseKeptMoving);
}

#[test]
fn corrections_start_from_the_best_candidate_and_run_out() {
    let mut world = with(Settings { corrections: 2, ..Settings::default() });
    for (errors, finding) in [(2, "two errors"), (3, "three errors"), (1, "one error")] {
        build_fails(&mut world, errors, finding);
        let event = world.state.due(world.now).unwrap();
        world.record(event);
    }
    let verdict = |event: &Event| match event {
        Event::AttemptJudged { verdict, .. } => Some(*verdict),
        _ => None,
    };
    let verdicts: Vec<Verdict> = world.events().filter_map(verdict).collect();
    assert_eq!(verdicts, [Verdict::Improved, Verdict::Discarded, Verdict::Improved]);
    let starts: Vec<_> = world
        .events()
        .filter_map(|event| match event {
            Event::EffectStarted {
                effect: Effect::Assemble { branch, intent, attempt, .. }, key, ..
            } => key.node.as_ref().map(|_| (branch.changes.is_some(), *intent, *attempt)),
            _ => None,
        })
        .collect();
    let corrected = |attempt| (true, Intent::Correction, attempt);
    assert_eq!(starts, [(false, Intent::Generate, 1), corrected(1), corrected(2)]);
    world.run();
    assert_eq!(escalation(&world, "core"), EscalateReason::RetriesExhausted);
}

#[test]
fn the_third_time_the_same_findings_come_the_node_is_given_up() {
    let mut world = with(Settings { corrections: 9, answers: 9, ..Settings::default() });
    for _ in 0..3 {
        build_fails(&mut world, 1, "the same finding");
    }
    world.run();
    assert_eq!(escalation(&world, "core"), EscalateReason::Repeated);
}

#[test]
fn an_answer_that_cannot_be_used_is_asked_for_again_in_its_own_words() {
    for (retry, intent) in
        [(RetryClass::Malformed, Intent::Malformed), (RetryClass::Retarget, Intent::Retarget)]
    {
        let mut world = World::lucky();
        world.until_node("core", |effect| matches!(effect, Effect::Parse { .. }));
        world.ends_with(rejected(retry));
        let (_, flight) = world.until_node("core", asks);
        let Effect::Ask { intent: asked, attempt: 1, .. } = flight.effect else { panic!("{flight:?}") };
        assert_eq!(asked, intent);
        world.run();
        assert_eq!(ended(&world).1, Outcome::Success);
    }
    let mut world = World::lucky();
    world.until_node("core", |effect| matches!(effect, Effect::Parse { .. }));
    world.ends_with(rejected(RetryClass::Replan));
    world.run();
    assert_eq!(escalation(&world, "core"), EscalateReason::RequiresReplan);
}

#[test]
fn what_a_blind_sensor_called_stable_is_measured_again() {
    let mut world = World::lucky();
    // Nothing compiled before, so calibration is put off until the first green candidate.
    world.until(|flight| measures(StageKind::Build)(&flight.effect));
    let (_, flight) = world.running();
    world.ends_with(finds(&flight, 1, "does not compile"));
    world.until_node("core", |effect| matches!(effect, Effect::Calibrate { .. }));
    world.ends_with(Ended::Calibrated { verdict: Calibration::Blind("a plant".to_owned()), runs: vec![] });
    world.run();
    assert_eq!(ended(&world), (EndReason::Degraded, Outcome::DegradedVerification));
    world.resume();
    let (_, flight) = world.running();
    assert_eq!(flight.effect, Effect::Probe, "every sensor is looked at again");
    let readings = world.log.len();
    let (_, flight) = world.until_node("core", publishes);
    let Effect::Publish { readings: evidence, .. } = &flight.effect else { panic!() };
    let taken = world.log[readings..].iter().filter_map(|(_, event)| match event {
        Event::EffectEnded { outcome: Ended::Measured { reading, .. }, .. } => Some(reading.blob),
        _ => None,
    });
    let taken: Vec<_> = taken.collect();
    assert!(evidence.iter().all(|blob| taken.contains(blob)), "a reading from before is used as proof");
}

#[test]
fn a_type_checker_that_sees_nothing_is_left_out_and_ends_the_session_only_in_the_strict_preset() {
    for (preset, outcome) in
        [(Preset::Default, Outcome::Success), (Preset::Strict, Outcome::DegradedVerification)]
    {
        let mut world = with(Settings { preset, ..Settings::default() });
        let is_of_types = |effect: &Effect| matches!(effect, Effect::Calibrate { stage, .. } if stage.kind == StageKind::Type);
        world.until(|flight| is_of_types(&flight.effect));
        world
            .ends_with(Ended::Calibrated { verdict: Calibration::Blind("a plant".to_owned()), runs: vec![] });
        world.run();
        assert_eq!(ended(&world).1, outcome, "{preset:?}");
        let left_out = world.state.probed.iter().flatten().map(|root| root.left_out.len()).max();
        assert_eq!(left_out == Some(1), preset == Preset::Default);
    }
}

#[test]
fn a_reading_that_could_not_be_taken_never_counts_as_clean() {
    let mut world = World::lucky();
    let (_, flight) = world.until_node("core", measures(StageKind::Test));
    let Effect::Measure { branch, stage, .. } = &flight.effect else { panic!() };
    let mut reading = green(branch.tree, stage);
    reading.status = Status::Unavailable("it hangs".to_owned());
    world.ends_with(Ended::Measured { reading, environment: None, runs: vec![], reused: false });
    world.run();
    assert_eq!(ended(&world), (EndReason::Degraded, Outcome::DegradedVerification));
    assert!(!world.events().any(|event| matches!(event, Event::AttemptJudged { .. })));
}

#[test]
fn a_reading_of_another_tree_is_not_taken() {
    let mut world = World::lucky();
    let (_, flight) = world.until_node("core", measures(StageKind::Test));
    let Effect::Measure { stage, .. } = &flight.effect else { panic!() };
    let reading = green(tree_id("another tree"), stage);
    world.ends_with(Ended::Measured { reading, environment: None, runs: vec![], reused: false });
    let (_, again) = world.running();
    assert_eq!(again.effect, flight.effect);
}

#[test]
fn a_plan_the_user_refuses_is_asked_about_again_after_a_resume() {
    let mut world = World::lucky();
    let (_, first) = world.until(|flight| matches!(flight.effect, Effect::Question { .. }));
    let by = perspt_core::event::Approval::Person;
    world.ends_with(Ended::Decided { answer: Decision::No, by, from: None, grants: vec![] });
    world.run();
    assert_eq!(ended(&world), (EndReason::Refused, Outcome::Refused));
    world.resume();
    let (_, second) = world.running();
    assert_eq!((second.effect, second.key.ordinal), (first.effect, 1));
}

/// No answer could mend that, so none is paid for; whoever permits red tests has seen it.
#[test]
fn a_module_that_no_task_makes_ends_the_session_before_a_node_is_paid_for() {
    for (module, allow, expected) in [
        ("nowhere.sub", None, EndReason::Degraded),
        ("nowhere", Some("red:any"), EndReason::NodesClosed),
        ("core", None, EndReason::NodesClosed),
    ] {
        let start = SessionStarted {
            allow: allow.into_iter().map(grant).collect(),
            ..started(Settings { limits: plenty(), output_tokens: 1000, ..Settings::default() })
        };
        let mut world = World::begun(Dice::lucky(), start);
        let (_, flight) = world.until(
            |flight| matches!(&flight.effect, Effect::Measure { stage, .. } if stage.kind == StageKind::Test),
        );
        let Effect::Measure { branch, stage, .. } = &flight.effect else { panic!() };
        let mut reading = green(branch.tree, stage);
        reading.absent = vec![module.to_owned()];
        world.ends_with(Ended::Measured { reading, environment: None, runs: vec![], reused: false });
        world.run_once();
        assert_eq!(ended(&world).0, expected, "{module}");
        let node_asked = world.started_since(0).iter().any(|line| line.ends_with(": ask"));
        assert_eq!(node_asked, expected == EndReason::NodesClosed);
    }
}

/// What an earlier session saw of the tree may be out of date: the second look takes its place, it is no wavering.
#[test]
fn a_reused_reading_that_is_not_seen_again_is_replaced_and_looked_at_once() {
    for (reused, kept) in [(false, 2), (true, 1)] {
        let mut world = World::lucky();
        let is_test = |flight: &InFlight| matches!(&flight.effect, Effect::Measure { stage, .. } if stage.kind == StageKind::Test);
        let (_, flight) = world.until(is_test);
        let Effect::Measure { branch, stage, .. } = &flight.effect else { panic!() };
        let reading = green(branch.tree, stage);
        world.ends_with(Ended::Measured { reading, environment: None, runs: vec![], reused });
        let (_, flight) = world.until_node("core", measures(StageKind::Test));
        let Effect::Measure { branch, stage, .. } = &flight.effect else { panic!() };
        let mut reading = red(branch.tree, stage, 1, "it is red now");
        reading.regressed = true;
        world.ends_with(Ended::Measured { reading, environment: None, runs: vec![], reused: false });
        let (_, flight) = world.running();
        assert!(matches!(&flight.effect, Effect::Measure { run: 2, .. }) && flight.key.node.is_none());
        let Effect::Measure { branch, stage, .. } = &flight.effect else { panic!() };
        let reading = red(branch.tree, stage, 1, "it is red too");
        world.ends_with(Ended::Measured { reading, environment: None, runs: vec![], reused: false });
        assert_eq!(world.state.baseline_of(stage).len(), kept);
        let (_, flight) = world.running();
        assert!(!is_test(&flight), "it is not looked at a third time");
    }
}

/// A second plan replaces what has not begun and keeps what has.
#[test]
fn a_plan_that_is_adopted_after_another_keeps_the_nodes_that_have_begun() {
    let mut world = World::lucky();
    let rust = vec![root("", "rust")];
    world.plans(&[(plan_node("core", &[]), rust.clone()), (plan_node("shell", &["core"]), rust.clone())]);
    world.until_node("shell", |effect| matches!(effect, Effect::Ask { .. }));
    let (core, shell) =
        (world.state.nodes[&"core".into()].clone(), world.state.nodes[&"shell".into()].clone());
    let mut state = world.state.clone();
    state.planning.proposal = vec![
        (plan_node("shell", &[]), rust.clone()),
        (plan_node("glue", &["core"]), rust.clone()),
        (plan_node("page", &[]), rust.clone()),
    ];
    let adopted = |revision| Event::PlanAdopted {
        revision,
        source: perspt_core::event::PlanSource::Architect,
        nodes: 3,
        plan: sha("second"),
    };
    state.apply(world.now, &adopted(2));
    let order: Vec<&str> = state.order.iter().map(|id| id.as_str()).collect();
    assert_eq!(order, ["core", "shell", "glue", "page"]);
    assert_eq!((&state.nodes[&"core".into()], &state.nodes[&"shell".into()]), (&core, &shell));
    // What has not begun makes room.
    state.planning.proposal = vec![(plan_node("page", &["core"]), rust)];
    state.apply(world.now, &adopted(3));
    let order: Vec<&str> = state.order.iter().map(|id| id.as_str()).collect();
    assert_eq!(order, ["core", "shell", "page"]);
    assert_eq!(state.nodes[&"page".into()].spec.dependencies, ["core".into()]);
}

#[test]
fn a_shown_stage_that_cannot_look_holds_nothing_up() {
    let mut world = World::lucky();
    world.until(|flight| flight.effect == Effect::Probe);
    let mut rust = stages_of(&root("", "rust"));
    rust.stages
        .iter_mut()
        .filter(|tool| tool.kind == StageKind::Lint)
        .for_each(|tool| tool.role = StageRole::Shown);
    let (tools, confinement) = (vec![], "full".to_owned());
    world.ends_with(Ended::Probed {
        roots: vec![rust],
        runs: vec![],
        tools,
        detail: blob("probes"),
        confinement,
    });
    let (_, flight) = world.until_node("core", measures(StageKind::Lint));
    let Effect::Measure { branch, stage, .. } = &flight.effect else { panic!() };
    let mut reading = green(branch.tree, stage);
    reading.status = Status::Unavailable("it hangs".to_owned());
    let environment = Some(missing("a linter"));
    world.ends_with(Ended::Measured { reading, environment, runs: vec![], reused: false });
    assert_eq!(world.state.degraded, None);
    world.run();
    assert_eq!(ended(&world), (EndReason::NodesClosed, Outcome::Success));
}
