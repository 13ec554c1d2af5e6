//! The protocols a reply can be told in. Which one is decided by the path of the request.

mod anthropic;
mod gemini;
mod ollama;
mod openai_chat;
mod openai_responses;

use serde_json::{Value, json};

use super::reply::Reply;

/// One protocol's own texts.
pub(crate) trait Speech: Sync {
    /// The content type of a stream.
    fn content_type(&self) -> &'static str {
        "text/event-stream"
    }

    /// What comes before the first piece.
    fn opening(&self, telling: &Telling<'_>) -> String;

    /// A piece of reasoning.
    fn reasoning(&self, telling: &Telling<'_>, text: &str) -> String;

    /// A piece of the answer.
    fn text(&self, telling: &Telling<'_>, text: &str) -> String;

    /// The wish for a tool.
    fn tool(&self, telling: &Telling<'_>, name: &str) -> String;

    /// The stop reason.
    fn stop(&self, telling: &Telling<'_>) -> String;

    /// The token count where it comes last, with nothing else.
    fn count(&self, _: &Telling<'_>) -> String {
        String::new()
    }

    /// The end mark; empty where the stop reason is it.
    fn end(&self) -> String {
        String::new()
    }

    /// An error object in the stream.
    fn error(&self, message: &str, code: Option<&str>) -> String;

    /// Something that is not JSON.
    fn garbage(&self) -> String {
        "data: {\"choices\": [{\"delta\"\n\n".to_owned()
    }

    /// A sign of life that is no content: a ping and an empty piece.
    fn ping(&self, telling: &Telling<'_>) -> String {
        format!(": ping\n\n{}", self.text(telling, ""))
    }

    /// The whole answer in one document.
    fn document(&self, telling: &Telling<'_>) -> Value;

    /// The body of a refusal.
    fn refusal(&self, status: u16, message: &str) -> Value;
}

/// A reply on its way, and what the request says about how to tell it.
pub(crate) struct Telling<'a> {
    pub(crate) reply: &'a Reply,
    pub(crate) model: &'a str,
    /// Whether a stream with a token count was asked for.
    pub(crate) counts: bool,
}

impl Telling<'_> {
    /// The stop reason in this protocol's word, where it is one of the four that all have.
    fn reason<'a>(&'a self, words: [&'a str; 4]) -> &'a str {
        let common = ["stop", "length", "content_filter", "tool_calls"];
        let known = common.iter().position(|word| *word == self.reply.stop_reason);
        known.map_or(self.reply.stop_reason.as_str(), |at| words[at])
    }
}

/// The protocol of a path to which prompts are posted.
pub(crate) fn of_path(path: &str) -> Option<&'static dyn Speech> {
    match path {
        _ if path.ends_with("/chat/completions") => Some(&openai_chat::Chat),
        _ if path.ends_with("/responses") => Some(&openai_responses::Responses),
        _ if path.ends_with("/messages") => Some(&anthropic::Messages),
        _ if path.ends_with(":streamGenerateContent") => Some(&gemini::Content),
        _ if path.ends_with("/api/chat") => Some(&ollama::Lines),
        _ => None,
    }
}

/// Every text of a request, whatever the protocol: heads, messages, parts.
pub(crate) fn texts(body: &Value) -> String {
    let mut found = Vec::new();
    for field in ["system", "instructions", "systemInstruction", "messages", "input", "contents"] {
        collect(&body[field], &mut found);
    }
    found.join("\n")
}

fn collect<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => found.push(text),
        Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        Value::Object(fields) => {
            let named = ["content", "parts", "text"].into_iter().filter_map(|name| fields.get(name));
            named.for_each(|value| collect(value, found));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn data(value: &Value) -> String {
    format!("data: {value}\n\n")
}

/// An event that is named after its type.
fn named(value: Value) -> String {
    let name = value["type"].as_str().unwrap_or_default();
    format!("event: {name}\ndata: {value}\n\n")
}

/// An error object as the OpenAI protocols have it.
fn openai_error(message: &str, kind: Option<&str>, code: Option<&str>) -> Value {
    json!({"error": {"message": message, "type": kind, "code": code}})
}
