//! What is sent in each protocol, and where the key goes.

use perspt_model::{CallLimits, Cancel, Endpoint, LimitName, Model, Prompt, Protocol, Remote, Turn};
use perspt_testkit::server::{Reply, Request, Tag};
use serde_json::{Value, json};

use crate::support::{ample, endpoint, prompt, serve};

const SECRET: &str = "sk-secret-0123456789";

async fn sent(protocol: Protocol, prompt: &Prompt, change: impl FnOnce(Endpoint) -> Endpoint) -> Request {
    let server = serve(Reply::text("hi"));
    let model = Remote::new(change(endpoint(protocol, &server))).unwrap();
    let limits = CallLimits { max_output_tokens: 777, ..ample() };
    model.ask(prompt, &limits, &mut |_: &str| {}, &Cancel::new()).await.unwrap();
    server.requests().remove(0)
}

fn chat() -> Prompt {
    let turns = vec![Turn::user("one"), Turn::assistant("two"), Turn::user("three")];
    Prompt::chat("Be brief.".to_owned(), turns)
}

#[test]
fn every_protocol_has_a_word_of_its_own_and_is_found_by_it() {
    for protocol in Protocol::ALL {
        assert_eq!(Protocol::parse(protocol.as_str()), Some(protocol));
    }
    assert_eq!(Protocol::parse("openai"), None);
}

#[tokio::test]
async fn the_key_goes_where_the_protocol_wants_it_and_nowhere_else() {
    for protocol in Protocol::ALL {
        let (name, value) = match protocol {
            Protocol::OpenAiChat | Protocol::OpenAiResponses | Protocol::Ollama => {
                ("authorization", format!("Bearer {SECRET}"))
            }
            Protocol::Anthropic => ("x-api-key", SECRET.to_owned()),
            Protocol::Gemini => ("x-goog-api-key", SECRET.to_owned()),
        };
        let request = sent(protocol, &prompt(), |endpoint| endpoint).await;
        let holders: Vec<&str> = request
            .headers
            .iter()
            .filter(|(_, value)| value.contains(SECRET))
            .map(|(name, _)| name.as_str())
            .collect();
        assert_eq!((holders, request.header(name)), (vec![name], Some(value.as_str())), "{protocol:?}");
        assert!(!request.target.contains(SECRET) && !request.body.contains(SECRET));
        let bare = sent(protocol, &prompt(), |endpoint| Endpoint { key: None, ..endpoint }).await;
        assert_eq!(bare.header(name), None, "{protocol:?}");
    }
}

#[tokio::test]
async fn each_protocol_posts_to_its_own_path_with_and_without_the_version_in_the_address() {
    let cases = [
        (Protocol::OpenAiChat, "/v1", "/v1/chat/completions"),
        (Protocol::OpenAiChat, "/openai/v1", "/openai/v1/chat/completions"),
        (Protocol::OpenAiResponses, "/v1/", "/v1/responses"),
        (Protocol::Anthropic, "", "/v1/messages"),
        (Protocol::Anthropic, "/v1", "/v1/messages"),
        (Protocol::Anthropic, "/anthropic/", "/anthropic/v1/messages"),
        (Protocol::Gemini, "", "/v1beta/models/some-model:streamGenerateContent?alt=sse"),
        (Protocol::Gemini, "/v1beta/", "/v1beta/models/some-model:streamGenerateContent?alt=sse"),
        (Protocol::Gemini, "/v1?a=b", "/v1/models/some-model:streamGenerateContent?a=b&alt=sse"),
        (Protocol::Ollama, "", "/api/chat"),
        (Protocol::Ollama, "/api", "/api/chat"),
    ];
    for (protocol, base, target) in cases {
        let server = serve(Reply::text("hi"));
        let base_url = format!("{}{base}", server.root_url());
        let model = Remote::new(Endpoint { base_url, ..endpoint(protocol, &server) }).unwrap();
        model.ask(&prompt(), &ample(), &mut |_: &str| {}, &Cancel::new()).await.unwrap();
        assert_eq!(server.requests()[0].target, target, "{protocol:?} at {base:?}");
    }
}

#[tokio::test]
async fn head_turns_and_limit_are_said_in_the_words_of_the_protocol() {
    let request = sent(Protocol::OpenAiResponses, &chat(), |endpoint| endpoint).await;
    let expected = json!({
        "model": "some-model", "instructions": "Be brief.", "stream": true, "store": false,
        "max_output_tokens": 777,
        "input": [{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"},
                  {"role": "user", "content": "three"}],
    });
    assert_eq!(request.json(), expected);
    let request = sent(Protocol::Gemini, &chat(), |endpoint| endpoint).await;
    let expected = json!({
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [{"role": "user", "parts": [{"text": "one"}]}, {"role": "model", "parts": [{"text": "two"}]},
                     {"role": "user", "parts": [{"text": "three"}]}],
        "generationConfig": {"maxOutputTokens": 777},
    });
    assert_eq!(request.json(), expected);
    let request =
        sent(Protocol::Ollama, &chat(), |endpoint| Endpoint { num_ctx: Some(4096), ..endpoint }).await;
    let expected = json!({
        "model": "some-model", "stream": true, "options": {"num_ctx": 4096, "num_predict": 777},
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "one"},
                     {"role": "assistant", "content": "two"}, {"role": "user", "content": "three"}],
    });
    assert_eq!(request.json(), expected);
}

#[tokio::test]
async fn a_prompt_without_a_head_has_no_system_message() {
    let prompt = Prompt::chat(String::new(), vec![Turn::user("one")]);
    for protocol in Protocol::ALL {
        let body = sent(protocol, &prompt, |endpoint| endpoint).await.json();
        let fields = ["system", "instructions", "systemInstruction"];
        assert!(fields.iter().all(|field| body[*field].is_null()), "{body}");
        assert!(!body.to_string().contains("\"system\""), "{body}");
    }
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn marked(text: &str) -> Value {
    json!({"type": "text", "text": text, "cache_control": {"type": "ephemeral"}})
}

#[tokio::test]
async fn anthropic_is_told_what_to_cache_at_the_head_and_where_the_stable_text_ends() {
    let mut prompt = prompt();
    prompt.turns = vec![Turn::user("files and then the error").with_stable(9)];
    let request = sent(Protocol::Anthropic, &prompt, |endpoint| endpoint).await;
    assert_eq!(request.header("anthropic-version"), Some("2023-06-01"));
    let expected = json!({
        "model": "some-model", "stream": true, "max_tokens": 777,
        "system": [marked("You are careful.")],
        "messages": [{"role": "user", "content": [marked("files and"), text(" then the error")]}],
    });
    assert_eq!(request.json(), expected);
}

#[tokio::test]
async fn no_more_marks_are_sent_than_the_protocol_takes_and_the_last_ones_are() {
    let turns = ["a", "b", "c", "d", "e"].map(|text| Turn::user(text).with_stable(1)).to_vec();
    let prompt = Prompt::chat("head".to_owned(), turns);
    let body = sent(Protocol::Anthropic, &prompt, |endpoint| endpoint).await.json();
    let contents: Vec<&Value> =
        body["messages"].as_array().unwrap().iter().map(|message| &message["content"][0]).collect();
    assert_eq!(contents, [&text("a"), &text("b"), &marked("c"), &marked("d"), &marked("e")]);
    let odd = vec![Turn::user("ü").with_stable(1), Turn::user("b").with_stable(0)];
    let body = sent(Protocol::Anthropic, &Prompt::chat(String::new(), odd), |endpoint| endpoint).await.json();
    assert_eq!(body["messages"][0]["content"], json!([text("ü")]), "no mark within a character");
}

/// Ollama cuts off the start of what does not fit its window, and its default window is small.
#[tokio::test]
async fn ollama_is_always_told_a_window_that_holds_prompt_and_answer() {
    let window = |prompt: Prompt| async move {
        sent(Protocol::Ollama, &prompt, |endpoint| endpoint).await.json()["options"]["num_ctx"].as_u64()
    };
    assert_eq!(window(prompt()).await, Some(8192));
    let long = Prompt::chat(String::new(), vec![Turn::user("x".repeat(3 * 10_000))]);
    assert_eq!(window(long).await, Some(2 * 8192), "10,000 tokens of prompt and 777 of answer");
}

#[tokio::test]
async fn the_tag_is_found_in_every_protocol_so_that_tables_can_reply() {
    for protocol in Protocol::ALL {
        let request = sent(protocol, &prompt(), |endpoint| endpoint).await;
        let tag = Tag { intent: "actuator.generate".to_owned(), node: "n1".to_owned(), attempt: 1 };
        assert_eq!(request.tag, Some(tag), "{protocol:?}");
        assert!(request.text().contains("You are careful."), "{protocol:?}");
    }
}

#[tokio::test]
async fn the_name_of_the_limit_can_be_told() {
    let server = serve(Reply::text("hi"));
    let model = Remote::new(endpoint(Protocol::OpenAiChat, &server)).unwrap();
    let model = model.with_limit_name(LimitName::MaxCompletionTokens);
    let limits = CallLimits { max_output_tokens: 777, ..ample() };
    model.ask(&prompt(), &limits, &mut |_: &str| {}, &Cancel::new()).await.unwrap();
    assert_eq!(server.requests()[0].json()["max_completion_tokens"], 777);
}
