//! Ways with fewer or other calls: a plan with its changes, a task without a plan, findings that are explained, models that
//! take over, and models that first want to see more.

use perspt_core::event::{Ended, EscalateReason, Event, PlanSource, PlanningPolicy};
use perspt_core::outcome::Outcome;
use perspt_core::route::{Price, Route, Tier, TierRoute};
use perspt_testkit::server::{Ask, Reply, Script, Table};
use serde_json::json;

use crate::support::{PROJECT, THREE, World, answers, one_node, plan, task, three};

const BLOCKS: &str = "### write lib/three.toy\n```\nlet three = 3\n```\n\n### write tests/three.toy\n```\nuse lib/three\ntest three: three == 3\n```\n";

fn routes(route: impl Fn(Tier) -> TierRoute) -> Vec<TierRoute> {
    Tier::ALL.into_iter().map(route).collect()
}

fn named(tier: Tier, model: &str) -> TierRoute {
    TierRoute { tier, main: Route::plain(model, None), fallback: None }
}

#[test]
fn a_plan_that_brings_its_changes_costs_one_call() {
    let together = format!("{}\n\n{BLOCKS}", plan(&[task("one", &["lib/three.toy"], &[])]));
    let table = Table::new().on("architect.existing", "-", 1, Reply::text(together));
    let world = World::new(PROJECT, table);
    let state = world.begin();
    assert_eq!(state.end.unwrap().outcome, Outcome::Success);
    assert_eq!(world.server.asks(), 1);
    assert_eq!(state.nodes.len(), 1, "the plan's own node");
    let request = &world.server.requests()[0].body;
    assert!(request.contains("write its files at once"), "it is told that it may");
}

#[test]
fn changes_of_an_architect_that_is_another_model_are_not_taken() {
    let together = format!("{}\n\n{BLOCKS}", plan(&[task("one", THREE, &[])]));
    let table = Table::new().on("architect.existing", "-", 1, Reply::text(together));
    let mut world = World::new(PROJECT, answers(table, &[("actuator.generate", 1, three("3"))]));
    world.rig.started.routes =
        routes(|tier| named(tier, if tier == Tier::Architect { "planner" } else { "writer" }));
    assert_eq!(world.begin().end.unwrap().outcome, Outcome::Success);
    assert_eq!(world.tags(), ["architect.existing - 1", "actuator.generate one 1"]);
    assert!(!world.server.requests()[0].body.contains("write its files at once"));
}

#[test]
fn an_answer_that_goes_straight_to_its_changes_is_its_own_plan() {
    let table = Table::new().on("architect.existing", "-", 1, Reply::text(BLOCKS));
    let world = World::new(PROJECT, table);
    let state = world.begin();
    assert_eq!(state.end.unwrap().outcome, Outcome::Success);
    assert_eq!((world.server.asks(), state.order.len()), (1, 1));
}

#[test]
fn a_local_edit_asks_no_architect() {
    let table = Table::new().on("solo.generate", "task", 1, Reply::text(BLOCKS));
    let mut world = World::new(PROJECT, table);
    world.rig.started.planning = Some(PlanningPolicy::LocalEdit);
    let state = world.begin();
    assert_eq!(state.end.unwrap().outcome, Outcome::Success);
    assert_eq!(world.tags(), ["solo.generate task 1"]);
    assert_eq!(state.planning.adopted.unwrap().2, PlanSource::Local);
}

#[test]
fn one_file_means_one_file() {
    let two = format!("{BLOCKS}\n### write lib/four.toy\n```\nlet four = 4\n```\n");
    let table = Table::new().on("solo.generate", "task", 1, Reply::text(two)).on(
        "retarget",
        "task",
        1,
        Reply::text(BLOCKS),
    );
    let mut world = World::new(PROJECT, table);
    world.rig.started.planning = Some(PlanningPolicy::SingleFile);
    assert_eq!(world.begin().end.unwrap().outcome, Outcome::Success);
    assert!(world.server.requests()[1].body.contains("everything belongs in one file"));
}

#[test]
fn findings_are_explained_by_another_verifier_and_the_correction_is_told() {
    let said = json!({"status": "wrong", "violations": ["three is four"], "evidence": [],
                      "suggested_corrections": ["set three to 3 in lib/three.toy"]});
    let table = answers(
        one_node(THREE),
        &[
            ("actuator.generate", 1, three("4")),
            ("verifier.analysis", 1, said.to_string()),
            ("correction", 1, three("3")),
        ],
    );
    let mut world = World::new(PROJECT, table);
    world.rig.started.routes =
        routes(|tier| named(tier, if tier == Tier::Verifier { "reader" } else { "writer" }));
    assert_eq!(world.begin().end.unwrap().outcome, Outcome::Success);
    let requests = world.server.requests();
    assert_eq!(requests.len(), 4);
    assert_eq!(
        (requests[2].json()["model"].as_str(), requests[3].json()["model"].as_str()),
        (Some("reader"), Some("writer"))
    );
    assert!(requests[3].body.contains("set three to 3 in lib/three.toy"));
}

#[test]
fn a_model_that_fails_for_good_is_replaced_by_its_fallback_and_the_cost_is_kept_by_tier() {
    let table = answers(one_node(THREE), &[("actuator.generate", 1, three("3"))]);
    let mut world = World::new(PROJECT, move |ask: &Ask| {
        if ask.request.json()["model"] == "gone" {
            Reply::status(404, "no such model")
        } else {
            table.reply(ask)
        }
    });
    let spare = Route {
        price: Some(Price { input: 1_000_000, cached: 1_000_000, output: 1_000_000 }),
        ..Route::plain("spare", None)
    };
    world.rig.started.routes =
        routes(|tier| TierRoute { fallback: Some(spare.clone()), ..named(tier, "gone") });
    let state = world.begin();
    assert_eq!(state.end.as_ref().unwrap().outcome, Outcome::Success);
    let moved: Vec<Tier> = world
        .rig
        .events()
        .into_iter()
        .filter_map(|(_, event)| match event {
            Event::TierMoved { tier, .. } => Some(tier),
            _ => None,
        })
        .collect();
    assert_eq!(moved, [Tier::Architect, Tier::Actuator]);
    assert!(state.account.tiers[&Tier::Actuator].cost > 0);
    assert_eq!(state.account.used.cost, state.account.tiers.values().map(|spent| spent.cost).sum::<u64>());
}

#[test]
fn what_a_model_asks_to_see_is_shown_and_it_is_asked_again() {
    let ask = json!({"context_requests": [{"kind": "read", "path": "lib/two.toy"}, {"kind": "read", "path": "../x"}]});
    let table = answers(
        one_node(THREE),
        &[("actuator.generate", 1, ask.to_string()), ("actuator.generate", 2, three("3"))],
    );
    let world = World::new(PROJECT, table);
    assert_eq!(world.begin().end.unwrap().outcome, Outcome::Success);
    let shown = &world.server.requests()[2].body;
    assert!(shown.contains("What you asked to see") && shown.contains("let two = 2"));
    assert!(shown.contains("(not shown: "), "a path that leads out is refused");
}

#[test]
fn what_does_not_fit_a_window_is_said_before_anything_is_sent() {
    let long = format!("let two = 2\n{}", "let x = 1\n".repeat(20_000));
    let files: Vec<(&str, &str)> = PROJECT
        .iter()
        .map(|(path, text)| if *path == "lib/two.toy" { (*path, long.as_str()) } else { (*path, *text) })
        .collect();
    let table = one_node(&["lib/two.toy"]);
    let mut world = World::new(&files, table);
    let tiny = |tier| match tier {
        Tier::Actuator => TierRoute {
            tier,
            main: Route { window: Some(1200), ..Route::plain("tiny", None) },
            fallback: None,
        },
        _ => named(tier, "large"),
    };
    world.rig.started.routes = routes(tiny);
    let state = world.begin();
    assert_eq!(state.end.unwrap().outcome, Outcome::Failed);
    assert_eq!(world.certificate("one").reason, EscalateReason::WindowTooSmall);
    assert_eq!(world.server.asks(), 1, "the plan alone was asked for");
    let too_large = |(_, outcome): &(_, Ended)| matches!(outcome, Ended::TooLargeForModel { .. });
    assert!(world.outcomes().iter().any(too_large));
}

#[test]
fn a_comment_that_stands_for_the_rest_of_a_file_loses_nothing() {
    let elided = "### write lib/two.toy\n```\nlet one = 1\n# ... rest of the file unchanged ...\n```\n";
    let whole = "### write lib/two.toy\n```\nlet one = 1\nlet two = 2\n```\n";
    let table = answers(
        one_node(&["lib/two.toy"]),
        &[("actuator.generate", 1, elided.to_owned()), ("retarget", 1, whole.to_owned())],
    );
    let world = World::new(PROJECT, table);
    assert_eq!(world.begin().end.unwrap().outcome, Outcome::Success);
    assert!(world.server.requests()[2].body.contains("stands for text that would be lost"));
    assert_eq!(world.place.read("lib/two.toy").unwrap(), "let one = 1\nlet two = 2\n");
}

#[test]
fn without_a_plan_nothing_is_removed_or_replaced_that_was_neither_named_nor_shown() {
    let removes = format!("{BLOCKS}\n### delete NOTES.md\n");
    let table = Table::new().on("solo.generate", "task", 1, Reply::text(removes)).on(
        "retarget",
        "task",
        1,
        Reply::text(BLOCKS),
    );
    let mut world = World::new(PROJECT, table);
    world.rig.started.planning = Some(PlanningPolicy::LocalEdit);
    assert_eq!(world.begin().end.unwrap().outcome, Outcome::Success);
    assert!(world.server.requests()[1].body.contains("neither removed nor renamed"));
    assert_eq!(world.place.read("NOTES.md").unwrap(), "notes\n");
}

#[test]
fn a_small_model_that_only_writes_tests_is_asked_once_whether_that_is_all() {
    let tests = "### write tests/more.toy\n```\nuse lib/two\ntest still_two: two == 2\n```\n";
    let table = |second: &str| {
        let first = Table::new().on("solo.generate", "task", 1, Reply::text(tests));
        first.on("malformed", "task", 1, Reply::text(second))
    };
    let small =
        |tier| TierRoute { main: Route { small: true, ..Route::plain("tiny", None) }, ..named(tier, "tiny") };
    for (second, file) in [(BLOCKS, "lib/three.toy"), (tests, "tests/more.toy")] {
        let mut world = World::new(PROJECT, table(second));
        world.rig.started.routes = routes(small);
        assert_eq!(world.begin().end.unwrap().outcome, Outcome::Success);
        assert_eq!(world.tags(), ["solo.generate task 1", "malformed task 1"]);
        assert!(world.server.requests()[1].body.contains("only tests came"));
        assert!(std::path::Path::new(&world.rig.started.workspace).join(file).exists(), "{file}");
    }
}
