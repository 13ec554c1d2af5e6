//! The whole of a session in a few numbers, and what to do next.

use std::collections::BTreeMap;

use serde::Serialize;

use super::History;
use crate::consent::ConsentKind;
use crate::grade::Grade;
use crate::ids::NodeId;
use crate::outcome::NodeEnd;
use crate::state::{Candidate, Node, SessionState, quoted};

/// What the last line of a session says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Nodes that were committed.
    pub completed: usize,
    /// Nodes of the plan.
    pub nodes: usize,
    /// The least that was proved of any committed node.
    pub grade: Option<Grade>,
    /// What lies below tests, in words.
    pub below: Vec<String>,
    /// Nodes that were not committed, each with where it stands.
    pub unfinished: Vec<(NodeId, &'static str)>,
    /// Committed nodes whose files the user has changed since.
    pub changed_by_user: Vec<NodeId>,
    /// Existing tests that were changed or removed.
    pub tests_changed: u32,
    /// What the user permitted of what was committed, by kind with how many.
    pub consents: BTreeMap<ConsentKind, usize>,
    /// Tests that are red after the last commit, by the last reading.
    pub red: u32,
    /// The command to go on with.
    pub next: String,
}

impl Summary {
    /// The summary of a session.
    pub fn of(state: &SessionState, history: &History) -> Summary {
        let mut consents = BTreeMap::new();
        for kind in history.commits().iter().flat_map(|commit| &commit.consents).map(|need| need.kind) {
            *consents.entry(kind).or_default() += 1;
        }
        let nodes = || state.order.iter().filter_map(|id| state.nodes.get(id));
        let is_committed = |node: &&Node| node.end == Some(NodeEnd::Committed);
        let completed = nodes().filter(is_committed).count();
        let best = || nodes().filter(is_committed).filter_map(|node| node.best.as_ref());
        let judged = || best().filter_map(|best: &Candidate| best.judgement.as_ref());
        let red = state.baseline.readings.values().filter_map(|readings| readings.last());
        Summary {
            completed,
            nodes: state.order.len(),
            grade: judged().map(|judgement| judgement.grade).max(),
            below: judged().flat_map(|judgement| judgement.below.clone()).collect(),
            unfinished: nodes()
                .filter(|node| !is_committed(node))
                .map(|node| (node.spec.id.clone(), node.state().as_str()))
                .collect(),
            changed_by_user: nodes()
                .filter(|node| !node.changed_since.is_empty())
                .map(|node| node.spec.id.clone())
                .collect(),
            tests_changed: judged().map(|judgement| judgement.tests_changed).sum(),
            consents,
            red: if completed == 0 { 0 } else { red.filter_map(|one| one.tests).map(|one| one.failed).sum() },
            next: next(state, completed),
        }
    }
}

fn next(state: &SessionState, completed: usize) -> String {
    let session = state.meta.as_ref().map(|meta| meta.session.to_string()).unwrap_or_default();
    let resumable = state.end.as_ref().is_none_or(|end| end.reason.is_resumable());
    if let Some(meta) = state.meta.as_ref().filter(|_| state.verifies()) {
        return format!("perspt verify {}", quoted(&meta.workspace));
    }
    match (resumable, completed) {
        (true, _) => format!("perspt resume {session}{}", allow_flags(state)),
        (false, 0) => format!("perspt status {session}"),
        (false, _) => "perspt ledger --recent".to_owned(),
    }
}

/// The flags that cover what waits, as they are typed.
pub fn allow_flags(state: &SessionState) -> String {
    let flags = state.waiting_flags();
    flags.iter().map(|flag| format!(" --allow {}", quoted(flag))).collect()
}
