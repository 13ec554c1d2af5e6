//! The form in which all runners report: a list of files, each with its tests; and what each process said when it ended.

use perspt_core::reading::TestEnd;
use serde::Deserialize;

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    pub test_results: Vec<FileResult>,
}

/// One test file.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FileResult {
    pub name: String,
    #[serde(default)]
    pub status: String,
    #[serde(default)]
    pub message: String,
    #[serde(default)]
    pub assertion_results: Vec<Assertion>,
}

/// One test.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Assertion {
    #[serde(default)]
    pub ancestor_titles: Vec<String>,
    pub title: String,
    pub status: String,
    #[serde(default)]
    pub failure_messages: Option<Vec<String>>,
    #[serde(default)]
    pub location: Option<Location>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Location {
    pub line: u64,
    pub column: u64,
}

impl Assertion {
    /// How it ended.
    pub(crate) fn end(&self) -> TestEnd {
        match self.status.as_str() {
            "passed" => TestEnd::Passed,
            "failed" => TestEnd::Failed,
            _ => TestEnd::Skipped,
        }
    }
}

/// What a process said when it ended.
#[derive(Debug, Deserialize)]
pub(crate) struct Ended {
    #[serde(default)]
    pub main: Option<String>,
    pub whole: bool,
    pub loaded: Vec<String>,
}

/// A report; `None` where it is not whole.
pub(crate) fn parse(text: &str) -> Option<Report> {
    serde_json::from_str(text).ok()
}

/// What to do about a snapshot that differs or is not there, as its runner says it: measuring writes none.
pub(crate) fn about_snapshots(message: &str) -> Option<&'static str> {
    let says = ["New snapshot was not written", "Missing snapshots can be generated", "Snapshot `"];
    let is_told = says.iter().any(|says| message.contains(says));
    is_told.then_some(
        "No run here writes or updates a snapshot: expect the value in the test, or give the snapshot's file too.",
    )
}
