//! OpenAI's responses. Stop reason, token count and end are one event.

use serde_json::{Value, json};

use super::{Speech, Telling, named, openai_error};

pub(super) struct Responses;

impl Speech for Responses {
    fn opening(&self, telling: &Telling<'_>) -> String {
        let begun = json!({"id": "scripted", "object": "response", "status": "in_progress", "error": null,
                           "model": telling.model, "output": []});
        let created = named(json!({"type": "response.created", "response": begun}));
        let item = json!({"type": "message", "status": "in_progress", "role": "assistant", "content": []});
        created + &named(json!({"type": "response.output_item.added", "output_index": 0, "item": item}))
    }

    fn reasoning(&self, _: &Telling<'_>, text: &str) -> String {
        named(json!({"type": "response.reasoning_summary_text.delta", "summary_index": 0, "delta": text}))
    }

    fn text(&self, _: &Telling<'_>, text: &str) -> String {
        named(json!({"type": "response.output_text.delta", "content_index": 0, "delta": text}))
    }

    fn tool(&self, _: &Telling<'_>, name: &str) -> String {
        named(json!({"type": "response.output_item.added", "output_index": 1, "item": call(name)}))
    }

    fn stop(&self, telling: &Telling<'_>) -> String {
        let document = self.document(telling);
        let status = document["status"].as_str().unwrap_or_default();
        named(json!({"type": format!("response.{status}"), "response": document}))
    }

    fn error(&self, message: &str, code: Option<&str>) -> String {
        named(json!({"type": "error", "code": code.unwrap_or("server_error"), "message": message}))
    }

    fn document(&self, telling: &Telling<'_>) -> Value {
        let reply = telling.reply;
        let reason = telling.reason(["completed", "max_output_tokens", "content_filter", "completed"]);
        let (status, details) = match reason {
            "completed" => ("completed", Value::Null),
            reason => ("incomplete", json!({"reason": reason})),
        };
        let part = json!({"type": "output_text", "text": reply.text, "annotations": []});
        let message = json!({"type": "message", "role": "assistant", "content": [part]});
        let said = (!reply.text.is_empty()).then_some(message);
        let output: Vec<Value> =
            said.into_iter().chain(reply.tool_call.iter().map(|name| call(name))).collect();
        json!({"id": "scripted", "object": "response", "status": status, "incomplete_details": details,
               "error": null, "model": telling.model, "output": output,
               "usage": {"input_tokens": reply.usage.input, "output_tokens": reply.usage.output,
                         "input_tokens_details": {"cached_tokens": reply.usage.cached}}})
    }

    fn refusal(&self, _: u16, message: &str) -> Value {
        openai_error(message, None, None)
    }
}

fn call(name: &str) -> Value {
    json!({"type": "function_call", "call_id": "call_1", "name": name, "arguments": "{}"})
}
