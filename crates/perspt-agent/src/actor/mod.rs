//! Carrying effects out: one function a stage, in the stage's own folder. This file only says which.

mod ask;
mod assemble;
mod bench;
mod read;
mod trees;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use perspt_core::effect::{Effect, Expects};
use perspt_core::event::{Approval, Decision, Ended, Event, SessionStarted, Trouble};
use perspt_core::ids::EffectId;
use perspt_core::state::{SessionState, Wanted};
use perspt_lang::plugin::{Machine, Plugin};
use perspt_model::Model;
use perspt_sandbox::slot::{BadTarget, Slot, SlotError, StatCache};
use perspt_sandbox::{Cancel, Runner, SandboxError};
use perspt_store::{Blobs, Home, StoreError, WorkspaceLease, publish};

use crate::AgentError;
use crate::commit::bytes_kept;
use crate::files::Lost;
use crate::ports::{Act, Acted, BoxFuture, Console};

pub(crate) use bench::{Bench, Floor, brief, shown};

/// Makes the model a session asks; called when the first request is wanted.
pub type ModelMaker = Box<dyn Fn(&SessionStarted) -> Result<Arc<dyn Model>, Trouble> + Send + Sync>;

/// What an actor is made of.
pub struct Parts {
    /// The data dir.
    pub home: Home,
    /// The session's blobs.
    pub blobs: Blobs,
    /// Prompts and answers, as long as they are needed.
    pub texts: Blobs,
    /// The right to publish.
    pub lease: WorkspaceLease,
    /// The workspace, resolved.
    pub workspace: PathBuf,
    /// The one runner.
    pub runner: Runner,
    /// The languages.
    pub plugins: Vec<&'static dyn Plugin>,
    /// Facts about the machine that plugins need.
    pub machine: Machine,
    /// The environment every command starts from.
    pub env: BTreeMap<String, String>,
    /// Makes the model.
    pub model: ModelMaker,
    /// Who answers questions.
    pub console: Arc<dyn Console>,
}

/// Carries effects out for one session.
pub struct Actor {
    pub(crate) parts: Parts,
    model: Mutex<Option<Arc<dyn Model>>>,
    slot: tokio::sync::Mutex<Option<Slot>>,
    stats: Mutex<Option<StatCache>>,
    namespaces: tokio::sync::OnceCell<bool>,
}

/// Why an effect gave no outcome of its own.
pub(crate) enum Halt {
    /// It was cancelled.
    Cancelled,
    /// What it works on is no longer there: the user changed the tree.
    BaseMoved,
    /// Something failed that is nobody's answer.
    Broke(AgentError),
}

impl From<Lost> for Halt {
    fn from(Lost: Lost) -> Halt {
        Halt::BaseMoved
    }
}

impl<E: Into<AgentError>> From<E> for Halt {
    fn from(error: E) -> Halt {
        match error.into() {
            // A path that is in another's way passed the answer's own bounds: the user put it there.
            AgentError::Slot(
                SlotError::BaseGone { .. } | SlotError::BadTarget { why: BadTarget::BelowFile, .. },
            ) => Halt::BaseMoved,
            other => Halt::Broke(other),
        }
    }
}

impl Actor {
    /// An actor.
    pub fn new(parts: Parts) -> Actor {
        Actor {
            parts,
            model: Mutex::default(),
            slot: tokio::sync::Mutex::default(),
            stats: Mutex::default(),
            namespaces: tokio::sync::OnceCell::new(),
        }
    }

    async fn carry_out(
        &self,
        id: EffectId,
        wanted: &Wanted,
        state: &SessionState,
        cancel: &Cancel,
    ) -> Result<Acted, Halt> {
        let node = wanted.key.node.as_ref();
        match &wanted.effect {
            Effect::Snapshot => self.snapshot(state).await.map(Acted::from),
            Effect::Probe => self.probe(state, cancel).await.map(Acted::from),
            Effect::Fetch { tree } => self.fetch(state, *tree, cancel).await.map(Acted::from),
            Effect::LayOut { base, changes } => {
                self.lay_out(state, node, *base, *changes, cancel).await.map(Acted::from)
            }
            Effect::Measure { branch, stage, against, .. } => {
                self.measure(state, node, branch, stage, against, cancel).await.map(Acted::from)
            }
            Effect::Calibrate { branch, stage, reading } => {
                self.calibrate(state, branch, stage, *reading, cancel).await.map(Acted::from)
            }
            Effect::Assemble { intent, attempt, branch, evidence } => {
                self.assemble(state, node, *intent, *attempt, branch, evidence).map(Acted::from)
            }
            Effect::Ask { prompt, .. } => self.ask(state, *prompt, cancel).await.map(Acted::from),
            Effect::Parse { answer, expects } => match expects {
                Expects::Plan => self.parse_plan(id, state, *answer, None),
                Expects::PlanOrFallback => {
                    let task = state.meta.as_ref().map(|meta| meta.task.as_str());
                    self.parse_plan(id, state, *answer, task)
                }
                Expects::Bundle(branch) => self.parse_bundle(state, node, *answer, branch).map(Acted::from),
            },
            Effect::Question { .. } => self.question(state, cancel).await.map(Acted::from),
            Effect::Publish { branch, evidence, required } => {
                self.publish(id, state, node, branch, evidence, required)
            }
        }
    }

    async fn question(&self, state: &SessionState, cancel: &Cancel) -> Result<Ended, Halt> {
        let by = state.meta.as_ref().map_or(Approval::Person, |meta| meta.approval);
        let answer = match by {
            Approval::Policy => Decision::Yes,
            Approval::Person => tokio::select! {
                answer = self.parts.console.approve_plan(state) => answer,
                () = cancel.cancelled() => return Err(Halt::Cancelled),
            },
        };
        Ok(Ended::Decided { answer, by })
    }

    fn outcome_of(&self, halt: Halt, state: &SessionState) -> Ended {
        match halt {
            Halt::Cancelled => Ended::Cancelled,
            Halt::BaseMoved => match self.moved_head(state) {
                Ok(outcome) => outcome,
                Err(error) => Ended::Broke { trouble: trouble(&error) },
            },
            Halt::Broke(error) => Ended::Broke { trouble: trouble(&error) },
        }
    }
}

impl Act for Actor {
    fn ready(&self, effect: &Effect, state: &SessionState) -> Result<(), Trouble> {
        let (Effect::Ask { .. }, Some(meta)) = (effect, &state.meta) else { return Ok(()) };
        let mut model = self.model.lock().unwrap_or_else(PoisonError::into_inner);
        if model.is_none() {
            *model = Some((self.parts.model)(meta)?);
        }
        Ok(())
    }

    fn act(
        self: Arc<Self>,
        id: EffectId,
        wanted: Wanted,
        state: Arc<SessionState>,
        cancel: Cancel,
    ) -> BoxFuture<'static, Acted> {
        Box::pin(async move {
            match self.carry_out(id, &wanted, &state, &cancel).await {
                Ok(acted) => acted,
                Err(halt) => self.outcome_of(halt, &state).into(),
            }
        })
    }

    fn recorded(&self, event: &Event) -> Result<Vec<Event>, AgentError> {
        let mut facts = Vec::new();
        if let Event::EffectEnded { outcome: Ended::Published { .. }, .. } = event {
            facts.extend(publish::settle(&self.parts.home, &self.parts.lease)?.into_iter().map(bytes_kept));
        }
        if event.releases_texts() {
            self.parts.texts.release()?;
        }
        Ok(facts)
    }
}

/// An error for people: what, why, what to do.
pub fn trouble(error: &AgentError) -> Trouble {
    let why = error.to_string();
    let (what, todo) = match error {
        AgentError::Store(StoreError::Held { .. }) => {
            ("another process is at work here", "wait for it, or abort it")
        }
        AgentError::Store(StoreError::EventTooLong { .. }) => {
            ("something is too long to be recorded", "make what it is about shorter, or report this")
        }
        AgentError::Store(StoreError::Damaged { .. } | StoreError::Integrity { .. }) => {
            ("perspt's data is damaged", "run `perspt ledger --verify`")
        }
        AgentError::Store(_) => (
            "a file could not be written or read",
            "check space and permissions of the path that is named, then `perspt resume`",
        ),
        AgentError::Replaced(_) => {
            ("the workspace was replaced", "`perspt resume` goes on in the folder that is there now")
        }
        AgentError::NoSpace { .. } => ("the disk is full", "make room there, then `perspt resume`"),
        AgentError::Sandbox(SandboxError::Helper { .. } | SandboxError::HelperLost(_)) => {
            ("the sandbox's helper failed", "run `perspt doctor`")
        }
        AgentError::Sandbox(_) => {
            ("a command could not be run in its place", "see that the folder is there, then `perspt doctor`")
        }
        AgentError::Slot(_) => {
            ("the branch could not be laid out", "check space and permissions of the data directory")
        }
        AgentError::Walk(_) => ("the workspace could not be read", "mend or ignore the file that is named"),
        AgentError::Blob { .. } => ("a stored blob is damaged", "run `perspt ledger --verify`"),
        AgentError::TooNew { .. } => {
            ("the session needs a newer perspt", "use the version that wrote it, or a later one")
        }
        AgentError::BadEvent { .. } => ("the session's log is damaged", "run `perspt ledger --verify`"),
        AgentError::NeverBegun => ("there is nothing to resume", "start again with `perspt agent`"),
        AgentError::NotReady(trouble) => return trouble.clone(),
        AgentError::Stuck(_) => {
            ("perspt came to a stop it does not understand", "please report this with the session's log")
        }
    };
    Trouble { what: what.to_owned(), why, todo: todo.to_owned() }
}
