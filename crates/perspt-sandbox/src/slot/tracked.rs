//! The files that git tracks although a rule leaves them out.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use perspt_core::path::RelPath;

use super::error::{IndexProblem, WalkError, WalkNote};
use super::git_index::{self, IndexExtent};
use super::names::{GIT, at, is_publish_temp};
use super::settle::{present, read_small};
use super::walk::{MAX_TEXT, Walk, shown_below};

/// An index of 200,000 files takes about 30 MB.
const MAX_INDEX: u64 = 128 << 20;

impl Walk<'_> {
    /// Takes in the files that the repositories track and that are not in the tree yet, because a rule leaves
    /// them out.
    pub(super) fn tracked(&mut self) -> Result<(), WalkError> {
        let mut folders = BTreeMap::new();
        for (folder, index) in std::mem::take(&mut self.repositories) {
            let bytes = match read_small(&index, MAX_INDEX) {
                Ok(Some(bytes)) => bytes,
                Ok(None) => continue,
                Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
                    self.note_index(&folder, IndexProblem::TooLarge);
                    continue;
                }
                Err(error) => {
                    self.note_index(&folder, IndexProblem::Unreadable(error.kind()));
                    continue;
                }
            };
            let mut failed = None;
            let extent = git_index::each_path(&bytes, &mut |name| {
                if failed.is_none() {
                    failed = self.tracked_path(&folder, name, &mut folders).err();
                }
            });
            if let Some(error) = failed {
                return Err(error);
            }
            match extent {
                Ok(IndexExtent::Whole) => {}
                Ok(IndexExtent::Split) => self.note_index(&folder, IndexProblem::Split),
                Err(problem) => self.note_index(&folder, problem),
            }
        }
        Ok(())
    }

    fn tracked_path(
        &mut self,
        folder: &RelPath,
        name: &[u8],
        folders: &mut BTreeMap<RelPath, bool>,
    ) -> Result<(), WalkError> {
        let Ok(text) = std::str::from_utf8(name) else {
            let path = at(self.root, folder).join(OsStr::from_bytes(name));
            return match fs::symlink_metadata(path) {
                Ok(_) => {
                    Err(WalkError::NotUtf8 { shown: shown_below(folder, &String::from_utf8_lossy(name)) })
                }
                Err(_) => Ok(()),
            };
        };
        // An index is data from outside: a path that is not in its plain form is no file of ours.
        let Some(path) = folder.join(text).ok().filter(|path| path.below(folder) == Some(text)) else {
            return Ok(());
        };
        let reserved = path.parts().any(|part| part == GIT) || is_publish_temp(path.name());
        if reserved || self.out.tree.entries.contains_key(&path) || !self.reachable(&path, folders)? {
            return Ok(());
        }
        self.take(path)
    }

    /// Whether all folders above `path` are folders and none is a link.
    fn reachable(&self, path: &RelPath, folders: &mut BTreeMap<RelPath, bool>) -> Result<bool, WalkError> {
        let mut above: Vec<RelPath> = path.ancestors().filter(|folder| !folder.is_root()).collect();
        while let Some(folder) = above.pop() {
            let real = match folders.get(&folder) {
                Some(real) => *real,
                None => {
                    let real = present(fs::symlink_metadata(at(self.root, &folder)))
                        .map_err(|source| WalkError::Io { path: folder.clone(), source })?
                        .is_some_and(|meta| meta.is_dir());
                    folders.insert(folder, real);
                    real
                }
            };
            if !real {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(super) fn note_index(&mut self, folder: &RelPath, problem: IndexProblem) {
        self.out.notes.push(WalkNote::Index { folder: folder.clone(), problem });
    }
}

/// Where the repository whose `.git` lies in `folder` keeps its index: `.git` itself, or the folder that a
/// `.git` file names (a linked work tree, a submodule).
pub(super) fn git_folder(folder: &Path) -> io::Result<Option<PathBuf>> {
    let git = folder.join(GIT);
    if fs::metadata(&git)?.is_dir() {
        return Ok(Some(git));
    }
    let text = read_small(&git, MAX_TEXT)?.unwrap_or_default();
    let Some(target) = text.strip_prefix(b"gitdir: ") else { return Ok(None) };
    let end = target.iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(target.len());
    let target = folder.join(OsStr::from_bytes(&target[..end]));
    fs::metadata(&target)?;
    Ok(Some(target))
}
