//! What `cargo check` found, and which files it never looked at.

use std::collections::BTreeSet;

use perspt_core::path::RelPath;
use perspt_core::reading::Reading;
use perspt_core::residual::{Class, Component, Residual, Severity};
use perspt_core::stage::{Stage, StepOutput};

use super::messages::{self, Messages};
use super::{roots, stderr};
use crate::plugin::ReadContext;
use crate::shared::report::{
    self, abnormal_end, did_not_look, in_tree, measured, report_missing, unexplained,
};

/// The reading of the build stage.
pub(crate) fn read(stage: &Stage, outputs: &[StepOutput], context: &ReadContext<'_>) -> Reading {
    if let Some(reading) = did_not_look(stage, outputs, context) {
        return reading;
    }
    let mut residuals = Vec::new();
    match report::of(outputs, "check") {
        None => residuals.extend(outputs.iter().map(|output| unexplained(output, &stage.tool))),
        Some(output) => {
            let messages = messages::read(output, &stage.tool, context);
            residuals.extend(failures(output, &messages, stage, context));
            let failed = has_error(&residuals) || has_error(&messages.residuals);
            if !failed {
                residuals.extend(unmeasured(output, &messages, stage, context));
            }
            residuals.extend(messages.residuals);
        }
    }
    measured(stage, context, residuals, None)
}

pub(crate) fn has_error(residuals: &[Residual]) -> bool {
    residuals.iter().any(|residual| residual.severity == Severity::Error)
}

/// Everything that keeps a build from being green besides its diagnostics. Green needs all three: exit
/// code zero, cargo's own word that it finished, and a whole capture.
pub(crate) fn failures(
    output: &StepOutput,
    messages: &Messages,
    stage: &Stage,
    context: &ReadContext<'_>,
) -> Vec<Residual> {
    if let Some(residual) = abnormal_end(output, &stage.tool) {
        return vec![residual];
    }
    let finished = messages.success == Some(true);
    if output.end.is_success() && finished && !output.cut {
        return Vec::new();
    }
    let mut residuals =
        if output.end.is_success() { Vec::new() } else { stderr::read(output, &stage.tool, context) };
    if residuals.is_empty() && !has_error(&messages.residuals) {
        residuals.push(if output.end.is_success() {
            let why = if output.cut { "printed more than is kept" } else { "did not say that it finished" };
            report_missing(output, &stage.tool, format!("{} {why}, so its report is not whole", stage.tool))
        } else {
            unexplained(output, &stage.tool)
        });
    }
    residuals
}

/// Rust files below the root that no target lists among what it was built from.
fn unmeasured(
    output: &StepOutput,
    messages: &Messages,
    stage: &Stage,
    context: &ReadContext<'_>,
) -> Vec<Residual> {
    let mut listed: BTreeSet<RelPath> = BTreeSet::new();
    for artifact in &messages.artifacts {
        if artifact.package(context).is_none() {
            continue;
        }
        listed.extend(in_tree(context, &artifact.target.src_path));
        let Some(name) = artifact.dep_info() else { continue };
        let report = output.reports.get(&name).or_else(|| output.reports.get(&format!("{{build}}/{name}")));
        let text = report.map(|bytes| report::text(bytes)).unwrap_or_default();
        listed.extend(prerequisites(&text).iter().filter_map(|path| in_tree(context, path)));
    }
    let all = roots::find(context.files);
    let sources = context.files.tree().entries.keys().filter(|path| path.extension() == Some("rs"));
    sources
        .filter(|path| roots::of(&all, path).is_some_and(|root| root.dir == context.root.dir))
        .filter(|path| !listed.contains(*path) && !is_test_data(path))
        .map(|path| {
            let message = format!("no build target of the root at `{}` reads this file", context.root.dir);
            let mut residual = Residual::error(Component::Str, Class::UnmeasuredFile, &stage.tool, message);
            residual.hint =
                Some("Declare it with `mod` in a file that is built, or make it a target.".to_owned());
            residual.in_file(Some(path.clone()))
        })
        .collect()
}

/// Rust text that tests read and nobody builds: cases of compile tests, projects laid down by a test.
fn is_test_data(path: &RelPath) -> bool {
    const FOLDERS: [&str; 9] =
        ["fixtures", "fixture", "data", "testdata", "cases", "ui", "pass", "fail", "snapshots"];
    let below_tests = path.parts().skip_while(|part| *part != "tests").skip(1);
    below_tests.into_iter().any(|part| FOLDERS.contains(&part))
}

/// The files on the right of the first rule of a dep-info text; spaces in names are escaped.
fn prerequisites(text: &str) -> Vec<String> {
    let mut paths = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let Some((_, right)) = line.split_once(": ") else { continue };
        let mut path = String::new();
        let mut chars = right.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '\\' if chars.peek().is_some_and(|next| *next == ' ' || *next == '\\') => {
                    path.extend(chars.next())
                }
                ' ' => paths.push(std::mem::take(&mut path)),
                c => path.push(c),
            }
        }
        paths.push(path);
    }
    paths.retain(|path| !path.is_empty());
    paths
}
