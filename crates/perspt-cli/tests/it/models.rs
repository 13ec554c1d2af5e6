//! Which model is asked, in which protocol, for how much, and what is kept of it.

use perspt_testkit::server::{Ask, Reply};
use serde_json::Value;

use crate::support::{Language, World, bundle, intent, plan, planned, solution, write};

const L: Language = Language::Python;
const KEY: &str = "sk-marked-7f3a91c04d5e6b";

/// A model whose plan brings its changes.
fn at_once(ask: &Ask) -> Reply {
    assert_eq!(intent(ask), "architect.existing");
    let body = L.lib_with("a * b");
    let text = format!(
        "{{\"tasks\": [{{\"id\": \"mul\", \"goal\": \"add mul\", \"output_files\": [\"{lib}\"]}}]}}\n\n### write {lib}\n```python\n{body}```\n\n### write {test}\n```python\n{tests}```\n",
        lib = L.lib(),
        test = L.new_test(),
        tests = L.test_text(),
    );
    Reply::text(text)
}

/// The world with this provider's variables set to the scripted server.
fn of(variables: &[(&str, String)]) -> World {
    let mut world = World::of(L).serve(at_once);
    for name in ["OPENAI_API_KEY", "OPENAI_BASE_URL"] {
        world.unset(name);
    }
    for (name, value) in variables {
        world.set(name, value);
    }
    world
}

#[test]
fn every_protocol_lands_a_small_change_with_one_call() {
    let table: [(&str, &str, &str, &str, &str); 5] = [
        ("openai::gpt-4o", "OPENAI_API_KEY", "OPENAI_BASE_URL", "/v1", "/v1/chat/completions"),
        ("openai::gpt-5-codex", "OPENAI_API_KEY", "OPENAI_BASE_URL", "/v1", "/v1/responses"),
        ("anthropic::sonnet", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "", "/v1/messages"),
        (
            "gemini::gemini-3.8-flash",
            "GEMINI_API_KEY",
            "GEMINI_BASE_URL",
            "",
            ":streamGenerateContent?alt=sse",
        ),
        ("ollama::some-model", "NOTHING", "OLLAMA_HOST", "", "/api/chat"),
    ];
    for (model, key, url, tail, target) in table {
        let mut world = of(&[(key, KEY.to_owned())]);
        let base = world.server().base_url();
        let root = base.strip_suffix("/v1").unwrap();
        world.set(url, &format!("{root}{tail}"));
        let words = ["agent", "-y", "--model", model, "--planning-policy", "feature-increment", "add mul"];
        world.perspt(&words).expect(0).says("COMMIT node=mul").says("calls=1").never_says(KEY);
        let asked = world.server().requests();
        let calls: Vec<&str> =
            asked.iter().filter(|one| one.is_ask()).map(|one| one.target.as_str()).collect();
        assert_eq!(calls.len(), 1, "{model}");
        assert!(calls[0].ends_with(target), "{model}: {}", calls[0]);
        assert!(!serde_json::to_string(&world.events()).unwrap().contains(KEY));
    }
}

#[test]
fn a_session_costs_what_the_table_says_and_a_limit_is_kept() {
    let world = World::of(L).serve(planned(L, |_| solution(L)));
    let model = ["--model", "gpt-4o"];
    let words = [&["agent", "-y"][..], &model, &["add a mul function"]].concat();
    let ran = world.perspt(&words).expect(0).says("price=$2.5000/$1.2500/$10.0000");
    assert!(!ran.out.contains("cost=unknown") && ran.out.contains(" cost=$0."), "{}", ran.out);
    world.perspt(&["status"]).expect(0).says("architect: 1 calls").says("actuator: 1 calls");
    let limit = [&["agent", "-y", "--max-cost", "0.0001"][..], &model, &["add a div function"]].concat();
    world.perspt(&limit).expect(5).warns("--max-cost");
    assert_eq!(world.server().asks(), 2, "the call that could break the limit is not made");
}

#[test]
fn a_limit_on_money_is_refused_where_a_price_is_unknown_unless_the_users_file_knows_it() {
    let world = World::of(L).serve(planned(L, |_| solution(L)));
    let words = ["agent", "-y", "--model", "house-model", "--max-cost", "5", "add a mul function"];
    world.perspt(&words).expect(2).warns("the price of `openai::house-model` is not known");
    let file = "[[model]]\nname = \"house-model\"\nprovider = \"openai\"\nwindow = 100000\nprice = { input = 1.0, output = 2.0 }\n";
    std::fs::write(world.home().join("models.toml"), file).unwrap();
    world.perspt(&words).expect(0).says("window=100000");
    std::fs::write(world.home().join("models.toml"), "[[model]]\nname = 3\n").unwrap();
    world.perspt(&words).expect(2).warns("models.toml");
}

#[test]
fn an_alias_means_its_provider_and_never_another() {
    let mut world = World::of(L);
    world.set("OPENAI_API_KEY", KEY);
    world.perspt(&["agent", "-y", "--model", "sonnet", "x"]).expect(2).warns("ANTHROPIC_API_KEY");
    world
        .perspt(&["agent", "-y", "--model", "nobody::x", "x"])
        .expect(2)
        .warns("`nobody::x` begins with none of");
}

#[test]
fn tiers_ask_their_own_models_and_the_fallback_takes_over() {
    let world = World::of(L).serve(move |ask: &Ask| {
        let model = ask.request.json()["model"].as_str().unwrap_or("").to_owned();
        match (intent(ask).as_str(), model.as_str()) {
            ("architect.existing", "gpt-4o") => plan(L),
            ("actuator.generate", "gone") => Reply::status(404, "no such model"),
            ("actuator.generate", "gpt-4.1") => solution(L),
            other => panic!("{other:?}"),
        }
    });
    let words = [
        "agent",
        "-y",
        "--model",
        "gpt-4o",
        "--actuator-model",
        "openai::gone",
        "--actuator-fallback-model",
        "gpt-4.1",
        "add mul",
    ];
    world
        .perspt(&words)
        .expect(0)
        .says("FALLBACK tier=actuator from=openai::gone to=openai::gpt-4.1")
        .says("COMMIT");
}

#[test]
fn what_is_recorded_is_played_back_without_a_network_and_holds_no_key() {
    let mut world = World::of(L).serve(planned(L, |_| solution(L)));
    world.set("OPENAI_API_KEY", KEY);
    let folder = world.base().join("calls");
    let folder = folder.to_str().unwrap();
    world.perspt(&["agent", "-y", "--record", folder, "--log-llm", "add a mul function"]).expect(0);
    for entry in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        assert!(!text.contains(KEY));
    }
    let kept = world.home().join("sessions").join(&world.sessions()[0]).join("llm");
    assert_eq!(std::fs::read_dir(kept).unwrap().count(), 4, "a prompt and an answer of each call");
    let mut other = World::of(L);
    other.unset("OPENAI_API_KEY");
    let replay = format!("replay:{folder}");
    other
        .perspt(&["agent", "-y", "--model", &replay, "add a mul function"])
        .expect(0)
        .says("COMMIT node=mul");
}

#[test]
fn a_small_window_gets_a_small_prompt_and_no_architect() {
    let world = World::of(L).serve(|ask: &Ask| {
        assert_eq!(intent(ask), "solo.generate");
        assert!(ask.request.body.len() < 3 * 4000, "{} bytes", ask.request.body.len());
        bundle(&[write(L.lib(), &L.lib_with("a * b")), write(L.new_test(), L.test_text())])
    });
    std::fs::write(world.home().join("config.toml"), "context_window = 4000\n").unwrap();
    world.agent("add a mul function").expect(0).says("source=local").says("calls=1");
    let sent: Value = world.server().requests()[0].json();
    let most = sent["max_tokens"].as_u64().or(sent["max_completion_tokens"].as_u64()).unwrap();
    assert!(most < 4000, "prompt and answer share the window: {most}");
}

#[test]
fn the_doctor_asks_one_question_and_says_what_came_back() {
    let world = World::of(L).serve(|_: &Ask| Reply::text("### write hello.txt\n```\nhello\n```\n"));
    let words = ["doctor", "--online", "--model", "gpt-4o"];
    world.perspt(&words).expect(0).says("answered in").says("can be read (blocks)");
    let world = World::of(L).serve(|_: &Ask| Reply::text("Sure, I would write hello."));
    world.perspt(&words).expect(0).says("cannot be read");
    let world = World::of(L).serve(|_: &Ask| Reply::status(401, "bad key"));
    world.perspt(&words).expect(8).says("refused the API key");
}

#[test]
fn a_session_that_goes_on_stays_at_its_endpoint() {
    let world = World::of(L).serve(planned(L, |_| solution(L)));
    let base = world.server().base_url();
    let mut begun = world;
    begun.unset("OPENAI_BASE_URL");
    begun.set("OPENAI_API_KEY", KEY);
    let words =
        ["agent", "-y", "--base-url", &base, "--model", "gpt-4o", "--max-steps", "1", "add a mul function"];
    begun.perspt(&words).expect(5);
    begun.perspt(&["resume", "--max-steps", "9"]).expect(0).says("COMMIT node=mul");
    assert_eq!(begun.server().asks(), 2, "both calls went to the same place");
}
