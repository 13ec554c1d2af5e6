//! The last line of a session.

use perspt_core::state::SessionState;
use perspt_core::view::{History, Owner, Summary, session_word};

use super::money::cost;
use super::text::languages_field;
use crate::out::{self, plain, value};

/// Prints the SUMMARY line, after what went wrong.
pub fn summary(state: &SessionState, history: &History) {
    let Some(end) = &state.end else { return };
    if let Some(trouble) = &end.trouble {
        out::note(&format!("stopped: {}", plain(&trouble.what)));
        out::note(&format!("  why: {}", plain(&trouble.why)));
        out::note(&format!("  do:  {}", plain(&trouble.todo)));
    }
    let summary = Summary::of(state, history);
    let bounded = match state.account.used.bounded {
        0 => String::new(),
        calls => format!(" calls_estimated={calls}"),
    };
    out::line(&format!(
        "SUMMARY {} active_plugins={} calls={} tokens={}{} cost={} next={}",
        summary_fields(&summary, session_word(state, Owner::Gone)),
        languages_field(state),
        state.account.used.steps,
        state.account.used.tokens,
        bounded,
        cost(&state.account.used),
        value(&summary.next)
    ));
}

/// How far a session came, as fields. What there is nothing to say of is left out.
pub fn summary_fields(summary: &Summary, status: &str) -> String {
    let mut fields =
        vec![format!("completed={}/{}", summary.completed, summary.nodes), format!("status={status}")];
    fields.extend(summary.grade.map(|grade| format!("evidence={}", grade.as_str())));
    fields.extend(summary.below.first().map(|line| format!("below_tests={}", value(line))));
    let unfinished: Vec<String> =
        summary.unfinished.iter().map(|(node, state)| format!("{node}:{state}")).collect();
    let changed: Vec<&str> = summary.changed_by_user.iter().map(|node| node.as_str()).collect();
    let list = |name: &str, items: String| (!items.is_empty()).then(|| format!("{name}={}", value(&items)));
    fields.extend(list("unfinished", unfinished.join(",")));
    fields.extend(list("changed_by_you", changed.join(",")));
    let consents: Vec<String> =
        summary.consents.iter().map(|(kind, count)| format!("{kind}:{count}")).collect();
    fields.extend(list("consents", consents.join(",")));
    let number = |name: &str, number: u32| (number > 0).then(|| format!("{name}={number}"));
    fields.extend(number("tests_changed", summary.tests_changed));
    fields.extend(number("red_tests", summary.red));
    fields.join(" ")
}
