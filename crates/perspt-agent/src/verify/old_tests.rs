//! The tests as they were, over the code as it is now. A run of its own: what it means is for the judge.

use perspt_core::effect::Branch;
use perspt_core::energy::ReadingSummary;
use perspt_core::event::Ended;
use perspt_core::reading::{Reading, StageId};
use perspt_core::state::SessionState;
use perspt_core::tree::{EntryKind, Tree};
use perspt_lang::plugin::{FromCandidate, OldTestFile, Pair};
use perspt_sandbox::Cancel;

use super::measure::Laid;
use crate::actor::{Actor, Halt};
use crate::files::{Sources, TreeFiles};

/// How often something more of the old tests may give way to the new ones so that the rest can be built.
const ROUNDS: usize = 4;

impl Actor {
    /// Runs the tests of the base over the candidate's code. Where they cannot be built over it, imports first, then
    /// single tests, then files take their new text, and the rest is run again.
    pub(crate) async fn run_old_tests(
        &self,
        state: &SessionState,
        branch: &Branch,
        stage: &StageId,
        cancel: &Cancel,
    ) -> Result<Ended, Halt> {
        let base = TreeFiles::new(self.tree_of(branch.base)?, self.sources());
        let candidate = self.branch_files(branch)?;
        let Some(plugin) = self.plugin(&stage.plugin) else { return Err(Halt::Cancelled) };
        let pair = Pair { base: &base, candidate: &candidate };
        let mut taken = FromCandidate::default();
        let mut bench = self.bench().await?;
        let mut last = None;
        for _ in 0..ROUNDS {
            let (tree, sources) = put_back(&pair, plugin.old_tests(&pair, &taken), self.sources());
            base.is_whole()?;
            candidate.is_whole()?;
            let files = TreeFiles::new(tree.clone(), sources.clone());
            let root = self.root(&stage.root, &stage.plugin, &files);
            let laid = Laid { tree: &tree, sources: &sources, base: None, only: None };
            let (reading, fault) =
                self.take_whole(state, &mut bench, laid, stage, (&root, Some(plugin)), cancel).await?;
            let more = plugin.take_more(&pair, &taken, &reading);
            let settled = fault.is_some() || more == taken;
            taken = more;
            last = Some((reading, fault));
            if settled {
                break;
            }
        }
        let Some((reading, environment)) = last else { return Err(Halt::Cancelled) };
        let reading = Reading { notes: told(&taken), ..reading };
        let blob = self.keep(&reading)?;
        let runs = std::mem::take(&mut bench.runs);
        Ok(Ended::Measured { reading: ReadingSummary::of(&reading, blob), environment, runs, reused: false })
    }
}

/// What had to give way, for people.
fn told(taken: &FromCandidate) -> Vec<String> {
    let FromCandidate { imports, tests, files } = taken;
    let imports = imports.iter().map(|path| format!("the imports of `{path}` are the new ones"));
    let tests = tests.iter().map(|(path, test)| format!("`{path}::{test}` has its new text"));
    imports.chain(tests).chain(files.iter().map(|path| format!("`{path}` has its new text"))).collect()
}

/// The candidate's tree with the tests of its base.
pub(super) fn put_back(
    pair: &Pair<'_>,
    was: impl IntoIterator<Item = (perspt_core::path::RelPath, OldTestFile)>,
    mut sources: Sources,
) -> (Tree, Sources) {
    let mut tree = pair.candidate.tree().clone();
    for (path, was) in was {
        let kind = tree.entries.remove(&path).map_or(EntryKind::File, |entry| entry.kind);
        let entry = match was {
            OldTestFile::Base => pair.base.tree().entries.get(&path).copied(),
            OldTestFile::Absent => None,
            OldTestFile::Text(text) => Some(sources.hold(kind, text)),
        };
        tree.entries.extend(entry.map(|entry| (path, entry)));
    }
    (tree, sources)
}
