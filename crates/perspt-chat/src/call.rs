//! The provider's side of a talk: one call, its pieces on a channel, and exactly one end.

use perspt_model::{Answer, CallLimits, Cancel, ModelError};
use tokio::sync::mpsc::UnboundedSender;

use crate::effect::{Ask, CallId};

/// What a call says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heard {
    /// Which call.
    pub call: CallId,
    /// What.
    pub event: CallEvent,
}

/// What can come of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallEvent {
    /// A piece of the answer.
    Chunk(String),
    /// The end: the whole answer, or why there is none.
    End(Result<Answer, ModelError>),
}

/// Makes a call. The channel has no bound, so that the model never waits for whoever reads; the limits bound what
/// one answer can put into it. A reader that is gone ends the call.
pub async fn run(ask: Ask, limits: CallLimits, cancel: Cancel, to: UnboundedSender<Heard>) {
    let limits = CallLimits { max_output_tokens: ask.output_tokens, ..limits };
    let call = ask.call;
    let mut chunks = |text: &str| {
        let heard = Heard { call, event: CallEvent::Chunk(text.to_owned()) };
        if to.send(heard).is_err() {
            cancel.cancel();
        }
    };
    let end = ask.speaker.model.ask(&ask.prompt, &limits, &mut chunks, &cancel).await;
    // An error says that nobody listens any more.
    let _ = to.send(Heard { call, event: CallEvent::End(end) });
}
