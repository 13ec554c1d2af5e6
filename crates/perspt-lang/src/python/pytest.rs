//! What pytest found, test by test. The listing announces, the JUnit report answers; the exit code alone
//! proves nothing. An expected failure counts as skipped, an unexpected pass as passed, and as failed where
//! the project says `strict`.

use std::collections::{BTreeMap, BTreeSet};

use perspt_core::path::RelPath;
use perspt_core::reading::{Reading, TestEnd, TestName, TestResult, Tests};
use perspt_core::residual::{Class, Residual};
use perspt_core::stage::{Stage, StepEnd, StepOutput};

use super::collection::{self, Uncollected};
use super::refusal;
use super::stages::{COLLECTED, LOADED, NEW_LOADED, NEW_RESULTS, RESULTS, RUN, RUN_NEW};
use crate::plugin::ReadContext;
use crate::shared::failed_test::failed_test;
use crate::shared::junit::{self, Case};
use crate::shared::report::{
    self, abnormal_end, did_not_look, first_line, in_tree, measured, place, report_missing, shortened,
    unexplained,
};

/// pytest's exit code for a run that collected nothing.
const NOTHING_COLLECTED: StepEnd = StepEnd::Exited(5);

/// The reading of a test stage run by pytest.
pub(crate) fn read(stage: &Stage, outputs: &[StepOutput], context: &ReadContext<'_>) -> Reading {
    if let Some(reading) = did_not_look(stage, outputs, context) {
        return reading;
    }
    let mut run =
        Run { tool: &stage.tool, context, residuals: Vec::new(), tests: Tests::default(), notes: Vec::new() };
    let mut looked = super::settings_files(context);
    for (step, results, loaded) in [(RUN, RESULTS, LOADED), (RUN_NEW, NEW_RESULTS, NEW_LOADED)] {
        let Some(output) = report::output_of(outputs, step) else { continue };
        looked.extend(loaded_by_passing(output, results, loaded, context));
    }
    match report::output_of(outputs, "collect") {
        None => run.residuals.extend(outputs.iter().map(|output| unexplained(output, &stage.tool))),
        Some(collect) => {
            if let Some(announced) = run.collected(collect) {
                let steps = [(RUN, RESULTS), (RUN_NEW, NEW_RESULTS)].into_iter();
                let runs =
                    steps.filter_map(|(step, results)| Some((report::output_of(outputs, step)?, results)));
                run.ran(&announced, collect, &runs.collect::<Vec<_>>());
            }
        }
    }
    let absent = super::absent_modules(&run.residuals, context);
    let reach = reach(outputs, &run.tests, context);
    let mut reading = measured(stage, context, run.residuals, Some(run.tests));
    (reading.absent, reading.reach) = (absent, reach);
    (reading.notes, reading.looked) = (run.notes, looked);
    reading
}

/// The files of the tree that a run loaded in which a test passed.
fn loaded_by_passing(
    output: &StepOutput,
    results: &str,
    loaded: &str,
    context: &ReadContext<'_>,
) -> Vec<RelPath> {
    let cases = output.reports.get(results).and_then(|bytes| junit::parse(&report::text(bytes)));
    let passed = cases.iter().flatten().any(|case| case.end == TestEnd::Passed);
    let text =
        output.reports.get(loaded).filter(|_| passed).map(|bytes| report::text(bytes)).unwrap_or_default();
    let files = text.lines().filter(|line| !line.contains('\t'));
    files.filter_map(|path| in_tree(context, path)).collect()
}

/// What each test file with a failed test leads to.
fn reach(
    outputs: &[StepOutput],
    tests: &Tests,
    context: &ReadContext<'_>,
) -> BTreeMap<RelPath, BTreeSet<RelPath>> {
    let failed: BTreeSet<&RelPath> = tests
        .results
        .values()
        .filter(|result| result.end == TestEnd::Failed)
        .filter_map(|result| result.file.as_ref())
        .collect();
    let mut reach: BTreeMap<RelPath, BTreeSet<RelPath>> = BTreeMap::new();
    let texts = outputs.iter().flat_map(|output| [LOADED, NEW_LOADED].map(|name| output.reports.get(name)));
    for text in texts.flatten().map(|bytes| report::text(bytes)) {
        for (test, file) in text.lines().filter_map(|line| line.split_once('\t')) {
            let (Some(test), Some(file)) = (in_tree(context, test), in_tree(context, file)) else { continue };
            if failed.contains(&test) {
                reach.entry(test).or_default().insert(file);
            }
        }
    }
    reach
}

struct Run<'a> {
    tool: &'a str,
    context: &'a ReadContext<'a>,
    residuals: Vec<Residual>,
    tests: Tests,
    notes: Vec<String>,
}

impl Run<'_> {
    /// The announced ids; `None` where there is nothing to look for in a run.
    fn collected(&mut self, output: &StepOutput) -> Option<Vec<String>> {
        if let Some(residual) = abnormal_end(output, self.tool) {
            self.residuals.push(residual);
            return None;
        }
        if let Some(residual) = refusal::of(output, self.tool, self.context) {
            self.residuals.push(residual);
            return None;
        }
        let cases = output.reports.get(COLLECTED).and_then(|bytes| junit::parse(&report::text(bytes)));
        let Some(cases) = cases else {
            self.residuals.push(self.no_report(output));
            return None;
        };
        self.uncollected(&cases);
        let text = report::text(&output.stdout);
        let ids: Vec<String> = announced(&text).map(str::to_owned).collect();
        if output.end == NOTHING_COLLECTED && ids.is_empty() {
            return None;
        }
        if collected_count(&text).is_some_and(|count| count != ids.len()) || output.cut {
            let message = "pytest's listing does not name as many tests as it counts".to_owned();
            self.residuals.push(report_missing(output, self.tool, message));
            return None;
        }
        // One: some files could not be collected. Two, in older versions: the same.
        let fine = matches!(output.end, StepEnd::Exited(0..=2));
        if !fine || (!output.end.is_success() && self.residuals.is_empty()) {
            self.residuals.push(unexplained(output, self.tool));
        }
        Some(ids)
    }

    /// pytest ended before it could write a report: a conftest that does not load, or a process that was ended.
    fn no_report(&self, output: &StepOutput) -> Residual {
        let printed = report::both_streams(output);
        let loading = printed.contains("while loading conftest") || printed.contains("Traceback");
        if !loading {
            return report_missing(
                output,
                self.tool,
                format!("pytest ended with {} and no report", output.end.shown()),
            );
        }
        let (kind, message, place) = collection::of_traceback(&printed, self.context);
        let (file, line) = place.map_or((None, None), |(file, line)| (Some(file), Some(line)));
        let found = Uncollected { file, kind, message, line, evidence: report::evidence_tail(output) };
        collection::residual(&found, self.tool, self.context)
    }

    /// Files that could not be collected, and files that skipped themselves.
    fn uncollected(&mut self, cases: &[Case]) {
        for case in cases.iter().filter(|case| case.classname.is_empty()) {
            let file = case.file.as_ref().and_then(|file| in_tree(self.context, file));
            match case.end {
                TestEnd::Failed => {
                    let (kind, message, place) = collection::of_traceback(&case.text, self.context);
                    let line = place.filter(|(path, _)| Some(path) == file.as_ref()).map(|(_, line)| line);
                    let evidence = report::tail(&case.text, Residual::EVIDENCE_CAP);
                    let found = Uncollected { file, kind, message, line, evidence };
                    let residual = collection::residual(&found, self.tool, self.context);
                    if !self.residuals.iter().any(|known| known.fingerprint() == residual.fingerprint()) {
                        self.residuals.push(residual);
                    }
                }
                TestEnd::Skipped => {
                    self.notes.push(format!("{} skips itself: {}", case.name, first_line(&case.text)))
                }
                TestEnd::Passed => {}
            }
        }
    }

    fn ran(&mut self, announced: &[String], collect: &StepOutput, runs: &[(&StepOutput, &str)]) {
        if runs.is_empty() && !super::has_error(&self.residuals) {
            let message = "the tests were listed and not run".to_owned();
            self.residuals.push(report_missing(collect, self.tool, message));
        }
        if runs.is_empty() {
            return;
        }
        let cases: Vec<Case> =
            runs.iter().flat_map(|(output, results)| self.cases(output, results)).collect();
        self.uncollected(&cases);
        let mut by_address: BTreeMap<(String, String), Vec<&Case>> = BTreeMap::new();
        for case in cases.iter().filter(|case| !case.classname.is_empty()) {
            by_address.entry((case.classname.clone(), case.name.clone())).or_default().push(case);
        }
        for id in announced {
            let cases = by_address.remove(&address(id)).unwrap_or_default();
            self.result(id, &cases);
        }
        for ((classname, name), cases) in by_address {
            self.unannounced(&format!("{classname}::{name}"), &cases);
        }
        // Of two runs one may have nothing to do.
        let is_idle = |output: &StepOutput| runs.len() > 1 && output.end == NOTHING_COLLECTED;
        let failed = runs.iter().find(|(output, _)| !output.end.is_success() && !is_idle(output));
        if let Some((output, _)) = failed.filter(|_| !super::has_error(&self.residuals)) {
            self.residuals.push(unexplained(output, self.tool));
        }
    }

    /// What one run's report says of each test.
    fn cases(&mut self, output: &StepOutput, results: &str) -> Vec<Case> {
        self.residuals.extend(abnormal_end(output, self.tool));
        let cases = output.reports.get(results).and_then(|bytes| junit::parse(&report::text(bytes)));
        if cases.is_none() {
            let message = format!("pytest ended with {} and left no whole report", output.end.shown());
            let mut residual = report_missing(output, self.tool, message);
            residual.hint = Some(
                "Something ended the process: look for a call that exits, such as `os._exit`.".to_owned(),
            );
            self.residuals.push(residual);
        }
        cases.unwrap_or_default()
    }

    /// One announced test; without a case it fails.
    fn result(&mut self, id: &str, cases: &[&Case]) {
        let name = TestName(id.to_owned());
        let file = id.split("::").next().and_then(|path| in_tree(self.context, path));
        let worst = cases.iter().max_by_key(|case| match case.end {
            TestEnd::Passed => 0,
            TestEnd::Skipped => 1,
            TestEnd::Failed => 2,
        });
        let (end, message) = match worst {
            None => {
                let message = format!("`{id}` was announced and has no result");
                self.residuals.push(
                    failed_test(self.tool, Class::TestsVanished, &name, message.clone())
                        .in_file(file.clone()),
                );
                (TestEnd::Failed, message)
            }
            Some(case) if case.end == TestEnd::Failed => {
                self.residuals.push(self.failure(&name, case, file.as_ref()));
                (TestEnd::Failed, shortened(&case.message))
            }
            Some(case) => (case.end, shortened(&case.message)),
        };
        // The examples of a docstring are called by their module, not by a name inside the file.
        let is_doctest =
            id.rsplit_once("::").is_some_and(|(_, last)| !last.contains('[') && last.contains('.'));
        let file = file.filter(|_| !is_doctest);
        self.tests.results.insert(name, TestResult { end, file, message });
    }

    fn failure(&self, name: &TestName, case: &Case, file: Option<&RelPath>) -> Residual {
        let message = format!("`{}` failed: {}", name.0, first_line(&case.message));
        let mut residual = failed_test(self.tool, Class::TestFailed, name, message);
        let (_, _, spot) = collection::of_traceback(&case.text, self.context);
        residual.place = spot.as_ref().and_then(|(_, line)| place(*line, 0));
        let file = spot.map(|(path, _)| path).or_else(|| file.cloned());
        residual.in_file(file).with_evidence(report::tail(&case.text, Residual::EVIDENCE_CAP))
    }

    /// A result for a test that was not announced proves nothing good; a failure is one all the same.
    fn unannounced(&mut self, shown: &str, cases: &[&Case]) {
        match cases.iter().find(|case| case.end == TestEnd::Failed) {
            Some(case) => {
                let residual = self.failure(&TestName(shown.to_owned()), case, None);
                self.residuals.push(residual);
            }
            None => self.notes.push(format!("`{shown}` has a result and was not announced")),
        }
    }
}

/// The ids of a listing: lines up to the first rule or blank line after them.
fn announced(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().skip_while(|line| !is_id(line));
    lines.take_while(|line| !line.is_empty() && !line.starts_with("===")).filter(|line| is_id(line))
}

fn is_id(line: &str) -> bool {
    line.contains("::") && !line.starts_with([' ', '\t', '=', '<'])
}

/// `23 tests collected`, or `22/23 tests collected (1 deselected)`.
fn collected_count(text: &str) -> Option<usize> {
    text.lines().rev().find_map(|line| {
        let (count, rest) = line.split_once(' ')?;
        let counted = rest.starts_with("tests collected") || rest.starts_with("test collected");
        counted.then(|| count.split('/').next()?.parse().ok()).flatten()
    })
}

/// How the JUnit report names a test id.
fn address(id: &str) -> (String, String) {
    let (path, parameters) = match id.split_once('[') {
        Some((path, _)) => (path, &id[path.len()..]),
        None => (id, ""),
    };
    let mut names: Vec<String> = path.split("::").map(str::to_owned).collect();
    if let Some(first) = names.first_mut() {
        *first = first.replace('/', ".");
        if let Some(stem) = first.strip_suffix(".py") {
            *first = stem.to_owned();
        }
    }
    let last = names.pop().unwrap_or_default();
    (names.join("."), format!("{last}{parameters}"))
}
