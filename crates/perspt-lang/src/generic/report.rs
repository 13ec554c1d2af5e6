//! What a command's run says of single tests, whatever form it says it in.

use std::collections::BTreeMap;

use perspt_core::reading::TestEnd;
use perspt_core::stage::StepOutput;

use super::{ctest, tap};
use crate::shared::junit::{self, Case};
use crate::shared::report::text;

/// One test of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OneTest {
    pub name: String,
    pub end: TestEnd,
    /// Why it failed or was skipped, on a line.
    pub message: String,
    /// What was printed below it.
    pub text: String,
    /// Its file, as the runner calls it.
    pub file: Option<String>,
}

impl Default for OneTest {
    fn default() -> OneTest {
        let (name, message, text) = Default::default();
        OneTest { name, end: TestEnd::Passed, message, text, file: None }
    }
}

/// The tests of a run, and why they may not be all of them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Report {
    pub tests: Vec<OneTest>,
    pub faults: Vec<String>,
}

/// What a run says test by test; `None` where it names no test. A report that the user names must be there.
pub(super) fn of(output: &StepOutput, named: Option<&str>) -> Option<Report> {
    if let Some(named) = named {
        let Some(bytes) = output.reports.get(named) else {
            let fault = "the run left no report where one was named".to_owned();
            return Some(Report { tests: Vec::new(), faults: vec![fault] });
        };
        let whole = of_junit(&text(bytes)).or_else(|| tap::parse(&text(bytes)));
        let fault = || "the report is not whole, or neither JUnit XML nor TAP".to_owned();
        return Some(whole.unwrap_or_else(|| Report { tests: Vec::new(), faults: vec![fault()] }));
    }
    let mut files = Report::default();
    let mut left = false;
    for bytes in output.reports.values().filter(|bytes| is_junit(&text(bytes))) {
        left = true;
        match of_junit(&text(bytes)) {
            Some(report) => files.tests.extend(report.tests),
            None => files.faults.push("a report in JUnit's form is not whole".to_owned()),
        }
    }
    if left {
        return Some(files);
    }
    let printed = text(&output.stdout);
    let mut report = ctest::parse(&printed).or_else(|| tap::parse(&printed))?;
    if output.cut {
        report.faults.push("more was printed than is kept".to_owned());
    }
    Some(report)
}

/// Whether an XML file is a report of tests. Others may be anything.
pub(crate) fn is_junit(text: &str) -> bool {
    let mut tags = text.split('<').skip(1).filter(|tag| !tag.starts_with(['?', '!']));
    tags.next().is_some_and(|tag| tag.starts_with("testsuite"))
}

fn of_junit(text: &str) -> Option<Report> {
    let tests = junit::parse(text)?.into_iter().map(one).collect();
    Some(Report { tests, faults: Vec::new() })
}

fn one(case: Case) -> OneTest {
    let Case { classname, name, file, end, message, text } = case;
    let name = if classname.is_empty() || classname == name { name } else { format!("{classname}::{name}") };
    OneTest { name, end, message, text, file }
}

/// Tests by names that are unlike each other. A name that comes back gets the number of its turn.
pub(super) fn by_name(tests: Vec<OneTest>) -> BTreeMap<String, OneTest> {
    let mut turns: BTreeMap<String, u32> = BTreeMap::new();
    let named = tests.into_iter().map(|test| {
        let turn = turns.entry(test.name.clone()).and_modify(|turn| *turn += 1).or_insert(1);
        let name = if *turn == 1 { test.name.clone() } else { format!("{}[{turn}]", test.name) };
        (name, test)
    });
    named.collect()
}
