//! Errors as people see them: what happened, why, what to do, and an exit code.

use perspt_agent::AgentError;
use perspt_agent::actor::trouble;
use perspt_core::event::Trouble;
use perspt_core::outcome::Outcome;
use perspt_store::StoreError;

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
        Failure { trouble: trouble(&error), code: outcome.exit_code() }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        AgentError::from(error).into()
    }
}
