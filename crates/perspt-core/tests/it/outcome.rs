//! How a session ends.

use perspt_core::outcome::{Closing, EndReason, FinalPass, NodeEnd, Outcome, outcome};

use EndReason::{Aborted, Budget, Degraded, Internal, NodesClosed, Paused, Provider, Refused, Usage};
use FinalPass::{Clean, NotNeeded, Red};
use NodeEnd::{Blocked, Committed, Escalated, Open};

const REASONS: [EndReason; 9] =
    [NodesClosed, Paused, Aborted, Internal, Usage, Provider, Budget, Degraded, Refused];

const NODES: [&[NodeEnd]; 7] = [
    &[],
    &[Committed],
    &[Committed, Committed],
    &[Committed, Escalated],
    &[Committed, Escalated, Blocked],
    &[Escalated, Blocked],
    &[Committed, Open],
];

/// The documented order, said once more in other words: the first that fits of
/// 130, 1, 2, 8, 5, 6, 7, 4, 3, else 0.
fn documented(reason: EndReason, nodes: &[NodeEnd], closing: Closing) -> u8 {
    let closed = reason == NodesClosed;
    let committed = nodes.iter().filter(|end| **end == Committed).count();
    let table = [
        (130, matches!(reason, Paused | Aborted)),
        (1, reason == Internal),
        (2, reason == Usage),
        (8, reason == Provider),
        (5, reason == Budget),
        (6, reason == Degraded || (closed && closing.evidence_owed)),
        (7, reason == Refused),
        (4, closed && committed == 0),
        (3, closed && (committed < nodes.len() || closing.final_pass == Red)),
    ];
    table.into_iter().find(|(_, fits)| *fits).map_or(0, |(code, _)| code)
}

#[test]
fn the_first_code_that_fits_is_the_sessions() {
    for reason in REASONS {
        for nodes in NODES {
            for final_pass in [NotNeeded, Clean, Red] {
                for evidence_owed in [false, true] {
                    let closing = Closing { final_pass, evidence_owed };
                    let code = outcome(reason, nodes, closing).exit_code();
                    assert_eq!(code, documented(reason, nodes, closing), "{reason:?} {nodes:?} {closing:?}");
                }
            }
        }
    }
}

#[test]
fn only_a_whole_and_clean_session_succeeds() {
    let clean = Closing { final_pass: Clean, evidence_owed: false };
    assert_eq!(outcome(NodesClosed, &[Committed, Committed], clean), Outcome::Success);
    assert_eq!(outcome(NodesClosed, &[Committed, Escalated], clean), Outcome::PartialSuccess);
    assert_eq!(outcome(NodesClosed, &[Escalated, Blocked], clean), Outcome::Failed);
    let red = Closing { final_pass: Red, evidence_owed: false };
    assert_eq!(outcome(NodesClosed, &[Committed], red), Outcome::PartialSuccess);
    let owed = Closing { final_pass: Red, evidence_owed: true };
    assert_eq!(outcome(NodesClosed, &[Committed, Escalated], owed), Outcome::DegradedVerification);
}

#[test]
fn each_outcome_has_its_own_code_and_word() {
    let all = [
        (Outcome::Success, 0, "success"),
        (Outcome::InternalError, 1, "internal-error"),
        (Outcome::Usage, 2, "usage"),
        (Outcome::PartialSuccess, 3, "partial"),
        (Outcome::Failed, 4, "failed"),
        (Outcome::BudgetExhausted, 5, "budget-exhausted"),
        (Outcome::DegradedVerification, 6, "degraded"),
        (Outcome::Refused, 7, "refused"),
        (Outcome::ProviderUnusable, 8, "provider-unusable"),
        (Outcome::Interrupted, 130, "interrupted"),
    ];
    for (outcome, code, word) in all {
        assert_eq!((outcome.exit_code(), outcome.as_str()), (code, word));
    }
}

#[test]
fn what_was_decided_for_good_is_not_taken_up_again() {
    let goes_on: Vec<EndReason> = REASONS.into_iter().filter(|reason| reason.is_resumable()).collect();
    assert_eq!(goes_on, [Paused, Internal, Provider, Budget, Degraded, Refused]);
}
