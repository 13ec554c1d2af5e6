//! What an event can mean, in the words of no protocol.

use serde_json::Value;

use super::trouble::ProviderError;

/// Takes a protocol's events and documents apart. An error object of the usual form is found before it is called.
pub(crate) trait Decode {
    /// One event of a stream.
    fn event(&mut self, name: &str, value: &Value) -> Result<Piece, Odd>;

    /// A whole answer from a server that does not stream. `None` where it is no document of this protocol.
    fn document(&mut self, value: &Value) -> Option<Result<Piece, Odd>>;

    /// What its stop reasons mean. One that is not here makes no answer: something may be missing.
    fn reasons(&self) -> &'static [(&'static str, Meaning)];

    /// What ends an answer.
    fn end(&self) -> End;
}

/// An event that brings no piece of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Odd {
    /// It is not of this protocol.
    Malformed,
    /// It tells of an error.
    Error(ProviderError),
    /// The provider will not answer this prompt.
    Filtered,
}

/// What ends an answer besides its stop reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// Nothing: with the stop reason the answer is whole. An end mark may follow and brings nothing.
    Stop,
    /// An end mark must follow.
    Mark,
}

/// What a stop reason means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    Whole,
    Tools,
    OutputLimit,
    Filter,
    Trouble,
}

/// What one event brought.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Piece {
    /// Text of the answer.
    pub(crate) text: String,
    /// Reasoning came, or another sign that the model is at work.
    pub(crate) at_work: bool,
    /// A tool was asked for.
    pub(crate) tools: bool,
    /// The stop reason.
    pub(crate) stop: Option<String>,
    /// The end mark.
    pub(crate) ended: bool,
    /// Tokens, as far as this event tells them.
    pub(crate) tokens: Tokens,
    /// The model's name.
    pub(crate) model: Option<String>,
}

impl Piece {
    /// Whether it counts as activity.
    pub(crate) fn is_content(&self) -> bool {
        !self.text.is_empty() || self.at_work || self.tools
    }
}

/// Token counts that may come apart. A later number replaces an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Tokens {
    pub(crate) input: Option<u64>,
    pub(crate) output: Option<u64>,
    pub(crate) cached: Option<u64>,
}

impl Tokens {
    pub(crate) fn merge(&mut self, later: Tokens) {
        self.input = later.input.or(self.input);
        self.output = later.output.or(self.output);
        self.cached = later.cached.or(self.cached);
    }
}

/// A name that is there and not empty.
pub(crate) fn name(value: &Value) -> Option<String> {
    value.as_str().filter(|name| !name.is_empty()).map(str::to_owned)
}

/// A stop reason: absent, there, or of a type that it cannot have.
pub(crate) fn stop(value: &Value) -> Result<Option<String>, Odd> {
    match value {
        Value::Null => Ok(None),
        Value::String(reason) => Ok(Some(reason.clone()).filter(|reason| !reason.is_empty())),
        _ => Err(Odd::Malformed),
    }
}

/// A list, empty where it is absent. `Malformed` where it is something else.
pub(crate) fn list(value: &Value) -> Result<&[Value], Odd> {
    match value {
        Value::Null => Ok(&[]),
        Value::Array(items) => Ok(items),
        _ => Err(Odd::Malformed),
    }
}

/// A text, empty where it is absent. `Malformed` where it is something else.
pub(crate) fn text(value: &Value) -> Result<&str, Odd> {
    match value {
        Value::Null => Ok(""),
        Value::String(text) => Ok(text),
        _ => Err(Odd::Malformed),
    }
}
