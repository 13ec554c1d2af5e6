//! From a task to a plan, or to none.

use perspt_core::event::{Approval, Category, Decision, EscalateReason, Event, PlanSource};
use perspt_core::outcome::Outcome;
use perspt_testkit::server::{Reply, Table};
use serde_json::json;

use crate::support::{PROJECT, THREE, World, answers, bundle, one_node, plan, task, three, write};

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
fn an_invalid_plan_is_sent_back_with_what_is_wrong() {
    let twice = plan(&[task("one", THREE, &[]), task("two", THREE, &[])]);
    let table = Table::new()
        .on("architect.existing", "-", 1, Reply::text(twice))
        .on("architect.existing", "-", 2, Reply::text(plan(&[task("one", THREE, &[])])))
        .on("actuator.generate", "one", 1, Reply::text(three("3")));
    let world = World::new(PROJECT, table);
    assert_eq!(world.begin().end.unwrap().outcome, Outcome::Success);
    assert!(world.server.requests()[1].body.contains("is an output of both `one` and `two`"));
}

#[test]
fn three_invalid_plans_lead_to_the_fallback_graph() {
    let answer = |path: &str, text: &str| Reply::text(bundle(&[write(path, text)]));
    let table = Table::new()
        .on("architect.existing", "-", 1, Reply::text("First I would look around."))
        .on("architect.existing", "-", 2, Reply::text("{\"tasks\": []}"))
        .on("architect.existing", "-", 3, Reply::text(plan(&[task("one", &["../x.toy"], &[])])))
        .on("actuator.generate", "implementation", 1, answer("lib/three.toy", "let three = 3\n"))
        .on(
            "actuator.generate",
            "tests",
            1,
            answer("tests/three.toy", "use lib/three\ntest t: three == 3\n"),
        );
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
    assert_eq!(order, ["implementation", "tests"]);
    assert_eq!(world.server.asks(), 5);
    assert_eq!(world.place.read("lib/three.toy").unwrap(), "let three = 3\n");
}

#[test]
fn a_fallback_node_may_not_touch_existing_tests() {
    let table = Table::new()
        .on("architect.existing", "-", 1, Reply::text("no"))
        .on("architect.existing", "-", 2, Reply::text("no"))
        .on("architect.existing", "-", 3, Reply::text("no"))
        .on("actuator.generate", "implementation", 1, Reply::text(bundle(&[write("tests/two.toy", "")])))
        .on(
            "retarget",
            "implementation",
            1,
            Reply::text("{\"requires_replan\": {\"reason\": \"so be it\"}}"),
        );
    let world = World::new(PROJECT, table);
    assert_eq!(world.begin().end.unwrap().outcome, Outcome::Failed);
    assert!(world.server.requests()[4].body.contains("is not one of this node's files"));
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
fn an_empty_folder_and_a_task_without_a_language_end_before_any_paid_call() {
    let mut world = World::new(&[], Table::new());
    world.rig.started.task = "build something".to_owned();
    assert_eq!(world.begin().end.unwrap().outcome, Outcome::Usage);
    assert_eq!(world.server.asks(), 0);
}

#[test]
fn a_project_of_an_unknown_language_ends_before_any_paid_call() {
    let world = World::new(&[("Main.java", "class Main {}")], Table::new());
    assert_eq!(world.begin().end.unwrap().outcome, Outcome::Usage);
    assert_eq!(world.server.asks(), 0);
}

#[test]
fn a_plan_for_a_project_without_tests_must_add_one() {
    let code = json!({"id": "one", "goal": "g", "output_files": ["lib/three.toy"], "task_type": "code"});
    let table = Table::new()
        .on("architect.existing", "-", 1, Reply::text(plan(&[code])))
        .on("architect.existing", "-", 2, Reply::text(plan(&[task("one", THREE, &[])])))
        .on("actuator.generate", "one", 1, Reply::text(three("3")));
    let world = World::new(&[("toy.mod", ""), ("lib/two.toy", "let two = 2\n")], table);
    assert_eq!(world.begin().end.unwrap().outcome, Outcome::Success);
    assert!(world.server.requests()[1].body.contains("there are no tests"));
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
