//! Errors as people read them: what happened, why, what to do.

use std::error::Error;
use std::io;
use std::path::Path;

use perspt_core::event::Trouble;
use perspt_sandbox::SandboxError;
use perspt_store::StoreError;
use rustix::io::Errno;

use crate::AgentError;

/// The error for people.
pub fn trouble(error: &AgentError) -> Trouble {
    if let Some(reason) = too_many_files(error) {
        return Trouble {
            what: "the limit of open files is too low".to_owned(),
            why: with_reason(error, reason),
            todo: "raise it (`ulimit -n`), then try again".to_owned(),
        };
    }
    let why = error.to_string();
    let (what, todo) = match error {
        AgentError::Store(StoreError::Held { .. }) => {
            ("another process is at work here", "wait until it ends, or run `perspt abort`")
        }
        AgentError::Store(StoreError::EventTooLong { .. }) => {
            ("a record is too long for the log", "please report this with the session's log")
        }
        AgentError::Store(StoreError::Damaged { .. } | StoreError::Integrity { .. }) => {
            ("perspt's data is damaged", "run `perspt ledger --verify`")
        }
        AgentError::Store(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => (
            "a needed file is missing",
            "put the named file back, then run `perspt resume`; if it is perspt's own data and you have no copy, start a new session",
        ),
        AgentError::Store(_) => (
            "a file could not be written or read",
            "check free space and permissions of the named path, then run `perspt resume`",
        ),
        AgentError::Replaced(_) => {
            ("the workspace was replaced", "run `perspt resume` to go on in the folder that is there now")
        }
        AgentError::InTheWay(_) => {
            ("something else is where a file must be written", "move it away, then run `perspt resume`")
        }
        AgentError::NoSpace { .. } => ("the disk is full", "free some space there, then run `perspt resume`"),
        AgentError::Sandbox(SandboxError::Helper { .. } | SandboxError::HelperLost(_)) => {
            ("the sandbox's helper failed", "run `perspt doctor`")
        }
        AgentError::Sandbox(_) => {
            ("a command could not be started", "check that its folder exists, then run `perspt doctor`")
        }
        AgentError::Slot(_) => (
            "the working copy could not be prepared",
            "check free space and permissions of the data directory",
        ),
        AgentError::Walk(_) => {
            ("the workspace could not be read", "fix the named file, or let git ignore it")
        }
        AgentError::Blob { .. } => ("a stored file is damaged", "run `perspt ledger --verify`"),
        AgentError::TooNew { .. } => {
            ("the session needs a newer perspt", "use the version that wrote it, or a later one")
        }
        AgentError::NeverBegun => ("there is nothing to resume", "start again with `perspt agent`"),
        AgentError::NotReady(trouble) => return trouble.clone(),
        AgentError::Stuck(_) => {
            ("perspt stopped for a reason it does not know", "please report this with the session's log")
        }
    };
    Trouble { what: what.to_owned(), why, todo: todo.to_owned() }
}

/// The operating system's error where too many files are open. The usual advice for the failed action does not help then.
pub fn too_many_files<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e io::Error> {
    let mut chain = std::iter::successors(Some(error), |error| (*error).source());
    let reason = chain.find_map(|error| error.downcast_ref::<io::Error>())?;
    (reason.raw_os_error() == Some(Errno::MFILE.raw_os_error())).then_some(reason)
}

/// The error's message, with the system's reason where it does not contain it.
fn with_reason(error: &AgentError, reason: &io::Error) -> String {
    let (message, reason) = (error.to_string(), reason.to_string());
    if message.contains(&reason) { message } else { format!("{message}: {reason}") }
}

/// The message for a workspace that is gone.
pub(crate) fn workspace_gone(workspace: &Path) -> Option<Trouble> {
    let gone = match workspace.metadata() {
        Ok(metadata) => !metadata.is_dir(),
        Err(error) => matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory),
    };
    gone.then(|| Trouble {
        what: "the workspace is gone".to_owned(),
        why: format!("{} is missing, or is not a folder", workspace.display()),
        todo: "put it back where it was, then run `perspt resume`".to_owned(),
    })
}
