//! Errors as people see them: what happened, why, what to do, and an exit code.

use std::path::Path;

use perspt_agent::AgentError;
use perspt_agent::trouble::{too_many_files, trouble};
use perspt_core::event::Trouble;
use perspt_core::outcome::Outcome;
use perspt_store::StoreError;

use crate::config;

/// A failure that ends the program.
#[derive(Debug)]
pub struct Failure {
    /// What, why, what to do.
    pub trouble: Trouble,
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
        let mut trouble = trouble(&error);
        if let AgentError::Store(error) = &error
            && too_many_files(error).is_none()
            && let Some((what, todo)) = store_message(error, config::data_dir().as_deref())
        {
            (trouble.what, trouble.todo) = (what.to_owned(), todo.to_owned());
        }
        Failure { trouble, code: outcome.exit_code() }
    }
}

/// What happened and what to do, where more is known of an error of the store than that something failed at a path.
fn store_message(error: &StoreError, data_dir: Option<&Path>) -> Option<(&'static str, &'static str)> {
    match error {
        StoreError::Io { path, .. } if data_dir.is_none_or(|data_dir| !path.starts_with(data_dir)) => None,
        StoreError::Io { .. } | StoreError::Poisoned { .. } => Some((
            "perspt's data could not be written or read",
            "check free space and permissions of the data directory",
        )),
        StoreError::Integrity { .. } | StoreError::Decode { .. } => {
            Some(("the session's log is damaged", "run `perspt ledger --verify`"))
        }
        StoreError::NoSession(_) | StoreError::BadSessionId(_) => {
            Some(("the session was not found", "`perspt status --all` lists the sessions"))
        }
        StoreError::NotAbsolute(_) => {
            Some(("a path is not usable", "give the full path, beginning with `/`"))
        }
        StoreError::PublishPending(_) => {
            Some(("an earlier commit is half done", "run `perspt resume` in that folder to finish it"))
        }
        StoreError::Unpublishable { .. } => Some((
            "a change cannot be put into the workspace",
            "move what is in its way, then run `perspt resume`",
        )),
        StoreError::SessionExists(_)
        | StoreError::Encode { .. }
        | StoreError::NothingPending(_)
        | StoreError::WrongLease { .. } => Some((
            "perspt stopped for a reason it does not know",
            "please report this with the session's log",
        )),
        StoreError::Held { .. } | StoreError::Damaged { .. } | StoreError::EventTooLong { .. } => None,
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        AgentError::from(error).into()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
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
        let data_dir = Some(Path::new("/home/me/data"));
        let (_, inside) = store_message(&refused("/home/me/data/sessions/s/log.jsonl"), data_dir).unwrap();
        assert!(inside.contains("data directory"), "{inside}");
        assert_eq!(store_message(&refused("/home/me/project/src/lib.rs"), data_dir), None);
        let outside = Failure::from(refused("/home/me/project/src/lib.rs")).trouble;
        assert!(outside.todo.contains("the named path") && !outside.what.contains("data"), "{outside:?}");
    }
}
