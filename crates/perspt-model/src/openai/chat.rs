//! Chat-completion events and documents, and what they add up to.

use serde_json::Value;

use crate::ask::{Chunks, StopReason, Usage};
use crate::error::ModelError;
use crate::key::Censor;
use crate::sse::SseEvent;

/// What a piece of the response brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// Nothing that counts: a ping, an empty piece, part of an event.
    Nothing,
    /// Text, reasoning, or another sign that the model is at work.
    Content,
    /// The end mark.
    Done,
}

/// What a stop reason means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    Whole,
    Tools,
    OutputLimit,
    Filter,
    Trouble,
}

/// Stop reasons in use. One that is not here makes no answer: it may mean that something is missing.
const REASONS: [(&str, Meaning); 14] = [
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
];

/// An answer while it grows.
pub(super) struct Chat {
    text: String,
    reason: Option<String>,
    usage: Option<Usage>,
    model: Option<String>,
    asked_for_tools: bool,
    max_bytes: usize,
    censor: Censor,
}

/// A whole answer without its times.
pub(super) struct ChatText {
    pub(super) text: String,
    pub(super) stop: StopReason,
    pub(super) usage: Option<Usage>,
    pub(super) model: Option<String>,
}

impl Chat {
    pub(super) fn new(max_bytes: usize, censor: Censor) -> Chat {
        Chat {
            text: String::new(),
            reason: None,
            usage: None,
            model: None,
            asked_for_tools: false,
            max_bytes,
            censor,
        }
    }

    pub(super) fn has_stopped(&self) -> bool {
        self.reason.is_some()
    }

    /// Takes one event of a stream.
    pub(super) fn event(
        &mut self,
        event: &SseEvent,
        chunks: &mut (dyn Chunks + Send),
    ) -> Result<Progress, ModelError> {
        let Ok(data) = std::str::from_utf8(&event.data) else {
            return Err(self.malformed(&String::from_utf8_lossy(&event.data)));
        };
        let data = data.trim();
        if data == "[DONE]" {
            return Ok(Progress::Done);
        }
        if data.is_empty() {
            return Ok(Progress::Nothing);
        }
        let value: Option<Value> = serde_json::from_str(data).ok();
        let error = value.as_ref().and_then(provider_error);
        if let Some(error) = error {
            return Err(self.in_band(error));
        }
        if event.name == "error" {
            return Err(self.in_band(ProviderError { message: data.to_owned(), code: None }));
        }
        match value {
            Some(value) if value["type"] == "ping" => Ok(Progress::Nothing),
            Some(value) => self.part(&value, "delta", chunks).ok_or_else(|| self.malformed(data))?,
            None => Err(self.malformed(data)),
        }
    }

    /// Whether this looks like a document of this protocol.
    pub(super) fn is_document(value: &Value) -> bool {
        provider_error(value).is_some() || value["choices"].is_array()
    }

    /// Takes a whole completion from a server that does not stream.
    pub(super) fn document(
        &mut self,
        value: &Value,
        chunks: &mut (dyn Chunks + Send),
    ) -> Result<(), ModelError> {
        if let Some(error) = provider_error(value) {
            return Err(self.in_band(error));
        }
        let taken = self.part(value, "message", chunks);
        taken.unwrap_or_else(|| Err(self.malformed(&value.to_string()))).map(|_| ())
    }

    /// What it all adds up to.
    pub(super) fn outcome(self) -> Result<ChatText, ModelError> {
        let usage = self.usage;
        let reason = self.reason.unwrap_or_default();
        let known = REASONS.iter().find(|(name, _)| reason.eq_ignore_ascii_case(name));
        let stop = match known.map(|(_, meaning)| meaning) {
            Some(Meaning::Whole | Meaning::Tools) if self.text.is_empty() && self.asked_for_tools => {
                return Err(ModelError::OnlyToolCalls { usage });
            }
            Some(Meaning::Whole) => StopReason::End,
            Some(Meaning::Tools) if self.text.is_empty() => return Err(ModelError::OnlyToolCalls { usage }),
            Some(Meaning::Tools) => StopReason::ToolCalls,
            Some(Meaning::OutputLimit) => return Err(ModelError::OutputLimit { usage }),
            Some(Meaning::Filter) => return Err(ModelError::Filtered { usage }),
            Some(Meaning::Trouble) => {
                let message = "the model stopped because of trouble on the provider's side".to_owned();
                return Err(ModelError::InBand { message, code: Some(self.censor.excerpt(&reason)) });
            }
            None => return Err(ModelError::UnknownStop { reason: self.censor.excerpt(&reason), usage }),
        };
        Ok(ChatText { text: self.text, stop, usage, model: self.model })
    }

    /// Takes a completion or a chunk of one. `None` where it is not of this protocol.
    fn part(
        &mut self,
        value: &Value,
        holder: &str,
        chunks: &mut (dyn Chunks + Send),
    ) -> Option<Result<Progress, ModelError>> {
        if self.model.is_none() {
            let name = value["model"].as_str().filter(|name| !name.is_empty());
            self.model = name.map(|name| self.censor.excerpt(name));
        }
        if let Some(usage) = usage(&value["usage"]) {
            self.usage = Some(usage);
        }
        let choices = match (&value["choices"], &value["usage"]) {
            (Value::Array(choices), _) => choices.as_slice(),
            // The last chunk of some servers holds the token count and nothing else.
            (Value::Null, Value::Object(_)) => &[],
            _ => return None,
        };
        // One answer was asked for; another one beside it is not ours.
        let Some(choice) = choices.iter().find(|choice| choice["index"].as_u64().unwrap_or(0) == 0) else {
            return Some(Ok(Progress::Nothing));
        };
        let said = Piece::read(&choice[holder])?;
        if self.has_stopped() && !said.text.is_empty() {
            return None;
        }
        let progress = if said.is_empty() { Progress::Nothing } else { Progress::Content };
        self.asked_for_tools |= said.tools;
        if !said.text.is_empty() {
            if self.text.len().saturating_add(said.text.len()) > self.max_bytes {
                return Some(Err(ModelError::TooLarge { limit: self.max_bytes }));
            }
            self.text.push_str(&said.text);
            chunks.chunk(&said.text);
        }
        match &choice["finish_reason"] {
            Value::Null => {}
            Value::String(reason) if reason.is_empty() => {}
            // A repeated end changes nothing.
            Value::String(reason) => drop(self.reason.get_or_insert_with(|| reason.clone())),
            _ => return None,
        }
        Some(Ok(progress))
    }

    fn malformed(&self, text: &str) -> ModelError {
        ModelError::MalformedEvent { excerpt: self.censor.excerpt(text) }
    }

    fn in_band(&self, error: ProviderError) -> ModelError {
        let code = error.code.map(|code| self.censor.excerpt(&code));
        ModelError::InBand { message: self.censor.excerpt(&error.message), code }
    }
}

/// What one message or delta holds.
#[derive(Default)]
struct Piece {
    text: String,
    reasons: bool,
    tools: bool,
}

impl Piece {
    /// `None` where a field has a type it cannot have.
    fn read(holder: &Value) -> Option<Piece> {
        let mut piece = Piece::default();
        match holder {
            Value::Null => return Some(piece),
            Value::Object(_) => {}
            _ => return None,
        }
        match &holder["content"] {
            Value::Null => {}
            Value::String(text) => piece.text.push_str(text),
            Value::Array(parts) => parts.iter().for_each(|part| piece.add_part(part)),
            _ => return None,
        }
        // A refusal is what the model had to say, so it is its text.
        piece.text.push_str(holder["refusal"].as_str().unwrap_or_default());
        for name in ["reasoning_content", "reasoning"] {
            piece.reasons |= holder[name].as_str().is_some_and(|text| !text.is_empty());
        }
        piece.tools = holder["tool_calls"].as_array().is_some_and(|calls| !calls.is_empty())
            || holder["function_call"].is_object();
        Some(piece)
    }

    fn add_part(&mut self, part: &Value) {
        match part["text"].as_str() {
            Some(text) => self.text.push_str(text),
            None => self.reasons = true,
        }
    }

    fn is_empty(&self) -> bool {
        self.text.is_empty() && !self.reasons && !self.tools
    }
}

/// An error as a provider words it.
pub(super) struct ProviderError {
    pub(super) message: String,
    pub(super) code: Option<String>,
}

/// Finds an error object: `{"error": {…}}`, `{"error": "…"}`, or an object that calls itself an error.
pub(super) fn provider_error(value: &Value) -> Option<ProviderError> {
    let error = match &value["error"] {
        Value::Null if value["object"] == "error" || value["type"] == "error" => value,
        Value::Null => return None,
        error => error,
    };
    let message = match (error, &error["message"]) {
        (Value::String(message), _) | (_, Value::String(message)) => message.clone(),
        _ => error.to_string(),
    };
    let code = [&error["code"], &error["type"]].into_iter().find_map(|code| match code {
        Value::String(code) if !code.is_empty() => Some(code.clone()),
        Value::Number(code) => Some(code.to_string()),
        _ => None,
    });
    Some(ProviderError { message, code })
}

fn usage(value: &Value) -> Option<Usage> {
    let cached = value["prompt_tokens_details"]["cached_tokens"]
        .as_u64()
        .or_else(|| value["prompt_cache_hit_tokens"].as_u64())
        .unwrap_or(0);
    Some(Usage {
        input: value["prompt_tokens"].as_u64()?,
        output: value["completion_tokens"].as_u64().unwrap_or(0),
        cached,
    })
}
