//! Ollama's own chat: one JSON object a line. The last one has stop reason, token count and end.

use serde_json::{Value, json};

use super::{Speech, Telling};

pub(super) struct Lines;

impl Speech for Lines {
    fn content_type(&self) -> &'static str {
        "application/x-ndjson"
    }

    fn opening(&self, telling: &Telling<'_>) -> String {
        self.text(telling, "")
    }

    fn reasoning(&self, telling: &Telling<'_>, text: &str) -> String {
        line(telling, json!({"role": "assistant", "content": "", "thinking": text}))
    }

    fn text(&self, telling: &Telling<'_>, text: &str) -> String {
        line(telling, json!({"role": "assistant", "content": text}))
    }

    fn tool(&self, telling: &Telling<'_>, name: &str) -> String {
        line(telling, json!({"role": "assistant", "content": "", "tool_calls": [tool(name)]}))
    }

    fn stop(&self, telling: &Telling<'_>) -> String {
        format!("{}\n", done(telling, json!({"role": "assistant", "content": ""})))
    }

    fn error(&self, message: &str, _: Option<&str>) -> String {
        format!("{}\n", json!({"error": message}))
    }

    fn garbage(&self) -> String {
        "{\"message\": {\"delta\"\n".to_owned()
    }

    fn ping(&self, telling: &Telling<'_>) -> String {
        format!("\n{}", self.text(telling, ""))
    }

    fn document(&self, telling: &Telling<'_>) -> Value {
        let mut message = json!({"role": "assistant", "content": telling.reply.text});
        if let Some(name) = &telling.reply.tool_call {
            message["tool_calls"] = json!([tool(name)]);
        }
        done(telling, message)
    }

    fn refusal(&self, _: u16, message: &str) -> Value {
        json!({"error": message})
    }
}

fn line(telling: &Telling<'_>, message: Value) -> String {
    format!("{}\n", json!({"model": telling.model, "message": message, "done": false}))
}

fn done(telling: &Telling<'_>, message: Value) -> Value {
    let usage = telling.reply.usage;
    let reason = telling.reason(["stop", "length", "content_filter", "stop"]);
    json!({"model": telling.model, "message": message, "done": true, "done_reason": reason,
           "prompt_eval_count": usage.input, "eval_count": usage.output})
}

fn tool(name: &str) -> Value {
    json!({"function": {"name": name, "arguments": {}}})
}
