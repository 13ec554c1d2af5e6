//! Which files need not be read again.

use std::collections::BTreeMap;

use perspt_core::hash::Sha;
use perspt_core::path::RelPath;
use perspt_core::tree::{Entry, EntryKind};

use super::codec::{Fields, put_sized, put_time, seal, unseal};
use super::stamp::{FileStamp, FsTime};

/// Content hashes of files as they were last read, by path, each with the [`FileStamp`] the file had.
///
/// A hash is used again only where every field of the stamp is the same. The change time is what makes that
/// sound: the kernel sets it from the system clock at every write, truncation, rename, chmod or utime, and a
/// program cannot set it. But clocks tick: a write within the same tick as the one before leaves the change
/// time as it was. So a file is remembered only if its change time lies before a *floor*, a moment that any
/// later change must reach; see [`StatCache::record`]. A file that was changed too recently is not remembered
/// and will be read again next time.
///
/// Limits: a program that keeps a file mapped and writes to it through the mapping may change it twice with
/// one change time, and someone who sets the system clock back can forge one. In a slot no program of a stage
/// is left when stamps are taken.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatCache {
    known: BTreeMap<RelPath, Known>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Known {
    stamp: FileStamp,
    hash: Sha,
}

const FORMAT: &[u8; 8] = b"pstat-01";

impl StatCache {
    /// A cache that knows nothing.
    pub fn new() -> StatCache {
        StatCache::default()
    }

    /// The hash of the file at `path`, if a file with exactly this stamp was read there.
    pub fn trusted(&self, path: &RelPath, stamp: &FileStamp) -> Option<Sha> {
        self.known.get(path).filter(|known| known.stamp == *stamp).map(|known| known.hash)
    }

    /// Remembers that the file at `path`, when it had `stamp`, held bytes with this hash; or forgets what was
    /// known about `path`, if the stamp is too young to tell a later change.
    ///
    /// `floor`: whatever is changed after the file was read gets a change time of at least this.
    pub fn record(&mut self, path: RelPath, stamp: FileStamp, hash: Sha, floor: FsTime) {
        if stamp.ctime < floor {
            self.known.insert(path, Known { stamp, hash });
        } else {
            self.known.remove(&path);
        }
    }

    /// Remembers a file whose stamp was settled before.
    pub(super) fn carry(&mut self, path: RelPath, stamp: FileStamp, hash: Sha) {
        self.known.insert(path, Known { stamp, hash });
    }

    /// How many files are known.
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Every known file as the entry of a tree.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&RelPath, Entry)> {
        self.known.iter().map(|(path, known)| {
            (path, Entry { kind: known.stamp.kind, hash: known.hash, size: known.stamp.size })
        })
    }

    /// The cache as bytes, for the caller to keep.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.known.len() * 128);
        for (path, Known { stamp, hash }) in &self.known {
            put_sized(&mut out, path.as_str().as_bytes());
            out.push(match stamp.kind {
                EntryKind::File => 0,
                EntryKind::Exec => 1,
                EntryKind::Symlink => 2,
            });
            out.extend_from_slice(&stamp.size.to_be_bytes());
            put_time(&mut out, stamp.mtime);
            put_time(&mut out, stamp.ctime);
            out.extend_from_slice(&stamp.ino.to_be_bytes());
            out.extend_from_slice(&hash.0);
        }
        seal(FORMAT, &out)
    }

    /// The cache those bytes hold; an empty one if they are of another version, cut or damaged.
    pub fn from_bytes(bytes: &[u8]) -> StatCache {
        StatCache::read(bytes).unwrap_or_default()
    }

    pub(super) fn read(bytes: &[u8]) -> Option<StatCache> {
        let mut fields = Fields(unseal(FORMAT, bytes)?);
        let mut known = BTreeMap::new();
        while !fields.0.is_empty() {
            let path = RelPath::parse(std::str::from_utf8(fields.sized()?).ok()?).ok()?;
            let kind = match fields.byte()? {
                0 => EntryKind::File,
                1 => EntryKind::Exec,
                2 => EntryKind::Symlink,
                _ => return None,
            };
            let size = fields.u64()?;
            let (mtime, ctime) = (fields.time()?, fields.time()?);
            let ino = fields.u64()?;
            let stamp = FileStamp { kind, size, mtime, ctime, ino };
            known.insert(path, Known { stamp, hash: Sha(fields.array()?) });
        }
        Some(StatCache { known })
    }
}
