//! Readings that were taken before: of the same tree, by the same tools, in the same environment and confinement.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use perspt_core::hash::{Sha, ShaBuilder};
use perspt_core::ids::TreeId;
use perspt_core::reading::{Reading, StageId, Status};
use perspt_core::stage::Root;
use perspt_core::state::SessionState;
use perspt_lang::plugin::{Files, Plugin, Selection};
use perspt_sandbox::Cancel;

use crate::AgentError;
use crate::actor::{Actor, Bench, Halt, shown};
use crate::files::TreeFiles;

/// The most readings that are kept for a workspace.
const MOST: usize = 32;

impl Actor {
    /// Where the reading of this stage is kept, once one was taken.
    pub(super) async fn reading_place(
        &self,
        state: &SessionState,
        bench: &mut Bench<'_>,
        files: &TreeFiles,
        (stage, root, plugin): (&StageId, &Root, &'static dyn Plugin),
        cancel: &Cancel,
    ) -> Result<PathBuf, Halt> {
        let probed = self.probed(state)?;
        let mut key = ShaBuilder::default();
        // Old and new test files may run apart: together they are one run of the same tests.
        for described in self.stages_of(root, &probed, files, &Selection::default()).into_iter().flatten() {
            if described.kind == stage.kind {
                key.field(&serde_json::to_vec(&described).unwrap_or_default());
            }
        }
        if let Some(step) = plugin.list_packages(&self.parts.machine) {
            let timeout = Duration::from_millis(state.settings().probe_timeout_ms);
            let output = bench.run("environment", &step, timeout, cancel).await?;
            key.field(&output.stdout);
        }
        let confinement = self.parts.runner.what_can_be_had().await.map_err(AgentError::from)?;
        key.field(shown(&confinement).as_bytes());
        key.field(&serde_json::to_vec(&probed).unwrap_or_default());
        key.field(&serde_json::to_vec(&self.parts.machine).unwrap_or_default());
        key.field(&serde_json::to_vec(&self.parts.env).unwrap_or_default());
        let tree: TreeId = files.tree().id();
        let key = Sha::of_fields([&tree.0.0[..], &key.finish().0[..]]);
        Ok(bench.memo_dir().join("readings").join(key.to_string()))
    }
}

/// The reading that is kept there, of this tree and stage.
pub(super) fn kept(place: &PathBuf, tree: TreeId, stage: &StageId) -> Option<Reading> {
    let reading: Reading = serde_json::from_slice(&std::fs::read(place).ok()?).ok()?;
    (reading.tree == tree && reading.stage == *stage).then_some(reading)
}

/// Keeps a reading; one that cannot be kept is taken again, nothing else.
pub(super) fn keep(place: &PathBuf, reading: &Reading) {
    let (Some(folder), Ok(bytes)) = (place.parent(), serde_json::to_vec(reading)) else { return };
    if reading.status != Status::Measured || std::fs::create_dir_all(folder).is_err() {
        return;
    }
    // Whole or not at all: another name first.
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
