//! Reusing readings: of the same tree, by the same tools, in the same environment and confinement.

use std::path::PathBuf;
use std::time::SystemTime;

use perspt_core::hash::{Sha, ShaBuilder};
use perspt_core::ids::TreeId;
use perspt_core::reading::{Reading, StageId, Status};
use perspt_lang::plugin::{Files, Selection};

use super::stage_run::StageRun;
use crate::AgentError;
use crate::actor::Actor;
use crate::error::EffectError;
use crate::slot::{SlotGuard, confinement_text, probe_timeout};
use crate::tree::TreeFiles;

/// The most readings that are saved for a workspace.
const MOST: usize = 32;

impl Actor {
    /// The file in which a reading of this stage is saved.
    pub(super) async fn reading_file(
        &self,
        run: StageRun<'_>,
        slot: &mut SlotGuard<'_>,
        files: &TreeFiles,
    ) -> Result<PathBuf, EffectError> {
        let StageRun { state, stage, root, plugin, cancel } = run;
        let probed = self.probed(state)?;
        let mut key = ShaBuilder::default();
        // Whether old and new test files run apart does not matter here: together they are the same tests.
        for described in
            self.stages_of(state, root, &probed, files, &Selection::default()).into_iter().flatten()
        {
            if described.kind == stage.kind {
                key.field(&serde_json::to_vec(&described).unwrap_or_default());
            }
        }
        if let Some(step) = plugin.list_packages(&self.parts.machine) {
            let timeout = probe_timeout(state);
            let output = slot.run("environment", &step, timeout, cancel).await?;
            key.field(&output.stdout);
        }
        let confinement = self.parts.runner.available_confinement().await.map_err(AgentError::from)?;
        key.field(confinement_text(&confinement).as_bytes());
        key.field(&serde_json::to_vec(&probed).unwrap_or_default());
        key.field(&serde_json::to_vec(&self.parts.machine).unwrap_or_default());
        key.field(&serde_json::to_vec(&self.parts.env).unwrap_or_default());
        let tree: TreeId = files.tree().id();
        let key = Sha::of_fields([&tree.0.0[..], &key.finish().0[..]]);
        Ok(slot.memo_dir().join("readings").join(key.to_string()))
    }
}

/// Loads the reading of this tree and stage.
pub(super) fn load(place: &PathBuf, tree: TreeId, stage: &StageId) -> Option<Reading> {
    let reading: Reading = serde_json::from_slice(&std::fs::read(place).ok()?).ok()?;
    (reading.tree == tree && reading.stage == *stage).then_some(reading)
}

/// Saves a reading. One that cannot be saved is taken again next time.
pub(super) fn save(place: &PathBuf, reading: &Reading) {
    let (Some(folder), Ok(bytes)) = (place.parent(), serde_json::to_vec(reading)) else { return };
    if reading.status != Status::Measured || std::fs::create_dir_all(folder).is_err() {
        return;
    }
    // Written under another name first, so that a reading is never saved in part.
    let half = place.with_extension("half");
    if std::fs::write(&half, bytes).and_then(|()| std::fs::rename(&half, place)).is_err() {
        return;
    }
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut by_age: Vec<(SystemTime, PathBuf)> =
        entries.filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path()))).collect();
    by_age.sort();
    for (_, old) in by_age.iter().rev().skip(MOST) {
        let _ = std::fs::remove_file(old);
    }
}
