//! Readings of the whole tree: the baseline, the final look, and what was red before a session began.

use perspt_core::effect::{Effect, Intent};
use perspt_core::energy::ReadingSummary;
use perspt_core::ids::NodeId;
use perspt_core::reading::{StageKind, Status};
use perspt_core::state::{SessionState, stage_key};

use crate::out::{self, plain, value};

/// Findings that are shown of the last look.
const FINAL_LINES: usize = 3;

/// The line of a look at the whole tree. Where the tests of a baseline are run once more, that is shown where it differs.
pub fn look(reading: &ReadingSummary, reused: bool, state: &SessionState) {
    let again = state.baseline.again.contains(&stage_key(&reading.stage));
    let first = state.baseline_of(&reading.stage).first();
    if again && first.is_some_and(|first| is_same(first, reading)) {
        return;
    }
    let closed = !state.nodes.is_empty() && state.nodes.values().all(|node| node.end.is_some());
    let label = match (closed, again) {
        (true, _) => "FINAL",
        (false, true) => "BASELINE again",
        (false, false) => "BASELINE",
    };
    let roots = state.found.as_ref().map_or(0, |found| found.roots.len());
    let root = if roots > 1 { format!(" root={}", value(reading.stage.root.shown())) } else { String::new() };
    let reused = if reused { " reused" } else { "" };
    out::line(&format!("{label} {}{root}{reused}", field(reading)));
    if closed && !collected_nothing(reading) {
        let most = reading.headlines.iter().take(FINAL_LINES);
        most.for_each(|headline| out::note(&format!("note: {}: {}", reading.tool, plain(headline))));
    }
    if collected_nothing(reading)
        && let Some(headline) = reading.headlines.first()
    {
        out::note(&format!("note: {}: {}", reading.tool, plain(headline)));
    }
}

fn is_same(first: &ReadingSummary, second: &ReadingSummary) -> bool {
    field(first) == field(second) && first.fingerprint == second.fingerprint
}

/// Whether a test stage found errors and no test.
fn collected_nothing(reading: &ReadingSummary) -> bool {
    reading.stage.kind == StageKind::Test
        && reading.status == Status::Measured
        && reading.errors > 0
        && reading.tests.unwrap_or_default().collected() == 0
}

/// What a reading says, as a field.
pub fn field(reading: &ReadingSummary) -> String {
    let tool = reading.tool.replace(' ', "-");
    match (&reading.status, &reading.tests) {
        (Status::Measured, _) if collected_nothing(reading) && reading.by.is_language() => {
            format!("{tool}=0-passed,0-failed,0-skipped,{}-errors", reading.errors)
        }
        (Status::Measured, Some(tests)) => {
            let others = reading.errors.saturating_sub(tests.failed);
            let others = if others > 0 { format!(",{others}-errors") } else { String::new() };
            format!(
                "{tool}={}-passed,{}-failed,{}-skipped{others}",
                tests.passed, tests.failed, tests.skipped
            )
        }
        (Status::Measured, None) => {
            let result =
                if reading.errors == 0 { "pass".to_owned() } else { format!("fail:{}", reading.errors) };
            let unnamed = reading.stage.kind == StageKind::Test && reading.errors == 0;
            let by_exit_code = if unnamed { "(exit-code)" } else { "" };
            format!("{tool}={result}{by_exit_code}")
        }
        (Status::NotRun(why), _) => format!("{tool}=not-run why={}", value(why)),
        (Status::Unavailable(why), _) => format!("{tool}=unavailable why={}", value(why)),
    }
}

/// Before the first node is asked for: what it means that tests of the project fail already.
pub fn already_failing(node: Option<&NodeId>, effect: &Effect, state: &SessionState) {
    let Effect::Assemble { intent: Intent::Generate, attempt: 1, evidence, .. } = effect else {
        return;
    };
    let first = state.baseline.readings.values().filter_map(|readings| readings.first());
    let failing = |reading: &ReadingSummary| reading.tests.unwrap_or_default().failed > 0;
    let is_first = state.nodes.values().all(|node| node.prompt.is_none());
    if node.is_some()
        && is_first
        && evidence.is_empty()
        && first.into_iter().any(|one| failing(one) || collected_nothing(one))
    {
        out::note(
            "note: tests fail already; a node that works beside them mends them, or leaves them red with your consent",
        );
    }
}
