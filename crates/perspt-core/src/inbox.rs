//! What another process may ask of the owner of a session. Only the owner appends to the log.

use serde::{Deserialize, Serialize};

use crate::event::Decision;
use crate::hash::Sha;

/// A message to the owner of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "ask")]
pub enum Message {
    /// End the session.
    Abort {
        /// Who asks, for people.
        by: String,
    },
    /// The answer to a question that the session waits with.
    Answer {
        /// The question, by the hash of its effect: an answer never counts for another question.
        question: Sha,
        /// The answer.
        decision: Decision,
        /// Who answers, for people.
        by: String,
    },
}
