//! What readers of every tool do alike: total conversions, ends that say nothing was measured, paths.

use std::borrow::Cow;

use perspt_core::path::RelPath;
use perspt_core::reading::{PluginName, Reading, StageId, Status, Tests};
use perspt_core::residual::{Class, Component, Position, Residual};
use perspt_core::stage::{Stage, StepEnd, StepOutput};

use crate::plugin::ReadContext;

/// The most text a test's message carries.
const MESSAGE_CAP: usize = 800;

/// Output as text; what is not UTF-8 becomes the replacement character.
pub(crate) fn text(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

/// The last part of a long text, from a character boundary on.
pub(crate) fn tail(text: &str, cap: usize) -> &str {
    let mut start = text.len().saturating_sub(cap);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}

/// A test's message, shortened.
pub(crate) fn shortened(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(MESSAGE_CAP) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text.to_owned(),
    }
}

/// The first line that says something.
pub(crate) fn first_line(text: &str) -> &str {
    text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("")
}

/// The output of one step, if it ran.
pub(crate) fn output_of<'a>(outputs: &'a [StepOutput], step: &str) -> Option<&'a StepOutput> {
    outputs.iter().find(|output| output.step == step)
}

/// Both captures, standard error last.
pub(crate) fn both_streams(output: &StepOutput) -> String {
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    if err.trim().is_empty() { out.into_owned() } else { format!("{out}\n{err}") }
}

/// A measured reading.
pub(crate) fn measured(
    stage: &Stage,
    context: &ReadContext<'_>,
    residuals: Vec<Residual>,
    tests: Option<Tests>,
) -> Reading {
    let id = StageId { root: context.root.dir.clone(), plugin: plugin(context), kind: stage.kind };
    Reading { residuals, tests, ..Reading::measured(context.tree, id, &stage.tool) }
}

fn plugin(context: &ReadContext<'_>) -> PluginName {
    context.root.plugin.clone()
}

/// The reading of a stage that looked at nothing, because no step ran or one could not be started.
pub(crate) fn did_not_look(
    stage: &Stage,
    outputs: &[StepOutput],
    context: &ReadContext<'_>,
) -> Option<Reading> {
    let not_started = outputs.iter().find_map(|output| match &output.end {
        StepEnd::NotStarted(why) => Some(format!("{} could not be started: {why}", stage.tool)),
        StepEnd::Exited(_) | StepEnd::Signalled(_) | StepEnd::TimedOut => None,
    });
    let status = match not_started {
        Some(why) => Status::Unavailable(why),
        None if outputs.is_empty() => Status::NotRun("no step of the stage ran".to_owned()),
        None => return None,
    };
    Some(Reading { status, ..measured(stage, context, Vec::new(), None) })
}

/// The residual of a step that ran into its timeout or died of a signal.
pub(crate) fn abnormal_end(output: &StepOutput, tool: &str) -> Option<Residual> {
    let (class, message) = match &output.end {
        StepEnd::Exited(_) => return None,
        StepEnd::TimedOut => {
            (Class::Timeout, format!("{tool}: the step `{}` did not end in time", output.step))
        }
        StepEnd::Signalled(signal) => {
            (Class::Crash, format!("{tool}: the step `{}` was ended by signal {signal}", output.step))
        }
        StepEnd::NotStarted(why) => {
            (Class::ToolFailed, format!("{tool}: the step `{}` was not started: {why}", output.step))
        }
    };
    Some(Residual::error(Component::Boot, class, tool, message).with_evidence(evidence_tail(output)))
}

/// A step that failed though nothing in its output says why.
pub(crate) fn unexplained(output: &StepOutput, tool: &str) -> Residual {
    let message = format!("{tool}: the step `{}` ended with {}", output.step, output.end.shown());
    Residual::error(Component::Boot, Class::ToolFailed, tool, message).with_evidence(evidence_tail(output))
}

/// A run whose report is not there or cannot be believed.
pub(crate) fn report_missing(output: &StepOutput, tool: &str, message: String) -> Residual {
    Residual::error(Component::Boot, Class::ReportMissing, tool, message).with_evidence(evidence_tail(output))
}

/// The end of what a step printed, as evidence.
pub(crate) fn evidence_tail(output: &StepOutput) -> &str {
    let printed =
        if output.stderr.iter().all(u8::is_ascii_whitespace) { &output.stdout } else { &output.stderr };
    let text = match std::str::from_utf8(printed) {
        Ok(text) => text,
        // Evidence is for people: the part before the first bad byte serves.
        Err(error) => std::str::from_utf8(&printed[..error.valid_up_to()]).unwrap_or(""),
    };
    tail(text, Residual::EVIDENCE_CAP)
}

/// A path a tool printed, as one of the tree: absolute below the place the tool saw the tree at, or
/// relative to the folder it ran in.
pub(crate) fn in_tree(context: &ReadContext<'_>, printed: &str) -> Option<RelPath> {
    if printed.starts_with('/') {
        let below = printed.strip_prefix(context.seen_as.trim_end_matches('/'))?.strip_prefix('/')?;
        return RelPath::parse(below).ok();
    }
    RelPath::parse(format!("{}/{printed}", context.root.dir.as_str()).trim_start_matches('/')).ok()
}

/// A line and column as a place.
pub(crate) fn place(line: u64, column: u64) -> Option<Position> {
    let line = u32::try_from(line).ok().filter(|&line| line > 0)?;
    Some(Position { line, column: u32::try_from(column).unwrap_or(0) })
}
