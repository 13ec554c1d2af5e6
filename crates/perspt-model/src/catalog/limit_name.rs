//! What differs from model to model in a chat completion.

use serde::Deserialize;

/// The parameter that holds the output limit in a chat completion. The other protocols have one name each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitName {
    /// The older name, which compatible servers understand.
    #[default]
    MaxTokens,
    /// The name that newer models of OpenAI demand.
    MaxCompletionTokens,
}

impl LimitName {
    /// The word in the request.
    pub fn as_str(self) -> &'static str {
        match self {
            LimitName::MaxTokens => "max_tokens",
            LimitName::MaxCompletionTokens => "max_completion_tokens",
        }
    }
}

/// How a service comes to count tokens in a streamed chat completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StreamUsage {
    /// It is asked to, by `stream_options`.
    #[default]
    Asked,
    /// It counts by itself, or refuses that field.
    Unasked,
}
