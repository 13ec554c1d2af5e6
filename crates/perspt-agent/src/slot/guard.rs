//! The slot, taken by one effect.

use std::collections::BTreeMap;
use std::ops::DerefMut;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use perspt_core::event::RunNote;
use perspt_core::hash::Sha;
use perspt_core::path::RelPath;
use perspt_core::tree::{EntryKind, Tree};
use perspt_lang::plugin::{Files, Plugin};
use perspt_sandbox::slot::{Drift, Slot, SlotError, StatCache, WalkLimits, walk};

use super::{Outputs, RunConfig};
use crate::AgentError;
use crate::actor::Actor;
use crate::error::EffectError;
use crate::tree::TreeFiles;

/// How long a helper that is about to end may still hold the slot.
const PATIENCE: Duration = Duration::from_secs(60);

/// The most new files that are looked at after a command, and the most bytes that one may have.
const NEW_FILES: usize = 500;
const NEW_FILE_BYTES: u64 = 8 * 1024 * 1024;

/// A file as a command left it; `None` where it is gone.
pub(crate) type FileNow = (RelPath, Option<(EntryKind, Vec<u8>)>);

/// A slot that one effect uses alone.
pub(crate) struct SlotGuard<'a> {
    pub(super) config: RunConfig<'a>,
    pub(super) slot: Box<dyn DerefMut<Target = Slot> + Send + Sync + 'a>,
    /// The path at which tools see the tree.
    pub(super) seen_as: PathBuf,
    /// The commands that were run.
    pub(super) runs: Mutex<Vec<RunNote>>,
}

impl Actor {
    /// The slot's folder: one for each workspace.
    pub(crate) fn slot_dir(&self) -> PathBuf {
        let key = Sha::of(self.parts.workspace.as_os_str().as_encoded_bytes());
        self.parts.home.slots_dir().join(&key.to_string()[..16]).join("0")
    }

    /// Waits for the slot and takes it.
    pub(crate) async fn take_slot(&self) -> Result<SlotGuard<'_>, EffectError> {
        let parts = &self.parts;
        let namespaces = self.namespaces.get_or_try_init(|| parts.runner.namespaces_available());
        let namespaces = *namespaces.await.map_err(AgentError::from)?;
        let slot = self.slot.get_or_try_init(async || self.open_slot()).await?.lock().await;
        let seen_as = if namespaces { parts.workspace.clone() } else { slot.tree() };
        let config = RunConfig {
            runner: &parts.runner,
            env: &parts.env,
            machine: &parts.machine,
            workspace: &parts.workspace,
            secret_places: &parts.secret_places,
            outputs: Some(Outputs { blobs: &parts.blobs, masks: &parts.masks }),
        };
        Ok(SlotGuard { config, slot: Box::new(slot), seen_as, runs: Mutex::default() })
    }

    fn open_slot(&self) -> Result<tokio::sync::Mutex<Slot>, SlotError> {
        let mut slot = Slot::open(&self.slot_dir(), PATIENCE)?;
        slot.set_mount_points(self.parts.machine.mounted.iter().cloned().collect());
        write_assets(&slot, &self.parts.plugins)?;
        Ok(tokio::sync::Mutex::new(slot))
    }
}

fn write_assets(slot: &Slot, plugins: &[&'static dyn Plugin]) -> Result<(), SlotError> {
    for (name, text) in plugins.iter().flat_map(|plugin| plugin.assets()) {
        let path = slot.assets().join(name);
        std::fs::write(&path, text).map_err(|source| SlotError::Io { what: "write", path, source })?;
    }
    Ok(())
}

impl<'a> SlotGuard<'a> {
    /// A slot outside any session, for trying tools.
    pub fn open(
        config: RunConfig<'a>,
        dir: &Path,
        plugins: &[&'static dyn Plugin],
    ) -> Result<SlotGuard<'a>, SlotError> {
        let slot = Slot::open(dir, PATIENCE)?;
        write_assets(&slot, plugins)?;
        Ok(SlotGuard { config, seen_as: slot.tree(), slot: Box::new(Box::new(slot)), runs: Mutex::default() })
    }

    /// The path at which tools see the tree.
    pub fn seen_as(&self) -> &Path {
        &self.seen_as
    }

    /// Whether tools see the tree at the workspace's own path.
    pub fn in_place(&self) -> bool {
        self.seen_as == self.config.workspace
    }

    /// The commands that were run since the last call.
    pub fn take_runs(&self) -> Vec<RunNote> {
        std::mem::take(&mut *self.runs.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The folder for what must survive, out of reach of tools.
    pub fn memo_dir(&self) -> PathBuf {
        self.slot.dir().join("memos")
    }

    /// Makes the slot hold exactly this tree, with an empty temp dir.
    pub fn lay_out(&mut self, files: &TreeFiles) -> Result<(), SlotError> {
        self.slot.reset_tmp()?;
        self.slot.lay_out(files.tree(), files.sources())?;
        Ok(())
    }

    /// Lays the tree out again after a step, and says what the step did to it. Lock files that a build made in `folder`
    /// stay as they are, times included: a build script that does not name its inputs runs again after any newer file.
    pub fn restore(
        &mut self,
        files: &TreeFiles,
        folder: &RelPath,
        is_lockfile: &dyn Fn(&RelPath) -> bool,
    ) -> Result<Drift, SlotError> {
        let place = self.slot.tree().join(folder.as_str());
        let entries = std::fs::read_dir(&place).into_iter().flatten().flatten();
        let names = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
        let made = names.map(|entry| entry.file_name()).find_map(|name| {
            let path = folder.join(name.to_str()?).ok()?;
            (is_lockfile(&path) && !files.tree().entries.contains_key(&path)).then(|| place.join(name))
        });
        let held = self.slot.dir().join("held");
        let moved = |from: &Path, to: &Path| {
            let path = from.to_owned();
            std::fs::rename(from, to).map_err(|source| SlotError::Io { what: "move", path, source })
        };
        made.iter().try_for_each(|lock| moved(lock, &held))?;
        let drift = self.recheck()?;
        self.lay_out(files)?;
        made.iter().try_for_each(|lock| moved(&held, lock))?;
        Ok(drift)
    }

    /// What a command did to the tree that was laid out: files it wrote, with their bytes, and files it removed. Ignored
    /// files are left out.
    pub fn changes(&mut self, before: &Tree) -> Result<Vec<FileNow>, AgentError> {
        let folder = self.slot.tree();
        let walked = walk(&folder, &mut StatCache::default(), &WalkLimits::default())?.tree;
        let bytes = |path: &RelPath| {
            let place = folder.join(path.as_str());
            std::fs::read(&place).map_err(|source| SlotError::Io { what: "read", path: place, source })
        };
        let mut changes = Vec::new();
        for (path, entry) in walked.entries {
            if entry.kind != EntryKind::Symlink && !before.entries.contains_key(&path) {
                let now = bytes(&path)?;
                changes.push((path, Some((entry.kind, now))));
            }
        }
        let drift = self.recheck()?;
        for path in drift.changed {
            let kind = before.entries.get(&path).map_or(EntryKind::File, |entry| entry.kind);
            let now = bytes(&path)?;
            changes.push((path, Some((kind, now))));
        }
        changes.extend(drift.gone.into_iter().map(|path| (path, None)));
        Ok(changes)
    }

    /// What running did to the tree.
    pub fn recheck(&mut self) -> Result<Drift, SlotError> {
        self.slot.recheck()
    }

    /// The bytes of a file in the slot's tree, if it is there.
    pub fn read_in_tree(&self, path: &RelPath) -> Option<Vec<u8>> {
        std::fs::read(self.slot.tree().join(path.as_str())).ok()
    }

    /// Files with this ending that the tree does not list, by their paths: what a command has just left there.
    pub fn new_in_tree(&self, listed: &Tree, extension: &str) -> BTreeMap<String, Vec<u8>> {
        let mounted = &self.config.machine.mounted;
        let mut found = BTreeMap::new();
        let mut folders = vec![RelPath::root()];
        while let Some(folder) = folders.pop().filter(|_| found.len() < NEW_FILES) {
            let place = self.slot.tree().join(folder.as_str());
            for entry in std::fs::read_dir(place).into_iter().flatten().flatten() {
                let path = entry.file_name().to_str().and_then(|name| folder.join(name).ok());
                let (Some(path), Ok(meta)) = (path, entry.metadata()) else { continue };
                if meta.is_dir() && !mounted.contains(&path) {
                    folders.push(path);
                    continue;
                }
                let wanted = meta.is_file() && path.extension() == Some(extension);
                if wanted && meta.len() <= NEW_FILE_BYTES && !listed.entries.contains_key(&path) {
                    let bytes = std::fs::read(entry.path());
                    found.extend(bytes.ok().map(|bytes| (path.as_str().to_owned(), bytes)));
                }
            }
        }
        found
    }

    /// A file below the build directory, if it is there.
    pub fn read_in_build(&self, below: &str) -> Option<Vec<u8>> {
        let below = RelPath::parse(below).ok()?;
        std::fs::read(self.slot.build().join(below.as_str())).ok()
    }

    /// A fresh folder outside the tree, for a probe's project.
    pub fn probe_folder(&self, name: &str, files: &BTreeMap<String, String>) -> Result<PathBuf, SlotError> {
        let folder = self.slot.tmp().join(format!("probe-{name}"));
        let io = |path: &Path| {
            let path = path.to_owned();
            move |source| SlotError::Io { what: "write", path, source }
        };
        for (file, text) in files {
            let path = folder.join(file);
            let parent = path.parent().unwrap_or(&folder);
            std::fs::create_dir_all(parent).map_err(io(parent))?;
            std::fs::write(&path, text).map_err(io(&path))?;
        }
        Ok(folder)
    }

    /// Empties the temp dir.
    pub fn reset_tmp(&mut self) -> Result<(), SlotError> {
        self.slot.reset_tmp()
    }
}
