//! Ending every process below this one.
//!
//! A process in a session of its own, or one whose parent has gone, is still found: as reaper of orphans
//! this process inherits it. Limit: outside a pid namespace a program that forks without pause can stay
//! ahead for a while; the rounds go on until nothing is left.

use std::collections::HashMap;
use std::fs;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions};

/// Kills all descendants and returns when none is left.
pub(super) fn end_everything_below() {
    loop {
        for child in strike(None) {
            // Only children that were struck are waited for; one that arrives meanwhile is not dying yet.
            while matches!(rustix::process::waitpid(Some(child), WaitOptions::empty()), Err(Errno::INTR)) {}
        }
        if let Err(Errno::CHILD) = rustix::process::wait(WaitOptions::NOHANG) {
            return;
        }
    }
}

/// Sends the killing signal to a process group and to every descendant once; returns the children.
pub(super) fn strike(group: Option<Pid>) -> Vec<Pid> {
    if let Some(group) = group {
        let _ = rustix::process::kill_process_group(group, Signal::KILL);
    }
    let mut struck = strike_children();
    let me = rustix::process::getpid();
    let parents = parents();
    // An id read a moment ago is not yet another process's: they are given out in a circle.
    for pid in parents.keys().filter(|pid| descends(**pid, me, &parents)) {
        let _ = rustix::process::kill_process(*pid, Signal::KILL);
    }
    struck.extend(parents.into_iter().filter(|(_, parent)| *parent == me).map(|(pid, _)| pid));
    struck
}

/// Children first, each as soon as it is seen: a process that forks and leaves at once, over and over, is
/// gone by the time a whole table has been read.
fn strike_children() -> Vec<Pid> {
    let Ok(threads) = fs::read_dir("/proc/self/task") else { return Vec::new() };
    let lists = threads.filter_map(|thread| fs::read_to_string(thread.ok()?.path().join("children")).ok());
    let mut struck = Vec::new();
    for pid in lists
        .flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<i32>>())
    {
        if let Some(pid) = Pid::from_raw(pid) {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
            struck.push(pid);
        }
    }
    struck
}

fn descends(pid: Pid, from: Pid, parents: &HashMap<Pid, Pid>) -> bool {
    let mut at = pid;
    // A chain read while processes come and go could be a ring; no chain is longer than the table.
    for _ in 0..=parents.len() {
        match parents.get(&at) {
            Some(parent) if *parent == from => return true,
            Some(parent) => at = *parent,
            None => return false,
        }
    }
    false
}

/// Each process that can be seen, with its parent.
fn parents() -> HashMap<Pid, Pid> {
    let Ok(entries) = fs::read_dir("/proc") else { return HashMap::new() };
    entries
        .filter_map(|entry| {
            let pid: i32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            // The name in brackets may hold anything, brackets too; state and parent follow the last one.
            let parent: i32 = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()?;
            Some((Pid::from_raw(pid)?, Pid::from_raw(parent)?))
        })
        .collect()
}
