//! While a node waits for a consent the world goes on: other nodes land, the user edits files, calls fail.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use perspt_agent::ports::Interrupt;
use perspt_core::effect::EffectKind;
use perspt_core::event::Event;
use perspt_core::ids::NodeId;
use perspt_core::outcome::{EndReason, NodeEnd, Outcome};
use perspt_core::reading::StageKind;
use perspt_core::state::{NodeState, SessionState};
use perspt_testkit::server::{Reply, Table};
use perspt_testkit::session::Point;
use serde_json::{Value, json};

use crate::consents::{declared, declaring_node, missing, two_is, waits};
use crate::support::{PROJECT, THREE, World, answers, bundle, edit, one_node, plan, task, with, write};

const NOTES: &str = "my own notes\n";

fn state_of(state: &SessionState, node: &str) -> NodeState {
    state.nodes[&NodeId::from(node)].state()
}

/// The node `one`, which needs a consent, before the others.
fn plan_with(others: &[Value]) -> Table {
    let one = with(task("one", &["lib/two.toy"], &[]), declared());
    let tasks: Vec<Value> = std::iter::once(one).chain(others.iter().cloned()).collect();
    Table::new().on("architect.existing", "-", 1, Reply::text(plan(&tasks)))
}

fn four() -> String {
    bundle(&[
        write("lib/four.toy", "let four = 4\n"),
        write("tests/four.toy", "use lib/four\ntest four: four == 4\n"),
    ])
}

const FOUR: &[&str] = &["lib/four.toy", "tests/four.toy"];

fn generates(table: Table, node: &str, answer: String) -> Table {
    table.on("actuator.generate", node, 1, Reply::text(answer))
}

/// How many effects of these kinds ended after the first so many.
fn count_after(world: &World, known: usize, is_it: fn(EffectKind) -> bool) -> usize {
    world.outcomes()[known..].iter().filter(|(effect, _)| is_it(effect.kind())).count()
}

fn measures(stage: EffectKind) -> bool {
    matches!(stage, EffectKind::Measure(_))
}

fn waiting_alone() -> World {
    World::new(PROJECT, answers(declaring_node(), &[("actuator.generate", 1, bundle(&two_is(3)))]))
}

#[test]
fn while_one_node_waits_an_independent_one_lands() {
    let table = generates(plan_with(&[task("two", FOUR, &[])]), "one", bundle(&two_is(3)));
    let world = World::new(PROJECT, generates(table, "two", four()));
    let state = world.begin();
    waits(&state);
    assert_eq!(state.node_ends(), [NodeEnd::Waiting, NodeEnd::Committed]);
    assert_eq!(world.place.read("lib/four.toy").unwrap(), "let four = 4\n");
    assert_eq!(world.place.read("lib/two.toy").unwrap(), "let two = 2\n");
    // The head has moved by what the session itself did: laid again and measured, and nobody is asked.
    let known = world.outcomes().len();
    let state = world.resume_with(&["tests"]);
    assert_eq!(state.end.as_ref().unwrap().outcome, Outcome::Success);
    assert_eq!((world.server.asks(), world.moves()), (3, 0));
    assert_eq!(count_after(&world, known, measures), 3);
    assert_eq!(world.place.read("lib/two.toy").unwrap(), "let two = 3\n");
    assert!(state.edited.is_empty() && state.nodes.values().all(|node| node.changed_since.is_empty()));
}

#[test]
fn what_depends_on_a_waiting_node_stays_queued_and_runs_after_the_resume() {
    let others = [task("two", FOUR, &[]), task("three", &["lib/six.toy", "tests/six.toy"], &["one"])];
    let six = bundle(&[
        write("lib/six.toy", "use lib/two\nlet six = two * 2\n"),
        write("tests/six.toy", "use lib/six\ntest six: six == 6\n"),
    ]);
    let table = generates(plan_with(&others), "one", bundle(&two_is(3)));
    let world = World::new(PROJECT, generates(generates(table, "two", four()), "three", six));
    let state = world.begin();
    waits(&state);
    let states = ["one", "two", "three"].map(|node| state_of(&state, node));
    assert_eq!(states, [NodeState::Waiting, NodeState::Committed, NodeState::Queued]);
    assert_eq!(world.server.asks(), 3, "the third is not asked for");
    let state = world.resume_with(&["tests"]);
    assert_eq!(state.end.unwrap().outcome, Outcome::Success);
    assert_eq!(world.tags()[3..], ["actuator.generate three 1"]);
    assert!(world.server.requests()[3].body.contains("let two = 3"), "it is shown what the first has made");
    assert_eq!(world.place.read("lib/six.toy").unwrap(), "use lib/two\nlet six = two * 2\n");
}

#[test]
fn two_nodes_that_wait_are_both_published_by_one_resume() {
    let other = json!({"changes_tests": [{"path": "tests/ten.toy", "test": "ten", "why": "eleven"}]});
    let second = with(task("two", &["lib/ten.toy"], &[]), other);
    let eleven = bundle(&[
        write("lib/ten.toy", "let ten = 11\n"),
        write("tests/ten.toy", "use lib/ten\ntest ten: ten == 11\n"),
    ]);
    let table = generates(plan_with(&[second]), "one", bundle(&two_is(3)));
    let world = World::new(PROJECT, generates(table, "two", eleven));
    world.place.write("lib/ten.toy", "let ten = 10\n");
    world.place.write("tests/ten.toy", "use lib/ten\ntest ten: ten == 10\n");
    let state = world.begin();
    waits(&state);
    assert_eq!(missing(&state), ["tests:tests/two.toy::two_is_two", "tests:tests/ten.toy::ten"]);
    let state = world.resume_with(&["tests"]);
    assert_eq!(state.end.as_ref().unwrap().outcome, Outcome::Success);
    assert_eq!(world.server.asks(), 3, "{:?}", world.tags());
    assert_eq!(world.place.read("lib/ten.toy").unwrap(), "let ten = 11\n");
    assert_eq!(world.place.read("lib/two.toy").unwrap(), "let two = 3\n");
    assert_eq!(world.moves(), 0, "a commit of the session is not an edit of the user's");
    assert!(state.edited.is_empty() && state.nodes.values().all(|node| node.changed_since.is_empty()));
}

#[test]
fn an_edit_of_an_unrelated_file_while_a_node_waits_has_it_laid_again_and_measured() {
    let world = waiting_alone();
    waits(&world.begin());
    world.place.write("NOTES.md", NOTES);
    let known = world.outcomes().len();
    assert_eq!(world.resume_with(&["tests"]).end.unwrap().outcome, Outcome::Success);
    assert_eq!((world.moves(), world.server.asks()), (1, 2));
    // The head's build and tests, and the candidate's three stages.
    assert_eq!(count_after(&world, known, measures), 2 + 3);
    assert_eq!(world.place.read("NOTES.md").unwrap(), NOTES);
    assert_eq!(world.place.read("lib/two.toy").unwrap(), "let two = 3\n");
}

#[test]
fn an_edit_of_the_candidates_own_file_while_it_waits_is_kept_and_asked_about_again() {
    let kept = bundle(&[
        write("lib/two.toy", "let two = 3\nlet mine = 7\n"),
        write("tests/two.toy", "use lib/two\ntest two_is_two: two == 3\n"),
    ]);
    let table = answers(
        declaring_node(),
        &[("actuator.generate", 1, bundle(&two_is(3))), ("actuator.generate", 2, kept)],
    );
    let world = World::new(PROJECT, table);
    waits(&world.begin());
    world.place.write("lib/two.toy", "let two = 2\nlet mine = 7\n");
    assert_eq!(world.resume_with(&["tests"]).end.unwrap().outcome, Outcome::Success);
    assert_eq!(world.tags()[2..], ["actuator.generate one 2"]);
    assert!(world.server.requests()[2].body.contains("let mine = 7"));
    assert_eq!(world.place.read("lib/two.toy").unwrap(), "let two = 3\nlet mine = 7\n");
}

/// What the user wrote lies apart from what the candidate changes: both are kept, and nobody is asked.
#[test]
fn an_edit_elsewhere_in_the_candidates_own_file_is_put_together_with_it() {
    let apart = |first: &str, last: &str| format!("{first}\n# one\n# two\n{last}\n");
    let ours = bundle(&[
        write("lib/two.toy", &apart("let two = 3", "# end")),
        write("tests/two.toy", "use lib/two\ntest two_is_two: two == 3\n"),
    ]);
    let world = World::new(PROJECT, answers(declaring_node(), &[("actuator.generate", 1, ours)]));
    world.place.write("lib/two.toy", apart("let two = 2", "# end"));
    waits(&world.begin());
    world.place.write("lib/two.toy", apart("let two = 2", "let mine = 7"));
    assert_eq!(world.resume_with(&["tests"]).end.unwrap().outcome, Outcome::Success);
    assert_eq!(world.server.asks(), 2, "{:?}", world.tags());
    assert_eq!(world.place.read("lib/two.toy").unwrap(), apart("let two = 3", "let mine = 7"));
}

#[test]
fn an_edit_of_the_test_that_waits_to_be_changed_is_not_overwritten() {
    let kept = bundle(&[
        write("lib/two.toy", "let two = 3\n"),
        write("tests/two.toy", "use lib/two\ntest mine: 1 == 1\ntest two_is_two: two == 3\n"),
    ]);
    let table = answers(
        declaring_node(),
        &[("actuator.generate", 1, bundle(&two_is(3))), ("actuator.generate", 2, kept)],
    );
    let world = World::new(PROJECT, table);
    waits(&world.begin());
    world.place.write("tests/two.toy", "use lib/two\ntest mine: 1 == 1\ntest two_is_two: two == 2\n");
    assert_eq!(world.resume_with(&["tests"]).end.unwrap().outcome, Outcome::Success);
    assert!(world.place.read("tests/two.toy").unwrap().contains("test mine: 1 == 1"));
}

/// A support file of this length is not shown to a node whose own files come first.
fn long_main() -> String {
    let filler: String = (0..6000).map(|n| format!("# line {n} of a long file\n")).collect();
    format!("use lib/two\nlet answer = two * 21\n{filler}")
}

/// The first node's answer edits the support file too.
fn two_is_three_and_main(find: &str, replace: &str) -> String {
    let mut artifacts = two_is(3);
    artifacts.push(edit("main.toy", find, replace));
    bundle(&artifacts)
}

const ANSWER: &str = "let answer = two * 21";

#[test]
fn an_edit_of_a_file_that_the_model_was_not_shown_and_the_candidate_changes_is_not_overwritten() {
    let ours = || two_is_three_and_main(ANSWER, "let answer = two * 14");
    let table =
        answers(declaring_node(), &[("actuator.generate", 1, ours()), ("actuator.generate", 2, ours())]);
    let world = World::new(PROJECT, table);
    world.place.write("main.toy", long_main());
    waits(&world.begin());
    world.place.write("main.toy", format!("{}let mine = 7\n", long_main()));
    assert_eq!(world.resume_with(&["tests"]).end.unwrap().outcome, Outcome::Success);
    let main = world.place.read("main.toy").unwrap();
    assert!(main.contains("let mine = 7"), "the user's line is gone");
    assert!(main.contains("two * 14"), "the node's line is gone");
}

/// The same without anyone waiting: it is the base that moves.
#[test]
fn an_edit_of_a_file_that_the_model_was_not_shown_is_not_overwritten_by_a_node_that_needs_no_consent() {
    let ours = |n: u32| {
        bundle(&[
            write("lib/three.toy", &format!("let three = 2 + {n}\n")),
            write("tests/three.toy", "use lib/three\ntest three: three == 3\n"),
            edit("main.toy", ANSWER, "let answer = two * 14"),
        ])
    };
    let table =
        answers(one_node(THREE), &[("actuator.generate", 1, ours(1)), ("actuator.generate", 2, ours(1))]);
    let mut world = World::new(PROJECT, table);
    world.place.write("main.toy", long_main());
    let (file, once) = (world.place.work().join("main.toy"), AtomicBool::new(false));
    world.rig.watch = Arc::new(move |point: &Point<'_>| {
        if point.before_publish("one") && !once.swap(true, Ordering::Relaxed) {
            std::fs::write(&file, format!("{}let mine = 7\n", long_main())).unwrap();
        }
    });
    assert_eq!(world.begin().end.unwrap().outcome, Outcome::Success);
    let main = world.place.read("main.toy").unwrap();
    assert!(main.contains("let mine = 7"), "the user's line is gone");
    assert!(main.contains("two * 14"), "the node's line is gone");
}

/// Which node may be asked for a second time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Again {
    One,
    Two,
}

/// Both nodes edit the support file: the first waits, the second lands.
fn sharing(main: &str, again: Again) -> World {
    sharing_by(edit("main.toy", "use lib/two\n", "use lib/two\nuse lib/four\n"), main, again)
}

fn sharing_by(second: Value, main: &str, again: Again) -> World {
    let artifacts = [
        write("lib/four.toy", "let four = 4\n"),
        write("tests/four.toy", "use lib/four\ntest four: four == 4\n"),
        second,
    ];
    let first = two_is_three_and_main(ANSWER, "let answer = two * 14");
    let second = bundle(&artifacts);
    let table = generates(plan_with(&[task("two", FOUR, &[])]), "one", first.clone());
    let table = generates(table, "two", second.clone());
    let world = World::new(
        PROJECT,
        match again {
            Again::One => table.on("actuator.generate", "one", 2, Reply::text(first)),
            Again::Two => table.on("actuator.generate", "two", 2, Reply::text(second)),
        },
    );
    world.place.write("main.toy", main);
    world
}

fn both_edits(world: &World) {
    let main = world.place.read("main.toy").unwrap();
    assert!(main.contains("use lib/four\n"), "the second node's line is gone");
    assert!(main.contains("two * 14"), "the first node's line is gone");
}

#[test]
fn a_siblings_commit_of_a_shared_file_while_a_node_waits_loses_neither_edit() {
    for main in [PROJECT[1].1.to_owned(), long_main()] {
        let world = sharing(&main, Again::One);
        let state = world.begin();
        waits(&state);
        assert_eq!(state.node_ends(), [NodeEnd::Waiting, NodeEnd::Committed]);
        assert_eq!(world.resume_with(&["tests"]).end.unwrap().outcome, Outcome::Success);
        both_edits(&world);
    }
}

fn two_waiting_nodes_share(main: &str) {
    let other = json!({"changes_tests": [{"path": "tests/ten.toy", "test": "ten", "why": "eleven"}]});
    let second = with(task("two", &["lib/ten.toy"], &[]), other);
    let eleven = bundle(&[
        write("lib/ten.toy", "let ten = 11\n"),
        write("tests/ten.toy", "use lib/ten\ntest ten: ten == 11\n"),
        edit("main.toy", "use lib/two\n", "use lib/two\nuse lib/ten\n"),
    ]);
    let first = two_is_three_and_main(ANSWER, "let answer = two * 14");
    let table = generates(plan_with(&[second]), "one", first)
        .on("actuator.generate", "two", 1, Reply::text(eleven.clone()))
        .on("actuator.generate", "two", 2, Reply::text(eleven));
    let world = World::new(PROJECT, table);
    world.place.write("main.toy", main);
    world.place.write("lib/ten.toy", "let ten = 10\n");
    world.place.write("tests/ten.toy", "use lib/ten\ntest ten: ten == 10\n");
    waits(&world.begin());
    let end = world.resume_with(&["tests"]).end.unwrap();
    assert_eq!(end.outcome, Outcome::Success, "{end:?}");
    let main = world.place.read("main.toy").unwrap();
    assert!(main.contains("use lib/ten\n"), "the second node's line is gone");
    assert!(main.contains("two * 14"), "the first node's line is gone");
}

#[test]
fn two_waiting_nodes_that_share_a_file_lose_neither_edit() {
    two_waiting_nodes_share(PROJECT[1].1);
}

#[test]
fn two_waiting_nodes_that_share_a_file_that_was_not_shown_lose_neither_edit() {
    two_waiting_nodes_share(&long_main());
}

/// The second node is in the middle of its work when the grant comes.
fn provider_fails_for_two(second: Vec<Value>) -> World {
    let first = two_is_three_and_main(ANSWER, "let answer = two * 14");
    let table = generates(plan_with(&[task("two", FOUR, &[])]), "one", first)
        .on("actuator.generate", "two", 1, Reply::status(503, "overloaded"))
        .on("actuator.generate", "two", 1, Reply::text(bundle(&second)))
        .on("actuator.generate", "two", 2, Reply::text(bundle(&second)));
    let mut world = World::new(PROJECT, table);
    world.rig.started.settings.ask_tries = 1;
    let state = world.begin();
    assert_eq!(state.end.as_ref().unwrap().outcome, Outcome::ProviderUnusable);
    assert_eq!(state_of(&state, "one"), NodeState::Waiting);
    world
}

#[test]
fn a_grant_that_comes_while_another_node_is_half_way_publishes_the_one_and_the_other_goes_on() {
    let mut second = vec![
        write("lib/four.toy", "let four = 4\n"),
        write("tests/four.toy", "use lib/four\ntest four: four == 4\n"),
    ];
    second.push(edit("main.toy", "use lib/two\n", "use lib/two\nuse lib/four\n"));
    let world = provider_fails_for_two(second);
    let end = world.resume_with(&["tests"]).end.unwrap();
    assert_eq!(end.outcome, Outcome::Success, "{end:?}");
    both_edits(&world);
}

#[test]
fn a_command_that_waits_is_not_asked_for_again_because_an_independent_node_landed() {
    let answer = json!({
        "artifacts": [write("tests/three.toy", "use lib/three\ntest three: three == 3\n")],
        "commands": ["cp seeds/three.toy lib/three.toy"],
    });
    let tasks = [task("one", &["lib/three.toy", "tests/three.toy"], &[]), task("two", FOUR, &[])];
    let table = Table::new().on("architect.existing", "-", 1, Reply::text(plan(&tasks)));
    let table = generates(generates(table, "one", answer.to_string()), "two", four());
    let world = World::new(PROJECT, table);
    world.place.write("seeds/three.toy", "let three = 3\n");
    let state = world.begin();
    waits(&state);
    let end = world.resume_with(&["command:any"]).end.unwrap();
    assert_eq!(end.outcome, Outcome::Success, "{end:?} {:?}", world.tags());
    assert_eq!(world.server.asks(), 3);
}

/// The session is paused while the second node has an effect of this kind begun; the grant comes with the resume, so that
/// the first node lands before the second goes on.
fn paused_in_two(mut world: World, at: fn(EffectKind) -> bool) -> World {
    let stops = world.rig.stops.clone();
    world.rig.watch = Arc::new(move |point: &Point<'_>| {
        if let Point::BeforeAppend(Event::EffectStarted { key, effect, .. }) = point
            && key.node == Some(NodeId::from("two"))
            && at(effect.kind())
        {
            stops.ask(Interrupt::Signal);
        }
    });
    let state = world.begin();
    assert_eq!(state.end.as_ref().unwrap().reason, EndReason::Paused);
    assert_eq!(state_of(&state, "one"), NodeState::Waiting);
    world.rig.watch = Arc::new(|_: &Point<'_>| {});
    world
}

fn goes_on_after(main: &str, at: fn(EffectKind) -> bool) {
    let world = paused_in_two(sharing(main, Again::Two), at);
    let end = world.resume_with(&["tests"]).end.unwrap();
    assert_eq!(end.outcome, Outcome::Success, "{end:?}");
    both_edits(&world);
}

#[test]
fn a_pause_while_another_node_is_asked_for_and_then_the_grant_lose_nothing() {
    goes_on_after(PROJECT[1].1, |stage| stage == EffectKind::Ask);
}

#[test]
fn a_pause_while_another_nodes_answer_is_read_and_then_the_grant_lose_nothing() {
    goes_on_after(PROJECT[1].1, |stage| stage == EffectKind::Parse);
}

/// The second answer is a whole file that was written over the tree before the first node landed.
#[test]
fn a_whole_file_that_was_answered_before_a_sibling_landed_does_not_undo_the_siblings_edit() {
    let whole = write("main.toy", "use lib/two\nuse lib/four\nlet answer = two * 21\n");
    let world = sharing_by(whole, PROJECT[1].1, Again::One);
    let world = paused_in_two(world, |stage| stage == EffectKind::Parse);
    let _ = world.resume_with(&["tests"]);
    assert!(world.place.read("main.toy").unwrap().contains("two * 14"), "the first node's line is gone");
}

#[test]
fn a_pause_while_another_node_is_measured_and_then_the_grant_lose_nothing() {
    goes_on_after(PROJECT[1].1, |stage| stage == EffectKind::Measure(StageKind::Test));
}

#[test]
fn a_pause_while_another_node_is_measured_and_then_the_grant_lose_nothing_of_a_file_that_was_not_shown() {
    goes_on_after(&long_main(), |stage| stage == EffectKind::Measure(StageKind::Test));
}
