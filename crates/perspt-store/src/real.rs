//! The disk of the machine.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use perspt_core::ids::Millis;
use rustix::fs::{self, AtFlags, FlockOperation, Gid, Mode, OFlags, RenameFlags, Uid};

use crate::disk::{Dir, Disk, File, Kind, Locked, Open, Stat};

/// The real disk. It holds nothing; handles give up their locks and close when dropped. No handle is inherited by
/// a program that is started meanwhile.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealDisk;

struct Handle {
    file: std::fs::File,
    locked: AtomicBool,
}

impl From<std::fs::File> for Handle {
    fn from(file: std::fs::File) -> Handle {
        Handle { file, locked: AtomicBool::new(false) }
    }
}

impl Drop for Handle {
    /// A lock lives until the last copy of its handle is closed, and a child that another thread has just forked
    /// holds a copy until it becomes another program. So the lock is given up explicitly.
    fn drop(&mut self) {
        if *self.locked.get_mut() {
            // Closing the file is all that is left where this fails.
            let _ = fs::flock(&self.file, FlockOperation::Unlock);
        }
    }
}

const PERMISSIONS: u32 = 0o7777;

impl Disk for RealDisk {
    fn root(&self, path: &Path) -> io::Result<Arc<dyn Dir>> {
        let fd = fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Arc::new(Handle::from(std::fs::File::from(fd))))
    }
}

impl Handle {
    fn lock(&self) -> io::Result<Locked> {
        match fs::flock(&self.file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {
                self.locked.store(true, Ordering::Relaxed);
                Ok(Locked::Taken)
            }
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(Locked::Busy),
            Err(error) => Err(error.into()),
        }
    }

    fn rename_with(&self, from: &str, to: &str, flags: RenameFlags) -> io::Result<()> {
        Ok(fs::renameat_with(&self.file, from, &self.file, to, flags)?)
    }
}

impl Dir for Handle {
    fn stat(&self) -> io::Result<Stat> {
        Ok(stat_of(&self.file.metadata()?))
    }

    fn look(&self, name: &str) -> io::Result<Stat> {
        let stat = fs::statat(&self.file, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let kind = match fs::FileType::from_raw_mode(stat.st_mode) {
            fs::FileType::RegularFile => Kind::File,
            fs::FileType::Directory => Kind::Folder,
            fs::FileType::Symlink => Kind::Link,
            _ => Kind::Other,
        };
        Ok(Stat {
            kind,
            size: u64::try_from(stat.st_size).unwrap_or(0),
            mode: stat.st_mode & PERMISSIONS,
            uid: stat.st_uid,
            gid: stat.st_gid,
            modified: millis(stat.st_mtime, u32::try_from(stat.st_mtime_nsec).unwrap_or(0)),
        })
    }

    fn folder(&self, name: &str) -> io::Result<Arc<dyn Dir>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = fs::openat(&self.file, name, flags, Mode::empty())?;
        Ok(Arc::new(Handle::from(std::fs::File::from(fd))))
    }

    fn make_folder(&self, name: &str, mode: u32) -> io::Result<()> {
        Ok(fs::mkdirat(&self.file, name, Mode::from_raw_mode(mode))?)
    }

    fn remove_folder(&self, name: &str) -> io::Result<()> {
        Ok(fs::unlinkat(&self.file, name, AtFlags::REMOVEDIR)?)
    }

    fn open(&self, name: &str, how: Open) -> io::Result<Box<dyn File>> {
        // NONBLOCK, so that a pipe that took a file's place cannot hold us up.
        let common = OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let append = common | OFlags::RDWR | OFlags::APPEND;
        let (flags, mode) = match how {
            Open::Read => (common | OFlags::RDONLY, 0),
            Open::Append => (append, 0),
            Open::New(mode) => (append | OFlags::CREATE | OFlags::EXCL, mode),
            Open::Any(mode) => (append | OFlags::CREATE, mode),
        };
        let fd = fs::openat(&self.file, name, flags, Mode::from_raw_mode(mode))?;
        Ok(Box::new(Handle::from(std::fs::File::from(fd))))
    }

    fn read_link(&self, name: &str) -> io::Result<Vec<u8>> {
        Ok(fs::readlinkat(&self.file, name, Vec::new())?.into_bytes())
    }

    fn make_link(&self, name: &str, text: &[u8]) -> io::Result<()> {
        Ok(fs::symlinkat(OsStr::from_bytes(text), &self.file, name)?)
    }

    fn set_owner(&self, name: &str, uid: u32, gid: u32) -> io::Result<()> {
        let (uid, gid) = (Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)));
        Ok(fs::chownat(&self.file, name, uid, gid, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        Ok(fs::renameat(&self.file, from, &self.file, to)?)
    }

    fn rename_new(&self, from: &str, to: &str) -> io::Result<()> {
        self.rename_with(from, to, RenameFlags::NOREPLACE)
    }

    fn exchange(&self, one: &str, other: &str) -> io::Result<()> {
        self.rename_with(one, other, RenameFlags::EXCHANGE)
    }

    fn unlink(&self, name: &str) -> io::Result<()> {
        Ok(fs::unlinkat(&self.file, name, AtFlags::empty())?)
    }

    fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::Dir::read_from(&self.file)? {
            if let Ok(name) = entry?.file_name().to_str()
                && name != "."
                && name != ".."
            {
                names.push(name.to_owned());
            }
        }
        names.sort();
        Ok(names)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    fn try_lock(&self) -> io::Result<Locked> {
        self.lock()
    }
}

impl File for Handle {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(buffer, offset)
    }

    fn append(&self, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::io::write(&self.file, bytes)?)
    }

    fn truncate(&self, length: u64) -> io::Result<()> {
        self.file.set_len(length)
    }

    fn stat(&self) -> io::Result<Stat> {
        Dir::stat(self)
    }

    fn set_mode(&self, mode: u32) -> io::Result<()> {
        self.file.set_permissions(std::fs::Permissions::from_mode(mode))
    }

    fn set_owner(&self, uid: u32, gid: u32) -> io::Result<()> {
        Ok(fs::fchown(&self.file, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)))?)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn sync_all(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    fn try_lock(&self) -> io::Result<Locked> {
        self.lock()
    }
}

fn stat_of(metadata: &std::fs::Metadata) -> Stat {
    let kind = metadata.file_type();
    Stat {
        kind: if kind.is_file() {
            Kind::File
        } else if kind.is_dir() {
            Kind::Folder
        } else if kind.is_symlink() {
            Kind::Link
        } else {
            Kind::Other
        },
        size: metadata.len(),
        mode: metadata.mode() & PERMISSIONS,
        uid: metadata.uid(),
        gid: metadata.gid(),
        modified: millis(metadata.mtime(), u32::try_from(metadata.mtime_nsec()).unwrap_or(0)),
    }
}

fn millis(seconds: i64, nanos: u32) -> Millis {
    let seconds = u64::try_from(seconds).unwrap_or(0);
    Millis(seconds.saturating_mul(1000).saturating_add(u64::from(nanos) / 1_000_000))
}
