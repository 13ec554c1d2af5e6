//! What `go test -json` found, test by test. Which tests there are is known from the sources that go says belong to a
//! package: a program that leaves early, or whose `TestMain` runs none of them, passes all the same. A case of a test
//! stands in brackets behind its name.

use std::collections::BTreeMap;

use perspt_core::path::RelPath;
use perspt_core::reading::{Reading, TestEnd, TestName, TestResult, Tests};
use perspt_core::residual::{Class, Component, Milli, Residual};
use perspt_core::stage::{Stage, StepOutput};
use serde::Deserialize;

use super::layout::GO;
use super::list::Packages;
use super::{build, diagnostics};
use crate::plugin::ReadContext;
use crate::shared::failed_test::{UNNAMED_TEST, failed_test};
use crate::shared::report::{
    self, abnormal_end, did_not_look, first_line, in_tree, measured, output_of, place, report_missing,
    shortened, unexplained,
};
use crate::syntax::parse;

/// One line of the report, as far as it matters.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Line {
    action: String,
    #[serde(default)]
    package: String,
    #[serde(default)]
    test: String,
    #[serde(default)]
    output: String,
    #[serde(default)]
    failed_build: String,
}

/// What the report says of one package.
#[derive(Default)]
struct Section {
    ends: BTreeMap<String, TestEnd>,
    printed: BTreeMap<String, String>,
    /// How the package itself ended.
    end: Option<TestEnd>,
    /// Whether its tests were built.
    unbuilt: bool,
}

/// The reading of the test stage.
pub(crate) fn read(stage: &Stage, outputs: &[StepOutput], context: &ReadContext<'_>) -> Reading {
    if let Some(reading) = did_not_look(stage, outputs, context) {
        return reading;
    }
    let tool = stage.tool.clone();
    let mut run = Run { tool, context, residuals: Vec::new(), tests: Tests::default() };
    let Some(list) = output_of(outputs, "list") else {
        let residuals = outputs.iter().map(|output| unexplained(output, &stage.tool)).collect();
        return measured(stage, context, residuals, None);
    };
    let packages = Packages::of(list);
    run.residuals.extend(build::listed(list, &run.tool, context));
    let mut reading = measured(stage, context, Vec::new(), None);
    if list.end.is_success()
        && let Some(ran) = run.compiled_and_run(outputs)
    {
        let is_whole = !is_selected(stage);
        let sections = sections(ran);
        for (name, files) in packages.tested(context) {
            let section = sections.get(name);
            if section.is_none() && !is_whole {
                continue;
            }
            run.package(&packages, (name, &files), section, (ran, is_whole));
            let has =
                |wanted: TestEnd| section.is_some_and(|one| one.ends.values().any(|end| *end == wanted));
            let reached = packages.reached(name, context);
            if has(TestEnd::Failed) {
                reading.reach.extend(files.iter().map(|file| (file.clone(), reached.clone())));
            }
            if has(TestEnd::Passed) {
                reading.looked.extend(reached);
            }
        }
        // What was compiled and is not built now was kept from it by something else than the sources.
        let compiled = output_of(outputs, "compile").is_some_and(|compile| compile.end.is_success());
        for (name, section) in sections.iter().filter(|(_, section)| section.unbuilt && compiled) {
            let message = format!("the tests of `{name}` were compiled and could not be run");
            let printed = section.printed.get("").map_or("", String::as_str);
            run.residuals.push(report_missing(ran, &run.tool, message).with_evidence(printed));
        }
        if !ran.end.is_success() && run.residuals.is_empty() {
            run.residuals.push(unexplained(ran, &run.tool));
        }
    }
    Reading { residuals: run.residuals, tests: Some(run.tests), ..reading }
}

/// Whether only some tests were run.
fn is_selected(stage: &Stage) -> bool {
    let run = stage.steps.iter().find(|step| step.name == "run");
    run.is_some_and(|run| run.argv.iter().any(|word| word.starts_with("-run=")))
}

fn sections(ran: &StepOutput) -> BTreeMap<String, Section> {
    let mut sections: BTreeMap<String, Section> = BTreeMap::new();
    let printed = report::text(&ran.stdout);
    for line in printed.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok()) {
        if line.package.is_empty() {
            continue;
        }
        let section = sections.entry(line.package).or_default();
        let end = match line.action.as_str() {
            "pass" => Some(TestEnd::Passed),
            "fail" => Some(TestEnd::Failed),
            "skip" => Some(TestEnd::Skipped),
            _ => None,
        };
        if line.action == "output" {
            section.unbuilt |= line.test.is_empty()
                && ["[build failed]\n", "[setup failed]\n"].iter().any(|end| line.output.ends_with(end));
            section.printed.entry(line.test).or_default().push_str(&line.output);
        } else if line.test.is_empty() {
            section.unbuilt |= !line.failed_build.is_empty();
            section.end = end.or(section.end);
        } else {
            section.ends.extend(end.map(|end| (line.test, end)));
        }
    }
    sections
}

struct Run<'a> {
    tool: String,
    context: &'a ReadContext<'a>,
    residuals: Vec<Residual>,
    tests: Tests,
}

impl Run<'_> {
    /// The run, where it came to that and ended by itself.
    fn compiled_and_run<'o>(&mut self, outputs: &'o [StepOutput]) -> Option<&'o StepOutput> {
        let last = outputs.last()?;
        let Some(compile) = output_of(outputs, "compile") else {
            if self.residuals.is_empty() {
                self.residuals.push(report_missing(last, &self.tool, "nothing was compiled".to_owned()));
            }
            return None;
        };
        if let Some(residual) = abnormal_end(compile, &self.tool) {
            self.residuals.push(residual);
            return None;
        }
        if !compile.end.is_success() {
            let found = diagnostics::compiled(&report::text(&compile.stderr), &self.tool, self.context);
            if found.is_empty() && self.residuals.is_empty() {
                let why = diagnostics::refused(compile, &self.tool, self.context);
                self.residuals.push(why.unwrap_or_else(|| unexplained(compile, &self.tool)));
            }
            self.residuals.extend(found);
        }
        let Some(ran) = output_of(outputs, "run") else {
            if self.residuals.is_empty() {
                self.residuals.push(report_missing(last, &self.tool, "no test was run".to_owned()));
            }
            return None;
        };
        match abnormal_end(ran, &self.tool) {
            Some(residual) => {
                self.residuals.push(residual);
                None
            }
            None if ran.cut => {
                let message = "go test printed more than is kept".to_owned();
                self.residuals.push(report_missing(ran, &self.tool, message));
                None
            }
            None => Some(ran),
        }
    }

    /// One package: every test that its files hold, and every case that ran.
    fn package(
        &mut self,
        packages: &Packages,
        (name, files): (&str, &[RelPath]),
        section: Option<&Section>,
        (ran, is_whole): (&StepOutput, bool),
    ) {
        if section.is_some_and(|section| section.unbuilt) {
            return;
        }
        let announced = announced(files, self.context);
        let empty = Section::default();
        let section = section.unwrap_or(&empty);
        let folder = packages.folder(name).unwrap_or_default().to_owned();
        for (test, end) in &section.ends {
            let top = test.split('/').next().unwrap_or(test);
            let full = full_name(name, test);
            let file = announced.get(top).cloned();
            let message = match end {
                TestEnd::Failed => self.failed(&full, test, section, (&folder, file.as_ref())),
                TestEnd::Passed | TestEnd::Skipped => String::new(),
            };
            self.tests.results.insert(full, TestResult { end: *end, file, message });
        }
        let silent = announced.iter().filter(|(test, _)| is_whole && !section.ends.contains_key(*test));
        for (test, file) in silent {
            let full = full_name(name, test);
            let message = format!("`{}` is in the sources and has no result", full.0);
            let mut residual = failed_test(&self.tool, Class::TestsVanished, &full, message.clone());
            residual.hint = Some(
                "Something ended the test program before it reported: look for a call that exits, a test that \
                 panics, or a TestMain that does not run the tests."
                    .to_owned(),
            );
            let printed = section.printed.get("").map_or("", String::as_str);
            self.residuals.push(residual.in_file(Some(file.clone())).with_evidence(printed));
            let result = TestResult { end: TestEnd::Failed, file: Some(file.clone()), message };
            self.tests.results.insert(full, result);
        }
        self.whole(name, section, files, ran);
    }

    /// A package that failed though none of its tests did, or that has no end at all.
    fn whole(&mut self, name: &str, section: &Section, files: &[RelPath], ran: &StepOutput) {
        let failed_tests = section.ends.values().any(|end| *end == TestEnd::Failed);
        match section.end {
            Some(TestEnd::Passed | TestEnd::Skipped) => {}
            Some(TestEnd::Failed) if failed_tests => {}
            Some(TestEnd::Failed) => {
                let printed = section.printed.get("").map_or("", String::as_str);
                let said = printed.lines().map(str::trim).find(|line| is_telling(line)).unwrap_or_default();
                let message = format!("the tests of `{name}` failed as a whole: {said}");
                let mut residual = Residual::error(Component::Log, Class::TargetFailed, &self.tool, message);
                residual.score = Milli::units(UNNAMED_TEST.units());
                residual.symbol = Some(name.to_owned());
                self.residuals.push(residual.in_file(files.first().cloned()).with_evidence(printed));
            }
            None => {
                let message = format!("the tests of `{name}` ended without a result");
                self.residuals.push(report_missing(ran, &self.tool, message));
            }
        }
    }

    /// The residual of a failed test; its message is returned for the result. A test whose case failed is told by the case.
    fn failed(
        &mut self,
        full: &TestName,
        test: &str,
        section: &Section,
        (folder, file): (&str, Option<&RelPath>),
    ) -> String {
        let below = format!("{test}/");
        let case = |(name, end): (&String, &TestEnd)| *end == TestEnd::Failed && name.starts_with(&below);
        if section.ends.iter().any(case) {
            return "one of its cases failed".to_owned();
        }
        let printed = section.printed.get(test).map_or("", String::as_str);
        let said: Vec<&str> = printed.lines().filter(|line| is_telling(line)).collect();
        let said = said.join("\n");
        let spot = self.spot(&said, folder);
        let what = said.trim_start();
        let what = what
            .split_once(": ")
            .filter(|(at, _)| diagnostics::spot_of(at).is_some())
            .map_or(what, |(_, rest)| rest);
        let message = format!("`{}` failed: {}", full.0, first_line(what));
        let mut residual = failed_test(&self.tool, Class::TestFailed, full, message);
        residual.place = spot.as_ref().and_then(|(_, line)| place(*line, 0));
        let at = spot.map(|(path, _)| path).or(file.cloned());
        self.residuals.push(residual.in_file(at).with_evidence(&said));
        shortened(what)
    }

    /// Where a test failed: what it logged with its place, else the first line of a stack that lies in the tree.
    fn spot(&self, said: &str, folder: &str) -> Option<(RelPath, u64)> {
        said.lines().find_map(|line| {
            let line = line.trim();
            if line.starts_with('/') {
                let (file, (at, _)) = diagnostics::spot_of(line.split(' ').next()?)?;
                return Some((in_tree(self.context, file)?, at));
            }
            let (file, (at, _)) = diagnostics::spot_of(line.split_once(": ")?.0)?;
            let path = in_tree(self.context, &format!("{folder}/{file}"))?;
            self.context.files.tree().entries.contains_key(&path).then_some((path, at))
        })
    }
}

/// The tests of a package, each with its file.
fn announced(files: &[RelPath], context: &ReadContext<'_>) -> BTreeMap<String, RelPath> {
    let mut found = BTreeMap::new();
    for file in files {
        let source = parse(&GO, &context.files.text(file).unwrap_or_default());
        found.extend(source.tests().map(|test| (test.name.clone(), file.clone())));
    }
    found
}

fn full_name(package: &str, test: &str) -> TestName {
    TestName(match test.split_once('/') {
        Some((top, case)) => format!("{package}::{top}[{case}]"),
        None => format!("{package}::{test}"),
    })
}

/// Whether a line says more than that a test began or ended.
fn is_telling(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty()
        && !["=== ", "--- ", "FAIL", "PASS", "ok  \t"].iter().any(|start| line.starts_with(start))
}
