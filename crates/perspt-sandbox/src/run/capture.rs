//! Reading a command's output to a cap, without ever making it wait or being made to wait by it.

use std::io;

use rustix::io::Errno;
use tokio::net::unix::pipe::Receiver;
use tokio_util::sync::CancellationToken;

/// What was kept of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Captured {
    /// The first bytes.
    pub bytes: Vec<u8>,
    /// Whether there were more than the cap.
    pub cut: bool,
}

/// The kernel lets nobody make a pipe larger without privilege; so much can lie in it at most.
const PIPE_CAPACITY: usize = 1024 * 1024;

impl Captured {
    fn take(&mut self, bytes: &[u8], cap: usize) {
        let room = cap.saturating_sub(self.bytes.len()).min(bytes.len());
        let (kept, dropped) = bytes.split_at(room);
        self.bytes.extend_from_slice(kept);
        self.cut |= !dropped.is_empty();
    }
}

/// Reads until the last writer is gone, or until `gone` says that no writer matters any more: then what
/// lies in the pipe is still taken, and nothing is waited for.
pub(super) async fn capture(
    pipe: Receiver,
    cap: usize,
    gone: CancellationToken,
) -> Result<Captured, io::Error> {
    let mut captured = Captured::default();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        tokio::select! {
            biased;
            () = gone.cancelled() => break,
            ready = pipe.readable() => ready?,
        }
        match pipe.try_read(&mut buffer) {
            Ok(0) => return Ok(captured),
            Ok(length) => captured.take(buffer.get(..length).unwrap_or_default(), cap),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    let mut rest = PIPE_CAPACITY;
    while rest > 0 {
        // Not through tokio: it may not have noticed yet that there is something to read.
        match rustix::io::read(&pipe, buffer.as_mut_slice()) {
            Ok(0) | Err(Errno::AGAIN) => break,
            Ok(length) => {
                captured.take(buffer.get(..length).unwrap_or_default(), cap);
                rest = rest.saturating_sub(length);
            }
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(captured)
}
