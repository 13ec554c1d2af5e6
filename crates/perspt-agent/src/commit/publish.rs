//! Publishing a proved candidate into the workspace.

use std::path::Path;

use perspt_core::consent::{Grant, Need};
use perspt_core::effect::TreeRef;
use perspt_core::energy::StabilityProof;
use perspt_core::event::{Commit, Consented, Ended, Event, merkle};
use perspt_core::ids::{EffectId, NodeId};
use perspt_core::judge::{brief, brief_promises};
use perspt_core::path::RelPath;
use perspt_core::state::{Node, SessionState, Work};
use perspt_core::tree::Change;
use perspt_store::publish::{KeptBytes, Publication, Published, publish};
use serde_json::value::to_raw_value;

use crate::AgentError;
use crate::actor::Actor;
use crate::error::EffectError;
use crate::ports::Acted;
use crate::verify::JudgementInputs;

/// A change that may be published.
struct Proved {
    proof: StabilityProof,
    changes: Vec<Change>,
    commit: Commit,
    /// The tree after it.
    head: TreeRef,
}

impl Actor {
    pub(crate) fn publish(
        &self,
        id: EffectId,
        state: &SessionState,
        node: Option<&NodeId>,
        inputs: &JudgementInputs<'_>,
    ) -> Result<Acted, EffectError> {
        let branch = inputs.branch;
        let Some(node) = node.and_then(|id| state.nodes.get(id)) else { return Err(EffectError::Cancelled) };
        let base = self.load_tree(branch.base)?;
        let (now, _) = self.walk_workspace()?;
        if now.id() != branch.base.id && now.id() != branch.tree {
            return Ok(self.base_moved(&base, &now)?.into());
        }
        let proof = self.prove(state, node, inputs)?.map_err(|error| {
            AgentError::Stuck(format!("a node was to be published without a proof: {error}"))
        })?;
        let changes = self.changes_of(branch)?;
        let commit = commit_record(state, node, inputs, &changes, &proof);
        let head = self.store_tree(&self.branch_tree(branch)?)?;
        if now.id() == branch.tree {
            // An interrupted publication that was completed since. Only the record is missing.
            return Ok(Ended::Published { commit: Box::new(commit), head }.into());
        }
        self.publish_proved(id, state, Proved { proof, changes, commit, head })
    }

    fn publish_proved(
        &self,
        id: EffectId,
        state: &SessionState,
        Proved { proof, changes, commit, head }: Proved,
    ) -> Result<Acted, EffectError> {
        assert_eq!(proof.tree(), head.id, "BUG: the proof is of another tree than the one to be published");
        let outcome = Ended::Published { commit: Box::new(commit), head };
        let record = to_raw_value(&outcome)
            .map_err(|error| AgentError::Blob { what: "a commit record", why: error.to_string() })?;
        let session = state.meta.as_ref().map(|meta| meta.session.clone()).ok_or(AgentError::NeverBegun)?;
        let workspace = self.parts.workspace.clone();
        let publication = Publication { session, effect: id, workspace, changes, record };
        match publish(&self.parts.home, &self.parts.lease, &publication)? {
            Published::Done => Ok(outcome.into()),
            Published::BaseMoved { paths, kept } => {
                let facts: Vec<Event> = kept.into_iter().map(bytes_kept).collect();
                let outcome = self.moved_head(state)?;
                let nothing =
                    matches!(&outcome, Ended::BaseMoved { changed, more: 0, .. } if changed.is_empty());
                if nothing && facts.is_empty() {
                    let workspace = self.parts.workspace.clone();
                    let obstacle = paths.iter().find_map(|path| in_the_way(&workspace, path));
                    // Files are read by the workspace's path and published into the folder that is locked.
                    return Err(obstacle
                        .map_or(AgentError::Replaced(workspace), AgentError::InTheWay)
                        .into());
                }
                Ok(Acted { facts, outcome })
            }
        }
    }
}

/// Something that blocks a file or a folder above it, such as an empty folder or a socket. Trees do not list these.
fn in_the_way(workspace: &Path, path: &RelPath) -> Option<RelPath> {
    let kind =
        |path: &RelPath| workspace.join(path.as_str()).symlink_metadata().ok().map(|meta| meta.file_type());
    let above = path.ancestors().filter(|folder| !folder.is_root());
    let not_a_folder = |folder: &RelPath| kind(folder).is_some_and(|kind| !kind.is_dir());
    let not_a_file = |path: &RelPath| kind(path).is_some_and(|kind| !kind.is_file() && !kind.is_symlink());
    above.into_iter().find(not_a_folder).or_else(|| Some(path.clone()).filter(not_a_file))
}

/// The event that says where a user's bytes are.
pub(crate) fn bytes_kept(kept: KeptBytes) -> Event {
    Event::BytesKept { path: kept.path, place: kept.place }
}

fn commit_record(
    state: &SessionState,
    node: &Node,
    inputs: &JudgementInputs<'_>,
    changes: &[Change],
    proof: &StabilityProof,
) -> Commit {
    const LINES: usize = 6;
    const NEED_BYTES: usize = 4096;
    let JudgementInputs { branch, readings, old_tests, .. } = inputs;
    let judgement = proof.judgement();
    let needs = brief(proof.consents().iter().map(|(need, _)| need), NEED_BYTES);
    let consented = |(need, (_, grant)): (Need, &(Need, Grant))| Consented { need, grant: grant.clone() };
    Commit {
        node: node.spec.id.clone(),
        goal: node.spec.goal.clone(),
        class: node.spec.node_class,
        parent: state.parent,
        merkle: merkle(changes),
        base: branch.base.id,
        tree: branch.tree,
        artifacts: changes.to_vec(),
        energy: judgement.energy.clone(),
        retries: node.corrections,
        evidence: readings.iter().chain(*old_tests).copied().collect(),
        prompt: node.prompt,
        model: state.meta.as_ref().map(|meta| meta.model.clone()).unwrap_or_default(),
        grade: judgement.grade,
        below: judgement.below.iter().take(LINES).map(|line| line.chars().take(400).collect()).collect(),
        unmeasured: brief_promises(&judgement.unmeasured),
        new_tests: match &node.work {
            Work::Stable(candidate) => candidate.new_tests(),
            _ => None,
        },
        consents: needs.into_iter().zip(proof.consents()).map(consented).collect(),
        preset: state.settings().preset,
    }
}
