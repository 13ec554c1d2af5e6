//! The user's tree as a publication walks it: from the workspace down, one folder at a time, never through a
//! link.

use std::collections::BTreeSet;
use std::io::ErrorKind;

use perspt_core::hash::{Sha, ShaBuilder};
use perspt_core::path::RelPath;
use perspt_core::tree::{Entry, EntryKind};
use rustix::io::Errno;

use crate::disk::{File, Kind, Open};
use crate::error::StoreError;
use crate::lock::WorkspaceLease;
use crate::place::{Place, optional};

pub(super) struct Ground<'a> {
    root: &'a Place,
}

/// Where the way to a folder leads.
pub(super) enum Way {
    Open(Place),
    /// A folder on the way is missing.
    Missing,
    /// A folder on the way is a link.
    Link,
    /// A folder on the way is a file.
    Blocked,
}

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
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

impl Seen {
    pub fn is(self, entry: Option<&Entry>) -> bool {
        match entry {
            Some(entry) => self == Seen::Entry(entry.kind, entry.hash),
            None => self == Seen::Missing,
        }
    }
}

impl<'a> Ground<'a> {
    pub fn new(lease: &'a WorkspaceLease) -> Ground<'a> {
        Ground { root: lease.ground() }
    }

    /// The way to the folder that holds a path.
    pub fn way(&self, path: &RelPath) -> Result<Way, StoreError> {
        self.folder(&path.parent().unwrap_or_else(RelPath::root))
    }

    /// The way to a folder.
    pub fn folder(&self, folder: &RelPath) -> Result<Way, StoreError> {
        let mut place = self.root.clone();
        for part in folder.parts() {
            place = match place.folder(part) {
                Ok(next) => next,
                Err(error) if error.is_missing() => return Ok(Way::Missing),
                Err(error) => {
                    return match optional(place.look(part))?.map(|stat| stat.kind) {
                        None => Ok(Way::Missing),
                        Some(Kind::Link) => Ok(Way::Link),
                        Some(Kind::File | Kind::Other) => Ok(Way::Blocked),
                        Some(Kind::Folder) => Err(error),
                    };
                }
            };
        }
        Ok(Way::Open(place))
    }

    /// What a name stands for, by kind and content.
    pub fn see(&self, folder: &Place, name: &str) -> Result<Seen, StoreError> {
        let Some(stat) = optional(folder.look(name))? else { return Ok(Seen::Missing) };
        match stat.kind {
            Kind::Folder | Kind::Other => Ok(Seen::Other),
            Kind::Link => match folder.dir.read_link(name) {
                Ok(text) => Ok(Seen::Entry(EntryKind::Symlink, Sha::of(&text))),
                Err(error) => changed(error).map_err(folder.fail("read the link", name)),
            },
            Kind::File => {
                let file = match folder.dir.open(name, Open::Read) {
                    Ok(file) => file,
                    Err(error) => return changed(error).map_err(folder.fail("read", name)),
                };
                let stat = file.stat().map_err(folder.fail("look at", name))?;
                if stat.kind != Kind::File {
                    return Ok(Seen::Other);
                }
                let kind = if stat.mode & 0o100 == 0 { EntryKind::File } else { EntryKind::Exec };
                let hash = hash(file.as_ref()).map_err(folder.fail("read", name))?;
                Ok(Seen::Entry(kind, hash))
            }
        }
    }

    /// Makes entries durable in each of these folders, or in the nearest one above that is still there.
    pub fn sync(&self, folders: &BTreeSet<RelPath>) -> Result<(), StoreError> {
        let mut there = BTreeSet::new();
        for folder in folders {
            let mut nearest = Some(folder.clone());
            while let Some(folder) = nearest {
                if matches!(self.folder(&folder)?, Way::Open(_)) {
                    there.insert(folder);
                    break;
                }
                nearest = folder.parent();
            }
        }
        for folder in there {
            if let Way::Open(place) = self.folder(&folder)? {
                place.sync()?;
            }
        }
        Ok(())
    }

    /// Removes a folder if it is empty, and then every one above it that thereby is.
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
        let above = match self.way(folder)? {
            Way::Open(above) => above,
            Way::Missing => return Ok(Removal::Gone),
            Way::Link | Way::Blocked => return Ok(Removal::Stays),
        };
        match above.dir.remove_folder(folder.name()) {
            Ok(()) => Ok(Removal::Gone),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Removal::Gone),
            Err(error) if in_use(error.kind()) => Ok(Removal::Stays),
            Err(error) => Err(above.fail("remove the folder", folder.name())(error)),
        }
    }
}

/// Why a folder stays: it holds something, is no folder any more, is a mount or somebody's to keep.
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

/// What a name is that changed between two looks. Any other error must not pass for an answer: a file that
/// cannot be read just now is not one that the user changed.
fn changed(error: std::io::Error) -> std::io::Result<Seen> {
    match Errno::from_io_error(&error) {
        Some(Errno::NOENT) => Ok(Seen::Missing),
        Some(Errno::LOOP | Errno::INVAL | Errno::NXIO) => Ok(Seen::Other),
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
