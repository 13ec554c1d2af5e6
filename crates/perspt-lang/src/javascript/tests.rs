//! What a run found, test by test. All runners report in one form: a list of files, each with its tests. A file of
//! Node's own runner must also have come to its end by itself: a call that exits makes it look as if it had passed.

use std::collections::{BTreeMap, BTreeSet};

use perspt_core::path::RelPath;
use perspt_core::reading::{Reading, TestEnd, TestName, TestResult, Tests};
use perspt_core::residual::{Class, Component, Milli, Residual};
use perspt_core::stage::{Stage, Step, StepEnd, StepOutput};

use super::modules::{self, Graph};
use super::results::{Assertion, Ended, FileResult, Report, about_snapshots, parse};
use super::runner::Tool;
use super::settings_files;
use crate::plugin::ReadContext;
use crate::shared::failed_test::{UNNAMED_TEST, failed_test};
use crate::shared::report::{
    self, abnormal_end, did_not_look, first_line, in_tree, measured, place, report_missing, shortened,
    unexplained,
};

const EXITED: &str = "Something ended the process: look for a call that exits, such as `process.exit`.";

/// The reading of a test stage.
pub(crate) fn read(stage: &Stage, outputs: &[StepOutput], context: &ReadContext<'_>) -> Reading {
    if stage.steps.is_empty() {
        return measured(stage, context, Vec::new(), Some(Tests::default()));
    }
    if let Some(reading) = did_not_look(stage, outputs, context) {
        return reading;
    }
    let graph = Graph::of(context.files);
    let mut run =
        Run { context, graph, residuals: Vec::new(), tests: Tests::default(), looked: BTreeSet::new() };
    for (step, output) in stage.steps.iter().zip(outputs) {
        run.step(step, output);
    }
    if run.tests.count(TestEnd::Passed) > 0 {
        run.looked.extend(settings_files(context));
    }
    let failed = run.tests.results.values().filter(|result| result.end == TestEnd::Failed);
    let failed: BTreeSet<RelPath> = failed.filter_map(|result| result.file.clone()).collect();
    let reach: BTreeMap<RelPath, BTreeSet<RelPath>> =
        failed.into_iter().map(|file| (file.clone(), run.graph.reached(&file))).collect();
    let mut reading = measured(stage, context, run.residuals, Some(run.tests));
    (reading.looked, reading.reach) = (run.looked, reach);
    reading
}

struct Run<'a> {
    context: &'a ReadContext<'a>,
    graph: Graph<'a>,
    residuals: Vec<Residual>,
    tests: Tests,
    looked: BTreeSet<RelPath>,
}

impl Run<'_> {
    fn step(&mut self, step: &Step, output: &StepOutput) {
        let tool = step.name.split(' ').next().and_then(Tool::named).unwrap_or(Tool::Node);
        let [results, loaded] = [0, 1].map(|at| {
            let bytes = step.reports.get(at).and_then(|name| output.reports.get(name));
            bytes.map(|bytes| report::text(bytes)).unwrap_or_default()
        });
        if let Some(residual) = abnormal_end(output, tool.name()) {
            self.residuals.push(residual);
            return;
        }
        let Some(report) = parse(&results) else {
            self.residuals.push(self.no_report(output, tool));
            return;
        };
        let ended: Vec<Ended> = loaded.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let before = self.residuals.len();
        for file in &report.test_results {
            self.file(file, tool);
        }
        if tool == Tool::Node {
            self.unreported(step, &report, &ended);
        }
        let is_idle = report.test_results.is_empty() && output.end == StepEnd::Exited(1);
        if !output.end.is_success() && self.residuals.len() == before && !is_idle {
            self.residuals.push(unexplained(output, tool.name()));
        }
        self.looked_at(tool, &report, &ended);
    }

    /// A runner that did not begin, or was ended before it could write.
    fn no_report(&self, output: &StepOutput, tool: Tool) -> Residual {
        let printed = report::both_streams(output);
        let error = error_line(&printed).filter(|_| output.end != StepEnd::Exited(0));
        let Some(error) = error else {
            let message = format!("{} ended with {} and no report", tool.name(), output.end.shown());
            let mut residual = report_missing(output, tool.name(), message);
            residual.hint = Some(EXITED.to_owned());
            return residual;
        };
        let error = error.replace(&format!("{}/", self.context.seen_as.trim_end_matches('/')), "");
        let message = shortened(&format!("{} did not start: {error}", tool.name()));
        let (component, class) = match modules::missing_in(&printed) {
            Some(module) if modules::class_of(module, self.context.files).1 == Class::ModuleMissing => {
                (Component::Boot, Class::ModuleMissing)
            }
            Some(_) | None => (Component::Boot, Class::ToolRefused),
        };
        let mut residual = Residual::error(component, class, tool.name(), message);
        residual.symbol = modules::missing_in(&printed).map(str::to_owned);
        residual.with_evidence(report::evidence_tail(output))
    }

    /// One test file: its tests, and what kept it from having any.
    fn file(&mut self, file: &FileResult, tool: Tool) {
        let path = in_tree(self.context, &file.name);
        let shown = path.as_ref().map_or(file.name.as_str(), RelPath::as_str).to_owned();
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        let mut failed = false;
        for test in &file.assertion_results {
            let titles = test.ancestor_titles.iter().chain([&test.title]).map(String::as_str);
            let titles: Vec<&str> = titles.filter(|title| !title.is_empty()).collect();
            let mut name = format!("{shown}::{}", titles.join("::"));
            let count = seen.entry(name.clone()).or_default();
            *count += 1;
            if *count > 1 {
                name = format!("{name}#{count}");
            }
            let (end, name) = (test.end(), TestName(name));
            let text = test.failure_messages.as_ref().map(|all| all.join("\n")).unwrap_or_default();
            let message = if end == TestEnd::Failed { plain(&text) } else { String::new() };
            if end == TestEnd::Failed {
                failed = true;
                self.residuals.push(self.failure(&name, test, &message, path.as_ref(), tool));
            }
            let message = shortened(first_line(&message));
            // Of two runs the worse one counts.
            let result = TestResult { end, file: path.clone(), message };
            match self.tests.results.get(&name).is_some_and(|known| known.end == TestEnd::Failed) {
                true => {}
                false => drop(self.tests.results.insert(name, result)),
            }
        }
        if file.status == "failed" && !failed && !is_empty_suite(&file.message) {
            self.residuals.push(self.broken(file, path, tool));
        }
    }

    fn failure(
        &self,
        name: &TestName,
        test: &Assertion,
        message: &str,
        file: Option<&RelPath>,
        tool: Tool,
    ) -> Residual {
        let said = format!("`{}` failed: {}", name.0, first_line(message));
        let mut residual = failed_test(tool.name(), Class::TestFailed, name, said);
        let thrown = thrown_at(message, self.context).filter(|(path, ..)| Some(path) == file);
        let spot = thrown.map(|(_, line, column)| (line, column));
        let own = test.location.as_ref().map(|location| (location.line, location.column));
        residual.place = spot.or(own).and_then(|(line, column)| place(line, column));
        residual.hint = about_snapshots(message).map(str::to_owned);
        residual.in_file(file.cloned()).with_evidence(report::tail(message, Residual::EVIDENCE_CAP))
    }

    /// A file that could not be loaded, or that failed outside its tests. It weighs what a failing test does.
    fn broken(&self, file: &FileResult, path: Option<RelPath>, tool: Tool) -> Residual {
        let text = plain(&file.message);
        let error = error_line(&text).unwrap_or("it failed outside its tests");
        let seen_as = format!("{}/", self.context.seen_as.trim_end_matches('/'));
        let message = format!(
            "{}: {}",
            path.as_ref().map_or("the tests", RelPath::as_str),
            error.replace(&seen_as, "")
        );
        let module = modules::missing_in(&text);
        let (component, class) = match module {
            Some(module) => modules::class_at_load(module, &text, path.as_ref(), self.context.files),
            None if error.contains("does not provide an export") => (Component::Syn, Class::ImportError),
            None if text.contains("SyntaxError") => (Component::Syn, Class::SyntaxError),
            None => (Component::Syn, Class::CollectionError),
        };
        let mut residual = Residual::error(component, class, tool.name(), message);
        residual.score = Milli::units(UNNAMED_TEST.units());
        residual.symbol = module.map(|module| module.replace(&seen_as, ""));
        if class == Class::ModuleMissing {
            residual.hint =
                Some("Use what is installed, or what Node brings; nothing is installed for you.".to_owned());
        }
        let spot = thrown_at(&text, self.context);
        residual.place = spot.as_ref().and_then(|(_, line, column)| place(*line, *column));
        let at = spot.map(|(at, ..)| at).or(path);
        residual.in_file(at).with_evidence(report::tail(&text, Residual::EVIDENCE_CAP))
    }

    /// Files that were to be run and have no result, or did not come to their end by themselves.
    fn unreported(&mut self, step: &Step, report: &Report, ended: &[Ended]) {
        let results: BTreeMap<RelPath, &FileResult> = report
            .test_results
            .iter()
            .filter_map(|file| Some((in_tree(self.context, &file.name)?, file)))
            .collect();
        let whole: BTreeSet<RelPath> = ended
            .iter()
            .filter(|process| process.whole)
            .filter_map(|process| in_tree(self.context, process.main.as_ref()?))
            .collect();
        let forced = step.argv.iter().any(|word| word == "--test-force-exit");
        let named =
            step.argv.iter().skip_while(|word| !word.starts_with("--test-reporter-destination")).skip(1);
        for file in named.filter_map(|word| step.cwd.join(word).ok()) {
            let is_told = results.get(&file).is_some_and(|result| result.status == "failed");
            let has_tests = results.get(&file).is_some_and(|result| !result.assertion_results.is_empty());
            if is_told || whole.contains(&file) || (forced && has_tests) {
                continue;
            }
            let message = format!("`{file}` ended before its tests were over");
            let name = TestName(file.to_string());
            let mut residual = failed_test(Tool::Node.name(), Class::TestsVanished, &name, message);
            residual.hint = Some(EXITED.to_owned());
            self.residuals.push(residual.in_file(Some(file)));
        }
    }

    /// The files of the tree that were loaded where a test passed: as its processes say, else by what the test files import.
    fn looked_at(&mut self, tool: Tool, report: &Report, ended: &[Ended]) {
        let passing: BTreeSet<RelPath> = report
            .test_results
            .iter()
            .filter(|file| file.assertion_results.iter().any(|test| test.end() == TestEnd::Passed))
            .filter_map(|file| in_tree(self.context, &file.name))
            .collect();
        match tool {
            Tool::Node | Tool::Mocha => {
                let failing = report.test_results.iter().filter_map(|file| in_tree(self.context, &file.name));
                let failing: BTreeSet<RelPath> = failing.filter(|file| !passing.contains(file)).collect();
                // A process that a test started counts where any test passed.
                let counts = |process: &&Ended| {
                    let main = process.main.as_ref().and_then(|main| in_tree(self.context, main));
                    !passing.is_empty() && main.is_none_or(|main| !failing.contains(&main))
                };
                let loaded = ended.iter().filter(counts).flat_map(|process| &process.loaded);
                self.looked.extend(loaded.filter_map(|path| in_tree(self.context, path)));
            }
            Tool::Vitest | Tool::Jest => {
                for file in &passing {
                    self.looked.extend(self.graph.reached(file));
                }
            }
        }
    }
}

/// Whether a file failed for nothing but having no test in it.
fn is_empty_suite(message: &str) -> bool {
    ["No test suite found in file", "Your test suite must contain at least one test"]
        .iter()
        .any(|says| message.contains(says))
}

/// A text without the codes that colour it.
fn plain(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |mut all, part| {
        all.push_str(part.split_once('m').map_or(part, |(_, rest)| rest));
        all
    })
}

/// The line that names the error.
fn error_line(text: &str) -> Option<&str> {
    let is_error = |line: &&str| {
        let (kind, message) = line.split_once(": ").unwrap_or((line, ""));
        let name = kind.split(" [").next().unwrap_or(kind);
        name.ends_with("Error") && !name.contains(' ') && !message.is_empty()
    };
    let mut lines = text.lines().map(str::trim);
    lines.clone().find(is_error).or_else(|| lines.find(|line| modules::missing_in(line).is_some()))
}

/// The first place of a trace that lies in the tree and not in a package: file, line and column.
fn thrown_at(text: &str, context: &ReadContext<'_>) -> Option<(RelPath, u64, u64)> {
    text.lines().find_map(|line| {
        let at = line.trim().trim_end_matches(')');
        let at = at.rsplit(['(', ' ']).next()?;
        let at = at.strip_prefix("file://").unwrap_or(at);
        let mut parts = at.rsplitn(3, ':');
        let last: u64 = parts.next()?.parse().ok()?;
        let middle = parts.next()?;
        let (path, line, column) = match (middle.parse::<u64>(), parts.next()) {
            (Ok(line), Some(path)) => (path, line, last),
            (_, None) => (middle, last, 0),
            (Err(_), Some(_)) => return None,
        };
        let path = in_tree(context, path).filter(|path| context.files.tree().entries.contains_key(path))?;
        Some((path, line, column))
    })
}
