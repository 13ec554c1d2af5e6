//! Waiting for the other side to get somewhere, instead of sleeping.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

/// How long a test waits before it is told that what it waits for does not happen. It bounds a broken test only.
const PATIENCE: Duration = Duration::from_secs(120);

/// A count that goes up and can be waited for, from threads and from tasks.
#[derive(Clone, Default)]
pub struct Tally {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    count: Mutex<usize>,
    changed: Condvar,
    woken: Notify,
}

impl Tally {
    /// A tally at zero.
    pub fn new() -> Tally {
        Tally::default()
    }

    /// Adds one.
    pub fn add(&self) {
        *self.lock() += 1;
        self.inner.changed.notify_all();
        self.inner.woken.notify_waiters();
    }

    /// The count now.
    pub fn count(&self) -> usize {
        *self.lock()
    }

    /// Blocks the thread until the count is at least `count`. Not for use inside a task whose runtime has one
    /// thread.
    pub fn wait(&self, count: usize) {
        let waited = self.inner.changed.wait_timeout_while(self.lock(), PATIENCE, |now| *now < count);
        let (now, _) = waited.unwrap_or_else(PoisonError::into_inner);
        assert!(*now >= count, "waited in vain for a count of {count}; it is {}", *now);
    }

    /// Waits in a task until the count is at least `count`.
    pub async fn reached(&self, count: usize) {
        loop {
            let woken = self.inner.woken.notified();
            tokio::pin!(woken);
            // Listening starts before looking, or a change in between would be missed.
            woken.as_mut().enable();
            if self.count() >= count {
                return;
            }
            woken.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, usize> {
        self.inner.count.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Holds a reply until the test says go. Clones are the same gate.
#[derive(Clone, Default)]
pub struct Gate {
    arrived: Tally,
    opened: Tally,
}

impl Gate {
    /// A closed gate.
    pub fn new() -> Gate {
        Gate::default()
    }

    /// Lets everything through, now and later.
    pub fn open(&self) {
        self.opened.add();
    }

    /// Counts replies that came to this gate.
    pub fn arrivals(&self) -> Tally {
        self.arrived.clone()
    }

    pub(crate) async fn pass(&self) {
        self.arrived.add();
        self.opened.reached(1).await;
    }
}
