//! Where the bytes of a tree come from.

use std::fs;
use std::io::{self, Cursor, Read};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use perspt_core::path::RelPath;
use perspt_core::tree::{Entry, EntryKind};

use super::names::at;
use super::settle::open_regular;

/// Gives the bytes of a tree's files. What it gives is hashed while it is laid down and must be what the
/// entry says, so an implementation need not check.
pub trait Contents {
    /// The bytes of the file, or the text of the link, at `path`. An error of kind `NotFound` says that the
    /// content is no longer to be had.
    fn open(&self, path: &RelPath, entry: &Entry) -> io::Result<Box<dyn Read>>;
}

/// The files below a folder, by their paths: the contents of a tree that was walked there.
#[derive(Debug, Clone)]
pub struct Folder {
    root: PathBuf,
}

impl Folder {
    /// The files below `root`.
    pub fn new(root: impl Into<PathBuf>) -> Folder {
        Folder { root: root.into() }
    }
}

impl Contents for Folder {
    fn open(&self, path: &RelPath, entry: &Entry) -> io::Result<Box<dyn Read>> {
        let place = at(&self.root, path);
        // What has become a file where a link was, or the other way round, is not what the tree names.
        let gone = |_| io::Error::from(io::ErrorKind::NotFound);
        match entry.kind {
            EntryKind::Symlink => {
                let text = fs::read_link(place).map_err(gone)?;
                Ok(Box::new(Cursor::new(text.into_os_string().into_vec())))
            }
            EntryKind::File | EntryKind::Exec => {
                if fs::symlink_metadata(&place)?.is_file() {
                    Ok(Box::new(open_regular(&place)?))
                } else {
                    Err(io::ErrorKind::NotFound.into())
                }
            }
        }
    }
}
