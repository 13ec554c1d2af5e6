//! The protocol's own texts: events, documents, heads.

use serde_json::{Value, json};

use super::reply::{Reply, Usage};

/// The text's pieces, one for each event.
pub(super) fn pieces(reply: &Reply) -> Vec<String> {
    let characters: Vec<char> = reply.text.chars().collect();
    characters.chunks(reply.chunk_chars).map(|piece| piece.iter().collect()).collect()
}

/// One event of a stream with this delta and stop reason.
pub(super) fn event(model: &str, delta: Value, stop_reason: Option<&str>) -> String {
    data(&chunk(model, json!([{"index": 0, "delta": delta, "finish_reason": stop_reason}])))
}

/// The late event with the token count, which has no choices.
pub(super) fn usage_event(model: &str, usage: Usage) -> String {
    let mut chunk = chunk(model, json!([]));
    chunk["usage"] = counted(usage);
    data(&chunk)
}

/// The event that asks for a tool.
pub(super) fn tool_event(model: &str, name: &str) -> String {
    event(model, json!({"tool_calls": [tool(name)]}), None)
}

/// An error object in an event.
pub(super) fn error_event(message: &str, code: Option<&str>) -> String {
    data(&json!({"error": {"message": message, "type": "server_error", "code": code}}))
}

/// The whole completion in one document.
pub(super) fn document(model: &str, reply: &Reply) -> String {
    let calls: Vec<Value> = reply.tool_call.iter().map(|name| tool(name)).collect();
    let mut message = json!({"role": "assistant", "content": reply.text});
    if !calls.is_empty() {
        message["tool_calls"] = Value::from(calls);
    }
    let choice = json!({"index": 0, "message": message, "finish_reason": reply.stop_reason});
    json!({"id": "scripted", "object": "chat.completion", "created": 0, "model": model,
           "choices": [choice], "usage": counted(reply.usage)})
    .to_string()
}

/// The list of models.
pub(super) fn models() -> String {
    json!({"object": "list", "data": [{"id": "scripted", "object": "model", "owned_by": "perspt"}]})
        .to_string()
}

/// A head followed by a body of known length.
pub(super) fn whole(code: u16, headers: &[(String, String)], content_type: &str, body: &str) -> String {
    let mut head = format!("HTTP/1.1 {code} {}\r\nContent-Type: {content_type}\r\n", reason(code));
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    format!("{head}Content-Length: {}\r\n\r\n{body}", body.len())
}

/// The head of a body that comes in pieces.
pub(super) fn pieced(content_type: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nTransfer-Encoding: chunked\r\n\r\n")
}

fn reason(code: u16) -> &'static str {
    match code {
        200 => "OK",
        404 => "Not Found",
        429 => "Too Many Requests",
        _ => "Scripted",
    }
}

fn chunk(model: &str, choices: Value) -> Value {
    json!({"id": "scripted", "object": "chat.completion.chunk", "created": 0, "model": model, "choices": choices})
}

fn counted(usage: Usage) -> Value {
    json!({"prompt_tokens": usage.input, "completion_tokens": usage.output,
           "total_tokens": usage.input + usage.output,
           "prompt_tokens_details": {"cached_tokens": usage.cached}})
}

fn tool(name: &str) -> Value {
    json!({"index": 0, "id": "call_1", "type": "function", "function": {"name": name, "arguments": "{}"}})
}

fn data(value: &Value) -> String {
    format!("data: {value}\n\n")
}
