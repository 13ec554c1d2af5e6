//! The command's own view of the file system: binds first, then everything read-only, then the writable
//! folders opened again.
//!
//! Every source is taken as a detached copy before anything is attached, because one bind may cover the
//! source of another. No path is followed through a symbolic link: a tool could have planted one in a
//! folder it was allowed to write, and the next run would open whatever it points to.

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use rustix::mount::{MountPropagationFlags, MoveMountFlags, OpenTreeFlags};

use super::sys::{self, Depth};
use super::{Access, Bind, Failed, NameStep, Namespace, dev, hide, sockets};

/// What the view is made of.
pub(crate) struct MountView<'a> {
    /// Shown elsewhere, in this order.
    pub binds: &'a [Bind],
    /// Writable folders and files, as the command sees them; those of the binds are not repeated here.
    pub writable: &'a [PathBuf],
    /// Places that are not to be read.
    pub hidden: &'a [PathBuf],
    /// Sockets of others that are to be covered.
    pub sockets: &'a [PathBuf],
    /// Whether there is a pid namespace, and so a `/proc` to be mounted.
    pub namespaces: &'a std::collections::BTreeSet<Namespace>,
}

/// The folders and files that the command may write: those named, and those of read-write binds.
pub(crate) fn all_writable(binds: &[Bind], writable: &[PathBuf]) -> Vec<PathBuf> {
    let bound = binds.iter().filter(|bind| bind.access == Access::ReadWrite).map(|bind| bind.over.clone());
    let mut all: Vec<PathBuf> = writable.iter().cloned().chain(bound).collect();
    // Parents first: what is attached later lies on top.
    all.sort_by_key(|path| path.components().count());
    all.dedup();
    all
}

/// Makes the view. Needs a mount namespace of its own.
pub(crate) fn lay_out(view: &MountView<'_>) -> Result<(), Failed> {
    rustix::mount::mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .step(|| "making mounts private".to_owned())?;
    let sources = view.binds.iter().map(detached_source).collect::<Result<Vec<_>, _>>()?;
    let devices = dev::take_devices()?;
    let cover = detached(Path::new("/dev/null"))?;
    attach_binds(view.binds, &sources)?;

    let writable = all_writable(view.binds, view.writable);
    let copies = writable.iter().map(|path| detached(path)).collect::<Result<Vec<_>, _>>()?;
    let root = resolve(Path::new("/"))?;
    sys::make_read_only(&root, Depth::All).step(|| "making the file system read-only".to_owned())?;

    dev::mount_dev(&devices)?;
    if view.namespaces.contains(&Namespace::Pid) {
        dev::mount_proc()?;
    }
    for (path, copy) in writable.iter().zip(&copies) {
        let point = mount_point(path, copy, &[PathBuf::from("/dev/shm")])?;
        attach(copy, &point).step(|| format!("making {} writable", path.display()))?;
    }
    hide::cover(view.hidden)?;
    sockets::cover(view.sockets, &writable, &cover)
}

fn detached_source(bind: &Bind) -> Result<OwnedFd, Failed> {
    let copy = detached(&bind.from)?;
    if bind.access == Access::ReadOnly {
        sys::make_read_only(&copy, Depth::All)
            .step(|| format!("making the copy of {} read-only", bind.from.display()))?;
    }
    Ok(copy)
}

fn attach_binds(binds: &[Bind], sources: &[OwnedFd]) -> Result<(), Failed> {
    let mut own: Vec<PathBuf> = Vec::new();
    for (bind, source) in binds.iter().zip(sources) {
        let point = mount_point(&bind.over, source, &own)?;
        attach(source, &point)
            .step(|| format!("binding {} over {}", bind.from.display(), bind.over.display()))?;
        if bind.access == Access::ReadWrite {
            own.push(bind.over.clone());
        }
    }
    Ok(())
}

/// A copy of what is mounted at a path, with everything below it, that is not attached anywhere yet.
pub(super) fn detached(path: &Path) -> Result<OwnedFd, Failed> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH
        | OpenTreeFlags::AT_RECURSIVE;
    rustix::mount::open_tree(resolve(path)?, "", flags)
        .step(|| format!("copying the mount at {}", path.display()))
}

/// Puts a detached copy at its place.
pub(super) fn attach(copy: impl AsFd, point: impl AsFd) -> Result<(), Errno> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    rustix::mount::move_mount(copy, "", point, "", flags)
}

/// The path itself, reached without following a symbolic link.
pub(super) fn resolve(path: &Path) -> Result<OwnedFd, Failed> {
    open_plainly(path).map_err(|error| Failed::new(format!("reaching {}", path.display()), words(error)))
}

fn open_plainly(path: &Path) -> Result<OwnedFd, Errno> {
    if !path.is_absolute() {
        return Err(Errno::INVAL);
    }
    // Not with NOFOLLOW: that would give a link at the end of the path instead of refusing it.
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    rustix::fs::openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
}

fn words(error: Errno) -> String {
    match error {
        Errno::LOOP => "it passes through a symbolic link".to_owned(),
        Errno::INVAL => "it is not an absolute path".to_owned(),
        error => error.to_string(),
    }
}

/// The place where `copy` is to be attached; created where that is below one of `own`.
fn mount_point(path: &Path, copy: &OwnedFd, own: &[PathBuf]) -> Result<OwnedFd, Failed> {
    match open_plainly(path) {
        Ok(point) => Ok(point),
        Err(Errno::NOENT) => match own.iter().find(|own| path.starts_with(own)) {
            Some(below) => create_below(below, path, copy),
            None => Err(Failed::new(format!("reaching {}", path.display()), "it does not exist")),
        },
        Err(error) => Err(Failed::new(format!("reaching {}", path.display()), words(error))),
    }
}

fn create_below(below: &Path, path: &Path, copy: &OwnedFd) -> Result<OwnedFd, Failed> {
    let failed =
        |error: Errno| Failed::new(format!("creating the mount point {}", path.display()), words(error));
    let rest = path.strip_prefix(below).unwrap_or(Path::new(""));
    let names: Vec<&OsStr> = rest
        .components()
        .map(|part| match part {
            Component::Normal(name) => Ok(name),
            Component::CurDir | Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                Err(failed(Errno::INVAL))
            }
        })
        .collect::<Result<_, _>>()?;
    let is_folder = rustix::fs::fstat(copy)
        .map(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
        .map_err(failed)?;
    let mut at = resolve(below)?;
    for (index, name) in names.iter().enumerate() {
        let made = if is_folder || index + 1 < names.len() {
            rustix::fs::mkdirat(&at, *name, Mode::from_raw_mode(0o755))
        } else {
            let flags = OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | OFlags::WRONLY;
            rustix::fs::openat(&at, *name, flags, Mode::from_raw_mode(0o644)).map(drop)
        };
        match made {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(failed(error)),
        }
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        at = rustix::fs::openat2(&at, *name, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
            .map_err(failed)?;
    }
    Ok(at)
}
