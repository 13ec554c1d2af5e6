//! The three timeouts of a call, and its times.

use std::future::Future;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use crate::ask::CallLimits;
use crate::error::ModelError;

/// Keeps a call's times.
pub(crate) struct Watch {
    started: Instant,
    first_content: Option<Instant>,
    last_content: Option<Instant>,
    limits: CallLimits,
}

impl Watch {
    pub(crate) fn start(limits: &CallLimits) -> Watch {
        Watch { started: Instant::now(), first_content: None, last_content: None, limits: limits.clone() }
    }

    /// Content has come: the idle time starts anew.
    pub(crate) fn content(&mut self) {
        let now = Instant::now();
        self.first_content.get_or_insert(now);
        self.last_content = Some(now);
    }

    /// Waits for a step, no longer than the limits allow.
    ///
    /// The clock is looked at before the step as well: one that is always ready, such as the next piece of an
    /// endless row of pings, would otherwise never be late.
    pub(crate) async fn guard<T>(&self, step: impl Future<Output = T>) -> Result<T, ModelError> {
        let (due, error) = self.due();
        if Instant::now() >= due {
            return Err(error);
        }
        timeout_at(due, step).await.map_err(|_| error)
    }

    pub(crate) fn first_token(&self) -> Duration {
        self.first_content.map_or_else(|| self.latency(), |at| at.duration_since(self.started))
    }

    pub(crate) fn latency(&self) -> Duration {
        self.started.elapsed()
    }

    fn due(&self) -> (Instant, ModelError) {
        let total = later(self.started, self.limits.total);
        let (next, error) = match self.last_content {
            None => {
                let after = self.limits.first_byte;
                (later(self.started, after), ModelError::FirstByteTimeout { after })
            }
            Some(at) => {
                let after = self.limits.idle;
                (later(at, after), ModelError::IdleTimeout { after })
            }
        };
        if total < next {
            (total, ModelError::TotalTimeout { after: self.limits.total })
        } else {
            (next, error)
        }
    }
}

/// A limit too large for the clock is as good as none.
pub(crate) fn later(from: Instant, by: Duration) -> Instant {
    const LONG: Duration = Duration::from_secs(60 * 60 * 24 * 365);
    from.checked_add(by.min(LONG)).unwrap_or(from)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The network cannot be made to be always ready, so this is tried without it.
    #[tokio::test]
    async fn a_step_that_is_always_ready_is_late_all_the_same() {
        let watch = Watch::start(&CallLimits { first_byte: Duration::ZERO, ..CallLimits::default() });
        let late = watch.guard(std::future::ready(())).await;
        assert_eq!(late, Err(ModelError::FirstByteTimeout { after: Duration::ZERO }));
    }
}
