//! What `cargo check` found, and which files it never looked at.

use std::collections::BTreeSet;

use perspt_core::path::RelPath;
use perspt_core::reading::Reading;
use perspt_core::residual::{Class, Component, Residual, Severity};
use perspt_core::stage::{Stage, StepOutput};

use super::messages::{self, Messages};
use super::{files_read, gated, roots, stderr};
use crate::plugin::ReadContext;
use crate::shared::report::{self, abnormal_end, did_not_look, measured, report_missing, unexplained};

/// The reading of the build stage.
pub(crate) fn read(stage: &Stage, outputs: &[StepOutput], context: &ReadContext<'_>) -> Reading {
    if let Some(reading) = did_not_look(stage, outputs, context) {
        return reading;
    }
    let Some(output) = report::output_of(outputs, "check") else {
        let residuals = outputs.iter().map(|output| unexplained(output, &stage.tool)).collect();
        return measured(stage, context, residuals, None);
    };
    let mut reading = read_check(stage, output, context);
    if !has_error(&reading.residuals) {
        let unmeasured = unmeasured(&reading.looked, stage, context);
        reading.residuals.extend(unmeasured);
    }
    reading
}

/// What one check found, and the files it read.
pub(crate) fn read_check(stage: &Stage, output: &StepOutput, context: &ReadContext<'_>) -> Reading {
    let messages = messages::read(output, &stage.tool, context);
    let mut residuals = failures(output, &messages, stage, context);
    let looked = files_read::compiled(&messages.artifacts, output, context);
    residuals.extend(messages.residuals);
    Reading { looked, ..measured(stage, context, residuals, None) }
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

/// Rust files below the root that no target lists among what it was built from, and that no file declares.
fn unmeasured(looked: &BTreeSet<RelPath>, stage: &Stage, context: &ReadContext<'_>) -> Vec<Residual> {
    let all = roots::find(context.files);
    let sources = context.files.tree().entries.keys().filter(|path| path.extension() == Some("rs"));
    sources
        .filter(|path| roots::of(&all, path).is_some_and(|root| root.dir == context.root.dir))
        .filter(|path| !looked.contains(*path) && !is_test_data(path))
        // One that is declared and left out by a `cfg` is for another platform or feature: nobody looked at it here.
        .filter(|path| !gated::is_left_out(context.files, path))
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
