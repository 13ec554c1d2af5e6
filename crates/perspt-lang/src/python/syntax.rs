//! What compiling every file in memory found.

use std::collections::BTreeSet;

use perspt_core::path::RelPath;
use perspt_core::reading::Reading;
use perspt_core::residual::{Class, Component, Residual};
use perspt_core::stage::{Stage, StepOutput};
use serde::Deserialize;

use super::roots;
use crate::plugin::ReadContext;
use crate::shared::report::{
    self, abnormal_end, did_not_look, in_tree, measured, place, report_missing, unexplained,
};

/// What the script said of one file.
#[derive(Debug, Deserialize)]
pub(crate) struct Checked {
    /// The file, relative to the root.
    pub file: String,
    /// Why it does not compile.
    #[serde(default)]
    pub problem: Option<Problem>,
    /// What the compiler warned of.
    #[serde(default)]
    pub warnings: Vec<Warned>,
}

/// One file's error.
#[derive(Debug, Deserialize)]
pub(crate) struct Problem {
    kind: String,
    message: String,
    #[serde(default)]
    line: Option<i64>,
    #[serde(default)]
    column: Option<i64>,
    #[serde(default)]
    text: Option<String>,
}

/// One warning.
#[derive(Debug, Deserialize)]
pub(crate) struct Warned {
    message: String,
    #[serde(default)]
    line: Option<i64>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    File(Checked),
    End { done: usize },
}

/// All that the script said.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// Each file.
    pub files: Vec<Checked>,
    done: Option<usize>,
}

impl Report {
    /// Whether it reached its end and lost nothing on the way.
    pub fn is_whole(&self) -> bool {
        self.done == Some(self.files.len())
    }
}

/// Reads the script's lines; others are passed over.
pub(crate) fn parse(text: &str) -> Report {
    let mut report = Report::default();
    for line in text.lines() {
        match serde_json::from_str(line) {
            Ok(Line::File(file)) => report.files.push(file),
            Ok(Line::End { done }) => report.done = Some(done),
            Err(_) => {}
        }
    }
    report
}

/// The reading of the syntax stage.
pub(crate) fn read(stage: &Stage, outputs: &[StepOutput], context: &ReadContext<'_>) -> Reading {
    if let Some(reading) = did_not_look(stage, outputs, context) {
        return reading;
    }
    let (mut residuals, mut looked) = (Vec::new(), BTreeSet::new());
    for output in outputs {
        let report = parse(&report::text(&output.stdout));
        looked.extend(report.files.iter().filter_map(|checked| in_tree(context, &checked.file)));
        residuals.extend(match abnormal_end(output, &stage.tool) {
            Some(residual) => vec![residual],
            None => step(output, &report, stage, context),
        });
    }
    Reading { looked, ..measured(stage, context, residuals, None) }
}

fn step(output: &StepOutput, report: &Report, stage: &Stage, context: &ReadContext<'_>) -> Vec<Residual> {
    let mut residuals: Vec<Residual> =
        report.files.iter().flat_map(|checked| findings(checked, &stage.tool, context)).collect();
    if !output.end.is_success() {
        residuals.push(unexplained(output, &stage.tool));
    } else if !report.is_whole() || output.cut {
        let message = "not every file was reported".to_owned();
        residuals.push(report_missing(output, &stage.tool, message));
    } else {
        residuals.extend(unmeasured(report, stage, context));
    }
    residuals
}

fn findings(checked: &Checked, tool: &str, context: &ReadContext<'_>) -> Vec<Residual> {
    let file = in_tree(context, &checked.file);
    let at = |line: Option<i64>, column: Option<i64>| {
        let number = |value: Option<i64>| value.and_then(|value| u64::try_from(value).ok()).unwrap_or(0);
        place(number(line), number(column))
    };
    let mut residuals = Vec::new();
    if let Some(problem) = &checked.problem {
        let message = format!("{}: {}", problem.kind, problem.message);
        let evidence = format!("{}\n{}", problem.text.as_deref().unwrap_or("").trim_end(), message);
        let mut residual =
            Residual::error(Component::Syn, Class::SyntaxError, tool, message).in_file(file.clone());
        residual.place = at(problem.line, problem.column);
        residual.symbol = Some(problem.kind.clone());
        residuals.push(residual.with_evidence(evidence.trim_start()));
    }
    for warned in &checked.warnings {
        let mut residual =
            Residual::warning(Component::Syn, Class::CompileWarning, tool, warned.message.clone());
        residual.place = at(warned.line, None);
        residuals.push(residual.in_file(file.clone()));
    }
    residuals
}

/// Python files of the root that the script did not look at.
fn unmeasured(report: &Report, stage: &Stage, context: &ReadContext<'_>) -> Vec<Residual> {
    let seen: BTreeSet<RelPath> =
        report.files.iter().filter_map(|checked| in_tree(context, &checked.file)).collect();
    let own = roots::own_sources(context.files, context.root);
    own.into_iter()
        .filter(|path| !seen.contains(path))
        .map(|path| {
            let message = "this file was not compiled".to_owned();
            Residual::error(Component::Str, Class::UnmeasuredFile, &stage.tool, message).in_file(Some(path))
        })
        .collect()
}
