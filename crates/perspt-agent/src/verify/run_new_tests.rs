//! Running the tests that a candidate adds over the code before it. A new test that passes there shows nothing of what
//! the candidate does. That is shown to the user and charged to nobody.

use std::collections::BTreeSet;

use perspt_core::energy::{NewTests, ReadingSummary};
use perspt_core::event::Ended;
use perspt_core::ids::{BlobId, NodeId};
use perspt_core::inventory::TestId;
use perspt_core::path::RelPath;
use perspt_core::reading::{Reading, StageId, TestEnd};
use perspt_core::state::{SessionState, Work};
use perspt_lang::plugin::{FromCandidate, Pair};
use perspt_sandbox::Cancel;

use super::run_old_tests::with_tests_of_base;
use super::stage_run::{BranchStage, StageRun, TreeUnderTest};
use crate::actor::Actor;
use crate::error::EffectError;

impl Actor {
    /// Runs the tests that the candidate adds over the code of its base.
    pub(crate) async fn run_new_tests(
        &self,
        state: &SessionState,
        node: Option<&NodeId>,
        BranchStage { branch, stage }: BranchStage<'_>,
        cancel: &Cancel,
    ) -> Result<Ended, EffectError> {
        let node = node.and_then(|id| state.nodes.get(id));
        let Some(Work::Stable(candidate)) = node.map(|node| &node.work) else {
            return Err(EffectError::Cancelled);
        };
        let Some(plugin) = self.plugin(&stage.plugin) else { return Err(EffectError::Cancelled) };
        let Some((added, taken)) = self.added_tests(&candidate.readings, stage)? else {
            return Err(EffectError::Cancelled);
        };
        if added.is_empty() {
            return Ok(Ended::NewTestsRan { tests: NewTests::default(), reading: taken, runs: vec![] });
        }
        let compared = self.compared_files(branch)?;
        // The same exchange as for old tests, from the other side: old code, new tests.
        let pair = Pair { base: &compared.candidate, candidate: &compared.base };
        let files =
            with_tests_of_base(&pair, plugin.old_tests(&pair, &FromCandidate::default()), self.sources());
        compared.check_complete()?;
        let only: BTreeSet<(RelPath, String)> =
            added.iter().map(|id| (id.file.clone(), id.name.clone())).collect();
        let root = self.root(&stage.root, &stage.plugin, &files);
        let mut slot = self.take_slot().await?;
        let run = StageRun { state, stage, root: &root, plugin, cancel };
        let tree = TreeUnderTest { files: &files, base: None, only: Some(&only) };
        let reading = self.take_reading(run, &mut slot, tree).await?;
        let fails = |id: &&TestId| !passes(id, &reading) && !is_skipped(id, &reading);
        let failed_before = added.iter().filter(fails).count() as u32;
        let tests = NewTests { added: added.len() as u32, failed_before };
        let reading = self.store_blob(&reading)?;
        Ok(Ended::NewTestsRan { tests, reading, runs: slot.take_runs() })
    }

    /// The new tests that this stage ran and that pass, and the reading that says so.
    fn added_tests(
        &self,
        readings: &[ReadingSummary],
        stage: &StageId,
    ) -> Result<Option<(Vec<TestId>, BlobId)>, EffectError> {
        let mut added = Vec::new();
        for one in readings {
            let reading: Reading = self.load_blob("a reading", one.blob)?;
            added.extend(reading.inventory.into_iter().flat_map(|inventory| inventory.added));
        }
        let Some(ran) = readings.iter().find(|reading| reading.stage == *stage) else { return Ok(None) };
        let reading: Reading = self.load_blob("a reading", ran.blob)?;
        // Test runners cannot select one documentation example by name.
        added.retain(|id| !id.is_doc() && passes(id, &reading));
        Ok(Some((added, ran.blob)))
    }
}

/// Whether the test was only skipped: then it does not say that it fails.
fn is_skipped(id: &TestId, reading: &Reading) -> bool {
    let results = reading.tests.iter().flat_map(|tests| &tests.results);
    let mut ends =
        results.filter(|(name, result)| id.is(name, result)).map(|(_, result)| result.end).peekable();
    ends.peek().is_some() && ends.all(|end| end == TestEnd::Skipped)
}

/// Whether the test ran and every case of it passed.
fn passes(id: &TestId, reading: &Reading) -> bool {
    let results = reading.tests.iter().flat_map(|tests| &tests.results);
    let mut ends =
        results.filter(|(name, result)| id.is(name, result)).map(|(_, result)| result.end).peekable();
    ends.peek().is_some() && ends.all(|end| end == TestEnd::Passed)
}
