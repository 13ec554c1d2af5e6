//! A folder with its path, so that every error says where.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::disk::{Dir, Disk, File, Open, Stat};
use crate::error::StoreError;

/// An open folder and the path it was reached by.
#[derive(Clone)]
pub(crate) struct Folder {
    pub dir: Arc<dyn Dir>,
    pub path: PathBuf,
}

/// Whether a missing thing is an answer or an error is for the caller to say.
pub(crate) fn optional<T>(result: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.is_missing() => Ok(None),
        Err(error) => Err(error),
    }
}

impl Folder {
    pub fn root(disk: &dyn Disk, path: &Path) -> Result<Folder, StoreError> {
        let dir = disk.root(path).map_err(|source| StoreError::Io {
            doing: "open the folder",
            path: path.to_owned(),
            source,
        })?;
        Ok(Folder { dir, path: path.to_owned() })
    }

    /// The path of an entry, for messages.
    pub fn at(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    pub fn fail(&self, doing: &'static str, name: &str) -> impl FnOnce(io::Error) -> StoreError {
        let path = if name.is_empty() { self.path.clone() } else { self.at(name) };
        move |source| StoreError::Io { doing, path, source }
    }

    pub fn folder(&self, name: &str) -> Result<Folder, StoreError> {
        let dir = self.dir.folder(name).map_err(self.fail("open the folder", name))?;
        Ok(Folder { dir, path: self.at(name) })
    }

    pub fn make_folder(&self, name: &str, mode: u32) -> Result<(), StoreError> {
        self.dir.make_folder(name, mode).map_err(self.fail("make the folder", name))
    }

    pub fn look(&self, name: &str) -> Result<Stat, StoreError> {
        self.dir.look(name).map_err(self.fail("look at", name))
    }

    pub fn open(&self, name: &str, how: Open) -> Result<Box<dyn File>, StoreError> {
        let doing = match how {
            Open::Read => "read",
            Open::Append | Open::Any(_) => "open",
            Open::New(_) => "make",
        };
        self.dir.open(name, how).map_err(self.fail(doing, name))
    }

    pub fn rename(&self, from: &str, to: &str) -> Result<(), StoreError> {
        self.dir.rename(from, to).map_err(self.fail("rename", from))
    }

    pub fn rename_new(&self, from: &str, to: &str) -> Result<(), StoreError> {
        self.dir.rename_new(from, to).map_err(self.fail("rename", from))
    }

    pub fn exchange(&self, one: &str, other: &str) -> Result<(), StoreError> {
        self.dir.exchange(one, other).map_err(self.fail("exchange", other))
    }

    pub fn unlink(&self, name: &str) -> Result<(), StoreError> {
        self.dir.unlink(name).map_err(self.fail("remove", name))
    }

    /// Removes a file that may be missing already.
    pub fn clear(&self, name: &str) -> Result<(), StoreError> {
        optional(self.unlink(name)).map(drop)
    }

    pub fn names(&self) -> Result<Vec<String>, StoreError> {
        self.dir.names().map_err(self.fail("list", ""))
    }

    pub fn sync(&self) -> Result<(), StoreError> {
        self.dir.sync().map_err(self.fail("sync the folder", ""))
    }

    /// Writes all bytes, in as many writes as the disk needs.
    pub fn fill(&self, name: &str, file: &dyn File, mut bytes: &[u8]) -> Result<(), StoreError> {
        while !bytes.is_empty() {
            let taken = file.append(bytes).map_err(self.fail("write", name))?;
            if taken == 0 {
                return Err(self.fail("write", name)(io::ErrorKind::WriteZero.into()));
            }
            bytes = &bytes[taken..];
        }
        Ok(())
    }

    /// A new private file with these bytes, durable but for its name. What an earlier, killed attempt left
    /// under the name is removed first.
    pub fn stage(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.clear(name)?;
        let file = self.open(name, Open::New(FILE_MODE))?;
        self.fill(name, file.as_ref(), bytes)?;
        file.sync_data().map_err(self.fail("sync", name))
    }

    /// All bytes of a file, unless there are more than `limit`.
    pub fn read(&self, name: &str, limit: u64) -> Result<Vec<u8>, StoreError> {
        let file = self.open(name, Open::Read)?;
        let mut bytes = Vec::new();
        let mut block = vec![0; 64 * 1024];
        loop {
            let n = file.read_at(&mut block, bytes.len() as u64).map_err(self.fail("read", name))?;
            if n == 0 {
                return Ok(bytes);
            }
            bytes.extend_from_slice(&block[..n]);
            if bytes.len() as u64 > limit {
                let why = format!("it is longer than {limit} bytes");
                return Err(StoreError::Damaged { file: self.at(name), why });
            }
        }
    }
}

/// Files of ours are for their owner alone.
pub(crate) const FILE_MODE: u32 = 0o600;
/// Folders of ours are for their owner alone.
pub(crate) const FOLDER_MODE: u32 = 0o700;
