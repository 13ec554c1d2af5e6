//! What the file system says about a file without reading it.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use perspt_core::tree::EntryKind;

/// A moment as a file system writes it down.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FsTime {
    /// Whole seconds since 1970; negative before.
    pub secs: i64,
    /// Nanoseconds within the second.
    pub nanos: u32,
}

impl FsTime {
    /// The system clock's time; the epoch for a clock set before it, so that nothing counts as older.
    pub fn of_system(time: SystemTime) -> FsTime {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        FsTime { secs: i64::try_from(since.as_secs()).unwrap_or(i64::MAX), nanos: since.subsec_nanos() }
    }

    /// This moment and `span` more.
    pub fn plus(self, span: Duration) -> FsTime {
        let nanos = self.nanos + span.subsec_nanos();
        let secs = i64::try_from(span.as_secs()).unwrap_or(i64::MAX);
        FsTime {
            secs: self.secs.saturating_add(secs).saturating_add(i64::from(nanos / 1_000_000_000)),
            nanos: nanos % 1_000_000_000,
        }
    }

    /// The last modification of what `meta` describes.
    pub fn modified(meta: &Metadata) -> FsTime {
        FsTime::of_parts(meta.mtime(), meta.mtime_nsec())
    }

    fn of_parts(secs: i64, nanos: i64) -> FsTime {
        FsTime { secs, nanos: u32::try_from(nanos).unwrap_or_default() }
    }
}

/// A file's size, times, inode and kind: if all are as they were, and the change time is old enough (see
/// [`StatCache`](super::StatCache)), so is its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileStamp {
    /// Regular, executable or link.
    pub kind: EntryKind,
    /// Bytes, or the length of the link's text.
    pub size: u64,
    /// Last modification. Programs can set it to anything.
    pub mtime: FsTime,
    /// Last change of content or attributes. Only the kernel sets it, from the system clock.
    pub ctime: FsTime,
    /// The inode, so that a file renamed into place is seen as another one.
    pub ino: u64,
}

impl FileStamp {
    /// The stamp of what `meta` describes; `None` for anything that is not a file or a link. `meta` must
    /// come from a call that does not follow links.
    pub fn of(meta: &Metadata) -> Option<FileStamp> {
        let kind = if meta.file_type().is_symlink() {
            EntryKind::Symlink
        } else if !meta.file_type().is_file() {
            return None;
        } else if meta.mode() & 0o100 != 0 {
            EntryKind::Exec
        } else {
            EntryKind::File
        };
        Some(FileStamp {
            kind,
            size: meta.size(),
            mtime: FsTime::modified(meta),
            ctime: FsTime::of_parts(meta.ctime(), meta.ctime_nsec()),
            ino: meta.ino(),
        })
    }
}
