//! The workspace's files as a publication sees them. Folders are opened one below the other from the workspace
//! down, so that no link is followed.

use std::collections::BTreeSet;
use std::io::ErrorKind;

use perspt_core::hash::{Sha, ShaBuilder};
use perspt_core::path::RelPath;
use perspt_core::tree::{Entry, EntryKind};
use rustix::io::Errno;

use crate::disk::{File, Kind, Open};
use crate::error::StoreError;
use crate::folder::{Folder, optional};
use crate::lock::WorkspaceLease;

pub(super) struct WorkspaceTree<'a> {
    root: &'a Folder,
}

/// What was found where a folder should be.
pub(super) enum FolderLookup {
    Open(Folder),
    /// A folder on the way is missing.
    Missing,
    /// A folder on the way is a link.
    Link,
    /// A folder on the way is a file.
    Blocked,
}

/// What a name in a folder stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryState {
    Missing,
    Entry(EntryKind, Sha),
    /// A folder, a pipe, or something that changed its kind while we looked.
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Removal {
    Gone,
    Stays,
}

impl EntryState {
    pub fn matches(self, entry: Option<&Entry>) -> bool {
        match entry {
            Some(entry) => self == EntryState::Entry(entry.kind, entry.hash),
            None => self == EntryState::Missing,
        }
    }
}

impl<'a> WorkspaceTree<'a> {
    pub fn new(lease: &'a WorkspaceLease) -> WorkspaceTree<'a> {
        WorkspaceTree { root: lease.folder() }
    }

    /// The folder that holds a path.
    pub fn parent_of(&self, path: &RelPath) -> Result<FolderLookup, StoreError> {
        self.folder(&path.parent().unwrap_or_else(RelPath::root))
    }

    /// The folder at a path.
    pub fn folder(&self, folder: &RelPath) -> Result<FolderLookup, StoreError> {
        let mut reached = self.root.clone();
        for part in folder.parts() {
            reached = match reached.folder(part) {
                Ok(next) => next,
                Err(error) if error.is_missing() => return Ok(FolderLookup::Missing),
                Err(error) => {
                    return match optional(reached.look(part))?.map(|stat| stat.kind) {
                        None => Ok(FolderLookup::Missing),
                        Some(Kind::Link) => Ok(FolderLookup::Link),
                        Some(Kind::File | Kind::Other) => Ok(FolderLookup::Blocked),
                        Some(Kind::Folder) => Err(error),
                    };
                }
            };
        }
        Ok(FolderLookup::Open(reached))
    }

    /// What a name stands for, by kind and content.
    pub fn inspect(&self, folder: &Folder, name: &str) -> Result<EntryState, StoreError> {
        let Some(stat) = optional(folder.look(name))? else { return Ok(EntryState::Missing) };
        match stat.kind {
            Kind::Folder | Kind::Other => Ok(EntryState::Other),
            Kind::Link => match folder.dir.read_link(name) {
                Ok(text) => Ok(EntryState::Entry(EntryKind::Symlink, Sha::of(&text))),
                Err(error) => changed(error).map_err(folder.fail("read the link", name)),
            },
            Kind::File => {
                let file = match folder.dir.open(name, Open::Read) {
                    Ok(file) => file,
                    Err(error) => return changed(error).map_err(folder.fail("read", name)),
                };
                let stat = file.stat().map_err(folder.fail("look at", name))?;
                if stat.kind != Kind::File {
                    return Ok(EntryState::Other);
                }
                let kind = if stat.mode & 0o100 == 0 { EntryKind::File } else { EntryKind::Exec };
                let hash = hash(file.as_ref()).map_err(folder.fail("read", name))?;
                Ok(EntryState::Entry(kind, hash))
            }
        }
    }

    /// Makes entries durable in each of these folders, or in the nearest one above that is still there.
    pub fn sync(&self, folders: &BTreeSet<RelPath>) -> Result<(), StoreError> {
        let mut there = BTreeSet::new();
        for folder in folders {
            let mut nearest = Some(folder.clone());
            while let Some(folder) = nearest {
                if matches!(self.folder(&folder)?, FolderLookup::Open(_)) {
                    there.insert(folder);
                    break;
                }
                nearest = folder.parent();
            }
        }
        for folder in there {
            if let FolderLookup::Open(reached) = self.folder(&folder)? {
                reached.sync()?;
            }
        }
        Ok(())
    }

    /// Removes a folder if it is empty, and then the folders above it that became empty.
    pub fn remove_empty(&self, folder: Option<RelPath>) -> Result<(), StoreError> {
        let mut next = folder;
        while let Some(folder) = next.filter(|folder| !folder.is_root()) {
            if self.remove_empty_one(&folder)? == Removal::Stays {
                break;
            }
            next = folder.parent();
        }
        Ok(())
    }

    /// Removes a folder if it is empty.
    pub fn remove_empty_one(&self, folder: &RelPath) -> Result<Removal, StoreError> {
        let above = match self.parent_of(folder)? {
            FolderLookup::Open(above) => above,
            FolderLookup::Missing => return Ok(Removal::Gone),
            FolderLookup::Link | FolderLookup::Blocked => return Ok(Removal::Stays),
        };
        match above.dir.remove_folder(folder.name()) {
            Ok(()) => Ok(Removal::Gone),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Removal::Gone),
            Err(error) if in_use(error.kind()) => Ok(Removal::Stays),
            Err(error) => Err(above.fail("remove the folder", folder.name())(error)),
        }
    }
}

/// Errors after which a folder stays: it is not empty, not a folder, a mount, or not ours to remove.
fn in_use(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::DirectoryNotEmpty
            | ErrorKind::AlreadyExists
            | ErrorKind::NotADirectory
            | ErrorKind::ResourceBusy
            | ErrorKind::PermissionDenied
    )
}

/// What a name stands for after it changed between two calls. Any other error stays an error: a file that cannot be
/// read now was not changed by the user.
fn changed(error: std::io::Error) -> std::io::Result<EntryState> {
    match Errno::from_io_error(&error) {
        Some(Errno::NOENT) => Ok(EntryState::Missing),
        Some(Errno::LOOP | Errno::INVAL | Errno::NXIO) => Ok(EntryState::Other),
        _ => Err(error),
    }
}

fn hash(file: &dyn File) -> std::io::Result<Sha> {
    let (mut builder, mut block, mut offset) = (ShaBuilder::default(), vec![0; 64 * 1024], 0);
    loop {
        let read = file.read_at(&mut block, offset)?;
        if read == 0 {
            return Ok(builder.finish());
        }
        builder.update(&block[..read]);
        offset += read as u64;
    }
}
