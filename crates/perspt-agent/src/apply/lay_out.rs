//! Laying out a candidate: its commands are run and its lock files updated before its tree gets an id.

use perspt_core::effect::TreeRef;
use perspt_core::event::{DiffNote, Ended};
use perspt_core::ids::{BlobId, NodeId};
use perspt_core::path::RelPath;
use perspt_core::state::SessionState;
use perspt_core::tree::{Change, Entry, EntryKind, Tree};
use perspt_sandbox::Cancel;

use super::commands::NodeRun;
use super::merge::merge;
use crate::actor::Actor;
use crate::error::EffectError;
use crate::slot::{SlotGuard, stage_timeout};
use crate::tree::{LISTED, TreeFiles};
use crate::verify::masked_lines;

/// A branch to be laid out.
pub(crate) struct Layout<'a> {
    pub node: Option<&'a NodeId>,
    pub base: TreeRef,
    pub changes: BlobId,
    pub commands: &'a [String],
}

/// The overtaken files that an event has room for.
const OVERTAKEN: usize = 40;

impl Actor {
    pub(crate) async fn lay_out(
        &self,
        state: &SessionState,
        Layout { node, base, changes, commands }: Layout<'_>,
        cancel: &Cancel,
    ) -> Result<Ended, EffectError> {
        let base_tree = self.load_tree(base)?;
        let changes: Vec<Change> = self.load_blob("a branch's changes", changes)?;
        let changes = match self.rebased(changes, &base_tree)? {
            Ok(changes) => changes,
            Err(files) => {
                let files = files.into_iter().take(OVERTAKEN).collect();
                return Ok(Ended::Overtaken { files });
            }
        };
        let mut tree = base_tree.with(&changes);
        let mut slot = self.take_slot().await?;
        if let Some(node) = node.and_then(|id| state.nodes.get(id)) {
            let run = NodeRun { state, node, cancel };
            let faults = self.run_commands(run, &mut slot, commands, &mut tree).await?;
            if !faults.is_empty() {
                let violations = masked_lines(&self.parts.masks, &faults);
                return Ok(Ended::LayoutRefused { violations, runs: slot.take_runs() });
            }
            self.fetch_new(run, &mut slot, &base_tree, &tree).await?;
            self.settle_lockfiles(run, &mut slot, &base_tree, &mut tree).await?;
        } else {
            slot.lay_out(&TreeFiles::new(tree.clone(), self.sources()))?;
        }
        let changes = base_tree.changes_to(&tree);
        Ok(Ended::LaidOut {
            tree: tree.id(),
            changes: self.store_blob(&changes)?,
            diff: diff_note(&changes),
            runs: slot.take_runs(),
        })
    }

    /// Lets the tools of the node's roots bring their lock files up to date.
    async fn settle_lockfiles(
        &self,
        NodeRun { state, node, cancel }: NodeRun<'_>,
        slot: &mut SlotGuard<'_>,
        base: &Tree,
        tree: &mut Tree,
    ) -> Result<(), EffectError> {
        let files = TreeFiles::new(tree.clone(), self.sources());
        slot.lay_out(&files)?;
        for root in &node.roots {
            let root = self.root(&root.dir, &root.plugin, &files);
            let step = self.plugin(&root.plugin).and_then(|plugin| plugin.prepare(&root, &files));
            let Some(step) = step else { continue };
            // A lock file that cannot be brought up to date shows as the build stage's own error.
            slot.run("prepare", &step, stage_timeout(state), cancel).await?;
            self.take_lockfiles(slot, base, tree)?;
        }
        Ok(())
    }

    /// Changes that were made over an older tree, for this one; or the files that are no longer what the changes were
    /// made from. Changes of one text that lie apart are merged. A lock file stays as the tree has it: it is brought up to
    /// date later.
    fn rebased(
        &self,
        changes: Vec<Change>,
        base: &Tree,
    ) -> Result<Result<Vec<Change>, Vec<RelPath>>, EffectError> {
        let is_lock = |path: &RelPath| self.parts.plugins.iter().any(|plugin| plugin.is_lockfile(path));
        let moved = |change: &Change| {
            let now = base.entries.get(&change.path).map(Entry::identity);
            let [before, after] =
                [change.before, change.after].map(|entry| entry.map(|entry| entry.identity()));
            now != before && now != after
        };
        let (moved, mut same): (Vec<Change>, Vec<Change>) = changes.into_iter().partition(moved);
        let mut overtaken = Vec::new();
        for change in moved.into_iter().filter(|change| !is_lock(&change.path)) {
            match self.merged(&change, base)? {
                Some(merged) => same.push(merged),
                None => overtaken.push(change.path),
            }
        }
        overtaken.truncate(LISTED);
        Ok(if overtaken.is_empty() { Ok(same) } else { Err(overtaken) })
    }

    /// A change merged with what the user or another node did to the same file; `None` where the two conflict.
    fn merged(&self, change: &Change, base: &Tree) -> Result<Option<Change>, EffectError> {
        let (Some(before), Some(after), Some(now)) =
            (change.before, change.after, base.entries.get(&change.path).copied())
        else {
            return Ok(None);
        };
        if after.kind != now.kind || before.kind != now.kind || now.kind == EntryKind::Symlink {
            return Ok(None);
        }
        let sources = self.sources();
        let text = |entry: &Entry| {
            sources.bytes(&change.path, entry).and_then(|bytes| String::from_utf8(bytes).ok())
        };
        let (Some(old), Some(ours), Some(theirs)) = (text(&before), text(&after), text(&now)) else {
            return Ok(None);
        };
        let Some(merged) = merge(&old, &ours, &theirs) else { return Ok(None) };
        self.store_original(&sources, &change.path, &now)?;
        let id = self.parts.blobs.put(merged.as_bytes())?;
        let entry = Entry { kind: now.kind, hash: id.0, size: merged.len() as u64 };
        Ok(Some(Change { path: change.path.clone(), before: Some(now), after: Some(entry) }))
    }

    /// Takes lock files that the tool rewrote into the candidate, where the tree had them before.
    fn take_lockfiles(
        &self,
        slot: &mut SlotGuard<'_>,
        base: &Tree,
        tree: &mut Tree,
    ) -> Result<(), EffectError> {
        let drift = slot.recheck()?;
        let keeps = |path: &RelPath| self.parts.plugins.iter().any(|plugin| plugin.is_kept_by_tools(path));
        let new = drift.new.into_iter().filter(|path| keeps(path));
        for path in drift.changed.into_iter().chain(new) {
            let is_lock = keeps(&path) || self.parts.plugins.iter().any(|plugin| plugin.is_lockfile(&path));
            let Some(bytes) = slot.read_in_tree(&path).filter(|_| is_lock) else { continue };
            if let Some(before) = base.entries.get(&path) {
                self.store_original(&self.sources(), &path, before)?;
            }
            let id = self.parts.blobs.put(&bytes)?;
            tree.entries.insert(path, Entry { kind: EntryKind::File, hash: id.0, size: bytes.len() as u64 });
        }
        slot.lay_out(&TreeFiles::new(tree.clone(), self.sources()))?;
        Ok(())
    }
}

/// What a branch changes, for people. A deleted file whose content is in a new one was moved.
pub(crate) fn diff_note(changes: &[Change]) -> DiffNote {
    let mut note = DiffNote::default();
    let mut created: Vec<&Change> = changes.iter().filter(|change| change.before.is_none()).collect();
    for change in changes {
        match (&change.before, &change.after) {
            (Some(before), None) => {
                let same = |new: &&Change| new.after.is_some_and(|after| after.hash == before.hash);
                match created.iter().position(same) {
                    Some(at) => note.moved.push((change.path.clone(), created.remove(at).path.clone())),
                    None => note.delete.push(change.path.clone()),
                }
            }
            (Some(_), Some(_)) => note.modify.push(change.path.clone()),
            (None, _) => {}
        }
    }
    note.create = created.into_iter().map(|change| change.path.clone()).collect();
    note
}
