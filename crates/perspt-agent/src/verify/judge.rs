//! Judging a candidate: this loads what was measured, `perspt_core::judge` decides.

use std::collections::BTreeSet;

use perspt_core::consent::Consents;
use perspt_core::effect::Branch;
use perspt_core::energy::{NotProved, StabilityProof, Weights, prove};
use perspt_core::event::{Approval, Ended};
use perspt_core::grade::Require;
use perspt_core::ids::{BlobId, NodeId};
use perspt_core::judge::{Case, Declarations, Terms, Undeclared, judge, note};
use perspt_core::outcome::NodeEnd;
use perspt_core::path::RelPath;
use perspt_core::plan::Contract;
use perspt_core::reading::{Reading, StageId};
use perspt_core::stage::Preset;
use perspt_core::state::{Node, SessionState};
use perspt_lang::plugin::Files;

use crate::AgentError;
use crate::actor::Actor;
use crate::error::EffectError;

/// The blobs that a judgement is made from.
pub(crate) struct JudgementInputs<'a> {
    /// What is judged.
    pub branch: &'a Branch,
    /// Its readings.
    pub readings: &'a [BlobId],
    /// Earlier readings of the same stages.
    pub before: &'a [BlobId],
    /// Runs of the old tests over its code.
    pub old_tests: &'a [BlobId],
    /// The stages that had to look.
    pub required: &'a [StageId],
}

/// The same, loaded, with everything else that the judge needs.
struct LoadedInputs {
    readings: Vec<Reading>,
    before: Vec<Reading>,
    old_tests: Vec<Reading>,
    contract: Contract,
    packages: Vec<RelPath>,
    files: BTreeSet<RelPath>,
    changed: BTreeSet<RelPath>,
    brings_tests: bool,
    touched: BTreeSet<RelPath>,
    require: Option<Require>,
    declared: Declarations,
    consents: Consents,
    undeclared: Undeclared,
    red: Undeclared,
    preset: Preset,
    weights: Weights,
}

impl LoadedInputs {
    fn case(&self, branch: &Branch) -> Case<'_> {
        Case {
            tree: branch.tree,
            base: branch.base.id,
            readings: &self.readings,
            before: &self.before,
            old_tests: &self.old_tests,
        }
    }

    fn terms<'a>(&'a self, required: &'a [StageId]) -> Terms<'a> {
        Terms {
            contract: &self.contract,
            packages: &self.packages,
            files: &self.files,
            changed: &self.changed,
            brings_tests: self.brings_tests,
            touched: &self.touched,
            require: self.require,
            declared: &self.declared,
            consents: &self.consents,
            undeclared: self.undeclared,
            red: self.red,
            required,
            preset: self.preset,
            weights: &self.weights,
        }
    }
}

impl Actor {
    /// Judges a candidate. Without a node it judges the head at the end of the session.
    pub(crate) fn judge(
        &self,
        state: &SessionState,
        node: Option<&NodeId>,
        inputs: &JudgementInputs<'_>,
    ) -> Result<Ended, EffectError> {
        let loaded = self.load_inputs(state, node.and_then(|id| state.nodes.get(id)), inputs)?;
        let (case, terms) = (loaded.case(inputs.branch), loaded.terms(inputs.required));
        let judgement = judge(&case, &terms);
        let blob = self.store_blob(&judgement)?;
        Ok(Ended::Judged { judgement: Box::new(note(&judgement, &case, &terms, blob)) })
    }

    /// Proves that a candidate may be published.
    pub(crate) fn prove(
        &self,
        state: &SessionState,
        node: &Node,
        inputs: &JudgementInputs<'_>,
    ) -> Result<Result<StabilityProof, NotProved>, EffectError> {
        let loaded = self.load_inputs(state, Some(node), inputs)?;
        Ok(prove(&loaded.case(inputs.branch), &loaded.terms(inputs.required)))
    }

    fn load_inputs(
        &self,
        state: &SessionState,
        node: Option<&Node>,
        inputs: &JudgementInputs<'_>,
    ) -> Result<LoadedInputs, EffectError> {
        let load = |blobs: &[BlobId]| -> Result<Vec<Reading>, AgentError> {
            blobs.iter().map(|blob| self.load_blob("a reading", *blob)).collect()
        };
        let files = self.branch_files(inputs.branch)?;
        let changes = self.changes_of(inputs.branch)?;
        let left = changes.iter().filter(|change| change.after.is_some());
        let mut changed: BTreeSet<RelPath> = left.map(|change| change.path.clone()).collect();
        if state.verifies() && inputs.branch.changes.is_none() {
            // With nothing to compare it with, the whole tree is what is asked about.
            changed.extend(files.tree().entries.keys().cloned());
        }
        let touched: BTreeSet<RelPath> = changes.into_iter().map(|change| change.path).collect();
        let asks = state.meta.as_ref().is_some_and(|meta| meta.approval == Approval::Person);
        let told = asks || node.is_none_or(|node| node.told_undeclared);
        let is_test = |path: &RelPath| {
            let there = files.tree().entries.contains_key(path);
            there && self.parts.plugins.iter().any(|plugin| plugin.is_test_file(path))
        };
        let ask = |ask: bool| if ask { Undeclared::Ask } else { Undeclared::Tell };
        let roots = self.roots(state, &files);
        files.check_complete()?;
        Ok(LoadedInputs {
            readings: load(inputs.readings)?,
            before: load(inputs.before)?,
            old_tests: load(inputs.old_tests)?,
            contract: node.map(|node| node.spec.contract.clone()).unwrap_or_default(),
            packages: roots.into_iter().flat_map(|root| root.packages).collect(),
            brings_tests: node.is_some_and(|node| node.spec.output_files.iter().any(is_test)),
            files: touched.iter().cloned().chain(output_files(state, node)).collect(),
            changed,
            touched,
            require: state.settings().require.filter(|_| node.is_some() || state.verifies()),
            declared: node.map(|node| node.declared.clone()).unwrap_or_default(),
            consents: state.consents.clone(),
            undeclared: ask(told),
            red: ask(node.map_or(state.verifies(), |node| node.asks_red)),
            preset: state.settings().preset,
            weights: state.settings().weights,
        })
    }
}

/// The files that the node makes; at the end of the session, those of every committed node.
fn output_files(state: &SessionState, node: Option<&Node>) -> Vec<RelPath> {
    let made = |node: &Node| node.spec.output_files.clone();
    let committed =
        || state.nodes.values().filter(|node| node.end == Some(NodeEnd::Committed)).flat_map(made);
    node.map_or_else(|| committed().collect(), made)
}
