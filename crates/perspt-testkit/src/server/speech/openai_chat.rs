//! OpenAI's chat completions.

use serde_json::{Value, json};

use super::{Speech, Telling, data, openai_error};

pub(super) struct Chat;

impl Speech for Chat {
    fn opening(&self, telling: &Telling<'_>) -> String {
        event(telling, json!({"role": "assistant", "content": ""}), Value::Null)
    }

    fn reasoning(&self, telling: &Telling<'_>, text: &str) -> String {
        event(telling, json!({"reasoning_content": text}), Value::Null)
    }

    fn text(&self, telling: &Telling<'_>, text: &str) -> String {
        event(telling, json!({"content": text}), Value::Null)
    }

    fn tool(&self, telling: &Telling<'_>, name: &str) -> String {
        event(telling, json!({"tool_calls": [tool(name)]}), Value::Null)
    }

    fn stop(&self, telling: &Telling<'_>) -> String {
        event(telling, json!({}), Value::from(telling.reply.stop_reason.as_str()))
    }

    fn count(&self, telling: &Telling<'_>) -> String {
        let mut chunk = chunk(telling, json!([]));
        chunk["usage"] = counted(telling);
        if telling.counts { data(&chunk) } else { String::new() }
    }

    fn end(&self) -> String {
        "data: [DONE]\n\n".to_owned()
    }

    fn error(&self, message: &str, code: Option<&str>) -> String {
        data(&openai_error(message, Some("server_error"), code))
    }

    fn document(&self, telling: &Telling<'_>) -> Value {
        let reply = telling.reply;
        let calls: Vec<Value> = reply.tool_call.iter().map(|name| tool(name)).collect();
        let mut message = json!({"role": "assistant", "content": reply.text});
        if !calls.is_empty() {
            message["tool_calls"] = Value::from(calls);
        }
        let choice = json!({"index": 0, "message": message, "finish_reason": reply.stop_reason});
        json!({"id": "scripted", "object": "chat.completion", "created": 0, "model": telling.model,
               "choices": [choice], "usage": counted(telling)})
    }

    fn refusal(&self, _: u16, message: &str) -> Value {
        openai_error(message, None, None)
    }
}

fn event(telling: &Telling<'_>, delta: Value, stop_reason: Value) -> String {
    data(&chunk(telling, json!([{"index": 0, "delta": delta, "finish_reason": stop_reason}])))
}

fn chunk(telling: &Telling<'_>, choices: Value) -> Value {
    json!({"id": "scripted", "object": "chat.completion.chunk", "created": 0, "model": telling.model,
           "choices": choices})
}

fn counted(telling: &Telling<'_>) -> Value {
    let usage = telling.reply.usage;
    json!({"prompt_tokens": usage.input, "completion_tokens": usage.output,
           "total_tokens": usage.input + usage.output,
           "prompt_tokens_details": {"cached_tokens": usage.cached}})
}

fn tool(name: &str) -> Value {
    json!({"index": 0, "id": "call_1", "type": "function", "function": {"name": name, "arguments": "{}"}})
}
