//! The folder that a command works in, and why some folders cannot be used.

use std::path::{Path, PathBuf};

use perspt_agent::open::data_dir_refusal;
use perspt_core::event::SessionStarted;
use perspt_store::Home;
use rustix::fs::{Access, AtFlags, CWD, accessat};
use rustix::io::Errno;

use crate::fail::Failure;

/// The folder a command is about, resolved.
pub fn resolve(given: Option<&Path>) -> Result<PathBuf, Failure> {
    let shown = given.unwrap_or(Path::new("."));
    let unusable = |why: String| {
        let todo = given.map_or("go to an existing folder", |_| "name an existing folder");
        Failure::usage("the workspace cannot be used", why, todo)
    };
    let resolved = shown.canonicalize().map_err(|error| unusable(format!("{}: {error}", shown.display())))?;
    if !resolved.is_dir() {
        return Err(unusable(format!("{} is not a folder", shown.display())));
    }
    Ok(resolved)
}

/// The folder a session works in, resolved.
pub fn for_session(given: Option<&Path>, home: &Home) -> Result<PathBuf, Failure> {
    let resolved = resolve(given)?;
    match refusal(home, &resolved) {
        Some(failure) => Err(failure),
        None => Ok(resolved),
    }
}

/// The folder that is only read, resolved.
pub fn to_read(given: Option<&Path>, home: &Home) -> Result<PathBuf, Failure> {
    let resolved = resolve(given)?;
    unreadable(home, &resolved).map_or(Ok(resolved), Err)
}

/// Why no session can work in a folder, with perspt's data where it is.
pub fn refusal(home: &Home, folder: &Path) -> Option<Failure> {
    unreadable(home, folder).or_else(|| check_writable(folder).err())
}

/// Why a folder cannot be measured.
fn unreadable(home: &Home, folder: &Path) -> Option<Failure> {
    let unusable = |why: &str, todo: &str| Failure::usage("the workspace cannot be used", why, todo);
    if folder.parent().is_none() {
        return Some(unusable("it is the root of the file system", "name a project's folder"));
    }
    if folder.to_str().is_none() {
        return Some(unusable("its path is not UTF-8", "rename the folder"));
    }
    // A data dir inside what is measured would be measured too.
    if let Some(why) = data_dir_refusal(home.root(), folder) {
        let todo = "set PERSPT_HOME to a folder outside any project";
        return Some(Failure::usage("perspt's data directory cannot be used", why, todo));
    }
    None
}

/// Refuses a workspace that nothing could be committed to, before anything is paid for.
pub fn check_writable(folder: &Path) -> Result<(), Failure> {
    let Err(error) = accessat(CWD, folder, Access::WRITE_OK, AtFlags::EACCESS) else { return Ok(()) };
    let why = match error {
        Errno::ROFS => "its file system is mounted read-only".to_owned(),
        Errno::ACCESS => "you have no permission to write there".to_owned(),
        error => error.to_string(),
    };
    Err(Failure::usage(
        "the workspace is not writable",
        format!("{}: {why}", folder.display()),
        "make it writable, or work in a copy of it",
    ))
}

/// Refuses to go on with a session whose workspace is no longer where it was.
pub fn check_present(meta: &SessionStarted) -> Result<(), Failure> {
    if Path::new(&meta.workspace).is_dir() {
        return Ok(());
    }
    Err(Failure::usage(
        "the session's workspace is gone",
        format!("{} is missing, or is not a folder", meta.workspace),
        "put it back where it was, or start again with `perspt agent` where it is now",
    ))
}
