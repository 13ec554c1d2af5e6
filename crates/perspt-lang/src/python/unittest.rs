//! What our own unittest runner reports, where pytest is missing.

use std::collections::BTreeMap;

use perspt_core::reading::{Reading, TestEnd, TestName, TestResult, Tests};
use perspt_core::residual::{Class, Component, Residual};
use perspt_core::stage::{Stage, StepOutput};
use serde::Deserialize;

use super::collection::{self, Uncollected};
use super::stages::{LISTED, RAN, needs_pytest};
use crate::plugin::ReadContext;
use crate::shared::failed_test::failed_test;
use crate::shared::report::{
    self, abnormal_end, did_not_look, first_line, in_tree, measured, report_missing, shortened, unexplained,
};

#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Result {
        test: String,
        end: TestEnd,
        #[serde(default)]
        message: String,
        #[serde(default)]
        trace: String,
    },
    Announced {
        test: String,
    },
    Error {
        error: LoadError,
    },
    Fixture {
        fixture: String,
        message: String,
        trace: String,
    },
    Loaded {
        loaded: Vec<String>,
    },
    End {
        done: usize,
    },
}

/// A file that could not be loaded.
#[derive(Debug, Deserialize)]
pub(crate) struct LoadError {
    file: String,
    kind: String,
    message: String,
    #[serde(default)]
    line: Option<u64>,
    #[serde(default)]
    trace: String,
}

/// One report.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// Announced names, in order.
    pub announced: Vec<String>,
    /// End, message and traceback by name; a failure wins.
    pub results: BTreeMap<String, (TestEnd, String, String)>,
    /// Files that the process has loaded.
    pub loaded: Vec<String>,
    errors: Vec<LoadError>,
    fixtures: Vec<(String, String, String)>,
    done: Option<usize>,
}

impl Report {
    /// Whether it reached its end and lost nothing on the way.
    pub fn is_whole(&self) -> bool {
        self.done == Some(self.announced.len() + self.results.len())
    }
}

/// Reads a report; lines that are none of ours are passed over.
pub(crate) fn parse(text: &str) -> Report {
    let mut report = Report::default();
    for line in text.lines() {
        match serde_json::from_str(line) {
            Ok(Line::Result { test, end, message, trace }) => {
                let worse = report.results.get(&test).is_none_or(|(before, ..)| *before != TestEnd::Failed);
                if worse {
                    report.results.insert(test, (end, message, trace));
                }
            }
            Ok(Line::Announced { test }) => report.announced.push(test),
            Ok(Line::Error { error }) => report.errors.push(error),
            Ok(Line::Fixture { fixture, message, trace }) => report.fixtures.push((fixture, message, trace)),
            Ok(Line::Loaded { loaded }) => report.loaded = loaded,
            Ok(Line::End { done }) => report.done = Some(done),
            Err(_) => {}
        }
    }
    report
}

/// The reading of a test stage run by unittest.
pub(crate) fn read(stage: &Stage, outputs: &[StepOutput], context: &ReadContext<'_>) -> Reading {
    if let Some(reading) = did_not_look(stage, outputs, context) {
        return reading;
    }
    let tool = &stage.tool;
    let mut residuals = unseen(tool, context);
    let mut tests = Tests::default();
    let mut looked = super::settings_files(context);
    match report::output_of(outputs, "list") {
        None => residuals.extend(outputs.iter().map(|output| unexplained(output, tool))),
        Some(list) => {
            let listed = whole(list, LISTED, tool, &mut residuals);
            residuals.extend(listed.errors.iter().map(|error| not_loaded(error, tool, context)));
            if let Some(run) = report::output_of(outputs, "run") {
                let ran = whole(run, RAN, tool, &mut residuals);
                if ran.results.values().any(|(end, ..)| *end == TestEnd::Passed) {
                    looked.extend(ran.loaded.iter().filter_map(|path| in_tree(context, path)));
                }
                for name in &listed.announced {
                    result(name, &ran, tool, context, &mut residuals, &mut tests);
                }
                for (fixture, message, trace) in &ran.fixtures {
                    let name = TestName(fixture.clone());
                    let message = format!("`{fixture}` failed: {}", first_line(message));
                    residuals.push(failed_test(tool, Class::TestFailed, &name, message).with_evidence(trace));
                }
            } else if !super::has_error(&residuals) {
                residuals.push(report_missing(list, tool, "the tests were listed and not run".to_owned()));
            }
        }
    }
    let absent = super::absent_modules(&residuals, context);
    Reading { looked, absent, ..measured(stage, context, residuals, Some(tests)) }
}

/// A step's report; what keeps it from being whole becomes residuals.
fn whole(output: &StepOutput, name: &str, tool: &str, residuals: &mut Vec<Residual>) -> Report {
    let report = output.reports.get(name).map(|bytes| parse(&report::text(bytes))).unwrap_or_default();
    if let Some(residual) = abnormal_end(output, tool) {
        residuals.push(residual);
    } else if !report.is_whole() {
        let message = format!(
            "the step `{}` ended with {} before its report was whole",
            output.step,
            output.end.shown()
        );
        let mut residual = report_missing(output, tool, message);
        residual.hint =
            Some("Something ended the process: look for a call that exits, such as `os._exit`.".to_owned());
        residuals.push(residual);
    } else if !output.end.is_success() {
        residuals.push(unexplained(output, tool));
    }
    report
}

fn not_loaded(error: &LoadError, tool: &str, context: &ReadContext<'_>) -> Residual {
    let found = Uncollected {
        file: in_tree(context, &error.file),
        kind: &error.kind,
        message: &error.message,
        line: error.line,
        evidence: report::tail(&error.trace, Residual::EVIDENCE_CAP),
    };
    collection::residual(&found, tool, context)
}

fn result(
    id: &str,
    ran: &Report,
    tool: &str,
    context: &ReadContext<'_>,
    residuals: &mut Vec<Residual>,
    tests: &mut Tests,
) {
    let name = TestName(id.to_owned());
    let file = id.split("::").next().and_then(|path| in_tree(context, path));
    let (end, message) = match ran.results.get(id) {
        None => {
            let message = format!("`{id}` was announced and has no result");
            residuals
                .push(failed_test(tool, Class::TestsVanished, &name, message.clone()).in_file(file.clone()));
            (TestEnd::Failed, message)
        }
        Some((TestEnd::Failed, message, trace)) => {
            let text = format!("`{id}` failed: {}", first_line(message));
            let evidence = report::tail(trace, Residual::EVIDENCE_CAP);
            residuals.push(
                failed_test(tool, Class::TestFailed, &name, text)
                    .in_file(file.clone())
                    .with_evidence(evidence),
            );
            (TestEnd::Failed, shortened(message))
        }
        Some((end, message, _)) => (*end, shortened(message)),
    };
    tests.results.insert(name, TestResult { end, file, message });
}

/// Test files that this runner cannot see all of.
fn unseen(tool: &str, context: &ReadContext<'_>) -> Vec<Residual> {
    let files = needs_pytest(context.root, context.files);
    files
        .into_iter()
        .map(|file| {
            let message = "these tests need pytest, which is not installed".to_owned();
            let mut residual =
                Residual::error(Component::Boot, Class::TestsUnseen, tool, message).in_file(Some(file));
            residual.hint = Some("Write tests as methods of unittest.TestCase classes.".to_owned());
            residual
        })
        .collect()
}
