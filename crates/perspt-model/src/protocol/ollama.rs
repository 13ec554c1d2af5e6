//! Ollama's own chat: one JSON object a line. Its window is a part of each request.

use serde_json::{Value, json};

use super::piece::{Decode, End, Meaning, Odd, Piece, Tokens, name, stop, text};
use super::{Call, Choice, messages};

/// Ollama drops the start of a prompt that does not fit its window, without a word, and loads the model anew where
/// the window changes. So one is always sent, and it grows in steps of this size.
const WINDOW_STEP: u64 = 8192;

pub(super) fn segments() -> Vec<String> {
    ["api", "chat"].map(str::to_owned).to_vec()
}

pub(super) fn body(call: &Call<'_>) -> Value {
    let needed = call.prompt.estimated_tokens().saturating_add(call.limits.max_output_tokens.into());
    let window = call.num_ctx.map_or_else(|| needed.max(1).next_multiple_of(WINDOW_STEP), u64::from);
    let mut body = json!({
        "model": call.model,
        "messages": messages(call.prompt),
        "stream": true,
        "options": {"num_ctx": window, "num_predict": call.limits.max_output_tokens},
    });
    match call.choice {
        Choice::Usual => {}
        Choice::Likeliest => body["options"]["temperature"] = json!(0),
    }
    body
}

pub(super) struct Decoder;

impl Decode for Decoder {
    fn event(&mut self, _: &str, value: &Value) -> Result<Piece, Odd> {
        let message = &value["message"];
        if !message.is_object() && !value["done"].is_boolean() {
            return Err(Odd::Malformed);
        }
        Ok(Piece {
            text: text(&message["content"])?.to_owned(),
            at_work: !text(&message["thinking"])?.is_empty(),
            tools: message["tool_calls"].as_array().is_some_and(|calls| !calls.is_empty()),
            stop: if value["done"] == true { stop(&value["done_reason"])? } else { None },
            ended: value["done"] == true,
            tokens: Tokens {
                input: value["prompt_eval_count"].as_u64(),
                output: value["eval_count"].as_u64(),
                cached: None,
            },
            model: name(&value["model"]),
        })
    }

    /// A document is a line like the others.
    fn document(&mut self, value: &Value) -> Option<Result<Piece, Odd>> {
        Some(self.event("", value)).filter(|read| *read != Err(Odd::Malformed))
    }

    fn reasons(&self) -> &'static [(&'static str, Meaning)] {
        &[("stop", Meaning::Whole), ("length", Meaning::OutputLimit)]
    }

    fn end(&self) -> End {
        End::Mark
    }
}
