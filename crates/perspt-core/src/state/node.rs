//! One node's part of the state.

use serde::{Deserialize, Serialize};

use super::Asker;
use crate::effect::{Branch, Intent};
use crate::energy::{Energy, ReadingSummary};
use crate::event::{DiffNote, RetryClass, RootRef};
use crate::hash::Sha;
use crate::ids::BlobId;
use crate::outcome::NodeEnd;
use crate::path::RelPath;
use crate::plan::PlanNode;

/// Where a node stands, for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeState {
    /// Waits for its dependencies or its turn.
    Queued,
    /// A prompt is being made, or the model writes.
    Generating,
    /// An answer is being read.
    Validating,
    /// Tools are looking.
    Verifying,
    /// The next answer is being asked for.
    Retrying,
    /// Stable, not yet in the tree.
    Committing,
    /// In the tree.
    Committed,
    /// Given up.
    Escalated,
    /// Never ran.
    Blocked,
}

impl NodeState {
    /// The word on screens.
    pub fn as_str(self) -> &'static str {
        match self {
            NodeState::Queued => "queued",
            NodeState::Generating => "generating",
            NodeState::Validating => "validating",
            NodeState::Verifying => "verifying",
            NodeState::Retrying => "retrying",
            NodeState::Committing => "committing",
            NodeState::Committed => "committed",
            NodeState::Escalated => "escalated",
            NodeState::Blocked => "blocked",
        }
    }
}

/// A branch with what is known of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    /// The branch.
    pub branch: Branch,
    /// What it changes, for people.
    pub diff: DiffNote,
    /// What was measured.
    pub readings: Vec<ReadingSummary>,
    /// The judgement, once made.
    pub energy: Option<Energy>,
}

/// What a node is doing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Work {
    /// Waits for its turn.
    #[default]
    Waiting,
    /// A prompt is to be compiled.
    Context(Intent),
    /// The model is to be asked.
    Asking {
        /// Why.
        intent: Intent,
        /// The prompt.
        prompt: BlobId,
        /// Its tokens.
        tokens: u64,
    },
    /// An answer is to be read.
    Parsing {
        /// The answer.
        answer: BlobId,
    },
    /// The changes are to be laid out.
    LayingOut {
        /// The changes.
        changes: BlobId,
    },
    /// The candidate is to be measured and judged.
    Verifying(Box<Candidate>),
    /// The candidate is stable, and to be published.
    Stable(Box<Candidate>),
    /// Nothing is left to do.
    Closed,
}

/// How often the same thing came in a row.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Repeat {
    /// What came last.
    pub last: Option<Sha>,
    /// How often in a row.
    pub times: u32,
}

impl Repeat {
    /// Notes one more; the count says how often it has now come in a row.
    pub fn note(&mut self, what: Sha) {
        if self.last == Some(what) {
            self.times = self.times.saturating_add(1);
        } else {
            *self = Repeat { last: Some(what), times: 1 };
        }
    }
}

/// Why the last attempt did not do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What to do about it.
    pub class: RetryClass,
    /// One line for people.
    pub reason: String,
    /// Readings or the rejected answer.
    pub evidence: Vec<BlobId>,
    /// All lines, for the certificate.
    pub lines: Vec<String>,
}

/// One node of the session's plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// As planned.
    pub spec: PlanNode,
    /// The roots it is verified in.
    pub roots: Vec<RootRef>,
    /// Rises when its base changes under it; outcomes of an older one change nothing.
    pub generation: u32,
    /// What it is doing.
    pub work: Work,
    /// Its requests to the model.
    pub asker: Asker,
    /// Candidates judged and answers rejected.
    pub attempts: u32,
    /// Corrections used.
    pub corrections: u32,
    /// Answers that were cut off or filtered by the provider.
    pub spoiled: u32,
    /// Rebuilds on a moved base.
    pub rebuilds: u32,
    /// The best candidate so far.
    pub best: Option<Candidate>,
    /// The same answer in a row.
    pub same_answer: Repeat,
    /// The same findings in a row.
    pub same_findings: Repeat,
    /// Why the last attempt did not do.
    pub failure: Option<Failure>,
    /// Whether the last candidate was worse than the best and was dropped.
    pub discarded: bool,
    /// Files the model has been shown.
    pub reads: Vec<RelPath>,
    /// The last prompt.
    pub prompt: Option<BlobId>,
    /// How it ended.
    pub end: Option<NodeEnd>,
    /// The commit's Merkle root, once committed.
    pub merkle: Option<Sha>,
    /// Files of its commit that the user has changed since, as far as perspt has seen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_since: Vec<RelPath>,
}

impl Node {
    /// A planned node that has not begun.
    pub fn new(spec: PlanNode, roots: Vec<RootRef>) -> Node {
        Node {
            spec,
            roots,
            generation: 0,
            work: Work::Waiting,
            asker: Asker::default(),
            attempts: 0,
            corrections: 0,
            spoiled: 0,
            rebuilds: 0,
            best: None,
            same_answer: Repeat::default(),
            same_findings: Repeat::default(),
            failure: None,
            discarded: false,
            reads: Vec::new(),
            prompt: None,
            end: None,
            merkle: None,
            changed_since: Vec::new(),
        }
    }

    /// Where it stands, for people.
    pub fn state(&self) -> NodeState {
        match (self.end, &self.work) {
            (Some(NodeEnd::Committed), _) => NodeState::Committed,
            (Some(NodeEnd::Escalated), _) => NodeState::Escalated,
            (Some(NodeEnd::Blocked), _) => NodeState::Blocked,
            (Some(NodeEnd::Open) | None, work) => match work {
                Work::Waiting => NodeState::Queued,
                Work::Context(_) | Work::Asking { .. } if self.failure.is_some() => NodeState::Retrying,
                Work::Context(_) | Work::Asking { .. } => NodeState::Generating,
                Work::Parsing { .. } => NodeState::Validating,
                Work::LayingOut { .. } | Work::Verifying(_) => NodeState::Verifying,
                Work::Stable(_) | Work::Closed => NodeState::Committing,
            },
        }
    }

    /// What the next answer is laid over: the best candidate, or the base itself.
    pub fn start(&self, head: Branch) -> Branch {
        match &self.best {
            Some(best) if best.branch.base == head.base => best.branch,
            Some(_) | None => head,
        }
    }

    /// Answers used, those the provider spoiled included.
    pub fn answers_used(&self) -> u32 {
        self.asker.total().saturating_add(self.spoiled)
    }

    /// Every file it may write as its own.
    pub fn owns(&self, path: &RelPath) -> bool {
        self.spec.output_files.contains(path) || self.spec.modifies.contains(path)
    }

    /// Drops what only an open node needs.
    pub fn close(&mut self, end: NodeEnd) {
        self.end = Some(end);
        self.work = Work::Closed;
        self.reads.clear();
        self.asker.last_failure = None;
        if let Some(best) = &mut self.best {
            best.readings.clear();
        }
    }
}
