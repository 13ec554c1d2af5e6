//! How effects end. Facts only: what follows from them is decided by the fold.

use serde::{Deserialize, Serialize};

use super::commit::{Commit, StageVerdict};
use super::session::{Approval, MissingTool, RepoMode, RootRef, RootStages, Trouble};
use crate::consent::{Grant, Need, TestDeclaration};
use crate::context::ContextRequest;
use crate::effect::TreeRef;
use crate::energy::{Energy, NewTests, ReadingSummary};
use crate::grade::Grade;
use crate::hash::Sha;
use crate::ids::{BlobId, TreeId};
use crate::path::RelPath;
use crate::reading::PluginName;

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
    /// The slot it ran in.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub slot: String,
    /// The beginning and the end of what it printed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<BlobId>,
}

/// A git revision of the workspace, and what was changed since.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Since {
    /// Its commit.
    pub commit: String,
    /// Its tree.
    pub tree: TreeRef,
    /// The blob that lists what the workspace changes of it.
    pub changes: BlobId,
    /// How many files were changed, made or removed.
    pub changed: u64,
    /// The language roots that it has.
    pub roots: Vec<RootRef>,
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
}

impl DiffNote {
    /// Whether it has to do with a file.
    pub fn touches(&self, path: &RelPath) -> bool {
        let mut moved = self.moved.iter();
        [&self.create, &self.modify, &self.delete].iter().any(|paths| paths.contains(path))
            || moved.any(|(from, to)| from == path || to == path)
    }
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

    /// What was wrong with the answer, in words for people.
    pub fn words(self) -> &'static str {
        match self {
            RetryClass::Malformed => "unusable answer",
            RetryClass::Retarget => "wrong file or change",
            RetryClass::Correction => "finding",
            RetryClass::Replan => "too few files in the plan",
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

/// What a prompt was compiled from.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Provenance {
    /// The template's name.
    pub template: String,
    /// The compiler's version.
    pub compiler: String,
    /// Hashes of the evidence used, by the template's hole.
    pub evidence: Vec<(String, Sha)>,
    /// Judgements and rejected answers that it speaks of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cites: Vec<BlobId>,
    /// The languages that added words of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plugins: Vec<PluginName>,
    /// What kind of failure it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetryClass>,
    /// The prompt's bytes.
    pub bytes: u64,
}

/// The most parts of a prompt that its event lists.
pub const PARTS_MAX: usize = 26;

/// The longest name of one, in characters.
pub const PART_CHARS: usize = 140;

/// What one part of a prompt costs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptPart {
    /// What it is: a file with how it is shown, or another part.
    pub part: String,
    /// An upper estimate of its tokens.
    pub tokens: u64,
}

/// The most lines of what was put right in an answer's form.
pub const MENDED_MAX: usize = 6;

/// The longest of them, in characters.
pub const MENDED_CHARS: usize = 200;

/// The most roots that one answer may make.
pub const NEW_ROOTS_MAX: usize = 8;

/// How something was found in an answer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Recovered {
    /// The form it was found in.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub form: String,
    /// What was put right in it, a line each, the first few.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mended: Vec<String>,
}

impl Recovered {
    /// Whether there is nothing to tell.
    pub fn is_plain(&self) -> bool {
        self.form.is_empty() && self.mended.is_empty()
    }
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
        /// Whether the project has files already.
        repo_mode: RepoMode,
        /// The language roots; in greenfield, the languages the task names.
        roots: Vec<RootRef>,
        /// The commit git stands at, where there is git.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        git_head: Option<String>,
        /// What a person should know.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        notes: Vec<String>,
        /// The revision whose findings are old, where a session that verifies has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        since: Option<Box<Since>>,
        /// The commands that read it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        runs: Vec<RunNote>,
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
        /// What was run, the first few; those that failed come first.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        runs: Vec<RunNote>,
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
    /// The tests that a candidate adds were run over the code as it was.
    NewTestsRan {
        /// How many, and how many of them fail there.
        tests: NewTests,
        /// The reading.
        reading: BlobId,
        /// What was run.
        runs: Vec<RunNote>,
    },
    /// Of a layout whose files somebody else has changed since the answer was written.
    Overtaken {
        /// Those files, the first few.
        files: Vec<RelPath>,
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
        /// Whether it is a reading of before, of the same tree with the same tools.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        reused: bool,
    },
    /// Of a judgement.
    Judged {
        /// What the candidate is.
        judgement: Box<JudgementNote>,
    },
    /// Of a layout whose commands changed files that are not the node's.
    LayoutRefused {
        /// What they did, a line each.
        violations: Vec<String>,
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
        /// An upper estimate of its tokens.
        tokens: u64,
        /// What its parts cost in tokens: the head, the files, the findings.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        parts: Vec<PromptPart>,
        /// What the prompt was compiled from.
        provenance: Box<Provenance>,
    },
    /// Of an assembly: what must be shown does not fit the model's window.
    TooLargeForModel {
        /// Tokens that are needed, at least.
        needed: u64,
        /// The model's window.
        window: u64,
        /// The model.
        model: String,
    },
    /// Of a plan without a model.
    PlannedLocally,
    /// Of reading an analysis.
    AnalysisParsed {
        /// How it was read.
        state: ParseState,
        /// The answer: its hash, length and first line.
        capture: Capture,
        /// How it was found, and what was put right.
        #[serde(default, skip_serializing_if = "Recovered::is_plain")]
        recovered: Recovered,
        /// The analysis; without one the raw findings are enough.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        analysis: Option<BlobId>,
    },
    /// Of a request, with an answer.
    Answered {
        /// The answer's text.
        answer: BlobId,
        /// The answer: its hash, length and first line.
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
        /// Milliseconds until the answer was complete.
        latency_ms: u64,
        /// The model that answered.
        model: String,
        /// What it cost in millionths of a US dollar, where the price is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<u64>,
    },
    /// Of a request, without one.
    AskFailed {
        /// What kind of failure, as a slug.
        class: String,
        /// What happened, for people.
        what: String,
        /// What it means for the next step.
        next: AskNext,
        /// Whether an answer had begun: then it may be billed, and its upper estimate is charged.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        began: bool,
        /// Tokens read and written, where the provider said; they are what is charged then.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tokens: Option<u64>,
        /// What they cost in millionths of a US dollar, where the price is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<u64>,
        /// How many tries such a failure is worth, where that is fewer than usual.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tries: Option<u32>,
    },
    /// Of reading a plan.
    PlanParsed {
        /// How it was read.
        state: ParseState,
        /// The answer: its hash, length and first line.
        capture: Capture,
        /// Whose plan was proposed, if one was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        proposed: Option<PlanSource>,
        /// What was wrong, a line each.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        diagnostics: Vec<String>,
        /// What was put right in the plan, a line each.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        settled: Vec<String>,
        /// The diagnostics and the answer, for the next prompt.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        evidence: Option<BlobId>,
        /// How the plan was found in the answer, and what was put right in its form.
        #[serde(default, skip_serializing_if = "Recovered::is_plain")]
        recovered: Recovered,
        /// The answer, where it also holds the changes of the plan's one node.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bundle: Option<BlobId>,
    },
    /// Of reading a bundle.
    BundleParsed {
        /// How it was read.
        state: ParseState,
        /// The answer: its hash, length and first line.
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
        /// New files beside the node's own, which are its own from here on.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        widened: Vec<RelPath>,
        /// What the answer says it does to existing tests.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        changes_tests: Vec<TestDeclaration>,
        /// Tests that, by the answer's word, failed before and stay so.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        leaves_red: Vec<String>,
        /// Commands that repeat what is measured anyway, and are not run.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        skipped: Vec<String>,
        /// Commands that nobody runs, each with why: those that need a shell. The answer goes on without them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        refused: Vec<String>,
        /// Commands that are run before measuring.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        commands: Vec<String>,
        /// Consents it needs before anything is run.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        needs: Vec<Need>,
        /// How the changes were found in the answer, and what was put right in their form.
        #[serde(default, skip_serializing_if = "Recovered::is_plain")]
        recovered: Recovered,
        /// What the model asks to see before it answers.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        requests: Vec<ContextRequest>,
        /// The roots that its files are verified in, where no plan said so.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        roots: Vec<RootRef>,
    },
    /// Of a question.
    Decided {
        /// The answer.
        answer: Decision,
        /// Who gave it.
        by: Approval,
        /// The process that it came from, where that is not the session's own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<String>,
        /// What it permits.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        grants: Vec<Grant>,
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

/// An answer to a question.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "is", content = "why")]
pub enum Decision {
    /// Go on.
    Yes,
    /// Stop.
    No,
    /// Not so: this is to be corrected.
    Correct(String),
}

/// The longest correction that an answer may hold, in characters.
pub const CORRECTION_MAX: usize = 1000;

impl Decision {
    /// The answer, with a correction that fits into an event.
    pub fn shortened(self) -> Decision {
        match self {
            Decision::Correct(why) => Decision::Correct(why.chars().take(CORRECTION_MAX).collect()),
            Decision::Yes | Decision::No => self,
        }
    }
}

/// A judgement as the log carries it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JudgementNote {
    /// Its energy.
    pub energy: Energy,
    /// What each stage found, and whether it counts.
    pub stages: Vec<StageVerdict>,
    /// The worst findings, a line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headlines: Vec<String>,
    /// What the counted findings have in common with themselves when they come back.
    pub fingerprint: Sha,
    /// How much was proved.
    pub grade: Grade,
    /// What lies below tests, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub below: Vec<String>,
    /// Promises of the contract that are not known to hold, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unmeasured: Vec<String>,
    /// Consents that are missing, the first few.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<Need>,
    /// How many are missing in all.
    #[serde(default)]
    pub missing_count: u32,
    /// Whether an undeclared change was told as a finding.
    #[serde(default)]
    pub told_undeclared: bool,
    /// Whether it would be stable if every test that failed in the same way before, and every undeclared change, were
    /// a matter of consent.
    #[serde(default)]
    pub only_red: bool,
    /// Whether nothing but undeclared changes stands against it.
    #[serde(default)]
    pub only_undeclared: bool,
    /// Whether nothing stands against it but that less was proved than is required.
    #[serde(default)]
    pub only_required: bool,
    /// Existing tests that were changed or removed.
    #[serde(default)]
    pub tests_changed: u32,
    /// The whole judgement.
    pub blob: BlobId,
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
    /// The tool did not come to its end over the plant, for this reason, so nothing was shown.
    Unmeasured(String),
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

/// Who made the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanSource {
    /// The architect's.
    Architect,
    /// The deterministic fallback graph.
    Fallback,
    /// One node for the whole task, with no model's help.
    Local,
}

impl Ended {
    /// The commands that the effect ran.
    pub fn runs(&self) -> &[RunNote] {
        match self {
            Ended::Snapshotted { runs, .. }
            | Ended::Probed { runs, .. }
            | Ended::Fetched { runs }
            | Ended::LaidOut { runs, .. }
            | Ended::LayoutRefused { runs, .. }
            | Ended::Measured { runs, .. }
            | Ended::NewTestsRan { runs, .. }
            | Ended::Calibrated { runs, .. } => runs,
            Ended::Unworkable { .. }
            | Ended::Judged { .. }
            | Ended::Overtaken { .. }
            | Ended::Assembled { .. }
            | Ended::TooLargeForModel { .. }
            | Ended::PlannedLocally
            | Ended::AnalysisParsed { .. }
            | Ended::Answered { .. }
            | Ended::AskFailed { .. }
            | Ended::PlanParsed { .. }
            | Ended::BundleParsed { .. }
            | Ended::Decided { .. }
            | Ended::Published { .. }
            | Ended::BaseMoved { .. }
            | Ended::Lost
            | Ended::Cancelled
            | Ended::Broke { .. } => &[],
        }
    }

    /// The prompt or answer that this outcome says was stored, to be kept until it is released.
    pub fn text(&self) -> Option<BlobId> {
        match self {
            Ended::Assembled { prompt, .. } => Some(*prompt),
            Ended::Answered { answer, .. } => Some(*answer),
            Ended::PlanParsed { evidence, .. } | Ended::BundleParsed { evidence, .. } => *evidence,
            Ended::AnalysisParsed { analysis, .. } => *analysis,
            Ended::Snapshotted { .. }
            | Ended::Unworkable { .. }
            | Ended::Probed { .. }
            | Ended::Fetched { .. }
            | Ended::LaidOut { .. }
            | Ended::Measured { .. }
            | Ended::Calibrated { .. }
            | Ended::Judged { .. }
            | Ended::LayoutRefused { .. }
            | Ended::Overtaken { .. }
            | Ended::NewTestsRan { .. }
            | Ended::TooLargeForModel { .. }
            | Ended::PlannedLocally
            | Ended::AskFailed { .. }
            | Ended::Decided { .. }
            | Ended::Published { .. }
            | Ended::BaseMoved { .. }
            | Ended::Lost
            | Ended::Cancelled
            | Ended::Broke { .. } => None,
        }
    }
}
