//! Carrying effects out. This file only says which room carries which effect out.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use perspt_core::effect::Effect;
use perspt_core::event::{Decision, Ended, Event, SessionStarted, Trouble};
use perspt_core::ids::EffectId;
use perspt_core::route::Route;
use perspt_core::state::{SessionState, Wanted};
use perspt_lang::plugin::{Machine, Plugin};
use perspt_model::Model;
use perspt_policy::mask::Masks;
use perspt_sandbox::slot::{Slot, StatCache};
use perspt_sandbox::{Cancel, Runner};
use perspt_store::{Blobs, Home, WorkspaceLease, publish};
use tokio::sync::OnceCell;

use crate::AgentError;
use crate::apply::Layout;
use crate::commit::bytes_kept;
use crate::context::PromptRequest;
use crate::error::EffectError;
use crate::parse::ParseRequest;
use crate::ports::{Act, Acted, BoxFuture, Console};
use crate::question::Answers;
use crate::trouble::{trouble, workspace_gone};
use crate::verify::{BranchStage, JudgementInputs, Measurement};

/// Makes the model of a route; called when the first request of that route is wanted.
pub type ModelMaker = Box<dyn Fn(&SessionStarted, &Route) -> Result<Arc<dyn Model>, Trouble> + Send + Sync>;

/// The models made so far, by name and endpoint.
pub(crate) type Models = BTreeMap<(String, Option<String>), Arc<dyn Model>>;

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
    /// Places that are hidden from commands that do not fetch.
    pub secret_places: Vec<PathBuf>,
    /// What is never shown.
    pub masks: Masks,
    /// Makes the model.
    pub model: ModelMaker,
    /// Who answers questions.
    pub console: Arc<dyn Console>,
}

/// Carries effects out for one session.
pub struct Actor {
    pub(crate) parts: Parts,
    pub(crate) models: Mutex<Models>,
    pub(crate) slot: OnceCell<tokio::sync::Mutex<Slot>>,
    pub(crate) stats: Mutex<Option<StatCache>>,
    pub(crate) namespaces: OnceCell<bool>,
    pub(crate) answers: Answers,
}

impl Actor {
    /// An actor.
    pub fn new(parts: Parts) -> Actor {
        Actor {
            parts,
            models: Mutex::default(),
            slot: OnceCell::new(),
            stats: Mutex::default(),
            namespaces: OnceCell::new(),
            answers: Answers::default(),
        }
    }

    async fn carry_out(
        &self,
        id: EffectId,
        wanted: &Wanted,
        state: &SessionState,
        cancel: &Cancel,
    ) -> Result<Acted, EffectError> {
        let node = wanted.key.node.as_ref();
        match &wanted.effect {
            Effect::Snapshot => self.snapshot(state, cancel).await.map(Acted::from),
            Effect::Probe => self.probe(state, cancel).await.map(Acted::from),
            Effect::Fetch { tree } => self.fetch(state, *tree, cancel).await.map(Acted::from),
            Effect::LayOut { base, changes, commands } => {
                let layout = Layout { node, base: *base, changes: *changes, commands };
                self.lay_out(state, layout, cancel).await.map(Acted::from)
            }
            Effect::Measure { branch, stage, run } => {
                let wanted = Measurement { node, branch, stage, run: *run };
                self.measure(state, &wanted, cancel).await.map(Acted::from)
            }
            Effect::RunOldTests { branch, stage } => {
                self.run_old_tests(state, BranchStage { branch, stage }, cancel).await.map(Acted::from)
            }
            Effect::RunNewTests { branch, stage } => {
                self.run_new_tests(state, node, BranchStage { branch, stage }, cancel).await.map(Acted::from)
            }
            Effect::Judge { branch, readings, before, old_tests, required, .. } => {
                let inputs = JudgementInputs { branch, readings, before, old_tests, required };
                self.judge(state, node, &inputs).map(Acted::from)
            }
            Effect::Calibrate { branch, stage, reading } => {
                let stage = BranchStage { branch, stage };
                self.calibrate(state, stage, *reading, cancel).await.map(Acted::from)
            }
            Effect::PlanLocal { branch } => self.plan_local(id, state, branch),
            Effect::Assemble { intent, attempt, branch, evidence, analysis } => {
                let (intent, attempt, analysis) = (*intent, *attempt, *analysis);
                let request = PromptRequest { node, intent, attempt, branch, evidence, analysis };
                self.assemble(state, &request).map(Acted::from)
            }
            Effect::Ask { prompt, .. } => self.ask(state, *prompt, cancel).await.map(Acted::from),
            Effect::Parse { answer, expects } => {
                self.parse(state, &ParseRequest { effect: id, node, answer: *answer, expects })
            }
            Effect::Question { question } => {
                self.question(id, state, node, question, cancel).await.map(Acted::from)
            }
            Effect::Publish { branch, readings, before, old_tests, required } => {
                let inputs = JudgementInputs { branch, readings, before, old_tests, required };
                self.publish(id, state, node, &inputs)
            }
        }
    }

    fn outcome_of(&self, halt: EffectError, state: &SessionState) -> Ended {
        match halt {
            EffectError::Cancelled => Ended::Cancelled,
            EffectError::BaseMoved => match self.moved_head(state) {
                Ok(outcome) => outcome,
                Err(error) => self.broke(&error),
            },
            EffectError::Failed(error) => self.broke(&error),
        }
    }

    /// Where the workspace is gone, whatever failed failed because of that.
    fn broke(&self, error: &AgentError) -> Ended {
        let trouble = workspace_gone(&self.parts.workspace).unwrap_or_else(|| trouble(error));
        Ended::Broke { trouble }
    }
}

impl Act for Actor {
    fn ready(&self, effect: &Effect, state: &SessionState) -> Result<(), Trouble> {
        let (Effect::Ask { intent, .. }, Some(meta)) = (effect, &state.meta) else { return Ok(()) };
        self.model_of(meta, &state.route(intent.tier())).map(|_| ())
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

    fn answer(&self, id: EffectId, decision: Decision, by: String) {
        self.answers.give(id, decision, by);
    }

    fn recorded(&self, event: &Event, state: &SessionState) -> Result<Vec<Event>, AgentError> {
        let mut facts = Vec::new();
        if let Event::EffectEnded { outcome: Ended::Published { .. }, .. } = event {
            facts.extend(publish::settle(&self.parts.home, &self.parts.lease)?.into_iter().map(bytes_kept));
        }
        if state.releases_texts(event) {
            self.parts.texts.release()?;
        }
        Ok(facts)
    }
}
