//! Taking one reading of a tree, and asking whether the tool or the machine is to blame for it.

use perspt_core::effect::Branch;
use perspt_core::energy::ReadingSummary;
use perspt_core::event::{Ended, MissingTool, RunNote};
use perspt_core::ids::NodeId;
use perspt_core::reading::{Reading, StageId, StageKind, Status, TestEnd, TestName, TestResult, Tests};
use perspt_core::state::{Node, SessionState};
use perspt_lang::plugin::Files;
use perspt_sandbox::Cancel;

use super::faults::{machine_fault, not_measured};
use super::masked::masked_reading;
use super::reuse;
use super::stage_run::{StageRun, TreeUnderTest, unavailable};
use crate::AgentError;
use crate::actor::Actor;
use crate::error::EffectError;
use crate::slot::SlotGuard;
use crate::tree::ComparedFiles;

/// Which reading is to be taken.
pub(crate) struct Measurement<'a> {
    /// The node whose candidate is measured; none where the head is.
    pub node: Option<&'a NodeId>,
    pub branch: &'a Branch,
    pub stage: &'a StageId,
    /// From 1: how often this stage was run on this tree.
    pub run: u32,
}

impl Measurement<'_> {
    fn node<'s>(&self, state: &'s SessionState) -> Option<&'s Node> {
        state.nodes.get(self.node?)
    }
}

impl Actor {
    pub(crate) async fn measure(
        &self,
        state: &SessionState,
        wanted: &Measurement<'_>,
        cancel: &Cancel,
    ) -> Result<Ended, EffectError> {
        let Measurement { branch, stage, .. } = *wanted;
        let files = self.compared_files(branch)?;
        if stage.kind == StageKind::Structure {
            return self.measure_structure(state, wanted, &files, cancel).await;
        }
        let Some(plugin) = self.plugin(&stage.plugin) else {
            let why = "nothing runs this stage".to_owned();
            let reading = unavailable(branch.tree, stage, stage.kind.as_str(), why);
            return Ok(self.measured(&reading, None, vec![])?);
        };
        let root = self.root(&stage.root, &stage.plugin, &files.candidate);
        let run = StageRun { state, stage, root: &root, plugin, cancel };
        let mut slot = self.take_slot().await?;
        let place = self.reading_file(run, &mut slot, &files.candidate).await?;
        let is_candidate = wanted.node(state).is_some();
        let known = reuse::load(&place, branch.tree, stage).filter(|_| !is_candidate && wanted.run == 1);
        if let Some(reading) = known {
            let (blob, runs) = (self.store_blob(&reading)?, slot.take_runs());
            let reading = ReadingSummary::of(&reading, blob);
            return Ok(Ended::Measured { reading, environment: None, runs, reused: true });
        }
        let Taken { raw, reading, fault } = if is_candidate {
            self.measure_candidate(run, &mut slot, &files).await?
        } else {
            self.measure_head(run, &mut slot, &files).await?
        };
        if fault.is_none() {
            reuse::save(&place, &raw);
        }
        let reading = masked_reading(&self.parts.masks, reading);
        Ok(self.measured(&reading, fault, slot.take_runs())?)
    }

    /// perspt's own check of a candidate.
    async fn measure_structure(
        &self,
        state: &SessionState,
        wanted: &Measurement<'_>,
        files: &ComparedFiles,
        cancel: &Cancel,
    ) -> Result<Ended, EffectError> {
        let mut reading = self.structure(state, wanted.node(state), wanted.branch, files)?;
        self.check_scripts(state, files, &mut reading, cancel).await?;
        let reading = masked_reading(&self.parts.masks, reading);
        Ok(self.measured(&reading, None, vec![])?)
    }

    async fn measure_candidate(
        &self,
        run: StageRun<'_>,
        slot: &mut SlotGuard<'_>,
        files: &ComparedFiles,
    ) -> Result<Taken, EffectError> {
        let tree = TreeUnderTest { files: &files.candidate, base: Some(files.base.tree()), only: None };
        let (raw, mut fault) = self.take_reading_retried(run, slot, tree).await?;
        let mut reading = raw.clone();
        if fault.is_none() && raw.command.is_some() {
            reading.looked = self.files_noticed(run, slot, files, &raw).await?;
            let planted =
                reading.looked.iter().map(|path| format!("it turned red with an error in `{path}`"));
            reading.notes.extend(planted);
        } else if fault.is_none() {
            self.check_further(run, slot, files, &mut reading).await?;
        }
        let before = self.tests_before(run.state, run.stage)?;
        let end_now = |name: &TestName| reading.tests.as_ref()?.results.get(name).map(|result| result.end);
        let regressed = |(name, was): (&TestName, &TestResult)| {
            was.end == TestEnd::Passed && end_now(name) != Some(was.end)
        };
        let (has_regressed, lacks_a_test) =
            (before.results.iter().any(regressed), before.results.keys().any(|name| end_now(name).is_none()));
        reading.regressed = has_regressed;
        if fault.is_none() && lacks_a_test {
            // A tool that was replaced meanwhile may be why a test has no result now.
            fault = self.changed_tool(run.state, slot, run.plugin, run.cancel).await?;
        }
        if let Some(fault) = &fault {
            // The findings of a broken tool count against nobody.
            reading.status = Status::Unavailable(format!("{}: {}", fault.tool, fault.why));
            (reading.residuals, reading.tests) = (Vec::new(), None);
        }
        Ok(Taken { raw, reading, fault })
    }

    async fn measure_head(
        &self,
        run: StageRun<'_>,
        slot: &mut SlotGuard<'_>,
        files: &ComparedFiles,
    ) -> Result<Taken, EffectError> {
        let tree = TreeUnderTest { files: &files.candidate, base: Some(files.base.tree()), only: None };
        let (reading, mut fault) = self.take_reading_retried(run, slot, tree).await?;
        let files = &files.candidate;
        let again = run.state.again();
        let is_first = run.state.found.as_ref().is_some_and(|found| found.base.id == files.tree().id());
        if fault.is_none() {
            fault = if is_first {
                machine_fault(run.plugin, &reading, again).or_else(|| self.left_out(run, &reading, files))
            } else {
                not_measured(&reading, again)
            };
        }
        Ok(Taken { raw: reading.clone(), reading, fault })
    }

    /// Stores a reading and returns the effect's outcome.
    pub(super) fn measured(
        &self,
        reading: &Reading,
        environment: Option<MissingTool>,
        runs: Vec<RunNote>,
    ) -> Result<Ended, AgentError> {
        let reading = ReadingSummary::of(reading, self.store_blob(reading)?);
        Ok(Ended::Measured { reading, environment, runs, reused: false })
    }

    /// The first reading of the head's tests.
    fn tests_before(&self, state: &SessionState, stage: &StageId) -> Result<Tests, EffectError> {
        let Some(before) = state.baseline_of(stage).first() else { return Ok(Tests::default()) };
        let before: Reading = self.load_blob("a reading", before.blob)?;
        Ok(before.tests.unwrap_or_default())
    }
}

/// A reading, as the tool gave it and as it counts, and what is wrong with the tool.
struct Taken {
    raw: Reading,
    reading: Reading,
    fault: Option<MissingTool>,
}
