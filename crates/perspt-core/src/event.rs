//! Events: the only truth of a session. Every one is durable before anything acts on it; what need not
//! survive a crash is not an event. Events only grow: new fields are optional, none is renamed or reused.

use serde::{Deserialize, Serialize};

use crate::budget::Limits;
use crate::effect::{Effect, EffectKey, TreeRef};
use crate::energy::{Energy, ReadingSummary, TestCounts, Weights};
use crate::hash::Sha;
use crate::ids::{BlobId, CommitId, EffectId, NodeId, SessionId, TreeId};
use crate::outcome::{Closing, EndReason, Outcome};
use crate::path::RelPath;
use crate::plan::{NodeClass, PlanNode};
use crate::reading::{PluginName, StageId, StageKind};
use crate::residual::Milli;
use crate::tree::Change;

/// The schema this program writes. A record of a later one is shown as unknown and never acted on.
pub const SCHEMA: u32 = 1;

/// The knobs a session runs with, recorded so that resume uses the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// Budgets.
    pub limits: Limits,
    /// Energy weights and threshold.
    pub weights: Weights,
    /// Corrections after a node's first answer.
    pub corrections: u32,
    /// Answers a node gets in all, unreadable ones included.
    pub answers: u32,
    /// Answers the architect gets in all.
    pub plan_tries: u32,
    /// Times a node is rebuilt because the user's tree moved.
    pub rebuilds: u32,
    /// Requests for one answer before the provider counts as unusable.
    pub ask_tries: u32,
    /// The first pause after a failed request; doubled each time.
    pub backoff_ms: u64,
    /// The most tokens one answer may have.
    pub output_tokens: u32,
    /// Until the first byte of an answer.
    pub first_byte_ms: u64,
    /// Between two pieces of an answer.
    pub idle_ms: u64,
    /// For a whole answer.
    pub total_ms: u64,
    /// For one process of a stage.
    pub stage_timeout_ms: u64,
    /// For one process of a probe.
    pub probe_timeout_ms: u64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            limits: Limits::default(),
            weights: Weights::default(),
            corrections: 3,
            answers: 6,
            plan_tries: 3,
            rebuilds: 3,
            ask_tries: 5,
            backoff_ms: 1000,
            output_tokens: 32_000,
            first_byte_ms: 120_000,
            idle_ms: 60_000,
            total_ms: 900_000,
            stage_timeout_ms: 600_000,
            probe_timeout_ms: 120_000,
        }
    }
}

/// Who approves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Approval {
    /// The session's policy, by `--yes`.
    Policy,
    /// The person at the terminal.
    Person,
}

/// The first event of every session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionStarted {
    /// The session's name.
    pub session: SessionId,
    /// The workspace's absolute path: the one place it stands.
    pub workspace: String,
    /// The task, in the user's words.
    pub task: String,
    /// The model's name.
    pub model: String,
    /// The endpoint, without credentials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// Who approves.
    pub approval: Approval,
    /// The knobs.
    pub settings: Settings,
    /// The program that wrote it.
    pub program: String,
}

/// What a resume changes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SessionResumed {
    /// A new model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// A new endpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// Who approves from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approval>,
    /// New budgets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
}

/// Whether there is a project already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RepoMode {
    /// There is source or a manifest.
    Existing,
    /// There is neither.
    Greenfield,
}

/// A root as the log names it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RootRef {
    /// The folder.
    pub dir: RelPath,
    /// The plugin.
    pub plugin: PluginName,
}

impl RootRef {
    /// One of its stages.
    pub fn stage(&self, kind: StageKind) -> StageId {
        StageId { root: self.dir.clone(), plugin: self.plugin.clone(), kind }
    }
}

/// A stage of a root and the tool that runs it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageTool {
    /// Which stage.
    pub kind: StageKind,
    /// The tool, as a person would name it.
    pub tool: String,
    /// Whether a node can be stable without it.
    pub required: bool,
}

/// A root with what can be measured in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RootStages {
    /// The root.
    pub root: RootRef,
    /// The stages that can run, in order.
    pub stages: Vec<StageTool>,
    /// Required stages that cannot: which tool, why, what to do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<MissingTool>,
}

/// A tool that is needed and not usable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingTool {
    /// The tool.
    pub tool: String,
    /// What was seen.
    pub why: String,
    /// What to do.
    pub install: String,
}

/// One process that was run: what, how it ended, how it was confined.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunNote {
    /// The step, as `stage/step`.
    pub step: String,
    /// Program and arguments, shortened.
    pub command: String,
    /// How it ended, in words.
    pub end: String,
    /// The confinement that was in force.
    pub confinement: String,
    /// How long it took.
    pub ms: u64,
}

/// What a branch changes, for people; at most a screenful, with a count of the rest.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DiffNote {
    /// New files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub create: Vec<RelPath>,
    /// Changed files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modify: Vec<RelPath>,
    /// Deleted files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub delete: Vec<RelPath>,
    /// Files whose content went to another name.
    #[serde(default, rename = "move", skip_serializing_if = "Vec::is_empty")]
    pub moved: Vec<(RelPath, RelPath)>,
    /// Existing tests whose bodies changed.
    #[serde(default)]
    pub tests_changed: u32,
}

/// The seven ends of reading an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ParseState {
    /// Strict JSON.
    StructuredOk,
    /// JSON inside a fence or prose.
    TolerantRecoveryOk,
    /// Nothing that could be read.
    NoStructuredPayload,
    /// JSON of another shape.
    SchemaInvalid,
    /// The right shape, and something it must not ask for.
    SemanticallyRejected,
    /// Nothing at all.
    EmptyResponse,
    /// The model says its scope is too small.
    RequiresReplan,
}

/// What to do about an answer that cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RetryClass {
    /// Ask again, saying what was expected.
    Malformed,
    /// Ask again, saying which path, hunk or command was wrong.
    Retarget,
    /// Ask again, with what the tools found.
    Correction,
    /// The scope is too small; the node is given up.
    Replan,
}

impl RetryClass {
    /// The word on a RETRY line.
    pub fn as_str(self) -> &'static str {
        match self {
            RetryClass::Malformed => "malformed",
            RetryClass::Retarget => "retarget",
            RetryClass::Correction => "correction",
            RetryClass::Replan => "replan",
        }
    }
}

/// Layer A: what came, always recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capture {
    /// The hash of the text.
    pub hash: Sha,
    /// Its bytes.
    pub length: u64,
    /// Its first line, shortened.
    pub first_line: String,
}

/// The end of an effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ended", rename_all = "snake_case")]
pub enum Ended {
    /// Of a snapshot.
    Snapshotted {
        /// The workspace as it is.
        tree: TreeRef,
        /// How many files.
        files: u64,
        /// Empty or not.
        repo_mode: RepoMode,
        /// The language roots; in greenfield, the languages the task names.
        roots: Vec<RootRef>,
        /// The commit git stands at, where there is git.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        git_head: Option<String>,
        /// What a person should know.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        notes: Vec<String>,
    },
    /// Of a snapshot, where the workspace cannot be worked with.
    Unworkable {
        /// What happened, why, what to do.
        trouble: Trouble,
    },
    /// Of a probe.
    Probed {
        /// What can be measured, root by root.
        roots: Vec<RootStages>,
        /// Tool and version, a line each.
        tools: Vec<String>,
        /// The blob with everything the probes saw.
        detail: BlobId,
        /// The confinement that can be had.
        confinement: String,
    },
    /// Of a fetch.
    Fetched {
        /// The processes.
        runs: Vec<RunNote>,
    },
    /// Of a layout.
    LaidOut {
        /// The tree, lock files settled.
        tree: TreeId,
        /// The changes, lock files included.
        changes: BlobId,
        /// For people.
        diff: DiffNote,
        /// The processes.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        runs: Vec<RunNote>,
    },
    /// Of a measurement.
    Measured {
        /// What was found.
        reading: ReadingSummary,
        /// The machine's fault, where a baseline could not run for a reason outside the tree.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        environment: Option<MissingTool>,
        /// The processes.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        runs: Vec<RunNote>,
    },
    /// Of a calibration.
    Calibrated {
        /// Whether the planted errors were seen.
        verdict: Calibration,
        /// The processes; none where the result was remembered.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        runs: Vec<RunNote>,
    },
    /// Of an assembly.
    Assembled {
        /// The compiled prompt.
        prompt: BlobId,
        /// The hash of the context package.
        context: Sha,
        /// The files in it.
        files: Vec<RelPath>,
        /// Files that were left out or shortened, with why.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        degraded: Vec<String>,
        /// The prompt's bytes.
        bytes: u64,
        /// An upper estimate of its tokens.
        tokens: u64,
        /// The template it was compiled from.
        template: String,
    },
    /// Of a request, with an answer.
    Answered {
        /// The answer's text.
        answer: BlobId,
        /// What came.
        capture: Capture,
        /// Tokens read, where the provider says so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tokens_in: Option<u64>,
        /// Tokens written.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tokens_out: Option<u64>,
        /// Tokens the provider had cached.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tokens_cached: Option<u64>,
        /// An upper estimate of the tokens in and out, where the provider does not say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tokens_estimated: Option<u64>,
        /// Until the first piece.
        first_token_ms: u64,
        /// Until the end.
        latency_ms: u64,
        /// The model that answered.
        model: String,
    },
    /// Of a request, without one.
    AskFailed {
        /// What kind of failure, as a slug.
        class: String,
        /// What happened, for people.
        what: String,
        /// What it means for the next step.
        next: AskNext,
    },
    /// Of reading a plan.
    PlanParsed {
        /// How it was read.
        state: ParseState,
        /// What came.
        capture: Capture,
        /// Whose plan was proposed, if one was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        proposed: Option<PlanSource>,
        /// What was wrong, a line each.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        diagnostics: Vec<String>,
        /// The diagnostics and the answer, for the next prompt.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        evidence: Option<BlobId>,
    },
    /// Of reading a bundle.
    BundleParsed {
        /// How it was read.
        state: ParseState,
        /// What came.
        capture: Capture,
        /// The changes against the node's base, where it can be used.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        changes: Option<BlobId>,
        /// What to do where it cannot.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry: Option<RetryClass>,
        /// What was wrong, a line each.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        violations: Vec<String>,
        /// The violations and the answer, for the next prompt.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        evidence: Option<BlobId>,
    },
    /// Of a question.
    Decided {
        /// The answer.
        answer: Decision,
        /// Who gave it.
        by: Approval,
    },
    /// Of a publication that reached the tree.
    Published {
        /// The commit record.
        commit: Box<Commit>,
        /// The tree as it now is.
        head: TreeRef,
    },
    /// Of a publication that found another base.
    BaseMoved {
        /// The workspace as it now is.
        head: TreeRef,
        /// Paths that changed under us, the first few.
        changed: Vec<RelPath>,
        /// Whether more changed than are listed.
        #[serde(default)]
        more: u64,
    },
    /// It was begun and the process died.
    Lost,
    /// It was no longer wanted.
    Cancelled,
    /// It failed in a way that is nobody's answer.
    Broke {
        /// What happened, why, what to do.
        trouble: Trouble,
    },
}

/// An error for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trouble {
    /// What happened.
    pub what: String,
    /// Why.
    pub why: String,
    /// What to do.
    pub todo: String,
}

/// Yes or no.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Go on.
    Yes,
    /// Stop.
    No,
}

/// Whether a stage sees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "is", content = "what")]
pub enum Calibration {
    /// Every planted error was seen.
    Sees(Vec<String>),
    /// It was shown before, with the same tool on the same root.
    Remembered,
    /// This plant was not seen, or none could be made.
    Blind(String),
}

/// What a failed request means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "is", content = "ms")]
pub enum AskNext {
    /// Try again, not before this many milliseconds where the provider said so.
    Again(Option<u64>),
    /// The model answered, and what it said is not an answer (cut at the output limit, filtered, too long).
    Malformed,
    /// Trying again is pointless.
    Unusable,
}

/// Whose plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanSource {
    /// The architect's.
    Architect,
    /// The deterministic fallback graph.
    Fallback,
}

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
    /// Existing tests whose bodies changed.
    #[serde(default)]
    pub tests_changed: u32,
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
    /// What came of it.
    pub result: StageResult,
    /// For a test stage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<TestCounts>,
}

/// What came of a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "is", content = "errors")]
pub enum StageResult {
    /// Measured, nothing counted.
    Pass,
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
}

/// A residual certificate: what is left when a node is given up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Certificate {
    /// Why.
    pub reason: EscalateReason,
    /// What kind of failure it is.
    pub category: Category,
    /// The energy of the best state, if any was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy: Option<Energy>,
    /// The findings that remain, a line each.
    pub residuals: Vec<String>,
    /// Whole readings and rejected answers.
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

/// How a node was closed without a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "as", rename_all = "snake_case")]
pub enum Closed {
    /// Given up, with what remains.
    Escalated {
        /// What remains.
        certificate: Box<Certificate>,
    },
    /// Never ran.
    Blocked {
        /// The node it waited for.
        by: NodeId,
    },
}

/// One event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Event {
    /// The session begins.
    SessionStarted(Box<SessionStarted>),
    /// A process takes it up again.
    SessionResumed(SessionResumed),
    /// A torn last record was cut when the log was opened.
    TailCut {
        /// Where.
        offset: u64,
        /// How many bytes.
        bytes: u64,
        /// The file beside the log that keeps them.
        kept_as: String,
    },
    /// An effect is about to begin; its budget is reserved.
    EffectStarted {
        /// Its name.
        id: EffectId,
        /// What tells it from others.
        key: EffectKey,
        /// What it does.
        effect: Effect,
    },
    /// An effect has ended; one of these per effect.
    EffectEnded {
        /// Its name.
        id: EffectId,
        /// How.
        outcome: Ended,
    },
    /// One node of a proposed plan, written before the end of the effect that read it.
    NodeProposed {
        /// The effect that read it.
        by: EffectId,
        /// The node.
        node: Box<PlanNode>,
        /// The roots it is verified in.
        roots: Vec<RootRef>,
    },
    /// The proposed plan is the session's plan.
    PlanAdopted {
        /// Which revision.
        revision: u32,
        /// Whose.
        source: PlanSource,
        /// How many nodes.
        nodes: u32,
        /// The hash over its nodes.
        plan: Sha,
    },
    /// A candidate was judged.
    AttemptJudged {
        /// The node.
        node: NodeId,
        /// Its attempt, counted over the whole node.
        attempt: u32,
        /// The candidate.
        tree: TreeId,
        /// Stage by stage.
        stages: Vec<StageVerdict>,
        /// Its energy.
        energy: Energy,
        /// The threshold it was held against.
        threshold: Milli,
        /// What follows.
        verdict: Verdict,
        /// The worst finding, for people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A node is closed without a commit.
    NodeClosed {
        /// The node.
        node: NodeId,
        /// How.
        end: Closed,
    },
    /// The user asked to pause: nothing new is started.
    PauseAsked,
    /// The user asked to abort: what runs is cancelled.
    AbortAsked {
        /// From where.
        by: String,
    },
    /// The session has come to an end, for good or until it is resumed.
    SessionEnded {
        /// Why.
        reason: EndReason,
        /// The outcome.
        outcome: Outcome,
        /// What is left to say of the whole.
        closing: Closing,
        /// For ends that are an error: what, why, what to do.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        trouble: Option<Trouble>,
        /// Files whose evidence is owed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        owed: Vec<RelPath>,
    },
}
