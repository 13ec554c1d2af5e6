//! The process that makes the command's view, starts it, reaps orphans, and leaves nothing behind.

use std::io;
use std::path::PathBuf;

use rustix::process::{DumpableBehavior, Pid, WaitOptions, WaitStatus};

use super::wire::{Control, ProgramEnd, Report, Request};
use super::{Streams, command, ending};
use crate::confine::mounts::{self, MountView};
use crate::confine::sys::{self, Side};
use crate::confine::{Failed, NameStep, Namespace, loopback};

/// Runs the request from set-up to the end of everything it started; returns the keeper's exit code.
pub(super) fn run(request: &Request, control: &Control, streams: Streams, sockets: &[PathBuf]) -> i32 {
    let command = match begin(request, control, streams, sockets) {
        Ok(command) => command,
        Err(failed) => return i32::from(control.send(&Report::SetUpFailed(failed)).is_err()),
    };
    let ended = wait_for(command);
    ending::end_everything_below();
    let sent = ended.and_then(|ended| control.send(&Report::Ended(ended)));
    i32::from(sent.is_err())
}

fn begin(request: &Request, control: &Control, streams: Streams, sockets: &[PathBuf]) -> Result<Pid, Failed> {
    if !request.namespaces.contains(&Namespace::Pid) {
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
            .step(|| "becoming the reaper of orphans".to_owned())?;
    }
    if request.namespaces.contains(&Namespace::Net) {
        loopback::up()?;
    }
    if request.namespaces.contains(&Namespace::Mount) {
        mounts::lay_out(&MountView {
            binds: &request.binds,
            writable: &request.writable,
            hidden: &request.hidden,
            sockets,
            namespaces: &request.namespaces,
        })?;
    }
    let mut perspt = control.second().step(|| "watching perspt".to_owned())?;
    let command = match sys::fork().step(|| "forking the command".to_owned())? {
        Side::Child => std::process::exit(command::become_command(request, control, streams)),
        Side::Parent(command) => command,
    };
    drop(streams);
    // The command must not read or change this process through /proc.
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .step(|| "closing the keeper to others".to_owned())?;
    // From here on there are two threads: this process forks no more.
    std::thread::Builder::new()
        .spawn(move || {
            perspt.wait_for_end();
            ending::strike(Some(command));
        })
        .step(|| "watching perspt".to_owned())?;
    Ok(command)
}

/// Reaps whatever ends until it is the command itself.
fn wait_for(command: Pid) -> io::Result<ProgramEnd> {
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == command => return Ok(ended(status)),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn ended(status: WaitStatus) -> ProgramEnd {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => ProgramEnd::Exited(code),
        (None, Some(signal)) => ProgramEnd::Signalled(signal),
        (None, None) => ProgramEnd::Signalled(0),
    }
}
