//! What can go wrong outside any answer, reading or decision.

use perspt_core::event::{Trouble, Unknown};
use perspt_core::path::RelPath;
use perspt_sandbox::SandboxError;
use perspt_sandbox::slot::{BadTarget, SlotError, WalkError};
use perspt_store::StoreError;

use crate::tree::MissingBytes;

/// A failure of perspt or of the machine under it.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// Log, blobs, journal, locks.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The runner.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// The slot.
    #[error(transparent)]
    Slot(#[from] SlotError),
    /// The workspace cannot be read.
    #[error(transparent)]
    Walk(#[from] WalkError),
    /// Commands had no room to write.
    #[error("{} has {left} bytes left: results measured there say nothing about the code", .folder.display())]
    NoSpace {
        /// The slot.
        folder: std::path::PathBuf,
        /// Bytes that can still be written.
        left: u64,
    },
    /// The workspace's path leads to another folder than the one that is locked.
    #[error("{} is another folder than when perspt began, with the same files", .0.display())]
    Replaced(std::path::PathBuf),
    /// A folder, socket or the like is where a file is to be written.
    #[error("`{0}` is a folder or something else that perspt does not write over")]
    InTheWay(RelPath),
    /// A blob does not hold what its event says.
    #[error("the blob of {what} cannot be read: {why}")]
    Blob {
        /// What it should hold.
        what: &'static str,
        /// Why it does not.
        why: String,
    },
    /// The log holds an event that this program is too old for.
    #[error("the session was written by a newer perspt: record {seq}: {unknown}")]
    TooNew {
        /// Which record.
        seq: u64,
        /// What is not known.
        unknown: Unknown,
    },
    /// The session has no first event: it never began.
    #[error("the session has no events: it was never begun")]
    NeverBegun,
    /// The model cannot be asked, and nothing was recorded.
    #[error("{}: {}", .0.what, .0.why)]
    NotReady(Trouble),
    /// Nothing is running, nothing is due and the session has not ended.
    #[error("BUG: the session has nothing to do and has not ended ({0})")]
    Stuck(String),
}

/// Why an effect gave no outcome of its own.
pub(crate) enum EffectError {
    /// It was cancelled.
    Cancelled,
    /// The user changed the tree that it works on.
    BaseMoved,
    /// perspt or the machine failed.
    Failed(AgentError),
}

impl From<MissingBytes> for EffectError {
    fn from(MissingBytes: MissingBytes) -> EffectError {
        EffectError::BaseMoved
    }
}

impl<E: Into<AgentError>> From<E> for EffectError {
    fn from(error: E) -> EffectError {
        match error.into() {
            // The path rules refuse such a path in an answer, so the user made what is in its way.
            AgentError::Slot(
                SlotError::BaseGone { .. } | SlotError::BadTarget { why: BadTarget::BelowFile, .. },
            ) => EffectError::BaseMoved,
            other => EffectError::Failed(other),
        }
    }
}
