//! Running the tests of the base over the candidate's code. What the result means is for the judge.

use perspt_core::event::Ended;
use perspt_core::path::RelPath;
use perspt_core::reading::Reading;
use perspt_core::state::SessionState;
use perspt_core::tree::EntryKind;
use perspt_lang::plugin::{FromCandidate, OldTestFile, Pair};
use perspt_sandbox::Cancel;

use super::stage_run::{BranchStage, StageRun, TreeUnderTest};
use crate::actor::Actor;
use crate::error::EffectError;
use crate::tree::{Sources, TreeFiles};

/// How often more of the old tests may take their new text so that the rest can be built.
const ROUNDS: usize = 4;

impl Actor {
    /// Runs the tests of the base over the candidate's code. Where they cannot be built over it, imports first, then
    /// single tests, then files take their new text, and the rest is run again.
    pub(crate) async fn run_old_tests(
        &self,
        state: &SessionState,
        BranchStage { branch, stage }: BranchStage<'_>,
        cancel: &Cancel,
    ) -> Result<Ended, EffectError> {
        let compared = self.compared_files(branch)?;
        let Some(plugin) = self.plugin(&stage.plugin) else { return Err(EffectError::Cancelled) };
        let pair = compared.pair();
        let mut taken = FromCandidate::default();
        let mut slot = self.take_slot().await?;
        let mut last = None;
        for _ in 0..ROUNDS {
            let mut was = plugin.old_tests(&pair, &taken);
            if state.settings().own.give_commands() {
                // What the user's command runs besides is no language's.
                was.extend(perspt_lang::generic().old_tests(&pair, &taken));
            }
            let files = with_tests_of_base(&pair, was, self.sources());
            compared.check_complete()?;
            let root = self.root(&stage.root, &stage.plugin, &files);
            let run = StageRun { state, stage, root: &root, plugin, cancel };
            let tree = TreeUnderTest { files: &files, base: None, only: None };
            let (reading, fault) = self.take_reading_retried(run, &mut slot, tree).await?;
            let more = plugin.take_more(&pair, &taken, &reading);
            let settled = fault.is_some() || more == taken;
            taken = more;
            last = Some((reading, fault));
            if settled {
                break;
            }
        }
        let Some((reading, environment)) = last else { return Err(EffectError::Cancelled) };
        let reading = Reading { notes: notes_on(&taken), ..reading };
        Ok(self.measured(&reading, environment, slot.take_runs())?)
    }
}

/// Which old texts had to be given up, for people.
fn notes_on(taken: &FromCandidate) -> Vec<String> {
    let FromCandidate { imports, tests, files } = taken;
    let imports = imports.iter().map(|path| format!("the imports of `{path}` are the new ones"));
    let tests = tests.iter().map(|(path, test)| format!("`{path}::{test}` has its new text"));
    imports.chain(tests).chain(files.iter().map(|path| format!("`{path}` has its new text"))).collect()
}

/// The candidate's tree with the tests of its base.
pub(super) fn with_tests_of_base(
    pair: &Pair<'_>,
    was: impl IntoIterator<Item = (RelPath, OldTestFile)>,
    mut sources: Sources,
) -> TreeFiles {
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
    TreeFiles::new(tree, sources)
}
