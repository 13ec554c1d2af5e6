//! A tree: which files a workspace or branch holds, by path, kind and content hash. A branch is a base
//! tree plus changes; both are named by their [`TreeId`].

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::hash::{Sha, ShaBuilder};
use crate::ids::TreeId;
use crate::path::RelPath;

/// What a path in a tree is. Other mode bits, owners and times are not part of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A regular file that its owner may execute.
    Exec,
    /// A symbolic link; its content is the text of the link. Never followed.
    Symlink,
}

impl EntryKind {
    fn byte(self) -> u8 {
        match self {
            EntryKind::File => b'f',
            EntryKind::Exec => b'x',
            EntryKind::Symlink => b'l',
        }
    }
}

/// One path's kind and content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Entry {
    /// Regular, executable or link.
    pub kind: EntryKind,
    /// The hash of the bytes, or of the link's text.
    pub hash: Sha,
    /// How many bytes; a convenience for caps, not part of the tree's id.
    pub size: u64,
}

impl Entry {
    /// What makes two entries the same: its size follows from its bytes.
    pub fn identity(&self) -> (EntryKind, Sha) {
        (self.kind, self.hash)
    }
}

/// All entries of a tree, in path order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tree {
    /// The entries by path.
    pub entries: BTreeMap<RelPath, Entry>,
}

/// What happened to one path between two trees: its content hash before and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The path.
    pub path: RelPath,
    /// Its entry before; `None` where it did not exist.
    pub before: Option<Entry>,
    /// Its entry after; `None` where it is deleted.
    pub after: Option<Entry>,
}

impl Tree {
    /// The tree's name: the same entries give the same id on every machine.
    pub fn id(&self) -> TreeId {
        let mut builder = ShaBuilder::default();
        builder.update(b"perspt-tree-1");
        for (path, entry) in &self.entries {
            builder.update(&[entry.kind.byte()]);
            builder.field(path.as_str().as_bytes());
            builder.update(&entry.hash.0);
        }
        TreeId(builder.finish())
    }

    /// What leads from this tree to `after`, in path order.
    pub fn changes_to(&self, after: &Tree) -> Vec<Change> {
        let same = |a: &Entry, b: &Entry| a.identity() == b.identity();
        let mut changes = Vec::new();
        for (path, before) in &self.entries {
            let now = after.entries.get(path);
            if !now.is_some_and(|now| same(before, now)) {
                changes.push(Change { path: path.clone(), before: Some(*before), after: now.copied() });
            }
        }
        for (path, now) in &after.entries {
            if !self.entries.contains_key(path) {
                changes.push(Change { path: path.clone(), before: None, after: Some(*now) });
            }
        }
        changes.sort_by(|a, b| a.path.cmp(&b.path));
        changes
    }

    /// This tree with `changes` laid over it. The `before` sides are not looked at.
    pub fn with(&self, changes: &[Change]) -> Tree {
        let mut tree = self.clone();
        for change in changes {
            match change.after {
                Some(entry) => tree.entries.insert(change.path.clone(), entry),
                None => tree.entries.remove(&change.path),
            };
        }
        tree
    }
}
