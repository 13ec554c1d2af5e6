//! A small `/dev` and `/proc` of the command's own.
//!
//! A read-only mount does not keep root from writing to a disk through its device file, so the machine's
//! `/dev` is replaced by the few devices that tools need.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::io::Errno;
use rustix::mount::MountFlags;

use super::sys::{self, Depth};
use super::{Failed, NameStep, mounts};

const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

const LINKS: [(&str, &str); 5] = [
    ("/proc/self/fd", "/dev/fd"),
    ("/proc/self/fd/0", "/dev/stdin"),
    ("/proc/self/fd/1", "/dev/stdout"),
    ("/proc/self/fd/2", "/dev/stderr"),
    ("pts/ptmx", "/dev/ptmx"),
];

/// Copies of the machine's devices, taken while they can still be reached.
pub(super) fn take_devices() -> Result<Vec<(&'static str, OwnedFd)>, Failed> {
    let there = |name: &&str| Path::new("/dev").join(name).exists();
    DEVICES
        .into_iter()
        .filter(there)
        .map(|name| Ok((name, mounts::detached(&Path::new("/dev").join(name))?)))
        .collect()
}

/// Covers `/dev` with a new one: the devices, pseudo-terminals and shared memory of its own.
pub(super) fn mount_dev(devices: &[(&str, OwnedFd)]) -> Result<(), Failed> {
    mount("tmpfs", "/dev", MountFlags::NOSUID | MountFlags::NOEXEC, c"mode=0755,size=64k")?;
    for (name, device) in devices {
        let path = Path::new("/dev").join(name);
        File::create(&path).step(|| format!("creating {}", path.display()))?;
        mounts::attach(device, mounts::resolve(&path)?).step(|| format!("attaching {}", path.display()))?;
    }
    for (target, link) in LINKS {
        std::os::unix::fs::symlink(target, link).step(|| format!("creating {link}"))?;
    }
    for folder in ["/dev/pts", "/dev/shm"] {
        std::fs::create_dir(folder).step(|| format!("creating {folder}"))?;
    }
    let quiet = MountFlags::NOSUID | MountFlags::NOEXEC;
    mount("devpts", "/dev/pts", quiet, c"newinstance,ptmxmode=0666,mode=0620")?;
    mount("tmpfs", "/dev/shm", MountFlags::NOSUID | MountFlags::NODEV, c"mode=1777")?;
    let dev = mounts::resolve(Path::new("/dev"))?;
    sys::make_read_only(dev, Depth::One).step(|| "making /dev read-only".to_owned())
}

/// Mounts the `/proc` of the pid namespace one is in.
pub(super) fn mount_proc() -> Result<(), Failed> {
    mount("proc", "/proc", MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC, c"")?;
    let proc = mounts::resolve(Path::new("/proc"))?;
    sys::make_read_only(proc, Depth::One).step(|| "making /proc read-only".to_owned())
}

fn mount(kind: &str, at: &str, flags: MountFlags, options: &std::ffi::CStr) -> Result<(), Failed> {
    let mounted: Result<(), Errno> = rustix::mount::mount(kind, at, kind, flags, Some(options));
    mounted.step(|| format!("mounting {kind} at {at}"))
}
