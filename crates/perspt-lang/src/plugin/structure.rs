//! The second role: what the files of a project are, and what a candidate did to its tests.

use std::collections::{BTreeMap, BTreeSet};

use perspt_core::inventory::Inventory;
use perspt_core::path::RelPath;
use perspt_core::reading::Reading;
use perspt_core::residual::Residual;

use super::{Pair, Tools};

/// What the files of a project are.
pub trait Structure: Sync + Send {
    /// Whether a root is made by this file.
    fn is_manifest(&self, path: &RelPath) -> bool;

    /// Whether this file is source of this language.
    fn is_source(&self, path: &RelPath) -> bool;

    /// Whether this file holds tests and nothing else, by its place and name.
    fn is_test_file(&self, path: &RelPath) -> bool;

    /// Whether tools write this file to pin versions.
    fn is_lockfile(&self, path: &RelPath) -> bool;

    /// Whether a tool that brings this file up to date leaves it to the project, even where it is new: without it the next
    /// build fails. Lock files that a project did not have are left out otherwise.
    fn is_kept_by_tools(&self, path: &RelPath) -> bool {
        let _ = path;
        false
    }

    /// Files a node may edit though it does not own them: module declarations, package indexes, manifests.
    fn is_support_file(&self, path: &RelPath) -> bool;

    /// Whether this file decides how evidence is gathered: runner configuration, hooks, build scripts, files that
    /// shadow a tool.
    fn decides_evidence(&self, path: &RelPath) -> bool;

    /// What perspt's own look at a candidate finds.
    fn structure(&self, pair: &Pair<'_>, tools: &Tools) -> StructureFindings;

    /// How the candidate's tree becomes "new code, old tests": files to put back or leave out, and sources with the
    /// tests they had.
    fn old_tests(&self, pair: &Pair<'_>, taken: &FromCandidate) -> BTreeMap<RelPath, OldTestFile>;

    /// What must be taken from the candidate, given the reading of the tree that `old_tests(pair, so_far)` makes; equal
    /// to `so_far` where no more can be.
    fn take_more(&self, pair: &Pair<'_>, so_far: &FromCandidate, reading: &Reading) -> FromCandidate;
}

/// What perspt's own look at a candidate found.
#[derive(Debug, Default)]
pub struct StructureFindings {
    /// Code that is still to be written.
    pub residuals: Vec<Residual>,
    /// What the candidate did to the tests of its base.
    pub inventory: Inventory,
}

/// What is taken from the candidate where the old tests cannot be built over the new code.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FromCandidate {
    /// Files that keep their old tests and take the candidate's import lines.
    pub imports: BTreeSet<RelPath>,
    /// Tests, and helpers beside them, that take their new text: the file, and the name inside it.
    pub tests: BTreeSet<(RelPath, String)>,
    /// Whole files.
    pub files: BTreeSet<RelPath>,
}

/// A file of the tree that has new code and old tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OldTestFile {
    /// The base's file.
    Base,
    /// Nothing: the base has none.
    Absent,
    /// The candidate's code with the base's tests.
    Text(String),
}
