//! Removing what programs left behind, whatever they made.

use std::fs::{self, Metadata, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::error::SlotError;
use super::settle::present;

/// A folder of the slot, out of the reach of tools, into which folders are moved before they are taken apart.
///
/// Every folder is moved to the top of it first, so that neither the depth of what a program made nor the
/// length of its paths matters, and so that a kill half-way leaves nothing in the tree. What is left here is
/// removed when the slot is opened next. Links are removed, never followed.
#[derive(Debug)]
pub(super) struct Trash {
    dir: PathBuf,
    next: u64,
}

impl Trash {
    pub(super) fn new(slot: &Path) -> Trash {
        Trash { dir: slot.join("trash"), next: 0 }
    }

    /// Takes away what is at `path`: a file or link at once, a folder by moving it here.
    pub(super) fn take(&mut self, path: &Path) -> Result<(), SlotError> {
        let meta = present(fs::symlink_metadata(path)).map_err(SlotError::io("remove", path))?;
        let Some(meta) = meta else { return Ok(()) };
        if !meta.is_dir() {
            return fs::remove_file(path).map_err(SlotError::io("remove", path));
        }
        make_usable(path, &meta).map_err(SlotError::io("open up", path))?;
        make_folder(&self.dir)?;
        self.next += 1;
        fs::rename(path, self.dir.join(self.next.to_string())).map_err(SlotError::io("remove", path))
    }

    /// Removes everything that was moved here.
    pub(super) fn empty(&mut self) -> Result<(), SlotError> {
        loop {
            let Some(entries) = present(fs::read_dir(&self.dir)).map_err(SlotError::io("list", &self.dir))?
            else {
                return Ok(());
            };
            let mut names: Vec<u64> = Vec::new();
            for entry in entries {
                let name = entry.map_err(SlotError::io("list", &self.dir))?.file_name();
                names.extend(name.to_str().and_then(|name| name.parse::<u64>().ok()));
            }
            // After a kill there may be numbers from before.
            self.next = self.next.max(names.iter().copied().max().unwrap_or(0));
            if names.is_empty() {
                return fs::remove_dir(&self.dir).map_err(SlotError::io("remove", &self.dir));
            }
            for name in names {
                self.take_apart(&self.dir.join(name.to_string()))?;
            }
        }
    }

    /// Empties one folder, which was made usable when it came here, and removes it; the folders in it come to
    /// lie beside it.
    fn take_apart(&mut self, folder: &Path) -> Result<(), SlotError> {
        let entries: io::Result<Vec<fs::DirEntry>> = fs::read_dir(folder).and_then(Iterator::collect);
        for entry in entries.map_err(SlotError::io("list", folder))? {
            self.take(&entry.path())?;
        }
        fs::remove_dir(folder).map_err(SlotError::io("remove", folder))
    }
}

/// Gives the owner all rights to a folder that a program made read-only or unreadable. `meta` must say that
/// it is a folder and no link.
pub(super) fn make_usable(folder: &Path, meta: &Metadata) -> io::Result<()> {
    let mode = meta.permissions().mode();
    if mode & 0o700 == 0o700 {
        return Ok(());
    }
    fs::set_permissions(folder, Permissions::from_mode(mode & 0o7777 | 0o700))
}

/// Makes sure there is a folder for its owner alone.
pub(super) fn make_folder(path: &Path) -> Result<(), SlotError> {
    match fs::create_dir(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(SlotError::io("create", path)(error));
        }
        Ok(()) | Err(_) => {}
    }
    let meta = fs::symlink_metadata(path).map_err(SlotError::io("look at", path))?;
    if !meta.is_dir() {
        return Err(SlotError::NotAFolder { path: path.to_owned() });
    }
    if meta.permissions().mode() & 0o7777 != 0o700 {
        fs::set_permissions(path, Permissions::from_mode(0o700)).map_err(SlotError::io("set up", path))?;
    }
    Ok(())
}
