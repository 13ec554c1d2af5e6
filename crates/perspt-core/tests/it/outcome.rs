//! How a session ends.

use perspt_core::outcome::{Closing, EndReason, FinalPass, NodeEnd, Outcome, outcome};

use EndReason::{
    Aborted, Budget, Consents, Degraded, Internal, NodesClosed, Paused, Provider, Refused, Usage,
};
use FinalPass::{Clean, NotNeeded, Red};
use NodeEnd::{Blocked, Committed, Escalated, Open, Rejected, Waiting};

const REASONS: [EndReason; 10] =
    [NodesClosed, Paused, Aborted, Internal, Usage, Provider, Budget, Degraded, Refused, Consents];

const NODES: [&[NodeEnd]; 11] = [
    &[],
    &[Committed],
    &[Committed, Committed],
    &[Committed, Escalated],
    &[Committed, Escalated, Blocked],
    &[Escalated, Blocked],
    &[Committed, Open],
    &[Committed, Rejected],
    &[Rejected, Blocked],
    &[Committed, Waiting],
    &[Waiting, Open, Escalated],
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
        (6, reason == Degraded),
        (7, matches!(reason, Refused | Consents) || (closed && nodes.contains(&Rejected))),
        (0, closed && nodes.is_empty() && closing.final_pass == Clean),
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
                let closing = Closing { final_pass };
                let code = outcome(reason, nodes, closing).exit_code();
                assert_eq!(code, documented(reason, nodes, closing), "{reason:?} {nodes:?} {closing:?}");
            }
        }
    }
}

#[test]
fn only_a_whole_and_clean_session_succeeds() {
    let clean = Closing { final_pass: Clean };
    assert_eq!(outcome(NodesClosed, &[Committed, Committed], clean), Outcome::Success);
    assert_eq!(outcome(NodesClosed, &[Committed, Escalated], clean), Outcome::PartialSuccess);
    assert_eq!(outcome(NodesClosed, &[Escalated, Blocked], clean), Outcome::Failed);
    let red = Closing { final_pass: Red };
    assert_eq!(outcome(NodesClosed, &[Committed], red), Outcome::PartialSuccess);
}

#[test]
fn a_session_without_nodes_is_what_its_look_at_the_tree_is() {
    assert_eq!(outcome(NodesClosed, &[], Closing { final_pass: Clean }), Outcome::Success);
    assert_eq!(outcome(NodesClosed, &[], Closing { final_pass: Red }), Outcome::Failed);
    assert_eq!(outcome(Degraded, &[], Closing { final_pass: Clean }), Outcome::DegradedVerification);
}

#[test]
fn a_no_of_the_users_and_a_consent_that_is_missing_are_both_a_seven() {
    let clean = Closing { final_pass: Clean };
    assert_eq!(outcome(NodesClosed, &[Committed, Rejected], clean).exit_code(), 7);
    assert_eq!(outcome(NodesClosed, &[Escalated, Rejected, Blocked], clean).exit_code(), 7);
    assert_eq!(outcome(Consents, &[Committed, Waiting], clean).exit_code(), 7);
    // What stopped the session before it could come to that is said first.
    assert_eq!(outcome(Budget, &[Waiting, Rejected], clean), Outcome::BudgetExhausted);
    assert_eq!(outcome(Degraded, &[Waiting, Rejected], clean), Outcome::DegradedVerification);
    assert_eq!(outcome(Paused, &[Waiting], clean), Outcome::Interrupted);
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
    assert_eq!(goes_on, [Paused, Internal, Provider, Budget, Degraded, Refused, Consents]);
}
