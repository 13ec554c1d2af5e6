//! Asking the user, or the session's policy.

use perspt_core::consent::{ConsentKind, Extent, Grant, GrantedBy, Need};
use perspt_core::effect::Question;
use perspt_core::event::{Approval, Decision, Ended};
use perspt_core::ids::NodeId;
use perspt_core::inventory::Inventory;
use perspt_core::judge::Judgement;
use perspt_core::reading::Reading;
use perspt_core::state::SessionState;
use perspt_sandbox::Cancel;

use crate::actor::Actor;
use crate::error::EffectError;
use crate::ports::Asked;

/// The most grants that one answer is recorded with; beyond that they are given by file.
const GRANTS: usize = 60;

impl Actor {
    pub(crate) async fn question(
        &self,
        state: &SessionState,
        node: Option<&NodeId>,
        question: &Question,
        cancel: &Cancel,
    ) -> Result<Ended, EffectError> {
        let by = state.meta.as_ref().map_or(Approval::Person, |meta| meta.approval);
        let asked = match question {
            Question::Plan { .. } => Asked::Plan,
            Question::Consents { needs, judgement, texts, .. } => {
                let whole: Option<Judgement> =
                    judgement.map(|blob| self.load_blob("a judgement", blob)).transpose()?;
                let reading: Option<Reading> =
                    texts.map(|blob| self.load_blob("a reading", blob)).transpose()?;
                let missing = |whole: Judgement| {
                    state.consents.missing(&whole.needs).into_iter().cloned().collect::<Vec<Need>>()
                };
                Asked::Consents {
                    node: node.cloned(),
                    needs: whole.map_or_else(|| needs.clone(), missing),
                    inventory: reading.and_then(|reading| reading.inventory).unwrap_or_default(),
                }
            }
        };
        let answer = match by {
            Approval::Policy => Decision::Yes,
            Approval::Person => tokio::select! {
                answer = self.parts.console.ask(&asked, state) => answer,
                () = cancel.cancelled() => return Err(EffectError::Cancelled),
            },
        };
        let grants = match (&answer, &asked, by) {
            (Decision::Yes, Asked::Plan, Approval::Person) => planned(state),
            (Decision::Yes, Asked::Consents { needs, .. }, Approval::Person) => answered(needs),
            _ => Vec::new(),
        };
        Ok(Ended::Decided { answer, by, grants })
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
