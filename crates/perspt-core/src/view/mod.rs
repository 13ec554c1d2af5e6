//! A session as people see it. `status`, `ledger`, the summary, screens and pages render this and compute nothing
//! themselves.
//!
//! [`SessionView::of`] makes it from the state and from a [`History`] of what the state does not keep. Both are folds
//! over the same events; `perspt_store::Follower` does both.

mod history;
mod node;
mod summary;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::budget::{BudgetLimits, Spend};
use crate::consent::Grant;
use crate::effect::{EffectNote, Question};
use crate::energy::Energy;
use crate::event::{KeptPlace, MissingTool, PlanSource, RepoMode, SessionStarted, Trouble};
use crate::hash::Sha;
use crate::ids::{EffectId, NodeId, TreeId};
use crate::outcome::EndReason;
use crate::path::RelPath;
use crate::route::Tier;
use crate::state::SessionState;

pub use history::{AttemptView, CommitView, History};
pub use node::NodeView;
pub use summary::{Summary, allow_flags};

/// Whether the process that owns a session lives. The log cannot say; the session's lock can.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// It works on the session.
    Alive,
    /// Nobody works on the session.
    Gone,
}

/// A session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SessionView {
    /// What it is doing, or how it ended, in a word.
    pub status: &'static str,
    /// The exit code of its last process, once it has ended.
    pub exit_code: Option<u8>,
    /// How it began. `None` where it never did.
    pub started: Option<SessionStarted>,
    /// What went wrong, for ends that are an error.
    pub trouble: Option<Trouble>,
    /// The languages, each once.
    pub languages: Vec<String>,
    /// Whether there was a project when it began.
    pub repo_mode: Option<RepoMode>,
    /// The tools that measure.
    pub tools: Vec<ToolView>,
    /// The first tool that cannot be used and is needed.
    pub degraded: Option<MissingTool>,
    /// Whether it only measures the tree as it is.
    pub verifies: bool,
    /// The energy of that tree.
    pub verified: Option<Energy>,
    /// The adopted plan.
    pub plan: Option<PlanView>,
    /// Its nodes, in order.
    pub nodes: Vec<NodeView>,
    /// What it is doing now.
    pub doing: Vec<EffectNote>,
    /// The question that its process waits with.
    pub asks: Option<QuestionView>,
    /// What the user permits.
    pub allowed: Vec<Grant>,
    /// What was used of the budget.
    pub budget: BudgetView,
    /// What was committed, in order.
    pub commits: Vec<CommitView>,
    /// The tree as the session last published or saw it.
    pub head: Option<TreeId>,
    /// Bytes of the user's that lost their place in the tree, and where they are.
    pub kept: Vec<(RelPath, KeptPlace)>,
    /// How many records its log has.
    pub records: u64,
    /// How many of them this program does not know.
    pub unknown_records: u64,
    /// The whole in a few numbers.
    pub summary: Summary,
}

/// A tool that measures in a root.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolView {
    /// The root.
    pub root: RelPath,
    /// The tool, as a person would name it.
    pub tool: String,
    /// Why it cannot be used, where it cannot.
    pub missing: Option<MissingTool>,
}

/// The adopted plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlanView {
    /// The hash over its nodes.
    pub hash: Sha,
    /// Counts the plans of the session, from one.
    pub revision: u32,
    /// Who made the plan.
    pub source: PlanSource,
}

/// A question that somebody is being asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct QuestionView {
    /// Its effect.
    pub id: EffectId,
    /// The node it is about; `None` for the plan.
    pub node: Option<NodeId>,
    /// The question.
    pub question: Question,
}

impl QuestionView {
    /// What is asked, in a few words.
    pub fn words(&self) -> String {
        match (&self.question, &self.node) {
            (Question::Plan { .. }, _) => "whether to work on the plan".to_owned(),
            (Question::Consents { count, .. }, Some(node)) => {
                format!("for {count} permission{} for node {node}", if *count == 1 { "" } else { "s" })
            }
            (Question::Consents { count, .. }, None) => format!("for {count} permissions"),
        }
    }
}

/// What was used of the budget.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BudgetView {
    /// Used.
    pub used: Spend,
    /// Held for what is in flight.
    pub reserved: Spend,
    /// The most that may be used.
    pub limits: BudgetLimits,
    /// Milliseconds that processes have worked.
    pub active_ms: u64,
    /// What was used, by tier.
    pub tiers: BTreeMap<Tier, Spend>,
}

impl SessionView {
    /// The view of a session.
    pub fn of(state: &SessionState, history: &History, owner: Owner) -> SessionView {
        let end = state.end.as_ref();
        let nodes = state.order.iter().filter_map(|id| state.nodes.get(id));
        SessionView {
            status: session_word(state, owner),
            exit_code: end.map(|end| end.outcome.exit_code()),
            started: state.meta.clone(),
            trouble: end.and_then(|end| end.trouble.clone()),
            languages: languages(state),
            repo_mode: state.found.as_ref().map(|found| found.repo_mode),
            tools: tools(state),
            degraded: state.degraded.clone(),
            verifies: state.verifies(),
            verified: state
                .last_look
                .as_ref()
                .filter(|_| state.verifies())
                .map(|(_, judgement)| judgement.energy.clone()),
            plan: state.planning.adopted.map(|(hash, revision, source)| PlanView { hash, revision, source }),
            nodes: nodes.map(|node| NodeView::of(state, node, history)).collect(),
            doing: state
                .in_flight
                .values()
                .map(|flight| EffectNote::of(&flight.key, &flight.effect))
                .collect(),
            asks: state.open_question().filter(|_| owner == Owner::Alive).map(|(id, flight, question)| {
                QuestionView { id, node: flight.key.node.clone(), question: question.clone() }
            }),
            allowed: state.consents.grants.clone(),
            budget: BudgetView {
                used: state.account.used,
                reserved: state.account.reserved,
                limits: state.settings().limits,
                active_ms: state.active_ms(),
                tiers: state.account.tiers.clone(),
            },
            commits: history.commits().to_vec(),
            head: state.head.map(|head| head.id),
            kept: state.kept.clone(),
            records: history.records(),
            unknown_records: history.unknown_records(),
            summary: Summary::of(state, history),
        }
    }
}

/// What a session is doing, or how it ended, in a word.
pub fn session_word(state: &SessionState, owner: Owner) -> &'static str {
    match (&state.meta, &state.end, owner) {
        (None, _, _) => "never begun",
        (_, Some(end), _) => match end.reason {
            EndReason::Paused => "paused",
            EndReason::Aborted => "aborted",
            EndReason::NodesClosed
            | EndReason::Internal
            | EndReason::Usage
            | EndReason::Provider
            | EndReason::Budget
            | EndReason::Degraded
            | EndReason::Refused
            | EndReason::Consents => end.outcome.as_str(),
        },
        (_, None, Owner::Alive) => "running",
        (_, None, Owner::Gone) => "interrupted",
    }
}

/// The languages of a session, each once.
pub fn languages(state: &SessionState) -> Vec<String> {
    let found = state.found.iter().flat_map(|found| &found.roots);
    let mut names: Vec<String> = Vec::new();
    for root in found.chain(&state.planned_roots) {
        let name = root.plugin.to_string();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn tools(state: &SessionState) -> Vec<ToolView> {
    let mut tools = Vec::new();
    for root in state.probed.iter().flatten() {
        let dir = &root.root.dir;
        tools.extend(root.stages.iter().map(|stage| ToolView {
            root: dir.clone(),
            tool: stage.tool.clone(),
            missing: None,
        }));
        tools.extend(root.missing.iter().map(|missing| ToolView {
            root: dir.clone(),
            tool: missing.tool.clone(),
            missing: Some(missing.clone()),
        }));
    }
    tools
}
