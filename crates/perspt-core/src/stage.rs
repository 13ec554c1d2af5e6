//! How a language describes a stage. Plugins are pure: they say what to run and read what came out;
//! the runner runs it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::path::RelPath;
use crate::reading::{PluginName, StageKind};

/// One language root of a workspace: the folder a plugin's tools run in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Root {
    /// The folder.
    pub dir: RelPath,
    /// The plugin that owns it.
    pub plugin: PluginName,
    /// Its packages: the folder of each nearest manifest, the root's own folder where there is none.
    pub packages: Vec<RelPath>,
    /// Whether any test was found by the plugin's patterns.
    pub has_tests: bool,
}

/// What a step may do beyond reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// Writes in the tree's copy, the build directory and the temp dir; no network.
    Build,
    /// Writes in the tree's copy and the temp dir, and in those paths of the build directory that the
    /// step names; no network.
    Test,
    /// Network on, writes also in the language's package cache; runs nothing that was fetched.
    Fetch,
}

/// Whether standard output and standard error are kept apart or in one stream, in the order written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Streams {
    /// Two captures.
    Apart,
    /// One capture, in stdout's place.
    Merged,
}

/// One process of a stage. In `argv`, `env` and `reports` the holes `{tree}`, `{build}`, `{tmp}` and
/// `{assets}` stand for the slot's folders as the tool sees them; the runner fills them in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// A name that is unique in its stage: `compile`, `list`, `run`.
    pub name: String,
    /// Program and arguments; no shell.
    pub argv: Vec<String>,
    /// The folder it starts in.
    pub cwd: RelPath,
    /// Environment on top of the allow-list.
    pub env: BTreeMap<String, String>,
    /// What it may do.
    pub profile: Profile,
    /// With [`Profile::Test`]: paths below the build directory that it may write all the same.
    pub build_writes: Vec<String>,
    /// How its output is captured.
    pub streams: Streams,
    /// Files it is to write; deleted before the run and collected after it. Absolute, with holes.
    pub reports: Vec<String>,
}

/// What one step left behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepOutput {
    /// The step's name.
    pub step: String,
    /// How the process ended.
    pub end: StepEnd,
    /// Captured standard output (both streams where merged).
    pub stdout: Vec<u8>,
    /// Captured standard error.
    pub stderr: Vec<u8>,
    /// Whether the capture hit its cap.
    pub cut: bool,
    /// The report files that exist, by the text the step named them with.
    pub reports: BTreeMap<String, Vec<u8>>,
}

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "is", content = "with")]
pub enum StepEnd {
    /// With this exit code.
    Exited(i32),
    /// By this signal.
    Signalled(i32),
    /// It ran into the timeout and its whole group was ended.
    TimedOut,
    /// It could not be started.
    NotStarted(String),
}

impl StepEnd {
    /// Whether it is an exit with code zero.
    pub fn is_success(&self) -> bool {
        *self == StepEnd::Exited(0)
    }

    /// Whether the signal ended it that cannot be caught: it comes from outside.
    pub fn was_killed(&self) -> bool {
        *self == StepEnd::Signalled(9)
    }

    /// For people: `exit code 101`, `signal 9`, …
    pub fn shown(&self) -> String {
        match self {
            StepEnd::Exited(code) => format!("exit code {code}"),
            StepEnd::Signalled(signal) => format!("signal {signal}"),
            StepEnd::TimedOut => "a timeout".to_owned(),
            StepEnd::NotStarted(why) => format!("not started: {why}"),
        }
    }
}

/// A stage as a plugin describes it: steps run in order, the first that fails ends the stage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stage {
    /// Which stage.
    pub kind: StageKind,
    /// The tool, as a person would name it: `cargo check`, `pytest`.
    pub tool: String,
    /// What its result means for a candidate.
    pub role: StageRole,
    /// What to run.
    pub steps: Vec<Step>,
    /// The user's own command that is run in place of the language's tools, as a person would type it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

impl Stage {
    /// A stage without which no candidate is stable.
    pub fn required(kind: StageKind, tool: &str, steps: Vec<Step>) -> Stage {
        Stage { kind, tool: tool.to_owned(), role: StageRole::Required, steps, command: None }
    }

    /// A stage whose result is shown and changes nothing.
    pub fn shown(kind: StageKind, tool: &str, steps: Vec<Step>) -> Stage {
        Stage { role: StageRole::Shown, ..Stage::required(kind, tool, steps) }
    }
}

/// How much must be measured of a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Preset {
    /// It parses and builds. Tests run where there are any and are shown.
    Minimal,
    /// It compiles or its types are right, and its tests pass.
    #[default]
    Default,
    /// Lints, formatting and warnings count too, and the primary type checker must look.
    Strict,
}

impl Preset {
    /// Every preset.
    pub const ALL: [Preset; 3] = [Preset::Minimal, Preset::Default, Preset::Strict];

    /// The word of `--verifier-strictness`.
    pub fn as_str(self) -> &'static str {
        match self {
            Preset::Minimal => "minimal",
            Preset::Default => "default",
            Preset::Strict => "strict",
        }
    }

    /// Whether it is the usual one, which events leave out.
    pub fn is_default(&self) -> bool {
        *self == Preset::Default
    }

    /// What it wants of a stage of this kind.
    pub fn wants(self, kind: StageKind) -> Want {
        use StageKind::{Build, Lint, Structure, Syntax, Test, Type};
        match (self, kind) {
            (_, Structure | Syntax | Build) | (Preset::Strict, _) | (Preset::Default, Test) => Want::Must,
            (Preset::Default, Type) => Want::WhereItWorks,
            (Preset::Default, Lint) | (Preset::Minimal, Test) => Want::Shown,
            (Preset::Minimal, Type | Lint) => Want::Off,
        }
    }
}

/// What a preset wants of a kind of stage. A plugin may give a stage less, never more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Want {
    /// It must look; a session ends where no tool can.
    Must,
    /// Its findings count where its tool works; elsewhere it is left out, and that is said.
    WhereItWorks,
    /// It is shown.
    Shown,
    /// It is not run.
    Off,
}

/// What a stage's result means for a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StageRole {
    /// It must look, and what it finds is charged. Its green counts once it has seen a planted error.
    #[default]
    Required,
    /// It looks at a candidate on which no required stage failed. What it finds is shown and never charged, it proves
    /// nothing, and where it cannot look nothing is missing.
    Shown,
}

impl StageRole {
    /// Whether it is the usual one, which events leave out.
    pub fn is_required(&self) -> bool {
        *self == StageRole::Required
    }
}
