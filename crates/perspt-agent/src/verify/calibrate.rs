//! Calibration: a stage counts only once it has seen a planted error. The error is planted in a tree of its own, which
//! the next layout replaces.

use perspt_core::event::{Calibration, Ended};
use perspt_core::hash::{Sha, ShaBuilder};
use perspt_core::ids::BlobId;
use perspt_core::reading::Reading;
use perspt_core::residual::{Class, Residual};
use perspt_core::state::SessionState;
use perspt_core::tree::Tree;
use perspt_lang::plugin::{Expect, Files, Plant, Selection};
use perspt_sandbox::Cancel;

use super::stage_run::{BranchStage, StageRun, TreeUnderTest};
use crate::actor::Actor;
use crate::error::EffectError;
use crate::slot::{SlotGuard, one_line};
use crate::tree::TreeFiles;

/// The finding that the tool was ended from outside. A planted error does not do that.
fn was_ended(reading: &Reading) -> Option<&Residual> {
    reading
        .residuals
        .iter()
        .find(|residual| residual.class == Class::Timeout || residual.class == Class::Crash)
}

/// An error that is not there without the planted one.
fn other_error<'r>(without: &Reading, with: &'r Reading) -> Option<&'r Residual> {
    let known: Vec<Sha> = without.residuals.iter().map(Residual::fingerprint).collect();
    with.residuals.iter().find(|residual| residual.counts() && !known.contains(&residual.fingerprint()))
}

/// The verdict where the stage did not see the planted error, or could not.
fn not_seen(plant: &Plant, without: &Reading, with: &Reading) -> Option<Calibration> {
    let unmeasured = |why: &Residual| {
        Some(Calibration::Unmeasured(one_line(&format!("{} (over {})", why.message, plant.what))))
    };
    if let Some(odd) = was_ended(with) {
        return unmeasured(odd);
    }
    if plant.expect.is_met(without, with) {
        return None;
    }
    match (&plant.expect, other_error(without, with)) {
        // Something else went wrong before the planted test could fail.
        (Expect::TestFails(_), Some(error)) => unmeasured(error),
        (Expect::Red | Expect::Finding | Expect::TestFails(_), _) => {
            Some(Calibration::Blind(plant.what.clone()))
        }
    }
}

/// A name that no file of the tree can know in advance.
fn plant_name(state: &SessionState, tree: &Tree) -> String {
    let session = state.meta.as_ref().map_or("", |meta| meta.session.as_str());
    let hash = Sha::of_fields([session.as_bytes(), &tree.id().0.0]).to_string();
    format!("planted{}", &hash[..12])
}

impl Actor {
    pub(crate) async fn calibrate(
        &self,
        state: &SessionState,
        BranchStage { branch, stage }: BranchStage<'_>,
        reading: BlobId,
        cancel: &Cancel,
    ) -> Result<Ended, EffectError> {
        let Some(plugin) = self.plugin(&stage.plugin) else { return Err(EffectError::Cancelled) };
        let files = self.branch_files(branch)?;
        let root = self.root(&stage.root, &stage.plugin, &files);
        let run = StageRun { state, stage, root: &root, plugin, cancel };
        let mut slot = self.take_slot().await?;
        let memo = slot.memo_dir().join(self.memo_key(run, &slot, &files)?.to_string());
        if memo.exists() {
            return Ok(Ended::Calibrated { verdict: Calibration::Remembered, runs: vec![] });
        }
        let without: Reading = self.load_blob("a reading", reading)?;
        let mut seen = Vec::new();
        for plant in plugin.plants(stage.kind, &root, &files, &plant_name(state, files.tree())) {
            let writes = plant.writes.iter().map(|(path, text)| (path.clone(), Some(text.clone())));
            let (planted, only) = (files.with_replaced(writes), plant.only());
            let tree = TreeUnderTest { files: &planted, base: None, only: Some(&only) };
            let mut with = self.take_reading(run, &mut slot, tree).await?;
            if was_ended(&with).is_some_and(|odd| odd.class != Class::Timeout) {
                with = self.take_reading(run, &mut slot, tree).await?;
            }
            if let Some(verdict) = not_seen(&plant, &without, &with) {
                return Ok(Ended::Calibrated { verdict, runs: slot.take_runs() });
            }
            seen.push(plant.what);
        }
        let verdict = if seen.is_empty() {
            Calibration::Blind("there is no plain source file to put one in".to_owned())
        } else {
            // A memo that cannot be saved costs another calibration, nothing else.
            let _ = std::fs::create_dir_all(slot.memo_dir());
            let _ = std::fs::write(&memo, stage.kind.as_str());
            Calibration::Sees(seen)
        };
        Ok(Ended::Calibrated { verdict, runs: slot.take_runs() })
    }

    /// What a result is remembered for: root, commands, tool versions, and the path at which tools see the tree.
    fn memo_key(
        &self,
        run: StageRun<'_>,
        slot: &SlotGuard<'_>,
        files: &TreeFiles,
    ) -> Result<Sha, EffectError> {
        let StageRun { state, stage, root, .. } = run;
        let probed = self.probed(state)?;
        let described = self.stages_of(state, root, &probed, files, &Selection::default());
        let stages: Vec<_> = described.iter().flatten().filter(|found| found.kind == stage.kind).collect();
        let mut key = ShaBuilder::default();
        key.field(root.dir.as_str().as_bytes());
        key.field(slot.seen_as().as_os_str().as_encoded_bytes());
        key.field(&serde_json::to_vec(&stages).unwrap_or_default());
        key.field(&serde_json::to_vec(&probed).unwrap_or_default());
        key.field(&serde_json::to_vec(&self.parts.machine).unwrap_or_default());
        Ok(key.finish())
    }
}
