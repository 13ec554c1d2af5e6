//! OpenAI's responses.

use serde_json::{Value, json};

use super::piece::{Decode, End, Meaning, Odd, Piece, Tokens, list, name, text};
use super::trouble::ProviderError;
use super::{Call, turns};

pub(super) fn segments() -> Vec<String> {
    vec!["responses".to_owned()]
}

/// Nothing is to be kept at the provider: a later call sends what it needs again.
pub(super) fn body(call: &Call<'_>) -> Value {
    let mut body = json!({
        "model": call.model,
        "input": turns(call.prompt).collect::<Vec<_>>(),
        "stream": true,
        "store": false,
        "max_output_tokens": call.limits.max_output_tokens,
    });
    if !call.prompt.head.is_empty() {
        body["instructions"] = Value::from(call.prompt.head.as_str());
    }
    body
}

#[derive(Default)]
pub(super) struct Decoder {
    /// Whether text came in pieces. Servers that send none tell it only at the end.
    saw_text: bool,
}

impl Decode for Decoder {
    fn event(&mut self, event: &str, value: &Value) -> Result<Piece, Odd> {
        let kind = value["type"].as_str().unwrap_or(event);
        match kind {
            "response.output_text.delta" | "response.refusal.delta" => {
                let text = text(&value["delta"])?.to_owned();
                self.saw_text |= !text.is_empty();
                Ok(Piece { text, ..Piece::default() })
            }
            "response.completed" | "response.incomplete" | "response.failed" | "response.cancelled" => {
                let mut piece = whole(&value["response"])?;
                if self.saw_text {
                    piece.text.clear();
                }
                Ok(piece)
            }
            "response.created" | "response.in_progress" | "response.queued" => {
                Ok(Piece { model: name(&value["response"]["model"]), ..Piece::default() })
            }
            // Reasoning and calls of tools; what merely opens or closes a part is no content.
            kind if kind.starts_with("response.") => {
                let at_work = kind.ends_with(".delta") && !text(&value["delta"])?.is_empty();
                let tools = kind == "response.output_item.added" && is_call(&value["item"]);
                Ok(Piece { at_work, tools, ..Piece::default() })
            }
            "ping" | "keepalive" => Ok(Piece::default()),
            _ => Err(Odd::Malformed),
        }
    }

    fn document(&mut self, value: &Value) -> Option<Result<Piece, Odd>> {
        (value["object"] == "response" || value["output"].is_array()).then(|| whole(value))
    }

    fn reasons(&self) -> &'static [(&'static str, Meaning)] {
        &[
            ("completed", Meaning::Whole),
            ("max_output_tokens", Meaning::OutputLimit),
            ("max_tokens", Meaning::OutputLimit),
            ("content_filter", Meaning::Filter),
            ("cancelled", Meaning::Trouble),
            ("failed", Meaning::Trouble),
        ]
    }

    fn end(&self) -> End {
        End::Stop
    }
}

/// A response that is over, or claims to be.
fn whole(response: &Value) -> Result<Piece, Odd> {
    if !response["error"].is_null() {
        return Err(Odd::Error(ProviderError::read(&response["error"])));
    }
    let usage = &response["usage"];
    let status = name(&response["status"]);
    let stop = match status.as_deref() {
        Some("incomplete") => {
            name(&response["incomplete_details"]["reason"]).or_else(|| Some("incomplete".to_owned()))
        }
        Some("in_progress" | "queued") | None => None,
        Some(_) => status,
    };
    let mut piece = Piece {
        ended: stop.is_some(),
        stop,
        model: name(&response["model"]),
        tokens: Tokens {
            input: usage["input_tokens"].as_u64(),
            output: usage["output_tokens"].as_u64(),
            cached: usage["input_tokens_details"]["cached_tokens"].as_u64(),
        },
        ..Piece::default()
    };
    for item in list(&response["output"])? {
        piece.tools |= is_call(item);
        for part in list(&item["content"])?.iter().filter(|_| item["type"] == "message") {
            piece.text.push_str(text(&part["text"])?);
            piece.text.push_str(text(&part["refusal"])?);
        }
    }
    Ok(piece)
}

fn is_call(item: &Value) -> bool {
    item["type"].as_str().is_some_and(|kind| kind.ends_with("_call"))
}
