//! The tests that a candidate adds, over the code as it was. A new test that passes there shows nothing of what the
//! candidate does; that is shown to the user and charged to nobody.

use std::collections::BTreeSet;

use perspt_core::effect::Branch;
use perspt_core::energy::{NewTests, ReadingSummary};
use perspt_core::event::Ended;
use perspt_core::inventory::TestId;
use perspt_core::path::RelPath;
use perspt_core::reading::{Reading, StageId, TestEnd};
use perspt_core::state::{Node, SessionState, Work};
use perspt_lang::plugin::{FromCandidate, Pair};
use perspt_sandbox::Cancel;

use super::measure::Laid;
use super::old_tests::put_back;
use crate::actor::{Actor, Halt};
use crate::files::TreeFiles;

impl Actor {
    /// Runs the tests that the candidate adds over the code of its base.
    pub(crate) async fn run_new_tests(
        &self,
        state: &SessionState,
        node: Option<&Node>,
        branch: &Branch,
        stage: &StageId,
        cancel: &Cancel,
    ) -> Result<Ended, Halt> {
        let Some(Work::Stable(candidate)) = node.map(|node| &node.work) else { return Err(Halt::Cancelled) };
        let Some(plugin) = self.plugin(&stage.plugin) else { return Err(Halt::Cancelled) };
        let Some((added, taken)) = self.added_tests(&candidate.readings, stage)? else {
            return Err(Halt::Cancelled);
        };
        if added.is_empty() {
            return Ok(Ended::NewTestsRan { tests: NewTests::default(), reading: taken, runs: vec![] });
        }
        let base = TreeFiles::new(self.tree_of(branch.base)?, self.sources());
        let files = self.branch_files(branch)?;
        // The same exchange as for old tests, seen from the other side: old code, new tests.
        let pair = Pair { base: &files, candidate: &base };
        let (tree, sources) =
            put_back(&pair, plugin.old_tests(&pair, &FromCandidate::default()), self.sources());
        base.is_whole()?;
        files.is_whole()?;
        let only: BTreeSet<(RelPath, String)> =
            added.iter().map(|id| (id.file.clone(), id.name.clone())).collect();
        let root = self.root(&stage.root, &stage.plugin, &TreeFiles::new(tree.clone(), sources.clone()));
        let mut bench = self.bench().await?;
        let laid = Laid { tree: &tree, sources: &sources, base: None, only: Some(&only) };
        let reading = self.take(state, &mut bench, laid, stage, &root, cancel).await?;
        let passes = added.iter().filter(|id| passes(id, &reading)).count();
        let tests = NewTests { added: added.len() as u32, failed_before: (added.len() - passes) as u32 };
        let reading = self.keep(&reading)?;
        Ok(Ended::NewTestsRan { tests, reading, runs: std::mem::take(&mut bench.runs) })
    }

    /// The new tests that this stage ran and that pass, and the reading that says so.
    fn added_tests(
        &self,
        readings: &[ReadingSummary],
        stage: &StageId,
    ) -> Result<Option<(Vec<TestId>, perspt_core::ids::BlobId)>, Halt> {
        let mut added = Vec::new();
        for one in readings {
            let reading: Reading = self.kept("a reading", one.blob)?;
            added.extend(reading.inventory.into_iter().flat_map(|inventory| inventory.added));
        }
        let Some(ran) = readings.iter().find(|reading| reading.stage == *stage) else { return Ok(None) };
        let reading: Reading = self.kept("a reading", ran.blob)?;
        // Runners cannot be asked for one example of a text by its name.
        added.retain(|id| !id.is_doc() && passes(id, &reading));
        Ok(Some((added, ran.blob)))
    }
}

/// Whether the test ran and every case of it passed.
fn passes(id: &TestId, reading: &Reading) -> bool {
    let results = reading.tests.iter().flat_map(|tests| &tests.results);
    let mut ends =
        results.filter(|(name, result)| id.is(name, result)).map(|(_, result)| result.end).peekable();
    ends.peek().is_some() && ends.all(|end| end == TestEnd::Passed)
}
