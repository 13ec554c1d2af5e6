//! What is sent.

use perspt_model::{CallLimits, Cancel, Endpoint, Model, Remote, estimate_tokens};
use perspt_testkit::server::{Ask, Reply, Request, ScriptedServer, Table, Tag};
use serde_json::json;

use crate::support::{ample, config, prompt};

async fn sent(model: &str, base_path: &str) -> Request {
    let server = ScriptedServer::start(|_: &Ask| Reply::text("hi")).unwrap();
    let base_url = format!("http://{}{base_path}", server.address());
    let model = Remote::new(Endpoint { model: model.to_owned(), ..config(&base_url) }).unwrap();
    let limits = CallLimits { max_output_tokens: 777, ..ample() };
    model.ask(&prompt(), &limits, &mut |_: &str| {}, &Cancel::new()).await.unwrap();
    server.requests().remove(0)
}

#[tokio::test]
async fn the_body_holds_model_messages_stream_and_limit_and_nothing_else() {
    let request = sent("some-model", "/v1").await;
    assert_eq!(request.method, "POST");
    assert_eq!(request.header("content-type"), Some("application/json"));
    assert_eq!(request.header("accept-encoding"), None);
    let expected = json!({
        "model": "some-model",
        "messages": [
            {"role": "system", "content": "You are careful."},
            {"role": "user", "content": "[perspt intent=actuator.generate node=n1 attempt=1]\nWrite it."},
        ],
        "stream": true,
        "stream_options": {"include_usage": true},
        "max_tokens": 777,
    });
    assert_eq!(request.json(), expected);
    let tag = Tag { intent: "actuator.generate".to_owned(), node: "n1".to_owned(), attempt: 1 };
    assert_eq!(request.tag, Some(tag));
}

#[tokio::test]
async fn the_same_prompt_is_sent_with_the_same_bytes() {
    assert_eq!(sent("some-model", "/v1").await.body, sent("some-model", "/v1").await.body);
}

#[tokio::test]
async fn the_base_url_is_taken_with_and_without_trailing_slash_and_keeps_its_query() {
    for (base_path, target) in [
        ("/v1", "/v1/chat/completions"),
        ("/v1/", "/v1/chat/completions"),
        ("", "/chat/completions"),
        ("/a/b?version=2#part", "/a/b/chat/completions?version=2"),
    ] {
        assert_eq!(sent("some-model", base_path).await.target, target);
    }
}

#[tokio::test]
async fn the_limit_has_the_name_that_the_model_family_knows() {
    for (model, name) in [
        ("gpt-4o", "max_tokens"),
        ("gpt-oss-20b", "max_tokens"),
        ("llama3", "max_tokens"),
        ("gpt-5-mini", "max_completion_tokens"),
        ("o3", "max_completion_tokens"),
        ("openai/O4-mini", "max_completion_tokens"),
    ] {
        let body = sent(model, "/v1").await.json();
        assert_eq!(body[name], 777, "{model}: {body}");
    }
}

#[tokio::test]
async fn a_table_replies_by_tag_and_in_order_and_refuses_what_it_does_not_know() {
    let table = Table::new().on("actuator.generate", "n1", 1, Reply::status(500, "not yet")).on(
        "actuator.generate",
        "n1",
        1,
        Reply::text("now"),
    );
    let server = ScriptedServer::start(table).unwrap();
    let model = Remote::new(config(&server.base_url())).unwrap();
    let mut prompt = prompt();
    let mut results = Vec::new();
    for _ in 0..3 {
        results.push(model.ask(&prompt, &ample(), &mut |_: &str| {}, &Cancel::new()).await.ok());
    }
    let texts: Vec<_> = results.into_iter().map(|answer| answer.map(|answer| answer.text)).collect();
    assert_eq!(texts, [None, Some("now".to_owned()), Some("now".to_owned())]);
    prompt.turns[0].text = prompt.turns[0].text.replace("attempt=1", "attempt=2");
    let error = model.ask(&prompt, &ample(), &mut |_: &str| {}, &Cancel::new()).await.unwrap_err();
    assert!(error.what().contains("nothing is scripted"), "{error}");
    assert_eq!(server.asks(), 4);
}

#[test]
fn an_estimate_is_a_third_of_the_bytes_rounded_up() {
    let estimates: Vec<u64> = ["", "a", "abc", "abcd", "🦀"].map(estimate_tokens).to_vec();
    assert_eq!(estimates, [0, 1, 1, 2, 2]);
}

#[tokio::test]
async fn the_scripted_server_lists_models_and_keeps_its_connections() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let server = ScriptedServer::start(|_: &Ask| Reply::text("plain")).unwrap();
    let mut stream = tokio::net::TcpStream::connect(server.address()).await.unwrap();
    let body = "{\"messages\":[]}";
    let ask = format!("POST /v1/chat/completions HTTP/1.1\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let list = "GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n";
    let none = "GET /v2 HTTP/1.1\r\n\r\n";
    stream.write_all(format!("{list}{ask}{none}").as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut received = String::new();
    stream.read_to_string(&mut received).await.unwrap();
    let statuses: Vec<&str> =
        received.matches("HTTP/1.1 200").chain(received.matches("HTTP/1.1 404")).collect();
    assert_eq!(statuses.len(), 3, "{received}");
    assert!(received.contains("\"scripted\"") && received.contains("\"plain\""), "{received}");
    assert_eq!((server.requests().len(), server.asks()), (3, 1));
}
