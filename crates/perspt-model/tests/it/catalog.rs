//! What is known of providers and models, and how names are read.

use perspt_core::route::{AnswerForm, Price, Tier};
use perspt_model::{Cancel, Catalog, LimitName, Model, Protocol, is_loopback};
use perspt_testkit::server::{Reply, ScriptedServer};

use crate::support::{ample, endpoint, prompt, serve};

fn resolved(catalog: &Catalog, name: &str) -> (Option<String>, String) {
    let found = catalog.resolve(name);
    (found.provider.map(|provider| provider.name.clone()), found.model)
}

fn both(provider: &str, model: &str) -> (Option<String>, String) {
    (Some(provider.to_owned()), model.to_owned())
}

fn none(model: &str) -> (Option<String>, String) {
    (None, model.to_owned())
}

#[test]
fn the_providers_stand_in_their_documented_order_and_each_has_an_address() {
    let catalog = Catalog::built_in();
    let names: Vec<&str> = catalog.providers().iter().map(|provider| provider.name.as_str()).collect();
    let expected = [
        "openai",
        "anthropic",
        "gemini",
        "groq",
        "xai",
        "deepseek",
        "mistral",
        "cohere",
        "openrouter",
        "ollama",
        "llama.cpp",
        "lmstudio",
    ];
    assert_eq!(names, expected);
    for provider in catalog.providers() {
        assert_eq!(provider.is_local(), is_loopback(&provider.base_url), "{}", provider.name);
        for tier in Tier::ALL {
            assert_eq!(provider.default_model(tier).is_none(), provider.is_local(), "{}", provider.name);
        }
    }
}

#[test]
fn every_default_and_every_alias_is_a_model_of_which_the_window_is_known() {
    let catalog = Catalog::built_in();
    for provider in catalog.providers().iter().filter(|provider| provider.name != "openrouter") {
        for model in Tier::ALL.into_iter().filter_map(|tier| provider.default_model(tier)) {
            assert!(catalog.facts(Some(provider), model).window.is_some(), "{}::{model}", provider.name);
        }
    }
    for (alias, meaning) in catalog.aliases() {
        let found = catalog.resolve(alias);
        let provider = found.provider.unwrap_or_else(|| panic!("{alias} names no provider"));
        assert_eq!(format!("{}::{}", provider.name, found.model), meaning);
        assert!(catalog.facts(Some(provider), &found.model).window.is_some(), "{alias}");
    }
}

#[test]
fn names_are_read_with_a_provider_as_an_alias_or_by_the_one_table_they_stand_in() {
    let catalog = Catalog::built_in();
    for (name, expected) in [
        ("anthropic::claude-opus-5-5", both("anthropic", "claude-opus-5-5")),
        ("ollama::mistral", both("ollama", "mistral")),
        ("openrouter::anthropic/claude", both("openrouter", "anthropic/claude")),
        ("sonnet", both("anthropic", "claude-sonnet-5-5")),
        (" Sonnet ", both("anthropic", "claude-sonnet-5-5")),
        ("anthropic::sonnet", both("anthropic", "claude-sonnet-5-5")),
        ("openrouter::sonnet", both("openrouter", "sonnet")),
        ("gpt-4o-2024-11-20", both("openai", "gpt-4o-2024-11-20")),
        ("claude-of-next-year", both("anthropic", "claude-of-next-year")),
        ("mistral-small-latest", both("mistral", "mistral-small-latest")),
        ("openai/gpt-oss-120b", both("groq", "openai/gpt-oss-120b")),
        ("gpt-oss:20b", none("gpt-oss:20b")),
        ("deepseek-r1:14b", none("deepseek-r1:14b")),
        ("my-own-model", none("my-own-model")),
        ("nobody::model", none("nobody::model")),
        ("", none("")),
    ] {
        assert_eq!(resolved(&catalog, name), expected, "{name:?}");
    }
}

#[test]
fn facts_fit_a_model_and_its_dated_forms_and_no_other_version() {
    let catalog = Catalog::built_in();
    let openai = catalog.provider("openai");
    let price = |model: &str| catalog.facts(openai, model).price;
    let known = Some(Price { input: 1_250_000, cached: 125_000, output: 10_000_000 });
    for model in ["gpt-5", "GPT-5", "gpt-5-2025-08-07", "gpt-5-latest"] {
        assert_eq!(price(model), known, "{model}");
    }
    for model in ["gpt-5.9", "gpt-5-9", "gpt-5-giant", "gpt-50", "gpt-5x", "gpt"] {
        assert_eq!(price(model), None, "{model}");
    }
    assert_ne!(price("gpt-5-mini"), price("gpt-5"), "the longer name counts");
    let elsewhere = catalog.facts(catalog.provider("openrouter"), "gpt-5");
    assert_eq!((elsewhere.price, elsewhere.window), (None, None), "prices are the provider's own");
    assert_eq!(catalog.facts(openai, "gpt-5-codex").protocol, Some(Protocol::OpenAiResponses));
    let unpriced = catalog.facts(catalog.provider("deepseek"), "deepseek-v4-pro");
    assert_eq!((unpriced.price, unpriced.window), (None, Some(1_000_000)));
    let uncached = catalog.facts(catalog.provider("mistral"), "devstral-2512").price.unwrap();
    assert_eq!(uncached.cached, uncached.input, "without a price for cached tokens they count as fresh ones");
}

#[test]
fn the_limits_name_belongs_to_the_model_wherever_it_is_served() {
    let catalog = Catalog::built_in();
    let name = |provider: Option<&str>, model: &str| {
        catalog.facts(provider.and_then(|provider| catalog.provider(provider)), model).limit_name
    };
    assert_eq!(name(None, "o3"), LimitName::MaxCompletionTokens);
    assert_eq!(name(Some("openrouter"), "openai/gpt-6.1-sol"), LimitName::MaxCompletionTokens);
    assert_eq!(name(Some("mistral"), "mistral-medium-latest"), LimitName::MaxTokens);
    assert_eq!(name(Some("groq"), "openai/gpt-oss-120b"), LimitName::MaxTokens);
}

#[test]
fn small_models_on_this_machine_are_known_by_the_size_in_their_names() {
    let catalog = Catalog::built_in();
    let small = |provider: &str, model: &str| catalog.facts(catalog.provider(provider), model).small;
    for model in
        ["qwen2.5-coder:1.5b", "llama3.2:3b", "Qwen2.5-Coder-1.5B-Instruct-Q4_K_M.gguf", "x/gemma-4b"]
    {
        assert!(small("ollama", model) && small("llama.cpp", model), "{model}");
    }
    for model in ["qwen2.5-coder:7b", "gpt-oss:20b", "mixtral-8x7b-3b-70b", "devstral", "b", "rgb"] {
        assert!(!small("ollama", model), "{model}");
    }
    assert!(!small("openrouter", "some/model-1b"), "elsewhere a small model is no slow one");
}

#[test]
fn the_first_provider_of_which_the_environment_speaks_is_found() {
    let catalog = Catalog::built_in();
    let detected = |set: &[(&str, &str)]| {
        let variable =
            |name: &str| set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        catalog.detect(variable).map(|provider| provider.name.clone())
    };
    assert_eq!(detected(&[]), None);
    assert_eq!(detected(&[("OPENAI_API_KEY", " ")]), None, "an empty variable is not set");
    assert_eq!(detected(&[("GROQ_API_KEY", "k"), ("ANTHROPIC_API_KEY", "k")]).as_deref(), Some("anthropic"));
    for (variable, provider) in [
        ("OPENAI_API_KEY", "openai"),
        ("OPENAI_BASE_URL", "openai"),
        ("GEMINI_API_KEY", "gemini"),
        ("GOOGLE_API_KEY", "gemini"),
        ("XAI_API_KEY", "xai"),
        ("DEEPSEEK_API_KEY", "deepseek"),
        ("MISTRAL_API_KEY", "mistral"),
        ("CO_API_KEY", "cohere"),
        ("OPENROUTER_API_KEY", "openrouter"),
        ("OLLAMA_HOST", "ollama"),
    ] {
        assert_eq!(detected(&[(variable, "x")]).as_deref(), Some(provider), "{variable}");
    }
}

#[test]
fn a_redirected_host_may_lack_scheme_and_port() {
    let catalog = Catalog::built_in();
    let ollama = catalog.provider("ollama").unwrap();
    for (host, url) in [
        ("", "http://127.0.0.1:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:99", "http://127.0.0.1:99"),
        ("box.local", "http://box.local:11434"),
        ("box.local:80/", "http://box.local:80"),
        (":99", "http://127.0.0.1:99"),
        ("[::1]", "http://[::1]:11434"),
        ("[::1]:99", "http://[::1]:99"),
        ("https://far.away/ollama", "https://far.away/ollama"),
    ] {
        assert_eq!(ollama.base_url_in(|_| Some(host.to_owned())), url, "{host:?}");
    }
    let openai = catalog.provider("openai").unwrap();
    assert_eq!(openai.base_url_in(|_| Some("http://x/v1".to_owned())), "http://x/v1");
    assert_eq!(openai.base_url_in(|_| None), "https://api.openai.com/v1");
    assert!(openai.key(|name| (name == "OPENAI_API_KEY").then(|| "k".to_owned())).is_some());
    assert!(openai.key(|_| None).is_none());
}

#[test]
fn a_users_file_overrides_and_adds_and_the_rest_stays() {
    let text = r#"
        [[provider]]
        name = "openai"
        base_url = "http://gateway/v1"
        defaults = { speculator = "tiny" }

        [[provider]]
        name = "home"
        protocol = "openai-chat"
        base_url = "http://home:9/v1"
        key_variables = ["HOME_KEY"]

        [[model]]
        provider = "openai"
        name = "gpt-5"
        price = { input = 1, cached = 0.5, output = 2 }

        [[model]]
        name = "my-*"
        window = 4096
        form = "json"
        small = true

        [alias]
        mine = "home::my-model"
        sonnet = "home::my-sonnet"
    "#;
    let catalog = Catalog::built_in().with_user_file(text).unwrap();
    let openai = catalog.provider("openai").unwrap();
    assert_eq!((openai.base_url.as_str(), openai.protocol), ("http://gateway/v1", Protocol::OpenAiChat));
    assert_eq!(openai.default_model(Tier::Speculator), Some("tiny"));
    assert_eq!(openai.default_model(Tier::Architect), Some("gpt-6.1-sol"));
    let facts = catalog.facts(Some(openai), "gpt-5");
    assert_eq!(facts.price, Some(Price { input: 1_000_000, cached: 500_000, output: 2_000_000 }));
    assert_eq!(facts.window, Some(400_000), "what the file does not say stays");
    assert_eq!(resolved(&catalog, "mine"), both("home", "my-model"));
    assert_eq!(resolved(&catalog, "sonnet"), both("home", "my-sonnet"));
    let mine = catalog.facts(catalog.provider("home"), "my-model");
    assert_eq!((mine.window, mine.form, mine.small), (Some(4096), AnswerForm::Json, true));
    let found = catalog.detect(|name| (name == "HOME_KEY").then(|| "k".to_owned()));
    assert_eq!(found.map(|provider| provider.name.as_str()), Some("home"));
}

#[test]
fn a_file_that_cannot_be_used_is_refused_with_its_line() {
    for (text, line, says) in [
        ("[[model]]\nname = \"a\"\nwindows = 5\n", Some(3), "windows"),
        ("[[model]]\nname = \"a\"\nwindow = -5\n", Some(3), "-5"),
        ("[[model]]\n\nname = \"a\"\nprice = { input = -1, output = 1 }\n", Some(4), "price"),
        ("[[model]]\nname = \"a\"\nprice = { input = 1 }\n", Some(3), "output"),
        ("[[provider]]\nname = \"a\"\nprotocol = \"telnet\"\n", Some(3), "telnet"),
        ("[[provider]]\nname = \"a\"\n\n[alias\n", Some(4), ""),
        ("[[provider]]\nname = \"a\"\n", Some(2), "base_url"),
        ("[[model]]\nprovider = \"nobody\"\nname = \"a\"\n", Some(2), "nobody"),
    ] {
        let error = Catalog::built_in().with_user_file(text).unwrap_err();
        assert_eq!(error.line, line, "{text}: {error}");
        assert!(error.to_string().contains(says), "{text}: {error}");
    }
}

#[tokio::test]
async fn a_model_is_asked_the_way_its_provider_takes_it() {
    let catalog = Catalog::built_in();
    for (provider, asked) in [("cohere", false), ("mistral", false), ("groq", true)] {
        let server: ScriptedServer = serve(Reply::text("hi"));
        let model =
            catalog.remote(catalog.provider(provider), endpoint(Protocol::OpenAiChat, &server)).unwrap();
        let answer = model.ask(&prompt(), &ample(), &mut |_: &str| {}, &Cancel::new()).await.unwrap();
        assert_eq!(answer.text, "hi");
        let body = server.requests()[0].json();
        assert_eq!(body["stream_options"]["include_usage"] == true, asked, "{provider}: {body}");
    }
}
