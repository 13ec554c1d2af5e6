//! The `parse` effect: an answer is read as a plan or as a bundle for a node.

use perspt_core::bundle::Bundle;
use perspt_core::effect::{Branch, Expects};
use perspt_core::event::{Ended, ParseState, RetryClass};
use perspt_core::ids::{BlobId, EffectId, NodeId};
use perspt_core::path::RelPath;
use perspt_core::state::{Node, SessionState};
use perspt_core::tree::Change;

use super::{ReadBundle, capture, read_bundle};
use crate::actor::Actor;
use crate::apply::{Commands, restore_secrets};
use crate::error::EffectError;
use crate::ports::Acted;
use crate::verify::masked_lines;

/// Lines of a rejection that an event carries; the evidence holds all of them.
const LINES: usize = 12;
const LINE_CHARS: usize = 600;

/// An answer to be read.
pub(crate) struct ParseRequest<'a> {
    pub effect: EffectId,
    pub node: Option<&'a NodeId>,
    pub answer: BlobId,
    pub expects: &'a Expects,
}

/// An answer that can be laid out.
struct Accepted {
    state: ParseState,
    bundle: Bundle,
    changes: Vec<Change>,
    /// New files that become the node's own.
    widened: Vec<RelPath>,
    commands: Commands,
}

/// Why an answer cannot be used.
struct Rejected {
    state: ParseState,
    retry: RetryClass,
    violations: Vec<String>,
}

impl Actor {
    pub(crate) fn parse(
        &self,
        state: &SessionState,
        request: &ParseRequest<'_>,
    ) -> Result<Acted, EffectError> {
        let ParseRequest { effect, node, answer, expects } = *request;
        match expects {
            Expects::Plan => self.parse_plan(effect, state, answer, None),
            Expects::PlanOrFallback => {
                let task = state.meta.as_ref().map(|meta| meta.task.as_str());
                self.parse_plan(effect, state, answer, task)
            }
            Expects::Bundle(branch) => {
                let node = node.and_then(|id| state.nodes.get(id)).ok_or(EffectError::Cancelled)?;
                self.parse_bundle(state, node, answer, branch).map(Acted::from)
            }
        }
    }

    /// Reads an answer as a bundle for a node, over the branch it is to be laid on.
    fn parse_bundle(
        &self,
        state: &SessionState,
        node: &Node,
        answer: BlobId,
        branch: &Branch,
    ) -> Result<Ended, EffectError> {
        let text = self.load_answer(answer)?;
        let capture = capture(&text);
        Ok(match self.read_answer(state, node, &text, branch)? {
            Ok(Accepted { state, bundle, changes, widened, commands }) => Ended::BundleParsed {
                state,
                capture,
                changes: Some(self.store_blob(&changes)?),
                retry: None,
                violations: vec![],
                evidence: None,
                widened,
                changes_tests: bundle.changes_tests,
                leaves_red: bundle.leaves_red,
                skipped: commands.skipped,
                refused: commands.refused,
                commands: commands.run,
                needs: commands.needs,
            },
            Err(Rejected { state, retry, violations }) => Ended::BundleParsed {
                state,
                capture,
                changes: None,
                retry: Some(retry),
                violations: bounded(&masked_lines(&self.parts.masks, &violations)),
                evidence: Some(answer),
                widened: vec![],
                changes_tests: vec![],
                leaves_red: vec![],
                skipped: vec![],
                refused: vec![],
                commands: vec![],
                needs: vec![],
            },
        })
    }

    fn read_answer(
        &self,
        state: &SessionState,
        node: &Node,
        text: &str,
        branch: &Branch,
    ) -> Result<Result<Accepted, Rejected>, EffectError> {
        let (bundle, parsed) = match read_bundle(text) {
            ReadBundle::Bundle(bundle, parsed) => (bundle, parsed),
            ReadBundle::Replan(reason) => {
                let (state, retry) = (ParseState::RequiresReplan, RetryClass::Replan);
                return Ok(Err(Rejected { state, retry, violations: vec![reason] }));
            }
            ReadBundle::Rejected { state, retry, violations } => {
                return Ok(Err(Rejected { state, retry, violations }));
            }
        };
        let rejected = |violations| {
            let (state, retry) = (ParseState::SemanticallyRejected, RetryClass::Retarget);
            Ok(Err(Rejected { state, retry, violations }))
        };
        let files = self.compared_files(branch)?;
        let restored = restore_secrets(&bundle, &files.candidate, &self.parts.masks);
        files.check_complete()?;
        let bundle = match restored {
            Ok(bundle) => bundle,
            Err(faults) => return rejected(faults),
        };
        let applied = self.apply_bundle(state, node, &bundle, &files);
        let mut commands = self.sort_commands(state, node, &bundle.commands, &files.candidate);
        files.check_complete()?;
        let (applied, widened) = match applied {
            Ok(applied) => applied,
            Err(faults) => return rejected(faults),
        };
        commands.needs.extend(self.new_packages(state, node, &applied, &files.candidate));
        let changes = self.changes_with(branch, applied)?;
        Ok(Ok(Accepted { state: parsed, bundle, changes, widened, commands }))
    }
}

/// As many lines of a rejection as an event carries.
pub(crate) fn bounded(lines: &[String]) -> Vec<String> {
    let mut out: Vec<String> =
        lines.iter().take(LINES).map(|line| line.chars().take(LINE_CHARS).collect()).collect();
    if lines.len() > LINES {
        out.push(format!("(and {} more)", lines.len() - LINES));
    }
    out
}
