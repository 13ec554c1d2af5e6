//! The workspace as a tree, trees by their reference, and branches.

use std::sync::PoisonError;

use perspt_core::effect::{Branch, TreeRef};
use perspt_core::event::Ended;
use perspt_core::state::SessionState;
use perspt_core::tree::{Change, Tree};
use perspt_sandbox::slot::{StatCache, WalkLimits, WalkNote, walk};

use super::{ComparedFiles, Sources, TreeFiles};
use crate::AgentError;
use crate::actor::Actor;

/// Paths listed in a `BaseMoved` outcome; more are counted.
pub(crate) const LISTED: usize = 40;

impl Actor {
    /// The workspace as it is now. Files that have not changed since the last look are not read again.
    pub(crate) fn walk_workspace(&self) -> Result<(Tree, Vec<WalkNote>), AgentError> {
        let mut stats = self.stats.lock().unwrap_or_else(PoisonError::into_inner);
        let cache_file = self.slot_dir().join("workspace-stats");
        let cache = stats.get_or_insert_with(|| {
            std::fs::read(&cache_file).map(|bytes| StatCache::from_bytes(&bytes)).unwrap_or_default()
        });
        let walked = walk(&self.parts.workspace, cache, &WalkLimits::default())?;
        // A cache that cannot be saved only costs time.
        if std::fs::create_dir_all(self.slot_dir()).is_ok() {
            let _ = std::fs::write(&cache_file, cache.to_bytes());
        }
        Ok((walked.tree, walked.notes))
    }

    /// Stores the manifest of a tree.
    pub(crate) fn store_tree(&self, tree: &Tree) -> Result<TreeRef, AgentError> {
        Ok(TreeRef { id: tree.id(), manifest: self.store_blob(tree)? })
    }

    /// The tree that a reference names. Its entries must give the same id.
    pub(crate) fn load_tree(&self, tree: TreeRef) -> Result<Tree, AgentError> {
        let entries: Tree = self.load_blob("a tree", tree.manifest)?;
        if entries.id() != tree.id {
            return Err(AgentError::Blob {
                what: "a tree",
                why: "its entries do not give its name".to_owned(),
            });
        }
        Ok(entries)
    }

    /// The changes of a branch.
    pub(crate) fn changes_of(&self, branch: &Branch) -> Result<Vec<Change>, AgentError> {
        branch.changes.map_or(Ok(Vec::new()), |changes| self.load_blob("a branch's changes", changes))
    }

    /// The tree of a branch.
    pub(crate) fn branch_tree(&self, branch: &Branch) -> Result<Tree, AgentError> {
        let tree = self.load_tree(branch.base)?.with(&self.changes_of(branch)?);
        if tree.id() != branch.tree {
            return Err(AgentError::Blob {
                what: "a branch",
                why: "it does not come to its tree".to_owned(),
            });
        }
        Ok(tree)
    }

    /// Where bytes are looked for.
    pub(crate) fn sources(&self) -> Sources {
        Sources {
            memory: Default::default(),
            blobs: self.parts.blobs.clone(),
            folders: vec![self.parts.workspace.clone(), self.slot_dir().join("tree")],
        }
    }

    /// The files of a branch.
    pub(crate) fn branch_files(&self, branch: &Branch) -> Result<TreeFiles, AgentError> {
        Ok(TreeFiles::new(self.branch_tree(branch)?, self.sources()))
    }

    /// The files of a branch and of its base.
    pub(crate) fn compared_files(&self, branch: &Branch) -> Result<ComparedFiles, AgentError> {
        let base = TreeFiles::new(self.load_tree(branch.base)?, self.sources());
        Ok(ComparedFiles { base, candidate: self.branch_files(branch)? })
    }

    /// The outcome for an effect whose base the user has changed.
    pub(crate) fn moved_head(&self, state: &SessionState) -> Result<Ended, AgentError> {
        let (now, _) = self.walk_workspace()?;
        match state.head {
            Some(head) => self.base_moved(&self.load_tree(head)?, &now),
            None => Ok(Ended::BaseMoved { head: self.store_tree(&now)?, changed: Vec::new(), more: 1 }),
        }
    }

    /// The outcome for a publication that found the workspace at `now` instead of at `base`.
    pub(crate) fn base_moved(&self, base: &Tree, now: &Tree) -> Result<Ended, AgentError> {
        let changes = base.changes_to(now);
        let more = changes.len().saturating_sub(LISTED) as u64;
        let changed = changes.into_iter().take(LISTED).map(|change| change.path).collect();
        Ok(Ended::BaseMoved { head: self.store_tree(now)?, changed, more })
    }
}
