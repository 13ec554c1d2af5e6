//! Reading an answer as a plan: proposed nodes, or what the architect must correct.

use perspt_core::event::{Capture, Ended, Event, ParseState, PlanSource, RepoMode};
use perspt_core::ids::{BlobId, EffectId};
use perspt_core::state::SessionState;
use perspt_lang::plugin::{Files, Plugin};
use perspt_policy::path_rules::PathRules;

use super::{PlanRead, ProjectFacts, RootedNode, assign_roots, fallback, read_plan, settle};
use crate::actor::Actor;
use crate::error::EffectError;
use crate::parse::{bounded, capture};
use crate::ports::Acted;
use crate::tree::ignore_files;

/// The most bytes of a note on a corrected plan.
const NOTE_BYTES: usize = 400;

impl Actor {
    /// Reads an answer as a plan. With `fallback_task`, an unusable answer is replaced by the fallback graph.
    pub(crate) fn parse_plan(
        &self,
        by: EffectId,
        state: &SessionState,
        answer: BlobId,
        fallback_task: Option<&str>,
    ) -> Result<Acted, EffectError> {
        let text = self.load_answer(answer)?;
        let task = state.meta.as_ref().map_or("", |meta| meta.task.as_str());
        let Some(branch) = state.head_branch() else { return Err(EffectError::BaseMoved) };
        let files = self.branch_files(&branch)?;
        let tree = files.tree();
        let ignores = ignore_files(&files);
        let path_rules = PathRules::new(tree, &ignores, task);
        let roots = self.roots(state, &files);
        let repo_mode = state.found.as_ref().map_or(RepoMode::Existing, |found| found.repo_mode);
        let plugins: Vec<&dyn Plugin> =
            self.parts.plugins.iter().map(|plugin| *plugin as &dyn Plugin).collect();
        let project =
            ProjectFacts { tree, path_rules: &path_rules, repo_mode, roots: &roots, plugins: &plugins };
        let capture = capture(&text);
        let planned = planned(&text, &project);
        // A file that could not be read may have decided.
        files.check_complete()?;
        let (state, faults) = match planned {
            Ok((nodes, state, notes)) => {
                let proposed =
                    Proposed { state, capture, source: PlanSource::Architect, diagnostics: vec![], notes };
                return Ok(proposed.with(by, nodes));
            }
            Err(rejected) => rejected,
        };
        let diagnostics = bounded(&faults);
        if let Some(task) = fallback_task {
            let source = PlanSource::Fallback;
            let proposed = Proposed { state, capture, source, diagnostics, notes: vec![] };
            return Ok(proposed.with(by, fallback(task, &project)));
        }
        let evidence = Some(self.store_text(&(faults, text))?);
        Ok(Ended::PlanParsed { state, capture, proposed: None, diagnostics, settled: vec![], evidence }
            .into())
    }
}

type Rejected = (ParseState, Vec<String>);

/// The corrected plan of an answer, with roots, and notes on what was corrected.
fn planned(
    text: &str,
    project: &ProjectFacts<'_>,
) -> Result<(Vec<RootedNode>, ParseState, Vec<String>), Rejected> {
    let PlanRead { plan, state, mut notes } = read_plan(text)?;
    let settled = settle(plan, project).map_err(|faults| (ParseState::SemanticallyRejected, faults))?;
    notes.extend(settled.notes);
    Ok((assign_roots(settled.plan, project), state, notes))
}

/// A plan with where it comes from.
struct Proposed {
    state: ParseState,
    capture: Capture,
    source: PlanSource,
    diagnostics: Vec<String>,
    notes: Vec<String>,
}

impl Proposed {
    fn with(self, by: EffectId, nodes: Vec<RootedNode>) -> Acted {
        let proposed = |RootedNode { node, roots }| Event::NodeProposed { by, node: Box::new(node), roots };
        let outcome = Ended::PlanParsed {
            state: self.state,
            capture: self.capture,
            proposed: Some(self.source),
            diagnostics: self.diagnostics,
            settled: bounded(&self.notes).iter().map(|note| short(note).to_owned()).collect(),
            evidence: None,
        };
        Acted { facts: nodes.into_iter().map(proposed).collect(), outcome }
    }
}

/// As much of a note as an event takes.
fn short(note: &str) -> &str {
    let mut end = note.len().min(NOTE_BYTES);
    while !note.is_char_boundary(end) {
        end -= 1;
    }
    &note[..end]
}
