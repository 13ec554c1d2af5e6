//! Evidence: what one stage found on one tree. "Found nothing" and "did not look" are different values.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::contract::PromiseReading;
use crate::event::RootRef;
use crate::grade::Grade;
use crate::ids::TreeId;
use crate::inventory::Inventory;
use crate::path::RelPath;
use crate::residual::{Component, Residual};

/// A language plugin's name, such as `rust`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PluginName(pub String);

impl fmt::Display for PluginName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The kinds of stages, in the order they run. A new kind is a variant here, a place in [`StageKind::ALL`] and a row in
/// [`StageKind::facts`]; then a plugin may describe a stage of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StageKind {
    /// perspt's own look at what changed: scope, tests weakened, evidence rules touched, files nobody reads.
    Structure,
    /// Every source file parses.
    Syntax,
    /// The compiler accepts the tree.
    Build,
    /// A type checker beside the compiler, or in place of one, accepts the tree.
    Type,
    /// Style and likely mistakes.
    Lint,
    /// The tests run, test by test.
    Test,
}

/// What holds for every stage of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KindFacts {
    /// The name in events and on screens.
    pub name: &'static str,
    /// The component of the energy that it measures.
    pub component: Component,
    /// Whether a failure keeps the later stages of the same root from running.
    pub gates: bool,
    /// What it proves of a file it has read. For tests: where one has passed.
    pub proves: Option<Grade>,
    /// Which of its findings are not charged where the tree before has them too.
    pub inherits: Inherits,
    /// What it is doing, for people who wait.
    pub progress: &'static str,
    /// What a user can do where it did not see a planted error.
    pub when_blind: &'static str,
}

/// Which findings that were there before are not charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inherits {
    /// All.
    All,
    /// Those in files that the node does not touch.
    UntouchedFiles,
    /// Those in packages that the node does not touch: in its own they keep tests from running.
    OtherPackages,
}

impl StageKind {
    /// Every kind.
    pub const ALL: [StageKind; 6] = [
        StageKind::Structure,
        StageKind::Syntax,
        StageKind::Build,
        StageKind::Type,
        StageKind::Lint,
        StageKind::Test,
    ];

    /// The name in events and on screens.
    pub fn as_str(self) -> &'static str {
        self.facts().name
    }

    /// The one table of kinds.
    pub const fn facts(self) -> KindFacts {
        const SEES: &str = "the project's own configuration must let its tools see the files of this folder";
        match self {
            StageKind::Structure => KindFacts {
                name: "structure",
                component: Component::Str,
                gates: false,
                proves: Some(Grade::Syntax),
                inherits: Inherits::All,
                progress: "looking at what changed",
                when_blind: SEES,
            },
            StageKind::Syntax => KindFacts {
                name: "syntax",
                component: Component::Syn,
                gates: true,
                proves: Some(Grade::Syntax),
                inherits: Inherits::UntouchedFiles,
                progress: "checking the syntax",
                when_blind: SEES,
            },
            StageKind::Build => KindFacts {
                name: "build",
                component: Component::Syn,
                gates: true,
                proves: Some(Grade::Build),
                inherits: Inherits::OtherPackages,
                progress: "building",
                when_blind: SEES,
            },
            // Tests run all the same: a tree with old type errors can be worked on.
            StageKind::Type => KindFacts {
                name: "type",
                component: Component::Syn,
                gates: false,
                proves: Some(Grade::Types),
                inherits: Inherits::All,
                progress: "checking the types",
                when_blind: SEES,
            },
            StageKind::Lint => KindFacts {
                name: "lint",
                component: Component::Str,
                gates: false,
                proves: None,
                inherits: Inherits::All,
                progress: "checking the style",
                when_blind: SEES,
            },
            StageKind::Test => KindFacts {
                name: "test",
                component: Component::Log,
                gates: false,
                proves: Some(Grade::Tests),
                inherits: Inherits::OtherPackages,
                progress: "running the tests",
                when_blind: "the tests must import and call the code of this folder itself, not an installed copy; \
                             add one that does",
            },
        }
    }
}

/// One stage of one language root.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct StageId {
    /// The root's folder.
    pub root: RelPath,
    /// The plugin that reads it.
    pub plugin: PluginName,
    /// Which stage.
    pub kind: StageKind,
}

/// Whether a stage looked, and if not, why not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "is", content = "why")]
pub enum Status {
    /// The tool ran to its end and its report was read.
    Measured,
    /// It was not started, because an earlier stage failed.
    NotRun(String),
    /// The environment could not run it: a missing, broken or blind tool.
    Unavailable(String),
}

/// A test's name, unique in its root: for Rust `target::name`, for Python pytest's node id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TestName(pub String);

/// How one test ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TestEnd {
    /// It passed.
    Passed,
    /// It failed or errored.
    Failed,
    /// It was skipped or ignored.
    Skipped,
}

/// One test's result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestResult {
    /// How it ended.
    pub end: TestEnd,
    /// The file that holds it, where the report says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<RelPath>,
    /// The failure message, shortened; empty for a pass.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// What a test stage reported, test by test.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tests {
    /// Every test that was announced, with its result.
    pub results: BTreeMap<TestName, TestResult>,
    /// Targets that do not answer a listing: shown, counted neither way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unlisted: Vec<String>,
}

impl Reading {
    /// Whose command it is from.
    pub fn by(&self) -> MeasuredBy {
        if self.command.is_some() { MeasuredBy::Own } else { MeasuredBy::Language }
    }

    /// A reading that was taken and found nothing yet.
    pub fn measured(tree: TreeId, stage: StageId, tool: &str) -> Reading {
        Reading {
            tree,
            stage,
            tool: tool.to_owned(),
            status: Status::Measured,
            residuals: Vec::new(),
            tests: None,
            inventory: None,
            promises: Vec::new(),
            looked: BTreeSet::new(),
            reach: BTreeMap::new(),
            parts: Vec::new(),
            absent: BTreeSet::new(),
            regressed: false,
            only_prose: false,
            other_roots: BTreeSet::new(),
            command: None,
            notes: Vec::new(),
        }
    }
}

/// Whose command a reading is from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MeasuredBy {
    /// A tool of the language.
    #[default]
    Language,
    /// A command of the user's own.
    Own,
}

impl MeasuredBy {
    /// Whether it is the usual one, which events leave out.
    pub fn is_language(&self) -> bool {
        *self == MeasuredBy::Language
    }
}

impl Tests {
    /// How many ended this way.
    pub fn count(&self, end: TestEnd) -> u32 {
        self.results.values().filter(|result| result.end == end).count() as u32
    }
}

/// Lines of a file that a compiler treats in their own way: for another platform, behind a feature.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The file.
    pub file: RelPath,
    /// Its first and last line.
    pub lines: (u32, u32),
    /// What was proved of it at the most.
    pub grade: Grade,
    /// Why, in the language's own words: `cfg(windows)`.
    pub why: String,
}

/// What one stage found on one tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// The tree it was taken on; it says nothing about any other.
    pub tree: TreeId,
    /// Which stage of which root.
    pub stage: StageId,
    /// The tool that was run, as a person would name it.
    pub tool: String,
    /// Whether it looked.
    pub status: Status,
    /// Everything found, charged or only shown.
    #[serde(default)]
    pub residuals: Vec<Residual>,
    /// For a test stage that was measured: each test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<Tests>,
    /// Of perspt's own look: what the candidate did to tests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inventory: Option<Inventory>,
    /// Of perspt's own look: what became of each promise of the node's contract.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub promises: Vec<PromiseReading>,
    /// The files of the tree that the tool really read, as far as it tells.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub looked: BTreeSet<RelPath>,
    /// The files that each test file with a failed test leads to, as far as the runner tells.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub reach: BTreeMap<RelPath, BTreeSet<RelPath>>,
    /// Changed lines of files that it read, which it did not look at as it does at the rest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
    /// Modules that tests import and that are neither installed nor in the tree.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub absent: BTreeSet<String>,
    /// Whether a test that passed on the tree before does not pass now.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub regressed: bool,
    /// Of perspt's own look: whether nothing that any tool reads was changed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only_prose: bool,
    /// Of perspt's own look: roots that are not the node's and whose tools have read something that was changed.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub other_roots: BTreeSet<RootRef>,
    /// The user's own command that was run, as a person would type it. Which files it reads is known only of those whose
    /// errors it was seen to notice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// What a person should know of this reading and no energy comes from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}
