//! Asking a server on this machine what it holds.

use std::time::Duration;

use perspt_model::{CallLimits, ConnectKind, Found, FoundModel, ModelError, look};
use perspt_testkit::server::{Ask, Reply, Request, Script, ScriptedServer, Table};
use serde_json::json;

const LONG: Duration = Duration::from_secs(100);

fn model(name: &str, window: Option<u32>) -> FoundModel {
    FoundModel { name: name.to_owned(), window }
}

async fn found(table: Table, path: &str) -> Found {
    let server = ScriptedServer::start(table).unwrap();
    look(&format!("{}{path}", server.root_url()), LONG).await.unwrap()
}

#[tokio::test]
async fn ollama_lists_its_models_and_what_each_can_hold() {
    for path in ["", "/", "/v1", "/api"] {
        let table = Table::new()
            .page("/api/tags", json!({"models": [{"name": "qwen2.5-coder:1.5b"}, {"name": "phi4:latest"}]}))
            .page(
                "/api/show",
                json!({"model_info": {"general.architecture": "qwen2", "qwen2.context_length": 32768}}),
            );
        let found = found(table, path).await;
        assert_eq!(found.server, "Ollama");
        assert_eq!(
            found.models,
            [model("qwen2.5-coder:1.5b", Some(32768)), model("phi4:latest", Some(32768))]
        );
    }
}

#[tokio::test]
async fn a_model_that_ollama_does_not_describe_is_listed_without_a_window() {
    let found = found(Table::new().page("/api/tags", json!({"models": [{"name": "m"}]})), "").await;
    assert_eq!(found.models, [model("m", None)]);
}

#[tokio::test]
async fn llama_cpp_tells_the_window_it_was_started_with_though_it_also_lists_tags() {
    let table = Table::new()
        .page("/props", json!({"default_generation_settings": {"n_ctx": 8192}, "total_slots": 1}))
        .page("/v1/models", json!({"data": [{"id": "model.gguf", "meta": {"n_ctx_train": 32768}}]}))
        .page("/api/tags", json!({"models": [{"name": "model.gguf"}]}));
    let found = found(table, "/v1").await;
    assert_eq!((found.server, found.models), ("llama.cpp", vec![model("model.gguf", Some(8192))]));
}

#[tokio::test]
async fn lm_studio_tells_the_window_of_what_is_loaded_and_the_largest_of_the_rest() {
    let list = json!({"data": [
        {"id": "loaded", "type": "llm", "max_context_length": 131072, "loaded_context_length": 4096},
        {"id": "idle", "type": "vlm", "max_context_length": 131072},
        {"id": "vectors", "type": "embeddings", "max_context_length": 2048},
    ]});
    let found = found(Table::new().page("/api/v0/models", list), "/v1").await;
    assert_eq!(found.server, "LM Studio");
    assert_eq!(found.models, [model("loaded", Some(4096)), model("idle", Some(131072))]);
}

#[tokio::test]
async fn any_other_server_that_lists_models_is_understood() {
    let found = found(Table::new(), "/v1").await;
    assert_eq!((found.server, found.models), ("a compatible server", vec![model("scripted", None)]));
}

/// Answers every question with nothing, or never.
struct Silent;

impl Script for Silent {
    fn reply(&self, _: &Ask) -> Reply {
        Reply::text("")
    }

    fn page(&self, _: &Request) -> Option<String> {
        Some("[]".to_owned())
    }
}

#[tokio::test]
async fn a_service_that_lists_no_models_is_no_model_service() {
    let server = ScriptedServer::start(Silent).unwrap();
    let error = look(&server.root_url(), LONG).await.unwrap_err();
    assert!(matches!(error, ModelError::NotAChat { .. }), "{error:?}");
}

#[tokio::test]
async fn nobody_listening_and_nobody_answering_are_told_apart() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let short = Duration::from_millis(50);
    assert_eq!(look(&url, short).await, Err(ModelError::FirstByteTimeout { after: short }));
    drop(listener);
    let error = look(&url, LONG).await.unwrap_err();
    assert!(matches!(error, ModelError::Connect { kind: ConnectKind::Refused, .. }), "{error:?}");
}

#[test]
fn a_model_on_this_machine_gets_the_time_to_read_its_prompt() {
    let usual = CallLimits::default();
    assert_eq!(CallLimits::for_local(0), usual);
    assert_eq!(CallLimits::for_local(100).first_byte, usual.first_byte, "a short prompt needs no more");
    let long = CallLimits::for_local(30_000);
    assert_eq!(long.first_byte, Duration::from_secs(2000));
    assert_eq!(long.total, usual.total + Duration::from_secs(2000));
    assert_eq!(long.idle, usual.idle);
    assert!(CallLimits::for_local(u64::MAX).first_byte > long.first_byte);
}
