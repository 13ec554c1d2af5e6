//! Commands of an answer: what repeats a stage is skipped, anything else waits for the user's word, and what it does
//! is held to the node's own files.

use perspt_core::effect::{Effect, EffectKind};
use perspt_core::event::Ended;
use perspt_core::outcome::Outcome;
use serde_json::json;

use crate::consents::{missing, waits};
use crate::support::{PROJECT, THREE, World, answers, one_node, three, write};

/// An answer with the test of three and these commands.
fn with_commands(commands: &[&str]) -> String {
    json!({
        "artifacts": [write("tests/three.toy", "use lib/three\ntest three: three == 3\n")],
        "commands": commands,
    })
    .to_string()
}

const MAKES: &str = "cp seeds/three.toy lib/three.toy";

fn world(replies: &[(&str, u32, String)]) -> World {
    let world = World::new(PROJECT, answers(one_node(THREE), replies));
    world.place.write("seeds/three.toy", "let three = 3\n");
    world
}

/// The processes of every layout.
fn layouts(world: &World) -> Vec<Vec<String>> {
    let outcomes = world.outcomes().into_iter();
    outcomes
        .filter_map(|(effect, outcome)| match (effect, outcome) {
            (Effect::LayOut { .. }, Ended::LaidOut { runs, .. } | Ended::LayoutRefused { runs, .. }) => {
                Some(runs.iter().map(|run| run.step.split_once('/').unwrap().0.to_owned()).collect())
            }
            _ => None,
        })
        .collect()
}

#[test]
fn a_command_that_repeats_a_stage_is_skipped() {
    let answer = json!({
        "artifacts": [
            write("lib/three.toy", "let three = 3\n"),
            write("tests/three.toy", "use lib/three\ntest three: three == 3\n"),
        ],
        "commands": ["toyc check", "toyc test --all"],
    });
    let world = world(&[("actuator.generate", 1, answer.to_string())]);
    assert_eq!(world.begin().end.unwrap().outcome, Outcome::Success);
    let skipped = world.outcomes().into_iter().find_map(|(_, outcome)| match outcome {
        Ended::BundleParsed { skipped, commands, .. } => Some((skipped, commands)),
        _ => None,
    });
    assert_eq!(skipped.unwrap(), (vec!["toyc check".to_owned(), "toyc test --all".to_owned()], vec![]));
    assert_eq!(layouts(&world), [["prepare"]]);
}

#[test]
fn a_command_waits_before_anything_is_run_and_the_grant_runs_it() {
    let world = world(&[("actuator.generate", 1, with_commands(&[MAKES]))]);
    let before = world.place.picture();
    let state = world.begin();
    waits(&state);
    assert_eq!(missing(&state), [format!("command:{MAKES}")]);
    assert!(state.end.unwrap().trouble.unwrap().todo.contains(&format!("--allow 'command:{MAKES}'")));
    assert_eq!(layouts(&world).len(), 0);
    let state = world.resume_with(&[&format!("command:{MAKES}")]);
    assert_eq!(state.end.unwrap().outcome, Outcome::Success);
    assert_eq!(world.server.asks(), 2);
    assert_eq!(layouts(&world), [["command", "prepare"]]);
    assert_eq!(world.place.read("lib/three.toy").unwrap(), "let three = 3\n");
    assert_eq!(before.0["seeds/three.toy"], world.place.picture().0["seeds/three.toy"]);
}

#[test]
fn a_grant_for_another_command_runs_nothing() {
    let world = world(&[("actuator.generate", 1, with_commands(&[MAKES]))]);
    waits(&world.begin());
    let known = world.outcomes().len();
    waits(&world.resume_with(&["command:cp seeds/three.toy lib/two.toy"]));
    assert_eq!(world.outcomes().len(), known, "nothing is done");
    assert_eq!(world.resume_with(&["command:any"]).end.unwrap().outcome, Outcome::Success);
    assert_eq!(world.server.asks(), 2);
}

#[test]
fn a_command_that_touches_what_is_not_the_nodes_own_is_refused_and_told() {
    let foreign = with_commands(&[MAKES, "cp seeds/three.toy lib/two.toy"]);
    let mut world = world(&[("actuator.generate", 1, foreign), ("retarget", 1, three("3"))]);
    world.rig.started.allow = vec!["command:any".parse().unwrap()];
    assert_eq!(world.begin().end.unwrap().outcome, Outcome::Success);
    assert_eq!(world.place.read("lib/two.toy").unwrap(), "let two = 2\n");
    assert_eq!(world.tags()[2], "retarget one 1");
    let told = &world.server.requests()[2].body;
    assert!(told.contains("a command of the answer changed a file that is not the node's"), "{told}");
    assert!(told.contains("lib/two.toy"), "{told}");
    assert_eq!(layouts(&world), [vec!["command", "command"], vec!["prepare"]]);
}

/// The answer's own files are good without it: they are measured, and nobody is asked again.
#[test]
fn a_command_that_fails_or_is_not_there_does_not_cost_the_answer() {
    for command in ["cp seeds/nothing.toy lib/three.toy", "no-such-program-anywhere"] {
        let mut answer: serde_json::Value = serde_json::from_str(&three("3")).unwrap();
        answer["commands"] = json!([command]);
        let mut world = world(&[("actuator.generate", 1, answer.to_string())]);
        world.rig.started.allow = vec!["command:any".parse().unwrap()];
        assert_eq!(world.begin().end.unwrap().outcome, Outcome::Success, "{command}");
        assert_eq!(world.server.asks(), 2);
        assert_eq!(layouts(&world), [["command", "prepare"]], "what it did is in the record");
    }
    // Where its work is missing, that is what is found.
    let fails = with_commands(&["cp seeds/nothing.toy lib/three.toy"]);
    let mut world = world(&[("actuator.generate", 1, fails), ("correction", 1, three("3"))]);
    world.rig.started.allow = vec!["command:any".parse().unwrap()];
    assert_eq!(world.begin().end.unwrap().outcome, Outcome::Success);
    assert!(world.server.requests()[2].body.contains("lib/three.toy` is to be made by this node"));
}

#[test]
fn a_command_that_needs_a_shell_is_not_run_and_does_not_cost_the_answer() {
    for (command, refused) in [("cd lib && toyc test", false), ("toyc check; rm -rf seeds", true)] {
        let mut answer: serde_json::Value = serde_json::from_str(&three("3")).unwrap();
        answer["commands"] = json!([command]);
        let world = world(&[("actuator.generate", 1, answer.to_string())]);
        assert_eq!(world.begin().end.unwrap().outcome, Outcome::Success, "{command}");
        assert_eq!((world.server.asks(), layouts(&world)), (2, vec![vec!["prepare".to_owned()]]));
        let told = world.outcomes().into_iter().find_map(|(_, outcome)| match outcome {
            Ended::BundleParsed { skipped, refused, .. } => Some((skipped.len(), refused.len())),
            _ => None,
        });
        assert_eq!(told.unwrap(), (usize::from(!refused), usize::from(refused)));
    }
}

#[test]
fn a_command_that_waits_is_run_once_though_the_base_moves_before_it_is_published() {
    let mut world = world(&[("actuator.generate", 1, with_commands(&[MAKES]))]);
    waits(&world.begin());
    let notes = world.place.work().join("NOTES.md");
    world.rig.watch = std::sync::Arc::new(move |point: &perspt_testkit::session::Point<'_>| {
        if point.before_publish("one") {
            std::fs::write(&notes, "my own notes\n").unwrap();
        }
    });
    assert_eq!(world.resume_with(&["command:any"]).end.unwrap().outcome, Outcome::Success);
    assert_eq!(layouts(&world), [vec!["command", "prepare"], vec!["prepare"]]);
    assert_eq!((world.server.asks(), world.moves()), (2, 1));
    assert_eq!(world.place.read("NOTES.md").unwrap(), "my own notes\n");
}

#[test]
fn a_command_that_waits_runs_over_what_the_user_did_meanwhile() {
    let world = world(&[("actuator.generate", 1, with_commands(&[MAKES]))]);
    waits(&world.begin());
    world.place.write("NOTES.md", "my own notes\n");
    assert_eq!(world.resume_with(&["command:any"]).end.unwrap().outcome, Outcome::Success);
    assert_eq!(world.server.asks(), 2);
    assert_eq!(world.place.read("NOTES.md").unwrap(), "my own notes\n");
    let measured = world.outcomes().iter().filter(|(effect, _)| effect.kind() == EffectKind::LayOut).count();
    assert_eq!(measured, 2, "over the old head, and over what the user made of it");
}
