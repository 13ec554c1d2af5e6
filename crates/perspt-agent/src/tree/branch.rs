//! Trees and their bytes: snapshots, manifests, branches.

use std::sync::PoisonError;

use perspt_core::effect::{Branch, TreeRef};
use perspt_core::event::Ended;
use perspt_core::ids::BlobId;
use perspt_core::state::SessionState;
use perspt_core::tree::{Change, Tree};
use perspt_sandbox::slot::{StatCache, WalkLimits, WalkNote, walk};
use perspt_store::Blobs;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Sources, TreeFiles};
use crate::AgentError;
use crate::actor::Actor;

/// Paths listed in a `BaseMoved` outcome; more are counted.
pub(crate) const LISTED: usize = 40;

impl Actor {
    /// Keeps a value for good.
    pub(crate) fn store_blob(&self, value: &impl Serialize) -> Result<BlobId, AgentError> {
        put(&self.parts.blobs, value)
    }

    /// A value that was kept for good.
    pub(crate) fn load_blob<T: DeserializeOwned>(
        &self,
        what: &'static str,
        id: BlobId,
    ) -> Result<T, AgentError> {
        get(&self.parts.blobs, what, id)
    }

    /// Keeps a prompt or a rejected answer until the node it is about is closed.
    pub(crate) fn store_text(&self, value: &impl Serialize) -> Result<BlobId, AgentError> {
        put(&self.parts.texts, value)
    }

    /// A prompt or a rejected answer of an open node.
    pub(crate) fn load_text<T: DeserializeOwned>(
        &self,
        what: &'static str,
        id: BlobId,
    ) -> Result<T, AgentError> {
        get(&self.parts.texts, what, id)
    }

    /// An answer as it came; the empty one needs no file.
    pub(crate) fn load_answer(&self, id: BlobId) -> Result<String, AgentError> {
        if id == BlobId::of(b"") {
            return Ok(String::new());
        }
        let what = "an answer";
        String::from_utf8(self.parts.texts.get(id)?)
            .map_err(|error| AgentError::Blob { what, why: error.to_string() })
    }

    /// The workspace as it is now. Files that have not changed since the last look are not read again.
    pub(crate) fn walk_workspace(&self) -> Result<(Tree, Vec<WalkNote>), AgentError> {
        let mut stats = self.stats.lock().unwrap_or_else(PoisonError::into_inner);
        let kept_at = self.slot_dir().join("workspace-stats");
        let cache = stats.get_or_insert_with(|| {
            std::fs::read(&kept_at).map(|bytes| StatCache::from_bytes(&bytes)).unwrap_or_default()
        });
        let walked = walk(&self.parts.workspace, cache, &WalkLimits::default())?;
        // A lost cache costs time, nothing else.
        if std::fs::create_dir_all(self.slot_dir()).is_ok() {
            let _ = std::fs::write(&kept_at, cache.to_bytes());
        }
        Ok((walked.tree, walked.notes))
    }

    /// A tree with its manifest kept.
    pub(crate) fn store_tree(&self, tree: &Tree) -> Result<TreeRef, AgentError> {
        Ok(TreeRef { id: tree.id(), manifest: self.store_blob(tree)? })
    }

    /// The tree a reference names; its entries must give its name.
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

    /// The tree a branch comes to.
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

fn put(blobs: &Blobs, value: &impl Serialize) -> Result<BlobId, AgentError> {
    let bytes = serde_json::to_vec(value)
        .map_err(|error| AgentError::Blob { what: "a value", why: error.to_string() })?;
    Ok(blobs.put(&bytes)?)
}

fn get<T: DeserializeOwned>(blobs: &Blobs, what: &'static str, id: BlobId) -> Result<T, AgentError> {
    serde_json::from_slice(&blobs.get(id)?).map_err(|error| AgentError::Blob { what, why: error.to_string() })
}
