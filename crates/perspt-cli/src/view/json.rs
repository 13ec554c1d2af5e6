//! Events as JSON lines: each record as the log has it.

use perspt_agent::ports::{Appended, View};
use perspt_core::event::{Event, SCHEMA};
use perspt_core::ids::Millis;
use perspt_store::Record;
use serde::Serialize;

use super::plan::{PlanShown, plan_lines};
use crate::out;

/// The JSON view.
#[derive(Default)]
pub struct Json {
    plan: PlanShown,
}

#[derive(Serialize)]
struct Line<'a> {
    seq: u64,
    at: Millis,
    v: u32,
    event: &'a Event,
    hash: perspt_core::hash::Sha,
}

impl View for Json {
    fn saw(&mut self, Appended { stamp, at, event, state, .. }: Appended<'_>) {
        // Stdout has records and nothing else; a plan whose records are of an earlier run is told beside it.
        if self.plan.is_owed(event) {
            plan_lines(state, out::note);
        }
        let line = Line { seq: stamp.seq, at, v: SCHEMA, event, hash: stamp.hash };
        if let Ok(text) = serde_json::to_string(&line) {
            out::json_line(&text);
        }
    }
}

/// A record that was read, as the log has it. The bytes of its event are the log's own; the fields around them have
/// one form only.
pub fn record_line(record: &Record) -> String {
    let Record { seq, at, v, hash, event } = record;
    format!("{{\"seq\":{seq},\"at\":{},\"v\":{v},\"event\":{},\"hash\":\"{hash}\"}}", at.0, event.get())
}
