//! Reading an answer as a plan: proposed nodes, or what the architect must correct.

use perspt_core::bundle::{Artifact, Bundle};
use perspt_core::effect::Branch;
use perspt_core::event::{Capture, Ended, Event, ParseState, PlanSource, Recovered, RepoMode, RetryClass};
use perspt_core::ids::{BlobId, EffectId};
use perspt_core::path::RelPath;
use perspt_core::plan::{Plan, PlanNode};
use perspt_core::route::Tier;
use perspt_core::state::SessionState;
use perspt_lang::plugin::{Files, Plugin};
use perspt_policy::path_rules::PathRules;

use super::words::cut;
use super::{ProjectFacts, RootedNode, assign_roots, fallback, plan_of, settle};
use crate::actor::Actor;
use crate::error::EffectError;
use crate::parse::{Payload, Reading, Recovery, Rejection, Shape, Wanted, bounded, read, recovery, told};
use crate::ports::Acted;
use crate::tree::ignore_files;

/// The most characters of the task in a goal.
const GOAL_CHARS: usize = 800;
/// The most bytes of a note on a corrected plan.
const NOTE_BYTES: usize = 400;

impl Actor {
    /// Reads an answer as a plan, with or without the changes of its one node. With `fallback_task`, an unusable answer is
    /// replaced by the fallback graph.
    pub(crate) fn parse_plan(
        &self,
        by: EffectId,
        state: &SessionState,
        answer: BlobId,
        fallback_task: Option<&str>,
    ) -> Result<Acted, EffectError> {
        let text = self.load_answer(answer)?;
        let Some(branch) = state.head_branch() else { return Err(EffectError::BaseMoved) };
        let capture = self.capture(&text);
        // Changes are taken only from the model that would have been asked for them.
        let together = state.route(Tier::Architect) == state.route(Tier::Actuator);
        let task = state.meta.as_ref().map_or("", |meta| meta.task.as_str());
        let (planned, fixed) = self.with_project(state, &branch, |project| {
            let fixed = fallback_task.map(|task| fallback(task, project));
            (planned(&text, task, recovery(state), project), fixed)
        })?;
        let Rejection { state, lines, .. } = match planned {
            Ok(Planned { nodes, state, recovered, notes, has_changes }) => {
                let bundle = (has_changes && together && nodes.len() == 1).then_some(answer);
                let source = PlanSource::Architect;
                let proposed =
                    Proposed { state, capture, source, diagnostics: vec![], notes, recovered, bundle };
                return Ok(proposed.with(by, nodes));
            }
            Err(rejected) => rejected,
        };
        let diagnostics = bounded(&lines);
        let recovered = Recovered::default();
        if let Some(nodes) = fixed {
            let source = PlanSource::Fallback;
            let proposed =
                Proposed { state, capture, source, diagnostics, notes: vec![], recovered, bundle: None };
            return Ok(proposed.with(by, nodes));
        }
        let evidence = Some(self.store_text(&(lines, text))?);
        Ok(Ended::PlanParsed {
            state,
            capture,
            proposed: None,
            diagnostics,
            settled: vec![],
            evidence,
            recovered,
            bundle: None,
        }
        .into())
    }
}

impl Actor {
    /// Looks at the tree of a branch as a project. Fails where a file could not be read that may have decided.
    pub(crate) fn with_project<T>(
        &self,
        state: &SessionState,
        branch: &Branch,
        look: impl FnOnce(&ProjectFacts<'_>) -> T,
    ) -> Result<T, EffectError> {
        let task = state.meta.as_ref().map_or("", |meta| meta.task.as_str());
        let files = self.branch_files(branch)?;
        let tree = files.tree();
        let ignores = ignore_files(&files);
        let path_rules = PathRules::new(tree, &ignores, task);
        let roots = self.roots(state, &files);
        let repo_mode = state.found.as_ref().map_or(RepoMode::Existing, |found| found.repo_mode);
        let plugins: Vec<&dyn Plugin> =
            self.parts.plugins.iter().map(|plugin| *plugin as &dyn Plugin).collect();
        let seen = look(&ProjectFacts {
            tree,
            path_rules: &path_rules,
            repo_mode,
            roots: &roots,
            plugins: &plugins,
        });
        files.check_complete()?;
        Ok(seen)
    }
}

/// A corrected plan, with roots.
struct Planned {
    nodes: Vec<RootedNode>,
    state: ParseState,
    recovered: Recovered,
    /// What was corrected, a line each.
    notes: Vec<String>,
    /// Whether the answer also holds changes.
    has_changes: bool,
}

/// The corrected plan of an answer.
fn planned(
    text: &str,
    task: &str,
    recovery: Recovery,
    project: &ProjectFacts<'_>,
) -> Result<Planned, Rejection> {
    let shapes = [Shape::Plan, Shape::PlanWithBundle, Shape::Bundle];
    let Reading { payload, state, finder, recovered } = read(text, &Wanted::one_of(&shapes).with(recovery))?;
    let rejected = |(state, lines)| Rejection { state, retry: RetryClass::Malformed, lines };
    let (plan, mut notes, has_changes) = match payload {
        Payload::Plan(json) => {
            let read = plan_of(json, state).map_err(rejected)?;
            (read.plan, read.notes, false)
        }
        Payload::PlanWithBundle { plan, bundle } => {
            let mut read = plan_of(plan, state).map_err(rejected)?;
            if let [node] = read.plan.nodes.as_mut_slice() {
                // What is written is the better list.
                let missing = files_of(&bundle).into_iter().filter(|path| !node.output_files.contains(path));
                node.output_files.extend(missing.collect::<Vec<_>>());
            }
            (read.plan, read.notes, true)
        }
        Payload::Bundle(bundle) => {
            let note = "the answer holds changes and no plan: they are its one task".to_owned();
            (Plan { nodes: vec![node_of(&bundle, task)] }, vec![note], true)
        }
        Payload::Analysis(_) | Payload::ContextRequests(_) | Payload::Replan(_) => {
            return Err(rejected((ParseState::SchemaInvalid, vec!["the answer is no plan".to_owned()])));
        }
    };
    let settled =
        settle(plan, project).map_err(|faults| rejected((ParseState::SemanticallyRejected, faults)))?;
    notes.extend(settled.notes);
    let nodes = assign_roots(settled.plan, project);
    Ok(Planned { nodes, state, recovered: told(finder, &recovered), notes, has_changes })
}

/// The node of an answer that went straight to its changes.
fn node_of(bundle: &Bundle, task: &str) -> PlanNode {
    PlanNode {
        goal: cut(task, GOAL_CHARS).to_owned(),
        changes_tests: bundle.changes_tests.clone(),
        leaves_red: bundle.leaves_red.clone(),
        ..PlanNode::plain("task", files_of(bundle))
    }
}

/// The files that a bundle names.
fn files_of(bundle: &Bundle) -> Vec<RelPath> {
    let mut files: Vec<RelPath> = Vec::new();
    for artifact in &bundle.artifacts {
        let named = match artifact {
            Artifact::Write { path, .. }
            | Artifact::Edit { path, .. }
            | Artifact::Diff { path, .. }
            | Artifact::Delete { path } => [Some(path), None],
            Artifact::Move { from, to } => [Some(from), Some(to)],
        };
        let paths = named.into_iter().flatten().filter_map(|path| RelPath::parse(path).ok());
        files.extend(paths.filter(|path| !files.contains(path)).collect::<Vec<_>>());
    }
    files
}

/// A plan with where it comes from.
struct Proposed {
    state: ParseState,
    capture: Capture,
    source: PlanSource,
    diagnostics: Vec<String>,
    notes: Vec<String>,
    recovered: Recovered,
    bundle: Option<BlobId>,
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
            recovered: self.recovered,
            bundle: self.bundle,
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
