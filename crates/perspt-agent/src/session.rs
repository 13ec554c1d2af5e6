//! The loop, on one screen: append what is due, start what is wanted, append each outcome before acting
//! on it. Resume is the same call; pause and abort are effects no longer wanted.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use perspt_core::event::{Ended, Event};
use perspt_core::ids::EffectId;
use perspt_core::inbox::Message;
use perspt_core::state::{SessionState, Stop};
use perspt_core::view::History;
use perspt_sandbox::Cancel;
use perspt_store::StoreError;
use tokio::task::JoinSet;

use crate::AgentError;
use crate::ports::{Act, Acted, Appended, Clock, EventLog, Interrupt, Interrupts, View};
use crate::trouble::trouble;

/// What the loop works with.
pub struct Session<'a> {
    /// Where events go.
    pub log: &'a mut dyn EventLog,
    /// The fold of everything in the log.
    pub state: SessionState,
    /// What the state does not keep, from the same log.
    pub history: History,
    /// Who carries effects out.
    pub act: Arc<dyn Act>,
    /// The clock.
    pub clock: &'a dyn Clock,
    /// Requests to stop.
    pub interrupts: &'a mut dyn Interrupts,
    /// Who sees what happens.
    pub view: &'a mut dyn View,
}

/// Runs a session to its end. The state's `end` says how it ended.
pub async fn run(mut session: Session<'_>) -> Result<SessionState, AgentError> {
    let mut running: BTreeMap<EffectId, Cancel> = BTreeMap::new();
    let mut tasks: JoinSet<(EffectId, Acted)> = JoinSet::new();
    let result = drive(&mut session, &mut running, &mut tasks).await;
    for cancel in running.values() {
        cancel.cancel();
    }
    while tasks.join_next().await.is_some() {}
    result.map(|()| session.state)
}

async fn drive(
    session: &mut Session<'_>,
    running: &mut BTreeMap<EffectId, Cancel>,
    tasks: &mut JoinSet<(EffectId, Acted)>,
) -> Result<(), AgentError> {
    // Answers from elsewhere that were handed on, by the question that has not ended yet.
    let mut answered: BTreeMap<EffectId, Interrupt> = BTreeMap::new();
    loop {
        while let Some(event) = session.state.due(session.clock.now()) {
            session.record(&event)?;
        }
        if session.state.end.is_some() {
            return Ok(());
        }
        let now = session.clock.now();
        let wanted = session.state.wanted(now);
        for (id, cancel) in running.iter() {
            if !wanted.contains_key(id) {
                cancel.cancel();
            }
        }
        for (id, wanted) in wanted {
            if running.contains_key(&id) {
                continue;
            }
            session.act.ready(&wanted.effect, &session.state).map_err(AgentError::NotReady)?;
            let (key, effect) = (wanted.key.clone(), wanted.effect.clone());
            session.record(&Event::EffectStarted { id, key, effect })?;
            let cancel = Cancel::new();
            let task = session.act.clone().act(id, wanted, Arc::new(session.state.clone()), cancel.clone());
            running.insert(id, cancel);
            tasks.spawn(async move { (id, task.await) });
        }
        let wake = session.state.next_wake(now).map(|at| Duration::from_millis(at.since(now)));
        if running.is_empty() && session.state.due(session.clock.now()).is_some() {
            // Time went on between the two looks, and a budget has run out.
            continue;
        }
        if running.is_empty() && wake.is_none() {
            return Err(AgentError::Stuck(format!("{:?}", session.state.planning.work)));
        }
        tokio::select! {
            Some(done) = tasks.join_next() => {
                let (id, acted) = done.map_err(|error| AgentError::Stuck(error.to_string()))?;
                running.remove(&id);
                session.record_outcome(id, acted)?;
                if let Some(message) = answered.remove(&id) {
                    session.interrupts.recorded(&message)?;
                }
            }
            interrupt = session.interrupts.next() => session.interrupted(interrupt, &mut answered)?,
            () = tokio::time::sleep(wake.unwrap_or_default()), if wake.is_some() => {}
        }
    }
}

impl Session<'_> {
    fn record(&mut self, event: &Event) -> Result<(), AgentError> {
        let at = self.clock.now().max(self.state.last_at);
        let stamp = self.log.append(at, event)?;
        self.state.apply(at, event);
        self.history.apply(event);
        let (stamp, state, history) = (&stamp, &self.state, &self.history);
        self.view.saw(Appended { stamp, at, event, state, history });
        self.act.recorded(event, &self.state)?.iter().try_for_each(|fact| self.record(fact))
    }

    /// Records an outcome. One that is too long for the log is recorded as what it is, so that the session ends
    /// with a word about it.
    fn record_outcome(&mut self, id: EffectId, acted: Acted) -> Result<(), AgentError> {
        let whole = acted.facts.iter().try_for_each(|fact| self.record(fact));
        let recorded = whole.and_then(|()| self.record(&self.state.effect_ended(id, acted.outcome)));
        match recorded {
            Err(error @ AgentError::Store(StoreError::EventTooLong { .. })) => {
                let outcome = Ended::Broke { trouble: trouble(&error) };
                self.record(&self.state.effect_ended(id, outcome))
            }
            other => other,
        }
    }

    fn interrupted(
        &mut self,
        interrupt: Interrupt,
        answered: &mut BTreeMap<EffectId, Interrupt>,
    ) -> Result<(), AgentError> {
        let event = match (&interrupt, self.state.stop) {
            // There is nothing in it that is worth going on from.
            (Interrupt::Signal | Interrupt::Hangup, Stop::No | Stop::Pause) if self.state.verifies() => {
                Event::AbortAsked { by: "this terminal".to_owned() }
            }
            (Interrupt::Signal | Interrupt::Hangup, Stop::No) => Event::PauseAsked,
            // A terminal that closes sends more than one, and so does a machine that goes down.
            (Interrupt::Hangup, Stop::Pause | Stop::Abort) => return Ok(()),
            (Interrupt::Signal, Stop::Pause | Stop::Abort) => {
                Event::AbortAsked { by: "this terminal".to_owned() }
            }
            (Interrupt::Message { message: Message::Abort { by }, .. }, _) => {
                Event::AbortAsked { by: by.clone() }
            }
            (Interrupt::Message { message: Message::Answer { question, decision, by }, .. }, _) => {
                let open = self.state.open_question();
                let asked = open.filter(|(_, flight, _)| flight.effect.input() == *question);
                return match asked.map(|(id, _, _)| id) {
                    Some(id) => {
                        self.act.answer(id, decision.clone(), by.clone());
                        answered.insert(id, interrupt);
                        Ok(())
                    }
                    // Somebody else was faster, or it is another question.
                    None => self.interrupts.recorded(&interrupt),
                };
            }
        };
        self.record(&event)?;
        self.interrupts.recorded(&interrupt)
    }
}

/// Records the end of effects that were begun by a process that is gone. A publication is settled by its
/// journal before this is called.
pub fn lost(state: &SessionState) -> Vec<Event> {
    state.in_flight.keys().map(|id| state.effect_ended(*id, Ended::Lost)).collect()
}
