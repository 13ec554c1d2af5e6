//! What a language must tell perspt. A plugin is pure: it describes what to run and reads what came out;
//! it starts nothing and reads no disk of its own.

use std::collections::{BTreeMap, BTreeSet};

use perspt_core::ids::TreeId;
use perspt_core::inventory::{Inventory, ends_with_name};
use perspt_core::path::RelPath;
use perspt_core::reading::{Part, Reading, StageKind, Status, TestEnd, TestName};
use perspt_core::residual::{Residual, Severity};
use perspt_core::stage::{Root, Stage, Step, StepOutput};
use perspt_core::tree::Tree;
use serde::{Deserialize, Serialize};

/// The files of one tree, as a plugin may look at them.
pub trait Files: Sync {
    /// Which files there are.
    fn tree(&self) -> &Tree;
    /// The text of one file; `None` where it is not there, not UTF-8, a link, or over the cap for one file.
    fn text(&self, path: &RelPath) -> Option<String>;
}

/// Facts about the machine that a plugin needs and cannot look up; the command line collects them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The workspace's own environment's interpreter (`.venv`), as the tool will see it.
    pub workspace_python: Option<String>,
    /// The active environment's interpreter (`VIRTUAL_ENV`).
    pub active_python: Option<String>,
}

/// Whether a tool was seen to work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "is")]
pub enum ToolState {
    /// It ran and did what a working tool does.
    Works {
        /// What it says of itself.
        version: String,
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

/// The tools of one plugin, by the name its probes gave them.
pub type Tools = BTreeMap<String, ToolState>;

/// One way of finding out whether a tool works: run it on a small project of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// The tool, as a person would name it: `cargo`, `pytest`.
    pub tool: String,
    /// Files to lay down in a fresh folder before the steps run; `{tree}` is that folder.
    pub files: BTreeMap<String, String>,
    /// What to run, in order; every step runs, whatever the one before it did.
    pub steps: Vec<Step>,
}

/// A deliberate break that a working stage must see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plant {
    /// What it shows, for people: `a type error in src/lib.rs`.
    pub what: String,
    /// New text by path; the files exist or are new.
    pub writes: BTreeMap<RelPath, String>,
    /// What the stage must then say.
    pub expect: Expect,
}

/// What a plant must do to a reading.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expect {
    /// The reading must hold an error residual.
    Red,
    /// The reading must report this test, by this last part of its name, as failed.
    TestFails(String),
}

impl Plant {
    /// The test that it plants, by its file and its name: that one alone is run.
    pub fn only(&self) -> BTreeSet<(RelPath, String)> {
        match &self.expect {
            Expect::TestFails(name) => {
                self.writes.keys().take(1).map(|path| (path.clone(), name.clone())).collect()
            }
            Expect::Red => BTreeSet::new(),
        }
    }
}

impl Expect {
    /// Whether a planted reading shows what it must, beside the reading of the same tree without the plant.
    pub fn is_met(&self, without: &Reading, with: &Reading) -> bool {
        match self {
            Expect::Red => new_error(without, with),
            Expect::TestFails(name) => {
                with.status == Status::Measured
                    && ended(with, TestEnd::Failed).any(|test| ends_with_name(&test.0, name))
            }
        }
    }
}

/// An error that was not there without the plant.
fn new_error(without: &Reading, with: &Reading) -> bool {
    let errors = |reading: &Reading| -> BTreeSet<_> {
        let errors = reading.residuals.iter().filter(|residual| residual.severity == Severity::Error);
        errors.map(Residual::fingerprint).collect()
    };
    with.status == Status::Measured && !errors(with).is_subset(&errors(without))
}

fn ended(reading: &Reading, end: TestEnd) -> impl Iterator<Item = &TestName> {
    let results = reading.tests.iter().flat_map(|tests| &tests.results);
    results.filter(move |(_, result)| result.end == end).map(|(name, _)| name)
}

/// What `read` is told besides the outputs.
pub struct ReadContext<'a> {
    /// The tree that was laid out.
    pub tree: TreeId,
    /// The root the stage ran in.
    pub root: &'a Root,
    /// The absolute path at which the tool saw the tree, to turn its paths into relative ones.
    pub seen_as: &'a str,
    /// The files of the tree.
    pub files: &'a dyn Files,
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

/// A candidate beside the tree it is compared with.
pub struct Pair<'a> {
    /// The tree the node started from.
    pub base: &'a dyn Files,
    /// The tree with the node's changes.
    pub candidate: &'a dyn Files,
}

/// What perspt's own look at a candidate found.
#[derive(Debug, Default)]
pub struct Structure {
    /// Code that is still to be written.
    pub residuals: Vec<Residual>,
    /// What the candidate did to the tests of its base.
    pub inventory: Inventory,
}

/// What may be taken from the candidate where the old tests cannot be built over the new code.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Concessions {
    /// Files that keep their old tests and take the candidate's import lines.
    pub imports: BTreeSet<RelPath>,
    /// Tests, and helpers beside them, that take their new text: the file, and the name inside it.
    pub tests: BTreeSet<(RelPath, String)>,
    /// Files that are the candidate's own.
    pub files: BTreeSet<RelPath>,
}

/// What a proposed command is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandKind {
    /// It only builds, tests or checks, which verification does anyway.
    Repeats,
    /// It adds packages to a manifest.
    Adds(AddPackages),
    /// Anything else.
    Other,
}

/// A command that adds packages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddPackages {
    /// Their names, without versions.
    pub names: Vec<String>,
    /// What adds them.
    pub fetch: Fetch,
}

/// What one run more found.
#[derive(Debug, Default)]
pub struct Seen {
    /// Its findings.
    pub residuals: Vec<Residual>,
    /// The files it read.
    pub looked: BTreeSet<RelPath>,
}

/// A language.
pub trait Plugin: Sync + Send {
    /// Its name: `rust`, `python`.
    fn name(&self) -> &'static str;

    /// Every root of this language in a tree; empty where there is none.
    fn roots(&self, files: &dyn Files) -> Vec<Root>;

    /// Literal names of the language and its tools, to be looked up in a task with [`crate::names`].
    fn words(&self) -> &'static [&'static str];

    /// The manifest a new project gets.
    fn manifest_name(&self) -> &'static str;

    /// Whether this file is the manifest a root is made by.
    fn is_manifest(&self, path: &RelPath) -> bool;

    /// Whether this file is source of this language.
    fn is_source(&self, path: &RelPath) -> bool;

    /// Whether this file holds tests and nothing else, by its place and name.
    fn is_test_file(&self, path: &RelPath) -> bool;

    /// Whether this file is a lock file that tools write.
    fn is_lockfile(&self, path: &RelPath) -> bool;

    /// Files a node may edit though it does not own them: module declarations, package indexes, manifests.
    fn is_support_file(&self, path: &RelPath) -> bool;

    /// Whether this file decides how evidence is gathered: runner configuration, hooks, build scripts,
    /// files that shadow a tool.
    fn decides_evidence(&self, path: &RelPath) -> bool;

    /// Small files of ours that a stage runs, laid down outside the tree at `{assets}`.
    fn assets(&self) -> &'static [(&'static str, &'static str)];

    /// How to find out whether the tools work.
    fn probes(&self, machine: &Machine) -> Vec<Probe>;

    /// What a probe's run says of its tool.
    fn read_probe(&self, probe: &Probe, outputs: &[StepOutput]) -> ToolState;

    /// The stages of a root on this tree, with the tools that were seen to work. A required stage that
    /// no tool can run is an `Err`: which tool is missing, why, and what to install.
    fn stages(
        &self,
        root: &Root,
        files: &dyn Files,
        machine: &Machine,
        tools: &Tools,
        selection: &Selection,
    ) -> Vec<Result<Stage, NoTool>>;

    /// The tool that files of the project as it was found cannot do without, though its stages can run: tests
    /// in the style of a runner that is missing. What a candidate brings is no reason: that is its own fault,
    /// and a finding of [`Plugin::read`].
    fn lack(&self, root: &Root, files: &dyn Files, tools: &Tools) -> Option<NoTool> {
        let _ = (root, files, tools);
        None
    }

    /// Whether the next step of the stage runs after this output. A failed step ends the stage, except
    /// where what it could not do is known and the steps after it still measure the rest: a target that
    /// does not answer a listing, a test file that cannot be collected.
    fn goes_on(&self, stage: &Stage, output: &StepOutput) -> bool {
        let _ = stage;
        output.end.is_success()
    }

    /// Whether a build ended because something outside killed it or its compiler, as a machine does that is out of
    /// memory.
    fn was_killed(&self, output: &StepOutput) -> bool {
        output.end.was_killed()
    }

    /// What prints everything outside the tree that decides what the tools say, besides their own versions: the
    /// packages that are installed. `None` where the tree itself says it all.
    fn environment(&self, machine: &Machine) -> Option<Step> {
        let _ = machine;
        None
    }

    /// What brings a root's dependencies onto the machine without running them, or anything else of the tree;
    /// `None` where there is nothing to fetch.
    fn fetch(&self, root: &Root, files: &dyn Files) -> Option<Fetch>;

    /// What settles lock files after a candidate is laid out, before it is measured.
    fn prepare(&self, root: &Root, files: &dyn Files) -> Option<Step>;

    /// Reports to collect that only the output of a step can name, as `{build}`-relative paths.
    fn late_reports(&self, stage: &Stage, output: &StepOutput) -> Vec<String>;

    /// What a stage found. Total: any output gives a reading. `outputs` holds the steps that ran.
    fn read(&self, stage: &Stage, outputs: &[StepOutput], context: &ReadContext<'_>) -> Reading;

    /// One cheap run more where it would look at changed lines that the stage itself passes over. What the tree before
    /// shows too does not count.
    fn more(&self, stage: StageKind, root: &Root, pair: &Pair<'_>, machine: &Machine) -> Vec<Step> {
        let _ = (stage, root, pair, machine);
        Vec::new()
    }

    /// What such a run found; `None` where it could not look.
    fn read_more(&self, stage: &Stage, output: &StepOutput, context: &ReadContext<'_>) -> Option<Seen> {
        let _ = (stage, output, context);
        None
    }

    /// Changed lines of which less is proved than of their files. `more` says whether the further runs looked.
    fn parts(&self, stage: StageKind, pair: &Pair<'_>, more: bool) -> Vec<Part> {
        let _ = (stage, pair, more);
        Vec::new()
    }

    /// Breaks that the stage must see on this tree; empty where nothing can be planted yet. `name` is one that nobody
    /// can know beforehand, a word of letters and digits.
    fn plants(&self, stage: StageKind, root: &Root, files: &dyn Files, name: &str) -> Vec<Plant>;

    /// What perspt's own look at a candidate finds.
    fn structure(&self, pair: &Pair<'_>) -> Structure;

    /// How the candidate's tree becomes "new code, old tests": files to put back or leave out, and sources with the
    /// tests they had.
    fn old_tests(&self, pair: &Pair<'_>, concessions: &Concessions) -> BTreeMap<RelPath, Was>;

    /// What more must be conceded, given the reading of the tree that `old_tests(pair, so_far)` makes; equal to
    /// `so_far` where nothing more can be.
    fn concede(&self, pair: &Pair<'_>, so_far: &Concessions, reading: &Reading) -> Concessions;

    /// What a command that an answer proposes is.
    fn command(&self, argv: &[String], root: &Root, files: &dyn Files) -> CommandKind;

    /// Packages that manifests of the tree ask a registry for, and that perspt would fetch.
    fn dependencies(&self, files: &dyn Files) -> BTreeSet<String> {
        let _ = files;
        BTreeSet::new()
    }

    /// The names of packages that manifests and lock files of a tree name.
    fn packages(&self, files: &dyn Files) -> BTreeSet<String>;

    /// Why a baseline that could not run is the machine's fault and not the tree's (a missing
    /// third-party module, a test runner that its settings keep from starting); `None` where it is the
    /// tree's own.
    fn environment_fault(&self, reading: &Reading, files: &dyn Files) -> Option<String>;

    /// Files that a reading says are not in the tree, wherever they would lie. Where one is on the disk all the
    /// same, the project's ignore rules keep it from being measured.
    fn wanted_files(&self, reading: &Reading, root: &Root, files: &dyn Files) -> Vec<RelPath> {
        let _ = (reading, root, files);
        Vec::new()
    }

    /// What a correction prompt tells a model about this language's usual failures.
    fn correction_fragment(&self) -> &'static str;

    /// How a project of this language is laid out, for the architect.
    fn layout_hint(&self) -> &'static str;
}

/// What stands in a file's place where tests are to be those of the base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Was {
    /// The base's file.
    Base,
    /// Nothing: the base has none.
    Absent,
    /// The candidate's code with the base's tests.
    Text(String),
}

/// How dependencies are brought onto the machine. It has a network, so it must not see what in the tree chooses
/// programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetch {
    /// What is run.
    pub step: Step,
    /// Files of the tree that choose programs: the text that stands in their place, `None` where they are left out.
    pub instead: BTreeMap<RelPath, Option<String>>,
}

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
