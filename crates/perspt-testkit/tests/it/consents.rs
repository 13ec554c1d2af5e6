//! What only the user can permit: a session that lacks it waits, and the grant publishes what is there.

use perspt_core::consent::{ConsentKind, Declared, GrantedBy};
use perspt_core::effect::{Effect, EffectKind};
use perspt_core::event::{Approval, Commit, Decision, Ended};
use perspt_core::grade::Grade;
use perspt_core::ids::NodeId;
use perspt_core::outcome::{EndReason, NodeEnd, Outcome};
use perspt_core::reading::StageKind;
use perspt_core::state::SessionState;
use perspt_testkit::server::{Reply, Table};
use serde_json::{Value, json};

use crate::support::{
    PROJECT, THREE, World, answers, bundle, delete, one_node, plan, task, three, with, write,
};

/// The one test of the project.
pub const SUBJECT: &str = "tests/two.toy::two_is_two";

/// What a plan or an answer says of it.
pub fn declared() -> Value {
    json!({"changes_tests": [
        {"path": "tests/two.toy", "test": "two_is_two", "change": "update", "why": "two is another number"}
    ]})
}

/// A plan of the node `one`, which owns the code and says that it changes the test.
pub fn declaring_node() -> Table {
    let node = with(task("one", &["lib/two.toy"], &[]), declared());
    Table::new().on("architect.existing", "-", 1, Reply::text(plan(&[node])))
}

/// Code and test say this number instead of two.
pub fn two_is(number: u32) -> Vec<Value> {
    vec![
        write("lib/two.toy", &format!("let two = {number}\n")),
        write("tests/two.toy", &format!("use lib/two\ntest two_is_two: two == {number}\n")),
    ]
}

/// The session ended because consents are missing, with exit code 7.
pub fn waits(state: &SessionState) {
    let end = state.end.as_ref().unwrap();
    assert_eq!((end.reason, end.outcome.exit_code()), (EndReason::Consents, 7), "{end:?}");
}

/// What is missing, as `kind:subject`.
pub fn missing(state: &SessionState) -> Vec<String> {
    state.waiting_needs().map(|need| format!("{}:{}", need.kind, need.subject)).collect()
}

/// Every commit, in order.
pub fn commits(world: &World) -> Vec<Commit> {
    let outcomes = world.outcomes().into_iter();
    outcomes
        .filter_map(|(_, outcome)| match outcome {
            Ended::Published { commit, .. } => Some(*commit),
            _ => None,
        })
        .collect()
}

/// The kinds of effects that ended after the first so many.
fn effects_after(world: &World, known: usize) -> Vec<EffectKind> {
    world.outcomes()[known..].iter().map(|(effect, _)| effect.kind()).collect()
}

fn old_test_runs(world: &World) -> Vec<usize> {
    let outcomes = world.outcomes().into_iter();
    outcomes
        .filter_map(|(effect, outcome)| match (effect, outcome) {
            (Effect::RunOldTests { .. }, Ended::Measured { runs, .. }) => Some(runs.len()),
            _ => None,
        })
        .collect()
}

#[test]
fn a_declared_change_of_a_test_waits_and_the_grant_publishes_it_without_a_call_or_a_measurement() {
    let world =
        World::new(PROJECT, answers(declaring_node(), &[("actuator.generate", 1, bundle(&two_is(3)))]));
    let before = world.place.picture();
    let state = world.begin();
    waits(&state);
    assert_eq!(missing(&state), [format!("tests:{SUBJECT}")]);
    let need = state.waiting_needs().next().unwrap();
    assert_eq!(need.declared, Declared::InTime);
    assert_eq!(need.notes, ["as it was, it fails over the new code"]);
    assert!(state.end.unwrap().trouble.unwrap().todo.contains("`perspt resume --allow tests`"));
    assert_eq!((world.place.picture(), world.server.asks()), (before, 2));

    let known = world.outcomes().len();
    let state = world.resume_with(&["tests"]);
    assert_eq!(state.end.unwrap().outcome, Outcome::Success);
    assert_eq!(effects_after(&world, known), [EffectKind::Judge, EffectKind::Publish]);
    assert_eq!(world.server.asks(), 2);
    assert_eq!(world.place.read("lib/two.toy").unwrap(), "let two = 3\n");
    let commits = commits(&world);
    let [consented] = &commits[0].consents[..] else { panic!("{:?}", commits[0].consents) };
    assert_eq!((consented.need.kind, consented.need.subject.as_str()), (ConsentKind::Tests, SUBJECT));
    assert_eq!(consented.grant.by, GrantedBy::Flag);
    assert_eq!(commits[0].grade, Grade::Tests);
}

#[test]
fn a_change_that_the_first_answer_declares_is_declared_in_time() {
    let answer = with(json!({"artifacts": two_is(3)}), declared()).to_string();
    let world = World::new(PROJECT, answers(one_node(&["lib/two.toy"]), &[("actuator.generate", 1, answer)]));
    let state = world.begin();
    waits(&state);
    assert_eq!(state.waiting_needs().next().unwrap().declared, Declared::InTime);
    assert_eq!(world.resume_with(&["tests"]).end.unwrap().outcome, Outcome::Success);
    assert_eq!(world.server.asks(), 2);
}

#[test]
fn a_grant_that_is_there_from_the_start_lets_it_land_at_once() {
    let table = answers(declaring_node(), &[("actuator.generate", 1, bundle(&two_is(3)))]);
    let mut world = World::new(PROJECT, table);
    world.rig.started.allow = vec!["tests".parse().unwrap()];
    assert_eq!(world.begin().end.unwrap().outcome, Outcome::Success);
    assert_eq!(commits(&world)[0].consents.len(), 1);
}

#[test]
fn a_resume_that_permits_too_little_waits_again_and_costs_one_judgement() {
    let world =
        World::new(PROJECT, answers(declaring_node(), &[("actuator.generate", 1, bundle(&two_is(3)))]));
    let before = world.place.picture();
    waits(&world.begin());
    for words in [&[][..], &["evidence:any"], &["red"], &["tests:tests/other.toy"]] {
        let known = world.outcomes().len();
        let state = world.resume_with(words);
        waits(&state);
        assert_eq!(missing(&state), [format!("tests:{SUBJECT}")]);
        assert_eq!(effects_after(&world, known), [EffectKind::Judge]);
    }
    assert_eq!((world.place.picture(), world.server.asks()), (before, 2));
    assert_eq!(world.resume_with(&["tests:tests/two.toy"]).end.unwrap().outcome, Outcome::Success);
    assert_eq!(world.server.asks(), 2);
}

fn undeclared() -> World {
    let files = ["lib/two.toy", "tests/two.toy"];
    let same = bundle(&two_is(3));
    World::new(
        PROJECT,
        answers(one_node(&files), &[("actuator.generate", 1, same.clone()), ("correction", 1, same)]),
    )
}

/// The model makes the code wrong and the test fit it, and keeps it so when it is told.
#[test]
fn an_undeclared_change_of_a_test_is_told_once_and_then_waits() {
    let world = undeclared();
    let before = world.place.picture();
    let state = world.begin();
    waits(&state);
    assert_eq!(world.tags()[1..], ["actuator.generate one 1", "correction one 1"]);
    assert!(world.server.requests()[2].body.contains("neither the plan nor the answer declares it"));
    assert_eq!(missing(&state), [format!("tests:{SUBJECT}")]);
    assert_eq!(state.waiting_needs().next().unwrap().declared, Declared::No);
    assert_eq!(world.place.picture(), before);
    // What was declared in time is all that the bare word covers.
    waits(&world.resume_with(&["tests"]));
    assert_eq!(world.resume_with(&[&format!("tests:{SUBJECT}")]).end.unwrap().outcome, Outcome::Success);
    assert_eq!(world.server.asks(), 3);
}

#[test]
fn an_undeclared_change_that_is_put_back_when_it_is_told_needs_nobody() {
    let right = bundle(&[
        write("lib/two.toy", "let two = 1 + 1\n"),
        write("tests/two.toy", "use lib/two\ntest two_is_two: two == 2\n"),
    ]);
    let files = ["lib/two.toy", "tests/two.toy"];
    let table =
        answers(one_node(&files), &[("actuator.generate", 1, bundle(&two_is(3))), ("correction", 1, right)]);
    let world = World::new(PROJECT, table);
    assert_eq!(world.begin().end.unwrap().outcome, Outcome::Success);
    assert_eq!(world.place.read("tests/two.toy").unwrap(), "use lib/two\ntest two_is_two: two == 2\n");
    assert!(commits(&world)[0].consents.is_empty());
}

/// To be told of an undeclared change is no red reading.
#[test]
fn an_undeclared_change_that_is_declared_when_it_is_told_is_declared_in_time() {
    let told = with(json!({"artifacts": two_is(3)}), declared()).to_string();
    let files = ["lib/two.toy", "tests/two.toy"];
    let table =
        answers(one_node(&files), &[("actuator.generate", 1, bundle(&two_is(3))), ("correction", 1, told)]);
    let world = World::new(PROJECT, table);
    let state = world.begin();
    waits(&state);
    assert_eq!(state.waiting_needs().next().unwrap().declared, Declared::InTime);
    assert_eq!(world.resume_with(&["tests"]).end.unwrap().outcome, Outcome::Success);
    assert_eq!(world.server.asks(), 3);
}

/// The model makes a test red, and then declares that the test is to change.
#[test]
fn a_change_that_is_declared_after_a_red_reading_is_declared_late() {
    let red = bundle(&[write("lib/two.toy", "let two = 3\n")]);
    let late = with(json!({"artifacts": two_is(3)}), declared()).to_string();
    let files = ["lib/two.toy", "tests/two.toy"];
    let table = answers(one_node(&files), &[("actuator.generate", 1, red), ("correction", 1, late)]);
    let world = World::new(PROJECT, table);
    let state = world.begin();
    waits(&state);
    assert_eq!(state.waiting_needs().next().unwrap().declared, Declared::Late);
    waits(&world.resume_with(&["tests"]));
    assert_eq!(world.resume_with(&["tests:any"]).end.unwrap().outcome, Outcome::Success);
    assert_eq!(world.server.asks(), 3);
}

#[test]
fn with_a_grant_for_anything_an_undeclared_change_is_no_finding() {
    let mut world = undeclared();
    world.rig.started.allow = vec!["tests:any".parse().unwrap()];
    assert_eq!(world.begin().end.unwrap().outcome, Outcome::Success);
    assert_eq!(world.server.asks(), 2);
}

#[test]
fn a_test_that_is_removed_or_skipped_waits_too() {
    let gone = vec![write("lib/two.toy", "let two = 3\n"), delete("tests/two.toy")];
    let skipped = vec![
        write("lib/two.toy", "let two = 3\n"),
        write("tests/two.toy", "use lib/two\nskip two_is_two: two == 2\n"),
    ];
    for (answer, change) in [(gone, "remove"), (skipped, "update")] {
        let mut declared = declared();
        declared["changes_tests"][0]["change"] = json!(change);
        let node = with(task("one", &["lib/two.toy"], &[]), declared);
        let table = Table::new().on("architect.existing", "-", 1, Reply::text(plan(&[node])));
        let table = answers(table, &[("actuator.generate", 1, bundle(&answer))]);
        let world = World::new(PROJECT, table);
        world.place.write("tests/one.toy", "test one_is_one: 1 == 1\n");
        let before = world.place.picture();
        let state = world.begin();
        waits(&state);
        assert_eq!(missing(&state), [format!("tests:{SUBJECT}")]);
        assert_eq!(world.place.picture(), before);
        assert_eq!(world.resume_with(&["tests"]).end.unwrap().outcome, Outcome::Success);
        assert_eq!(world.server.asks(), 2);
    }
}

#[test]
fn what_decides_how_tests_run_waits_too() {
    let answer = bundle(&[
        write("lib/three.toy", "let three = 3\n"),
        write("tests/three.toy", "use lib/three\ntest three: three == 3\n"),
        write("toy.run", "tests off\n"),
    ]);
    let files = ["lib/three.toy", "tests/three.toy", "toy.run"];
    let both = [("actuator.generate", 1, answer.clone()), ("correction", 1, answer)];
    let world = World::new(PROJECT, answers(one_node(&files), &both));
    let before = world.place.picture();
    let state = world.begin();
    waits(&state);
    assert!(missing(&state).contains(&"evidence:toy.run".to_owned()), "{:?}", missing(&state));
    assert_eq!(world.place.picture(), before);
}

#[test]
fn a_test_that_was_red_and_stays_so_waits_where_the_answer_says_so() {
    let answer = json!({
        "artifacts": [
            write("lib/three.toy", "let three = 3\n"),
            write("tests/three.toy", "use lib/three\ntest three: three == 3\n"),
        ],
        "leaves_red": ["red"],
    });
    let table = answers(one_node(THREE), &[("actuator.generate", 1, answer.to_string())]);
    let world = World::new(PROJECT, table);
    world.place.write("tests/red.toy", "test red: 1 == 2\n");
    let state = world.begin();
    waits(&state);
    assert_eq!(missing(&state), ["red:tests/red.toy::red"]);
    let state = world.resume_with(&["red"]);
    assert_eq!(state.end.unwrap().outcome, Outcome::Success);
    assert_eq!(world.server.asks(), 2);
}

#[test]
fn a_test_that_was_red_and_is_not_spoken_of_is_corrected_first_and_then_waits() {
    let table =
        (1..=3).fold(answers(one_node(THREE), &[("actuator.generate", 1, three("3"))]), |table, n| {
            let other = format!("3 + {n} - {n}");
            answers(table, &[("correction", n, three(&other))])
        });
    let world = World::new(PROJECT, table);
    world.place.write("tests/red.toy", "test red: 1 == 2\n");
    let state = world.begin();
    waits(&state);
    assert_eq!(missing(&state), ["red:tests/red.toy::red"]);
    let asks = world.server.asks();
    assert!(asks > 2, "the model is told first");
    assert_eq!(world.resume_with(&["red:red"]).end.unwrap().outcome, Outcome::Success);
    assert_eq!(world.server.asks(), asks);
    assert_eq!(world.place.read("lib/three.toy").unwrap(), "let three = 3\n");
}

#[test]
fn code_that_no_tool_looks_at_waits() {
    let files = &[("Main.java", "class Main {}\n")];
    let answer = bundle(&[write("Main.java", "class Main { int three = 3; }\n")]);
    let world = World::new(files, answers(one_node(&["Main.java"]), &[("actuator.generate", 1, answer)]));
    let state = world.begin();
    waits(&state);
    assert_eq!(missing(&state), ["unmeasured:Main.java"]);
    assert_eq!(world.resume_with(&["unmeasured"]).end.unwrap().outcome, Outcome::Success);
    assert_eq!(world.server.asks(), 2);
    assert_eq!(commits(&world)[0].grade, Grade::None);
}

#[test]
fn the_tests_as_they_were_are_run_once_where_one_changed() {
    let world =
        World::new(PROJECT, answers(declaring_node(), &[("actuator.generate", 1, bundle(&two_is(3)))]));
    waits(&world.begin());
    assert_eq!(old_test_runs(&world), [2], "a list and a run");
    assert_eq!(world.resume_with(&["tests"]).end.unwrap().outcome, Outcome::Success);
    assert_eq!(old_test_runs(&world), [2]);
}

#[test]
fn the_tests_as_they_were_are_run_once_for_each_candidate() {
    let world = undeclared();
    waits(&world.begin());
    // Both answers come to the same tree.
    assert_eq!(old_test_runs(&world), [2, 2]);
}

#[test]
fn the_tests_as_they_were_are_not_run_where_only_new_ones_came() {
    let more = bundle(&[
        write("lib/two.toy", "let two = 2\nlet three = 3\n"),
        write("tests/two.toy", "use lib/two\ntest two_is_two: two == 2\ntest three: three == 3\n"),
        write("tests/three.toy", "use lib/two\ntest other: three == 3\n"),
    ]);
    let files = ["lib/two.toy", "tests/two.toy", "tests/three.toy"];
    let world = World::new(PROJECT, answers(one_node(&files), &[("actuator.generate", 1, more)]));
    assert_eq!(world.begin().end.unwrap().outcome, Outcome::Success);
    assert_eq!(old_test_runs(&world), [0; 0]);
}

#[test]
fn the_tests_as_they_were_are_not_run_where_more_fail_than_before() {
    let wrong = vec![
        write("lib/two.toy", "let two = 4\n"),
        write("tests/two.toy", "use lib/two\ntest two_is_two: two == 3\n"),
    ];
    let table = answers(
        declaring_node(),
        &[("actuator.generate", 1, bundle(&wrong)), ("correction", 1, bundle(&two_is(3)))],
    );
    let world = World::new(PROJECT, table);
    waits(&world.begin());
    let measured = |kind| {
        let is_it = |effect: &Effect| effect.kind() == EffectKind::Measure(kind);
        world.outcomes().iter().filter(|(effect, _)| is_it(effect)).count()
    };
    assert_eq!(
        (measured(StageKind::Test), old_test_runs(&world)),
        (4, vec![2]),
        "two of the four are the baseline's"
    );
}

#[test]
fn a_person_is_asked_and_a_yes_publishes() {
    // The plan names the whole file, so that its approval does not cover the test.
    let node =
        with(task("one", &["lib/two.toy"], &[]), json!({"changes_tests": [{"path": "tests/two.toy"}]}));
    let table = Table::new().on("architect.existing", "-", 1, Reply::text(plan(&[node])));
    let mut world = World::new(PROJECT, answers(table, &[("actuator.generate", 1, bundle(&two_is(3)))]));
    world.rig.started.approval = Approval::Person;
    let state = world.begin();
    assert_eq!(state.end.unwrap().outcome, Outcome::Success);
    let asked = world.outcomes().iter().filter(|(effect, _)| effect.kind() == EffectKind::Question).count();
    assert_eq!(asked, 2, "the plan and the test");
    assert_eq!(commits(&world)[0].consents[0].grant.by, GrantedBy::Answer);
}

#[test]
fn the_approval_of_a_plan_that_names_the_test_is_the_consent() {
    let table = answers(declaring_node(), &[("actuator.generate", 1, bundle(&two_is(3)))]);
    let mut world = World::new(PROJECT, table);
    world.rig.started.approval = Approval::Person;
    world.rig.decision = Decision::Yes;
    assert_eq!(world.begin().end.unwrap().outcome, Outcome::Success);
    let asked = world.outcomes().iter().filter(|(effect, _)| effect.kind() == EffectKind::Question).count();
    assert_eq!(asked, 1);
    assert_eq!(commits(&world)[0].consents[0].grant.by, GrantedBy::Plan);
}

#[test]
fn a_waiting_node_is_not_closed() {
    let world =
        World::new(PROJECT, answers(declaring_node(), &[("actuator.generate", 1, bundle(&two_is(3)))]));
    let state = world.begin();
    assert_eq!(state.node_ends(), [NodeEnd::Waiting]);
    assert!(state.nodes[&NodeId::from("one")].end.is_none());
}
