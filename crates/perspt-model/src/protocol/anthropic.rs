//! Anthropic's messages, with marks for what is to be cached.

use serde_json::{Value, json};

use super::Call;
use super::piece::{Decode, End, Meaning, Odd, Piece, Tokens, list, name, stop, text};
use crate::prompt::{Prompt, Turn};

/// The header that names the protocol's version.
pub(super) const VERSION: (&str, &str) = ("anthropic-version", "2023-06-01");

/// How many marks a request may have; one is the head's.
const MARKS: usize = 4;

pub(super) fn segments() -> Vec<String> {
    ["v1", "messages"].map(str::to_owned).to_vec()
}

pub(super) fn body(call: &Call<'_>) -> Value {
    let mut body = json!({
        "model": call.model,
        "messages": messages(call.prompt),
        "stream": true,
        "max_tokens": call.limits.max_output_tokens,
    });
    if !call.prompt.head.is_empty() {
        body["system"] = json!([marked(&call.prompt.head)]);
    }
    body
}

/// The last turns with something stable are marked: a mark covers all that stands before it.
fn messages(prompt: &Prompt) -> Vec<Value> {
    let stable = prompt.turns.iter().filter(|turn| turn.stable > 0).count();
    let mut unmarked = stable.saturating_sub(MARKS - 1);
    let message = |turn: &Turn| {
        let content = match turn.parts() {
            _ if turn.stable == 0 => vec![block(&turn.text)],
            _ if unmarked > 0 => {
                unmarked -= 1;
                vec![block(&turn.text)]
            }
            Some((before, after)) => vec![marked(before), block(after)],
            None if turn.stable >= turn.text.len() && !turn.text.is_empty() => vec![marked(&turn.text)],
            None => vec![block(&turn.text)],
        };
        json!({"role": turn.role.as_str(), "content": content})
    };
    prompt.turns.iter().map(message).collect()
}

fn block(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn marked(text: &str) -> Value {
    json!({"type": "text", "text": text, "cache_control": {"type": "ephemeral"}})
}

pub(super) struct Decoder;

impl Decode for Decoder {
    fn event(&mut self, event: &str, value: &Value) -> Result<Piece, Odd> {
        match value["type"].as_str().unwrap_or(event) {
            "message_start" => {
                let message = &value["message"];
                let (model, tokens) = (name(&message["model"]), tokens(&message["usage"]));
                Ok(Piece { model, tokens, ..Piece::default() })
            }
            "content_block_start" => content(&value["content_block"]),
            "content_block_delta" => content(&value["delta"]),
            "message_delta" => {
                let (stop, tokens) = (stop(&value["delta"]["stop_reason"])?, tokens(&value["usage"]));
                Ok(Piece { stop, tokens, ..Piece::default() })
            }
            "message_stop" => Ok(Piece { ended: true, ..Piece::default() }),
            "content_block_stop" | "ping" => Ok(Piece::default()),
            _ if value["type"].is_string() => Ok(Piece::default()),
            _ => Err(Odd::Malformed),
        }
    }

    fn document(&mut self, value: &Value) -> Option<Result<Piece, Odd>> {
        (value["type"] == "message").then(|| message(value))
    }

    fn reasons(&self) -> &'static [(&'static str, Meaning)] {
        &[
            ("end_turn", Meaning::Whole),
            ("stop_sequence", Meaning::Whole),
            ("tool_use", Meaning::Tools),
            ("max_tokens", Meaning::OutputLimit),
            ("model_context_window_exceeded", Meaning::OutputLimit),
            ("refusal", Meaning::Filter),
        ]
    }

    fn end(&self) -> End {
        End::Mark
    }
}

fn message(value: &Value) -> Result<Piece, Odd> {
    let mut whole = Piece {
        ended: true,
        stop: stop(&value["stop_reason"])?,
        tokens: tokens(&value["usage"]),
        model: name(&value["model"]),
        ..Piece::default()
    };
    for block in list(&value["content"])? {
        let piece = content(block)?;
        whole.text.push_str(&piece.text);
        whole.tools |= piece.tools;
        whole.at_work |= piece.at_work;
    }
    Ok(whole)
}

/// A block's start, a block, or a delta of one.
fn content(holder: &Value) -> Result<Piece, Odd> {
    let kind = holder["type"].as_str().ok_or(Odd::Malformed)?;
    match kind {
        "text" | "text_delta" => Ok(Piece { text: text(&holder["text"])?.to_owned(), ..Piece::default() }),
        "tool_use" | "input_json_delta" => Ok(Piece { tools: true, ..Piece::default() }),
        // Thinking, its signature, and what later versions may bring: work, but no text.
        _ => Ok(Piece { at_work: true, ..Piece::default() }),
    }
}

/// Tokens written to the cache and read from it are not in `input_tokens`.
fn tokens(usage: &Value) -> Tokens {
    let count = |name: &str| usage[name].as_u64();
    let cached = count("cache_read_input_tokens");
    let beside = count("cache_creation_input_tokens").unwrap_or(0).saturating_add(cached.unwrap_or(0));
    Tokens {
        input: count("input_tokens").map(|input| input.saturating_add(beside)),
        output: count("output_tokens"),
        cached,
    }
}
