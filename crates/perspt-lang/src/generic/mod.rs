//! Any project, by its user's own commands: C, C++, Java, Ruby, whatever `make` or `just` runs. It is no language and
//! finds no roots by itself: a session whose user gives a command has one root of it, where no language has one.
//!
//! Nothing is known of what such a command reads. So an error is planted into each code file that a candidate changed,
//! and a file whose error the command does not notice counts as read by nobody.

mod ctest;
mod error_plant;
mod files;
mod places;
mod read;
mod report;
mod stages;
mod tap;

use std::collections::{BTreeMap, BTreeSet};

use perspt_core::grade::FileKind;
use perspt_core::inventory::{ChangedEvidence, ChangedSupport, Inventory};
use perspt_core::path::RelPath;
use perspt_core::reading::{Reading, StageKind};
use perspt_core::stage::{Root, Stage, StepOutput};
use perspt_core::tree::Change;

use crate::plugin::{
    CommandKind, Files, FromCandidate, Machine, NoTool, OldTestFile, Pair, Plant, Plugin, Probe, ReadContext,
    Stages, Structure, StructureFindings, Terms, ToolState, Tools, Words,
};

pub use error_plant::error_in;
pub use read::read;
pub use stages::in_place;

/// The plugin's name.
pub const NAME: &str = "generic";

/// The plugin for any project.
pub(crate) struct Generic;

/// Whether a language knows this file.
fn is_of_a_language(path: &RelPath) -> bool {
    crate::plugins()
        .iter()
        .any(|plugin| plugin.is_source(path) || plugin.is_manifest(path) || plugin.is_lockfile(path))
}

impl Plugin for Generic {
    fn name(&self) -> &'static str {
        NAME
    }
}

impl Stages for Generic {
    fn roots(&self, _files: &dyn Files) -> Vec<Root> {
        Vec::new()
    }

    /// The user's own commands are tried by running them.
    fn probes(&self, _machine: &Machine) -> Vec<Probe> {
        Vec::new()
    }

    fn read_probe(&self, probe: &Probe, _outputs: &[StepOutput]) -> ToolState {
        let why = format!("`{}` is not a tool of any project", probe.tool);
        ToolState::Missing { why, install: String::new() }
    }

    /// Only the user's own commands, which are put in place for every language.
    fn stages(&self, _root: &Root, _files: &dyn Files, _terms: &Terms<'_>) -> Vec<Result<Stage, NoTool>> {
        Vec::new()
    }

    fn read(&self, stage: &Stage, outputs: &[StepOutput], context: &ReadContext<'_>) -> Reading {
        read(stage, outputs, context)
    }

    fn plants(&self, _: StageKind, _: &Root, _: &dyn Files, _: &str) -> Vec<Plant> {
        Vec::new()
    }

    fn environment_fault(&self, _reading: &Reading) -> Option<String> {
        None
    }
}

impl Structure for Generic {
    fn is_manifest(&self, path: &RelPath) -> bool {
        files::decides_evidence(path)
    }

    fn is_source(&self, path: &RelPath) -> bool {
        FileKind::of(path) == FileKind::Code && !is_of_a_language(path)
    }

    fn is_test_file(&self, path: &RelPath) -> bool {
        files::is_of_tests(path) && self.is_source(path)
    }

    fn is_lockfile(&self, path: &RelPath) -> bool {
        path.name() == "Gemfile.lock"
    }

    fn is_support_file(&self, path: &RelPath) -> bool {
        files::decides_evidence(path)
    }

    fn decides_evidence(&self, path: &RelPath) -> bool {
        files::decides_evidence(path)
    }

    /// Nothing is known of single tests, so a changed file of tests is a question as a whole. New ones are free.
    fn structure(&self, pair: &Pair<'_>, _tools: &Tools) -> StructureFindings {
        let mut inventory = Inventory::default();
        for change in pair.base.tree().changes_to(pair.candidate.tree()) {
            if let Some(what) = changed_tests(&change, pair) {
                inventory.support.push(ChangedSupport { path: change.path, what: what.to_owned() });
            } else if let Some(what) = changed_evidence(&change, pair) {
                let what = what.to_owned();
                inventory.evidence.push(ChangedEvidence {
                    path: change.path,
                    what,
                    settled_by_results: true,
                });
            }
        }
        StructureFindings { residuals: Vec::new(), inventory }
    }

    fn old_tests(&self, pair: &Pair<'_>, taken: &FromCandidate) -> BTreeMap<RelPath, OldTestFile> {
        let changes = pair.base.tree().changes_to(pair.candidate.tree());
        let of_tests = changes.into_iter().filter(|change| {
            let asks = changed_tests(change, pair).is_some() || changed_evidence(change, pair).is_some();
            asks && !taken.files.contains(&change.path)
        });
        let was = |change: &Change| match change.before {
            Some(_) => OldTestFile::Base,
            None => OldTestFile::Absent,
        };
        of_tests.map(|change| (change.path.clone(), was(&change))).collect()
    }

    fn take_more(&self, _: &Pair<'_>, so_far: &FromCandidate, _: &Reading) -> FromCandidate {
        so_far.clone()
    }
}

/// What became of an existing file of tests that no language knows. One that only moved among them is as it was.
fn changed_tests(change: &Change, pair: &Pair<'_>) -> Option<&'static str> {
    let before = change.before?;
    if !files::is_of_tests(&change.path) || is_of_a_language(&change.path) {
        return None;
    }
    let moved = || {
        let mut now = pair.candidate.tree().entries.iter();
        now.any(|(path, entry)| entry.hash == before.hash && files::is_of_tests(path))
    };
    match change.after {
        Some(_) => Some("an existing file of tests was changed"),
        None => (!moved()).then_some("an existing file of tests was removed"),
    }
}

/// What became of a file that says how the project is built and tested. The first of a folder is free.
fn changed_evidence(change: &Change, pair: &Pair<'_>) -> Option<&'static str> {
    if !files::decides_evidence(&change.path) || is_of_a_language(&change.path) {
        return None;
    }
    let folder = change.path.parent();
    let mut others = pair.base.tree().entries.keys().filter(|path| path.parent() == folder);
    match change.before {
        Some(_) => Some("it says how the project is built and tested"),
        None => others
            .any(files::decides_evidence)
            .then_some("it is new beside one that says how the project is built"),
    }
}

impl Words for Generic {
    fn task_words(&self) -> &'static [&'static str] {
        &[]
    }

    fn manifest_name(&self) -> &'static str {
        ""
    }

    fn layout_hint(&self) -> &'static str {
        include_str!("../../templates/generic-layout.txt")
    }

    fn correction_fragment(&self) -> &'static str {
        include_str!("../../templates/generic-correction.txt")
    }

    fn new_test_file(&self, _: &RelPath, _: &[RelPath]) -> Option<RelPath> {
        None
    }

    fn command(&self, argv: &[String], _root: &Root, _files: &dyn Files) -> CommandKind {
        let words: Vec<&str> = argv.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["make"] | ["make", "all" | "test" | "check"] | ["ctest", ..] => CommandKind::Repeats,
            _ => CommandKind::Other,
        }
    }

    fn packages(&self, _files: &dyn Files) -> BTreeSet<String> {
        BTreeSet::new()
    }
}
