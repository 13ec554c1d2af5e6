//! What a session starts from: its task, its knobs, the roots it found.

use serde::{Deserialize, Serialize};

use crate::budget::BudgetLimits;
use crate::consent::Grant;
use crate::energy::Weights;
use crate::grade::Require;
use crate::ids::SessionId;
use crate::own::OwnWays;
use crate::path::RelPath;
use crate::reading::{PluginName, StageId, StageKind};
use crate::route::TierRoute;
use crate::stage::{Preset, StageRole};

/// The knobs a session runs with, recorded so that resume uses the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// Budgets.
    pub limits: BudgetLimits,
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
    /// Whether only answers in exactly the form asked for are read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub strict_answers: bool,
    /// The least that must be proved of every file of code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub require: Option<Require>,
    /// How much must be measured of a candidate.
    #[serde(default, skip_serializing_if = "Preset::is_default")]
    pub preset: Preset,
    /// The user's own commands, and variables that commands get.
    #[serde(default, skip_serializing_if = "OwnWays::is_empty")]
    pub own: OwnWays,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            limits: BudgetLimits::default(),
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
            strict_answers: false,
            require: None,
            preset: Preset::Default,
            own: OwnWays::default(),
        }
    }
}

/// How a task becomes a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanningPolicy {
    /// One node for the whole task, with no architect.
    LocalEdit,
    /// One file, with no architect.
    SingleFile,
    /// The architect plans.
    FeatureIncrement,
}

impl PlanningPolicy {
    /// Every policy.
    pub const ALL: [PlanningPolicy; 3] =
        [PlanningPolicy::LocalEdit, PlanningPolicy::SingleFile, PlanningPolicy::FeatureIncrement];

    /// The word in flags and keys.
    pub fn as_str(self) -> &'static str {
        match self {
            PlanningPolicy::LocalEdit => "local-edit",
            PlanningPolicy::SingleFile => "single-file",
            PlanningPolicy::FeatureIncrement => "feature-increment",
        }
    }
}

/// What a session is for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "is")]
pub enum Purpose {
    /// A task is done, and what is proved is committed.
    #[default]
    Task,
    /// The tree is measured as it is. Nothing is asked, written or committed.
    Verify {
        /// The git revision whose findings are old.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        since: Option<String>,
    },
}

impl Purpose {
    /// Whether it is what most sessions are for.
    fn is_task(&self) -> bool {
        *self == Purpose::Task
    }
}

/// Who answers questions over plan and consents.
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
    /// Whether a person is asked.
    pub approval: Approval,
    /// What the user permits from the start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<Grant>,
    /// The language of a new project, by the user's word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lang: Option<PluginName>,
    /// Which model each tier asks; where a tier is missing it is `model`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<TierRoute>,
    /// How the task becomes a plan, where the user says so. Without it the architect plans, unless its model is small.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planning: Option<PlanningPolicy>,
    /// What the session is for.
    #[serde(default, skip_serializing_if = "Purpose::is_task")]
    pub purpose: Purpose,
    /// The knobs.
    pub settings: Settings,
    /// The program that wrote it.
    pub program: String,
}

impl SessionStarted {
    /// A session with this task; everything else is as it is where nobody says otherwise.
    pub fn new(session: SessionId, workspace: String, task: String, model: String) -> SessionStarted {
        SessionStarted {
            session,
            workspace,
            task,
            model,
            base_url: None,
            approval: Approval::Policy,
            allow: Vec::new(),
            lang: None,
            routes: Vec::new(),
            planning: None,
            purpose: Purpose::Task,
            settings: Settings::default(),
            program: String::new(),
        }
    }
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
    /// New models for tiers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<TierRoute>,
    /// Who approves from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approval>,
    /// New budgets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<BudgetLimits>,
    /// What the user permits from now on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<Grant>,
}

impl SessionResumed {
    /// Whether other models are asked from now on.
    pub fn names_models(&self) -> bool {
        self.model.is_some() || self.base_url.is_some() || !self.routes.is_empty()
    }
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
    /// What its result means for a candidate.
    pub role: StageRole,
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
    /// Tools that the project asks for and that cannot be used here, where the preset goes on without them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<MissingTool>,
}

impl RootStages {
    /// The stages with this role, in order.
    pub fn with_role(&self, role: StageRole) -> impl Iterator<Item = StageId> {
        self.stages.iter().filter(move |tool| tool.role == role).map(|tool| self.root.stage(tool.kind))
    }
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

/// An error for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trouble {
    /// What happened.
    pub what: String,
    /// The reason, in one sentence.
    pub why: String,
    /// What to do.
    pub todo: String,
}
