//! The model's side goes wrong in every way it can.

use perspt_testkit::server::{Ask, Ending, Fault, Point, Reply, Usage};

use crate::support::{Language, World, intent, plan, planned, solution};

const L: Language = Language::Prose;

/// The first answer of the node goes wrong so; everything else is fine.
fn once(reply: fn() -> Reply) -> World {
    World::of(L).serve(planned(L, move |ask: &Ask| if ask.nth_of_tag == 1 { reply() } else { solution(L) }))
}

fn recovers(reply: fn() -> Reply, class: &str) {
    let world = once(reply);
    world.agent("add a mul function").expect(0).says(&format!("MODEL error={class}")).says("COMMIT node=mul");
    assert_eq!(world.server().asks(), 3);
    let bodies: Vec<String> = world.server().requests().into_iter().map(|request| request.body).collect();
    assert_eq!(bodies[1], bodies[2], "a repeat after a provider error has the same bytes");
}

#[test]
fn a_rate_limit_is_waited_out_and_retried() {
    recovers(|| Reply::retry_after(429, "0"), "RateLimited");
}

#[test]
fn a_server_error_is_retried() {
    recovers(|| Reply::status(503, "busy"), "Server");
}

#[test]
fn a_reset_connection_is_retried() {
    recovers(|| solution(L).chunk_chars(20).fault(Fault::Reset(Point::BeforeHead)), "");
}

#[test]
fn a_stream_that_is_cut_is_no_answer_whatever_it_carried() {
    recovers(|| solution(L).fault(Fault::Cut(Point::AfterChunks(usize::MAX), Ending::Terminated)), "CutOff");
}

#[test]
fn a_stream_that_is_torn_is_no_answer() {
    recovers(|| solution(L).chunk_chars(40).fault(Fault::Cut(Point::AfterChunks(3), Ending::Torn)), "");
}

#[test]
fn a_malformed_event_is_an_error_and_not_a_gap() {
    recovers(|| solution(L).chunk_chars(40).fault(Fault::Garbage(Point::AfterChunks(2))), "MalformedEvent");
}

#[test]
fn a_stalled_stream_is_a_transient_error_and_not_a_hang() {
    let mut world = once(|| solution(L).chunk_chars(40).fault(Fault::Stall(Point::AfterChunks(2))));
    world.set("PERSPT_IDLE_MS", "300");
    world.agent("add a mul function").expect(0).says("MODEL error=IdleTimeout");
}

#[test]
fn pings_do_not_keep_a_stalled_stream_alive() {
    let mut world = once(|| solution(L).chunk_chars(40).fault(Fault::Pings(Point::AfterChunks(1))));
    world.set("PERSPT_IDLE_MS", "300");
    world.agent("add a mul function").expect(0).says("MODEL error=IdleTimeout");
}

#[test]
fn a_provider_that_never_answers_times_out() {
    let mut world = once(|| solution(L).fault(Fault::Stall(Point::BeforeHead)));
    world.set("PERSPT_FIRST_BYTE_MS", "300");
    world.agent("add a mul function").expect(0).says("MODEL error=FirstByteTimeout");
}

#[test]
fn stopping_at_the_output_limit_is_not_an_answer() {
    let world = once(|| solution(L).stop_reason("length"));
    world.agent("add a mul function").expect(0).says("MODEL error=OutputLimit").says("NODE id=mul retry=1");
}

#[test]
fn an_endpoint_keeps_its_query_and_its_password_and_the_log_has_neither() {
    let mut world = World::of(L).serve(planned(L, |_| solution(L)));
    let whole = format!(
        "{}?api-version=2024-06-01",
        world.server().base_url().replace("http://", "http://me:hidden-word@")
    );
    world.set("OPENAI_BASE_URL", &whole);
    world.unset("OPENAI_API_KEY");
    world.agent("add a mul function").expect(0).says("COMMIT node=mul");
    for request in world.server().requests() {
        assert!(request.target.ends_with("/chat/completions?api-version=2024-06-01"), "{}", request.target);
        assert!(request.header("authorization").is_some_and(|value| value.starts_with("Basic ")));
    }
    let log = serde_json::to_string(&world.events()).unwrap();
    assert!(!log.contains("hidden-word") && !log.contains("api-version"), "{log}");
    world.perspt(&["doctor"]).expect(0).says("not contacted").never_says("hidden-word");
}

#[test]
fn the_doctor_says_that_an_endpoint_cannot_be_asked_and_why() {
    let mut world = World::of(L);
    world.set("OPENAI_API_KEY", "k");
    world.set("OPENAI_BASE_URL", "ftp://example.invalid");
    world.perspt(&["doctor"]).expect(0).says("cannot be asked").says("http://");
}

#[test]
fn an_answer_that_is_not_used_costs_what_the_provider_says() {
    let usage = Usage { input: 100, output: 50, cached: 0 };
    let world = World::of(L).serve(planned(L, move |ask: &Ask| match ask.nth_of_tag {
        1 if intent(ask) == "actuator.generate" => solution(L).usage(usage).stop_reason("length"),
        _ => solution(L).usage(usage),
    }));
    world.agent("add a mul function").expect(0).says("MODEL error=OutputLimit");
    let failed = world.outcomes("ask_failed");
    assert_eq!(failed[0]["tokens"], 150, "{failed:?}");
    let shown = world.perspt(&["status"]).expect(0).out;
    let used = shown.split("tokens ").nth(1).and_then(|rest| rest.split('/').next()).unwrap();
    assert!(used.parse::<u64>().unwrap() < 5_000, "{shown}");
}

#[test]
fn a_provider_that_is_down_ends_with_8_and_resume_goes_on_without_buying_the_plan_again() {
    let mut world = World::of(L).serve(planned(L, |_| Reply::status(500, "down")));
    let before = world.files();
    world
        .agent("add a mul function")
        .expect(8)
        .says("status=provider-unusable")
        .says("next=\"perspt resume")
        .warns("do:");
    assert_eq!(world.files(), before);
    assert_eq!(world.server().asks(), 6, "one plan and five requests for the node");
    world = world.serve(|ask: &Ask| {
        if intent(ask) == "actuator.generate" { solution(L) } else { Reply::status(400, "not again") }
    });
    world.perspt(&["resume"]).expect(0).says("COMMIT node=mul");
    assert_eq!(world.server().asks(), 1);
}

#[test]
fn the_last_failing_request_says_that_it_is_given_up() {
    let world = World::of(L).serve(planned(L, |_| Reply::status(500, "down")));
    let nexts = |ran: crate::support::Ran| -> Vec<String> {
        let lines = ran.out.lines().filter(|line| line.starts_with("MODEL error="));
        lines
            .filter_map(|line| line.split(' ').find_map(|word| word.strip_prefix("next=")))
            .map(str::to_owned)
            .collect()
    };
    let all = nexts(world.agent("add a mul function").expect(8));
    let (last, before) = all.split_last().unwrap();
    assert_eq!(last, "give-up", "{all:?}");
    assert!(!before.is_empty() && before.iter().all(|next| next == "again"), "{all:?}");
    assert_eq!(all.len(), world.server().asks() - 1, "the plan was answered");
    // So does one after which the budget is too small for another.
    let world = World::of(L).serve(|_: &Ask| Reply::retry_after(429, "300"));
    let ran = world.perspt(&["agent", "-y", "--max-time", "1", "add a mul function"]).expect(5);
    assert_eq!(nexts(ran), ["give-up"]);
}

#[test]
fn nobody_listening_ends_with_8() {
    let mut world = World::of(L);
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    world.set("OPENAI_BASE_URL", &format!("http://{free}/v1"));
    world.agent("add a mul function").expect(8).says("MODEL error=Connect");
}

#[test]
fn a_refused_key_is_not_tried_again() {
    let mut world = World::of(L).serve(|_: &Ask| Reply::status(401, "bad key"));
    world.set("OPENAI_API_KEY", "sk-wrong");
    world.agent("add a mul function").expect(8).says("MODEL error=Unauthorised next=give-up");
    assert_eq!(world.server().asks(), 1);
}

/// Nothing is created, measured or asked.
fn refused(world: &World, words: &[&str], what: &str) {
    let all: Vec<&str> = ["agent", "-y"].iter().chain(words).copied().chain(["add a mul function"]).collect();
    let ran = world.perspt(&all).expect(2).warns(what).warns("do:");
    assert_eq!(ran.out, "");
    assert!(world.sessions().is_empty());
}

#[test]
fn without_key_and_endpoint_it_ends_with_2_and_nothing_is_asked() {
    refused(&World::of(L), &[], "OPENAI_API_KEY");
}

#[test]
fn a_model_or_an_endpoint_that_cannot_be_used_is_refused_before_a_session_is_made() {
    let mut world = World::of(L);
    world.set("OPENAI_API_KEY", "sk-x");
    refused(&world, &["--base-url", "ftp://x"], "http://");
    refused(&world, &["--base-url", ""], "endpoint");
    refused(&world, &["--base-url", &format!("http://x/{}", "y".repeat(2000))], "base_url");
    refused(&world, &["--model", &"m".repeat(201)], "200 bytes");
    refused(&world, &["--model", "gpt\u{1b}[2J"], "control");
    refused(&world, &["--model", ""], "model");
    refused(&world, &["--model", "replay:/nonexistent"], "recording");
    world.set("PERSPT_MODEL", &"m".repeat(201));
    refused(&world, &[], "$PERSPT_MODEL");
}

#[test]
fn the_key_is_sent_to_the_provider_and_seen_nowhere_else() {
    let key = "sk-secret-0123456789";
    let spy = "import os\nimport pathlib\n\nSEEN = [n for n, v in os.environ.items() if 'sk-secret' in v]\n\n\ndef add(a, b):\n    return a + b\n\n\ndef mul(a, b):\n    assert SEEN == [], SEEN\n    return a * b\n";
    let mut world = World::python().serve(planned(Language::Python, move |_| {
        crate::support::bundle(&[
            crate::support::write("calc/__init__.py", spy),
            crate::support::write(
                "tests/test_mul.py",
                "from calc import mul\n\n\ndef test_mul():\n    assert mul(4, 3) == 12\n",
            ),
        ])
    }));
    world.set("OPENAI_API_KEY", key);
    world.agent("add a mul function").expect(0).never_says("sk-secret");
    assert!(
        world
            .server()
            .requests()
            .iter()
            .all(|request| request.header("authorization") == Some("Bearer sk-secret-0123456789"))
    );
    for path in walk(&world.home()) {
        let bytes = std::fs::read(&path).unwrap();
        assert!(
            !bytes.windows(key.len()).any(|window| window == key.as_bytes()),
            "the key is in {}",
            path.display()
        );
    }
    world.perspt(&["config", "--show"]).expect(0).never_says("sk-secret");
    world.perspt(&["doctor"]).expect(0).never_says("sk-secret");
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let meta = std::fs::symlink_metadata(&path).unwrap();
        if meta.is_dir() {
            files.extend(walk(&path));
        } else if meta.is_file() {
            files.push(path);
        }
    }
    files
}

#[test]
fn a_budget_that_does_not_cover_the_next_call_ends_with_5_and_resume_goes_on() {
    let world = World::of(L).serve(planned(L, |_| solution(L)));
    world
        .perspt(&["agent", "-y", "--max-steps", "1", "add a mul function"])
        .expect(5)
        .says("status=budget-exhausted")
        .warns("--max-steps");
    assert_eq!(world.server().asks(), 1);
    world.perspt(&["resume", "--max-steps", "9"]).expect(0).says("COMMIT node=mul");
    assert_eq!(world.server().asks(), 2);
}

#[test]
fn the_prompts_head_is_the_same_for_every_call_of_an_intent_and_the_tag_begins_what_changes() {
    let world = World::of(L).serve(|ask: &Ask| match (intent(ask).as_str(), ask.ordinal) {
        ("architect.existing", 1) => Reply::text("hm"),
        ("architect.existing", _) => plan(L),
        _ => solution(L),
    });
    world.agent("add a mul function").expect(0);
    let bodies: Vec<serde_json::Value> =
        world.server().requests().iter().map(|request| request.json()).collect();
    let message = |n: usize, m: usize| bodies[n]["messages"][m]["content"].as_str().unwrap().to_owned();
    assert_eq!(message(0, 0), message(1, 0));
    assert!(message(0, 1).starts_with("[perspt intent=architect.existing node=- attempt=1]\n"));
    assert!(message(1, 1).starts_with("[perspt intent=architect.existing node=- attempt=2]\n"));
    let tagged = message(2, 1);
    let (shared, _) = tagged.split_once("[perspt intent=actuator.generate node=mul attempt=1]\n").unwrap();
    assert!(
        shared.starts_with("The task as the user put it:"),
        "what calls have in common stands first: {shared}"
    );
}
