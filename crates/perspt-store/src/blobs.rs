//! Long text of a session, by the hash of its bytes. A blob is on disk before the event that cites it.
//!
//! There are two shelves: what the ledger rests on is kept for good, what perspt and the model said to each
//! other only as long as it is needed. They are apart so that letting one go can never take the other along.

use std::sync::atomic::{AtomicU64, Ordering};

use perspt_core::ids::{BlobId, SessionId};

use crate::error::StoreError;
use crate::folder::{Folder, optional};
use crate::home::Home;

const STAGED: &str = "new-";
/// Larger than anything perspt takes in; a bound for reading back.
const BLOB_MAX: u64 = 1 << 30;

static COUNTER: AtomicU64 = AtomicU64::new(0);

/// A name that no other thread or living process uses.
pub(crate) fn unique(prefix: &str) -> String {
    format!("{prefix}{}-{}", std::process::id(), COUNTER.fetch_add(1, Ordering::Relaxed))
}

/// Where a blob lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shelf {
    /// Kept for good.
    Permanent,
    /// Kept until released.
    Temporary,
}

impl Shelf {
    pub(crate) const ALL: [Shelf; 2] = [Shelf::Permanent, Shelf::Temporary];

    pub(crate) fn folder(self) -> &'static str {
        match self {
            Shelf::Permanent => "blobs",
            Shelf::Temporary => "texts",
        }
    }
}

/// The blobs of one session, on one of its shelves.
#[derive(Clone)]
pub struct Blobs {
    home: Home,
    session: SessionId,
    shelf: Shelf,
}

impl Blobs {
    pub(crate) fn new(home: Home, session: SessionId, shelf: Shelf) -> Blobs {
        Blobs { home, session, shelf }
    }

    /// Stores bytes; durable on return. A blob that is already there and whole is not written again.
    pub fn put(&self, bytes: &[u8]) -> Result<BlobId, StoreError> {
        let session = self.home.session(&self.session)?;
        let folder = self.home.ensure(&session, self.shelf.folder())?;
        let id = BlobId::of(bytes);
        let name = id.to_string();
        if !matches!(self.get(id), Ok(found) if found == bytes) {
            let staged = unique(STAGED);
            folder.stage(&staged, bytes)?;
            folder.rename(&staged, &name)?;
        }
        // Also for one that was there: whoever wrote it may have been killed before this.
        folder.sync()?;
        Ok(id)
    }

    /// Reads a blob and checks that its bytes are the ones it is named after.
    pub fn get(&self, id: BlobId) -> Result<Vec<u8>, StoreError> {
        let folder = self.home.session(&self.session)?.folder(self.shelf.folder())?;
        let name = id.to_string();
        let bytes = folder.read(&name, BLOB_MAX)?;
        if BlobId::of(&bytes) != id {
            let why = format!("its {} bytes are not the ones it is named after", bytes.len());
            return Err(StoreError::Damaged { file: folder.at(&name), why });
        }
        Ok(bytes)
    }

    /// Whether there is a blob of this name. Its bytes are not looked at.
    pub fn exists(&self, id: BlobId) -> Result<bool, StoreError> {
        let Some(folder) = self.folder()? else { return Ok(false) };
        Ok(optional(folder.look(&id.to_string()))?.is_some())
    }

    /// Removes every blob of the shelf. A kill may leave some, and a power cut may bring some back: the next
    /// call takes them.
    pub fn release(&self) -> Result<(), StoreError> {
        let Some(folder) = self.folder()? else { return Ok(()) };
        for name in folder.names()? {
            folder.clear(&name)?;
        }
        Ok(())
    }

    /// Removes what killed writers left unfinished. Only for the holder of the session's lock.
    pub(crate) fn sweep(&self) -> Result<(), StoreError> {
        let Some(folder) = self.folder()? else { return Ok(()) };
        for name in folder.names()? {
            if name.starts_with(STAGED) {
                folder.clear(&name)?;
            }
        }
        Ok(())
    }

    fn folder(&self) -> Result<Option<Folder>, StoreError> {
        optional(self.home.session(&self.session)?.folder(self.shelf.folder()))
    }
}
