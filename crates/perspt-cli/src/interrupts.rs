//! Requests to stop: Ctrl-C, a terminating signal, and abort messages in the inbox.

use std::time::Duration;

use perspt_agent::AgentError;
use perspt_agent::ports::{BoxFuture, Interrupt, Interrupts};
use perspt_store::Inbox;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// How often the inbox is looked at.
const LOOK: Duration = Duration::from_millis(200);

/// Signals to this process, and messages in the session's inbox.
pub struct ProcessInterrupts {
    interrupt: Signal,
    terminate: Signal,
    /// `None` where the signal was ignored at the start, as with `nohup`: it stays ignored.
    hang_up: Option<Signal>,
    inbox: Inbox,
    seen: Vec<String>,
}

impl ProcessInterrupts {
    /// Listens from now on.
    pub fn new(inbox: Inbox) -> std::io::Result<ProcessInterrupts> {
        Ok(ProcessInterrupts {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: if is_ignored(SignalKind::hangup()) {
                None
            } else {
                Some(signal(SignalKind::hangup())?)
            },
            inbox,
            seen: Vec::new(),
        })
    }

    fn message(&mut self) -> Option<Interrupt> {
        let taken = self.inbox.take_all().ok()?;
        for (name, message) in taken.messages {
            if self.seen.contains(&name) {
                continue;
            }
            self.seen.push(name.clone());
            return Some(Interrupt::Message { message, name });
        }
        None
    }
}

impl Interrupts for ProcessInterrupts {
    fn next(&mut self) -> BoxFuture<'_, Interrupt> {
        Box::pin(async move {
            loop {
                if let Some(interrupt) = self.message() {
                    return interrupt;
                }
                tokio::select! {
                    Some(()) = self.interrupt.recv() => return Interrupt::Signal,
                    Some(()) = self.terminate.recv() => return Interrupt::Hangup,
                    () = hung_up(&mut self.hang_up) => return Interrupt::Hangup,
                    () = tokio::time::sleep(LOOK) => {}
                }
            }
        })
    }

    fn recorded(&mut self, interrupt: &Interrupt) -> Result<(), AgentError> {
        if let Interrupt::Message { name, .. } = interrupt {
            self.inbox.done(name)?;
            // The next message may get the same name.
            self.seen.retain(|seen| seen != name);
        }
        Ok(())
    }
}

/// Keeps a limit on file sizes from killing the program without a message. With a handler for the signal, the write
/// fails instead and the error is shown. A handler ends with exec, unlike an ignored signal, so that commands meet the
/// limit as usual. If it cannot be installed, only the message is missing.
pub fn outlive_file_limit() {
    // The handler stays installed after this runtime is gone.
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() else { return };
    let _inside = runtime.enter();
    let _ = signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()));
}

async fn hung_up(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => {
            signal.recv().await;
        }
        None => std::future::pending().await,
    }
}

/// Whether this process was started with a signal ignored, as the kernel shows it: a bit for each signal, the first
/// for number one.
fn is_ignored(kind: SignalKind) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask & (1 << (kind.as_raw_value() - 1)) != 0
}
