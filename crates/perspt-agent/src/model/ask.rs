//! One request to the model.

use std::sync::PoisonError;
use std::time::Duration;

use perspt_core::event::{AskNext, Ended};
use perspt_core::ids::BlobId;
use perspt_core::state::SessionState;
use perspt_model::{CallLimits, ModelError, Prompt, Tag, estimate_tokens};
use perspt_sandbox::Cancel;

use crate::AgentError;
use crate::actor::Actor;
use crate::error::EffectError;
use crate::parse::capture;
use crate::prompt::Compiled;

/// The largest answer that is taken.
const ANSWER_CAP: usize = 8 * 1024 * 1024;

impl Actor {
    pub(crate) async fn ask(
        &self,
        state: &SessionState,
        prompt: BlobId,
        cancel: &Cancel,
    ) -> Result<Ended, EffectError> {
        let compiled: Compiled = self.load_text("a prompt", prompt)?;
        let model = self.model.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(model) = model else {
            return Err(EffectError::Failed(AgentError::Stuck(
                "a request was started before its model was made".to_owned(),
            )));
        };
        let settings = state.settings();
        let limits = CallLimits {
            first_byte: Duration::from_millis(settings.first_byte_ms),
            idle: Duration::from_millis(settings.idle_ms),
            total: Duration::from_millis(settings.total_ms),
            max_output_tokens: settings.output_tokens,
            max_bytes: ANSWER_CAP,
        };
        let tag =
            Tag { intent: compiled.intent.slug().to_owned(), node: compiled.node, attempt: compiled.attempt };
        let prompt = Prompt { tag, head: compiled.head, body: compiled.body };
        let console = self.parts.console.clone();
        let mut chunks = move |text: &str| console.streamed(text.len());
        let millis = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        match model.ask(&prompt, &limits, &mut chunks, cancel).await {
            Ok(answer) => Ok(Ended::Answered {
                answer: self.parts.texts.put(answer.text.as_bytes()).map_err(AgentError::from)?,
                capture: capture(&answer.text),
                tokens_in: answer.usage.map(|usage| usage.input),
                tokens_out: answer.usage.map(|usage| usage.output),
                tokens_cached: answer.usage.map(|usage| usage.cached),
                tokens_estimated: answer.usage.is_none().then(|| {
                    [&prompt.head, &prompt.body, &answer.text].iter().map(|text| estimate_tokens(text)).sum()
                }),
                first_token_ms: millis(answer.first_token),
                latency_ms: millis(answer.latency),
                model: answer.model,
            }),
            Err(ModelError::Cancelled) => Err(EffectError::Cancelled),
            Err(error) => Ok(failed(&error)),
        }
    }
}

fn failed(error: &ModelError) -> Ended {
    let next = match error {
        ModelError::OutputLimit { .. }
        | ModelError::Filtered { .. }
        | ModelError::OnlyToolCalls { .. }
        | ModelError::UnknownStop { .. }
        | ModelError::TooLarge { .. } => AskNext::Malformed,
        error if error.is_transient() => {
            let wait = error.retry_after().map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
            AskNext::Again(wait)
        }
        _ => AskNext::Unusable,
    };
    // The variant's own name, without its fields, is the class.
    let debug = format!("{error:?}");
    let class = debug.split([' ', '{', '(']).next().unwrap_or("error").to_owned();
    let tokens = error.usage().map(|usage| usage.input.saturating_add(usage.output));
    Ended::AskFailed { class, what: error.what(), next, began: error.had_begun(), tokens }
}
