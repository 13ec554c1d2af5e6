//! Calibration: a sensor that cannot see a planted error is not a sensor. The plant is a branch of its
//! own; its readings prove nothing else, and laying out the next branch undoes it.

use perspt_core::effect::Branch;
use perspt_core::event::{Calibration, Ended};
use perspt_core::hash::{Sha, ShaBuilder};
use perspt_core::ids::BlobId;
use perspt_core::reading::{Reading, StageId};
use perspt_core::residual::{Class, Residual};
use perspt_core::state::SessionState;
use perspt_core::tree::{EntryKind, Tree};
use perspt_lang::plugin::{Expect, Plant, Selection};
use perspt_sandbox::Cancel;

use super::measure::Laid;
use crate::actor::{Actor, EffectError};
use crate::slot::{SlotGuard, one_line};
use crate::tree::{Sources, TreeFiles};

/// The finding that says that the tool was ended from outside. A plant does not do that.
fn was_ended(reading: &Reading) -> Option<&Residual> {
    reading
        .residuals
        .iter()
        .find(|residual| residual.class == Class::Timeout || residual.class == Class::Crash)
}

/// An error over a plant that was not there without it.
fn other_error<'r>(without: &Reading, with: &'r Reading) -> Option<&'r Residual> {
    let known: Vec<Sha> = without.residuals.iter().map(Residual::fingerprint).collect();
    with.residuals.iter().find(|residual| residual.counts() && !known.contains(&residual.fingerprint()))
}

/// A name that no file of the tree can have been written for.
fn plant_name(state: &SessionState, tree: &Tree) -> String {
    let session = state.meta.as_ref().map_or("", |meta| meta.session.as_str());
    let hash = Sha::of_fields([session.as_bytes(), &tree.id().0.0]).to_string();
    format!("planted{}", &hash[..12])
}

impl Actor {
    pub(crate) async fn calibrate(
        &self,
        state: &SessionState,
        branch: &Branch,
        stage: &StageId,
        reading: BlobId,
        cancel: &Cancel,
    ) -> Result<Ended, EffectError> {
        let tree = self.branch_tree(branch)?;
        let files = TreeFiles::new(tree.clone(), self.sources());
        let root = self.root(&stage.root, &stage.plugin, &files);
        let mut slot = self.slot().await?;
        let key = self.memo_key(state, &mut slot, stage, &files)?;
        let memo = slot.memo_dir().join(key.to_string());
        if memo.exists() {
            return Ok(Ended::Calibrated { verdict: Calibration::Remembered, runs: vec![] });
        }
        let without: Reading = self.load_blob("a reading", reading)?;
        let name = plant_name(state, &tree);
        let plants = self.plugin(&stage.plugin).map(|plugin| plugin.plants(stage.kind, &root, &files, &name));
        let mut seen = Vec::new();
        for plant in plants.iter().flatten() {
            let (planted, sources) = self.planted(&tree, plant);
            let only = plant.only();
            let laid = Laid { tree: &planted, sources: &sources, base: None, only: Some(&only) };
            let mut with = self.take(state, &mut slot, laid, stage, &root, cancel).await?;
            if was_ended(&with).is_some_and(|odd| odd.class != Class::Timeout) {
                with = self.take(state, &mut slot, laid, stage, &root, cancel).await?;
            }
            if let Some(odd) = was_ended(&with) {
                let verdict =
                    Calibration::Unmeasured(one_line(&format!("{} (over {})", odd.message, plant.what)));
                return Ok(Ended::Calibrated { verdict, runs: std::mem::take(&mut slot.runs) });
            }
            if !plant.expect.is_met(&without, &with) {
                let verdict = match (&plant.expect, other_error(&without, &with)) {
                    // Something else went wrong before the planted test could fail.
                    (Expect::TestFails(_), Some(error)) => {
                        Calibration::Unmeasured(one_line(&format!("{} (over {})", error.message, plant.what)))
                    }
                    (Expect::Red | Expect::TestFails(_), _) => Calibration::Blind(plant.what.clone()),
                };
                return Ok(Ended::Calibrated { verdict, runs: std::mem::take(&mut slot.runs) });
            }
            seen.push(plant.what.clone());
        }
        let verdict = if seen.is_empty() {
            Calibration::Blind("there is no plain source file to plant one in".to_owned())
        } else {
            // A memo that cannot be kept costs another calibration, nothing else.
            let _ = std::fs::create_dir_all(slot.memo_dir());
            let _ = std::fs::write(&memo, stage.kind.as_str());
            Calibration::Sees(seen)
        };
        Ok(Ended::Calibrated { verdict, runs: std::mem::take(&mut slot.runs) })
    }

    /// A result is remembered for the root, what is run, the tools' versions and where the tree is seen.
    fn memo_key(
        &self,
        state: &SessionState,
        slot: &mut SlotGuard<'_>,
        stage: &StageId,
        files: &TreeFiles,
    ) -> Result<Sha, EffectError> {
        let probed = self.probed(state)?;
        let root = self.root(&stage.root, &stage.plugin, files);
        let described = self.stages_of(&root, &probed, files, &Selection::default());
        let stages: Vec<_> = described.iter().flatten().filter(|found| found.kind == stage.kind).collect();
        let mut key = ShaBuilder::default();
        key.field(root.dir.as_str().as_bytes());
        key.field(slot.seen_as().as_os_str().as_encoded_bytes());
        key.field(&serde_json::to_vec(&stages).unwrap_or_default());
        key.field(&serde_json::to_vec(&probed).unwrap_or_default());
        key.field(&serde_json::to_vec(&self.parts.machine).unwrap_or_default());
        Ok(key.finish())
    }

    fn planted(&self, tree: &Tree, plant: &Plant) -> (Tree, Sources) {
        let mut planted = tree.clone();
        let mut sources = self.sources();
        for (path, text) in &plant.writes {
            planted.entries.insert(path.clone(), sources.hold(EntryKind::File, text.clone()));
        }
        (planted, sources)
    }
}
