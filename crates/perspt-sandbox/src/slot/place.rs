//! The slot itself: its folders, its lock and what it remembers.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use perspt_core::path::RelPath;
use perspt_core::tree::Tree;
use rustix::fs::FlockOperation;
use rustix::io::Errno;

use super::cache::StatCache;
use super::clock::{SlotClock, replace};
use super::codec::{Fields, put_sized, seal, unseal};
use super::error::SlotError;
use super::remove::{Trash, make_folder};
use super::settle::read_small;

/// A warm folder in which one branch at a time is laid out, held by this process.
///
/// `tree`, `build`, `tmp` and `assets` are for tools; beside them lie files of its own (`lock`, `clock`,
/// `index`, and for moments `incoming`, `probe`, `trash`), which tools must not be able to write.
#[derive(Debug)]
pub struct Slot {
    pub(super) dir: PathBuf,
    lock: File,
    pub(super) mounts: Vec<RelPath>,
    pub(super) laid: Option<Laid>,
    pub(super) clock: SlotClock,
    pub(super) trash: Trash,
}

/// What is known about the files that were laid out last.
#[derive(Debug)]
pub(super) struct Laid {
    pub(super) files: StatCache,
    pub(super) trust: Trust,
}

/// How far the stamps of files can be relied on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trust {
    /// A file with its known stamp is unchanged.
    Stamps,
    /// They were taken before the machine was started last: after a power failure a file may have its stamp
    /// but not its bytes, so these are read once more.
    Bytes,
}

const FORMAT: &[u8; 8] = b"pslot-01";
/// 200,000 files with long paths stay well below.
const MAX_INDEX: u64 = 256 << 20;
/// How often a lock that is held is tried again.
const LOCK_STEP: Duration = Duration::from_millis(5);

impl Slot {
    /// Opens the slot in `dir`, creating what is missing, and takes its lock. A helper process that is about
    /// to end may still hold it, so this waits for up to `patience` and then says [`SlotError::Busy`].
    pub fn open(dir: &Path, patience: Duration) -> Result<Slot, SlotError> {
        DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(SlotError::io("create", dir))?;
        make_folder(dir)?;
        let path = dir.join("lock");
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        options.custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed());
        let lock = options.open(&path).map_err(SlotError::io("open", &path))?;
        take_lock(&lock, dir, patience)?;
        let mut slot = Slot {
            dir: dir.to_owned(),
            lock,
            mounts: Vec::new(),
            laid: None,
            clock: SlotClock::new(dir),
            trash: Trash::new(dir),
        };
        slot.trash.empty()?;
        for folder in [slot.tree(), slot.build(), slot.tmp(), slot.assets()] {
            make_folder(&folder)?;
        }
        slot.laid = slot.read_index();
        Ok(slot)
    }

    /// Folders that are kept, empty, in the tree although it does not list them, because something is mounted
    /// over them while a stage runs.
    pub fn set_mount_points(&mut self, mounts: Vec<RelPath>) {
        self.mounts = mounts;
    }

    /// The slot's own folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Where a branch is laid out.
    pub fn tree(&self) -> PathBuf {
        self.dir.join("tree")
    }

    /// Where tools build; it outlives a layout.
    pub fn build(&self) -> PathBuf {
        self.dir.join("build")
    }

    /// Where tools put what need not last.
    pub fn tmp(&self) -> PathBuf {
        self.dir.join("tmp")
    }

    /// Where what we give to tools lies (our own small runners and configurations).
    pub fn assets(&self) -> PathBuf {
        self.dir.join("assets")
    }

    /// The lock, for a helper process to inherit: the slot then stays taken until that process has ended
    /// too. The descriptor is closed on exec unless the caller arranges otherwise.
    pub fn lock_fd(&self) -> BorrowedFd<'_> {
        self.lock.as_fd()
    }

    /// The tree that was laid out last, if its record is whole.
    pub fn laid_tree(&self) -> Option<Tree> {
        let entries = self.laid.as_ref()?.files.entries();
        Some(Tree { entries: entries.map(|(path, entry)| (path.clone(), entry)).collect() })
    }

    /// Empties `tmp`.
    pub fn reset_tmp(&mut self) -> Result<(), SlotError> {
        self.renew(&self.tmp())
    }

    /// Empties `build`, so that everything is built anew.
    pub fn wipe_build(&mut self) -> Result<(), SlotError> {
        self.renew(&self.build())
    }

    fn renew(&mut self, folder: &Path) -> Result<(), SlotError> {
        self.trash.take(folder)?;
        make_folder(folder)?;
        self.trash.empty()
    }

    fn read_index(&self) -> Option<Laid> {
        let bytes = read_small(&self.dir.join("index"), MAX_INDEX).ok()??;
        let mut fields = Fields(unseal(FORMAT, &bytes)?);
        let boot = fields.sized()?;
        let files = StatCache::read(fields.sized()?)?;
        let this_boot = boot_id();
        let trust =
            if !boot.is_empty() && boot == this_boot.as_slice() { Trust::Stamps } else { Trust::Bytes };
        Some(Laid { files, trust })
    }

    /// Remembers the files of a finished layout; the last step of one.
    pub(super) fn remember(&mut self, files: StatCache) -> Result<(), SlotError> {
        let same = self.laid.as_ref().is_some_and(|laid| laid.trust == Trust::Stamps && laid.files == files);
        if !same {
            let mut content = Vec::new();
            put_sized(&mut content, &boot_id());
            put_sized(&mut content, &files.to_bytes());
            replace(&self.dir, "index", &seal(FORMAT, &content))?;
            self.laid = Some(Laid { files, trust: Trust::Stamps });
        }
        Ok(())
    }
}

/// What the kernel calls the time since the machine was started; empty where it does not say, which is then
/// never the same.
fn boot_id() -> Vec<u8> {
    fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default()
}

fn take_lock(lock: &File, dir: &Path, patience: Duration) -> Result<(), SlotError> {
    let started = Instant::now();
    loop {
        match rustix::fs::flock(lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(Errno::WOULDBLOCK) if started.elapsed() >= patience => {
                return Err(SlotError::Busy { dir: dir.to_owned() });
            }
            Err(Errno::WOULDBLOCK) => thread::sleep(LOCK_STEP),
            Err(error) => return Err(SlotError::io("lock", dir)(error.into())),
        }
    }
}
