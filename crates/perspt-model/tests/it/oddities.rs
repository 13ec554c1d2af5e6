//! Servers that are not what they should be, and places where there is none.

use perspt_model::{Cancel, ConnectKind, Model, ModelError, Remote};
use perspt_testkit::server::{Reply, ScriptedServer};

use crate::support::{ample, config, prompt, raw, serve, trial};

async fn ask_at(base_url: &str) -> ModelError {
    let model = Remote::new(config(base_url)).unwrap();
    model.ask(&prompt(), &ample(), &mut |_: &str| {}, &Cancel::new()).await.unwrap_err()
}

fn kind(error: &ModelError) -> ConnectKind {
    match error {
        ModelError::Connect { kind, .. } => *kind,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn nobody_listening_is_refused_and_transient() {
    let server = ScriptedServer::start(|_: &perspt_testkit::server::Ask| Reply::text("hi")).unwrap();
    let (base_url, address) = (server.base_url(), server.address());
    drop(server);
    let error = ask_at(&base_url).await;
    assert_eq!(kind(&error), ConnectKind::Refused, "{error:?}");
    assert!(error.is_transient());
    assert!(error.what().contains(&address.to_string()), "{}", error.what());
}

/// A label of more than 63 characters is refused by every resolver before it asks anyone.
#[tokio::test]
async fn a_name_that_cannot_be_looked_up_is_told_as_such() {
    let error = ask_at(&format!("http://{}.invalid/v1", "a".repeat(70))).await;
    assert_eq!(kind(&error), ConnectKind::Dns, "{error:?}");
    assert!(error.is_transient());
}

#[tokio::test]
async fn a_server_without_tls_at_a_secure_address_is_a_tls_error() {
    let server = serve(Reply::text("hi"));
    let error = ask_at(&format!("https://{}/v1", server.address())).await;
    assert_eq!(kind(&error), ConnectKind::Tls, "{error:?}");
    assert!(!error.is_transient());
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn a_service_that_does_not_speak_http_is_not_a_chat() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
    let greet = async {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut bytes = [0; 1024];
        stream.read_exact(&mut bytes[..100]).await.unwrap();
        stream.write_all(b"-ERR unknown command\r\n\r\n").await.unwrap();
        while stream.read(&mut bytes).await.is_ok_and(|read| read > 0) {}
    };
    let (error, ()) = tokio::join!(ask_at(&base_url), greet);
    assert!(matches!(error, ModelError::NotAChat { .. }), "{error:?}");
    assert!(!error.is_transient());
}

#[tokio::test]
async fn a_page_or_another_service_is_not_a_chat() {
    let replies = [
        Reply::raw("text/html", ["<!doctype html><p>Please log in"]),
        Reply::raw("application/json", ["{\"status\":\"fine\"}"]),
        Reply::raw("application/json", ["{\"status\":fine}"]),
        Reply::raw("text/plain", ["hello there"]),
    ];
    for reply in replies {
        let error = trial(reply).await.error();
        assert!(matches!(error, ModelError::NotAChat { .. }), "{error:?}");
        assert!(!error.is_transient());
    }
}

#[tokio::test]
async fn events_of_another_shape_are_malformed() {
    for event in [
        "[]",
        "42",
        "{}",
        "{\"hello\":1}",
        "{\"choices\":{}}",
        "{\"choices\":[{\"delta\":7}]}",
        "{\"choices\":[{\"delta\":{\"content\":7}}]}",
        "{\"choices\":[{\"delta\":{},\"finish_reason\":7}]}",
        "{\"choices\":[{\"delta\":{\"content\":\"a\"}",
        "[done]",
    ] {
        let error = trial(raw(format!("data: {event}\n\ndata: [DONE]\n\n"))).await.error();
        assert!(matches!(error, ModelError::MalformedEvent { .. }), "{event}: {error:?}");
    }
    let mut latin = b"data: {\"choices\":[{\"delta\":{\"content\":\"gr\xfc".to_vec();
    latin.extend_from_slice(b"n\"},\"finish_reason\":\"stop\"}]}\n\n");
    let error = trial(raw(latin)).await.error();
    assert!(matches!(error, ModelError::MalformedEvent { .. }), "bytes that are no UTF-8: {error:?}");
    let deep = format!("data: {}\n\n", "[".repeat(100_000));
    assert!(matches!(trial(raw(deep)).await.error(), ModelError::MalformedEvent { .. }));
}

#[tokio::test]
async fn pieces_without_content_are_skipped() {
    let body = concat!(
        "\u{feff}: hello\r\n\r\n",
        "event: ping\r\ndata: {\"type\":\"ping\"}\r\n\r\n",
        "data:\r\n\r\n",
        "id: 7\r\nretry: 10\r\ndata:{\"choices\":[],\"prompt_filter_results\":[]}\r\n\r\n",
        "data:{\"choices\":[{\"index\":1,\"delta\":{\"content\":\"not mine\"}}]}\r\n\r\n",
        "data: {\"choices\":\r\ndata: [{\"delta\":{\"content\":\"a\",\"tool_calls\":null},\"finish_reason\":null}]}\r\n\r\n",
        "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":null},\"finish_reason\":\"\"}]}\r\n\r\n",
        "data: {\"choices\":[{\"delta\":{\"content\":\"b\"},\"finish_reason\":\"stop\"}],\"usage\":null}\r\n\r\n",
        "data: {\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":2}}\r\n\r\n",
        "data: [DONE]\r\n\r\n",
    );
    let answer = trial(raw(body)).await.answer();
    assert_eq!(answer.text, "ab");
    assert_eq!(answer.usage.map(|usage| (usage.input, usage.output, usage.cached)), Some((5, 2, 0)));
}
