//! Entering namespaces.

use std::collections::BTreeSet;
use std::fs;

use rustix::thread::UnshareFlags;

use super::{Failed, NameStep, Namespace, sys};

/// Leaves the machine's namespaces for new ones. The pid namespace takes effect for the next child.
pub(crate) fn enter(namespaces: &BTreeSet<Namespace>) -> Result<(), Failed> {
    if namespaces.is_empty() {
        return Ok(());
    }
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let flags = namespaces.iter().fold(UnshareFlags::empty(), |flags, n| flags | flag(*n));
    sys::unshare(flags).step(|| "entering new namespaces".to_owned())?;
    if namespaces.contains(&Namespace::User) {
        // Each keeps its own number: a program that asks who it is gets the same answer as outside.
        write_map("setgroups", "deny")?;
        write_map("uid_map", &format!("{user} {user} 1"))?;
        write_map("gid_map", &format!("{group} {group} 1"))?;
    }
    Ok(())
}

fn write_map(name: &str, text: &str) -> Result<(), Failed> {
    fs::write(format!("/proc/self/{name}"), text).step(|| format!("writing {name} of the user namespace"))
}

fn flag(namespace: Namespace) -> UnshareFlags {
    match namespace {
        Namespace::User => UnshareFlags::NEWUSER,
        Namespace::Mount => UnshareFlags::NEWNS,
        Namespace::Pid => UnshareFlags::NEWPID,
        Namespace::Net => UnshareFlags::NEWNET,
    }
}
