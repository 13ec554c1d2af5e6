//! A step of the set-up that the kernel refused, in a form that crosses the process border.

use std::fmt::Display;

use serde::{Deserialize, Serialize};

/// What was tried and what the kernel said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Failed {
    /// What was tried.
    pub step: String,
    /// What came back.
    pub why: String,
}

impl Failed {
    /// A failure of `step`.
    pub(crate) fn new(step: impl Into<String>, why: impl Display) -> Failed {
        Failed { step: step.into(), why: why.to_string() }
    }
}

/// Names the step that an error came from.
pub(crate) trait NameStep<T> {
    /// Turns the error into a [`Failed`] with the step's name.
    fn step(self, name: impl FnOnce() -> String) -> Result<T, Failed>;
}

impl<T, E: Display> NameStep<T> for Result<T, E> {
    fn step(self, name: impl FnOnce() -> String) -> Result<T, Failed> {
        self.map_err(|error| Failed::new(name(), error))
    }
}
