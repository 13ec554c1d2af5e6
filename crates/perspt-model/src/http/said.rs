//! An answer while it grows, and what it adds up to.

use serde_json::Value;

use super::sse::SseEvent;
use crate::ask::{Chunks, StopReason, Usage};
use crate::error::ModelError;
use crate::key::Censor;
use crate::protocol::{Decode, End, Meaning, Odd, Piece, Protocol, ProviderError, Tokens, provider_error};

/// What a piece of the response brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Nothing that counts: a ping, an empty piece, part of an event.
    Nothing,
    /// Text, reasoning, or another sign that the model is at work.
    Content,
    /// The end mark.
    Done,
}

/// An answer while it grows.
pub(crate) struct Said {
    decoder: Box<dyn Decode + Send>,
    text: String,
    stop: Option<String>,
    ended: bool,
    tokens: Tokens,
    model: Option<String>,
    asked_for_tools: bool,
    max_bytes: usize,
    censor: Censor,
}

/// A whole answer without its times.
pub(crate) struct Whole {
    pub(crate) text: String,
    pub(crate) stop: StopReason,
    pub(crate) usage: Option<Usage>,
    pub(crate) model: Option<String>,
}

impl Said {
    pub(crate) fn new(protocol: Protocol, max_bytes: usize, censor: Censor) -> Said {
        Said {
            decoder: protocol.decoder(),
            text: String::new(),
            stop: None,
            ended: false,
            tokens: Tokens::default(),
            model: None,
            asked_for_tools: false,
            max_bytes,
            censor,
        }
    }

    /// Whether all is there that makes an answer.
    pub(crate) fn is_whole(&self) -> bool {
        self.stop.is_some()
            && match self.decoder.end() {
                End::Stop => true,
                End::Mark => self.ended,
            }
    }

    /// Takes one event of a stream.
    pub(crate) fn event(
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
        if let Some(error) = value.as_ref().and_then(provider_error) {
            return Err(self.in_band(error));
        }
        if event.name == "error" {
            return Err(self.in_band(ProviderError { message: data.to_owned(), code: None }));
        }
        let value = value.ok_or_else(|| self.malformed(data))?;
        let read = self.decoder.event(&event.name, &value);
        self.take(read, data, chunks)
    }

    /// Takes a whole answer from a server that does not stream. `None` where it is not of this protocol.
    pub(crate) fn document(
        &mut self,
        value: &Value,
        chunks: &mut (dyn Chunks + Send),
    ) -> Option<Result<Progress, ModelError>> {
        if let Some(error) = provider_error(value) {
            return Some(Err(self.in_band(error)));
        }
        let read = self.decoder.document(value)?;
        Some(self.take(read, &value.to_string(), chunks))
    }

    /// What it all adds up to.
    pub(crate) fn outcome(self) -> Result<Whole, ModelError> {
        let usage = self.usage();
        let reason = self.stop.unwrap_or_default();
        let known = self.decoder.reasons().iter().find(|(name, _)| reason.eq_ignore_ascii_case(name));
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
        Ok(Whole { text: self.text, stop, usage, model: self.model })
    }

    fn take(
        &mut self,
        read: Result<Piece, Odd>,
        source: &str,
        chunks: &mut (dyn Chunks + Send),
    ) -> Result<Progress, ModelError> {
        let piece = match read {
            Ok(piece) => piece,
            Err(Odd::Malformed) => return Err(self.malformed(source)),
            Err(Odd::Error(error)) => return Err(self.in_band(error)),
            Err(Odd::Filtered) => return Err(ModelError::Filtered { usage: self.usage() }),
        };
        // Text after the end cannot belong to this answer.
        if self.stop.is_some() && !piece.text.is_empty() {
            return Err(self.malformed(source));
        }
        let content = piece.is_content();
        self.asked_for_tools |= piece.tools;
        self.tokens.merge(piece.tokens);
        if self.model.is_none() {
            self.model = piece.model.map(|name| self.censor.excerpt(&name));
        }
        if !piece.text.is_empty() {
            if self.text.len().saturating_add(piece.text.len()) > self.max_bytes {
                return Err(ModelError::TooLarge { limit: self.max_bytes });
            }
            self.text.push_str(&piece.text);
            chunks.chunk(&piece.text);
        }
        // A repeated end changes nothing.
        self.stop = self.stop.take().or(piece.stop);
        self.ended |= piece.ended;
        Ok(match (piece.ended, content) {
            (true, _) => Progress::Done,
            (false, true) => Progress::Content,
            (false, false) => Progress::Nothing,
        })
    }

    fn usage(&self) -> Option<Usage> {
        let Tokens { input, output, cached } = self.tokens;
        Some(Usage { input: input?, output: output.unwrap_or(0), cached: cached.unwrap_or(0) })
    }

    fn malformed(&self, text: &str) -> ModelError {
        ModelError::MalformedEvent { excerpt: self.censor.excerpt(text) }
    }

    fn in_band(&self, error: ProviderError) -> ModelError {
        let code = error.code.map(|code| self.censor.excerpt(&code));
        ModelError::InBand { message: self.censor.excerpt(&error.message), code }
    }
}
