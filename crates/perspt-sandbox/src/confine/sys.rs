//! The kernel calls for which rustix has no safe form. Nothing else in this crate is unsafe.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use rustix::process::Pid;
use rustix::thread::UnshareFlags;

/// Which side of a fork one is on.
pub(crate) enum Side {
    /// The new process.
    Child,
    /// The old one, with the child's id.
    Parent(Pid),
}

/// Forks a process that has one thread only.
pub(crate) fn fork() -> io::Result<Side> {
    let threads = std::fs::read_dir("/proc/self/task")?.count();
    if threads != 1 {
        return Err(io::Error::other(format!("the helper has {threads} threads; it may fork with one only")));
    }
    // SAFETY: the process has one thread, as counted above, and only a thread of its own could start
    // another; so no lock is held by a thread that the child lacks, and the child may run any code.
    let pid = unsafe { libc::fork() };
    match pid {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Side::Child),
        pid => {
            Pid::from_raw(pid).map(Side::Parent).ok_or_else(|| io::Error::other("fork gave no process id"))
        }
    }
}

/// Leaves the named namespaces for new ones.
pub(crate) fn unshare(flags: UnshareFlags) -> rustix::io::Result<()> {
    assert!(!flags.contains(UnshareFlags::FILES), "BUG: the file table is not to be unshared");
    // SAFETY: only unsharing the file table can make a descriptor invalid for another thread, and that
    // is ruled out above.
    unsafe { rustix::thread::unshare_unsafe(flags) }
}

/// Whether a call on a mount takes the mounts below it along.
#[derive(Clone, Copy)]
pub(crate) enum Depth {
    /// This mount only.
    One,
    /// This mount and all below it.
    All,
}

/// Makes a mount read-only in this mount namespace.
pub(crate) fn make_read_only(mount: impl AsFd, depth: Depth) -> io::Result<()> {
    let attr =
        libc::mount_attr { attr_set: libc::MOUNT_ATTR_RDONLY, attr_clr: 0, propagation: 0, userns_fd: 0 };
    let flags = match depth {
        Depth::One => libc::AT_EMPTY_PATH,
        Depth::All => libc::AT_EMPTY_PATH | libc::AT_RECURSIVE,
    };
    // SAFETY: the descriptor is open, the path is a C string, and `attr` outlives the call, which reads
    // exactly the size it is given.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_fd().as_raw_fd(),
            c"".as_ptr(),
            flags,
            &raw const attr,
            size_of::<libc::mount_attr>(),
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Sees to it that no descriptor but standard input, output and error survives the next exec.
pub(crate) fn keep_only_standard_streams() -> io::Result<()> {
    // SAFETY: the flag only marks descriptors as close-on-exec; none becomes invalid in this process.
    let result = unsafe { libc::syscall(libc::SYS_close_range, 3u32, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
