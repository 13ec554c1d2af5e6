//! Taking one reading: lay the branch out, run the stage, read what came out.

use std::collections::BTreeSet;
use std::time::Duration;

use perspt_core::effect::Branch;
use perspt_core::energy::ReadingSummary;
use perspt_core::event::{Ended, MissingTool};
use perspt_core::ids::NodeId;
use perspt_core::path::RelPath;
use perspt_core::reading::{Reading, StageId, StageKind, Status};
use perspt_core::residual::{Class, Component, Residual};
use perspt_core::stage::{Profile, Root, Stage, StepOutput};
use perspt_core::state::SessionState;
use perspt_core::tree::Tree;
use perspt_lang::plugin::{Files, Plugin, ReadContext};
use perspt_sandbox::Cancel;
use perspt_sandbox::slot::{Drift, leads_back, link_texts};

use super::masked::masked_reading;
use crate::actor::{Actor, Bench, Halt, brief};
use crate::files::{Sources, TreeFiles, exists};

impl Actor {
    /// Takes one reading. What it means is decided by the judge.
    pub(crate) async fn measure(
        &self,
        state: &SessionState,
        node: Option<&NodeId>,
        branch: &Branch,
        stage: &StageId,
        cancel: &Cancel,
    ) -> Result<Ended, Halt> {
        let tree = self.branch_tree(branch)?;
        let node = node.and_then(|id| state.nodes.get(id));
        let files = TreeFiles::new(tree.clone(), self.sources());
        if stage.kind == StageKind::Structure {
            let reading = self.structure(state, node, branch, &files)?;
            let reading = masked_reading(&self.parts.masks, reading);
            let blob = self.keep(&reading)?;
            let reading = ReadingSummary::of(&reading, blob);
            return Ok(Ended::Measured { reading, environment: None, runs: vec![] });
        }
        let plugin = self.plugin(&stage.plugin);
        let root = self.root(&stage.root, &stage.plugin, &files);
        let mut bench = self.bench().await?;
        let sources = self.sources();
        let base = self.tree_of(branch.base)?;
        let laid = Laid { tree: &tree, sources: &sources, base: Some(&base) };
        let (mut reading, mut environment) =
            self.take_whole(state, &mut bench, laid, stage, (&root, plugin), cancel).await?;
        if let (None, Some(plugin)) = (&environment, plugin) {
            let first = state.found.as_ref().is_some_and(|found| found.base.id == branch.tree);
            environment = match node {
                Some(_) if self.lost_a_test(state, &reading)? => {
                    self.changed_tool(state, &mut bench, plugin, cancel).await?
                }
                Some(_) => None,
                None if first => machine_fault(plugin, &reading, &files)
                    .or_else(|| self.left_out(plugin, &reading, &root, &files)),
                None => not_measured(&reading),
            };
        }
        if let Some(fault) = environment.as_ref().filter(|_| node.is_some()) {
            // What a broken tool says is nobody's finding.
            reading.status = Status::Unavailable(format!("{}: {}", fault.tool, fault.why));
            (reading.residuals, reading.tests) = (Vec::new(), None);
        }
        let runs = std::mem::take(&mut bench.runs);
        let blob = self.keep(&reading)?;
        Ok(Ended::Measured { reading: ReadingSummary::of(&reading, blob), environment, runs })
    }

    /// Whether a test that ran on the head has no result now. A tool that was exchanged meanwhile may be why.
    fn lost_a_test(&self, state: &SessionState, reading: &Reading) -> Result<bool, Halt> {
        let Some(before) = state.baseline_of(&reading.stage).first() else { return Ok(false) };
        let before: Reading = self.kept("a reading", before.blob)?;
        let has = |name| reading.tests.as_ref().is_some_and(|tests| tests.results.contains_key(name));
        Ok(before.tests.iter().flat_map(|tests| tests.results.keys()).any(|name| !has(name)))
    }

    /// Runs one stage on a tree and reads it, once more where a working tool was ended by something else. What is
    /// wrong with the tool comes along.
    pub(super) async fn take_whole(
        &self,
        state: &SessionState,
        bench: &mut Bench<'_>,
        laid: Laid<'_>,
        stage: &StageId,
        (root, plugin): (&Root, Option<&'static dyn Plugin>),
        cancel: &Cancel,
    ) -> Result<(Reading, Option<MissingTool>), Halt> {
        let reading = self.take(state, bench, laid, stage, root, cancel).await?;
        let (Some(odd), Some(plugin)) = (cut_short(&reading), plugin) else { return Ok((reading, None)) };
        let hung = odd.class == Class::Timeout;
        let fault = self.changed_tool(state, bench, plugin, cancel).await?;
        if fault.is_some() || hung {
            return Ok((reading, fault));
        }
        Ok((self.take(state, bench, laid, stage, root, cancel).await?, None))
    }

    /// Runs one stage on a tree and reads it, with nothing held against it yet.
    pub(super) async fn take(
        &self,
        state: &SessionState,
        bench: &mut Bench<'_>,
        Laid { tree, sources, base }: Laid<'_>,
        stage: &StageId,
        root: &Root,
        cancel: &Cancel,
    ) -> Result<Reading, Halt> {
        let files = TreeFiles::new(tree.clone(), sources.clone());
        let probed = self.probed(state)?;
        let new_tests = self.new_tests(stage, tree, base);
        let described = self
            .stages_of(root, &probed, &files, &new_tests)
            .into_iter()
            .find(|found| found.as_ref().map_or_else(|lack| lack.stage, |stage| stage.kind) == stage.kind);
        let plugin = self.plugin(&stage.plugin);
        let unavailable = |tool: &str, why: String| Reading {
            tree: tree.id(),
            stage: stage.clone(),
            tool: tool.to_owned(),
            status: Status::Unavailable(why),
            residuals: vec![],
            tests: None,
            inventory: None,
            unread: vec![],
            notes: vec![],
        };
        let (description, plugin) = match (described, plugin) {
            (Some(Ok(description)), Some(plugin)) => (description, plugin),
            (Some(Err(lack)), _) => {
                return Ok(unavailable(&lack.tool, format!("{}; {}", lack.why, lack.install)));
            }
            (None, _) | (_, None) => {
                return Ok(unavailable(stage.kind.as_str(), "nothing runs this stage".to_owned()));
            }
        };
        bench.lay(tree, sources)?;
        if let Some(link) = self.leads_back(bench, tree) {
            let why = format!("`{link}` leads back into the original tree, which is not what is measured");
            return Ok(unavailable(&description.tool, why));
        }
        let timeout = Duration::from_millis(state.settings().stage_timeout_ms);
        let run = Run { tree, sources, stage: &description, timeout };
        let (outputs, drift) = run_steps(bench, plugin, &run, cancel).await?;
        let seen_as = bench.seen_as().to_string_lossy().into_owned();
        let context = ReadContext { tree: tree.id(), root, seen_as: &seen_as, files: &files };
        let mut reading = plugin.read(&description, &outputs, &context);
        drift.into_iter().for_each(|drift| drifted(&mut reading, drift, &|path| plugin.is_lockfile(path)));
        Ok(masked_reading(&self.parts.masks, reading))
    }

    /// Where tools do not see the slot at the workspace's own path, a link into the original tree would
    /// be followed out of the slot.
    fn leads_back(&self, bench: &Bench<'_>, tree: &Tree) -> Option<RelPath> {
        if bench.in_place() {
            return None;
        }
        let texts = link_texts(&self.slot_dir().join("tree"), tree).ok()?;
        leads_back(tree, &texts, &self.parts.workspace).into_iter().next()
    }

    /// Test files that the base does not have: they run in a process of their own, so that they cannot help the others.
    fn new_tests(&self, stage: &StageId, tree: &Tree, base: Option<&Tree>) -> BTreeSet<RelPath> {
        let (Some(base), Some(plugin)) = (base, self.plugin(&stage.plugin)) else { return BTreeSet::new() };
        let new = |path: &&RelPath| plugin.is_test_file(path) && !base.entries.contains_key(*path);
        tree.entries.keys().filter(new).cloned().collect()
    }

    /// A file that the project's code needs and that its ignore rules keep out of what is measured.
    fn left_out(
        &self,
        plugin: &'static dyn Plugin,
        reading: &Reading,
        root: &Root,
        files: &TreeFiles,
    ) -> Option<MissingTool> {
        let there =
            |path: &RelPath| exists(&self.parts.workspace, path) && !files.tree().entries.contains_key(path);
        let path = plugin.wanted_files(reading, root, files).into_iter().find(there)?;
        Some(MissingTool {
            tool: reading.tool.clone(),
            why: format!("`{path}` is needed, and your ignore rules keep it out of what is measured"),
            install: format!("let the ignore rules have it (`!{path}`), or commit what it is made from"),
        })
    }
}

/// A tree to be measured, where its bytes are, and the tree it came from.
#[derive(Clone, Copy)]
pub(super) struct Laid<'a> {
    pub tree: &'a Tree,
    pub sources: &'a Sources,
    pub base: Option<&'a Tree>,
}

/// A stage over a tree.
struct Run<'a> {
    tree: &'a Tree,
    sources: &'a Sources,
    stage: &'a Stage,
    timeout: Duration,
}

/// Runs the steps in order. Each that runs the project's own code finds the tree as it was laid out and an empty temp
/// dir: what the step before left behind must not decide its result. What each did to the tree comes along.
async fn run_steps(
    bench: &mut Bench<'_>,
    plugin: &'static dyn Plugin,
    run: &Run<'_>,
    cancel: &Cancel,
) -> Result<(Vec<StepOutput>, Vec<Drift>), Halt> {
    let stage = run.stage;
    let (mut outputs, mut drift) = (Vec::new(), Vec::new());
    for step in &stage.steps {
        if step.profile == Profile::Test && !outputs.is_empty() {
            let is_lockfile = |path: &RelPath| plugin.is_lockfile(path);
            drift.push(bench.lay_again(run.tree, run.sources, &step.cwd, &is_lockfile)?);
        }
        let mut output = bench.run(stage.kind.as_str(), step, run.timeout, cancel).await?;
        if step.profile == Profile::Build && plugin.was_killed(&output) {
            // A compiler does not kill itself: the machine did, and may not again.
            output = bench.run(stage.kind.as_str(), step, run.timeout, cancel).await?;
        }
        for name in plugin.late_reports(stage, &output) {
            if let Some(bytes) = bench.read_in_build(&name) {
                output.reports.insert(name, bytes);
            }
        }
        let goes_on = plugin.goes_on(stage, &output);
        outputs.push(output);
        if !goes_on {
            break;
        }
    }
    drift.push(bench.recheck()?);
    Ok((outputs, drift))
}

/// A tree that changed while it was measured was not what the reading is about.
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

/// The finding that says that a tool did not come to its end by itself, or left no whole report.
fn cut_short(reading: &Reading) -> Option<&Residual> {
    let odd = |class: Class| {
        matches!(class, Class::Timeout | Class::Crash | Class::ReportMissing | Class::ToolFailed)
    };
    reading.residuals.iter().find(|residual| odd(residual.class))
}

/// Why a baseline could not be run, where that is the machine's fault and not the tree's.
fn machine_fault(plugin: &'static dyn Plugin, reading: &Reading, files: &dyn Files) -> Option<MissingTool> {
    let fault = || plugin.environment_fault(reading, files).or_else(|| writes_to_itself(plugin, reading));
    not_measured(reading).or_else(|| Some(unrunnable(reading, &fault()?)))
}

/// A project that changes its own sources while it is measured: no reading of it would be of the tree it began with,
/// whoever wrote that.
fn writes_to_itself(plugin: &'static dyn Plugin, reading: &Reading) -> Option<String> {
    let is_code = |path: &RelPath| plugin.is_source(path) || plugin.is_manifest(path);
    let changed = reading.residuals.iter().filter(|residual| residual.class == Class::TreeChanged);
    let path = changed.filter_map(|residual| residual.file.as_ref()).find(|path| is_code(path))?;
    Some(format!("the project's own tests or build scripts write to `{path}` while they run"))
}

/// A baseline of which no test is known, because the tool hung or was ended: with it, nobody could say later that a
/// test is gone. One that crashes over a known list of tests is an ordinary red start.
fn not_measured(reading: &Reading) -> Option<MissingTool> {
    let none_known = reading.tests.as_ref().is_none_or(|tests| tests.results.is_empty());
    let ended = |class: Class| {
        class == Class::Timeout || (none_known && matches!(class, Class::Crash | Class::ReportMissing))
    };
    let odd = reading.residuals.iter().find(|residual| ended(residual.class))?;
    Some(unrunnable(reading, &odd.message))
}

fn unrunnable(reading: &Reading, why: &str) -> MissingTool {
    MissingTool {
        tool: reading.tool.clone(),
        why: brief(why),
        install: "make the project's own tests run on this machine, then `perspt resume`".to_owned(),
    }
}
