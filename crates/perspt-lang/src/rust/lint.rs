//! What clippy and rustfmt would have otherwise. Both look in the strict preset alone: clippy costs a second check of
//! the whole tree.

use std::collections::BTreeMap;

use perspt_core::path::RelPath;
use perspt_core::reading::Reading;
use perspt_core::residual::{Class, Component, Residual, Severity};
use perspt_core::stage::{Root, Stage, Step, StepEnd, StepOutput, Streams};

use super::stages::{cargo, check_arguments, in_build};
use super::{TARGET_DIR, build, files_read, messages};
use crate::plugin::{Files, ReadContext};
use crate::shared::report::{self, abnormal_end, did_not_look, in_tree, measured, place, unexplained};
use crate::shared::toml;

/// The stage's tool; what rustfmt finds says so.
pub(crate) const TOOL: &str = "cargo clippy";
const RUSTFMT: &str = "rustfmt";

/// The steps.
pub(crate) const CLIPPY_STEP: &str = "clippy";
pub(crate) const FORMAT_STEP: &str = "format";

/// The steps of the stage.
pub(crate) fn steps(root: &Root, files: &dyn Files) -> Vec<Step> {
    let clippy = check_arguments("clippy", root, files);
    let clippy: Vec<&str> = clippy.iter().map(String::as_str).collect();
    let mut steps = vec![in_build(CLIPPY_STEP, &clippy, root)];
    steps.extend(
        (!is_unformatted(root, files))
            .then(|| Step { cwd: root.dir.clone(), ..format(&format!("{{build}}/{TARGET_DIR}")) }),
    );
    steps
}

/// What rustfmt would write otherwise. Nothing is written.
pub(crate) fn format(target_dir: &str) -> Step {
    let mut step =
        cargo(FORMAT_STEP, &["fmt", "--all", "--check", "--", "--color=never"], &RelPath::root(), target_dir);
    // It asks cargo for the packages, and knows no option for this.
    step.env.insert("CARGO_NET_OFFLINE".to_owned(), "true".to_owned());
    Step { streams: Streams::Apart, ..step }
}

/// Whether the project says that rustfmt leaves its files alone.
pub(crate) fn is_unformatted(root: &Root, files: &dyn Files) -> bool {
    ["rustfmt.toml", ".rustfmt.toml"].iter().any(|name| {
        let text = root.dir.join(name).ok().and_then(|path| files.text(&path));
        let settings = text.and_then(|text| toml::parse(&text));
        settings.is_some_and(|settings| settings["disable_all_formatting"] == true)
    })
}

/// The reading of the lint stage.
pub(crate) fn read(stage: &Stage, outputs: &[StepOutput], context: &ReadContext<'_>) -> Reading {
    if let Some(reading) = did_not_look(stage, outputs, context) {
        return reading;
    }
    let mut reading = measured(stage, context, Vec::new(), None);
    if let Some(output) = report::output_of(outputs, CLIPPY_STEP) {
        let messages = messages::read(output, &stage.tool, context);
        let failures = build::failures(output, &messages, stage, context);
        reading.looked = files_read::compiled(&messages.artifacts, output, context);
        reading.residuals.extend(failures);
        reading.residuals.extend(messages.residuals.into_iter().filter_map(lint));
    }
    if let Some(output) = report::output_of(outputs, FORMAT_STEP) {
        reading.residuals.extend(format_findings(output, context));
    }
    reading
}

/// A finding of clippy. What the compiler itself warns of is the build stage's.
fn lint(mut residual: Residual) -> Option<Residual> {
    let is_lint = residual.symbol.as_ref().is_some_and(|code| code.starts_with("clippy::"));
    if is_lint {
        (residual.component, residual.class) = (Component::Str, Class::LintFinding);
    }
    (is_lint || residual.severity == Severity::Error).then_some(residual)
}

/// A warning for every file that rustfmt would write otherwise, at the first line. Its report as JSON is unstable, so its
/// text is read.
fn format_findings(output: &StepOutput, context: &ReadContext<'_>) -> Vec<Residual> {
    if let Some(residual) = abnormal_end(output, RUSTFMT) {
        return vec![residual];
    }
    let text = report::text(&output.stdout);
    let mut found = BTreeMap::new();
    for (name, line, diff) in diffs(&text) {
        let Some(path) = in_tree(context, name) else { continue };
        let message = "not formatted as rustfmt does";
        let mut residual = Residual::warning(Component::Str, Class::LintFinding, RUSTFMT, message);
        residual.place = place(line, 0);
        let residual = residual.in_file(Some(path.clone())).with_evidence(diff);
        found.entry(path).or_insert(residual);
    }
    match output.end {
        StepEnd::Exited(0) => Vec::new(),
        // What lies outside of the tree is nobody's business here.
        StepEnd::Exited(1) if diffs(&text).next().is_some() => found.into_values().collect(),
        _ => vec![unexplained(output, RUSTFMT)],
    }
}

/// How each part of the report begins.
pub(crate) const DIFF: &str = "Diff in ";

/// Every part of the report: the file, the first line that differs, and the text as it is and as it should be. Older versions write
/// `at line 3:` where newer ones write `:3:`.
fn diffs(text: &str) -> impl Iterator<Item = (&str, u64, &str)> {
    let starts = text.match_indices(DIFF).map(|(at, _)| at);
    let own_line = starts.filter(|at| text[..*at].is_empty() || text[..*at].ends_with('\n'));
    own_line.filter_map(|at| {
        let (head, rest) = text[at + DIFF.len()..].split_once(":\n")?;
        let (name, line) = head.rsplit_once(" at line ").or_else(|| head.rsplit_once(':'))?;
        let end = rest.find("\nDiff in ").unwrap_or(rest.len());
        let diff = &rest[..end];
        // It begins with lines that stay.
        let before = diff.lines().take_while(|line| !line.starts_with(['-', '+'])).count() as u64;
        Some((name, line.parse::<u64>().ok()?.saturating_add(before), diff))
    })
}
