//! OpenAI's chat completions, as OpenAI speaks them and many others after it.

use serde_json::{Value, json};

use super::piece::{Decode, End, Meaning, Odd, Piece, Tokens, name, stop};
use super::{Call, Choice, messages};
use crate::catalog::StreamUsage;

pub(super) fn segments() -> Vec<String> {
    ["chat", "completions"].map(str::to_owned).to_vec()
}

pub(super) fn body(call: &Call<'_>) -> Value {
    let mut body = json!({
        "model": call.model,
        "messages": messages(call.prompt),
        "stream": true,
    });
    match call.choice {
        Choice::Usual => {}
        Choice::Likeliest => body["temperature"] = json!(0),
    }
    match call.stream_usage {
        StreamUsage::Asked => body["stream_options"] = json!({"include_usage": true}),
        StreamUsage::Unasked => {}
    }
    body[call.limit_name.as_str()] = Value::from(call.limits.max_output_tokens);
    body
}

pub(super) struct Decoder;

impl Decode for Decoder {
    fn event(&mut self, _: &str, value: &Value) -> Result<Piece, Odd> {
        if value["type"] == "ping" {
            return Ok(Piece::default());
        }
        part(value, "delta")
    }

    fn document(&mut self, value: &Value) -> Option<Result<Piece, Odd>> {
        value["choices"].is_array().then(|| part(value, "message"))
    }

    fn reasons(&self) -> &'static [(&'static str, Meaning)] {
        &[
            ("stop", Meaning::Whole),
            ("end_turn", Meaning::Whole),
            ("eos", Meaning::Whole),
            ("eos_token", Meaning::Whole),
            ("stop_sequence", Meaning::Whole),
            ("tool_calls", Meaning::Tools),
            ("function_call", Meaning::Tools),
            ("length", Meaning::OutputLimit),
            ("max_tokens", Meaning::OutputLimit),
            ("model_length", Meaning::OutputLimit),
            ("content_filter", Meaning::Filter),
            ("safety", Meaning::Filter),
            ("error", Meaning::Trouble),
            ("insufficient_system_resource", Meaning::Trouble),
        ]
    }

    fn end(&self) -> End {
        End::Stop
    }
}

/// A completion or a chunk of one.
fn part(value: &Value, holder: &str) -> Result<Piece, Odd> {
    let mut piece =
        Piece { model: name(&value["model"]), tokens: tokens(&value["usage"]), ..Piece::default() };
    let choices = match (&value["choices"], &value["usage"]) {
        (Value::Array(choices), _) => choices.as_slice(),
        // The last chunk of some servers holds the token count and nothing else.
        (Value::Null, Value::Object(_)) => &[],
        _ => return Err(Odd::Malformed),
    };
    // One answer was asked for; another one beside it is not ours.
    if let Some(choice) = choices.iter().find(|choice| choice["index"].as_u64().unwrap_or(0) == 0) {
        said(&mut piece, &choice[holder])?;
        piece.stop = stop(&choice["finish_reason"])?;
    }
    Ok(piece)
}

/// What one message or delta holds.
fn said(piece: &mut Piece, holder: &Value) -> Result<(), Odd> {
    match holder {
        Value::Null => return Ok(()),
        Value::Object(_) => {}
        _ => return Err(Odd::Malformed),
    }
    match &holder["content"] {
        Value::Null => {}
        Value::String(text) => piece.text.push_str(text),
        Value::Array(parts) => parts.iter().for_each(|part| match part["text"].as_str() {
            Some(text) => piece.text.push_str(text),
            None => piece.at_work = true,
        }),
        _ => return Err(Odd::Malformed),
    }
    // A refusal is what the model had to say, so it is its text.
    piece.text.push_str(holder["refusal"].as_str().unwrap_or_default());
    for name in ["reasoning_content", "reasoning"] {
        piece.at_work |= holder[name].as_str().is_some_and(|text| !text.is_empty());
    }
    piece.tools = holder["tool_calls"].as_array().is_some_and(|calls| !calls.is_empty())
        || holder["function_call"].is_object();
    Ok(())
}

/// Some services count reasoning beside what was written, and tell it only in the total.
fn tokens(usage: &Value) -> Tokens {
    let count = |name: &str| usage[name].as_u64();
    let (input, written, total) = (count("prompt_tokens"), count("completion_tokens"), count("total_tokens"));
    let beside = input.zip(total).map(|(input, total)| total.saturating_sub(input));
    let cached = usage["prompt_tokens_details"]["cached_tokens"].as_u64();
    Tokens { input, output: written.max(beside), cached: cached.or_else(|| count("prompt_cache_hit_tokens")) }
}
