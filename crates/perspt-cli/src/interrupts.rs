//! Requests to stop: Ctrl-C, a terminating signal, and abort messages in the inbox.

use std::time::Duration;

use perspt_agent::AgentError;
use perspt_agent::ports::{BoxFuture, Interrupt, Interrupts};
use perspt_store::Inbox;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// How often the inbox is looked at.
const LOOK: Duration = Duration::from_millis(200);

/// The product's interrupts.
pub struct ProcessInterrupts {
    interrupt: Signal,
    terminate: Signal,
    /// `None` where whoever started us had it ignored, as `nohup` does: then it stays so.
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

/// Keeps a limit on the size of files from killing the program without a word: once the signal has a handler, the
/// write fails instead and is told. A handler, unlike an ignored signal, ends with exec, so that whatever is started
/// meets the limit as it would without us. Where it cannot be had there is only less to say.
pub fn outlive_file_limit() {
    // The handler outlives the runtime that it is asked of.
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
