//! The last line of a session.

use perspt_core::outcome::NodeEnd;
use perspt_core::state::{SessionState, quoted};

use super::text::plugins;
use crate::out::{self, plain, value};

/// Prints the SUMMARY line, after what went wrong.
pub fn summary(state: &SessionState) {
    let Some(end) = &state.end else { return };
    let ends = state.node_ends();
    let done = ends.iter().filter(|end| **end == NodeEnd::Committed).count();
    let session = state.meta.as_ref().map(|meta| meta.session.to_string()).unwrap_or_default();
    let next = match (end.reason.is_resumable(), done) {
        (true, _) => format!("perspt resume {session}{}", allow_flags(state)),
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
    let committed = || {
        state
            .nodes
            .values()
            .filter(|node| node.end == Some(NodeEnd::Committed))
            .filter_map(|node| node.best.as_ref())
    };
    let judged = || committed().filter_map(|best| best.judgement.as_ref());
    let tests = number("tests_changed", judged().map(|judgement| judgement.tests_changed).sum());
    let grade = judged().map(|judgement| judgement.grade).max();
    let grade = grade.map(|grade| format!(" evidence={}", grade.as_str())).unwrap_or_default();
    let below: Vec<&String> = judged().flat_map(|judgement| &judgement.below).collect();
    let below = below.first().map(|line| format!(" below_tests={}", value(line))).unwrap_or_default();
    let since: Vec<&str> = state
        .nodes
        .values()
        .filter(|node| !node.changed_since.is_empty())
        .map(|node| node.spec.id.as_str())
        .collect();
    let since =
        if since.is_empty() { String::new() } else { format!(" changed_by_you={}", value(&since.join(","))) };
    let used = &state.account.used;
    out::line(&format!(
        "SUMMARY completed={done}/{} status={}{grade}{below}{open}{since}{tests} active_plugins={} calls={} tokens={} next={}",
        ends.len(),
        super::session_word(state, false),
        plugins(state),
        used.steps,
        used.tokens,
        value(&next)
    ));
}

/// The flags that cover what waits.
fn allow_flags(state: &SessionState) -> String {
    let flags = state.waiting_flags();
    flags.iter().map(|flag| format!(" --allow {}", quoted(flag))).collect()
}

/// A field that is left out where there is nothing to say.
fn number(name: &str, number: u32) -> String {
    if number > 0 { format!(" {name}={number}") } else { String::new() }
}
