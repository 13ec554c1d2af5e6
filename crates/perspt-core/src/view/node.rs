//! A node as people see it.

use serde::Serialize;

use super::history::{AttemptView, History};
use crate::consent::{Need, TestDeclaration};
use crate::energy::{Energy, NewTests};
use crate::event::{Certificate, DiffNote, RetryClass};
use crate::grade::Grade;
use crate::hash::Sha;
use crate::ids::NodeId;
use crate::outcome::NodeEnd;
use crate::path::RelPath;
use crate::plan::{NodeClass, TaskType};
use crate::state::{Node, NodeState, SessionState, Work};

/// A node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NodeView {
    /// The name that the plan gives it.
    pub id: NodeId,
    /// What it is to do.
    pub goal: String,
    /// Its class.
    pub class: NodeClass,
    /// The kind of work, by the plan's word.
    pub task_type: TaskType,
    /// The files that it may write.
    pub files: Vec<RelPath>,
    /// Whether it may write others beside them.
    pub open_scope: bool,
    /// Nodes that come before it.
    pub after: Vec<NodeId>,
    /// Existing tests that the plan wants changed.
    pub changes_tests: Vec<TestDeclaration>,
    /// Red tests that the plan leaves so.
    pub leaves_red: Vec<String>,
    /// Where it stands, in a word.
    pub state: &'static str,
    /// Why the last attempt did not do: the kind of failure and its reason.
    pub why: Option<(RetryClass, String)>,
    /// How many candidates were judged.
    pub judged: u32,
    /// Corrections it took.
    pub corrections: u32,
    /// Every answer, with what came of it.
    pub attempts: Vec<AttemptView>,
    /// What its best candidate changes.
    pub diff: Option<DiffNote>,
    /// The energy of its best candidate.
    pub energy: Option<Energy>,
    /// How much was proved of its best candidate.
    pub grade: Option<Grade>,
    /// What lies below tests, in words.
    pub below: Vec<String>,
    /// Promises of the contract that are not known to hold, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unmeasured: Vec<String>,
    /// How its new tests end over the code as it was.
    pub new_tests: Option<NewTests>,
    /// Consents that it waits for.
    pub waits_for: Vec<Need>,
    /// The Merkle root of its commit.
    pub merkle: Option<Sha>,
    /// Files of its commit that the user has changed since.
    pub changed_since: Vec<RelPath>,
    /// Why it was given up.
    pub certificate: Option<Certificate>,
}

impl NodeView {
    pub(super) fn of(state: &SessionState, node: &Node, history: &History) -> NodeView {
        let id = &node.spec.id;
        let candidate = match &node.work {
            Work::Verifying(candidate) | Work::Stable(candidate) => Some(candidate.as_ref()),
            Work::Waiting(wait) => wait.candidate(),
            Work::Queued
            | Work::Context(_)
            | Work::Asking { .. }
            | Work::Parsing { .. }
            | Work::LayingOut(_)
            | Work::Closed => None,
        };
        // What waits was judged, and is what the user is asked about.
        let best = candidate.filter(|one| one.judgement.is_some()).or(node.best.as_ref());
        let judgement = best.and_then(|best| best.judgement.as_ref());
        NodeView {
            id: id.clone(),
            goal: node.spec.goal.clone(),
            class: node.spec.node_class,
            task_type: node.spec.task_type,
            files: node.spec.output_files.iter().chain(&node.spec.modifies).cloned().collect(),
            open_scope: node.spec.scope.is_open(),
            after: node.spec.dependencies.clone(),
            changes_tests: node.spec.changes_tests.clone(),
            leaves_red: node.spec.leaves_red.clone(),
            state: node_word(state, node),
            why: node.failure.as_ref().map(|failure| (failure.class, failure.reason.clone())),
            judged: node.attempts,
            corrections: node.corrections,
            attempts: history.attempts(id).to_vec(),
            diff: best.map(|best| best.diff.clone()),
            energy: judgement.map(|judgement| judgement.energy.clone()),
            grade: judgement.map(|judgement| judgement.grade),
            below: judgement.map(|judgement| judgement.below.clone()).unwrap_or_default(),
            unmeasured: judgement.map(|judgement| judgement.unmeasured.clone()).unwrap_or_default(),
            new_tests: best.and_then(|best| best.new_tests()),
            waits_for: match &node.work {
                Work::Waiting(wait) => wait.needs.clone(),
                _ => Vec::new(),
            },
            merkle: node.merkle,
            changed_since: node.changed_since.clone(),
            certificate: history.certificate(id).cloned(),
        }
    }

    /// The state in words for people. Only `escalated` is a word of the log alone.
    pub fn state_words(&self) -> &'static str {
        if self.state == NodeState::Escalated.as_str() { "given up" } else { self.state }
    }
}

/// Where a node stands: once its session is over, nothing is being done for it any more.
fn node_word(state: &SessionState, node: &Node) -> &'static str {
    let over = state.end.as_ref().is_some_and(|end| !end.reason.is_resumable());
    match node.end {
        None | Some(NodeEnd::Open) if over => "unfinished",
        _ => node.state().as_str(),
    }
}
