//! The reading of a user's own command: test by test where its run says so, else by its exit code.

use perspt_core::path::RelPath;
use perspt_core::reading::{Reading, StageKind, TestEnd, TestName, TestResult, Tests};
use perspt_core::residual::{Class, Component, Residual};
use perspt_core::stage::{Stage, StepOutput};

use super::report::{self, OneTest, Report};
use super::{places, stages};
use crate::plugin::ReadContext;
use crate::shared::failed_test::failed_test;
use crate::shared::report::{
    abnormal_end, both_streams, did_not_look, first_line, measured, output_of, place, report_missing,
    shortened, tail, unexplained,
};

/// What a user's own command found.
pub fn read(stage: &Stage, outputs: &[StepOutput], context: &ReadContext<'_>) -> Reading {
    let reading = did_not_look(stage, outputs, context).unwrap_or_else(|| looked(stage, outputs, context));
    Reading { command: stage.command.clone(), ..reading }
}

fn looked(stage: &Stage, outputs: &[StepOutput], context: &ReadContext<'_>) -> Reading {
    let tool = &stage.tool;
    let Some(tested) = output_of(outputs, stages::TEST).filter(|_| stage.kind == StageKind::Test) else {
        // Only the build was run, or the tests were not reached.
        let found = outputs.iter().flat_map(|output| of_build(output, tool, context)).collect();
        return measured(stage, context, found, None);
    };
    if let Some(residual) = abnormal_end(tested, tool) {
        return measured(stage, context, vec![residual], None);
    }
    let named = stage.steps.iter().find(|step| step.name == stages::TEST);
    let named = named.and_then(|step| step.reports.first()).map(String::as_str);
    match report::of(tested, named) {
        Some(report) => test_by_test(stage, tested, report, context),
        None => measured(stage, context, by_exit_code(tested, tool, context), None),
    }
}

/// What a build says, by its exit code and the places it names.
fn of_build(output: &StepOutput, tool: &str, context: &ReadContext<'_>) -> Vec<Residual> {
    if let Some(residual) = abnormal_end(output, tool) {
        return vec![residual];
    }
    failed(output, tool, context, (Component::Syn, Class::CompileError))
}

fn by_exit_code(output: &StepOutput, tool: &str, context: &ReadContext<'_>) -> Vec<Residual> {
    failed(output, tool, context, (Component::Log, Class::TargetFailed))
}

/// The findings of a command that did not end well: the errors that it places, else its end as a whole.
fn failed(
    output: &StepOutput,
    tool: &str,
    context: &ReadContext<'_>,
    (component, class): (Component, Class),
) -> Vec<Residual> {
    if output.end.is_success() {
        return Vec::new();
    }
    let printed = both_streams(output);
    let placed = places::errors(&printed, tool, context);
    if !placed.is_empty() {
        return placed;
    }
    let message = format!("`{tool}` ended with {}", output.end.shown());
    let whole = Residual::error(component, class, tool, message);
    vec![whole.with_evidence(tail(printed.trim(), Residual::EVIDENCE_CAP))]
}

/// The reading of a run that names its tests.
fn test_by_test(stage: &Stage, output: &StepOutput, report: Report, context: &ReadContext<'_>) -> Reading {
    let tool = &stage.tool;
    let Report { tests, faults } = report;
    let mut residuals: Vec<Residual> =
        faults.into_iter().map(|fault| report_missing(output, tool, format!("`{tool}`: {fault}"))).collect();
    let mut results = Tests::default();
    for (name, test) in report::by_name(tests) {
        let name = TestName(name);
        let file = test.file.as_deref().and_then(|file| places::find(file, context));
        if test.end == TestEnd::Failed {
            residuals.push(failure(tool, &name, &test, file.clone(), context));
        }
        let message = match test.message.is_empty() && test.end == TestEnd::Failed {
            true => shortened(&test.text),
            false => shortened(&test.message),
        };
        results.results.insert(name, TestResult { end: test.end, file, message });
    }
    if !output.end.is_success() && residuals.is_empty() {
        // A part that names no test may have failed: a program that does not compile.
        let placed = places::errors(&both_streams(output), tool, context);
        match placed.is_empty() {
            true => residuals.push(unexplained(output, tool)),
            false => residuals.extend(placed),
        }
    }
    measured(stage, context, residuals, Some(results))
}

fn failure(
    tool: &str,
    name: &TestName,
    test: &OneTest,
    file: Option<RelPath>,
    context: &ReadContext<'_>,
) -> Residual {
    let said = [test.message.as_str(), test.text.as_str()].into_iter().find(|text| !text.trim().is_empty());
    let message = match said {
        Some(said) => format!("`{}` failed: {}", name.0, first_line(said)),
        None => format!("`{}` failed", name.0),
    };
    let mut residual = failed_test(tool, Class::TestFailed, name, message);
    let spot = places::first(&format!("{}\n{}", test.message, test.text), context);
    residual.place = spot.as_ref().and_then(|(_, line)| place(*line, 0));
    let file = spot.map(|(file, _)| file).or(file);
    residual.in_file(file).with_evidence(tail(&test.text, Residual::EVIDENCE_CAP))
}
