//! The ports between the loop and the world. Tests put a wrapper around them to stop a session at any
//! point; the product has no hook of its own.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use perspt_core::effect::Effect;
use perspt_core::event::{Decision, Ended, Event, SCHEMA, Trouble};
use perspt_core::ids::{EffectId, Millis};
use perspt_core::inbox::Message;
use perspt_core::question::Asked;
use perspt_core::state::{SessionState, Wanted};
use perspt_core::view::History;
use perspt_sandbox::Cancel;
use perspt_store::{LogWriter, Stamp};

use crate::AgentError;

/// A future behind a trait object.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Where events go. An append is on disk before it returns.
pub trait EventLog {
    /// Appends one event.
    fn append(&mut self, at: Millis, event: &Event) -> Result<Stamp, AgentError>;
}

impl EventLog for LogWriter {
    fn append(&mut self, at: Millis, event: &Event) -> Result<Stamp, AgentError> {
        Ok(LogWriter::append(self, at, SCHEMA, event)?)
    }
}

/// What carrying an effect out gives: facts to be recorded first, and its one outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acted {
    /// Recorded before the outcome.
    pub facts: Vec<Event>,
    /// The outcome.
    pub outcome: Ended,
}

impl From<Ended> for Acted {
    fn from(outcome: Ended) -> Acted {
        Acted { facts: Vec::new(), outcome }
    }
}

/// Who carries effects out.
pub trait Act: Send + Sync {
    /// Whether the effect can be begun at all; asked before its start is recorded.
    fn ready(&self, effect: &Effect, state: &SessionState) -> Result<(), Trouble>;

    /// Carries it out. A failure that is nobody's answer is the outcome [`Ended::Broke`].
    fn act(
        self: Arc<Self>,
        id: EffectId,
        wanted: Wanted,
        state: Arc<SessionState>,
        cancel: Cancel,
    ) -> BoxFuture<'static, Acted>;

    /// An answer to a question that is being asked, from somewhere else than the console.
    fn answer(&self, id: EffectId, decision: Decision, by: String);

    /// Told of every event once it is on disk and in the state, for what may only be done from then on. Hands back
    /// what is to be recorded of that.
    fn recorded(&self, event: &Event, state: &SessionState) -> Result<Vec<Event>, AgentError>;
}

/// The clock.
pub trait Clock: Send + Sync {
    /// Now.
    fn now(&self) -> Millis;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Millis {
        // Set forwards or back while perspt runs, the wall clock would say that hours were worked, or none. So it is
        // looked at once, and what has passed since comes from a clock that nobody sets and that counts sleep too.
        static START: OnceLock<(Duration, Duration)> = OnceLock::new();
        let (began, then) = *START.get_or_init(|| (wall(), running()));
        let now = began.saturating_add(running().saturating_sub(then));
        Millis(u64::try_from(now.as_millis()).unwrap_or(u64::MAX))
    }
}

fn wall() -> Duration {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default()
}

fn running() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Someone asks something of the session from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Interrupt {
    /// Ctrl-C: the first pauses, the second aborts.
    Signal,
    /// TERM or HUP: pauses, and never more.
    Hangup,
    /// A message from another process; its name is given back once what it asks for is recorded.
    Message {
        /// What it asks for.
        message: Message,
        /// Its name in the inbox.
        name: String,
    },
}

/// Where requests from outside come from.
pub trait Interrupts: Send {
    /// The next one; pending for ever where none comes.
    fn next(&mut self) -> BoxFuture<'_, Interrupt>;
    /// It is recorded.
    fn recorded(&mut self, interrupt: &Interrupt) -> Result<(), AgentError>;
}

/// A record that was appended, with the state and the history after it.
#[derive(Clone, Copy)]
pub struct Appended<'a> {
    /// Its place and link in the log.
    pub stamp: &'a Stamp,
    /// When it was appended.
    pub at: Millis,
    /// The event.
    pub event: &'a Event,
    /// The state after it.
    pub state: &'a SessionState,
    /// What the state does not keep, after it.
    pub history: &'a History,
}

/// Who sees what happens: every record, once it is on disk.
pub trait View {
    /// One record was appended.
    fn saw(&mut self, appended: Appended<'_>);
}

/// Nobody looks.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unseen;

impl View for Unseen {
    fn saw(&mut self, _: Appended<'_>) {}
}

/// Who answers questions.
pub trait Console: Send + Sync {
    /// Asks the person.
    fn ask<'a>(&'a self, asked: &'a Asked, state: &'a SessionState) -> BoxFuture<'a, Decision>;
    /// A piece of the model's answer, as it streams. For progress only.
    fn streamed(&self, bytes: usize);
}
