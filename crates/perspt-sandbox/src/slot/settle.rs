//! Reading a file that someone may be writing.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use perspt_core::hash::{Sha, ShaBuilder};
use rustix::fs::{Mode, OFlags};

use super::stamp::FileStamp;

/// How often a file is read before it counts as changing all the time.
pub const READ_TRIES: u32 = 3;

/// What is at a path, as far as it would hold still.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// A file or link that had this stamp before and after its bytes were read.
    Is(FileStamp, Sha),
    /// There is nothing at the path.
    Gone,
    /// A folder.
    Folder,
    /// A socket, fifo or device.
    Special,
    /// It was different after each of the readings.
    Changing,
}

/// Reads the file or link at `path` with `read` until its stamp is the same before and after.
pub fn settle(
    path: &Path,
    read: &mut dyn FnMut(&Path, &FileStamp) -> io::Result<Sha>,
) -> io::Result<Settled> {
    for _ in 0..READ_TRIES {
        let Some(meta) = present(fs::symlink_metadata(path))? else { return Ok(Settled::Gone) };
        let Some(before) = FileStamp::of(&meta) else {
            return Ok(if meta.is_dir() { Settled::Folder } else { Settled::Special });
        };
        let hash = read(path, &before);
        let after = present(fs::symlink_metadata(path))?.and_then(|meta| FileStamp::of(&meta));
        if after == Some(before) {
            // Only now does an error count: one from a file that was replaced meanwhile says nothing.
            return Ok(Settled::Is(before, hash?));
        }
    }
    Ok(Settled::Changing)
}

/// The hash of a file's bytes or a link's text. A link is never followed, and nothing that could block is
/// opened for waiting.
pub fn read_hash(path: &Path, stamp: &FileStamp) -> io::Result<Sha> {
    match stamp.kind {
        perspt_core::tree::EntryKind::Symlink => Ok(Sha::of(fs::read_link(path)?.as_os_str().as_bytes())),
        perspt_core::tree::EntryKind::File | perspt_core::tree::EntryKind::Exec => {
            let mut file = open_regular(path)?;
            let mut builder = ShaBuilder::default();
            let mut buffer = vec![0; 64 * 1024];
            loop {
                match file.read(&mut buffer) {
                    Ok(0) => return Ok(builder.finish()),
                    Ok(count) => builder.update(&buffer[..count]),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
        }
    }
}

/// Opens a regular file for reading; anything else is an error. `NONBLOCK` keeps a fifo that took the file's
/// place from blocking the open.
pub(super) fn open_regular(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"))
    }
}

/// The bytes of a regular file of at most `most` bytes; `None` if there is nothing of that name.
pub(super) fn read_small(path: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
    let Some(file) = present(open_regular(path))? else { return Ok(None) };
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(Some(bytes))
}

/// Turns "there is nothing" into `None`.
pub(super) fn present<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether the error says that there is nothing of that name.
pub(super) fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
