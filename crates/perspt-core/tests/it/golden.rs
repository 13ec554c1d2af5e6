//! Events only grow: a log of each schema version folds to its stored state for ever. The files are never
//! edited; a new version gets new ones.

use std::collections::BTreeSet;

use perspt_core::event::{Event, SCHEMA};
use perspt_core::ids::Millis;
use perspt_core::state::SessionState;
use serde::Deserialize;
use serde_json::Value;

const LOG: &str = include_str!("golden/v1.jsonl");
const STATE: &str = include_str!("golden/v1.state.json");

#[derive(Deserialize)]
struct Line {
    at: Millis,
    event: Value,
}

fn lines() -> impl Iterator<Item = Line> {
    LOG.lines().map(|line| serde_json::from_str(line).unwrap())
}

#[test]
fn the_first_versions_log_folds_to_its_stored_state() {
    assert_eq!(SCHEMA, 1, "a new version needs a golden log of its own, beside this one");
    let mut state = SessionState::default();
    for line in lines() {
        state.apply(line.at, &serde_json::from_value(line.event).unwrap());
    }
    let stored: SessionState = serde_json::from_str(STATE).unwrap();
    assert_eq!(state, stored);
    assert_eq!(serde_json::to_string_pretty(&state).unwrap() + "\n", STATE);
}

#[test]
fn the_first_versions_events_are_written_as_they_were() {
    for line in lines() {
        let event: Event = serde_json::from_value(line.event.clone()).unwrap();
        assert_eq!(serde_json::to_value(&event).unwrap(), line.event);
    }
}

#[test]
fn the_golden_log_holds_every_kind_of_event_and_outcome() {
    let mut kinds = BTreeSet::new();
    let mut outcomes = BTreeSet::new();
    for line in lines() {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        kinds.insert(text(&line.event["kind"]));
        if let Some(outcome) = line.event.get("outcome").filter(|outcome| outcome.is_object()) {
            outcomes.insert(text(&outcome["ended"]));
        }
    }
    let all = "abort_asked attempt_judged effect_ended effect_started node_closed node_proposed pause_asked \
        plan_adopted session_ended session_resumed session_started tail_cut";
    assert!(kinds.iter().map(String::as_str).eq(all.split_whitespace()), "{kinds:?}");
    // A workspace that cannot be worked with ends a session for good, before anything else happens in it.
    let all = "answered ask_failed assembled base_moved broke bundle_parsed calibrated cancelled decided \
        fetched laid_out lost measured plan_parsed probed published snapshotted";
    assert!(outcomes.iter().map(String::as_str).eq(all.split_whitespace()), "{outcomes:?}");
}
