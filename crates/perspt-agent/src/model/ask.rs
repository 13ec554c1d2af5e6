//! One request to a tier's model.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use perspt_core::event::{AskNext, Ended, SessionStarted, Trouble};
use perspt_core::ids::BlobId;
use perspt_core::route::Route;
use perspt_core::state::SessionState;
use perspt_model::{CallLimits, ConnectKind, Model, ModelError, Prompt, Tag, Turn, Usage, estimate_tokens};
use perspt_sandbox::Cancel;

use crate::AgentError;
use crate::actor::Actor;
use crate::error::EffectError;
use crate::prompt::Compiled;

/// The largest answer that is taken.
const ANSWER_CAP: usize = 8 * 1024 * 1024;

/// How often a server on this machine is asked that nobody has started.
const TRIES_NOBODY_LISTENS: u32 = 2;

impl Actor {
    /// The model of a route, made when it is first needed.
    pub(crate) fn model_of(&self, meta: &SessionStarted, route: &Route) -> Result<Arc<dyn Model>, Trouble> {
        let key = (route.model.clone(), route.base_url.clone());
        let mut models = self.models.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(model) = models.get(&key) {
            return Ok(model.clone());
        }
        let model = (self.parts.model)(meta, route)?;
        models.insert(key, model.clone());
        Ok(model)
    }

    pub(crate) async fn ask(
        &self,
        state: &SessionState,
        prompt: BlobId,
        cancel: &Cancel,
    ) -> Result<Ended, EffectError> {
        let compiled: Compiled = self.load_text("a prompt", prompt)?;
        let route = state.route(compiled.intent.tier());
        let model = state.meta.as_ref().and_then(|meta| self.model_of(meta, &route).ok());
        let Some(model) = model else {
            return Err(EffectError::Failed(AgentError::Stuck(
                "a request was started before its model was made".to_owned(),
            )));
        };
        let tag =
            Tag { intent: compiled.intent.slug().to_owned(), node: compiled.node, attempt: compiled.attempt };
        let turn = Turn::user(compiled.body).with_stable(compiled.stable);
        let prompt = Prompt { tag: Some(tag), head: compiled.head, turns: vec![turn] };
        let limits = limits(state, &route, prompt.estimated_tokens());
        let console = self.parts.console.clone();
        let mut chunks = move |text: &str| console.streamed(text.len());
        match model.ask(&prompt, &limits, &mut chunks, cancel).await {
            Ok(answer) => {
                let estimated = (prompt.estimated_tokens(), estimate_tokens(&answer.text));
                let counted =
                    answer.usage.unwrap_or(Usage { input: estimated.0, output: estimated.1, cached: 0 });
                Ok(Ended::Answered {
                    answer: self.parts.texts.put(answer.text.as_bytes()).map_err(AgentError::from)?,
                    capture: self.capture(&answer.text),
                    tokens_in: answer.usage.map(|usage| usage.input),
                    tokens_out: answer.usage.map(|usage| usage.output),
                    tokens_cached: answer.usage.map(|usage| usage.cached),
                    tokens_estimated: answer.usage.is_none().then(|| estimated.0.saturating_add(estimated.1)),
                    first_token_ms: millis(answer.first_token),
                    latency_ms: millis(answer.latency),
                    model: answer.model,
                    cost: cost(&route, counted),
                })
            }
            Err(ModelError::Cancelled) => Err(EffectError::Cancelled),
            Err(error) => Ok(failed(&error, &route)),
        }
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn cost(route: &Route, usage: Usage) -> Option<u64> {
    route.price.map(|price| price.cost(usage.input, usage.cached, usage.output))
}

/// The settings' limits. A model on this machine may need minutes to read a long prompt.
fn limits(state: &SessionState, route: &Route, prompt_tokens: u64) -> CallLimits {
    let settings = state.settings();
    let set = CallLimits {
        first_byte: Duration::from_millis(settings.first_byte_ms),
        idle: Duration::from_millis(settings.idle_ms),
        total: Duration::from_millis(settings.total_ms),
        max_output_tokens: state.output_tokens(route, prompt_tokens),
        max_bytes: ANSWER_CAP,
    };
    if route.local { set.with_reading_time(prompt_tokens) } else { set }
}

fn failed(error: &ModelError, route: &Route) -> Ended {
    let next = match error {
        ModelError::OutputLimit { .. }
        | ModelError::Filtered { .. }
        | ModelError::OnlyToolCalls { .. }
        | ModelError::UnknownStop { .. }
        | ModelError::TooLarge { .. } => AskNext::Malformed,
        error if error.is_transient() => AskNext::Again(error.retry_after().map(millis)),
        _ => AskNext::Unusable,
    };
    let nobody_listens =
        route.local && matches!(error, ModelError::Connect { kind: ConnectKind::Refused, .. });
    // The variant's own name, without its fields, is the class.
    let debug = format!("{error:?}");
    let class = debug.split([' ', '{', '(']).next().unwrap_or("error").to_owned();
    Ended::AskFailed {
        class,
        what: error.what(),
        next,
        began: error.had_begun(),
        tokens: error.usage().map(|usage| usage.input.saturating_add(usage.output)),
        cost: error.usage().and_then(|usage| cost(route, usage)),
        tries: nobody_listens.then_some(TRIES_NOBODY_LISTENS),
    }
}
