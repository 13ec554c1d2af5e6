//! Asking the user, or the session's policy. The first answer counts: from the terminal, or from elsewhere.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use perspt_core::effect::Question;
use perspt_core::event::{Approval, Decision, Ended};
use perspt_core::ids::{EffectId, NodeId};
use perspt_core::state::SessionState;
use perspt_sandbox::Cancel;
use tokio::sync::Notify;

use crate::actor::Actor;
use crate::error::EffectError;

/// Answers that came from elsewhere, by the question they are for.
#[derive(Default)]
pub(crate) struct Answers {
    given: Mutex<BTreeMap<EffectId, (Decision, String)>>,
    changed: Notify,
}

impl Answers {
    pub fn give(&self, id: EffectId, decision: Decision, by: String) {
        self.given.lock().unwrap_or_else(PoisonError::into_inner).insert(id, (decision, by));
        self.changed.notify_waiters();
    }

    /// The answer to this question, once there is one.
    async fn to(&self, id: EffectId) -> (Decision, String) {
        loop {
            // Listening begins before the look, so that an answer between the two is not missed.
            let changed = self.changed.notified();
            if let Some(answer) = self.given.lock().unwrap_or_else(PoisonError::into_inner).remove(&id) {
                return answer;
            }
            changed.await;
        }
    }
}

impl Actor {
    pub(crate) async fn question(
        &self,
        id: EffectId,
        state: &SessionState,
        node: Option<&NodeId>,
        question: &Question,
        cancel: &Cancel,
    ) -> Result<Ended, EffectError> {
        let by = state.meta.as_ref().map_or(Approval::Person, |meta| meta.approval);
        let node = node.cloned();
        let asked = perspt_store::asked(&self.parts.blobs, state, node, question)?;
        let (answer, from) = match by {
            Approval::Policy => (Decision::Yes, None),
            Approval::Person => tokio::select! {
                answer = self.parts.console.ask(&asked, state) => (answer, None),
                (answer, from) = self.answers.to(id) => (answer, Some(from)),
                () = cancel.cancelled() => return Err(EffectError::Cancelled),
            },
        };
        let answer = answer.shortened();
        let grants = match by {
            Approval::Policy => Vec::new(),
            Approval::Person => asked.grants(&answer, state),
        };
        Ok(Ended::Decided { answer, by, from, grants })
    }
}
