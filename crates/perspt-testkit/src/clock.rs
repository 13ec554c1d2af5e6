//! Time and names that are the same in every run.

use std::sync::atomic::{AtomicU64, Ordering};

use perspt_agent::ports::Clock;
use perspt_core::ids::{Millis, SessionId};

/// The moment at which fixed clocks start: a whole second, long ago.
pub const START: Millis = Millis(1_700_000_000_000);

/// The session every test works on.
pub fn session_id() -> SessionId {
    SessionId::from("20231114-221320-00001")
}

/// A clock that goes on by one millisecond each time it is read.
#[derive(Debug)]
pub struct TickClock(AtomicU64);

impl TickClock {
    /// A clock that says this moment next.
    pub fn at(moment: Millis) -> TickClock {
        TickClock(AtomicU64::new(moment.0))
    }
}

impl Default for TickClock {
    fn default() -> TickClock {
        TickClock::at(START)
    }
}

impl Clock for TickClock {
    fn now(&self) -> Millis {
        Millis(self.0.fetch_add(1, Ordering::Relaxed))
    }
}
