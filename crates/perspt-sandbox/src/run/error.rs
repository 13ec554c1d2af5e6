//! What can go wrong with a run that is not the command's own doing.

use std::io;
use std::path::PathBuf;

/// The runner could not do its part. A command that fails, or cannot be started, is a [`super::Ran`].
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The helper program did not start.
    #[error("the helper {} could not be started", .path.display())]
    Helper {
        /// The program.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The helper was killed, or ended without saying how the command ended.
    #[error("the helper was lost: {0}")]
    HelperLost(String),
    /// The connection to the helper failed.
    #[error("talking to the helper failed while {doing}")]
    Link {
        /// What was being done.
        doing: &'static str,
        /// The system's reason.
        source: io::Error,
    },
    /// A step of the set-up was refused; nothing was started.
    #[error("the sandbox could not be set up: {step}: {why}")]
    SetUp {
        /// What was tried.
        step: String,
        /// What came back.
        why: String,
    },
    /// The command was to see folders at other places, and this machine gives no mount namespace.
    #[error("folders were to be shown at other places, and there is no mount namespace")]
    NoMountNamespace,
    /// A report file of an earlier run could not be deleted.
    #[error("the old report {} could not be deleted", .path.display())]
    OldReport {
        /// The file, as perspt sees it.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}
