//! Making a slot's tree folder hold exactly a tree.

use std::ffi::OsStr;
use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use perspt_core::hash::{Sha, ShaBuilder};
use perspt_core::path::RelPath;
use perspt_core::tree::{Entry, EntryKind, Tree};
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_NOW};

use super::cache::StatCache;
use super::clock::PATIENCE;
use super::contents::Contents;
use super::error::SlotError;
use super::names::at;
use super::place::{Slot, Trust};
use super::scan::{Scan, Shape, scan};
use super::settle::{Settled, is_absent, present, read_hash, settle};
use super::stamp::{FileStamp, FsTime};

/// What a layout did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LaidOut {
    /// Files whose content was written.
    pub written: u64,
    /// Things that were removed; a folder that had no place counts once with all that was in it.
    pub removed: u64,
    /// Files that were right and were left alone, times included.
    pub kept: u64,
    /// Files that held the right bytes but had been touched since, and so got the time of now.
    pub refreshed: u64,
    /// Files that were read to find out whether they are right.
    pub hashed: u64,
    /// What became of the build folder.
    pub build: Build,
}

/// What a layout did to the build folder.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Build {
    /// It is as it was.
    #[default]
    Kept,
    /// It was emptied: the clock is behind the slot's last time (or that is lost), so times of now would say
    /// nothing against the times in it.
    Wiped,
}

/// How a file in the slot stands to what it should be.
pub(super) enum Standing {
    /// Right, with a stamp that proves it from now on.
    Right(FileStamp),
    /// The right bytes, but touched since it was laid down, or not known at all. A program may have built from
    /// other bytes and then put these back with an old time, so it must get a time of now.
    Touched,
    /// Absent or other.
    Wrong,
}

/// The longest text the kernel takes for a link.
const LONGEST_LINK: u64 = 4096;

impl Slot {
    /// Makes the tree folder hold exactly `target`: files that are right are left alone, others are written,
    /// and everything that is not listed is removed, ignored files, caches and empty folders too (mount
    /// points stay, empty).
    ///
    /// Whatever is written is later than anything that was in the slot before. A kill at any instant leaves a
    /// slot that the next layout brings right: files come into place by rename, and the record of their
    /// stamps is replaced last; a file that is not as recorded is read again. On an error, too, the tree
    /// folder may be part old, part new.
    pub fn lay_out(&mut self, target: &Tree, contents: &dyn Contents) -> Result<LaidOut, SlotError> {
        let shape = Shape::of(target, &self.mounts)?;
        let mut out = LaidOut::default();
        let now = self.clock.now()?;
        let last = self.check_clock(now, &mut out)?;
        let scan = scan(&self.tree(), &shape)?;
        for stray in &scan.strays {
            self.trash.take(&stray.place)?;
            out.removed += 1;
        }
        let mut files = StatCache::new();
        let mut due = Vec::new();
        for (path, entry) in &target.entries {
            match self.standing(path, entry, scan.found.get(path), now, &mut out.hashed)? {
                Standing::Right(stamp) => {
                    files.carry(path.clone(), stamp, entry.hash);
                    out.kept += 1;
                }
                Standing::Touched => due.push((path, entry, Due::Refresh)),
                Standing::Wrong => due.push((path, entry, Due::Write)),
            }
        }
        self.make_folders(&shape)?;
        if !due.is_empty() {
            self.clock.wait_past(last.max(now).max(believable(&scan, now)))?;
        }
        let mut fresh = Vec::new();
        for (path, entry, due) in due {
            let stamp = match due {
                Due::Refresh => self.refresh(path, entry)?,
                Due::Write => self.write(path, entry, contents)?,
            };
            match due {
                Due::Refresh => out.refreshed += 1,
                Due::Write => out.written += 1,
            }
            fresh.push((path.clone(), stamp, entry.hash));
        }
        self.settle_stamps(files, fresh)?;
        self.trash.empty()?;
        Ok(out)
    }

    /// The slot's last time; or, where the clock is far behind it or it is lost, nothing, after everything
    /// that depends on times has been given up.
    fn check_clock(&mut self, now: FsTime, out: &mut LaidOut) -> Result<FsTime, SlotError> {
        if let Some(last) = self.clock.last().filter(|last| *last <= now.plus(PATIENCE)) {
            return Ok(last);
        }
        let build = self.build();
        let mut entries = fs::read_dir(&build).map_err(SlotError::io("list", &build))?;
        if entries.next().is_some() {
            out.build = Build::Wiped;
            self.wipe_build()?;
        }
        self.laid = None;
        Ok(FsTime::default())
    }

    /// How the file at `path`, found with the given stamp, stands to `entry`. Reads it only if the stamp does
    /// not tell.
    pub(super) fn standing(
        &self,
        path: &RelPath,
        entry: &Entry,
        found: Option<&FileStamp>,
        now: FsTime,
        hashed: &mut u64,
    ) -> Result<Standing, SlotError> {
        let Some(stamp) = found.filter(|stamp| stamp.kind == entry.kind) else { return Ok(Standing::Wrong) };
        let known = self.laid.as_ref().and_then(|laid| Some((laid.files.trusted(path, stamp)?, laid.trust)));
        if let Some((hash, Trust::Stamps)) = known {
            return Ok(if hash == entry.hash { Standing::Right(*stamp) } else { Standing::Wrong });
        }
        *hashed += 1;
        let place = at(&self.tree(), path);
        match settle(&place, &mut read_hash) {
            Ok(Settled::Is(stamp, hash)) if hash == entry.hash && stamp.kind == entry.kind => {
                // A change time that is not past could stay the same through a change.
                let unmoved = known.is_some() && stamp.ctime < now;
                Ok(if unmoved { Standing::Right(stamp) } else { Standing::Touched })
            }
            Ok(Settled::Is(..) | Settled::Gone | Settled::Folder | Settled::Special) => Ok(Standing::Wrong),
            Ok(Settled::Changing) => Err(SlotError::Changing { path: path.clone() }),
            // A program took away the right to read it: it will be written anew.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(Standing::Wrong),
            Err(error) => Err(SlotError::io("read", place)(error)),
        }
    }

    fn make_folders(&self, shape: &Shape<'_>) -> Result<(), SlotError> {
        for folder in &shape.folders {
            let place = at(&self.tree(), folder);
            match fs::create_dir(&place) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(SlotError::io("create", place)(error));
                }
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }

    /// Writes one file beside the tree and renames it into place. It is always a new inode: a link that a
    /// program made to the old one stays with the old bytes.
    fn write(&self, path: &RelPath, entry: &Entry, contents: &dyn Contents) -> Result<FileStamp, SlotError> {
        let incoming = self.dir.join("incoming");
        let gone = || SlotError::BaseGone { path: path.clone() };
        let mut reader = contents.open(path, entry).map_err(|error| {
            if is_absent(&error) {
                gone()
            } else {
                SlotError::io("read the content of", path.as_str())(error)
            }
        })?;
        present(fs::remove_file(&incoming)).map_err(SlotError::io("remove", &incoming))?;
        let hash = match entry.kind {
            EntryKind::Symlink => write_link(&incoming, reader.as_mut()),
            EntryKind::File | EntryKind::Exec => write_file(&incoming, mode(entry.kind), reader.as_mut()),
        };
        if hash.map_err(SlotError::io("write", &incoming))? != Some(entry.hash) {
            return Err(gone());
        }
        let place = at(&self.tree(), path);
        fs::rename(&incoming, &place).map_err(SlotError::io("write", &place))?;
        stamp_of(&place, entry)
    }

    /// Gives a file that holds the right bytes the time of now, and its usual rights.
    pub(super) fn refresh(&self, path: &RelPath, entry: &Entry) -> Result<FileStamp, SlotError> {
        let place = at(&self.tree(), path);
        if entry.kind != EntryKind::Symlink {
            fs::set_permissions(&place, Permissions::from_mode(mode(entry.kind)))
                .map_err(SlotError::io("set up", &place))?;
        }
        let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
        let times = Timestamps { last_access: now, last_modification: now };
        rustix::fs::utimensat(CWD, &place, &times, AtFlags::SYMLINK_NOFOLLOW)
            .map_err(|error| SlotError::io("touch", &place)(error.into()))?;
        stamp_of(&place, entry)
    }

    /// Waits until the stamps of `fresh` files can tell a later change, then remembers them with the rest.
    pub(super) fn settle_stamps(
        &mut self,
        mut files: StatCache,
        fresh: Vec<(RelPath, FileStamp, Sha)>,
    ) -> Result<(), SlotError> {
        let floor = match fresh.iter().map(|(_, stamp, _)| stamp.ctime).max() {
            Some(latest) => self.clock.wait_past(latest)?,
            None => self.clock.now()?,
        };
        for (path, stamp, hash) in fresh {
            files.record(path, stamp, hash, floor);
        }
        self.clock.save(floor)?;
        self.remember(files)
    }
}

#[derive(Clone, Copy)]
enum Due {
    Refresh,
    Write,
}

/// The latest time in the tree that is worth waiting for. One far ahead is a program's forgery: its file is
/// not as recorded, and so is put right in any case.
pub(super) fn believable(scan: &Scan, now: FsTime) -> FsTime {
    if scan.latest <= now.plus(PATIENCE) { scan.latest } else { now }
}

fn mode(kind: EntryKind) -> u32 {
    match kind {
        EntryKind::Exec => 0o755,
        EntryKind::File | EntryKind::Symlink => 0o644,
    }
}

fn stamp_of(place: &Path, entry: &Entry) -> Result<FileStamp, SlotError> {
    let meta = fs::symlink_metadata(place).map_err(SlotError::io("look at", place))?;
    FileStamp::of(&meta).filter(|stamp| stamp.kind == entry.kind).ok_or_else(|| {
        SlotError::io("lay down", place)(io::Error::other("it is of another kind than was written"))
    })
}

/// Writes a new file and returns the hash of what was written.
fn write_file(place: &Path, mode: u32, reader: &mut dyn Read) -> io::Result<Option<Sha>> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(place)?;
    let mut builder = ShaBuilder::default();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => {
                builder.update(&buffer[..count]);
                file.write_all(&buffer[..count])?;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    // Not left to the process's mask, which might take the owner's right to execute.
    file.set_permissions(Permissions::from_mode(mode))?;
    Ok(Some(builder.finish()))
}

/// Makes a link and returns the hash of its text; `None` for a text that no link can have.
fn write_link(place: &Path, reader: &mut dyn Read) -> io::Result<Option<Sha>> {
    let mut text = Vec::new();
    reader.take(LONGEST_LINK).read_to_end(&mut text)?;
    if text.is_empty() || text.len() as u64 == LONGEST_LINK || text.contains(&0) {
        return Ok(None);
    }
    symlink(OsStr::from_bytes(&text), place)?;
    Ok(Some(Sha::of(&text)))
}
