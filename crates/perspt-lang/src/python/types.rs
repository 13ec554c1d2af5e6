//! What a type checker found, and which files it looked at, by its own account.

use std::collections::BTreeSet;

use perspt_core::path::RelPath;
use perspt_core::reading::Reading;
use perspt_core::residual::{Class, Component, Residual};
use perspt_core::stage::{Stage, StepEnd, StepOutput};
use serde::Deserialize;

use super::checkers::{self, Checker};
use super::roots;
use crate::plugin::ReadContext;
use crate::shared::report::{
    self, abnormal_end, did_not_look, in_tree, measured, place, report_missing, unexplained,
};

/// The reading of the type stage.
pub(crate) fn read(stage: &Stage, outputs: &[StepOutput], context: &ReadContext<'_>) -> Reading {
    if let Some(reading) = did_not_look(stage, outputs, context) {
        return reading;
    }
    let (Some(checker), Some(output)) = (Checker::named(&stage.tool), outputs.first()) else {
        let residuals = outputs.iter().map(|output| unexplained(output, &stage.tool)).collect();
        return measured(stage, context, residuals, None);
    };
    let report = report(checker, output, context);
    let mut residuals = report.residuals;
    residuals.extend(failure(output, report.is_whole, &residuals, stage));
    // What ended early for another reason than its findings has not checked the rest.
    let looked = if matches!(output.end, StepEnd::Exited(0 | 1)) && report.is_whole {
        report.looked
    } else {
        BTreeSet::new()
    };
    Reading { looked, ..measured(stage, context, residuals, None) }
}

/// What keeps a run from counting besides its findings.
fn failure(output: &StepOutput, is_whole: bool, found: &[Residual], stage: &Stage) -> Option<Residual> {
    let has_error = found.iter().any(Residual::counts);
    match &output.end {
        StepEnd::Exited(0) | StepEnd::Exited(1) if !is_whole || output.cut => {
            Some(report_missing(output, &stage.tool, format!("{} left no whole report", stage.tool)))
        }
        StepEnd::Exited(0) => None,
        StepEnd::Exited(_) if has_error => None,
        StepEnd::Exited(_) => Some(unexplained(output, &stage.tool)),
        StepEnd::Signalled(_) | StepEnd::TimedOut | StepEnd::NotStarted(_) => {
            abnormal_end(output, &stage.tool)
        }
    }
}

#[derive(Default)]
struct Report {
    residuals: Vec<Residual>,
    looked: BTreeSet<RelPath>,
    is_whole: bool,
}

fn report(checker: Checker, output: &StepOutput, context: &ReadContext<'_>) -> Report {
    match checker {
        Checker::Mypy => of_mypy(output, context),
        Checker::Pyright => of_pyright(output, context),
        Checker::Ty => of_ty(output, context),
    }
}

/// How bad a finding is, in any checker's words.
enum Level {
    Error,
    Warning,
}

/// One finding of a checker.
struct Found<'a> {
    level: Level,
    file: &'a str,
    at: (u64, u64),
    code: Option<&'a str>,
    message: &'a str,
    hint: Option<&'a str>,
}

fn residual(checker: Checker, found: &Found<'_>, context: &ReadContext<'_>) -> Residual {
    let first = found.message.lines().next().unwrap_or_default().to_owned();
    let mut residual = match found.level {
        Level::Error => Residual::error(Component::Syn, Class::CompileError, checker.name(), first),
        Level::Warning => Residual::warning(Component::Syn, Class::CompileWarning, checker.name(), first),
    };
    residual.place = place(found.at.0, found.at.1);
    residual.symbol = found.code.map(str::to_owned);
    residual.hint = found.hint.map(str::to_owned);
    residual.in_file(in_tree(context, found.file)).with_evidence(found.message)
}

/// Those of the tree's own files among paths that a tool printed.
fn own<'a>(paths: impl Iterator<Item = &'a str>, context: &ReadContext<'_>) -> BTreeSet<RelPath> {
    let found = paths.filter_map(|path| in_tree(context, path));
    found.filter(|path| context.files.tree().entries.contains_key(path)).collect()
}

#[derive(Deserialize)]
struct MypyLine {
    file: String,
    line: i64,
    column: i64,
    message: String,
    #[serde(default)]
    hint: Option<String>,
    #[serde(default)]
    code: Option<String>,
    severity: String,
}

/// One JSON object a line. Its log names the files that it was given, and those that it followed imports to.
fn of_mypy(output: &StepOutput, context: &ReadContext<'_>) -> Report {
    let printed = report::text(&output.stdout);
    let lines = printed.lines().filter_map(|line| serde_json::from_str::<MypyLine>(line).ok());
    let number = |value: i64, more: u64| u64::try_from(value).map_or(0, |value| value.saturating_add(more));
    let residuals = lines.filter(|line| line.severity == "error").map(|line| {
        let found = Found {
            level: Level::Error,
            file: &line.file,
            at: (number(line.line, 0), number(line.column, 1)),
            code: line.code.as_deref(),
            message: &line.message,
            hint: line.hint.as_deref(),
        };
        residual(Checker::Mypy, &found, context)
    });
    let residuals = residuals.collect();
    let log = report::text(&output.stderr);
    let given = log.lines().filter_map(|line| {
        let path = line.split_once("BuildSource(path='")?.1;
        path.split_once("', module=").map(|(path, _)| path)
    });
    // Of what it only follows it may say nothing.
    let follows = !checkers::mypy_setting(context.root, context.files, &["follow_imports"]);
    let parsed = log.lines().filter_map(|line| {
        let path = line.strip_prefix("LOG:")?.trim_start().strip_prefix("Parsing ")?;
        path.rsplit_once(" (").map(|(path, _)| path)
    });
    let looked = own(given.chain(parsed.filter(|_| follows)), context);
    Report { residuals, is_whole: !looked.is_empty() || !output.end.is_success(), looked }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PyrightReport {
    general_diagnostics: Vec<PyrightFinding>,
    summary: PyrightSummary,
}

#[derive(Deserialize)]
struct PyrightFinding {
    file: String,
    severity: String,
    message: String,
    #[serde(default)]
    rule: Option<String>,
    #[serde(default)]
    range: Option<PyrightRange>,
}

#[derive(Deserialize)]
struct PyrightRange {
    start: PyrightPlace,
}

#[derive(Deserialize)]
struct PyrightPlace {
    line: u64,
    character: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PyrightSummary {
    files_analyzed: usize,
}

/// One JSON document. It counts the files and names only those with findings: where it counts as many as there are, it
/// has looked at all.
fn of_pyright(output: &StepOutput, context: &ReadContext<'_>) -> Report {
    let printed = report::text(&output.stdout);
    let begin = printed.find('{').unwrap_or(0);
    let Ok(report) = serde_json::from_str::<PyrightReport>(&printed[begin..]) else {
        return Report::default();
    };
    let named = own(report.general_diagnostics.iter().map(|found| found.file.as_str()), context);
    let all: BTreeSet<RelPath> = roots::own_sources(context.files, context.root).into_iter().collect();
    let looked = if report.summary.files_analyzed >= all.len() { all } else { named };
    let residuals = report.general_diagnostics.iter().filter_map(|found| {
        let start = found.range.as_ref().map(|range| &range.start);
        let level = match found.severity.as_str() {
            "error" => Level::Error,
            "warning" => Level::Warning,
            _ => return None,
        };
        let found = Found {
            level,
            file: &found.file,
            at: start.map_or((0, 0), |at| (at.line.saturating_add(1), at.character.saturating_add(1))),
            code: found.rule.as_deref(),
            message: &found.message,
            hint: None,
        };
        Some(residual(Checker::Pyright, &found, context))
    });
    Report { residuals: residuals.collect(), looked, is_whole: true }
}

#[derive(Deserialize)]
struct TyFinding {
    check_name: String,
    description: String,
    severity: String,
    location: TyLocation,
}

#[derive(Deserialize)]
struct TyLocation {
    path: String,
    #[serde(default)]
    positions: Option<TyPositions>,
}

#[derive(Deserialize)]
struct TyPositions {
    begin: TyPlace,
}

#[derive(Deserialize)]
struct TyPlace {
    line: u64,
    column: u64,
}

/// One JSON list. Its log names each file that it checks.
fn of_ty(output: &StepOutput, context: &ReadContext<'_>) -> Report {
    let printed = report::text(&output.stdout);
    let Ok(findings) = serde_json::from_str::<Vec<TyFinding>>(printed.trim()) else {
        return Report::default();
    };
    let residuals = findings.iter().map(|found| {
        let begin = found.location.positions.as_ref().map(|positions| &positions.begin);
        let message = found.description.strip_prefix(&format!("{}: ", found.check_name));
        let found = Found {
            level: if ["minor", "info"].contains(&found.severity.as_str()) {
                Level::Warning
            } else {
                Level::Error
            },
            file: &found.location.path,
            at: begin.map_or((0, 0), |at| (at.line, at.column)),
            code: Some(&found.check_name),
            message: message.unwrap_or(&found.description),
            hint: None,
        };
        residual(Checker::Ty, &found, context)
    });
    let log = report::text(&output.stderr);
    let checked = log.lines().filter_map(|line| {
        let path = line.split_once("Checking file '")?.1;
        path.rsplit_once('\'').map(|(path, _)| path)
    });
    let named = findings.iter().map(|found| found.location.path.as_str());
    Report { residuals: residuals.collect(), looked: own(checked.chain(named), context), is_whole: true }
}
