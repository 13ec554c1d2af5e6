//! A question to the user as a person sees it, and what an answer permits.

use crate::consent::{ConsentKind, Extent, Grant, GrantedBy, Need};
use crate::event::Decision;
use crate::ids::NodeId;
use crate::inventory::Inventory;
use crate::state::SessionState;

/// The most grants that one answer is recorded with; beyond that they are given by file.
const GRANTS: usize = 60;

/// What a person is asked, with everything they need to decide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// Whether the plan may be worked on.
    Plan,
    /// Whether a candidate may have what only the user can permit.
    Consents {
        /// The node.
        node: Option<NodeId>,
        /// Everything that is missing.
        needs: Vec<Need>,
        /// Old and new texts of tests.
        inventory: Inventory,
    },
}

impl Asked {
    /// What this answer of a person permits.
    pub fn grants(&self, answer: &Decision, state: &SessionState) -> Vec<Grant> {
        match (answer, self) {
            (Decision::Yes, Asked::Plan) => planned(state),
            (Decision::Yes, Asked::Consents { needs, .. }) => answered(needs),
            (Decision::No | Decision::Correct(_), _) => Vec::new(),
        }
    }
}

/// What the approval of a plan permits: the single tests that it names, and the tests that it leaves red.
fn planned(state: &SessionState) -> Vec<Grant> {
    let grant = |kind, subject| Grant { kind, extent: Extent::Subject(subject), by: GrantedBy::Plan };
    let nodes = state.nodes.values().map(|node| &node.spec);
    let tests = nodes.clone().flat_map(|spec| &spec.changes_tests).filter(|one| one.test.is_some());
    let tests = tests.map(|one| grant(ConsentKind::Tests, one.subject()));
    let red = nodes.flat_map(|spec| &spec.leaves_red).map(|name| grant(ConsentKind::Red, name.clone()));
    tests.chain(red).take(GRANTS).collect()
}

/// What a yes to these needs permits.
fn answered(needs: &[Need]) -> Vec<Grant> {
    let grant = |kind, subject: &str| {
        let extent = Extent::Subject(subject.to_owned());
        Grant { kind, extent, by: GrantedBy::Answer }
    };
    if needs.len() <= GRANTS {
        return needs.iter().map(|need| grant(need.kind, &need.subject)).collect();
    }
    let mut grants: Vec<Grant> = Vec::new();
    for need in needs {
        let file = need.subject.split("::").next().unwrap_or(&need.subject);
        let given = match need.kind {
            ConsentKind::Tests => grant(need.kind, file),
            kind => Grant { kind, extent: Extent::Any, by: GrantedBy::Answer },
        };
        if !grants.contains(&given) {
            grants.push(given);
        }
    }
    grants
}

/// The old and new text of the test that a need is about.
pub fn texts<'a>(need: &Need, inventory: &'a Inventory) -> Option<(&'a str, &'a str)> {
    let id = need.test.as_ref()?;
    let test = inventory.changed.iter().find(|test| test.id == *id)?;
    Some((&test.old, &test.new))
}
