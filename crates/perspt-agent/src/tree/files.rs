//! The files of a tree, wherever their bytes are: in the session's blobs, in the workspace, or in the slot. Bytes are
//! only handed out where they have the hash that their entry says.

use std::collections::BTreeMap;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use perspt_core::hash::Sha;
use perspt_core::ids::BlobId;
use perspt_core::path::RelPath;
use perspt_core::tree::{Entry, EntryKind, Tree};
use perspt_lang::plugin::{Files, Pair};
use perspt_sandbox::slot::{Contents, Folder};
use perspt_store::Blobs;

use crate::apply::Applied;

/// The name of an ignore file.
pub const IGNORE_FILE: &str = ".gitignore";

/// The largest file that is ever read as text.
pub const TEXT_CAP: u64 = 5 * 1024 * 1024;

/// Where bytes may be found, in the order they are looked for.
#[derive(Clone)]
pub struct Sources {
    /// Texts that exist only in memory, such as planted errors.
    pub memory: BTreeMap<Sha, Vec<u8>>,
    /// The session's blobs.
    pub blobs: Blobs,
    /// The workspace and the slot's tree.
    pub folders: Vec<PathBuf>,
}

impl Sources {
    fn folder_bytes(&self, path: &RelPath, entry: &Entry) -> Option<Vec<u8>> {
        self.folders.iter().find_map(|folder| {
            let mut bytes = Vec::new();
            Folder::new(folder).open(path, entry).ok()?.read_to_end(&mut bytes).ok()?;
            (Sha::of(&bytes) == entry.hash).then_some(bytes)
        })
    }

    /// Holds a text in memory, for a tree that is not stored, and gives its entry.
    pub fn hold(&mut self, kind: EntryKind, text: String) -> Entry {
        let entry = Applied::entry(kind, &text);
        self.memory.insert(entry.hash, text.into_bytes());
        entry
    }

    /// The bytes of an entry; `None` where nobody has them any more.
    pub fn bytes(&self, path: &RelPath, entry: &Entry) -> Option<Vec<u8>> {
        if let Some(bytes) = self.memory.get(&entry.hash) {
            return Some(bytes.clone());
        }
        self.blobs.get(BlobId(entry.hash)).ok().or_else(|| self.folder_bytes(path, entry))
    }
}

impl Contents for Sources {
    fn open(&self, path: &RelPath, entry: &Entry) -> io::Result<Box<dyn Read>> {
        if let Some(bytes) = self.memory.get(&entry.hash) {
            return Ok(Box::new(Cursor::new(bytes.clone())));
        }
        if self.blobs.exists(BlobId(entry.hash)).unwrap_or(false) {
            let bytes = self.blobs.get(BlobId(entry.hash)).map_err(io::Error::other)?;
            return Ok(Box::new(Cursor::new(bytes)));
        }
        // The first folder with a file of the right size is streamed without hashing it here: laying out hashes it.
        for folder in &self.folders {
            let place = folder.join(path.as_str());
            let fits = place.symlink_metadata().is_ok_and(|meta| meta.len() == entry.size);
            if fits && let Ok(reader) = Folder::new(folder).open(path, entry) {
                return Ok(reader);
            }
        }
        Err(io::ErrorKind::NotFound.into())
    }
}

/// A tree whose files can be read. Each is read once and cached.
pub struct TreeFiles {
    tree: Tree,
    sources: Sources,
    texts: Mutex<BTreeMap<RelPath, Option<String>>>,
    missing: AtomicBool,
}

/// Bytes of the tree are gone: the user has changed the file that had them.
pub struct MissingBytes;

impl TreeFiles {
    /// The files of `tree`.
    pub fn new(tree: Tree, sources: Sources) -> TreeFiles {
        TreeFiles { tree, sources, texts: Mutex::default(), missing: AtomicBool::new(false) }
    }

    /// Where the bytes are.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    /// The same files with other texts in some of them, or without them.
    pub fn with_replaced(&self, texts: impl IntoIterator<Item = (RelPath, Option<String>)>) -> TreeFiles {
        let (mut tree, mut sources) = (self.tree.clone(), self.sources.clone());
        for (path, text) in texts {
            match text {
                Some(text) => tree.entries.insert(path, sources.hold(EntryKind::File, text)),
                None => tree.entries.remove(&path),
            };
        }
        TreeFiles::new(tree, sources)
    }

    /// Whether every file that was asked for so far could be read. Results from an incomplete tree must not be used.
    pub fn check_complete(&self) -> Result<(), MissingBytes> {
        if self.missing.load(Ordering::Relaxed) { Err(MissingBytes) } else { Ok(()) }
    }
}

impl Files for TreeFiles {
    fn tree(&self) -> &Tree {
        &self.tree
    }

    fn text(&self, path: &RelPath) -> Option<String> {
        if let Some(text) = self.texts.lock().unwrap_or_else(PoisonError::into_inner).get(path) {
            return text.clone();
        }
        let entry = self.tree.entries.get(path)?;
        let readable = entry.kind != EntryKind::Symlink && entry.size <= TEXT_CAP;
        let bytes = readable.then(|| self.sources.bytes(path, entry)).flatten();
        if readable && bytes.is_none() {
            self.missing.store(true, Ordering::Relaxed);
        }
        let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
        self.texts.lock().unwrap_or_else(PoisonError::into_inner).insert(path.clone(), text.clone());
        text
    }
}

/// The files of a branch, and of the tree it is based on.
pub struct ComparedFiles {
    /// The tree before.
    pub base: TreeFiles,
    /// The branch.
    pub candidate: TreeFiles,
}

impl ComparedFiles {
    /// Both, as plugins take them.
    pub fn pair(&self) -> Pair<'_> {
        Pair { base: &self.base, candidate: &self.candidate }
    }

    /// Whether every file that was asked for could be read.
    pub fn check_complete(&self) -> Result<(), MissingBytes> {
        self.base.check_complete()?;
        self.candidate.check_complete()
    }
}

/// The ignore files of a tree, by the folder they lie in.
pub fn ignore_files(files: &dyn Files) -> Vec<(RelPath, String)> {
    files
        .tree()
        .entries
        .keys()
        .filter(|path| path.name() == IGNORE_FILE)
        .filter_map(|path| Some((path.parent()?, files.text(path)?)))
        .collect()
}

/// Whether a path exists in the workspace, without following links.
pub fn exists(workspace: &Path, path: &RelPath) -> bool {
    workspace.join(path.as_str()).symlink_metadata().is_ok()
}
