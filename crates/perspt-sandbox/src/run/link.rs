//! Starting the helper and talking to it.
// The one process that perspt itself starts is the helper; this file starts it.
#![allow(clippy::disallowed_types)]

use std::io::{self, IoSlice, PipeReader};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as StdStream;
use std::path::Path;
use std::process::{ExitStatus, Stdio};

use perspt_core::stage::Streams;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::UnixStream;
use tokio::net::unix::pipe::Receiver;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::{Child, Command};

use super::SandboxError;
use crate::helper::wire::{GREETING, Report, Request};

/// A helper at work. Dropping it closes the socket, and the helper ends everything by itself.
pub(super) struct Link {
    pub helper: Helper,
    pub channel: Channel,
}

/// The helper's process.
pub(super) struct Helper(Child);

/// The socket to it.
pub(super) struct Channel {
    write: Option<OwnedWriteHalf>,
    read: Lines<BufReader<OwnedReadHalf>>,
}

/// The ends of the command's output that perspt reads; with merged streams there is one.
pub(super) struct Outputs {
    pub out: Receiver,
    pub err: Option<Receiver>,
}

impl Link {
    /// Starts the helper. The helper's own environment is empty: perspt's may hold keys.
    pub(super) fn start(
        path: &Path,
        args: &[String],
        streams: Streams,
        held: Option<&OwnedFd>,
    ) -> Result<(Link, Outputs), SandboxError> {
        let failed = |source| SandboxError::Helper { path: path.to_owned(), source };
        let (ours, theirs) = StdStream::pair().map_err(failed)?;
        let (out, out_writer) = io::pipe().map_err(failed)?;
        let (err, err_writer) = match streams {
            Streams::Merged => (None, out_writer.try_clone().map_err(failed)?),
            Streams::Apart => io::pipe().map(|(reader, writer)| (Some(reader), writer)).map_err(failed)?,
        };
        greet(&ours, held).map_err(failed)?;
        let helper = Command::new(path)
            .args(args)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::from(out_writer))
            .stderr(Stdio::from(err_writer))
            .spawn()
            .map_err(failed)?;
        let (read, write) = connect(ours).map_err(failed)?.into_split();
        let channel = Channel { write: Some(write), read: BufReader::new(read).lines() };
        let link = Link { helper: Helper(helper), channel };
        let outputs = Outputs {
            out: receiver(out).map_err(failed)?,
            err: err.map(receiver).transpose().map_err(failed)?,
        };
        Ok((link, outputs))
    }
}

impl Channel {
    /// Sends the request.
    pub(super) async fn ask(&mut self, request: &Request) -> Result<(), SandboxError> {
        let failed = |source| SandboxError::Link { doing: "sending the request", source };
        let mut line = serde_json::to_vec(request).map_err(|error| failed(error.into()))?;
        line.push(b'\n');
        match &mut self.write {
            Some(write) => write.write_all(&line).await.map_err(failed),
            None => Ok(()),
        }
    }

    /// The next thing the helper's side says; none when all of it is gone.
    pub(super) async fn receive(&mut self) -> Result<Option<Report>, SandboxError> {
        let failed = |source| SandboxError::Link { doing: "reading a report", source };
        match self.read.next_line().await {
            Ok(Some(line)) => serde_json::from_str(&line).map(Some).map_err(|error| failed(error.into())),
            Ok(None) => Ok(None),
            // The other end was closed with something unread in it: it is gone all the same.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }

    /// Lets the other side end everything.
    pub(super) fn close(&mut self) {
        self.write = None;
    }
}

impl Helper {
    /// Waits until the helper process is gone, and says how it ended.
    pub(super) async fn wait(&mut self) -> Result<ExitStatus, SandboxError> {
        let failed = |source| SandboxError::Link { doing: "waiting for the helper", source };
        self.0.wait().await.map_err(failed)
    }
}

/// Sends the first byte, and the lock with it: from here on the lock is held until the helper is gone,
/// even where perspt dies before the helper has read it.
fn greet(socket: &StdStream, held: Option<&OwnedFd>) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut with = SendAncillaryBuffer::new(&mut space);
    let fds = held.map(|fd| [fd.as_fd()]);
    if let Some(fds) = &fds {
        let fits = with.push(SendAncillaryMessage::ScmRights(fds));
        assert!(fits, "BUG: the space was made for one descriptor");
    }
    rustix::net::sendmsg(socket, &[IoSlice::new(GREETING)], &mut with, SendFlags::NOSIGNAL)?;
    Ok(())
}

fn connect(socket: StdStream) -> io::Result<UnixStream> {
    socket.set_nonblocking(true)?;
    UnixStream::from_std(socket)
}

fn receiver(pipe: PipeReader) -> io::Result<Receiver> {
    Receiver::from_owned_fd(OwnedFd::from(pipe))
}
