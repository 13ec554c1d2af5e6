//! Running one stage on a tree and reading what came out.

use std::collections::BTreeSet;

use perspt_core::effect::Branch;
use perspt_core::event::MissingTool;
use perspt_core::ids::TreeId;
use perspt_core::path::RelPath;
use perspt_core::reading::{Reading, StageId, Status};
use perspt_core::residual::{Class, Component, Residual};
use perspt_core::stage::{Profile, Root, Stage, StepOutput};
use perspt_core::state::SessionState;
use perspt_core::tree::Tree;
use perspt_lang::generic;
use perspt_lang::plugin::{Files, Plugin, ReadContext, Selection};
use perspt_sandbox::Cancel;
use perspt_sandbox::slot::{Drift, leads_back, link_texts};

use super::masked::masked_reading;
use crate::actor::Actor;
use crate::error::EffectError;
use crate::slot::{SlotGuard, stage_timeout};
use crate::tree::TreeFiles;

/// A stage, and the branch it is about.
#[derive(Clone, Copy)]
pub(crate) struct BranchStage<'a> {
    pub branch: &'a Branch,
    pub stage: &'a StageId,
}

/// A stage of one root, and what running it needs.
#[derive(Clone, Copy)]
pub(crate) struct StageRun<'a> {
    pub state: &'a SessionState,
    pub stage: &'a StageId,
    pub root: &'a Root,
    pub plugin: &'static dyn Plugin,
    pub cancel: &'a Cancel,
}

/// The tree that a stage is run on.
#[derive(Clone, Copy)]
pub(super) struct TreeUnderTest<'a> {
    pub files: &'a TreeFiles,
    /// The tree it came from, where new test files are to run apart from the others.
    pub base: Option<&'a Tree>,
    /// The tests to run, where not all of them are.
    pub only: Option<&'a BTreeSet<(RelPath, String)>>,
}

/// A reading of a stage that could not be run.
pub(super) fn unavailable(tree: TreeId, stage: &StageId, tool: &str, why: String) -> Reading {
    Reading { status: Status::Unavailable(why), ..Reading::measured(tree, stage.clone(), tool) }
}

impl Actor {
    /// Takes a reading, and a second one where a working tool was ended from outside. Also returns what is wrong with the
    /// tool.
    pub(super) async fn take_reading_retried(
        &self,
        run: StageRun<'_>,
        slot: &mut SlotGuard<'_>,
        tree: TreeUnderTest<'_>,
    ) -> Result<(Reading, Option<MissingTool>), EffectError> {
        let reading = self.take_reading(run, slot, tree).await?;
        let Some(odd) = cut_short(&reading) else { return Ok((reading, None)) };
        let hung = odd.class == Class::Timeout;
        let fault = self.changed_tool(run.state, slot, run.plugin, run.cancel).await?;
        if fault.is_some() || hung {
            return Ok((reading, fault));
        }
        Ok((self.take_reading(run, slot, tree).await?, None))
    }

    /// Runs one stage on a tree and reads its output. What it means is decided by the judge.
    pub(super) async fn take_reading(
        &self,
        run: StageRun<'_>,
        slot: &mut SlotGuard<'_>,
        under_test: TreeUnderTest<'_>,
    ) -> Result<Reading, EffectError> {
        let StageRun { state, stage, root, plugin, .. } = run;
        let TreeUnderTest { files, base, only } = under_test;
        let tree = files.tree();
        let probed = self.probed(state)?;
        let selection =
            Selection { new_tests: new_tests(plugin, tree, base), only: only.cloned().unwrap_or_default() };
        let described = self
            .stages_of(run.state, root, &probed, files, &selection)
            .into_iter()
            .find(|found| found.as_ref().map_or_else(|lack| lack.stage, |stage| stage.kind) == stage.kind);
        let unavailable = |tool: &str, why| Ok(unavailable(tree.id(), stage, tool, why));
        let described = match described {
            Some(Ok(described)) => described,
            Some(Err(lack)) => return unavailable(&lack.tool, format!("{}; {}", lack.why, lack.install)),
            None => return unavailable(stage.kind.as_str(), "nothing runs this stage".to_owned()),
        };
        slot.lay_out(files)?;
        if let Some(link) = self.leads_back(slot, tree) {
            let why = format!("`{link}` leads back into the original tree, which is not what is measured");
            return unavailable(&described.tool, why);
        }
        let (outputs, drift) = run_steps(run, slot, &described, files).await?;
        let seen_as = slot.seen_as().to_string_lossy().into_owned();
        let tools = self.tools_of(state, plugin)?;
        let context = ReadContext { tree: tree.id(), root, seen_as: &seen_as, files, tools: &tools };
        let mut reading = match described.command {
            Some(_) => generic::read(&described, &outputs, &context),
            None => plugin.read(&described, &outputs, &context),
        };
        drift.into_iter().for_each(|drift| drifted(&mut reading, drift, &|path| plugin.is_lockfile(path)));
        Ok(masked_reading(&self.parts.masks, reading))
    }

    /// Where tools do not see the slot at the workspace's own path, a link into the original tree would
    /// be followed out of the slot.
    fn leads_back(&self, slot: &SlotGuard<'_>, tree: &Tree) -> Option<RelPath> {
        if slot.in_place() {
            return None;
        }
        let texts = link_texts(&self.slot_dir().join("tree"), tree).ok()?;
        leads_back(tree, &texts, &self.parts.workspace).into_iter().next()
    }
}

/// Test files that the base does not have: they run in a process of their own, so that they cannot help the others.
fn new_tests(plugin: &'static dyn Plugin, tree: &Tree, base: Option<&Tree>) -> BTreeSet<RelPath> {
    let Some(base) = base else { return BTreeSet::new() };
    let new = |path: &&RelPath| plugin.is_test_file(path) && !base.entries.contains_key(*path);
    tree.entries.keys().filter(new).cloned().collect()
}

/// Runs the steps in order, and says what each did to the tree. A step that runs the project's own code finds the tree as
/// it was laid out and an empty temp dir: files that an earlier step left must not decide its result.
async fn run_steps(
    run: StageRun<'_>,
    slot: &mut SlotGuard<'_>,
    stage: &Stage,
    files: &TreeFiles,
) -> Result<(Vec<StepOutput>, Vec<Drift>), EffectError> {
    let (plugin, kind, timeout) = (run.plugin, stage.kind.as_str(), stage_timeout(run.state));
    let (mut outputs, mut drift) = (Vec::new(), Vec::new());
    for step in &stage.steps {
        // A user's tests run in what the user's build has just made.
        let restores = step.profile == Profile::Test && stage.command.is_none();
        if restores && !outputs.is_empty() {
            drift.push(slot.restore(files, &step.cwd, &|path| plugin.is_lockfile(path))?);
        }
        let mut output = slot.run(kind, step, timeout, run.cancel).await?;
        if step.profile == Profile::Build && plugin.was_killed(&output) {
            // A compiler does not kill itself: the machine did, and may not again.
            output = slot.run(kind, step, timeout, run.cancel).await?;
        }
        let continues = match stage.command {
            Some(_) => {
                if step.reports.is_empty() {
                    output.reports.extend(slot.new_in_tree(files.tree(), "xml"));
                }
                output.end.is_success()
            }
            None => {
                for name in plugin.late_reports(stage, &output) {
                    let bytes = slot.read_in_build(&name);
                    output.reports.extend(bytes.map(|bytes| (name, bytes)));
                }
                plugin.continues_after(stage, &output)
            }
        };
        outputs.push(output);
        if !continues {
            break;
        }
    }
    drift.push(slot.recheck()?);
    Ok((outputs, drift))
}

/// Adds findings for files that changed while the tree was measured, and a note on new ones.
fn drifted(reading: &mut Reading, drift: Drift, is_lockfile: &dyn Fn(&RelPath) -> bool) {
    let lost = drift
        .changed
        .iter()
        .map(|path| (path, "changed"))
        .chain(drift.gone.iter().map(|path| (path, "removed")));
    for (path, what) in lost {
        let message = format!("`{path}` was {what} while the tree was measured");
        let mut residual = Residual::error(Component::Boot, Class::TreeChanged, &reading.tool, message);
        residual.hint = Some("tests and build scripts must not write to the project's own files".to_owned());
        reading.residuals.push(residual.in_file(Some(path.clone())));
    }
    let named: Vec<&str> =
        drift.new.iter().filter(|path| !is_lockfile(path)).map(RelPath::as_str).take(8).collect();
    if !named.is_empty() {
        reading.notes.push(format!(
            "left behind and removed: {} ({} in all)",
            named.join(", "),
            drift.new_count
        ));
    }
}

/// The finding that a tool was ended early or left no complete report.
fn cut_short(reading: &Reading) -> Option<&Residual> {
    let odd = |class: Class| {
        matches!(class, Class::Timeout | Class::Crash | Class::ReportMissing | Class::ToolFailed)
    };
    reading.residuals.iter().find(|residual| odd(residual.class))
}
