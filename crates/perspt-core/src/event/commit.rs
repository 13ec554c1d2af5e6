//! How nodes end: judged, committed with a record of the ledger, or given up with a certificate.

use serde::{Deserialize, Serialize};

use crate::consent::{Grant, Need};
use crate::energy::{Energy, NewTests, TestCounts};
use crate::grade::Grade;
use crate::hash::Sha;
use crate::ids::{BlobId, CommitId, NodeId, TreeId};
use crate::path::RelPath;
use crate::plan::NodeClass;
use crate::reading::StageId;
use crate::stage::{Preset, StageRole};
use crate::tree::Change;

/// A committed node: the ledger's record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commit {
    /// The node.
    pub node: NodeId,
    /// Its goal.
    pub goal: String,
    /// Its class.
    pub class: NodeClass,
    /// The session's commit before; for the first, the base tree.
    pub parent: Sha,
    /// The root over the sorted (path, before, after) leaves.
    pub merkle: Sha,
    /// The tree before.
    pub base: TreeId,
    /// The tree after.
    pub tree: TreeId,
    /// Every file, with its hash before and after.
    pub artifacts: Vec<Change>,
    /// The energy it was committed at.
    pub energy: Energy,
    /// Corrections it took.
    pub retries: u32,
    /// The readings that prove it.
    pub evidence: Vec<BlobId>,
    /// The prompt of the answer that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<BlobId>,
    /// The model.
    pub model: String,
    /// How much was proved.
    pub grade: Grade,
    /// What lies below tests, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub below: Vec<String>,
    /// Promises of the contract that are not known to hold, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unmeasured: Vec<String>,
    /// The tests it adds, over the code as it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_tests: Option<NewTests>,
    /// What the user permitted of it, and how; the readings hold what is left out for its length.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub consents: Vec<Consented>,
    /// How much was to be measured.
    #[serde(default, skip_serializing_if = "Preset::is_default")]
    pub preset: Preset,
}

/// A need of a commit and the grant that covered it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Consented {
    /// What was needed.
    pub need: Need,
    /// What covered it.
    pub grant: Grant,
}

impl Commit {
    /// The record's name.
    pub fn id(&self) -> CommitId {
        CommitId(Sha::of(&serde_json::to_vec(self).unwrap_or_default()))
    }
}

/// The Merkle root over changed files: leaves in path order, an odd one carried up.
pub fn merkle(changes: &[Change]) -> Sha {
    let hash_of = |entry: &Option<crate::tree::Entry>| entry.map_or(Sha::ZERO, |entry| entry.hash);
    let mut sorted: Vec<&Change> = changes.iter().collect();
    sorted.sort_by(|a, b| a.path.cmp(&b.path));
    let mut level: Vec<Sha> = sorted
        .into_iter()
        .map(|change| {
            Sha::of_fields([
                b"leaf".as_slice(),
                change.path.as_str().as_bytes(),
                &hash_of(&change.before).0,
                &hash_of(&change.after).0,
            ])
        })
        .collect();
    while level.len() > 1 {
        level = level
            .chunks(2)
            .map(|pair| match pair {
                [left, right] => Sha::of_fields([b"node".as_slice(), &left.0, &right.0]),
                odd => odd[0],
            })
            .collect();
    }
    level.first().copied().unwrap_or(Sha::ZERO)
}

/// One stage's part of a judgement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageVerdict {
    /// Which stage.
    pub stage: StageId,
    /// The tool.
    pub tool: String,
    /// What its result means for the candidate.
    #[serde(default, skip_serializing_if = "StageRole::is_required")]
    pub role: StageRole,
    /// What came of it.
    pub result: StageResult,
    /// For a test stage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<TestCounts>,
    /// Findings that were there before and are not charged.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub inherited: u32,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// What came of a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "is", content = "errors")]
pub enum StageResult {
    /// Measured, nothing counted.
    Pass,
    /// Measured, and it read nothing of what was changed.
    NotConcerned,
    /// Measured, this many errors.
    Fail(u32),
    /// An earlier stage failed.
    NotRun,
    /// The environment could not run it.
    Unavailable,
}

/// What follows from a judgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Stable: to be calibrated where that is owed, and published.
    Stable,
    /// Better than any before: kept, and corrected from here.
    Improved,
    /// Not better: discarded, the next correction starts from the best.
    Discarded,
    /// Stable but for consents that only the user can give.
    Waits,
}

/// A residual certificate: what is left when a node is given up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Certificate {
    /// Why the node was given up.
    pub reason: EscalateReason,
    /// What kind of failure it is.
    pub category: Category,
    /// The energy of the best state, if any was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy: Option<Energy>,
    /// The findings that remain, a line each.
    pub residuals: Vec<String>,
    /// The readings, whole.
    pub evidence: Vec<BlobId>,
    /// Answers used.
    pub answers: u32,
    /// Corrections used.
    pub corrections: u32,
    /// The tree's last commit.
    pub head: TreeId,
    /// A suggested next step.
    pub next: String,
}

/// Why a node is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EscalateReason {
    /// Corrections or answers used up.
    RetriesExhausted,
    /// The last answers could not be read.
    Malformed,
    /// The same answer or the same findings three times in a row.
    Repeated,
    /// The model says its scope is too small.
    RequiresReplan,
    /// The user kept changing what it works on.
    BaseKeptMoving,
    /// What must be shown does not fit the model's window.
    WindowTooSmall,
}

/// What kind of failure an escalation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// The code is wrong.
    ImplementationError,
    /// The model cannot answer in the form asked for.
    ModelCapability,
    /// The plan does not fit.
    TopologyMismatch,
}

impl Category {
    /// The word on an ESCALATE line.
    pub fn as_str(self) -> &'static str {
        match self {
            Category::ImplementationError => "implementation-error",
            Category::ModelCapability => "model-capability",
            Category::TopologyMismatch => "topology-mismatch",
        }
    }
}

/// Where a user's bytes are kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "as", content = "at", rename_all = "snake_case")]
pub enum KeptPlace {
    /// In a blob of the session.
    Blob(BlobId),
    /// Under this name in the tree: it is a folder or a special file.
    Beside(RelPath),
}

/// How a node was closed without a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "as", rename_all = "snake_case")]
pub enum Closed {
    /// Given up, with what remains.
    Escalated {
        /// Why, and what is still wrong.
        certificate: Box<Certificate>,
    },
    /// It never ran: a node that it depends on did not make it.
    Blocked {
        /// The node it waited for.
        by: NodeId,
    },
    /// The user said no to what it needs.
    Rejected,
}
