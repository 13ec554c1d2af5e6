//! Questions that are answered from another terminal.

use serde_json::json;

use crate::consents::{PROJECT, greets, says_hi, world as asking};
use crate::control::{typing, wait_until};
use crate::support::{Language, World, planned, solution};

const L: Language = Language::Prose;
const WAITS: [&str; 3] = ["agent", "--wait-for-approval", "add a mul function"];

fn one_node() -> World {
    World::of(L).serve(planned(L, move |_| solution(L)))
}

/// Waits until the session asks its `count`-th question.
fn asks(world: &World, count: usize) {
    wait_until(world, |events| {
        let started = events.iter().filter(|event| event["kind"] == "effect_started");
        started.filter(|event| event["effect"]["do"] == "question").count() >= count
    });
}

#[test]
fn without_a_terminal_a_session_waits_for_the_answer_from_another_one() {
    let world = one_node();
    world.perspt(&["agent", "add a mul function"]).expect(7).warns("--wait-for-approval");
    let running = world.spawn(&WAITS);
    asks(&world, 1);
    world.perspt(&["status"]).expect(0).says("asks       whether to work on the plan").says("perspt approve");
    let ran = world.perspt(&["approve"]).expect(0).says("approved");
    ran.warns("PLAN node[1]=mul").warns("Policy of this session");
    running.wait().expect(0).says("ANSWER answer=yes from=\"process ").says("COMMIT node=mul");
    world.perspt(&["approve"]).expect(2).warns("the session asks nothing");
    world.perspt(&["ledger", "--verify"]).expect(0);
}

#[test]
fn a_plan_that_is_denied_from_elsewhere_is_refused() {
    let world = one_node();
    let before = world.files();
    let running = world.spawn(&WAITS);
    asks(&world, 1);
    world.perspt(&["deny", "--instead", "two nodes"]).expect(2).warns("a plan is approved or denied");
    world.perspt(&["deny"]).expect(0).says("denied");
    running.wait().expect(7).says("ANSWER answer=no");
    assert_eq!(world.files(), before);
    // The next answer is for the next question.
    let running = world.spawn(&["resume", "--wait-for-approval"]);
    while world.events_so_far().iter().all(|event| event["kind"] != "session_resumed") {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    asks(&world, 2);
    world.perspt(&["approve"]).expect(0);
    running.wait().expect(0).says("COMMIT node=mul");
}

#[test]
fn consents_are_given_or_sent_back_from_elsewhere_with_both_texts() {
    let world = greets();
    let running = world.spawn(&["agent", "--wait-for-approval", "greet says Hi"]);
    asks(&world, 1);
    world.perspt(&["approve"]).expect(0);
    running.wait().expect(0).says("consents=tests:1");

    let files = json!({"output_files": ["app.py", "tests/test_app.py"]});
    let world = asking(&PROJECT, files, says_hi());
    let running = world.spawn(&["agent", "--wait-for-approval", "greet says Hi"]);
    asks(&world, 1);
    world.perspt(&["approve"]).expect(0);
    asks(&world, 2);
    world.perspt(&["deny", "--instead", "keep the test"]).expect(0).says("sent back").warns("\"Hello a\"");
    asks(&world, 3);
    world.perspt(&["approve"]).expect(0).warns("\"Hi a\"");
    running.wait().expect(0).says("ANSWER answer=\"keep the test\"").says("COMMIT");
}

#[test]
fn the_first_answer_counts_and_the_terminal_answers_the_next_question() {
    let files = json!({"output_files": ["app.py", "tests/test_app.py"]});
    let world = asking(&PROJECT, files, says_hi());
    let typed = std::thread::scope(|threads| {
        let terminal = threads.spawn(|| typing(&world, &["agent", "greet says Hi"], "", "||y\n"));
        asks(&world, 1);
        world.perspt(&["approve"]).expect(0);
        terminal.join().unwrap()
    });
    assert_eq!(typed.code, 0, "{}", typed.out);
    assert!(typed.out.contains("ANSWER answer=yes from=") && typed.out.contains("COMMIT"), "{}", typed.out);
}

#[test]
fn a_line_that_was_typed_while_nothing_was_asked_answers_nothing() {
    let files = json!({"output_files": ["app.py", "tests/test_app.py"]});
    let world = asking(&PROJECT, files, says_hi());
    let before = world.files();
    let typed = std::thread::scope(|threads| {
        // The late `y` comes after the plan was approved from elsewhere and before the next question.
        let terminal = threads.spawn(|| typing(&world, &["agent", "greet says Hi"], "", "||n\n@@y\n"));
        asks(&world, 1);
        world.perspt(&["approve"]).expect(0);
        terminal.join().unwrap()
    });
    assert_eq!(typed.code, 7, "{}", typed.out);
    assert_eq!(world.files(), before, "{}", typed.out);
}

#[test]
fn a_correction_says_something_and_fits_and_a_session_that_was_killed_asks_nothing() {
    let world = one_node();
    for text in ["  ", &"x".repeat(1001)] {
        world.perspt(&["deny", "--instead", text]).expect(2).warns("it needs 1 to 1000");
    }
    let running = world.spawn(&WAITS);
    asks(&world, 1);
    running.signal(rustix::process::Signal::KILL);
    running.wait();
    world.perspt(&["status"]).expect(0).says("interrupted").never_says("perspt approve");
    world.perspt(&["approve"]).expect(2).warns("perspt resume");
}
