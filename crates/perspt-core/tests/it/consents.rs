//! Stories of consents: what waits, how it goes on, and what must not happen to it meanwhile.

use perspt_core::consent::{ConsentKind, Declared, Need};
use perspt_core::effect::{Effect, EffectKind, Intent, Question};
use perspt_core::event::{
    Approval, Calibration, Closed, Decision, Ended, EscalateReason, Event, JudgementNote, ParseState,
    Recovered, RetryClass, SessionResumed, SessionStarted, Settings, Verdict,
};
use perspt_core::outcome::{EndReason, NodeEnd, Outcome};
use perspt_core::plan::PlanNode;
use perspt_core::reading::{StageKind, Status};
use perspt_core::state::{Held, NodeState, Work};

use crate::dice::Dice;
use crate::steps::*;
use crate::support::*;
use crate::world::World;

fn settings() -> Settings {
    Settings { limits: plenty(), output_tokens: 1000, ..Settings::default() }
}

/// A session in which a person is there to be asked.
fn with_a_person() -> World {
    World::begun(Dice::lucky(), SessionStarted { approval: Approval::Person, ..started(settings()) })
}

/// One changed test that the plan declares.
fn one_test() -> Vec<Need> {
    vec![need(ConsentKind::Tests, "tests/a.rs::adds", Declared::InTime)]
}

/// Lets the node's next candidate need these consents, and judges it.
fn comes_to_need(world: &mut World, node: &str, needs: &[Need]) {
    let (_, flight) = world.until_node(node, judges);
    let Effect::Judge { branch, .. } = &flight.effect else { panic!("{flight:?}") };
    world.needs.insert(branch.tree, needs.to_vec());
    world.ends_with(Ended::Judged { judgement: Box::new(waiting_for(needs)) });
    record_due(world);
}

/// Ends the node's next judgement like this.
fn is_judged(world: &mut World, node: &str, judgement: JudgementNote) {
    world.until_node(node, judges);
    world.ends_with(Ended::Judged { judgement: Box::new(judgement) });
    record_due(world);
}

fn record_due(world: &mut World) {
    while let Some(event) = world.state.due(world.now) {
        world.record(event);
    }
}

fn resume_with(world: &mut World, words: &[&str]) {
    let allow = words.iter().map(|word| grant(word)).collect();
    world.record(Event::SessionResumed(SessionResumed { allow, ..SessionResumed::default() }));
}

fn work<'a>(world: &'a World, node: &str) -> &'a Work {
    &world.state.nodes[&node.into()].work
}

fn end_of(world: &World, node: &str) -> Option<NodeEnd> {
    world.state.nodes[&node.into()].end
}

/// Nodes that do not depend on each other, in the one root there is.
fn free_nodes(world: &mut World, ids: &[&str]) {
    let nodes: Vec<(PlanNode, _)> =
        ids.iter().map(|id| (plan_node(id, &[]), vec![root("", "rust")])).collect();
    world.plans(&nodes);
}

fn moves(changed: &[&str]) -> Ended {
    let changed = changed.iter().map(|file| path(file)).collect();
    Ended::BaseMoved { head: tree("moved"), changed, more: 0 }
}

#[test]
fn what_lacks_only_a_consent_waits_and_a_resume_that_gives_it_publishes_with_no_new_work() {
    let mut world = World::lucky();
    comes_to_need(&mut world, "core", &one_test());
    assert_eq!(world.state.nodes[&"core".into()].state(), NodeState::Waiting);
    world.dice = Dice::lucky();
    record_due(&mut world);
    assert_eq!(ended(&world), (EndReason::Consents, Outcome::Refused));
    assert_eq!(world.state.node_ends(), [NodeEnd::Waiting, NodeEnd::Open], "who depends on it stays queued");
    let trouble = world.state.end.as_ref().unwrap().trouble.clone().unwrap();
    assert!(trouble.why.contains("tests/a.rs::adds"), "{trouble:?}");
    assert!(trouble.todo.contains("`perspt resume --allow tests`"), "{trouble:?}");

    let length = world.log.len();
    resume_with(&mut world, &["tests"]);
    world.until_node("core", publishes);
    assert_eq!(world.started_since(length), ["core: judge", "core: publish"]);
    world.run();
    assert_eq!(ended(&world), (EndReason::NodesClosed, Outcome::Success));
}

#[test]
fn a_resume_that_permits_too_little_ends_as_before_and_costs_nothing() {
    let mut world = World::lucky();
    comes_to_need(&mut world, "core", &one_test());
    record_due(&mut world);
    for words in [&[] as &[&str], &["evidence:any"], &["tests:tests/b.rs"]] {
        let length = world.log.len();
        resume_with(&mut world, words);
        world.run_once();
        assert_eq!(ended(&world), (EndReason::Consents, Outcome::Refused));
        assert_eq!(world.started_since(length), ["core: judge"]);
    }
}

#[test]
fn while_one_node_waits_the_others_go_on() {
    let mut world = World::lucky();
    free_nodes(&mut world, &["core", "shell"]);
    comes_to_need(&mut world, "core", &one_test());
    world.run_once();
    assert_eq!(ended(&world), (EndReason::Consents, Outcome::Refused));
    assert_eq!(world.state.node_ends(), [NodeEnd::Waiting, NodeEnd::Committed]);
    // Its base is another now: it is laid out and measured anew, and not asked for again.
    let length = world.log.len();
    resume_with(&mut world, &["tests"]);
    world.until_node("core", publishes);
    assert_eq!(world.started_since(length)[0], "core: lay_out");
    assert!(!world.started_since(length).contains(&"core: ask".to_owned()));
}

fn lays_out(effect: &Effect) -> bool {
    matches!(effect, Effect::LayOut { .. })
}

fn overtaken() -> Ended {
    Ended::Overtaken { files: vec![path("src/shell.rs")] }
}

#[test]
fn what_somebody_else_has_changed_meanwhile_is_asked_for_again() {
    let mut world = World::lucky();
    free_nodes(&mut world, &["core", "shell"]);
    comes_to_need(&mut world, "core", &one_test());
    world.run_once();
    let length = world.log.len();
    resume_with(&mut world, &["tests"]);
    world.until_node("core", lays_out);
    world.ends_with(overtaken());
    let (_, flight) = world.running();
    assert!(matches!(
        &flight.effect,
        Effect::Assemble { intent: Intent::Generate, evidence, .. } if evidence.is_empty()
    ));
    assert_eq!(world.started_since(length), ["core: lay_out", "core: assemble"]);
}

#[test]
fn an_answer_whose_command_waits_is_not_asked_for_again_because_another_node_landed() {
    let mut world = World::lucky();
    free_nodes(&mut world, &["core", "shell"]);
    world.until_node("core", |effect| matches!(effect, Effect::Parse { .. }));
    world.ends_with(parsed(None, &[need(ConsentKind::Command, "make", Declared::No)]));
    world.run_once();
    assert_eq!(world.state.node_ends(), [NodeEnd::Waiting, NodeEnd::Committed]);
    resume_with(&mut world, &["command:make"]);
    let (_, flight) = world.running();
    assert!(matches!(&flight.effect, Effect::LayOut { commands, .. } if *commands == ["make"]));
}

/// A prompt that was made before another node landed shows a tree that is gone; making it again costs no request.
#[test]
fn a_prompt_is_made_again_and_a_candidate_laid_out_again_where_another_node_has_landed() {
    let first_after = |stage: EffectKind| match stage {
        EffectKind::Ask => "shell: assemble",
        EffectKind::Parse => "shell: parse",
        _ => "shell: lay_out",
    };
    for at in [EffectKind::Ask, EffectKind::Parse, EffectKind::Measure(StageKind::Test)] {
        let mut world = World::lucky();
        free_nodes(&mut world, &["core", "shell"]);
        comes_to_need(&mut world, "core", &one_test());
        let (id, _) = world.until_node("shell", |effect| effect.kind() == at);
        world.record(Event::PauseAsked);
        world.record(Event::EffectEnded { id, of: None, outcome: Ended::Cancelled });
        record_due(&mut world);
        resume_with(&mut world, &["tests"]);
        world.until_node("core", publishes);
        let length = world.log.len();
        world.until_node("shell", publishes);
        let started = world.started_since(length);
        let of_shell: Vec<&String> = started.iter().filter(|line| line.starts_with("shell")).collect();
        assert_eq!(of_shell[0], first_after(at));
        world.run();
        assert_eq!(ended(&world).1, Outcome::Success);
    }
}

fn parsed(retry: Option<RetryClass>, needs: &[Need]) -> Ended {
    Ended::BundleParsed {
        state: if retry.is_some() { ParseState::SemanticallyRejected } else { ParseState::StructuredOk },
        capture: capture("a bundle"),
        changes: retry.is_none().then(|| blob("changes")),
        retry,
        violations: vec![],
        evidence: retry.map(|_| blob("rejected")),
        widened: vec![],
        changes_tests: vec![],
        leaves_red: vec![],
        skipped: vec![],
        refused: vec![],
        commands: vec!["make".to_owned()],
        needs: needs.to_vec(),
        recovered: Recovered::default(),
        requests: vec![],
        roots: vec![],
    }
}

#[test]
fn a_command_waits_before_anything_is_laid_out_and_then_runs() {
    let mut world = World::lucky();
    world.until_node("core", |effect| matches!(effect, Effect::Parse { .. }));
    world.ends_with(parsed(None, &[need(ConsentKind::Command, "make", Declared::No)]));
    world.run_once();
    assert_eq!(ended(&world), (EndReason::Consents, Outcome::Refused));
    let todo = &world.state.end.as_ref().unwrap().trouble.as_ref().unwrap().todo;
    assert!(todo.contains("--allow command:make"), "{todo}");
    // Another command is not this one: nothing at all is begun.
    let length = world.log.len();
    resume_with(&mut world, &["command:make install"]);
    world.run_once();
    assert!(world.started_since(length).is_empty());
    resume_with(&mut world, &["command:make"]);
    let (_, flight) = world.running();
    assert!(matches!(&flight.effect, Effect::LayOut { commands, .. } if *commands == ["make"]));
    // What is permitted from the start does not wait.
    let allow = vec![grant("command:any")];
    let mut world = World::begun(Dice::lucky(), SessionStarted { allow, ..started(settings()) });
    world.until_node("core", |effect| matches!(effect, Effect::Parse { .. }));
    world.ends_with(parsed(None, &[need(ConsentKind::Command, "make", Declared::No)]));
    assert!(matches!(work(&world, "core"), Work::LayingOut(_)));
}

#[test]
fn a_command_that_touches_what_is_not_the_nodes_own_is_an_answer_that_cannot_be_used() {
    let mut world = World::lucky();
    world.until_node("core", |effect| matches!(effect, Effect::LayOut { .. }));
    world.ends_with(Ended::LayoutRefused { violations: vec!["it wrote `b`".to_owned()], runs: vec![] });
    let (_, flight) = world.until_node("core", |effect| matches!(effect, Effect::Ask { .. }));
    assert!(matches!(flight.effect, Effect::Ask { intent: Intent::Retarget, .. }));
}

#[test]
fn a_person_is_asked_at_once_and_a_yes_publishes() {
    let mut world = with_a_person();
    comes_to_need(&mut world, "core", &one_test());
    let length = world.log.len();
    let (_, flight) = world.running();
    let Effect::Question { question: Question::Consents { needs, count, judgement, texts } } = &flight.effect
    else {
        panic!("{flight:?}")
    };
    assert_eq!((needs, *count), (&one_test(), 1));
    assert!(judgement.is_some() && texts.is_some());
    world.until_node("core", publishes);
    assert_eq!(world.started_since(length), ["core: question", "core: judge", "core: publish"]);
    world.run();
    assert_eq!(ended(&world).1, Outcome::Success);
}

#[test]
fn a_no_closes_the_node_and_the_session_ends_as_refused() {
    let mut world = with_a_person();
    comes_to_need(&mut world, "core", &one_test());
    world.ends_with(Ended::Decided {
        answer: Decision::No,
        by: Approval::Person,
        from: None,
        grants: vec![],
    });
    world.run();
    assert_eq!(world.state.node_ends(), [NodeEnd::Rejected, NodeEnd::Blocked]);
    assert_eq!(ended(&world), (EndReason::NodesClosed, Outcome::Refused));
}

#[test]
fn a_no_with_a_reason_is_a_correction_on_top_of_the_candidate() {
    let mut world = with_a_person();
    comes_to_need(&mut world, "core", &one_test());
    let answer = Decision::Correct("leave the test alone".to_owned());
    world.ends_with(Ended::Decided { answer, by: Approval::Person, from: None, grants: vec![] });
    let (_, flight) = world.running();
    let Effect::Assemble { intent: Intent::Correction, branch, .. } = &flight.effect else { panic!() };
    assert!(branch.changes.is_some());
    let node = &world.state.nodes[&"core".into()];
    assert!(node.failure.as_ref().unwrap().lines[0].contains("leave the test alone"));
    assert_eq!((node.corrections, node.was_red), (0, true));
    world.run();
    assert_eq!(ended(&world).1, Outcome::Success);
}

#[test]
fn a_question_that_a_pause_cut_short_is_asked_again() {
    let mut world = with_a_person();
    comes_to_need(&mut world, "core", &one_test());
    let (id, _) = world.running();
    world.record(Event::PauseAsked);
    assert!(!world.state.wanted(world.now).contains_key(&id));
    world.record(Event::EffectEnded { id, of: None, outcome: Ended::Cancelled });
    world.run_once();
    assert_eq!(ended(&world).0, EndReason::Paused);
    resume_with(&mut world, &[]);
    world.until_node("core", |effect| matches!(effect, Effect::Question { .. }));
}

#[test]
fn a_resume_may_bring_someone_to_ask_or_take_them_away() {
    let mut world = World::lucky();
    comes_to_need(&mut world, "core", &one_test());
    record_due(&mut world);
    let by = |approval| SessionResumed { approval: Some(approval), ..SessionResumed::default() };
    world.record(Event::SessionResumed(by(Approval::Person)));
    let (id, _) = world.until_node("core", |effect| matches!(effect, Effect::Question { .. }));
    world.record(Event::PauseAsked);
    world.record(Event::EffectEnded { id, of: None, outcome: Ended::Cancelled });
    record_due(&mut world);
    world.record(Event::SessionResumed(by(Approval::Policy)));
    world.run_once();
    assert_eq!(ended(&world).0, EndReason::Consents);
}

/// Whether the two overlap is found by laying out.
#[test]
fn what_waits_is_laid_over_what_the_user_has_changed() {
    let mut world = World::lucky();
    free_nodes(&mut world, &["core", "shell"]);
    comes_to_need(&mut world, "core", &one_test());
    // Another node comes upon the change.
    world.until_node("shell", measures(StageKind::Build));
    world.ends_with(moves(&["src/core.rs"]));
    world.run_once();
    let length = world.log.len();
    resume_with(&mut world, &["tests"]);
    world.running();
    assert_eq!(world.started_since(length)[0], "core: lay_out");
}

#[test]
fn what_waits_is_measured_again_after_a_degraded_end() {
    let mut world = World::lucky();
    // Nothing compiled before, so nothing was calibrated.
    let (_, flight) = world.until(|flight| measures(StageKind::Build)(&flight.effect));
    let Effect::Measure { branch, stage, .. } = &flight.effect else { panic!() };
    let reading = red(branch.tree, stage, 1, "does not compile");
    world.ends_with(Ended::Measured { reading, environment: None, runs: vec![], reused: false });
    free_nodes(&mut world, &["core", "shell"]);
    comes_to_need(&mut world, "core", &one_test());
    let builds =
        |effect: &Effect| matches!(effect, Effect::Calibrate { stage, .. } if stage.kind == StageKind::Build);
    world.until_node("shell", builds);
    world.ends_with(Ended::Calibrated { verdict: Calibration::Blind("a plant".to_owned()), runs: vec![] });
    record_due(&mut world);
    assert_eq!(ended(&world).0, EndReason::Degraded);
    let length = world.log.len();
    resume_with(&mut world, &["tests"]);
    world.until_node("core", publishes);
    let began = world.started_since(length);
    assert!(began.contains(&"core: measure build".to_owned()), "{began:?}");
    assert!(!began.contains(&"core: ask".to_owned()), "{began:?}");
}

#[test]
fn the_best_candidate_is_measured_again_after_a_degraded_end_before_it_is_asked_about() {
    let mut world = World::with(Dice::lucky(), Settings { corrections: 1, ..settings() });
    let only_red = JudgementNote { only_red: true, ..unstable(1, "an old test fails") };
    is_judged(&mut world, "core", only_red);
    let (_, flight) = world.until_node("core", measures(StageKind::Build));
    let Effect::Measure { branch, stage, .. } = &flight.effect else { panic!() };
    let mut reading = green(branch.tree, stage);
    reading.status = Status::Unavailable("it hangs".to_owned());
    world.ends_with(Ended::Measured { reading, environment: None, runs: vec![], reused: false });
    record_due(&mut world);
    assert_eq!(ended(&world).0, EndReason::Degraded);
    resume_with(&mut world, &[]);
    is_judged(&mut world, "core", unstable(2, "worse"));
    assert!(world.state.nodes[&"core".into()].asks_red);
    let (_, flight) = world.running();
    assert!(measures(StageKind::Structure)(&flight.effect), "{flight:?}");
}

/// Uses every correction up with candidates that lack only this.
fn corrections_run_out(world: &mut World, judgement: &JudgementNote) {
    for at in 0..=world.state.settings().corrections {
        let fingerprint = sha(&at.to_string());
        is_judged(world, "core", JudgementNote { fingerprint, ..judgement.clone() });
    }
}

#[test]
fn where_only_tests_that_were_red_before_are_left_the_node_waits_instead_of_failing() {
    let mut world = World::lucky();
    let only_red = JudgementNote { only_red: true, ..unstable(1, "an old test fails") };
    corrections_run_out(&mut world, &only_red);
    let (_, flight) = world.running();
    assert!(judges(&flight.effect), "the best candidate is judged again: {flight:?}");
    assert!(world.state.nodes[&"core".into()].asks_red);
    let red = [need(ConsentKind::Red, "old", Declared::No)];
    comes_to_need(&mut world, "core", &red);
    record_due(&mut world);
    assert_eq!(ended(&world), (EndReason::Consents, Outcome::Refused));
    let todo = &world.state.end.as_ref().unwrap().trouble.as_ref().unwrap().todo;
    assert!(todo.contains("--allow red:old"), "{todo}");
}

#[test]
fn a_judge_that_takes_its_word_back_about_red_tests_is_not_asked_for_ever() {
    let mut world = World::lucky();
    let only_red = JudgementNote { only_red: true, ..unstable(1, "an old test fails") };
    corrections_run_out(&mut world, &only_red);
    is_judged(&mut world, "core", only_red);
    assert_eq!(end_of(&world, "core"), Some(NodeEnd::Escalated));
}

#[test]
fn where_something_else_is_left_the_node_is_given_up() {
    let mut world = World::lucky();
    corrections_run_out(&mut world, &unstable(1, "a new test fails"));
    assert_eq!(end_of(&world, "core"), Some(NodeEnd::Escalated));
}

#[test]
fn answers_that_could_not_be_used_do_not_take_the_question_about_red_tests_away() {
    let mut world = World::with(Dice::lucky(), Settings { answers: 2, ..settings() });
    is_judged(&mut world, "core", JudgementNote { only_red: true, ..unstable(1, "an old test fails") });
    world.until_node("core", |effect| matches!(effect, Effect::Parse { .. }));
    world.ends_with(parsed(Some(RetryClass::Malformed), &[]));
    let (_, flight) = world.running();
    assert!(judges(&flight.effect), "{flight:?}");
    assert_eq!(end_of(&world, "core"), None);
}

#[test]
fn the_model_is_told_of_an_undeclared_change_once() {
    let mut world = World::lucky();
    let told = JudgementNote { told_undeclared: true, only_red: true, ..unstable(1, "undeclared") };
    is_judged(&mut world, "core", told);
    assert!(world.state.nodes[&"core".into()].told_undeclared);
    let (_, flight) = world.running();
    assert!(matches!(flight.effect, Effect::Assemble { intent: Intent::Correction, .. }));
}

#[test]
fn what_is_declared_after_a_red_reading_is_declared_late() {
    let mut world = World::lucky();
    let declares = |world: &mut World| {
        world.until_node("core", |effect| matches!(effect, Effect::Parse { .. }));
        let Ended::BundleParsed { state, capture, changes, .. } = parsed(None, &[]) else { panic!() };
        world.ends_with(Ended::BundleParsed {
            state,
            capture,
            changes,
            retry: None,
            violations: vec![],
            evidence: None,
            widened: vec![path("src/beside.rs")],
            changes_tests: vec![declaration("tests/a.rs")],
            leaves_red: vec!["old".to_owned()],
            skipped: vec![],
            refused: vec![],
            commands: vec![],
            needs: vec![],
            recovered: Recovered::default(),
            requests: vec![],
            roots: vec![],
        });
    };
    declares(&mut world);
    is_judged(&mut world, "core", unstable(1, "red"));
    declares(&mut world);
    let node = &world.state.nodes[&"core".into()];
    let when: Vec<Declared> = node.declared.tests.iter().map(|(_, when)| *when).collect();
    assert_eq!(when, [Declared::InTime, Declared::Late]);
    let when: Vec<Declared> = node.declared.red.iter().map(|(_, when)| *when).collect();
    assert_eq!(when, [Declared::InTime, Declared::Late]);
    // The earliest word counts.
    assert_eq!(node.declared.of_test("tests/a.rs::adds"), Declared::InTime);
    assert_eq!(node.declared.of_test("tests/b.rs"), Declared::No);
    assert_eq!(node.declared.of_red("a::old"), Declared::InTime);
    assert!(node.owns(&path("src/beside.rs")));
}

#[test]
fn the_old_tests_of_every_root_that_had_some_are_run() {
    let mut world = World::lucky();
    let roots = vec![root("", "rust"), root("py", "python")];
    let found = Ended::Snapshotted {
        since: None,
        runs: vec![],
        tree: tree("base"),
        files: 2,
        repo_mode: perspt_core::event::RepoMode::Existing,
        roots: roots.clone(),
        git_head: None,
        notes: vec![],
    };
    world.ends_with(found);
    // The first root has no tests.
    let of_rust = |effect: &Effect| matches!(effect, Effect::Measure { stage, .. } if *stage == roots[0].stage(StageKind::Test));
    let (_, flight) = world.until(|flight| of_rust(&flight.effect));
    let Effect::Measure { branch, stage, .. } = &flight.effect else { panic!() };
    let mut reading = green(branch.tree, stage);
    reading.tests = Some(Default::default());
    world.ends_with(Ended::Measured { reading, environment: None, runs: vec![], reused: false });
    world.plans(&[(plan_node("core", &[]), roots.clone())]);
    let (_, flight) = world.until_node("core", measures(StageKind::Structure));
    let Effect::Measure { branch, stage, .. } = &flight.effect else { panic!() };
    let mut reading = green(branch.tree, stage);
    reading.old_tests = true;
    world.ends_with(Ended::Measured { reading, environment: None, runs: vec![], reused: false });
    let length = world.log.len();
    world.until_node("core", judges);
    let old: Vec<String> =
        world.started_since(length).into_iter().filter(|kind| kind.contains("old")).collect();
    assert_eq!(old, ["core: run_old_tests"]);
    let (_, flight) = world.running();
    let Effect::Judge { old_tests, .. } = &flight.effect else { panic!() };
    assert_eq!(old_tests.len(), 1);
}

#[test]
fn old_tests_are_run_once_and_not_where_more_fail_than_before() {
    for (errors, runs) in [(0, 1), (1, 0)] {
        let mut world = World::lucky();
        let (_, flight) = world.until_node("core", measures(StageKind::Structure));
        let Effect::Measure { branch, stage, .. } = &flight.effect else { panic!() };
        let mut reading = green(branch.tree, stage);
        reading.old_tests = true;
        world.ends_with(Ended::Measured { reading, environment: None, runs: vec![], reused: false });
        let (_, flight) = world.until_node("core", measures(StageKind::Test));
        let Effect::Measure { branch, stage, .. } = &flight.effect else { panic!() };
        let reading = red(branch.tree, stage, errors, "a finding");
        world.ends_with(Ended::Measured { reading, environment: None, runs: vec![], reused: false });
        let length = world.log.len();
        world.until_node("core", judges);
        let began = world.started_since(length);
        let old = began.iter().filter(|kind| kind.contains("run_old_tests")).count();
        assert_eq!(old, runs, "{began:?}");
    }
}

#[test]
fn the_tools_of_a_root_that_the_plan_makes_are_looked_at_once_the_plan_stands() {
    let mut world = World::lucky();
    let web = root("web", "go");
    let nodes = [
        (plan_node("core", &[]), vec![root("", "rust")]),
        (plan_node("page", &["core"]), vec![web.clone()]),
        (plan_node("more", &["page"]), vec![web.clone()]),
    ];
    world.plans(&nodes);
    let length = world.log.len();
    world.until_node("core", |_| true);
    let mut began = world.started_since(length);
    assert_eq!(began.pop().as_deref(), Some("core: assemble"));
    began.sort();
    assert_eq!(began, ["probe", "question"]);
    world.run();
    assert_eq!(ended(&world).1, Outcome::Success);
    // Before a node has made it there is nothing to measure in it; afterwards what that node measured stands.
    let of_the_head = |event: &&Event| {
        matches!(event, Event::EffectStarted { key, effect: Effect::Measure { stage, .. }, .. }
            if key.node.is_none() && stage.root == web.dir)
    };
    assert_eq!(world.events().find(of_the_head), None);
}

#[test]
fn a_root_that_the_plan_makes_and_nothing_can_measure_ends_the_session_before_anything_is_paid() {
    let mut world = World::lucky();
    let web = root("web", "go");
    world.plans(&[(plan_node("page", &[]), vec![web.clone()])]);
    world.until(|flight| flight.effect == Effect::Probe);
    let mut roots = vec![stages_of(&root("", "rust")), stages_of(&web)];
    roots[1].missing.push(missing("go"));
    let (tools, confinement) = (vec![], "full".to_owned());
    world.ends_with(Ended::Probed { roots, runs: vec![], tools, detail: blob("probes"), confinement });
    world.run_once();
    assert_eq!(ended(&world), (EndReason::Degraded, Outcome::DegradedVerification));
}

#[test]
fn where_nothing_can_be_measured_perspts_own_look_is_all_there_is() {
    let mut world = World::lucky();
    world.until(|flight| flight.effect == Effect::Snapshot);
    world.ends_with(Ended::Snapshotted {
        since: None,
        runs: vec![],
        tree: tree("base"),
        files: 2,
        repo_mode: perspt_core::event::RepoMode::Existing,
        roots: vec![],
        git_head: None,
        notes: vec![],
    });
    let (_, flight) = world.until_node("core", publishes);
    let Effect::Publish { required, readings, .. } = &flight.effect else { panic!() };
    assert_eq!((required.len(), readings.len()), (1, 1));
    assert_eq!(required[0].kind, StageKind::Structure);
    world.run();
    assert_eq!(ended(&world), (EndReason::NodesClosed, Outcome::Success));
}

#[test]
fn a_look_that_did_not_take_place_is_not_judged_as_one() {
    let mut world = World::lucky();
    let (_, flight) = world.until_node("core", measures(StageKind::Test));
    let Effect::Measure { branch, stage, .. } = &flight.effect else { panic!() };
    let mut reading = green(branch.tree, stage);
    reading.status = Status::NotRun("why".to_owned());
    world.ends_with(Ended::Measured { reading, environment: None, runs: vec![], reused: false });
    world.until_node("core", |effect| matches!(effect, Effect::Assemble { .. }));
    let judged = world.events().find_map(|event| match event {
        Event::AttemptJudged { energy, verdict, .. } => Some((energy.unmeasured, *verdict)),
        _ => None,
    });
    assert_eq!(judged, Some((1, Verdict::Improved)));
}

#[test]
fn a_waiting_node_that_is_over_its_answers_is_given_up_only_where_a_new_one_is_needed() {
    let mut world = World::with(Dice::lucky(), Settings { answers: 1, ..settings() });
    free_nodes(&mut world, &["core", "shell"]);
    comes_to_need(&mut world, "core", &one_test());
    world.until_node("shell", measures(StageKind::Build));
    world.ends_with(moves(&["src/core.rs"]));
    world.run_once();
    resume_with(&mut world, &["tests"]);
    world.until_node("core", lays_out);
    world.ends_with(overtaken());
    record_due(&mut world);
    let closed = world.events().find_map(|event| match event {
        Event::NodeClosed { node, end: Closed::Escalated { certificate } } if node.as_str() == "core" => {
            Some(certificate.reason)
        }
        _ => None,
    });
    assert_eq!(closed, Some(EscalateReason::RetriesExhausted));
}

#[test]
fn a_held_candidate_is_kept_whole() {
    let mut world = World::lucky();
    comes_to_need(&mut world, "core", &one_test());
    let Work::Waiting(wait) = work(&world, "core") else { panic!() };
    let Held::Candidate(candidate) = &wait.held else { panic!() };
    assert_eq!(candidate.readings.len(), StageKind::ALL.len());
    assert_eq!(wait.count, 1);
    let needs: Vec<&Need> = world.state.waiting_needs().collect();
    assert_eq!(needs, one_test().iter().collect::<Vec<_>>());
}
