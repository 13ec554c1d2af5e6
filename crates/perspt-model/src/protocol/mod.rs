//! The protocols, each in one file: what is asked (`segments`, `body`) and what an event of the answer means.
//!
//! A decoder is pure: an event in, a [`Piece`] or an [`Odd`] out. Bytes, times and limits are the business of `http`.

mod anthropic;
mod gemini;
mod ollama;
mod openai_chat;
mod openai_responses;
mod piece;
mod trouble;

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};

use crate::ask::CallLimits;
use crate::catalog::{LimitName, StreamUsage};
use crate::error::ModelError;
use crate::key::Key;
use crate::prompt::Prompt;

pub(crate) use piece::{Decode, End, Meaning, Odd, Piece, Tokens};
pub(crate) use trouble::{ProviderError, api_key_is_invalid, provider_error, retry_delay};

/// A protocol by which a model can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// OpenAI's chat completions, which many others speak too.
    OpenAiChat,
    /// OpenAI's responses.
    OpenAiResponses,
    /// Anthropic's messages.
    Anthropic,
    /// Gemini's streamed content.
    Gemini,
    /// Ollama's own chat.
    Ollama,
}

/// How a body is cut into events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Server-sent events, or one JSON document.
    Events,
    /// One JSON object a line.
    Lines,
}

/// How a model chooses its words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Choice {
    /// As its provider has it. Some models refuse to be told.
    #[default]
    Usual,
    /// Always the likeliest one. Small models on this machine go astray less often so.
    Likeliest,
}

/// What a request is made of.
pub(crate) struct Call<'a> {
    pub(crate) model: &'a str,
    pub(crate) prompt: &'a Prompt,
    pub(crate) limits: &'a CallLimits,
    pub(crate) limit_name: LimitName,
    pub(crate) stream_usage: StreamUsage,
    pub(crate) choice: Choice,
    pub(crate) num_ctx: Option<u32>,
}

impl Protocol {
    /// Every protocol.
    pub const ALL: [Protocol; 5] = [
        Protocol::OpenAiChat,
        Protocol::OpenAiResponses,
        Protocol::Anthropic,
        Protocol::Gemini,
        Protocol::Ollama,
    ];

    /// The word in files and lines.
    pub fn as_str(self) -> &'static str {
        match self {
            Protocol::OpenAiChat => "openai-chat",
            Protocol::OpenAiResponses => "openai-responses",
            Protocol::Anthropic => "anthropic",
            Protocol::Gemini => "gemini",
            Protocol::Ollama => "ollama",
        }
    }

    /// The protocol of this word.
    pub fn parse(word: &str) -> Option<Protocol> {
        Protocol::ALL.into_iter().find(|protocol| protocol.as_str() == word)
    }

    /// What comes after the base URL's path. A first segment that the base URL already ends with is not repeated.
    pub(crate) fn segments(self, model: &str) -> Vec<String> {
        match self {
            Protocol::OpenAiChat => openai_chat::segments(),
            Protocol::OpenAiResponses => openai_responses::segments(),
            Protocol::Anthropic => anthropic::segments(),
            Protocol::Gemini => gemini::segments(model),
            Protocol::Ollama => ollama::segments(),
        }
    }

    /// What is added to the query.
    pub(crate) fn query(self) -> Option<(&'static str, &'static str)> {
        match self {
            Protocol::Gemini => Some(("alt", "sse")),
            Protocol::OpenAiChat | Protocol::OpenAiResponses | Protocol::Anthropic | Protocol::Ollama => None,
        }
    }

    /// The headers that are this protocol's own, the key's among them.
    pub(crate) fn headers(self, key: Option<&Key>) -> Result<HeaderMap, ModelError> {
        let mut headers = HeaderMap::new();
        if self == Protocol::Anthropic {
            let (name, version) = anthropic::VERSION;
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(version));
        }
        let Some(key) = key else { return Ok(headers) };
        let (name, value) = match self {
            Protocol::OpenAiChat | Protocol::OpenAiResponses | Protocol::Ollama => {
                (AUTHORIZATION, format!("Bearer {}", key.secret()))
            }
            Protocol::Anthropic => (HeaderName::from_static("x-api-key"), key.secret().to_owned()),
            Protocol::Gemini => (HeaderName::from_static("x-goog-api-key"), key.secret().to_owned()),
        };
        let mut value = HeaderValue::from_str(&value).map_err(|_| ModelError::BadKey)?;
        value.set_sensitive(true);
        headers.insert(name, value);
        Ok(headers)
    }

    /// The request as JSON. No temperature is sent: some models refuse one, and the provider's default is fine.
    pub(crate) fn body(self, call: &Call<'_>) -> Value {
        match self {
            Protocol::OpenAiChat => openai_chat::body(call),
            Protocol::OpenAiResponses => openai_responses::body(call),
            Protocol::Anthropic => anthropic::body(call),
            Protocol::Gemini => gemini::body(call),
            Protocol::Ollama => ollama::body(call),
        }
    }

    /// What takes its events apart.
    pub(crate) fn decoder(self) -> Box<dyn Decode + Send> {
        match self {
            Protocol::OpenAiChat => Box::new(openai_chat::Decoder),
            Protocol::OpenAiResponses => Box::new(openai_responses::Decoder::default()),
            Protocol::Anthropic => Box::new(anthropic::Decoder),
            Protocol::Gemini => Box::new(gemini::Decoder),
            Protocol::Ollama => Box::new(ollama::Decoder),
        }
    }

    pub(crate) fn framing(self) -> Framing {
        match self {
            Protocol::Ollama => Framing::Lines,
            Protocol::OpenAiChat | Protocol::OpenAiResponses | Protocol::Anthropic | Protocol::Gemini => {
                Framing::Events
            }
        }
    }
}

/// Head and turns as the plain messages that several protocols share.
fn messages(prompt: &Prompt) -> Vec<Value> {
    let head = (!prompt.head.is_empty()).then(|| json!({"role": "system", "content": prompt.head}));
    head.into_iter().chain(turns(prompt)).collect()
}

fn turns(prompt: &Prompt) -> impl Iterator<Item = Value> {
    prompt.turns.iter().map(|turn| json!({"role": turn.role.as_str(), "content": turn.text}))
}
