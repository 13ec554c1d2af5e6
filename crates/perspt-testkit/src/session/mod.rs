//! Whole sessions in a test: the real loop, actor, store and runner, with the world under the test's control.
//!
//! A [`Rig`] is what one session runs with. [`Rig::begin`] and [`Rig::resume`] run it to its end, as the
//! program does, and every point on the way is shown to [`Rig::watch`].
// A test library: what cannot be set up is a failed test.
#![allow(clippy::expect_used)]

pub mod child;
mod points;
mod stops;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use perspt_agent::AgentError;
use perspt_agent::actor::{Actor, Parts};
use perspt_agent::open::{self, Open};
use perspt_agent::ports::{BoxFuture, Clock, Console, Unseen};
use perspt_agent::session::{Session, run};
use perspt_core::event::{Decision, Event, SessionResumed, SessionStarted, Trouble};
use perspt_core::ids::{Millis, SessionId};
use perspt_core::question::Asked;
use perspt_core::route::Route;
use perspt_core::state::SessionState;
use perspt_core::view::History;
use perspt_lang::plugin::{Machine, Plugin};
use perspt_model::{Endpoint, Model, Protocol, Remote};
use perspt_sandbox::Runner;
use perspt_store::{Follower, Home, LogWriter, StoreError};

use crate::clock::{TickClock, session_id};
use crate::log::started;

pub use points::{Point, Watch};
pub use stops::Stops;

/// The variable that every command of a session carries, by which they are counted.
pub const MARK: &str = "PERSPT_TEST_MARK";

/// Where answers come from.
#[derive(Clone)]
pub enum Answers {
    /// Over HTTP, from this address.
    Http(String),
    /// From a model that is already made.
    Made(Arc<dyn Model>),
    /// There is no model: what, why, what to do.
    None(Trouble),
}

/// What one session runs with.
pub struct Rig {
    /// The home.
    pub home: Home,
    /// The session; its id, task, settings and who approves are taken from here.
    pub started: SessionStarted,
    /// The languages.
    pub plugins: Vec<&'static dyn Plugin>,
    /// The runner.
    pub runner: Runner,
    /// The environment of commands.
    pub env: BTreeMap<String, String>,
    /// Where answers come from.
    pub answers: Answers,
    /// What the person says to the plan, where a person is asked.
    pub decision: Decision,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Requests to stop.
    pub stops: Stops,
    /// Who is shown every point.
    pub watch: Arc<dyn Watch>,
    /// Whether effects that are wanted together run side by side, as they do in the product.
    pub side_by_side: bool,
}

impl Rig {
    /// A rig for a workspace, with a clock that ticks by itself, the sandbox's helper at this path, and commands
    /// (their helpers too) that carry `mark`.
    pub fn new(home: Home, work: &Path, mark: &str, helper: &Path) -> Rig {
        let path = std::env::var("PATH").unwrap_or_else(|_| "/usr/bin:/bin".to_owned());
        let nobody = Trouble {
            what: "no model can be asked".to_owned(),
            why: "the test has none".to_owned(),
            todo: "give it one".to_owned(),
        };
        Rig {
            home,
            started: started(&session_id(), &work.to_string_lossy(), "do it in toy"),
            plugins: Vec::new(),
            runner: Runner::new(helper.to_owned(), vec![mark.to_owned()]),
            env: BTreeMap::from([("PATH".to_owned(), path), (MARK.to_owned(), mark.to_owned())]),
            answers: Answers::None(nobody),
            decision: Decision::Yes,
            clock: Arc::new(TickClock::default()),
            stops: Stops::default(),
            watch: Arc::new(|_: &Point<'_>| {}),
            side_by_side: false,
        }
    }

    /// The session's id.
    pub fn id(&self) -> &SessionId {
        &self.started.session
    }

    /// Begins the session and runs it to its end.
    pub fn begin(&self) -> Result<SessionState, AgentError> {
        let open =
            patiently(|| open::begin(&self.home, self.clock.now(), self.started.clone(), &mut Unseen))?;
        self.drive(open)
    }

    /// Takes the session up again and runs it to its end; one that has ended for good stays as it is.
    pub fn resume(&self, resumed: SessionResumed) -> Result<SessionState, AgentError> {
        let open = patiently(|| {
            open::resume(&self.home, self.id(), self.clock.now(), resumed.clone(), &mut Unseen)
        })?;
        if open.state.end.is_some() { Ok(open.state) } else { self.drive(open) }
    }

    /// Every event in the log.
    pub fn events(&self) -> Vec<(Millis, Event)> {
        let mut events = Vec::new();
        Follower::read(&self.home, self.id(), &mut |record, event, _| {
            events.push((record.at, event.expect("an event of our schema").clone()));
        })
        .expect("a log that can be read");
        events
    }

    fn drive(&self, open: Open) -> Result<SessionState, AgentError> {
        let Open { writer, state, history, workspace, lease, .. } = open;
        let parts = Parts {
            home: self.home.clone(),
            blobs: self.home.blobs(writer.session())?,
            texts: self.home.texts(writer.session())?,
            lease,
            workspace,
            runner: self.runner.clone(),
            plugins: self.plugins.clone(),
            machine: Machine::default(),
            env: self.env.clone(),
            masks: Default::default(),
            secret_places: self.home.private_places(),
            model: maker(self.answers.clone()),
            console: Arc::new(Person(self.decision.clone())),
        };
        // One thread, so that what happens between two points is always the same.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let result = runtime.block_on(self.looped(writer, (state, history), parts));
        runtime.shutdown_background();
        result
    }

    async fn looped(
        &self,
        mut writer: LogWriter,
        (state, history): (SessionState, History),
        parts: Parts,
    ) -> Result<SessionState, AgentError> {
        let mut journal = points::WatchedJournal { inner: &mut writer, watch: self.watch.clone() };
        let inner = Arc::new(Actor::new(parts));
        run(Session {
            log: &mut journal,
            state,
            history,
            act: Arc::new(points::WatchedAct {
                inner,
                watch: self.watch.clone(),
                turns: (!self.side_by_side).then(Default::default),
            }),
            clock: self.clock.as_ref(),
            interrupts: &mut self.stops.clone(),
            view: &mut Unseen,
        })
        .await
    }
}

/// Opens a session whose locks this very process gave up just now. A test on another thread may have forked at
/// that moment, and its child has a copy of our locks until it becomes another program.
fn patiently(open: impl Fn() -> Result<Open, AgentError>) -> Result<Open, AgentError> {
    for _ in 0..2000 {
        match open() {
            Err(AgentError::Store(StoreError::Held { holder, .. })) if holder.pid == std::process::id() => {
                std::thread::sleep(Duration::from_millis(5));
            }
            other => return other,
        }
    }
    open()
}

fn maker(answers: Answers) -> perspt_agent::actor::ModelMaker {
    Box::new(move |_: &SessionStarted, route: &Route| match &answers {
        Answers::Made(model) => Ok(model.clone()),
        Answers::None(trouble) => Err(trouble.clone()),
        Answers::Http(base_url) => {
            let (base_url, model) = (base_url.clone(), route.model.clone());
            let protocol = Protocol::OpenAiChat;
            let made = Remote::new(Endpoint { protocol, base_url, key: None, model, num_ctx: None });
            Ok(Arc::new(made.expect("an address")) as Arc<dyn Model>)
        }
    })
}

struct Person(Decision);

impl Console for Person {
    fn ask<'a>(&'a self, _: &'a Asked, _: &'a SessionState) -> BoxFuture<'a, Decision> {
        let decision = self.0.clone();
        Box::pin(async move { decision })
    }

    fn streamed(&self, _: usize) {}
}
