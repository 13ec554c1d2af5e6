//! Tools that are missing, broken, blind or made to misbehave.

use std::path::Path;

use perspt_core::effect::Effect;
use perspt_core::event::{Calibration, Ended, Event, StageResult, StageVerdict};
use perspt_core::grade::Grade;
use perspt_core::outcome::{EndReason, Outcome};
use perspt_core::reading::StageKind;
use perspt_core::stage::StageRole;
use perspt_core::state::{End, SessionState};
use perspt_testkit::server::Table;
use perspt_testkit::session::Rig;
use perspt_testkit::toy::{Flaw, Toy};

use crate::consents::commits;
use crate::support::{PROJECT, THREE, World, answers, bundle, one_node, plan, script, task, three, write};

/// The session ends degraded before any node's answer is paid for, with the tree as it was.
fn degraded(world: &World) -> (SessionState, End) {
    let before = world.place.picture();
    let state = world.begin();
    let end = state.end.clone().unwrap();
    assert_eq!((end.outcome, end.outcome.exit_code()), (Outcome::DegradedVerification, 6), "{end:?}");
    assert!(world.tags().iter().all(|tag| tag.starts_with("architect")), "{:?}", world.tags());
    assert_eq!(world.place.picture(), before);
    (state, end)
}

/// A plan, and no answer for its node.
fn planned() -> Table {
    answers(one_node(THREE), &[])
}

fn calibrations(world: &World) -> Vec<Calibration> {
    let outcomes = world.outcomes().into_iter();
    outcomes
        .filter_map(|(_, outcome)| match outcome {
            Ended::Calibrated { verdict, .. } => Some(verdict),
            _ => None,
        })
        .collect()
}

#[test]
fn a_missing_tool_is_named_and_once_it_is_there_the_session_goes_on() {
    let table = answers(one_node(THREE), &[("actuator.generate", 1, three("3"))]);
    let mut world = World::with_tool(PROJECT, table, Path::new("/nowhere/toyc"), Flaw::None);
    let (_, end) = degraded(&world);
    let trouble = end.trouble.unwrap();
    assert!(trouble.what.contains("`toyc`") && trouble.why.contains("does not start"), "{trouble:?}");
    world.rig.plugins = vec![Toy::plugin(Path::new(env!("CARGO_BIN_EXE_toyc")), Flaw::None)];
    assert_eq!(world.resume().end.unwrap().outcome, Outcome::Success);
}

#[test]
fn a_tool_that_never_answers_is_broken() {
    let mut world = World::with_flaw(PROJECT, Table::new(), Flaw::Hangs);
    world.rig.started.settings.probe_timeout_ms = 200;
    let (_, end) = degraded(&world);
    assert!(end.trouble.unwrap().why.contains("a timeout"));
}

#[test]
fn tools_are_probed_at_the_same_time_and_told_in_their_order() {
    let table = answers(one_node(THREE), &[("actuator.generate", 1, three("3"))]);
    let mut world = World::with_flaw(PROJECT, table, Flaw::Paired);
    // One after the other, the first would wait for the second until this has passed.
    world.rig.started.settings.probe_timeout_ms = 20_000;
    assert_eq!(world.begin().end.unwrap().outcome, Outcome::Success);
    let probed = world.outcomes().into_iter().find_map(|(_, outcome)| match outcome {
        Ended::Probed { tools, .. } => Some(tools),
        _ => None,
    });
    let names: Vec<String> =
        probed.unwrap().iter().filter_map(|line| Some(line.split_once(": toyc")?.0.to_owned())).collect();
    assert_eq!(names, ["toyc", "toyc-twin"]);
}

#[test]
fn a_stage_that_does_not_see_a_planted_error_is_no_sensor() {
    let world = World::with_flaw(PROJECT, planned(), Flaw::Blind);
    let (_, end) = degraded(&world);
    assert!(
        end.trouble.unwrap().why.contains("stayed green in `.` although an error was put there on purpose")
    );
    assert_eq!(calibrations(&world), [Calibration::Blind("an unknown name".to_owned())]);
}

#[test]
fn a_test_stage_that_does_not_see_a_planted_failure_is_no_sensor() {
    let world = World::with_flaw(PROJECT, planned(), Flaw::BlindTests);
    let (_, end) = degraded(&world);
    assert!(end.trouble.unwrap().why.contains("although an error was put there on purpose"));
}

#[test]
fn an_empty_folder_is_calibrated_before_its_first_green_counts() {
    let files = ["toy.mod", "main.toy", "tests/main.toy"];
    let answer = bundle(&[
        write("toy.mod", ""),
        write("main.toy", "let one = 1\n"),
        write("tests/main.toy", "use main\ntest one: one == 1\n"),
    ]);
    let world = World::with_flaw(
        &[],
        script(plan(&[task("one", &files, &[])]), move |_| answer.clone()),
        Flaw::Blind,
    );
    let state = world.begin();
    assert_eq!(state.end.unwrap().outcome, Outcome::DegradedVerification);
    assert_eq!(world.place.picture().0.len(), 0, "nothing was committed");
}

/// The stages of each judgement, and those that were measured with no node or planted into.
fn lint_of(world: &World) -> (Vec<Option<StageResult>>, usize) {
    let events: Vec<Event> = world.rig.events().into_iter().map(|(_, event)| event).collect();
    let judged = events.iter().filter_map(|event| match event {
        Event::AttemptJudged { stages, .. } => Some(stages),
        _ => None,
    });
    let shown = |stage: &&StageVerdict| stage.role == StageRole::Shown && stage.tool == "toyc lint";
    let results = judged.map(|stages| stages.iter().find(shown).map(|stage| stage.result)).collect();
    let elsewhere = events.iter().filter(|event| match event {
        Event::EffectStarted { key, effect: Effect::Measure { stage, .. }, .. } => {
            stage.kind == StageKind::Lint && key.node.is_none()
        }
        Event::EffectStarted { effect: Effect::Calibrate { stage, .. }, .. } => stage.kind == StageKind::Lint,
        _ => false,
    });
    (results, elsewhere.count())
}

#[test]
fn a_shown_stage_stands_beside_the_others_and_holds_nothing_up() {
    let magic = three("3 # magic");
    for (rule, answer, result) in [
        ("magic", &magic, StageResult::Fail(1)),
        ("nothing", &magic, StageResult::Pass),
        ("crash", &magic, StageResult::Fail(1)),
    ] {
        let files = [PROJECT, &[("toy.lint", rule)]].concat();
        let world = World::new(&files, answers(one_node(THREE), &[("actuator.generate", 1, answer.clone())]));
        assert_eq!(world.begin().end.unwrap().outcome, Outcome::Success);
        assert_eq!(lint_of(&world), (vec![Some(result)], 0), "{rule}");
    }
}

#[test]
fn a_shown_stage_does_not_look_where_a_required_one_failed() {
    let replies = [("actuator.generate", 1, three("nothing")), ("correction", 1, three("3 # magic"))];
    let files = [PROJECT, &[("toy.lint", "magic")]].concat();
    let world = World::new(&files, answers(one_node(THREE), &replies));
    assert_eq!(world.begin().end.unwrap().outcome, Outcome::Success);
    assert_eq!(lint_of(&world), (vec![None, Some(StageResult::Fail(1))], 0));
}

#[test]
fn what_a_calibration_showed_is_remembered_for_the_next_session() {
    let table = || answers(one_node(THREE), &[("actuator.generate", 1, three("3"))]);
    let world = World::new(PROJECT, table());
    assert_eq!(world.begin().end.unwrap().outcome, Outcome::Success);
    assert!(matches!(calibrations(&world)[..], [Calibration::Sees(_), Calibration::Sees(_)]));
    std::fs::remove_file(world.place.work().join("lib/three.toy")).unwrap();
    std::fs::remove_file(world.place.work().join("tests/three.toy")).unwrap();
    let second = again(&world);
    assert_eq!(second.begin().unwrap().end.unwrap().outcome, Outcome::Success);
    let remembered = second.events().into_iter().filter(|(_, event)| {
        let text = serde_json::to_string(event).unwrap();
        text.contains("\"remembered\"")
    });
    assert_eq!(remembered.count(), 2);
}

/// A second session in the same home and workspace.
fn again(world: &World) -> Rig {
    let helper = Path::new(env!("CARGO_BIN_EXE_box-helper"));
    let mut rig = Rig::new(world.place.home(), &world.place.work(), &world.place.mark(), helper);
    rig.started.session = "second".into();
    rig.plugins.clone_from(&world.rig.plugins);
    rig.answers = world.rig.answers.clone();
    rig
}

#[test]
fn a_baseline_that_hangs_is_the_machines_fault() {
    let mut world = World::new(PROJECT, planned());
    world.place.write("tests/two.toy", "test waits: hang\n");
    world.rig.started.settings.stage_timeout_ms = 200;
    let (_, end) = degraded(&world);
    assert!(end.trouble.unwrap().why.contains("did not end in time"));
}

#[test]
fn a_dependency_that_is_nowhere_is_the_machines_fault() {
    let world = World::new(PROJECT, planned());
    world.place.write("toy.mod", "dep nowhere\n");
    let (_, end) = degraded(&world);
    assert!(end.trouble.unwrap().why.contains("nowhere"));
}

#[test]
fn a_dependency_that_can_be_fetched_is_there_for_the_baseline() {
    let world = World::new(PROJECT, answers(one_node(THREE), &[("actuator.generate", 1, three("3"))]));
    world.place.write("toy.mod", "dep shapes\n");
    assert_eq!(world.begin().end.unwrap().outcome, Outcome::Success);
}

#[test]
fn a_red_baseline_is_an_ordinary_start() {
    let fix = bundle(&[write("lib/two.toy", "let two = 2\n")]);
    let world = World::new(PROJECT, answers(one_node(&["lib/two.toy"]), &[("actuator.generate", 1, fix)]));
    world.place.write("lib/two.toy", "let two = 3\n");
    assert_eq!(world.begin().end.unwrap().outcome, Outcome::Success);
}

#[test]
fn a_baseline_that_does_not_compile_is_an_ordinary_start() {
    let fix = bundle(&[write("lib/two.toy", "let two = 2\n")]);
    let world = World::new(PROJECT, answers(one_node(&["lib/two.toy"]), &[("actuator.generate", 1, fix)]));
    world.place.write("lib/two.toy", "let two = nothing\n");
    let state = world.begin();
    assert_eq!(state.end.unwrap().outcome, Outcome::Success);
    assert_eq!(calibrations(&world).len(), 2, "each stage is calibrated before its first green counts");
}

#[test]
fn a_failure_that_was_there_before_in_another_package_is_shown_and_not_charged() {
    let table = answers(one_node(THREE), &[("actuator.generate", 1, three("3"))]);
    let world = World::new(PROJECT, table);
    world.place.write("other/toy.mod", "");
    world.place.write("other/tests/red.toy", "test red: 1 == 2\n");
    let end = world.begin().end.unwrap();
    assert_eq!(end.outcome, Outcome::Success, "{end:?}");
    assert_eq!(world.place.read("lib/three.toy").unwrap(), "let three = 3\n");
    let inherited: Vec<u32> = world
        .rig
        .events()
        .into_iter()
        .filter_map(|(_, event)| match event {
            Event::AttemptJudged { stages, .. } => Some(stages.iter().map(|stage| stage.inherited).sum()),
            _ => None,
        })
        .collect();
    assert_eq!(inherited, [1]);
}

/// A candidate whose test misbehaves like this is corrected and given up.
fn candidate_fails(misbehaviour: &'static str, told: &str) {
    let answer = move |n: usize| {
        bundle(&[
            write("lib/three.toy", &format!("let three = {n}\n")),
            write("tests/three.toy", &format!("test a_{n}: 1 == 1\ntest b_{n}: {misbehaviour}\n")),
        ])
    };
    let mut world = World::new(PROJECT, script(plan(&[task("one", THREE, &[])]), answer));
    if misbehaviour == "hang" {
        // Long enough for every step that does end, and waited for only once.
        world.rig.started.settings.stage_timeout_ms = 10_000;
        world.rig.started.settings.corrections = 0;
    }
    let before = world.place.picture();
    let end = world.begin().end.unwrap();
    assert_eq!((end.reason, end.outcome), (EndReason::NodesClosed, Outcome::Failed), "{end:?}");
    assert_eq!(world.place.picture(), before);
    let residuals = world.certificate("one").residuals;
    assert!(residuals.iter().any(|line| line.contains(told)), "{residuals:?}");
}

#[test]
fn a_candidate_that_hangs_is_the_candidates_fault() {
    candidate_fails("hang", "did not end in time");
}

#[test]
fn a_candidate_that_crashes_the_runner_is_the_candidates_fault() {
    candidate_fails("crash", "was ended by signal 6");
}

#[test]
fn a_candidate_that_ends_the_runner_with_code_zero_has_not_passed() {
    candidate_fails("quit", "it has no result");
}

#[test]
fn a_test_that_changes_the_tree_while_it_is_measured_voids_the_reading() {
    candidate_fails("write lib/two.toy let two = 2", "`lib/two.toy` was changed while the tree was measured");
}

#[test]
fn what_a_test_leaves_behind_is_removed_and_not_published() {
    let answer = bundle(&[write("tests/three.toy", "test three: write lib/left.toy let left = 1\n")]);
    let files = ["tests/three.toy"];
    let world = World::new(PROJECT, answers(one_node(&files), &[("actuator.generate", 1, answer)]));
    assert_eq!(world.begin().end.unwrap().outcome, Outcome::Success);
    assert_eq!(world.place.read("lib/left.toy"), None);
    assert!(world.place.read("tests/three.toy").is_some());
}

#[test]
fn a_lock_file_that_the_base_has_is_settled_with_the_candidate() {
    let answer =
        bundle(&[write("toy.mod", "dep shapes\n"), write("tests/three.toy", "test three: 3 == 3\n")]);
    let files = ["toy.mod", "tests/three.toy"];
    let world = World::new(PROJECT, answers(one_node(&files), &[("actuator.generate", 1, answer)]));
    world.place.write("toy.lock", "shapes 1\n");
    world.place.write("toy.mod", "dep shapes\ndep unused\n");
    world.place.write("toy.lock", "shapes 1\nunused 1\n");
    assert_eq!(world.begin().end.unwrap().outcome, Outcome::Success);
    assert_eq!(world.place.read("toy.lock").unwrap(), "shapes 1\n");
}

#[test]
fn a_lock_file_that_the_base_lacks_is_never_published() {
    let world = World::new(PROJECT, answers(one_node(THREE), &[("actuator.generate", 1, three("3"))]));
    assert_eq!(world.begin().end.unwrap().outcome, Outcome::Success);
    assert_eq!(world.place.read("toy.lock"), None);
}

#[test]
fn a_file_of_tests_that_has_none_is_not_stable() {
    let answer =
        bundle(&[write("lib/three.toy", "let three = 3\n"), write("tests/three.toy", "# tests will come\n")]);
    let files = [("toy.mod", ""), ("lib/two.toy", "let two = 2\n")];
    let world = World::new(&files, script(plan(&[task("one", THREE, &[])]), move |_| answer.clone()));
    let before = world.place.picture();
    assert_eq!(world.begin().end.unwrap().outcome, Outcome::Failed);
    assert_eq!(world.place.picture(), before);
    assert!(world.certificate("one").residuals.iter().any(|line| line.contains("no test ran")));
}

/// Tests that pass whatever the code says prove nothing of it.
#[test]
fn tests_that_do_not_reach_the_code_lower_the_grade() {
    let answer = bundle(&[write("lib/three.toy", "let three = 3\n")]);
    let table = answers(one_node(&["lib/three.toy"]), &[("actuator.generate", 1, answer)]);
    let world = World::new(PROJECT, table);
    world.place.write("tests/two.toy", "test two_is_two: 2 == 2\n");
    assert_eq!(world.begin().end.unwrap().outcome, Outcome::Success);
    assert_eq!(commits(&world)[0].grade, Grade::Build);
    assert_eq!(commits(&world)[0].below, ["built, no test loads it: lib/three.toy"]);
}
