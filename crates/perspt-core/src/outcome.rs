//! How a session ends, and the one function that decides it.

use serde::{Deserialize, Serialize};

/// The end of a session; each has its own exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Every node committed, final pass clean.
    Success,
    /// Something inside perspt, or the machine under it, failed.
    InternalError,
    /// The command line, configuration or workspace cannot be worked with.
    Usage,
    /// Some nodes did not make it, or the final pass was red.
    PartialSuccess,
    /// No node was committed.
    Failed,
    /// A budget stood in the way of the next step.
    BudgetExhausted,
    /// A required sensor could not look.
    DegradedVerification,
    /// The user, or the session's policy, said no, or a consent is missing that only the user can give.
    Refused,
    /// The model's provider could not be used.
    ProviderUnusable,
    /// Paused or aborted.
    Interrupted,
}

impl Outcome {
    /// The process's exit code.
    pub fn exit_code(self) -> u8 {
        match self {
            Outcome::Success => 0,
            Outcome::InternalError => 1,
            Outcome::Usage => 2,
            Outcome::PartialSuccess => 3,
            Outcome::Failed => 4,
            Outcome::BudgetExhausted => 5,
            Outcome::DegradedVerification => 6,
            Outcome::Refused => 7,
            Outcome::ProviderUnusable => 8,
            Outcome::Interrupted => 130,
        }
    }

    /// The word on the summary line.
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Success => "success",
            Outcome::InternalError => "internal-error",
            Outcome::Usage => "usage",
            Outcome::PartialSuccess => "partial",
            Outcome::Failed => "failed",
            Outcome::BudgetExhausted => "budget-exhausted",
            Outcome::DegradedVerification => "degraded",
            Outcome::Refused => "refused",
            Outcome::ProviderUnusable => "provider-unusable",
            Outcome::Interrupted => "interrupted",
        }
    }
}

/// Why a session came to its end: what was seen of the session itself, besides its nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// Every node is closed; the nodes decide.
    NodesClosed,
    /// Paused by the user.
    Paused,
    /// Aborted by the user.
    Aborted,
    /// An effect failed in a way that is nobody's answer: disk, permissions, a bug.
    Internal,
    /// The workspace cannot be worked with.
    Usage,
    /// The model could not be reached or refused the key.
    Provider,
    /// A limit stood in the way.
    Budget,
    /// A sensor is missing, broken or blind.
    Degraded,
    /// The user said no.
    Refused,
    /// What is left waits for consents that only the user can give.
    Consents,
}

/// How one node ended, as far as the session's outcome is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeEnd {
    /// Its changes are in the workspace.
    Committed,
    /// Given up, with a certificate.
    Escalated,
    /// Never ran, because one it depends on did not make it.
    Blocked,
    /// The user said no to what it needs.
    Rejected,
    /// Stable but for a consent.
    Waiting,
    /// Still open when the session ended.
    Open,
}

/// What is left to say when all nodes are closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Closing {
    /// Whether the whole merged tree measured clean at the end.
    pub final_pass: FinalPass,
}

/// The last look at the whole tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinalPass {
    /// Nothing was committed or verified, so there is nothing to look at.
    #[default]
    NotNeeded,
    /// Every required stage of every root is green.
    Clean,
    /// Something is red.
    Red,
}

/// The outcome of a session: the first that fits of 130, 1, 2, 8, 5, 6, 7, 4, 3, else 0.
pub fn outcome(reason: EndReason, nodes: &[NodeEnd], closing: Closing) -> Outcome {
    match reason {
        EndReason::Paused | EndReason::Aborted => Outcome::Interrupted,
        EndReason::Internal => Outcome::InternalError,
        EndReason::Usage => Outcome::Usage,
        EndReason::Provider => Outcome::ProviderUnusable,
        EndReason::Budget => Outcome::BudgetExhausted,
        EndReason::Degraded => Outcome::DegradedVerification,
        EndReason::Refused | EndReason::Consents => Outcome::Refused,
        EndReason::NodesClosed if nodes.contains(&NodeEnd::Rejected) => Outcome::Refused,
        EndReason::NodesClosed => {
            let committed = nodes.iter().filter(|end| **end == NodeEnd::Committed).count();
            if nodes.is_empty() && closing.final_pass == FinalPass::Clean {
                // A session that only verifies has no nodes.
                Outcome::Success
            } else if committed == 0 {
                Outcome::Failed
            } else if committed < nodes.len() || closing.final_pass == FinalPass::Red {
                Outcome::PartialSuccess
            } else {
                Outcome::Success
            }
        }
    }
}

impl EndReason {
    /// Whether `resume` goes on after this end. What was decided for good stays decided.
    pub fn is_resumable(self) -> bool {
        match self {
            EndReason::Paused
            | EndReason::Internal
            | EndReason::Provider
            | EndReason::Budget
            | EndReason::Degraded
            | EndReason::Refused
            | EndReason::Consents => true,
            EndReason::NodesClosed | EndReason::Aborted | EndReason::Usage => false,
        }
    }
}
