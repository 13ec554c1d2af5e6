//! What runner and helper say to each other: lines of JSON over one socket.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags};
use serde::{Deserialize, Serialize};

use crate::confine::{Bind, Confinement, Failed, Namespace, Network};

/// The first byte, which carries the lock where there is one.
pub(crate) const GREETING: &[u8] = b"!";

/// What the helper is to do. It does exactly this or fails: choosing is the runner's part.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Request {
    pub namespaces: BTreeSet<Namespace>,
    pub landlock: bool,
    pub seccomp: bool,
    pub network: Network,
    pub binds: Vec<Bind>,
    pub writable: Vec<PathBuf>,
    /// Places to be covered; each exists and is free of links.
    pub hidden: Vec<PathBuf>,
    /// None: set everything up, say what is in force, and end.
    pub program: Option<Program>,
}

/// What becomes of the keeper's child.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Program {
    pub argv: Vec<String>,
    pub cwd: PathBuf,
    pub env: BTreeMap<String, String>,
}

/// What the helper's side says.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Report {
    /// The set-up failed; nothing was started.
    SetUpFailed(Failed),
    /// The command is about to begin, with this in force.
    Confined(Confinement),
    /// It could not be started.
    NotStarted(String),
    /// It ended, and nothing it started is left.
    Ended(ProgramEnd),
}

/// How the command's own process ended.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) enum ProgramEnd {
    Exited(i32),
    Signalled(i32),
}

/// The helper's end of the socket.
pub(crate) struct Control(UnixStream);

impl Control {
    pub(crate) fn new(socket: OwnedFd) -> Control {
        Control(UnixStream::from(socket))
    }

    pub(crate) fn socket(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// A second handle on the same socket, for a thread.
    pub(crate) fn second(&self) -> io::Result<Control> {
        self.0.try_clone().map(Control)
    }

    /// Blocks until perspt has closed its end.
    pub(crate) fn wait_for_end(&mut self) {
        let mut byte = [0];
        loop {
            match self.0.read(&mut byte) {
                Ok(0) => return,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    }

    /// The request and the lock that came with it.
    pub(crate) fn receive(&self) -> io::Result<(Request, Option<OwnedFd>)> {
        let lock = self.receive_greeting()?;
        let mut line = Vec::new();
        let mut buffer = [0u8; 16 * 1024];
        while line.last() != Some(&b'\n') {
            match (&self.0).read(&mut buffer)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                length => line.extend_from_slice(buffer.get(..length).unwrap_or_default()),
            }
        }
        Ok((serde_json::from_slice(&line)?, lock))
    }

    fn receive_greeting(&self) -> io::Result<Option<OwnedFd>> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut with = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0];
        let got = rustix::net::recvmsg(
            &self.0,
            &mut [IoSliceMut::new(&mut byte)],
            &mut with,
            RecvFlags::CMSG_CLOEXEC,
        )?;
        if got.bytes != GREETING.len() || byte != GREETING {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let lock = with.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
            _ => None,
        });
        Ok(lock)
    }

    /// Says one thing. Each report goes out in one write, so those of two processes do not mix.
    pub(crate) fn send(&self, report: &Report) -> io::Result<()> {
        let mut line = serde_json::to_vec(report)?;
        line.push(b'\n');
        (&self.0).write_all(&line)
    }
}
