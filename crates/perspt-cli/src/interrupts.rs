//! Requests to stop: Ctrl-C, a terminating signal, and abort messages in the inbox.

use std::time::Duration;

use perspt_agent::AgentError;
use perspt_agent::ports::{BoxFuture, Interrupt, Interrupts};
use perspt_store::Inbox;
use serde::{Deserialize, Serialize};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// How often the inbox is looked at.
const LOOK: Duration = Duration::from_millis(200);

/// What another terminal may ask for.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "ask")]
pub enum Message {
    /// End the session.
    Abort {
        /// From where.
        by: String,
    },
}

/// The product's interrupts.
pub struct Terminal {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
    inbox: Inbox,
    seen: Vec<String>,
}

impl Terminal {
    /// Listens from now on.
    pub fn new(inbox: Inbox) -> std::io::Result<Terminal> {
        Ok(Terminal {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
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
            if let Ok(Message::Abort { by }) = serde_json::from_str(message.get()) {
                return Some(Interrupt::Abort { by, message: name });
            }
        }
        None
    }
}

impl Interrupts for Terminal {
    fn next(&mut self) -> BoxFuture<'_, Interrupt> {
        Box::pin(async move {
            loop {
                if let Some(interrupt) = self.message() {
                    return interrupt;
                }
                tokio::select! {
                    Some(()) = self.interrupt.recv() => return Interrupt::Signal,
                    Some(()) = self.terminate.recv() => return Interrupt::Hangup,
                    Some(()) = self.hang_up.recv() => return Interrupt::Hangup,
                    () = tokio::time::sleep(LOOK) => {}
                }
            }
        })
    }

    fn recorded(&mut self, interrupt: &Interrupt) -> Result<(), AgentError> {
        if let Interrupt::Abort { message, .. } = interrupt {
            self.inbox.done(message)?;
        }
        Ok(())
    }
}
