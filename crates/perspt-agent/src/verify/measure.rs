//! Taking one reading: lay the branch out, run the stage, read what came out.

use std::collections::BTreeSet;
use std::time::Duration;

use perspt_core::effect::Branch;
use perspt_core::energy::ReadingSummary;
use perspt_core::event::{Ended, MissingTool};
use perspt_core::ids::NodeId;
use perspt_core::path::RelPath;
use perspt_core::reading::{Reading, StageId, StageKind, Status, TestEnd, TestName, Tests};
use perspt_core::residual::{Class, Component, Residual};
use perspt_core::stage::{Profile, Root, Stage, StepOutput};
use perspt_core::state::SessionState;
use perspt_core::tree::Tree;
use perspt_lang::plugin::{Files, Further, Pair, Plugin, ReadContext, Selection};
use perspt_sandbox::Cancel;
use perspt_sandbox::slot::{Drift, leads_back, link_texts};

use super::masked::masked_reading;
use crate::actor::{Actor, Bench, Halt, brief};
use crate::files::{Sources, TreeFiles, exists};
use crate::verify::more::{Looks, Sides};
use crate::verify::reuse;

impl Actor {
    /// Takes one reading. What it means is decided by the judge.
    pub(crate) async fn measure(
        &self,
        state: &SessionState,
        node: Option<&NodeId>,
        branch: &Branch,
        (stage, run): (&StageId, u32),
        cancel: &Cancel,
    ) -> Result<Ended, Halt> {
        let tree = self.branch_tree(branch)?;
        let node = node.and_then(|id| state.nodes.get(id));
        let files = TreeFiles::new(tree.clone(), self.sources());
        if stage.kind == StageKind::Structure {
            let mut reading = self.structure(state, node, branch, &files)?;
            let (base, sources) =
                (TreeFiles::new(self.tree_of(branch.base)?, self.sources()), self.sources());
            let sides = Sides { base: &base, candidate: &files, sources: &sources };
            self.look_at_scripts(state, &sides, &mut reading, cancel).await?;
            let reading = masked_reading(&self.parts.masks, reading);
            let blob = self.keep(&reading)?;
            let reading = ReadingSummary::of(&reading, blob);
            return Ok(Ended::Measured { reading, environment: None, runs: vec![], reused: false });
        }
        let plugin = self.plugin(&stage.plugin);
        let root = self.root(&stage.root, &stage.plugin, &files);
        let mut bench = self.bench().await?;
        let sources = self.sources();
        let base = self.tree_of(branch.base)?;
        let place = match plugin {
            Some(plugin) => {
                let place =
                    self.reading_place(state, &mut bench, &files, (stage, &root, plugin), cancel).await?;
                if let Some(reading) =
                    reuse::kept(&place, tree.id(), stage).filter(|_| node.is_none() && run == 1)
                {
                    let (blob, runs) = (self.keep(&reading)?, std::mem::take(&mut bench.runs));
                    let reading = ReadingSummary::of(&reading, blob);
                    return Ok(Ended::Measured { reading, environment: None, runs, reused: true });
                }
                Some(place)
            }
            None => None,
        };
        let laid = Laid { tree: &tree, sources: &sources, base: Some(&base), only: None };
        let (mut reading, mut environment) =
            self.take_whole(state, &mut bench, laid, stage, (&root, plugin), cancel).await?;
        let raw = reading.clone();
        if let (Some(plugin), Some(_), None) = (plugin, node, &environment) {
            let before = TreeFiles::new(base.clone(), self.sources());
            let sides = Sides { base: &before, candidate: &files, sources: &sources };
            self.look_further(state, &mut bench, &sides, (stage, &root, plugin), &mut reading, cancel)
                .await?;
        }
        let before = if node.is_some() { self.tests_before(state, stage)? } else { Tests::default() };
        let end_now = |name: &TestName| reading.tests.as_ref()?.results.get(name).map(|result| result.end);
        // A tool that was exchanged meanwhile may be why a test has no result now.
        let lost_a_test = before.results.keys().any(|name| end_now(name).is_none());
        let regressed = before
            .results
            .iter()
            .any(|(name, was)| was.end == TestEnd::Passed && end_now(name) != Some(TestEnd::Passed));
        reading.regressed = regressed;
        if let (None, Some(plugin)) = (&environment, plugin) {
            let first = state.found.as_ref().is_some_and(|found| found.base.id == branch.tree);
            environment = match node {
                Some(_) if lost_a_test => self.changed_tool(state, &mut bench, plugin, cancel).await?,
                Some(_) => None,
                None if first => {
                    machine_fault(plugin, &reading).or_else(|| self.left_out(plugin, &reading, &root, &files))
                }
                None => not_measured(&reading),
            };
        }
        if let Some(fault) = environment.as_ref().filter(|_| node.is_some()) {
            // What a broken tool says is nobody's finding.
            reading.status = Status::Unavailable(format!("{}: {}", fault.tool, fault.why));
            (reading.residuals, reading.tests) = (Vec::new(), None);
        }
        if let (Some(place), None) = (&place, &environment) {
            reuse::keep(place, &raw);
        }
        let runs = std::mem::take(&mut bench.runs);
        let reading = masked_reading(&self.parts.masks, reading);
        let blob = self.keep(&reading)?;
        Ok(Ended::Measured { reading: ReadingSummary::of(&reading, blob), environment, runs, reused: false })
    }

    /// Where the stage is green, the further runs that its language would make for what was changed.
    async fn look_further(
        &self,
        state: &SessionState,
        bench: &mut Bench<'_>,
        sides: &Sides<'_>,
        (stage, root, plugin): (&StageId, &Root, &'static dyn Plugin),
        reading: &mut Reading,
        cancel: &Cancel,
    ) -> Result<(), Halt> {
        let pair = Pair { base: sides.base, candidate: sides.candidate };
        if reading.status != Status::Measured || reading.residuals.iter().any(Residual::counts) {
            return Ok(());
        }
        let steps = plugin.further_checks(stage.kind, root, &pair, &self.parts.machine);
        let mut looked = false;
        if !steps.is_empty() {
            let described = Stage::required(stage.kind, &reading.tool, steps);
            let seen_as = bench.seen_as().to_string_lossy().into_owned();
            let tools = self.tools_of(state, plugin)?;
            let read = |output: &StepOutput, files: &TreeFiles| {
                let (tree, seen_as) = (files.tree().id(), seen_as.as_str());
                plugin.read_further(
                    &described,
                    output,
                    &ReadContext { tree, root, seen_as, files, tools: &tools },
                )
            };
            let late = |output: &StepOutput| plugin.late_reports(&described, output);
            let looks = Looks { steps: &described.steps, late: &late, read: &read };
            let seen = self.look_more(state, bench, sides, &looks, cancel).await?;
            looked = seen.is_some();
            if let Some(seen) = seen {
                reading.residuals.extend(seen.residuals);
                reading.looked.extend(seen.looked);
            }
        }
        let further = if looked { Further::Looked } else { Further::DidNotLook };
        reading.parts = plugin.less_proved(stage.kind, &pair, further);
        Ok(())
    }

    /// The first reading of the head's tests.
    fn tests_before(&self, state: &SessionState, stage: &StageId) -> Result<Tests, Halt> {
        let Some(before) = state.baseline_of(stage).first() else { return Ok(Tests::default()) };
        let before: Reading = self.kept("a reading", before.blob)?;
        Ok(before.tests.unwrap_or_default())
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
        Laid { tree, sources, base, only }: Laid<'_>,
        stage: &StageId,
        root: &Root,
        cancel: &Cancel,
    ) -> Result<Reading, Halt> {
        let files = TreeFiles::new(tree.clone(), sources.clone());
        let probed = self.probed(state)?;
        let selection = Selection {
            new_tests: self.new_tests(stage, tree, base),
            only: only.cloned().unwrap_or_default(),
        };
        let described = self
            .stages_of(root, &probed, &files, &selection)
            .into_iter()
            .find(|found| found.as_ref().map_or_else(|lack| lack.stage, |stage| stage.kind) == stage.kind);
        let plugin = self.plugin(&stage.plugin);
        let unavailable = |tool: &str, why: String| Reading {
            status: Status::Unavailable(why),
            ..Reading::measured(tree.id(), stage.clone(), tool)
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
        let tools = self.tools_of(state, plugin)?;
        let context = ReadContext { tree: tree.id(), root, seen_as: &seen_as, files: &files, tools: &tools };
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
        let path = plugin.missing_files(reading, root, files).into_iter().find(there)?;
        Some(MissingTool {
            tool: reading.tool.clone(),
            why: format!("`{path}` is needed, and your ignore rules keep it out of what is measured"),
            install: format!("let the ignore rules have it (`!{path}`), or commit what it is made from"),
        })
    }
}

/// A tree to be measured, where its bytes are, the tree it came from, and the tests that are run where not all are.
#[derive(Clone, Copy)]
pub(super) struct Laid<'a> {
    pub tree: &'a Tree,
    pub sources: &'a Sources,
    pub base: Option<&'a Tree>,
    pub only: Option<&'a BTreeSet<(RelPath, String)>>,
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
        let continues = plugin.continues_after(stage, &output);
        outputs.push(output);
        if !continues {
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
fn machine_fault(plugin: &'static dyn Plugin, reading: &Reading) -> Option<MissingTool> {
    let fault = || plugin.environment_fault(reading).or_else(|| writes_to_itself(plugin, reading));
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
