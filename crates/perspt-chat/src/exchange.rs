//! One question and its answer.

use perspt_model::{Turn, estimate_tokens};

/// What a conversation consists of. There is none without a whole answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    /// What the user said. More than one where earlier messages had got no answer.
    pub messages: Vec<String>,
    /// What the model said.
    pub answer: String,
    /// The model that said it, as it was asked for.
    pub model: String,
}

impl Exchange {
    /// What the user said, as it is sent: roles must alternate, so several messages are one turn.
    pub fn message(&self) -> String {
        joined(&self.messages)
    }

    /// The two turns.
    pub fn turns(&self) -> [Turn; 2] {
        [Turn::user(self.message()), Turn::assistant(self.answer.clone())]
    }

    pub(crate) fn estimated_tokens(&self) -> u64 {
        self.turns().iter().map(|turn| estimate_tokens(&turn.text)).sum()
    }
}

/// Several messages as one.
pub(crate) fn joined(messages: &[String]) -> String {
    messages.join("\n\n")
}
