//! What is sent.

use serde_json::{Map, Value, json};

use crate::ask::CallLimits;
use crate::prompt::Prompt;

/// What the output limit is called, by the start of the model's name; the first row that fits counts. Everything
/// else takes [`COMMON_LIMIT`].
const LIMIT_NAMES: [(&str, &str); 6] = [
    ("gpt-5", "max_completion_tokens"),
    ("chatgpt-", "max_completion_tokens"),
    ("codex-", "max_completion_tokens"),
    ("o1", "max_completion_tokens"),
    ("o3", "max_completion_tokens"),
    ("o4", "max_completion_tokens"),
];

/// The older name, which compatible servers understand.
const COMMON_LIMIT: &str = "max_tokens";

/// The request as JSON. No temperature is sent: some models refuse one, and the provider's default is fine.
pub(super) fn body(model: &str, prompt: &Prompt, limits: &CallLimits) -> String {
    let mut messages = Vec::new();
    if !prompt.head.is_empty() {
        messages.push(json!({"role": "system", "content": prompt.head}));
    }
    messages.push(json!({"role": "user", "content": prompt.body}));
    let mut body = Map::new();
    body.insert("model".to_owned(), Value::from(model));
    body.insert("messages".to_owned(), Value::from(messages));
    body.insert("stream".to_owned(), Value::from(true));
    body.insert("stream_options".to_owned(), json!({"include_usage": true}));
    body.insert(limit_name(model).to_owned(), Value::from(limits.max_output_tokens));
    Value::Object(body).to_string()
}

fn limit_name(model: &str) -> &'static str {
    // Routers put the maker before the name: "openai/o3".
    let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
    LIMIT_NAMES.iter().find(|(start, _)| name.starts_with(start)).map_or(COMMON_LIMIT, |(_, limit)| limit)
}
