//! Unix sockets of other programs: agents, container engines, desktops.
//!
//! A read-only mount does not stop a connection to a socket file, and neither does a network namespace.
//! So every socket that exists when the command starts is covered. Limit: one that is created later, or
//! by a program in another network namespace, is not.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::mount::OpenTreeFlags;

use super::{Failed, NameStep, mounts};

/// The paths of all sockets bound now. To be asked before a new network namespace is entered.
pub(crate) fn bound_now() -> Result<Vec<PathBuf>, Failed> {
    let table = std::fs::read("/proc/self/net/unix").step(|| "listing the sockets of others".to_owned())?;
    let paths: BTreeSet<&[u8]> = table.split(|byte| *byte == b'\n').filter_map(path_in).collect();
    Ok(paths.into_iter().map(|path| PathBuf::from(OsStr::from_bytes(path))).collect())
}

/// The eighth column, where it is a path.
fn path_in(line: &[u8]) -> Option<&[u8]> {
    let mut rest = line;
    for _ in 0..7 {
        rest = rest.trim_ascii_start();
        rest = rest.get(rest.iter().position(|byte| *byte == b' ')?..)?;
    }
    let path = rest.get(1..)?;
    path.starts_with(b"/").then_some(path)
}

/// Covers those that can be reached and are not the command's own.
pub(super) fn cover(sockets: &[PathBuf], writable: &[PathBuf], cover: &OwnedFd) -> Result<(), Failed> {
    let own = |path: &Path| writable.iter().any(|folder| path.starts_with(folder));
    for path in sockets.iter().filter(|path| !own(path)) {
        // A path that cannot be resolved plainly is reached under its real name as well, if at all.
        let Some(point) = real(path) else { continue };
        let copy = rustix::mount::open_tree(
            cover,
            "",
            OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_EMPTY_PATH,
        )
        .step(|| "copying the cover for sockets".to_owned())?;
        match mounts::attach(copy, point) {
            // It was removed meanwhile.
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(Failed::new(format!("covering the socket {}", path.display()), error)),
        }
    }
    Ok(())
}

fn real(path: &Path) -> Option<OwnedFd> {
    let path = std::fs::canonicalize(path).ok()?;
    mounts::resolve(&path).ok()
}
