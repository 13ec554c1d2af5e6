//! The last line of a session.

use perspt_core::outcome::{EndReason, NodeEnd};
use perspt_core::state::SessionState;

use super::text::plugins;
use crate::out::{self, plain, value};

/// Prints the SUMMARY line, after what went wrong.
pub fn summary(state: &SessionState) {
    let Some(end) = &state.end else { return };
    let ends = state.node_ends();
    let done = ends.iter().filter(|end| **end == NodeEnd::Committed).count();
    let session = state.meta.as_ref().map(|meta| meta.session.to_string()).unwrap_or_default();
    let next = match (end.reason.is_resumable(), done) {
        (true, _) => format!("perspt resume {session}"),
        (false, 0) => format!("perspt status {session}"),
        (false, _) => "perspt ledger --recent".to_owned(),
    };
    if let Some(trouble) = &end.trouble {
        out::note(&format!("stopped: {}", plain(&trouble.what)));
        out::note(&format!("  why: {}", plain(&trouble.why)));
        out::note(&format!("  do:  {}", plain(&trouble.todo)));
    }
    let open: Vec<String> = state
        .order
        .iter()
        .filter_map(|id| state.nodes.get(id))
        .filter(|node| node.end != Some(NodeEnd::Committed))
        .map(|node| format!("{}:{}", node.spec.id, node.state().as_str()))
        .collect();
    let open =
        if open.is_empty() { String::new() } else { format!(" unfinished={}", value(&open.join(","))) };
    let owed: Vec<&str> = end.owed.iter().map(|path| path.as_str()).collect();
    let owed =
        if owed.is_empty() { String::new() } else { format!(" evidence_owed={}", value(&owed.join(","))) };
    let committed = || {
        state
            .nodes
            .values()
            .filter(|node| node.end == Some(NodeEnd::Committed))
            .filter_map(|node| node.best.as_ref())
    };
    let tests = number("tests_changed", committed().map(|best| best.diff.tests_changed).sum());
    let since: Vec<&str> = state
        .nodes
        .values()
        .filter(|node| !node.changed_since.is_empty())
        .map(|node| node.spec.id.as_str())
        .collect();
    let since =
        if since.is_empty() { String::new() } else { format!(" changed_by_you={}", value(&since.join(","))) };
    // The head's readings are the final look; before all nodes are closed there is none.
    let last = state.baseline.readings.values().filter_map(|readings| readings.last());
    let inherited = if end.reason == EndReason::NodesClosed {
        number("inherited", last.map(|reading| reading.inherited).sum())
    } else {
        String::new()
    };
    let used = &state.account.used;
    out::line(&format!(
        "SUMMARY completed={done}/{} status={}{open}{owed}{since}{tests}{inherited} active_plugins={} calls={} tokens={} next={}",
        ends.len(),
        super::session_word(state, false),
        plugins(state),
        used.steps,
        used.tokens,
        value(&next)
    ));
}

/// A field that is left out where there is nothing to say.
fn number(name: &str, number: u32) -> String {
    if number > 0 { format!(" {name}={number}") } else { String::new() }
}
