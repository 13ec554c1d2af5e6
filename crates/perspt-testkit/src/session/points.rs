//! The points of a session at which a test can look, act or end the process: wrappers around the ports of the
//! loop. The product has no hook for this.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use perspt_agent::AgentError;
use perspt_agent::ports::{Act, Acted, BoxFuture, EventLog};
use perspt_core::effect::Effect;
use perspt_core::event::{Decision, Event, Trouble};
use perspt_core::ids::{EffectId, Millis, NodeId};
use perspt_core::state::{SessionState, Wanted};
use perspt_sandbox::Cancel;
use perspt_store::Stamp;

/// A moment of a session.
#[derive(Debug)]
pub enum Point<'a> {
    /// The event is not in the log yet.
    BeforeAppend(&'a Event),
    /// It is.
    AfterAppend(&'a Event),
    /// The effect's start is recorded and nothing of it was done.
    BeforeAct(&'a Wanted),
    /// The effect waits for the first time: for a process or for the network. Others have no such point.
    DuringAct(&'a Wanted),
    /// The effect is done and its outcome is not recorded.
    AfterAct(&'a Wanted, &'a Acted),
    /// The event is recorded and what follows from that is not done.
    BeforeTold(&'a Event),
    /// It is done.
    AfterTold(&'a Event),
}

impl Point<'_> {
    /// The effect that is about to be carried out for this node, if that is what the point is.
    pub fn before(&self, node: &str) -> Option<&Effect> {
        match self {
            Point::BeforeAct(wanted) if wanted.key.node == Some(NodeId::from(node)) => Some(&wanted.effect),
            _ => None,
        }
    }

    /// Whether a publication of this node is about to be carried out.
    pub fn before_publish(&self, node: &str) -> bool {
        matches!(self.before(node), Some(Effect::Publish { .. }))
    }
}

/// Who is told of every point.
pub trait Watch: Send + Sync {
    /// The session is at this point.
    fn at(&self, point: &Point<'_>);
}

impl<F: Fn(&Point<'_>) + Send + Sync> Watch for F {
    fn at(&self, point: &Point<'_>) {
        self(point);
    }
}

/// A journal that tells of its appends.
pub(super) struct WatchedJournal<'a> {
    pub(super) inner: &'a mut dyn EventLog,
    pub(super) watch: Arc<dyn Watch>,
}

impl EventLog for WatchedJournal<'_> {
    fn append(&mut self, at: Millis, event: &Event) -> Result<Stamp, AgentError> {
        self.watch.at(&Point::BeforeAppend(event));
        let stamp = self.inner.append(at, event)?;
        self.watch.at(&Point::AfterAppend(event));
        Ok(stamp)
    }
}

/// An actor that tells of its effects.
pub(super) struct WatchedAct {
    pub(super) inner: Arc<dyn Act>,
    pub(super) watch: Arc<dyn Watch>,
    /// Whose turn it is, where effects that are wanted together are carried out one after the other: a test that
    /// compares logs or counts points needs the same order each time.
    pub(super) turns: Option<tokio::sync::Mutex<()>>,
}

impl Act for WatchedAct {
    fn ready(&self, effect: &Effect, state: &SessionState) -> Result<(), Trouble> {
        self.inner.ready(effect, state)
    }

    fn act(
        self: Arc<Self>,
        id: EffectId,
        wanted: Wanted,
        state: Arc<SessionState>,
        cancel: Cancel,
    ) -> BoxFuture<'static, Acted> {
        Box::pin(async move {
            let _turn = match &self.turns {
                Some(turns) => Some(turns.lock().await),
                None => None,
            };
            self.watch.at(&Point::BeforeAct(&wanted));
            let mut inner = self.inner.clone().act(id, wanted.clone(), state, cancel);
            let mut waited = false;
            let acted = std::future::poll_fn(|context| {
                let polled = Pin::new(&mut inner).poll(context);
                if matches!(polled, Poll::Pending) && !waited {
                    waited = true;
                    self.watch.at(&Point::DuringAct(&wanted));
                }
                polled
            })
            .await;
            self.watch.at(&Point::AfterAct(&wanted, &acted));
            acted
        })
    }

    fn answer(&self, id: EffectId, decision: Decision, by: String) {
        self.inner.answer(id, decision, by);
    }

    fn recorded(&self, event: &Event, state: &SessionState) -> Result<Vec<Event>, AgentError> {
        // Nothing follows from most events, and no point is a second one.
        let follows = event.ends_a_talk();
        if follows {
            self.watch.at(&Point::BeforeTold(event));
        }
        let facts = self.inner.recorded(event, state)?;
        if follows {
            self.watch.at(&Point::AfterTold(event));
        }
        Ok(facts)
    }
}
