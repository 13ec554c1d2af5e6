//! Anthropic's messages. What was read from the cache is not in `input_tokens`.

use serde_json::{Value, json};

use super::{Speech, Telling, named};

pub(super) struct Messages;

impl Speech for Messages {
    fn opening(&self, telling: &Telling<'_>) -> String {
        let mut usage = read(telling);
        usage["output_tokens"] = Value::from(1);
        let message = json!({"id": "scripted", "type": "message", "role": "assistant", "model": telling.model,
                             "content": [], "stop_reason": null, "usage": usage});
        let block = json!({"type": "text", "text": ""});
        [
            named(json!({"type": "message_start", "message": message})),
            named(json!({"type": "content_block_start", "index": 0, "content_block": block})),
            named(json!({"type": "ping"})),
        ]
        .concat()
    }

    fn reasoning(&self, _: &Telling<'_>, text: &str) -> String {
        delta(json!({"type": "thinking_delta", "thinking": text}))
    }

    fn text(&self, _: &Telling<'_>, text: &str) -> String {
        delta(json!({"type": "text_delta", "text": text}))
    }

    fn tool(&self, _: &Telling<'_>, name: &str) -> String {
        let start = json!({"type": "content_block_start", "index": 1, "content_block": tool(name)});
        named(start) + &delta(json!({"type": "input_json_delta", "partial_json": "{}"}))
    }

    fn stop(&self, telling: &Telling<'_>) -> String {
        let delta = json!({"stop_reason": reason(telling), "stop_sequence": null});
        let usage = json!({"output_tokens": telling.reply.usage.output});
        named(json!({"type": "content_block_stop", "index": 0}))
            + &named(json!({"type": "message_delta", "delta": delta, "usage": usage}))
    }

    fn end(&self) -> String {
        named(json!({"type": "message_stop"}))
    }

    fn error(&self, message: &str, code: Option<&str>) -> String {
        named(json!({"type": "error", "error": {"type": code.unwrap_or("api_error"), "message": message}}))
    }

    fn ping(&self, telling: &Telling<'_>) -> String {
        named(json!({"type": "ping"})) + &self.text(telling, "")
    }

    fn document(&self, telling: &Telling<'_>) -> Value {
        let reply = telling.reply;
        let said = (!reply.text.is_empty()).then(|| json!({"type": "text", "text": reply.text}));
        let content: Vec<Value> =
            said.into_iter().chain(reply.tool_call.iter().map(|name| tool(name))).collect();
        let mut usage = read(telling);
        usage["output_tokens"] = Value::from(reply.usage.output);
        json!({"id": "scripted", "type": "message", "role": "assistant", "model": telling.model,
               "content": content, "stop_reason": reason(telling), "usage": usage})
    }

    fn refusal(&self, status: u16, message: &str) -> Value {
        let kind = match status {
            401 => "authentication_error",
            429 => "rate_limit_error",
            529 => "overloaded_error",
            _ => "api_error",
        };
        json!({"type": "error", "error": {"type": kind, "message": message}})
    }
}

fn reason<'a>(telling: &'a Telling<'_>) -> &'a str {
    telling.reason(["end_turn", "max_tokens", "refusal", "tool_use"])
}

fn read(telling: &Telling<'_>) -> Value {
    let usage = telling.reply.usage;
    json!({"input_tokens": usage.input.saturating_sub(usage.cached), "cache_creation_input_tokens": 0,
           "cache_read_input_tokens": usage.cached})
}

fn delta(delta: Value) -> String {
    named(json!({"type": "content_block_delta", "index": 0, "delta": delta}))
}

fn tool(name: &str) -> Value {
    json!({"type": "tool_use", "id": "call_1", "name": name, "input": {}})
}
