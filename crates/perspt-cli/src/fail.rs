//! Errors as people see them: what happened, why, what to do, and an exit code.

use std::path::Path;

use perspt_agent::AgentError;
use perspt_agent::actor::trouble;
use perspt_core::event::Trouble;
use perspt_core::outcome::Outcome;
use perspt_store::StoreError;

use crate::config;

/// A failure that ends the program.
#[derive(Debug)]
pub struct Failure {
    /// What, why, what to do.
    pub trouble: Trouble,
    /// The exit code.
    pub code: u8,
}

impl Failure {
    /// A failure of the command line, the configuration or the workspace.
    pub fn usage(what: impl Into<String>, why: impl Into<String>, todo: impl Into<String>) -> Failure {
        let trouble = Trouble { what: what.into(), why: why.into(), todo: todo.into() };
        Failure { trouble, code: Outcome::Usage.exit_code() }
    }

    /// A failure inside perspt or the machine.
    pub fn internal(what: impl Into<String>, why: impl Into<String>, todo: impl Into<String>) -> Failure {
        Failure { code: Outcome::InternalError.exit_code(), ..Failure::usage(what, why, todo) }
    }

    /// Because the user said no.
    pub fn refused(what: &str, why: &str, todo: &str) -> Failure {
        Failure { code: Outcome::Refused.exit_code(), ..Failure::usage(what, why, todo) }
    }
}

impl From<AgentError> for Failure {
    fn from(error: AgentError) -> Failure {
        let usage = matches!(
            error,
            AgentError::NotReady(_)
                | AgentError::TooNew { .. }
                | AgentError::NeverBegun
                | AgentError::Store(
                    StoreError::Held { .. } | StoreError::NoSession(_) | StoreError::BadSessionId(_)
                )
        );
        let outcome = if usage { Outcome::Usage } else { Outcome::InternalError };
        let trouble = if let AgentError::Store(error) = &error {
            of_store(error, config::data_dir().as_deref())
        } else {
            trouble(&error)
        };
        Failure { trouble, code: outcome.exit_code() }
    }
}

/// An error of the store, with the advice that fits what it is about.
fn of_store(error: &StoreError, data_dir: Option<&Path>) -> Trouble {
    let (what, todo) = match error {
        StoreError::Held { .. } => ("another process is at work here", "wait for it, or abort it"),
        StoreError::Io { path, .. } if data_dir.is_some_and(|data_dir| !path.starts_with(data_dir)) => (
            "a file or folder could not be written or read",
            "check space and permissions of the folder that is named",
        ),
        StoreError::Io { .. } | StoreError::Poisoned { .. } => (
            "perspt's data could not be written or read",
            "check space and permissions of the data directory",
        ),
        StoreError::Integrity { .. } => ("the session's log is damaged", "run `perspt ledger --verify`"),
        StoreError::Damaged { .. } => ("perspt's data is damaged", "run `perspt ledger --verify`"),
        StoreError::NoSession(_) | StoreError::BadSessionId(_) => {
            ("the session was not found", "`perspt status --all` lists the sessions")
        }
        StoreError::NotAbsolute(_) => ("a path is not usable", "name it from the root, beginning with `/`"),
        StoreError::PublishPending(_) => {
            ("an earlier commit is half done", "`perspt resume` in that folder finishes it")
        }
        StoreError::Unpublishable { .. } => {
            ("a change cannot be put into the workspace", "move what stands in its way, then `perspt resume`")
        }
        StoreError::SessionExists(_)
        | StoreError::EventTooLong { .. }
        | StoreError::Encode { .. }
        | StoreError::NothingPending(_)
        | StoreError::WrongLease { .. } => {
            ("perspt came to a stop it does not understand", "please report this with the session's log")
        }
    };
    Trouble { what: what.to_owned(), why: error.to_string(), todo: todo.to_owned() }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        AgentError::from(error).into()
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Error, ErrorKind};
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn the_advice_is_about_the_folder_that_is_named() {
        let refused = |path: &str| StoreError::Io {
            doing: "rename",
            path: PathBuf::from(path),
            source: Error::from(ErrorKind::PermissionDenied),
        };
        let home = Some(Path::new("/home/me/data"));
        let inside = of_store(&refused("/home/me/data/sessions/s/log.jsonl"), home);
        assert!(inside.todo.contains("data directory"), "{inside:?}");
        let outside = of_store(&refused("/home/me/project/src/lib.rs"), home);
        assert!(outside.todo.contains("the folder that is named"), "{outside:?}");
        assert!(outside.why.contains("/home/me/project/src/lib.rs") && !outside.what.contains("data"));
    }
}
