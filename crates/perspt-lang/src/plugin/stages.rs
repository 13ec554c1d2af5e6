//! The first role: where a language's roots are, what runs in them, and what the output says.

use std::collections::{BTreeMap, BTreeSet};

use perspt_core::ids::TreeId;
use perspt_core::path::RelPath;
use perspt_core::reading::{Part, Reading, StageKind};
use perspt_core::residual::Residual;
use perspt_core::stage::{Preset, Root, Stage, StageRole, Step, StepOutput};
use serde::{Deserialize, Serialize};

use super::{Files, Host, Machine, Pair, Plant};

/// What to run and what its output says.
pub trait Stages: Sync + Send {
    /// Every root of this language in a tree; empty where there is none.
    fn roots(&self, files: &dyn Files) -> Vec<Root>;

    /// What kind of project further up takes a folder in (`cargo workspace`), given the folder's own manifest, the one
    /// above it, and the folder's path below that. Its tools would need what lies outside the folder.
    fn claims(&self, own: &str, above: &str, below: &RelPath) -> Option<&'static str> {
        let _ = (own, above, below);
        None
    }

    /// What its tools are given on this machine.
    fn machine(&self, host: &dyn Host) -> Machine {
        let _ = host;
        Machine::default()
    }

    /// Small files of ours that a stage runs, laid down outside the tree at `{assets}`.
    fn assets(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// How to find out whether the tools work.
    fn probes(&self, machine: &Machine) -> Vec<Probe>;

    /// The probes that this tree needs: also those of tools that its own configuration or the preset asks for. A probe may
    /// hold that configuration, so that a tool which cannot be used with it counts as broken.
    fn probes_for(&self, files: &dyn Files, machine: &Machine, preset: Preset) -> Vec<Probe> {
        let _ = (files, preset);
        self.probes(machine)
    }

    /// What a probe's run says of its tool.
    fn read_probe(&self, probe: &Probe, outputs: &[StepOutput]) -> ToolState;

    /// The stages of a root on this tree, in the order they run, with the tools that were seen to work. A required stage
    /// that no tool can run is an `Err`; a shown one is left out.
    fn stages(&self, root: &Root, files: &dyn Files, terms: &Terms<'_>) -> Vec<Result<Stage, NoTool>>;

    /// A tool that the project as it was found cannot do without, though its stages can run: the runner of tests that
    /// no other sees. Tests that a candidate brings do not count: those are a finding of [`Stages::read`].
    fn missing_tool(&self, root: &Root, files: &dyn Files, tools: &Tools) -> Option<NoTool> {
        let _ = (root, files, tools);
        None
    }

    /// Whether the next step of the stage runs after this output. A failed step ends the stage, unless the steps after
    /// it still measure the rest: a target does not answer a listing, a test file cannot be collected.
    fn continues_after(&self, stage: &Stage, output: &StepOutput) -> bool {
        let _ = stage;
        output.end.is_success()
    }

    /// Whether something outside killed a build or its compiler, as a machine does that is out of memory.
    fn was_killed(&self, output: &StepOutput) -> bool {
        output.end.was_killed()
    }

    /// What lists the installed packages, where they decide what the tools say. `None` where the tree itself says it
    /// all.
    fn list_packages(&self, machine: &Machine) -> Option<Step> {
        let _ = machine;
        None
    }

    /// What brings a root's dependencies onto the machine. It runs nothing of them or of the tree.
    fn fetch(&self, root: &Root, files: &dyn Files) -> Option<Fetch> {
        let _ = (root, files);
        None
    }

    /// What settles lock files after a candidate is laid out, before it is measured.
    fn prepare(&self, root: &Root, files: &dyn Files) -> Option<Step> {
        let _ = (root, files);
        None
    }

    /// Reports to collect that only the output of a step can name, as `{build}`-relative paths.
    fn late_reports(&self, stage: &Stage, output: &StepOutput) -> Vec<String> {
        let _ = (stage, output);
        Vec::new()
    }

    /// What a stage found. Total: any output gives a reading. `outputs` holds the steps that ran.
    fn read(&self, stage: &Stage, outputs: &[StepOutput], context: &ReadContext<'_>) -> Reading;

    /// Cheap checks of changed lines that the green stage itself passes over. Each runs on the tree before too, and what
    /// it finds there does not count.
    fn further_checks(&self, stage: StageKind, root: &Root, pair: &Pair<'_>, machine: &Machine) -> Vec<Step> {
        let _ = (stage, root, pair, machine);
        Vec::new()
    }

    /// What a further check found; `None` where it could not look.
    fn read_further(
        &self,
        stage: &Stage,
        output: &StepOutput,
        context: &ReadContext<'_>,
    ) -> Option<FurtherFindings> {
        let _ = (stage, output, context);
        None
    }

    /// Changed lines of which less is proved than of the rest of their files.
    fn less_proved(&self, stage: StageKind, pair: &Pair<'_>, further: Further) -> Vec<Part> {
        let _ = (stage, pair, further);
        Vec::new()
    }

    /// Errors that the stage must see on this tree; empty where nothing can be planted yet. `name` is a word of letters
    /// and digits that nobody can know beforehand.
    fn plants(&self, stage: StageKind, root: &Root, files: &dyn Files, name: &str) -> Vec<Plant>;

    /// Why a baseline that could not run is the machine's fault: a third-party module is missing, a runner's settings
    /// keep it from starting. `None` where it is the tree's own.
    fn environment_fault(&self, reading: &Reading) -> Option<String>;

    /// Files that a reading says are missing, wherever they would lie. Where one is on the disk, the project's ignore
    /// rules keep it from being measured.
    fn missing_files(&self, reading: &Reading, root: &Root, files: &dyn Files) -> Vec<RelPath> {
        let _ = (reading, root, files);
        Vec::new()
    }
}

/// One way of finding out whether a tool works: run it on a small project of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// The tool, as a person would name it: `cargo`, `pytest`.
    pub tool: String,
    /// Files to lay down in a fresh folder before the steps run; `{tree}` is that folder.
    pub files: BTreeMap<String, String>,
    /// What to run, in order; every step runs, whatever the one before it did.
    pub steps: Vec<Step>,
    /// Whether a required stage needs the tool, or only a shown one. A session never ends because a shown stage's tool broke.
    pub role: StageRole,
}

/// Whether a tool was seen to work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "is")]
pub enum ToolState {
    /// It ran and did what a working tool does.
    Works {
        /// What it says of itself.
        version: String,
        /// Modules that come with it, as far as it lists them.
        #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
        modules: BTreeSet<String>,
    },
    /// It is not there.
    Missing {
        /// What was seen.
        why: String,
        /// What the user can do.
        install: String,
    },
    /// It is there and did not do what a working tool does.
    Broken {
        /// What was seen.
        why: String,
        /// What the user can do.
        install: String,
    },
}

impl ToolState {
    /// A tool that works and lists no modules.
    pub fn works(version: &str) -> ToolState {
        ToolState::Works { version: version.to_owned(), modules: BTreeSet::new() }
    }
}

/// The tools of one plugin, by the name its probes gave them.
pub type Tools = BTreeMap<String, ToolState>;

/// No tool is left for a required stage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoTool {
    /// Which stage.
    pub stage: StageKind,
    /// The tool that is missing or broken.
    pub tool: String,
    /// What was seen.
    pub why: String,
    /// What to do.
    pub install: String,
}

/// What the stages of a root depend on besides its files.
#[derive(Debug, Clone, Copy)]
pub struct Terms<'a> {
    /// What the machine gives.
    pub machine: &'a Machine,
    /// What the probes saw.
    pub tools: &'a Tools,
    /// Which tests are run.
    pub selection: &'a Selection,
    /// How much must be measured.
    pub preset: Preset,
}

/// What [`Stages::read`] is told besides the outputs.
pub struct ReadContext<'a> {
    /// The tree that was laid out.
    pub tree: TreeId,
    /// The root the stage ran in.
    pub root: &'a Root,
    /// The absolute path at which the tool saw the tree, to turn its paths into relative ones.
    pub seen_as: &'a str,
    /// The files of the tree.
    pub files: &'a dyn Files,
    /// What the probes saw.
    pub tools: &'a Tools,
}

/// Which tests a test stage runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Test files that the base does not have: they run in a process of their own where a file's tests could reach
    /// those of another.
    pub new_tests: BTreeSet<RelPath>,
    /// Only these tests, by file and name, where there are any. All others are announced and not run.
    pub only: BTreeSet<(RelPath, String)>,
}

/// Whether the further checks of a stage looked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Further {
    /// They looked at the changed lines.
    Looked,
    /// There were none, or they could not.
    DidNotLook,
}

/// What a further check found.
#[derive(Debug, Default)]
pub struct FurtherFindings {
    /// Its findings.
    pub residuals: Vec<Residual>,
    /// The files it read.
    pub looked: BTreeSet<RelPath>,
}

/// How dependencies are brought onto the machine. It has a network, so it must not see what in the tree chooses
/// programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetch {
    /// What is run.
    pub step: Step,
    /// Files of the tree that choose programs: the text that replaces each, `None` where they are left out.
    pub instead: BTreeMap<RelPath, Option<String>>,
}
