//! The third role: what is said to the model about a language, and what the task's and the model's words mean in it.

use std::collections::BTreeSet;

use perspt_core::path::RelPath;
use perspt_core::stage::Root;

use super::{Fetch, Files};

/// What is said to the model, and what is made of its words.
pub trait Words: Sync + Send {
    /// Names of the language and its tools, to be looked up in a task with [`crate::mentions`].
    fn task_words(&self) -> &'static [&'static str];

    /// The manifest a new project gets.
    fn manifest_name(&self) -> &'static str;

    /// The file by which a project further up may take folders in, for [`super::Stages::claims`].
    fn workspace_manifest(&self) -> &'static str {
        self.manifest_name()
    }

    /// How a project of this language is laid out, for the architect.
    fn layout_hint(&self) -> &'static str;

    /// What a correction prompt says about this language's usual failures.
    fn correction_fragment(&self) -> &'static str;

    /// Where a new test file for a source would stand, beside the tests that there are. `None` where tests belong into
    /// the source itself.
    fn new_test_file(&self, source: &RelPath, tests: &[RelPath]) -> Option<RelPath>;

    /// What a command that an answer proposes is.
    fn command(&self, argv: &[String], root: &Root, files: &dyn Files) -> CommandKind;

    /// Packages that manifests of the tree ask a registry for, and that perspt would fetch.
    fn dependencies(&self, files: &dyn Files) -> BTreeSet<String> {
        let _ = files;
        BTreeSet::new()
    }

    /// Every package that manifests and lock files of the tree name.
    fn packages(&self, files: &dyn Files) -> BTreeSet<String>;
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
