//! What to do about a call that failed.

use perspt_model::ModelError;

/// What a person can do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remedy {
    /// Try again.
    Again,
    /// See that the provider can be reached, then try again.
    Reach,
    /// Set the key.
    Key,
    /// Put the account in order.
    Account,
    /// Name another model or address.
    OtherModel,
    /// Ask for less.
    Less,
    /// Say it in other words.
    Reword,
}

impl Remedy {
    /// What helps against an error.
    pub fn of(error: &ModelError) -> Remedy {
        use ModelError as E;
        if matches!(error, E::Connect { .. }) {
            Remedy::Reach
        } else if error.is_transient() || matches!(error, E::Cancelled | E::UnknownStop { .. }) {
            Remedy::Again
        } else if matches!(error, E::Unauthorised { .. } | E::BadKey) {
            Remedy::Key
        } else if matches!(error, E::OutOfQuota { .. }) {
            Remedy::Account
        } else if matches!(error, E::OutputLimit { .. } | E::TooLarge { .. }) {
            Remedy::Less
        } else if matches!(error, E::Filtered { .. } | E::OnlyToolCalls { .. }) {
            Remedy::Reword
        } else {
            Remedy::OtherModel
        }
    }

    /// As it is said inside a chat.
    pub fn in_talk(self) -> &'static str {
        match self {
            Remedy::Again => "`/retry` sends the message again",
            Remedy::Reach => "see that the provider can be reached, then type `/retry`",
            Remedy::Key => {
                "leave, set the provider's key and come back, or name another model with `/model NAME`"
            }
            Remedy::Account => {
                "put the account in order and type `/retry`, or name another model with `/model NAME`"
            }
            Remedy::OtherModel => {
                "name another model with `/model NAME` and type `/retry`, or `/clear` if it is too long"
            }
            Remedy::Less => "ask for a shorter answer",
            Remedy::Reword => "say it in other words",
        }
    }

    /// As it is said where there is one message and one answer.
    pub fn at_shell(self) -> &'static str {
        match self {
            Remedy::Again => "run the command again",
            Remedy::Reach => {
                "see that the provider can be reached and that the base URL is right, then run it again"
            }
            Remedy::Key => "set the provider's key in the environment",
            Remedy::Account => "put the account in order, or name another model with --model",
            Remedy::OtherModel => "check --model and --base-url, or send a shorter message if it is too long",
            Remedy::Less => "ask for a shorter answer",
            Remedy::Reword => "say it in other words",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_provider_that_is_not_there_is_to_be_looked_after_first() {
        let kind = perspt_model::ConnectKind::Refused;
        assert_eq!(Remedy::of(&ModelError::Connect { kind, detail: String::new() }), Remedy::Reach);
    }

    #[test]
    fn what_may_pass_is_tried_again_and_a_refused_key_is_not() {
        let stalled = ModelError::IdleTimeout { after: Duration::from_secs(1) };
        assert_eq!(Remedy::of(&stalled), Remedy::Again);
        let refused = ModelError::Unauthorised { status: 401, excerpt: String::new() };
        assert_eq!(Remedy::of(&refused), Remedy::Key);
        assert_eq!(Remedy::of(&ModelError::OutputLimit { usage: None }), Remedy::Less);
        assert_eq!(Remedy::of(&ModelError::NotFound { excerpt: String::new() }), Remedy::OtherModel);
    }
}
