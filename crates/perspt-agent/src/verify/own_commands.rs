//! The user's own commands: which files they read, and which files they are made of.

use std::collections::BTreeSet;

use perspt_core::grade::FileKind;
use perspt_core::hash::Sha;
use perspt_core::inventory::ChangedEvidence;
use perspt_core::path::RelPath;
use perspt_core::reading::{Reading, StageKind, Status};
use perspt_core::residual::{Class, Residual};
use perspt_core::state::SessionState;
use perspt_core::tree::{Change, EntryKind};
use perspt_lang::generic::error_in;
use perspt_lang::plugin::Files;

use super::stage_run::{StageRun, TreeUnderTest};
use crate::actor::Actor;
use crate::error::EffectError;
use crate::slot::SlotGuard;
use crate::tree::{ComparedFiles, TreeFiles};

impl Actor {
    /// The changed files of code in which the command notices an error. It is run with errors in all of them; where it
    /// turns red, and the findings name none of them, with an error in one alone.
    pub(super) async fn files_noticed(
        &self,
        run: StageRun<'_>,
        slot: &mut SlotGuard<'_>,
        files: &ComparedFiles,
        without: &Reading,
    ) -> Result<BTreeSet<RelPath>, EffectError> {
        let mut noticed = BTreeSet::new();
        // Tests are built anew, so they notice what the build does.
        let later = run.stage.kind == StageKind::Build && run.state.settings().own.test(run.root).is_some();
        if later || !can_notice(without) {
            return Ok(noticed);
        }
        let mut left: Vec<RelPath> = changed_code(files);
        let mut alone = false;
        while let Some(last) = left.last().cloned() {
            let planted: Vec<RelPath> = if alone { vec![last] } else { left.clone() };
            let with = self.with_errors(run, slot, &files.candidate, &planted).await?;
            let Some(named) = newly_red(without, &with) else {
                left.retain(|path| !planted.contains(path));
                continue;
            };
            let seen = |path: &&RelPath| planted.len() == 1 || named.contains(*path);
            let seen: BTreeSet<RelPath> = planted.iter().filter(seen).cloned().collect();
            // Where nobody is named, each is tried by itself.
            alone |= seen.is_empty();
            left.retain(|path| !seen.contains(path));
            noticed.extend(seen);
        }
        Ok(noticed)
    }

    async fn with_errors(
        &self,
        run: StageRun<'_>,
        slot: &mut SlotGuard<'_>,
        files: &TreeFiles,
        paths: &[RelPath],
    ) -> Result<Reading, EffectError> {
        let writes = paths.iter().map(|path| (path.clone(), Some(error_in(path))));
        let planted = files.with_replaced(writes);
        let tree = TreeUnderTest { files: &planted, base: None, only: None };
        self.take_reading(run, slot, tree).await
    }
}

/// Whether an error could be told from what is there: failing tests have names, and the end of a whole run has none.
fn can_notice(without: &Reading) -> bool {
    let mut errors = without.residuals.iter().filter(|residual| residual.counts());
    without.status == Status::Measured && errors.all(|residual| residual.class == Class::TestFailed)
}

/// The files that new errors name; `None` where there is no new error. A run that was ended has noticed nothing.
fn newly_red(without: &Reading, with: &Reading) -> Option<BTreeSet<RelPath>> {
    let known: BTreeSet<Sha> = without.residuals.iter().map(Residual::fingerprint).collect();
    let is_new = |residual: &&Residual| residual.counts() && !known.contains(&residual.fingerprint());
    let new: Vec<&Residual> = with.residuals.iter().filter(is_new).collect();
    let looked = with.status == Status::Measured && new.iter().all(|one| one.class != Class::Timeout);
    (looked && !new.is_empty()).then(|| new.into_iter().filter_map(|one| one.file.clone()).collect())
}

fn changed_code(files: &ComparedFiles) -> Vec<RelPath> {
    let changes = files.base.tree().changes_to(files.candidate.tree());
    let is_code = |change: &Change| {
        let is_file = change.after.is_some_and(|entry| entry.kind != EntryKind::Symlink);
        is_file && FileKind::of(&change.path) == FileKind::Code
    };
    changes.into_iter().filter(is_code).map(|change| change.path).collect()
}

/// Files that a command of the user names and that were changed or removed: a script that runs the tests decides what they say.
pub(super) fn changed_scripts(state: &SessionState, changes: &[Change]) -> Vec<ChangedEvidence> {
    let own = state.settings().own;
    let all = std::iter::once(&own.commands).chain(own.by_language.values());
    let commands = all.flat_map(|commands| [&commands.build_cmd, &commands.test_cmd]).flatten();
    let words: BTreeSet<&str> =
        commands.flat_map(|command| &command.0).map(|word| word.trim_start_matches("./")).collect();
    let existing = changes.iter().filter(|change| change.before.is_some());
    let named = existing.filter(|change| {
        let path = change.path.as_str();
        words.iter().any(|word| *word == path || (word.contains('/') && path.ends_with(&format!("/{word}"))))
    });
    let entry = |change: &Change| ChangedEvidence {
        path: change.path.clone(),
        what: "your own command runs it".to_owned(),
        settled_by_results: false,
    };
    named.map(entry).collect()
}
