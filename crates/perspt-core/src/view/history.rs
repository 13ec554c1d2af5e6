//! What happened, as far as the state does not keep it: every attempt, every commit, why nodes were given up.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::consent::Need;
use crate::effect::Intent;
use crate::energy::{Energy, NewTests};
use crate::event::{
    Capture, Certificate, Closed, Commit, Ended, Event, ParseState, RetryClass, StageVerdict, Verdict,
};
use crate::grade::Grade;
use crate::hash::Sha;
use crate::ids::{BlobId, CommitId, NodeId};
use crate::path::RelPath;
use crate::tree::Change;

/// One answer of the model for a node, and what came of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct AttemptView {
    /// Why the model was asked.
    pub intent: Option<Intent>,
    /// The prompt.
    pub prompt: Option<BlobId>,
    /// The model that answered.
    pub model: String,
    /// Tokens in and out, where the provider says.
    pub tokens: Option<(u64, u64)>,
    /// What came: hash, length, first line.
    pub answer: Option<Capture>,
    /// Files that the user changed meanwhile, so that it was laid over a newer tree.
    pub rebased: Vec<RelPath>,
    /// How it was read.
    pub read: Option<ParseState>,
    /// What the answer violates, a line each.
    pub violations: Vec<String>,
    /// What was to be done about that.
    pub retry: Option<RetryClass>,
    /// The candidate's number, where one was judged.
    pub candidate: Option<u32>,
    /// Its energy.
    pub energy: Option<Energy>,
    /// What each stage found, and whether it counts.
    pub stages: Vec<StageVerdict>,
    /// What was found, the worst first, a line each.
    pub findings: Vec<String>,
    /// How much was proved.
    pub grade: Option<Grade>,
    /// Whether it was accepted, or what follows instead.
    pub verdict: Option<Verdict>,
}

/// A commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CommitView {
    /// The record's name.
    pub id: CommitId,
    /// The node.
    pub node: NodeId,
    /// Its goal.
    pub goal: String,
    /// The Merkle root over its files.
    pub merkle: Sha,
    /// Every file with its hash before and after.
    pub files: Vec<Change>,
    /// Corrections it took.
    pub corrections: u32,
    /// How much was proved.
    pub grade: Grade,
    /// What lies below tests, in words.
    pub below: Vec<String>,
    /// Promises of the contract that are not known to hold, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unmeasured: Vec<String>,
    /// How its new tests end over the code as it was.
    pub new_tests: Option<NewTests>,
    /// What the user permitted of it.
    pub consents: Vec<Need>,
    /// The model.
    pub model: String,
}

impl CommitView {
    fn of(commit: &Commit) -> CommitView {
        CommitView {
            id: commit.id(),
            node: commit.node.clone(),
            goal: commit.goal.clone(),
            merkle: commit.merkle,
            files: commit.artifacts.clone(),
            corrections: commit.retries,
            grade: commit.grade,
            below: commit.below.clone(),
            unmeasured: commit.unmeasured.clone(),
            new_tests: commit.new_tests,
            consents: commit.consents.iter().map(|one| one.need.clone()).collect(),
            model: commit.model.clone(),
        }
    }
}

/// The fold of what the state does not keep.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct History {
    attempts: BTreeMap<NodeId, Vec<AttemptView>>,
    prompts: BTreeMap<NodeId, BlobId>,
    /// The architect's last answer: it may hold the first one of a node too.
    planned: AttemptView,
    commits: Vec<CommitView>,
    certificates: BTreeMap<NodeId, Certificate>,
    records: u64,
    unknown: u64,
}

impl History {
    /// Takes an event in.
    pub fn apply(&mut self, event: &Event) {
        self.records += 1;
        match event {
            Event::EffectEnded { of: Some(of), outcome, .. } => match (&of.node, outcome) {
                (Some(node), _) => self.ended(node, of.intent, outcome),
                (None, Ended::Answered { .. }) => self.planned = answered(of.intent, None, outcome),
                (None, Ended::PlanParsed { bundle: None, .. }) => self.planned = AttemptView::default(),
                (None, _) => {}
            },
            Event::AttemptJudged { node, attempt, stages, energy, verdict, reason, grade, .. } => {
                let last = self.last(node);
                last.candidate = Some(*attempt);
                (last.energy, last.grade) = (Some(energy.clone()), Some(*grade));
                (last.stages, last.verdict) = (stages.clone(), Some(*verdict));
                if last.findings.is_empty() {
                    last.findings.extend(reason.clone());
                }
            }
            Event::NodeClosed { node, end: Closed::Escalated { certificate } } => {
                self.certificates.insert(node.clone(), (**certificate).clone());
            }
            Event::EffectEnded { of: None, .. }
            | Event::NodeClosed { end: Closed::Blocked { .. } | Closed::Rejected, .. }
            | Event::SessionStarted(_)
            | Event::SessionResumed(_)
            | Event::TailCut { .. }
            | Event::BytesKept { .. }
            | Event::EffectStarted { .. }
            | Event::NodeProposed { .. }
            | Event::PlanAdopted { .. }
            | Event::TierMoved { .. }
            | Event::PauseAsked
            | Event::AbortAsked { .. }
            | Event::SessionEnded { .. } => {}
        }
    }

    /// A record that this program does not know.
    pub fn unknown(&mut self) {
        self.records += 1;
        self.unknown += 1;
    }

    fn ended(&mut self, node: &NodeId, intent: Option<Intent>, outcome: &Ended) {
        match outcome {
            Ended::Assembled { prompt, .. } => {
                self.prompts.insert(node.clone(), *prompt);
            }
            Ended::Answered { .. } if intent == Some(Intent::Analysis) => {}
            Ended::Answered { .. } => {
                let attempt = answered(intent, self.prompts.get(node).copied(), outcome);
                self.attempts.entry(node.clone()).or_default().push(attempt);
            }
            Ended::BundleParsed { state, retry, violations, .. } => {
                let last = self.last(node);
                (last.read, last.retry) = (Some(*state), *retry);
                last.violations.clone_from(violations);
            }
            Ended::LayoutRefused { violations, .. } => {
                let last = self.last(node);
                last.retry = Some(RetryClass::Retarget);
                last.violations.clone_from(violations);
            }
            Ended::BaseMoved { changed, .. } => self.last(node).rebased.clone_from(changed),
            Ended::Judged { judgement } => self.last(node).findings.clone_from(&judgement.headlines),
            Ended::Published { commit, .. } => self.commits.push(CommitView::of(commit)),
            Ended::Snapshotted { .. }
            | Ended::Unworkable { .. }
            | Ended::Probed { .. }
            | Ended::Fetched { .. }
            | Ended::LaidOut { .. }
            | Ended::Overtaken { .. }
            | Ended::Measured { .. }
            | Ended::NewTestsRan { .. }
            | Ended::Calibrated { .. }
            | Ended::TooLargeForModel { .. }
            | Ended::PlannedLocally
            | Ended::AnalysisParsed { .. }
            | Ended::AskFailed { .. }
            | Ended::PlanParsed { .. }
            | Ended::Decided { .. }
            | Ended::Lost
            | Ended::Cancelled
            | Ended::Broke { .. } => {}
        }
    }

    /// The node's last attempt. A candidate may be judged again after a rebase, with no new answer.
    fn last(&mut self, node: &NodeId) -> &mut AttemptView {
        let attempts = self.attempts.entry(node.clone()).or_default();
        if attempts.is_empty() {
            attempts.push(std::mem::take(&mut self.planned));
        }
        let last = attempts.len() - 1;
        &mut attempts[last]
    }

    /// Every answer for a node, in order.
    pub fn attempts(&self, node: &NodeId) -> &[AttemptView] {
        self.attempts.get(node).map_or(&[], Vec::as_slice)
    }

    /// Every commit, in order.
    pub fn commits(&self) -> &[CommitView] {
        &self.commits
    }

    /// Why a node was given up.
    pub fn certificate(&self, node: &NodeId) -> Option<&Certificate> {
        self.certificates.get(node)
    }

    /// How many records there were.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Records that this program does not know.
    pub fn unknown_records(&self) -> u64 {
        self.unknown
    }
}

/// An attempt of which nothing is known yet but that an answer came.
fn answered(intent: Option<Intent>, prompt: Option<BlobId>, outcome: &Ended) -> AttemptView {
    let Ended::Answered { capture, tokens_in, tokens_out, model, .. } = outcome else {
        return AttemptView::default();
    };
    AttemptView {
        intent,
        prompt,
        model: model.clone(),
        tokens: tokens_in.zip(*tokens_out),
        answer: Some(capture.clone()),
        ..AttemptView::default()
    }
}
