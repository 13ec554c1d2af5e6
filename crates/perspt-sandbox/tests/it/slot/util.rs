//! Small means for the tests of trees and slots.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Cursor, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use perspt_core::hash::Sha;
use perspt_core::path::RelPath;
use perspt_core::tree::{Entry, EntryKind, Tree};
use perspt_sandbox::slot::{Contents, FsTime, Slot, StatCache, WalkError, WalkLimits, Walked, walk};
use tempfile::TempDir;

/// A lock that is free is taken at the first try, so this is never waited for.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub fn path(text: &str) -> RelPath {
    RelPath::parse(text).unwrap()
}

pub fn write(root: &Path, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
    let place = root.join(name);
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    fs::write(&place, text).unwrap();
    place
}

pub fn link(root: &Path, name: &str, text: &str) {
    let place = root.join(name);
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    symlink(text, place).unwrap();
}

pub fn chmod(place: &Path, mode: u32) {
    fs::set_permissions(place, fs::Permissions::from_mode(mode)).unwrap();
}

/// Sets a file's modification time, as `touch -d` does.
pub fn touch_to(place: &Path, time: std::time::SystemTime) {
    fs::File::open(place).unwrap().set_modified(time).unwrap();
}

pub fn mtime(place: &Path) -> FsTime {
    FsTime::modified(&fs::symlink_metadata(place).unwrap())
}

pub fn try_walk(root: &Path) -> Result<Walked, WalkError> {
    walk(root, &mut StatCache::new(), &WalkLimits::default())
}

pub fn walked(root: &Path) -> Walked {
    try_walk(root).unwrap()
}

pub fn names(tree: &Tree) -> Vec<&str> {
    tree.entries.keys().map(RelPath::as_str).collect()
}

/// Everything below a folder by path, folders (with a final slash) included, links not followed.
pub fn everything(root: &Path) -> Vec<String> {
    let mut all = Vec::new();
    let mut pending = vec![root.to_owned()];
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let name = entry.path().strip_prefix(root).unwrap().to_string_lossy().into_owned();
            if entry.file_type().unwrap().is_dir() {
                all.push(format!("{name}/"));
                pending.push(entry.path());
            } else {
                all.push(name);
            }
        }
    }
    all.sort();
    all
}

/// A tree whose contents lie in memory, by hash.
#[derive(Debug, Clone, Default)]
pub struct Made {
    pub tree: Tree,
    pub bytes: BTreeMap<Sha, Vec<u8>>,
}

impl Made {
    pub fn of(files: &[(&str, &str)]) -> Made {
        files.iter().fold(Made::default(), |made, (name, text)| made.with(name, EntryKind::File, text))
    }

    pub fn with(mut self, name: &str, kind: EntryKind, text: impl AsRef<[u8]>) -> Made {
        let bytes = text.as_ref();
        let hash = Sha::of(bytes);
        self.tree.entries.insert(path(name), Entry { kind, hash, size: bytes.len() as u64 });
        self.bytes.insert(hash, bytes.to_owned());
        self
    }

    /// Puts the files down by ordinary means, as a person's editor would.
    pub fn put(&self, root: &Path) {
        for (name, entry) in &self.tree.entries {
            let bytes = &self.bytes[&entry.hash];
            match entry.kind {
                EntryKind::Symlink => {
                    link(root, name.as_str(), std::ffi::OsStr::from_bytes(bytes).to_str().unwrap())
                }
                EntryKind::File | EntryKind::Exec => {
                    let place = write(root, name.as_str(), bytes);
                    chmod(&place, if entry.kind == EntryKind::Exec { 0o744 } else { 0o640 });
                }
            }
        }
    }
}

impl Contents for Made {
    fn open(&self, _path: &RelPath, entry: &Entry) -> io::Result<Box<dyn Read>> {
        let bytes = self.bytes.get(&entry.hash).ok_or(io::ErrorKind::NotFound)?;
        Ok(Box::new(Cursor::new(bytes.clone())))
    }
}

/// A slot in a temporary folder.
pub struct Place {
    pub slot: Slot,
    pub dir: PathBuf,
    pub _temp: TempDir,
}

impl Place {
    pub fn new() -> Place {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().join("slot");
        let slot = Slot::open(&dir, PATIENCE).unwrap();
        Place { slot, dir, _temp: temp }
    }

    /// Closes the slot and opens it again, as the next process would.
    pub fn reopened(self) -> Place {
        let Place { slot, dir, _temp } = self;
        drop(slot);
        let slot = Slot::open(&dir, PATIENCE).unwrap();
        Place { slot, dir, _temp }
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.slot.tree().join(name)
    }

    pub fn text(&self, name: &str) -> String {
        fs::read_to_string(self.file(name)).unwrap()
    }

    pub fn holds_exactly(&self, made: &Made) {
        let mut expected: Vec<String> = made.tree.entries.keys().map(RelPath::to_string).collect();
        let folders = made.tree.entries.keys().flat_map(RelPath::ancestors).filter(|at| !at.is_root());
        expected.extend(folders.map(|folder| format!("{folder}/")));
        expected.sort();
        expected.dedup();
        assert_eq!(everything(&self.slot.tree()), expected);
        for (name, entry) in &made.tree.entries {
            let place = self.file(name.as_str());
            let bytes = match entry.kind {
                EntryKind::Symlink => fs::read_link(&place).unwrap().as_os_str().as_bytes().to_owned(),
                EntryKind::File | EntryKind::Exec => fs::read(&place).unwrap(),
            };
            assert_eq!(bytes, made.bytes[&entry.hash], "{name}");
            let executable = fs::symlink_metadata(&place).unwrap().permissions().mode() & 0o100 != 0;
            assert!(
                entry.kind == EntryKind::Symlink || executable == (entry.kind == EntryKind::Exec),
                "{name}"
            );
        }
    }
}

/// Runs `act` without the rights of the superuser, whom no permission bits stop. Credentials belong to a
/// thread here, so the other tests keep theirs.
pub fn without_privilege(act: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            if rustix::process::geteuid().is_root() {
                let (uid, gid) =
                    (rustix::process::Uid::from_raw(65534), rustix::process::Gid::from_raw(65534));
                rustix::thread::set_thread_groups(&[]).unwrap();
                rustix::thread::set_thread_res_gid(gid, gid, gid).unwrap();
                rustix::thread::set_thread_res_uid(uid, uid, uid).unwrap();
            }
            act();
        });
        if let Err(panic) = thread.join() {
            std::panic::resume_unwind(panic);
        }
    });
}
