//! From a task to a plan, or to none.

use perspt_core::event::{Approval, Category, Decision, Ended, EscalateReason, Event, PlanSource};
use perspt_core::grade::Grade;
use perspt_core::outcome::Outcome;
use perspt_testkit::server::{Reply, Table};
use serde_json::json;

use crate::consents::commits;
use crate::support::{PROJECT, THREE, World, answers, bundle, one_node, plan, task, three, with, write};

#[test]
fn a_model_that_says_its_scope_is_too_small_is_believed() {
    let replan = json!({"requires_replan": {"reason": "main.toy is not mine", "needed_files": ["main.toy"]}});
    let world =
        World::new(PROJECT, answers(one_node(THREE), &[("actuator.generate", 1, replan.to_string())]));
    let before = world.place.picture();
    let state = world.begin();
    assert_eq!(state.end.unwrap().outcome, Outcome::Failed);
    let certificate = world.certificate("one");
    assert_eq!(certificate.reason, EscalateReason::RequiresReplan);
    assert_eq!(certificate.category, Category::TopologyMismatch);
    assert!(certificate.residuals[0].contains("main.toy"));
    assert_eq!(world.server.asks(), 2);
    assert_eq!(world.place.picture(), before);
}

#[test]
fn a_plan_that_cannot_be_carried_out_is_sent_back_with_what_is_wrong() {
    let outside = plan(&[task("one", &["../three.toy"], &[])]);
    let table = Table::new()
        .on("architect.existing", "-", 1, Reply::text(outside))
        .on("architect.existing", "-", 2, Reply::text(plan(&[task("one", THREE, &[])])))
        .on("actuator.generate", "one", 1, Reply::text(three("3")));
    let world = World::new(PROJECT, table);
    assert_eq!(world.begin().end.unwrap().outcome, Outcome::Success);
    assert!(world.server.requests()[1].body.contains("outside the workspace"));
}

#[test]
fn a_plan_that_can_be_put_right_costs_no_round_and_the_event_says_what_was() {
    let four = bundle(&[
        write("lib/four.toy", "use lib/three\nlet four = three + 1\n"),
        write(
            "tests/three.toy",
            "use lib/three\nuse lib/four\ntest three: three == 3\ntest four: four == 4\n",
        ),
    ]);
    let first = with(task("One!", THREE, &["lib/two.toy"]), json!({"task_type": "code | unit_test"}));
    let second = task("two", &["lib/four.toy", "tests/three.toy"], &[]);
    let table = Table::new()
        .on("architect.existing", "-", 1, Reply::text(plan(&[first, second])))
        .on("actuator.generate", "one", 1, Reply::text(three("3")))
        .on("actuator.generate", "two", 1, Reply::text(four));
    let world = World::new(PROJECT, table);
    let state = world.begin();
    let settled = world.outcomes().into_iter().find_map(|(_, outcome)| match outcome {
        Ended::PlanParsed { settled, .. } => Some(settled),
        _ => None,
    });
    assert_eq!(
        settled.unwrap(),
        [
            "task `One!`: `code | unit_test` is no task_type; the default is taken",
            "the task id `One!` is written `one`",
            "task `one`: the dependency `lib/two.toy` is a file, not a task; it is left out",
            "`tests/three.toy` stands in two tasks: `one` owns it, and the integration task `two` changes it after it",
        ]
    );
    assert_eq!(state.end.unwrap().outcome, Outcome::Success);
    assert_eq!(world.server.asks(), 3);
}

#[test]
fn three_invalid_plans_lead_to_the_fallback_graph() {
    let table = Table::new()
        .on("architect.existing", "-", 1, Reply::text("First I would look around."))
        .on("architect.existing", "-", 2, Reply::text("{\"tasks\": []}"))
        .on("architect.existing", "-", 3, Reply::text(plan(&[task("one", &["../x.toy"], &[])])))
        .on("actuator.generate", "implementation", 1, Reply::text(three("3")));
    let world = World::new(PROJECT, table);
    let state = world.begin();
    assert_eq!(state.end.unwrap().outcome, Outcome::Success);
    let adopted: Vec<PlanSource> = world
        .rig
        .events()
        .into_iter()
        .filter_map(
            |(_, event)| if let Event::PlanAdopted { source, .. } = event { Some(source) } else { None },
        )
        .collect();
    assert_eq!(adopted, [PlanSource::Fallback]);
    let order: Vec<&str> = state.order.iter().map(|id| id.as_str()).collect();
    assert_eq!(order, ["implementation"]);
    assert_eq!(world.server.asks(), 4);
    assert_eq!(world.place.read("lib/three.toy").unwrap(), "let three = 3\n");
}

#[test]
fn a_fallback_node_that_empties_an_existing_test_file_is_told_of_the_test() {
    let table = Table::new()
        .on("architect.existing", "-", 1, Reply::text("no"))
        .on("architect.existing", "-", 2, Reply::text("no"))
        .on("architect.existing", "-", 3, Reply::text("no"))
        .on("actuator.generate", "implementation", 1, Reply::text(bundle(&[write("tests/two.toy", "")])))
        .on(
            "correction",
            "implementation",
            1,
            Reply::text("{\"requires_replan\": {\"reason\": \"so be it\"}}"),
        );
    let world = World::new(PROJECT, table);
    assert_eq!(world.begin().end.unwrap().outcome, Outcome::Refused, "only the user can permit that");
    assert!(world.server.requests()[4].body.contains("two_is_two"), "the test that is missing now is named");
    assert_eq!(world.place.read("tests/two.toy").unwrap(), "use lib/two\ntest two_is_two: two == 2\n");
}

#[test]
fn a_new_file_beside_a_nodes_own_costs_no_round() {
    let answer = bundle(&[
        write("lib/three.toy", "use lib/one\nlet three = one * 3\n"),
        write("lib/one.toy", "let one = 1\n"),
        write("tests/three.toy", "use lib/three\ntest three: three == 3\n"),
        write("docs/three.md", "Three.\n"),
    ]);
    let world = World::new(PROJECT, answers(one_node(THREE), &[("actuator.generate", 1, answer)]));
    assert_eq!(world.begin().end.unwrap().outcome, Outcome::Success);
    assert_eq!(world.server.asks(), 2);
    assert_eq!(world.place.read("docs/three.md").unwrap(), "Three.\n");
}

#[test]
fn an_empty_folder_is_built_up_from_its_manifest() {
    let files = ["toy.mod", "main.toy", "tests/main.toy"];
    let answer = bundle(&[
        write("toy.mod", ""),
        write("main.toy", "let one = 1\n"),
        write("tests/main.toy", "use main\ntest one: one == 1\n"),
    ]);
    let table = Table::new()
        .on("architect.greenfield", "-", 1, Reply::text(plan(&[task("one", &files, &[])])))
        .on("actuator.generate", "one", 1, Reply::text(answer));
    let world = World::new(&[], table);
    assert_eq!(world.begin().end.unwrap().outcome, Outcome::Success);
    assert_eq!(world.place.read("main.toy").unwrap(), "let one = 1\n");
    assert_eq!(world.place.read("toy.lock"), None, "a lock file the base lacks stays in the slot");
}

#[test]
fn in_an_empty_folder_the_files_of_the_plan_say_the_language() {
    let files = ["toy.mod", "main.toy", "tests/main.toy"];
    let answer = bundle(&[
        write("toy.mod", ""),
        write("main.toy", "let one = 1\n"),
        write("tests/main.toy", "use main\ntest one: one == 1\n"),
    ]);
    let table = Table::new()
        .on("architect.greenfield", "-", 1, Reply::text(plan(&[task("one", &files, &[])])))
        .on("actuator.generate", "one", 1, Reply::text(answer));
    let mut world = World::new(&[], table);
    world.rig.started.task = "build something".to_owned();
    assert_eq!(world.begin().end.unwrap().outcome, Outcome::Success);
    assert_eq!(commits(&world)[0].grade, Grade::Tests);
}

#[test]
fn prose_needs_no_tool_and_no_consent() {
    let answer = bundle(&[write("NOTES.md", "better notes\n")]);
    let world = World::new(PROJECT, answers(one_node(&["NOTES.md"]), &[("actuator.generate", 1, answer)]));
    assert_eq!(world.begin().end.unwrap().outcome, Outcome::Success);
    assert_eq!(commits(&world)[0].grade, Grade::Prose);
}

#[test]
fn code_without_tests_lands_with_a_lower_grade_and_nothing_is_owed() {
    let answer = bundle(&[write("lib/three.toy", "let three = 3\n")]);
    let table = answers(one_node(&["lib/three.toy"]), &[("actuator.generate", 1, answer)]);
    let world = World::new(&[("toy.mod", ""), ("lib/two.toy", "let two = 2\n")], table);
    let state = world.begin();
    assert!(state.planning.adopted.is_some_and(|(_, _, source)| source == PlanSource::Architect));
    assert_eq!(state.end.unwrap().outcome, Outcome::Success);
    let commit = &commits(&world)[0];
    assert_eq!(commit.grade, Grade::Build);
    assert_eq!(commit.below, ["built, no test loads it: lib/three.toy"]);
}

/// Its type decides nothing: a task called documentation is measured like any other.
#[test]
fn the_type_of_a_task_decides_nothing() {
    for kind in ["code", "unit_test", "documentation", "integration_test", "refactor", "poem"] {
        let plan = plan(&[with(task("one", THREE, &[]), json!({"task_type": kind}))]);
        let table = Table::new().on("architect.existing", "-", 1, Reply::text(plan));
        let wrong_then_right = [("actuator.generate", 1, three("4")), ("correction", 1, three("3"))];
        let world = World::new(PROJECT, answers(table, &wrong_then_right));
        assert_eq!(world.begin().end.unwrap().outcome, Outcome::Success, "{kind}");
        assert_eq!(world.server.asks(), 3, "{kind}");
    }
}

#[test]
fn a_plan_the_person_refuses_is_not_worked_on() {
    let mut world = World::new(PROJECT, one_node(THREE));
    world.rig.started.approval = Approval::Person;
    world.rig.decision = Decision::No;
    let before = world.place.picture();
    assert_eq!(world.begin().end.unwrap().outcome, Outcome::Refused);
    assert_eq!((world.server.asks(), world.place.picture()), (1, before));
}

#[test]
fn a_broken_promise_is_corrected_and_one_in_prose_is_committed_as_unmeasured() {
    let contract = json!({"contract": {
        "interface_signature": "a number three",
        "forbidden_patterns": ["5 - 2"],
        "invariants": ["three is odd", {"file": "lib/three.toy", "must_contain": "let three"}],
    }});
    let table = Table::new()
        .on("architect.existing", "-", 1, Reply::text(plan(&[with(task("one", THREE, &[]), contract)])))
        .on("actuator.generate", "one", 1, Reply::text(three("5 - 2")))
        .on("correction", "one", 1, Reply::text(three("3")));
    let world = World::new(PROJECT, table);
    assert_eq!(world.begin().end.unwrap().outcome, Outcome::Success);
    let asked = &world.server.requests()[2].body;
    for words in ["forbidden-pattern lib/three.toy:1", "the contract forbids `5 - 2`", "write line 1 without"]
    {
        assert!(asked.contains(words), "{words} missing in {asked}");
    }
    let unmeasured = &commits(&world)[0].unmeasured;
    assert_eq!(unmeasured.len(), 2, "{unmeasured:?}");
    assert!(unmeasured[0].starts_with("a number three ("), "{unmeasured:?}");
    assert!(unmeasured[1].starts_with("three is odd ("), "{unmeasured:?}");
}
