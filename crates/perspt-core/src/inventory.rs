//! The tests of a tree and what a candidate did to them: facts from the syntax of files, test by test. Whether a
//! change is allowed is decided elsewhere.

use serde::{Deserialize, Serialize};

use crate::path::RelPath;
use crate::reading::{TestName, TestResult};

/// A test by its place: the file and its name inside that file, without the `[case]`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TestId {
    /// The file.
    pub file: RelPath,
    /// Its name inside the file: `TestA::test_b`, `tests::adds`.
    pub name: String,
    /// How a runner that does not name files calls it, or the end of that: `parser::tests::adds`.
    pub runner: String,
}

impl TestId {
    /// Whether a runner's result is of this test, whatever its case.
    pub fn is(&self, name: &TestName, result: &TestResult) -> bool {
        match &result.file {
            Some(file) => *file == self.file && ends_with_name(&name.0, &self.name),
            None => ends_with_name(&name.0, &self.runner),
        }
    }

    /// Whether a runner's result is of this test or of a copy of it: a class that inherits it in another file runs it under
    /// its own name.
    pub fn is_or_gives(&self, name: &TestName, result: &TestResult) -> bool {
        let method = self.name.rsplit_once("::").map(|(_, method)| method);
        self.is(name, result) || method.is_some_and(|method| ends_with_name(&name.0, method))
    }

    /// Whether it is an example in documentation.
    pub fn is_doc(&self) -> bool {
        self.name == "doc" || self.name.starts_with("doc::")
    }

    /// The subject of a consent to changing it.
    pub fn subject(&self) -> String {
        format!("{}::{}", self.file, self.name)
    }
}

/// Whether a runner's name of a test, its `[case]` aside, ends with this name at a boundary.
pub fn ends_with_name(full: &str, name: &str) -> bool {
    let bare = full.split_once('[').map_or(full, |(bare, _)| bare);
    let at_boundary = |full: &str| {
        full.strip_suffix(name)
            .is_some_and(|before| before.is_empty() || before.ends_with("::") || before.ends_with('/'))
    };
    !name.is_empty() && (at_boundary(full) || at_boundary(bare))
}

/// What became of an existing test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// Its text differs by more than layout.
    Changed,
    /// It is gone, and no test has its text.
    Removed,
}

/// An existing test that is not what it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedTest {
    /// The test as it was named before the change.
    pub id: TestId,
    /// What became of it.
    pub fate: Fate,
    /// Its text before.
    pub old: String,
    /// Its text now; empty where it is gone.
    pub new: String,
    /// What is weaker by form, in words: `3 assertions before, 1 now`.
    pub weaker: Vec<String>,
}

/// Something that existing tests use and that lost or changed something: a helper, a fixture, a snapshot, data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedSupport {
    /// The file.
    pub path: RelPath,
    /// What of it, in words.
    pub what: String,
}

/// Something that decides how tests run and is not what it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedEvidence {
    /// The file.
    pub path: RelPath,
    /// What of it, in words.
    pub what: String,
    /// Whether the same results of the old tests, with and without it, settle it: a fixture, a test dependency.
    pub settled_by_results: bool,
}

/// What a candidate did to the tests of its base.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inventory {
    /// Existing tests that are not what they were.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<ChangedTest>,
    /// Existing tests with the same text under another name or in another file: before and now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moved: Vec<(TestId, TestId)>,
    /// New tests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub added: Vec<TestId>,
    /// What existing tests use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub support: Vec<ChangedSupport>,
    /// What decides how tests run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<ChangedEvidence>,
}

impl Inventory {
    /// Takes in what another language found.
    pub fn merge(&mut self, other: Inventory) {
        self.changed.extend(other.changed);
        self.moved.extend(other.moved);
        self.added.extend(other.added);
        // A data file below the roots of two languages is found by both.
        let known = |path: &RelPath| self.support.iter().any(|one| one.path == *path);
        let new: Vec<ChangedSupport> = other.support.into_iter().filter(|one| !known(&one.path)).collect();
        self.support.extend(new);
        self.evidence.extend(other.evidence);
    }

    /// Whether the tests as they were have to be run over the new code: something existing is not what it was.
    pub fn asks_old_tests(&self) -> bool {
        !self.changed.is_empty()
            || !self.support.is_empty()
            || self.evidence.iter().any(|evidence| evidence.settled_by_results)
    }
}
