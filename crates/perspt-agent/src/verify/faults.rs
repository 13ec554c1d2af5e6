//! Why a baseline could not be measured, where that is not the tree's fault.

use perspt_core::event::MissingTool;
use perspt_core::path::RelPath;
use perspt_core::reading::Reading;
use perspt_core::residual::Class;
use perspt_lang::plugin::{Files, Plugin};

use super::stage_run::StageRun;
use crate::actor::Actor;
use crate::slot::one_line;
use crate::tree::{TreeFiles, exists};

impl Actor {
    /// A file that the project's code needs and that its ignore rules keep out of what is measured.
    pub(super) fn left_out(
        &self,
        run: StageRun<'_>,
        reading: &Reading,
        files: &TreeFiles,
    ) -> Option<MissingTool> {
        let there =
            |path: &RelPath| exists(&self.parts.workspace, path) && !files.tree().entries.contains_key(path);
        let path = run.plugin.missing_files(reading, run.root, files).into_iter().find(there)?;
        Some(MissingTool {
            tool: reading.tool.clone(),
            why: format!("`{path}` is needed, but your ignore rules exclude it"),
            install: format!("include it again (`!{path}`), or commit the files it is made from"),
        })
    }
}

/// Why the first baseline could not be measured.
pub(super) fn machine_fault(
    plugin: &'static dyn Plugin,
    reading: &Reading,
    again: &str,
) -> Option<MissingTool> {
    let fault = || plugin.environment_fault(reading).or_else(|| writes_to_itself(plugin, reading));
    not_measured(reading, again).or_else(|| Some(unrunnable(reading, &fault()?, again)))
}

/// A project that changes its own sources while it is measured. No reading would be of one tree, whoever wrote it.
fn writes_to_itself(plugin: &'static dyn Plugin, reading: &Reading) -> Option<String> {
    let is_code = |path: &RelPath| plugin.is_source(path) || plugin.is_manifest(path);
    let changed = reading.residuals.iter().filter(|residual| residual.class == Class::TreeChanged);
    let path = changed.filter_map(|residual| residual.file.as_ref()).find(|path| is_code(path))?;
    Some(format!("the project's own tests or build scripts write to `{path}` while they run"))
}

/// A baseline without known tests, because the tool hung or was ended. Later nobody could say that a test is gone. A crash
/// with a known list of tests is an ordinary red start.
pub(super) fn not_measured(reading: &Reading, again: &str) -> Option<MissingTool> {
    let none_known = reading.tests.as_ref().is_none_or(|tests| tests.results.is_empty());
    let ended = |class: Class| {
        class == Class::Timeout || (none_known && matches!(class, Class::Crash | Class::ReportMissing))
    };
    let odd = reading.residuals.iter().find(|residual| ended(residual.class))?;
    Some(unrunnable(reading, &odd.message, again))
}

fn unrunnable(reading: &Reading, why: &str, again: &str) -> MissingTool {
    MissingTool {
        tool: reading.tool.clone(),
        why: one_line(why),
        install: format!("make the project's own tests run on this machine, then {again}"),
    }
}
