//! Gemini's streamed content. The last piece has the stop reason; there is no other end.

use serde_json::{Value, json};

use super::{Speech, Telling, data};

pub(super) struct Content;

impl Speech for Content {
    fn opening(&self, _: &Telling<'_>) -> String {
        String::new()
    }

    fn reasoning(&self, telling: &Telling<'_>, text: &str) -> String {
        data(&response(telling, json!([{"text": text, "thought": true}]), None))
    }

    fn text(&self, telling: &Telling<'_>, text: &str) -> String {
        data(&response(telling, json!([{"text": text}]), None))
    }

    fn tool(&self, telling: &Telling<'_>, name: &str) -> String {
        data(&response(telling, json!([tool(name)]), None))
    }

    fn stop(&self, telling: &Telling<'_>) -> String {
        data(&response(telling, json!([{"text": ""}]), Some(reason(telling))))
    }

    fn error(&self, message: &str, code: Option<&str>) -> String {
        let status = code.and_then(|code| code.parse().ok()).unwrap_or(500);
        data(&self.refusal(status, message))
    }

    fn document(&self, telling: &Telling<'_>) -> Value {
        let reply = telling.reply;
        let said = (!reply.text.is_empty()).then(|| json!({"text": reply.text}));
        let parts: Vec<Value> =
            said.into_iter().chain(reply.tool_call.iter().map(|name| tool(name))).collect();
        response(telling, Value::from(parts), Some(reason(telling)))
    }

    fn refusal(&self, status: u16, message: &str) -> Value {
        let word = match status {
            401 => "UNAUTHENTICATED",
            429 => "RESOURCE_EXHAUSTED",
            503 => "UNAVAILABLE",
            _ => "INTERNAL",
        };
        json!({"error": {"code": status, "message": message, "status": word}})
    }
}

fn reason<'a>(telling: &'a Telling<'_>) -> &'a str {
    telling.reason(["STOP", "MAX_TOKENS", "SAFETY", "STOP"])
}

fn response(telling: &Telling<'_>, parts: Value, reason: Option<&str>) -> Value {
    let usage = telling.reply.usage;
    let mut candidate = json!({"content": {"role": "model", "parts": parts}, "index": 0});
    if let Some(reason) = reason {
        candidate["finishReason"] = Value::from(reason);
    }
    json!({"candidates": [candidate], "modelVersion": telling.model,
           "usageMetadata": {"promptTokenCount": usage.input, "candidatesTokenCount": usage.output,
                             "cachedContentTokenCount": usage.cached}})
}

fn tool(name: &str) -> Value {
    json!({"functionCall": {"name": name, "args": {}}})
}
