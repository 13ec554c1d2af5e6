//! A model that is not asked by too many at once.

use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::ask::{Answer, BoxFuture, CallLimits, Cancel, Chunks, Model};
use crate::error::ModelError;
use crate::prompt::Prompt;

/// Another model, asked only while a permit is free. Models of one provider share their semaphore. Waiting is not part
/// of the call: its limits begin when it does.
pub struct Limited {
    model: Arc<dyn Model>,
    permits: Arc<Semaphore>,
}

impl Limited {
    /// Asks `model` under the permits of `permits`.
    pub fn new(model: Arc<dyn Model>, permits: Arc<Semaphore>) -> Limited {
        Limited { model, permits }
    }
}

impl Model for Limited {
    fn ask<'a>(
        &'a self,
        prompt: &'a Prompt,
        limits: &'a CallLimits,
        chunks: &'a mut (dyn Chunks + Send),
        cancel: &'a Cancel,
    ) -> BoxFuture<'a, Result<Answer, ModelError>> {
        Box::pin(async move {
            let permit = tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(ModelError::Cancelled),
                permit = self.permits.acquire() => permit,
            };
            // A semaphore that was closed lets nobody in any more.
            let _permit = permit.map_err(|_| ModelError::Cancelled)?;
            self.model.ask(prompt, limits, chunks, cancel).await
        })
    }

    fn name(&self) -> String {
        self.model.name()
    }
}
