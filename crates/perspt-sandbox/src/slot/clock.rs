//! The slot's clock: what lets a build tool see that a file is another one now.
//!
//! Cargo rebuilds what is *newer* than its last build, at the resolution of the file system; a file put back
//! with its old time, or with the same time as the build, passes as built although other content was built.
//! So every file that is laid down gets a time later than any there was in the slot, by waiting until the
//! file system's own clock has gone on. A date ahead of the clock would make cargo build it again every time.
//!
//! A *deleted* file needs no time: cargo keeps a list of the files of each build and misses it, and its folder
//! gets a new time from the kernel. Python compares whole seconds and sizes for its byte-code, for which no
//! waiting would be short enough; byte-code caches are switched off by the stages and removed from the tree,
//! so that the finer steps do for Python too.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use super::error::SlotError;
use super::settle::read_small;
use super::stamp::FsTime;

/// One step of waiting. Common file systems tick every four milliseconds or finer.
const STEP: Duration = Duration::from_millis(1);
/// Steps until the clock counts as stuck: enough for file systems that write whole or even seconds.
const MOST_STEPS: u32 = 10_000;
/// A time this far ahead is not waited for: the clock was set back, or a program forged the time.
pub(super) const PATIENCE: Duration = Duration::from_secs(3);

/// Reads the clock of the file system that holds the slot, and keeps the last time that was seen.
#[derive(Debug)]
pub(super) struct SlotClock {
    dir: PathBuf,
}

impl SlotClock {
    pub(super) fn new(dir: &Path) -> SlotClock {
        SlotClock { dir: dir.to_owned() }
    }

    /// The time a file gets that is written now. The system clock would not do: the file system's may lag
    /// behind it or be another machine's.
    pub(super) fn now(&self) -> Result<FsTime, SlotError> {
        let path = self.dir.join("probe");
        let probe = || -> io::Result<FsTime> {
            let mut file = open_own(&path)?;
            file.write_all(b".")?;
            Ok(FsTime::modified(&file.metadata()?))
        };
        probe().map_err(SlotError::io("write", &path))
    }

    /// Waits until files written from here on are later than `latest`; returns a time that is, and that no
    /// such file will be before.
    pub(super) fn wait_past(&self, latest: FsTime) -> Result<FsTime, SlotError> {
        for _ in 0..MOST_STEPS {
            let now = self.now()?;
            if now > latest {
                return Ok(now);
            }
            thread::sleep(STEP);
        }
        Err(SlotError::ClockStuck { dir: self.dir.clone() })
    }

    /// The last time that was kept; `None` if there is none that can be read.
    pub(super) fn last(&self) -> Option<FsTime> {
        let bytes = read_small(&self.dir.join("clock"), 64).ok()??;
        let text = std::str::from_utf8(&bytes).ok()?.strip_suffix('\n')?;
        let (secs, nanos) = text.split_once('.')?;
        let nanos = nanos.parse().ok().filter(|_| nanos.len() == 9)?;
        Some(FsTime { secs: secs.parse().ok()?, nanos })
    }

    /// Keeps `time` as the last that was seen: one small write of always the same length, which a kill does
    /// not cut in two.
    pub(super) fn save(&self, time: FsTime) -> Result<(), SlotError> {
        let path = self.dir.join("clock");
        let text = format!("{:020}.{:09}\n", time.secs, time.nanos);
        open_own(&path)
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(SlotError::io("write", &path))
    }
}

/// Opens one of the slot's own files to write over its beginning. It is not emptied first: file systems take
/// that for the rewriting of something precious and begin to flush, which is slow.
fn open_own(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(false).open(path)
}

/// Replaces one of the slot's own files as a whole. It is not synced: after a power failure an older one is
/// as good, and what is half there is recognised.
pub(super) fn replace(dir: &Path, name: &str, bytes: &[u8]) -> Result<(), SlotError> {
    let (temp, path) = (dir.join(format!("{name}.new")), dir.join(name));
    fs::write(&temp, bytes).map_err(SlotError::io("write", &temp))?;
    fs::rename(&temp, &path).map_err(SlotError::io("replace", &path))
}
