//! What can go wrong outside any answer, reading or decision.

use perspt_core::event::{Trouble, Unknown};
use perspt_core::path::RelPath;
use perspt_sandbox::SandboxError;
use perspt_sandbox::slot::{SlotError, WalkError};
use perspt_store::StoreError;

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
    #[error("{} has {left} bytes left: what was measured there says nothing of the code", .folder.display())]
    NoSpace {
        /// The slot.
        folder: std::path::PathBuf,
        /// Bytes that can still be written.
        left: u64,
    },
    /// The folder that is held is not the one at the workspace's path any more.
    #[error("{} is another folder than when perspt began, with the same files", .0.display())]
    Replaced(std::path::PathBuf),
    /// Something that is no part of the tree is where a file is to be written.
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
