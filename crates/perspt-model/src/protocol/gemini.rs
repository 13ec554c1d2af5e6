//! Gemini's streamed content.

use serde_json::{Value, json};

use super::Call;
use super::piece::{Decode, End, Meaning, Odd, Piece, Tokens, list, name, stop, text};
use crate::prompt::Role;

pub(super) fn segments(model: &str) -> Vec<String> {
    let model = model.strip_prefix("models/").unwrap_or(model);
    vec!["v1beta".to_owned(), "models".to_owned(), format!("{model}:streamGenerateContent")]
}

pub(super) fn body(call: &Call<'_>) -> Value {
    let role = |role: Role| match role {
        Role::User => "user",
        Role::Assistant => "model",
    };
    let turns = call.prompt.turns.iter();
    let contents: Vec<Value> =
        turns.map(|turn| json!({"role": role(turn.role), "parts": [{"text": turn.text}]})).collect();
    let mut body = json!({
        "contents": contents,
        "generationConfig": {"maxOutputTokens": call.limits.max_output_tokens},
    });
    if !call.prompt.head.is_empty() {
        body["systemInstruction"] = json!({"parts": [{"text": call.prompt.head}]});
    }
    body
}

pub(super) struct Decoder;

impl Decode for Decoder {
    fn event(&mut self, _: &str, value: &Value) -> Result<Piece, Odd> {
        if !is_response(value) {
            return Err(Odd::Malformed);
        }
        response(value)
    }

    /// Without its stream mode the service sends a list of what would have been events.
    fn document(&mut self, value: &Value) -> Option<Result<Piece, Odd>> {
        match value {
            Value::Array(items) if items.iter().any(is_response) => Some(joined(items)),
            value => is_response(value).then(|| response(value)),
        }
    }

    fn reasons(&self) -> &'static [(&'static str, Meaning)] {
        &[
            ("STOP", Meaning::Whole),
            ("MAX_TOKENS", Meaning::OutputLimit),
            ("MALFORMED_FUNCTION_CALL", Meaning::Tools),
            ("UNEXPECTED_TOOL_CALL", Meaning::Tools),
            ("SAFETY", Meaning::Filter),
            ("RECITATION", Meaning::Filter),
            ("BLOCKLIST", Meaning::Filter),
            ("PROHIBITED_CONTENT", Meaning::Filter),
            ("SPII", Meaning::Filter),
            ("LANGUAGE", Meaning::Filter),
            ("OTHER", Meaning::Trouble),
        ]
    }

    fn end(&self) -> End {
        End::Stop
    }
}

fn is_response(value: &Value) -> bool {
    ["candidates", "promptFeedback", "usageMetadata"].iter().any(|field| !value[*field].is_null())
}

fn joined(items: &[Value]) -> Result<Piece, Odd> {
    let mut whole = Piece::default();
    for item in items {
        let piece = response(item)?;
        whole.text.push_str(&piece.text);
        whole.tools |= piece.tools;
        whole.at_work |= piece.at_work;
        whole.stop = whole.stop.or(piece.stop);
        whole.model = whole.model.or(piece.model);
        whole.tokens.merge(piece.tokens);
    }
    Ok(whole)
}

fn response(value: &Value) -> Result<Piece, Odd> {
    if value["promptFeedback"]["blockReason"].is_string() {
        return Err(Odd::Filtered);
    }
    let mut piece = Piece {
        model: name(&value["modelVersion"]),
        tokens: tokens(&value["usageMetadata"]),
        ..Piece::default()
    };
    let candidates = list(&value["candidates"])?;
    // One answer was asked for; another one beside it is not ours.
    let ours = candidates.iter().find(|candidate| candidate["index"].as_u64().unwrap_or(0) == 0);
    if let Some(candidate) = ours {
        for part in list(&candidate["content"]["parts"])? {
            let said = text(&part["text"])?;
            if part["thought"] == true {
                piece.at_work |= !said.is_empty();
            } else {
                piece.text.push_str(said);
            }
            piece.tools |= part["functionCall"].is_object();
        }
        piece.stop = stop(&candidate["finishReason"])?;
    }
    Ok(piece)
}

/// Thoughts are counted apart from what was written, and paid like it.
fn tokens(usage: &Value) -> Tokens {
    let count = |name: &str| usage[name].as_u64();
    let written = count("candidatesTokenCount");
    Tokens {
        input: count("promptTokenCount"),
        output: match (written, count("thoughtsTokenCount")) {
            (None, None) => None,
            (written, thought) => Some(written.unwrap_or(0).saturating_add(thought.unwrap_or(0))),
        },
        cached: count("cachedContentTokenCount"),
    }
}
