//! A pytest that could not begin: options it does not know, settings it cannot read, a plugin that is not
//! there, an error inside pytest or a hook while it collected.

use perspt_core::residual::{Class, Component, Residual};
use perspt_core::stage::{StepEnd, StepOutput};

use crate::plugin::ReadContext;
use crate::shared::report::{both_streams, evidence_tail, shortened};

/// The class of its residual.
pub(crate) const CLASS: Class = Class::ToolRefused;

/// pytest's exit codes for an error of its own and for a wrong use of it.
const INTERNAL_ERROR: i32 = 3;
const USAGE_ERROR: i32 = 4;

/// What pytest prints before each line of an error of its own.
const INTERNAL_MARK: &str = "INTERNALERROR>";

/// How many of pytest's lines the message carries at most.
const LINES: usize = 3;

/// The residual of a listing that pytest refused; `None` where it began, or where a conftest did not load.
pub(crate) fn of(output: &StepOutput, tool: &str, context: &ReadContext<'_>) -> Option<Residual> {
    let printed = both_streams(output);
    let (what, reason) = match output.end {
        StepEnd::Exited(INTERNAL_ERROR) => ("stopped with an internal error", internal(&printed)),
        StepEnd::Exited(USAGE_ERROR) if !printed.contains("while loading conftest") => {
            ("did not start", complaints(&printed))
        }
        StepEnd::Exited(_) | StepEnd::Signalled(_) | StepEnd::TimedOut | StepEnd::NotStarted(_) => {
            return None;
        }
    };
    // Paths of the place the tree was laid out at mean nothing to a reader.
    let reason = reason.replace(&format!("{}/", context.seen_as.trim_end_matches('/')), "");
    let message = shortened(&format!("pytest {what}: {reason}"));
    Some(Residual::error(Component::Boot, CLASS, tool, message).with_evidence(evidence_tail(output)))
}

/// The last line of an internal error names it.
fn internal(printed: &str) -> String {
    let lines = printed.lines().rev().filter_map(|line| line.strip_prefix(INTERNAL_MARK));
    lines.map(str::trim).find(|line| !line.is_empty()).unwrap_or("it does not say which").to_owned()
}

/// The last lines that begin with `ERROR:`, or name the program before `error:`.
fn complaints(printed: &str) -> String {
    let complaint = |line: &str| {
        let reason = line.strip_prefix("ERROR: ").or_else(|| Some(line.split_once(": error: ")?.1))?;
        (!reason.starts_with("usage: ")).then(|| reason.trim().to_owned())
    };
    let mut lines: Vec<String> = printed.lines().rev().filter_map(complaint).take(LINES).collect();
    lines.reverse();
    if lines.is_empty() { "it does not say why".to_owned() } else { lines.join("; ") }
}
