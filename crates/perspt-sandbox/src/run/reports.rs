//! Report files: gone before the run, collected after it.
//!
//! They lie where the command may write, so it may have put anything there. Nothing is reached through
//! a symbolic link, nothing but a plain file is read, and not without end.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::{CommandSpec, SandboxError, SandboxSpec};

/// A larger report is refused.
pub(super) const LARGEST: u64 = 32 * 1024 * 1024;

/// What was found after the run.
#[derive(Default)]
pub(super) struct Collected {
    pub taken: BTreeMap<PathBuf, Vec<u8>>,
    pub refused: BTreeMap<PathBuf, String>,
}

/// Deletes the reports of an earlier run.
pub(super) fn delete(spec: &CommandSpec, sandbox: &SandboxSpec) -> Result<(), SandboxError> {
    for report in &spec.reports {
        let path = sandbox.outside(report);
        match unlink(&path) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(SandboxError::OldReport { path, source: error.into() }),
        }
    }
    Ok(())
}

fn unlink(path: &Path) -> Result<(), Errno> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Err(Errno::INVAL) };
    let folder = open(folder, OFlags::PATH | OFlags::DIRECTORY)?;
    rustix::fs::unlinkat(folder, name, AtFlags::empty())
}

/// Takes the reports that are there now.
pub(super) fn collect(spec: &CommandSpec, sandbox: &SandboxSpec) -> Collected {
    let mut collected = Collected::default();
    for report in &spec.reports {
        match read(&sandbox.outside(report)) {
            Ok(Some(bytes)) => drop(collected.taken.insert(report.clone(), bytes)),
            Ok(None) => {}
            Err(why) => drop(collected.refused.insert(report.clone(), why)),
        }
    }
    collected
}

fn read(path: &Path) -> Result<Option<Vec<u8>>, String> {
    // A named pipe must not make perspt wait for a writer.
    let file = match open(path, OFlags::RDONLY | OFlags::NONBLOCK) {
        Ok(file) => file,
        Err(Errno::NOENT) => return Ok(None),
        Err(Errno::LOOP) => return Err("it is reached through a symbolic link".to_owned()),
        Err(error) => return Err(error.to_string()),
    };
    let stat = rustix::fs::fstat(&file).map_err(|error| error.to_string())?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err("it is not a plain file".to_owned());
    }
    let mut bytes = Vec::new();
    File::from(file).take(LARGEST + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > LARGEST {
        return Err(format!("it is larger than {LARGEST} bytes"));
    }
    Ok(Some(bytes))
}

fn open(path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::CLOEXEC;
    rustix::fs::openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
}
