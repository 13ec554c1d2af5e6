//! The fold over events that make no sense: it is total and a function of the log, and what is not in
//! flight, of an older generation or of a closed node changes nothing.

use std::collections::BTreeSet;

use perspt_core::event::{Ended, Event};
use perspt_core::ids::{EffectId, Millis, SessionId};
use perspt_core::state::SessionState;
use proptest::prelude::*;

use crate::babble::Babble;
use crate::dice::Dice;
use crate::support::{cases, started};
use crate::world::fold;

/// A log that drifts between sense and nonsense.
struct Drift {
    dice: Dice,
    state: SessionState,
    log: Vec<(Millis, Event)>,
    begun: BTreeSet<EffectId>,
    over: BTreeSet<EffectId>,
}

impl Drift {
    fn new(rolls: Vec<u16>) -> Drift {
        let (state, log) = (SessionState::default(), vec![]);
        Drift { dice: Dice::of(rolls), state, log, begun: BTreeSet::new(), over: BTreeSet::new() }
    }

    fn step(&mut self) {
        let now = Millis(self.dice.pick(&[0, 5, 50, 500, 5_000_000, u64::MAX]));
        let event = self.next(now);
        let before = self.state.clone();
        self.state.apply(now, &event);
        self.log.push((now, event.clone()));
        match &event {
            Event::EffectEnded { id, outcome, .. } => {
                self.ended(&before, *id, outcome);
                let mut once = self.state.clone();
                let again = Event::EffectEnded { id: *id, of: None, outcome: Babble(&mut self.dice).ended() };
                self.state.apply(now, &again);
                self.log.push((now, again));
                once.last_at = self.state.last_at;
                assert_eq!(self.state, once, "a second outcome changed something");
                if before.in_flight.contains_key(id) {
                    self.over.insert(*id);
                }
            }
            Event::EffectStarted { id, .. } if before.meta.is_some() => {
                self.begun.insert(*id);
            }
            _ => {}
        }
        self.asked(now);
    }

    fn next(&mut self, now: Millis) -> Event {
        let in_flight: Vec<EffectId> = self.state.in_flight.keys().copied().collect();
        match self.dice.below(8) {
            0 => Event::SessionStarted(Box::new(started(Default::default()))),
            // Named as the session would name it, so that it stands in the way of what is wanted.
            1 => {
                let mut babble = Babble(&mut self.dice);
                let (key, effect) = (babble.key(), babble.effect());
                let id = key.id(&SessionId::from("s-1"), &effect);
                if self.begun.contains(&id) {
                    babble.event()
                } else {
                    Event::EffectStarted { id, key, effect }
                }
            }
            2 | 3 => match self.state.wanted(now).into_iter().next() {
                Some((id, wanted)) if !in_flight.contains(&id) => {
                    Event::EffectStarted { id, key: wanted.key, effect: wanted.effect }
                }
                Some(_) | None => Babble(&mut self.dice).event(),
            },
            4 | 5 if !in_flight.is_empty() => {
                let id = self.dice.pick(&in_flight);
                Event::EffectEnded { id, of: None, outcome: Babble(&mut self.dice).ended() }
            }
            6 => self.state.due(now).unwrap_or_else(|| Babble(&mut self.dice).event()),
            _ => Babble(&mut self.dice).event(),
        }
    }

    fn ended(&self, before: &SessionState, id: EffectId, outcome: &Ended) {
        let mut expected = before.clone();
        expected.last_at = self.state.last_at;
        let Some(flight) = expected.in_flight.remove(&id) else {
            assert_eq!(self.state, expected, "an outcome of nothing in flight changed something");
            return;
        };
        let key = &flight.key;
        let node = key.node.as_ref().and_then(|id| before.nodes.get(id));
        if node.map_or(0, |node| node.generation) != key.generation {
            expected.account = self.state.account.clone();
            assert_eq!(self.state, expected, "an outcome of an older generation changed something");
            return;
        }
        let closed = key.node.is_some() && node.is_none_or(|node| node.end.is_some());
        let of_the_model = matches!(
            outcome,
            Ended::Assembled { .. }
                | Ended::TooLargeForModel { .. }
                | Ended::AnalysisParsed { .. }
                | Ended::Answered { .. }
                | Ended::AskFailed { .. }
                | Ended::Measured { .. }
                | Ended::LaidOut { .. }
                | Ended::LayoutRefused { .. }
                | Ended::Overtaken { .. }
                | Ended::NewTestsRan { .. }
                | Ended::Judged { .. }
                | Ended::BundleParsed { .. }
        );
        if closed && of_the_model {
            expected.account = self.state.account.clone();
            assert_eq!(self.state, expected, "an outcome for a closed node changed something");
        }
    }

    fn asked(&self, now: Millis) {
        let state = &self.state;
        let wanted = state.wanted(now);
        assert_eq!(wanted, state.wanted(now));
        assert_eq!(state.due(now), state.due(now));
        let ended = |id: &&EffectId| self.over.contains(*id) && !state.in_flight.contains_key(*id);
        assert_eq!(wanted.keys().find(ended), None, "an effect that ended is wanted again");
        let new = wanted.keys().filter(|id| !state.in_flight.contains_key(*id));
        assert_eq!(new.filter(|id| self.begun.contains(*id)).count(), 0, "an effect is to start twice");
        if state.end.is_some() {
            assert_eq!(state.due(now), None);
            assert!(wanted.keys().all(|id| state.in_flight.contains_key(id)));
        }
        if state.meta.is_none() {
            assert!(wanted.is_empty() && *state == SessionState::default());
        }
        state.next_wake(now);
        state.node_ends();
        state.active_ms();
    }
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn the_fold_is_total_and_a_function_of_the_log(rolls in prop::collection::vec(any::<u16>(), 0..400)) {
        let mut drift = Drift::new(rolls);
        while !drift.dice.is_spent() {
            drift.step();
        }
        prop_assert_eq!(&fold(&drift.log), &drift.state);
        let written = serde_json::to_string(&drift.state).unwrap();
        prop_assert_eq!(&serde_json::from_str::<SessionState>(&written).unwrap(), &drift.state);
        for (_, event) in &drift.log {
            let line = serde_json::to_string(event).unwrap();
            prop_assert_eq!(&serde_json::from_str::<Event>(&line).unwrap(), event);
        }
    }
}

#[test]
fn nothing_counts_before_a_session_has_begun() {
    let mut dice = Dice::endless(3);
    let mut state = SessionState::default();
    for _ in 0..200 {
        let event = Babble(&mut dice).event();
        if !matches!(event, Event::SessionStarted(_)) {
            state.apply(Millis(7), &event);
        }
    }
    assert_eq!(state, SessionState::default());
}

#[test]
fn a_session_begins_once() {
    let mut state = SessionState::default();
    state.apply(Millis(5), &Event::SessionStarted(Box::new(started(Default::default()))));
    let before = state.clone();
    let mut second = started(Default::default());
    second.task = "another task".to_owned();
    state.apply(Millis(5), &Event::SessionStarted(Box::new(second)));
    assert_eq!(state, before);
}
