//! The provider's side: pieces on the channel, and one end.

use std::sync::Arc;

use perspt_chat::{CallEvent, Effect, Heard, Setup, Speaker, Talk, run};
use perspt_core::route::Route;
use perspt_model::{Answer, BoxFuture, CallLimits, Cancel, Chunks, Model, ModelError, Prompt};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::support::{answer, find};

/// Says two pieces, then ends or waits to be cancelled.
struct Scripted {
    waits: bool,
}

impl Model for Scripted {
    fn ask<'a>(
        &'a self,
        _: &'a Prompt,
        limits: &'a CallLimits,
        chunks: &'a mut (dyn Chunks + Send),
        cancel: &'a Cancel,
    ) -> BoxFuture<'a, Result<Answer, ModelError>> {
        Box::pin(async move {
            chunks.chunk("one ");
            chunks.chunk("two");
            if self.waits {
                cancel.cancelled().await;
                return Err(ModelError::Cancelled);
            }
            assert_eq!(limits.max_output_tokens, 77);
            answer("one two")
        })
    }

    fn name(&self) -> String {
        "scripted".to_owned()
    }
}

fn asking(waits: bool) -> (Talk, Box<perspt_chat::Ask>) {
    let speaker = Speaker { route: Route::plain("m", None), model: Arc::new(Scripted { waits }) };
    let mut talk = Talk::new(Setup { speaker, find: Box::new(find), output_tokens: 77 });
    let ask = talk
        .typed("hi")
        .into_iter()
        .find_map(|effect| if let Effect::Ask(ask) = effect { Some(ask) } else { None });
    (talk, ask.unwrap())
}

async fn all(mut heard: UnboundedReceiver<Heard>) -> Vec<CallEvent> {
    let mut events = Vec::new();
    while let Some(heard) = heard.recv().await {
        events.push(heard.event);
    }
    events
}

#[tokio::test]
async fn pieces_come_over_the_channel_and_then_one_end() {
    let (_, ask) = asking(false);
    let (to, heard) = unbounded_channel();
    run(*ask, CallLimits::default(), Cancel::new(), to).await;
    let piece = |text: &str| CallEvent::Chunk(text.to_owned());
    assert_eq!(all(heard).await, [piece("one "), piece("two"), CallEvent::End(answer("one two"))]);
}

#[tokio::test]
async fn a_cancelled_call_ends_once_too() {
    let (_, ask) = asking(true);
    let (to, heard) = unbounded_channel();
    let cancel = Cancel::new();
    let call = tokio::spawn(run(*ask, CallLimits::default(), cancel.clone(), to));
    cancel.cancel();
    call.await.unwrap();
    assert_eq!(all(heard).await.last(), Some(&CallEvent::End(Err(ModelError::Cancelled))));
}

#[tokio::test]
async fn a_call_that_nobody_listens_to_ends_by_itself() {
    let (_, ask) = asking(true);
    let (to, heard) = unbounded_channel();
    drop(heard);
    run(*ask, CallLimits::default(), Cancel::new(), to).await;
}

#[tokio::test]
async fn a_call_and_a_talk_together_make_an_exchange() {
    let (mut talk, ask) = asking(false);
    let (to, mut heard) = unbounded_channel();
    tokio::spawn(run(*ask, CallLimits::default(), Cancel::new(), to));
    while let Some(heard) = heard.recv().await {
        talk.heard(heard);
    }
    assert_eq!(talk.history().len(), 2);
    assert!(!talk.is_busy());
}
