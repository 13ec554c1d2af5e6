//! The other side of the runner: a process between perspt and the command.
//!
//! Three processes: the *helper* (this file) holds the slot's lock and one end of a socket to perspt; its
//! child, the *keeper*, is the first process of the pid namespace, or the reaper where there is none; the
//! keeper's child becomes the *command*. When perspt closes its end, by wish or by dying, both helper and
//! keeper see the end of the file, and either of them alone ends everything below. Neither the socket nor
//! the lock reaches the command. Whoever waits for the lock therefore waits until nothing is left.
//!
//! The kernel's parent-death signal is not used: it follows the thread that forked, not the process.

mod command;
mod ending;
mod keeper;
pub(crate) mod wire;

use std::io;
use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags};
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions};

use crate::confine::sys::{self, Side};
use crate::confine::{Failed, NameStep, Namespace, Network, namespaces, sockets};
use wire::{Control, Report, Request};

/// What the command gets as its standard output and error.
struct Streams {
    out: OwnedFd,
    err: OwnedFd,
}

/// Serves one request of a runner and returns the exit code of the helper process. It forks and enters
/// namespaces: to be called first thing in `main`, while the process has one thread.
pub fn helper_main() -> i32 {
    match serve() {
        Ok(()) => 0,
        Err(_) => 1,
    }
}

fn serve() -> io::Result<()> {
    let (control, streams) = take_streams()?;
    let (request, lock) = control.receive()?;
    let keeper = match begin(&request, &control, streams) {
        Ok(keeper) => keeper,
        Err(failed) => return control.send(&Report::SetUpFailed(failed)),
    };
    let watched = watch(&control, keeper);
    finish(&request, keeper);
    // Up to here, and not a moment less: whoever gets the lock must find nothing running.
    drop(lock);
    watched
}

/// Standard input is the socket, standard output and error are the command's; the helper keeps none of
/// them at their usual numbers, so that nothing it does can end up in a capture.
fn take_streams() -> io::Result<(Control, Streams)> {
    let kept = |fd: rustix::fd::BorrowedFd<'_>| rustix::io::fcntl_dupfd_cloexec(fd, 3);
    let control = kept(rustix::stdio::stdin())?;
    let out = kept(rustix::stdio::stdout())?;
    let err = kept(rustix::stdio::stderr())?;
    let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    Ok((Control::new(control), Streams { out, err }))
}

/// Enters the namespaces and forks the keeper. The helper's own copies of the streams end here.
fn begin(request: &Request, control: &Control, streams: Streams) -> Result<Pid, Failed> {
    rustix::process::setsid().step(|| "starting a session".to_owned())?;
    rustix::process::umask(Mode::from_raw_mode(0o022));
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
        .step(|| "becoming the reaper of orphans".to_owned())?;
    let sockets = match (request.namespaces.contains(&Namespace::Mount), request.network) {
        (true, Network::Off) => sockets::bound_now()?,
        (true, Network::On) | (false, _) => Vec::new(),
    };
    namespaces::enter(&request.namespaces)?;
    match sys::fork().step(|| "forking the keeper".to_owned())? {
        Side::Parent(keeper) => Ok(keeper),
        Side::Child => std::process::exit(keeper::run(request, control, streams, &sockets)),
    }
}

/// Returns when perspt has closed its end or the keeper has ended.
fn watch(control: &Control, keeper: Pid) -> io::Result<()> {
    let keeper = rustix::process::pidfd_open(keeper, PidfdFlags::empty())?;
    let socket = control.socket();
    loop {
        let mut fds = [PollFd::new(&socket, PollFlags::IN), PollFd::new(&keeper, PollFlags::IN)];
        match rustix::event::poll(&mut fds, None) {
            Ok(_) => return Ok(()),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Ends the keeper and everything below it, and waits until all of it is gone.
fn finish(request: &Request, keeper: Pid) {
    // The end of the first process of a pid namespace is complete only when all others in it are gone.
    let _ = rustix::process::kill_process(keeper, Signal::KILL);
    let _ = rustix::process::waitpid(Some(keeper), WaitOptions::empty());
    if !request.namespaces.contains(&Namespace::Pid) {
        ending::end_everything_below();
    }
}
