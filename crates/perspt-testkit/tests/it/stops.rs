//! Sessions that stop before they are done, and go on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use perspt_agent::AgentError;
use perspt_agent::ports::Interrupt;
use perspt_core::budget::BudgetLimits;
use perspt_core::effect::{Effect, Intent};
use perspt_core::event::{Ended, Event, SessionResumed, Trouble};
use perspt_core::inbox::Message;
use perspt_core::outcome::{EndReason, Outcome};
use perspt_core::state::Wanted;
use perspt_testkit::home::processes_with;
use perspt_testkit::server::{Gate, Point as At, Reply, Table};
use perspt_testkit::session::{Answers, Point};
use perspt_testkit::toy::Flaw;

use crate::support::{PROJECT, THREE, World, answers, bundle, one_node, plan, task, three, write};

fn wrong_then_right() -> Table {
    let right = bundle(&[write("lib/three.toy", "let three = 3\n")]);
    answers(one_node(THREE), &[("actuator.generate", 1, three("4")), ("correction", 1, right)])
}

/// Does something once, when a request of this intent waits for its answer.
fn while_asking(world: &mut World, wanted: Intent, act: impl Fn() + Send + Sync + 'static) {
    let done = AtomicBool::new(false);
    world.rig.watch = Arc::new(move |point: &Point<'_>| {
        if let Point::DuringAct(running) = point
            && matches!(&running.effect, Effect::Ask { intent, .. } if *intent == wanted)
            && !done.swap(true, Ordering::Relaxed)
        {
            act();
        }
    });
}

#[test]
fn a_budget_that_is_used_up_stops_before_the_call_and_a_larger_one_goes_on() {
    let mut world = World::new(PROJECT, wrong_then_right());
    world.rig.started.settings.limits.steps = 2;
    let state = world.begin();
    assert_eq!(state.end.as_ref().unwrap().outcome, Outcome::BudgetExhausted);
    assert_eq!((world.server.asks(), state.account.used.steps), (2, 2));
    let limits = BudgetLimits { steps: 3, ..world.rig.started.settings.limits };
    let state = world.rig.resume(SessionResumed { limits: Some(limits), ..Default::default() }).unwrap();
    assert_eq!(state.end.unwrap().outcome, Outcome::Success);
    assert_eq!(world.tags()[2..], ["correction one 1"]);
}

#[test]
fn tokens_are_reserved_by_their_upper_estimate_before_a_call() {
    let mut world = World::new(PROJECT, wrong_then_right());
    world.rig.started.settings.limits.tokens = 30_000;
    let state = world.begin();
    let end = state.end.unwrap();
    assert_eq!(end.outcome, Outcome::BudgetExhausted);
    assert!(end.trouble.unwrap().why.contains("--max-tokens"));
    assert_eq!(world.server.asks(), 0, "an answer may have 32000 tokens");
}

#[test]
fn a_provider_that_is_down_ends_the_session_and_a_resume_buys_nothing_twice() {
    let right = bundle(&[write("lib/three.toy", "let three = 3\n")]);
    let table = answers(one_node(THREE), &[("actuator.generate", 1, three("4"))])
        .on("correction", "one", 1, Reply::status(503, "overloaded"))
        .on("correction", "one", 1, Reply::status(503, "overloaded"))
        .on("correction", "one", 1, Reply::text(right));
    let mut world = World::new(PROJECT, table);
    world.rig.started.settings.ask_tries = 2;
    let state = world.begin();
    let end = state.end.unwrap();
    assert_eq!((end.outcome, end.outcome.exit_code()), (Outcome::ProviderUnusable, 8));
    assert_eq!(world.server.asks(), 4);
    assert_eq!(world.resume().end.unwrap().outcome, Outcome::Success);
    assert_eq!(world.tags()[4..], ["correction one 1"]);
}

#[test]
fn a_provider_that_mends_itself_is_asked_again_with_the_same_bytes() {
    let table = one_node(THREE).on("actuator.generate", "one", 1, Reply::status(500, "oops")).on(
        "actuator.generate",
        "one",
        1,
        Reply::text(three("3")),
    );
    let world = World::new(PROJECT, table);
    assert_eq!(world.begin().end.unwrap().outcome, Outcome::Success);
    let requests = world.server.requests();
    assert_eq!(requests.len(), 3);
    assert_eq!(requests[1].body, requests[2].body);
}

#[test]
fn an_answer_that_is_cut_off_counts_as_one_and_is_asked_for_again() {
    let table = one_node(THREE)
        .on("actuator.generate", "one", 1, Reply::text(three("3")).stop_reason("length"))
        .on("malformed", "one", 1, Reply::text(three("3")));
    let world = World::new(PROJECT, table);
    assert_eq!(world.begin().end.unwrap().outcome, Outcome::Success);
    assert_eq!(world.server.asks(), 3);
}

#[test]
fn a_key_that_is_refused_is_not_tried_again() {
    let table = Table::new().on("architect.existing", "-", 1, Reply::status(401, "no"));
    let world = World::new(PROJECT, table);
    assert_eq!(world.begin().end.unwrap().outcome, Outcome::ProviderUnusable);
    assert_eq!(world.server.asks(), 1);
}

#[test]
fn without_a_model_nothing_of_the_request_is_recorded_and_a_resume_goes_on() {
    let mut world = World::new(PROJECT, answers(one_node(THREE), &[("actuator.generate", 1, three("3"))]));
    let nobody =
        Trouble { what: "no key".to_owned(), why: "none is set".to_owned(), todo: "set one".to_owned() };
    let with = std::mem::replace(&mut world.rig.answers, Answers::None(nobody.clone()));
    match world.rig.begin() {
        Err(AgentError::NotReady(trouble)) => assert_eq!(trouble, nobody),
        other => panic!("{other:?}"),
    }
    let asked = |event: &Event| matches!(event, Event::EffectStarted { effect: Effect::Ask { .. }, .. });
    assert!(!world.rig.events().iter().any(|(_, event)| asked(event)));
    world.rig.answers = with;
    assert_eq!(world.resume().end.unwrap().outcome, Outcome::Success);
}

#[test]
fn an_abort_during_a_model_call_cuts_it_off_and_ends_the_session_for_good() {
    let gate = Gate::new();
    let held = Reply::text(three("3")).gate(At::BeforeHead, &gate);
    let mut world = World::new(PROJECT, one_node(THREE).on("actuator.generate", "one", 1, held));
    let before = world.place.picture();
    let (stops, arrivals) = (world.rig.stops.clone(), gate.arrivals());
    while_asking(&mut world, Intent::Generate, move || {
        // The request is to be under way; the server has a thread of its own.
        let (stops, arrivals) = (stops.clone(), arrivals.clone());
        std::thread::spawn(move || {
            arrivals.wait(1);
            stops.ask(abort("00000001.json"));
        });
    });
    let state = world.begin();
    let end = state.end.as_ref().unwrap();
    assert_eq!((end.reason, end.outcome), (EndReason::Aborted, Outcome::Interrupted));
    world.server.hang_ups().wait(1);
    assert_eq!(world.rig.stops.recorded().len(), 1);
    assert_eq!(world.place.picture(), before);
    let cancelled = world.outcomes().into_iter().filter(|(_, outcome)| *outcome == Ended::Cancelled);
    assert_eq!(cancelled.count(), 1);
    assert!(state.account.used.tokens > 32_000, "what the call may have cost is charged");
    let again = world.resume();
    assert_eq!(again.end.unwrap().reason, EndReason::Aborted);
    assert_eq!(world.server.asks(), 2);
}

/// The session is aborted while this effect waits for its process. It ends, and no process is left.
fn aborted_during(mut world: World, wanted: impl Fn(&Wanted) -> bool + Send + Sync + 'static) {
    let (stops, mark) = (world.rig.stops.clone(), world.place.mark());
    let mark_in_env = format!("{}={mark}", perspt_testkit::session::MARK);
    world.rig.watch = Arc::new(move |point: &Point<'_>| {
        if let Point::DuringAct(running) = point
            && wanted(running)
        {
            stops.ask(abort("1"));
        }
    });
    assert_eq!(world.begin().end.unwrap().reason, EndReason::Aborted);
    assert_eq!(processes_with(&mark_in_env), 0);
}

#[test]
fn an_abort_during_a_stage_leaves_no_process() {
    let hangs = bundle(&[write("tests/three.toy", "test three: hang\n")]);
    let world = World::new(PROJECT, answers(one_node(THREE), &[("actuator.generate", 1, hangs)]));
    aborted_during(world, |running| {
        running.key.node.is_some() && matches!(running.effect, Effect::Measure { .. })
    });
}

#[test]
fn an_abort_while_tools_are_probed_leaves_no_process() {
    let world = World::with_flaw(PROJECT, Table::new(), Flaw::Hangs);
    aborted_during(world, |running| matches!(running.effect, Effect::Probe));
}

#[test]
fn a_pause_lets_the_running_call_end_and_a_resume_goes_on_from_its_answer() {
    let mut world = World::new(PROJECT, wrong_then_right());
    let stops = world.rig.stops.clone();
    while_asking(&mut world, Intent::Generate, move || stops.ask(Interrupt::Signal));
    let state = world.begin();
    assert_eq!(state.end.unwrap().reason, EndReason::Paused);
    assert_eq!(world.server.asks(), 2);
    assert_eq!(world.resume().end.unwrap().outcome, Outcome::Success);
    assert_eq!(world.tags()[2..], ["correction one 1"]);
}

#[test]
fn a_second_signal_aborts() {
    let gate = Gate::new();
    let held = Reply::text(three("3")).gate(At::AfterChunks(1), &gate);
    let mut world = World::new(PROJECT, one_node(THREE).on("actuator.generate", "one", 1, held));
    let stops = world.rig.stops.clone();
    while_asking(&mut world, Intent::Generate, move || {
        stops.ask(Interrupt::Signal);
        stops.ask(Interrupt::Signal);
    });
    let end = world.begin().end.unwrap();
    assert_eq!((end.reason, end.outcome.exit_code()), (EndReason::Aborted, 130));
}

#[test]
fn a_publication_that_has_begun_is_finished_though_the_session_is_aborted() {
    let mut world = World::new(PROJECT, answers(one_node(THREE), &[("actuator.generate", 1, three("3"))]));
    let stops = world.rig.stops.clone();
    world.rig.watch = Arc::new(move |point: &Point<'_>| {
        if point.before_publish("one") {
            stops.ask(abort("1"));
        }
    });
    let state = world.begin();
    assert_eq!(world.place.read("lib/three.toy").unwrap(), "let three = 3\n");
    let published =
        world.outcomes().into_iter().any(|(_, outcome)| matches!(outcome, Ended::Published { .. }));
    assert!(published);
    assert!(state.in_flight.is_empty());
}

#[test]
fn a_blob_that_is_missing_at_resume_is_named() {
    let mut world = World::new(PROJECT, wrong_then_right());
    let stops = world.rig.stops.clone();
    while_asking(&mut world, Intent::Generate, move || stops.ask(Interrupt::Signal));
    assert_eq!(world.begin().end.unwrap().reason, EndReason::Paused);
    let blobs = world.rig.home.session_dir(world.rig.id()).join("blobs");
    for entry in std::fs::read_dir(&blobs).unwrap() {
        std::fs::remove_file(entry.unwrap().path()).unwrap();
    }
    let before = world.place.picture();
    let end = world.resume().end.unwrap();
    assert_eq!(end.outcome, Outcome::InternalError);
    let trouble = end.trouble.unwrap();
    assert!(trouble.why.contains(&blobs.to_string_lossy().into_owned()), "{trouble:?}");
    assert_eq!((world.place.picture(), world.server.asks()), (before, 2));
}

/// The clock goes on by a millisecond at each look, so each of these budgets runs out at another moment: also between the
/// look that finds nothing due and the one that finds nothing to do.
#[test]
fn a_time_budget_may_run_out_at_any_moment_and_the_session_ends() {
    for limit in 1..=60 {
        let table = Table::new()
            .on("architect.greenfield", "-", 1, Reply::text(plan(&[task("one", &["notes.md"], &[])])))
            .on("actuator.generate", "one", 1, Reply::text(bundle(&[write("notes.md", "# notes\n")])));
        let mut world = World::new(&[("readme.md", "# a folder of notes\n")], table);
        world.rig.started.settings.limits.time_ms = limit;
        let end = world.begin().end.unwrap();
        assert!(matches!(end.reason, EndReason::Budget | EndReason::NodesClosed), "{limit}: {end:?}");
    }
}

/// An abort from another process, under this name in the inbox.
fn abort(name: &str) -> Interrupt {
    Interrupt::Message { message: Message::Abort { by: "the test".to_owned() }, name: name.to_owned() }
}
