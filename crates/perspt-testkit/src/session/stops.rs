//! Requests to stop, made by the test.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use perspt_agent::AgentError;
use perspt_agent::ports::{BoxFuture, Interrupt, Interrupts};
use tokio::sync::Notify;

/// Requests to stop that a test makes, from any thread. Clones are the same.
#[derive(Clone, Default)]
pub struct Stops {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    asked: Mutex<VecDeque<Interrupt>>,
    recorded: Mutex<Vec<Interrupt>>,
    woken: Notify,
}

impl Stops {
    /// Asks the session to stop.
    pub fn ask(&self, interrupt: Interrupt) {
        self.inner.asked.lock().unwrap_or_else(PoisonError::into_inner).push_back(interrupt);
        self.inner.woken.notify_one();
    }

    /// What the session said it has recorded.
    pub fn recorded(&self) -> Vec<Interrupt> {
        self.inner.recorded.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Interrupts for Stops {
    fn next(&mut self) -> BoxFuture<'_, Interrupt> {
        Box::pin(async move {
            loop {
                let asked = self.inner.asked.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                if let Some(interrupt) = asked {
                    return interrupt;
                }
                self.inner.woken.notified().await;
            }
        })
    }

    fn recorded(&mut self, interrupt: &Interrupt) -> Result<(), AgentError> {
        self.inner.recorded.lock().unwrap_or_else(PoisonError::into_inner).push(interrupt.clone());
        Ok(())
    }
}
