//! The report as JUnit XML: a suite for each stage of each root, a case for each test. What a compiler or linter finds is a
//! failed case too, and so is a tool that could not look.

use perspt_core::reading::TestEnd;
use quick_xml::escape::escape;

use super::Report;
use super::report::{FindingReport, StageEnd, StageReport};
use crate::out;

pub fn print(report: &Report) {
    document(report).lines().for_each(out::line);
}

/// One case of a suite.
struct Case {
    name: String,
    file: String,
    end: End,
}

/// How it ended, with what is said of it.
enum End {
    Passed,
    Failed { class: String, text: String },
    Skipped,
    Error(String),
}

fn document(report: &Report) -> String {
    let mut suites: Vec<(String, Vec<Case>)> =
        report.stages.iter().map(|stage| (suite_name(stage), cases(report, stage))).collect();
    let missing = report.missing.iter().map(|missing| Case {
        name: missing.missing.tool.clone(),
        file: String::new(),
        end: End::Error(format!("{}; {}", missing.missing.why, missing.missing.install)),
    });
    let mut unseen: Vec<Case> = missing.collect();
    if let (Some(trouble), true) = (&report.trouble, unseen.is_empty()) {
        let text = format!("{}; {}", trouble.why, trouble.todo);
        unseen.push(Case { name: trouble.what.clone(), file: String::new(), end: End::Error(text) });
    }
    if !unseen.is_empty() {
        suites.push(("perspt".to_owned(), unseen));
    }
    let bodies: Vec<String> = suites.iter().map(|(name, cases)| suite(name, cases)).collect();
    let all: Vec<&Case> = suites.iter().flat_map(|(_, cases)| cases).collect();
    let time = format!("{}.{:03}", report.ms / 1000, report.ms % 1000);
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"perspt verify\" {} time=\"{time}\">\n{}</testsuites>",
        counts(all.into_iter()),
        bodies.concat()
    )
}

fn suite_name(stage: &StageReport) -> String {
    format!("{} {} {}", stage.language, stage.root.shown(), stage.tool)
}

fn cases(report: &Report, stage: &StageReport) -> Vec<Case> {
    let is_own = |finding: &&FindingReport| {
        finding.root == stage.root && finding.language == stage.language && finding.stage == stage.stage
    };
    let own: Vec<&FindingReport> = report.counted().filter(is_own).collect();
    let of_test = |name: &str| own.iter().find(|finding| finding.symbol.as_deref() == Some(name));
    let mut cases: Vec<Case> = stage
        .tests
        .iter()
        .map(|test| {
            let file = test.file.as_ref().map(|file| file.to_string()).unwrap_or_default();
            let end = match (test.end, of_test(&test.name)) {
                (_, Some(finding)) => failed(finding),
                (TestEnd::Passed, None) => End::Passed,
                // One that does not count, because it failed before, is no failure of this run.
                (TestEnd::Failed | TestEnd::Skipped, None) => End::Skipped,
            };
            Case { name: test.name.clone(), file, end }
        })
        .collect();
    let is_test = |finding: &&&FindingReport| {
        stage.tests.iter().any(|test| finding.symbol.as_deref() == Some(test.name.as_str()))
    };
    cases.extend(own.iter().filter(|finding| !is_test(finding)).map(|finding| static_case(finding)));
    if cases.is_empty() {
        let end = match stage.result {
            StageEnd::Pass | StageEnd::Fail => End::Passed,
            StageEnd::NotRun => End::Skipped,
            StageEnd::NotMeasured => End::Error(stage.why.clone().unwrap_or_default()),
        };
        cases.push(Case { name: stage.tool.clone(), file: String::new(), end });
    }
    cases
}

fn static_case(finding: &FindingReport) -> Case {
    let file = finding.file.as_ref().map(|file| file.to_string()).unwrap_or_default();
    let place = match finding.line {
        Some(line) => format!("{file}:{line}"),
        None => file.clone(),
    };
    let first = finding.message.lines().next().unwrap_or_default();
    let name = if place.is_empty() { first.to_owned() } else { format!("{place} {first}") };
    Case { name, file, end: failed(finding) }
}

fn failed(finding: &FindingReport) -> End {
    let text = if finding.evidence.is_empty() { &finding.message } else { &finding.evidence };
    End::Failed { class: finding.class.to_owned(), text: format!("{}\n{text}", finding.message) }
}

fn suite(name: &str, cases: &[Case]) -> String {
    let body: String = cases.iter().map(|case| case_text(name, case)).collect();
    format!("  <testsuite name=\"{}\" {}>\n{body}  </testsuite>\n", xml(name), counts(cases.iter()))
}

fn counts<'a>(cases: impl Iterator<Item = &'a Case>) -> String {
    let (mut all, mut failures, mut errors, mut skipped) = (0u32, 0u32, 0u32, 0u32);
    for case in cases {
        all += 1;
        match case.end {
            End::Passed => {}
            End::Failed { .. } => failures += 1,
            End::Skipped => skipped += 1,
            End::Error(_) => errors += 1,
        }
    }
    format!("tests=\"{all}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\"")
}

fn case_text(suite: &str, case: &Case) -> String {
    let file = if case.file.is_empty() { String::new() } else { format!(" file=\"{}\"", xml(&case.file)) };
    let head = format!("    <testcase classname=\"{}\" name=\"{}\"{file}", xml(suite), xml(&case.name));
    let inside = match &case.end {
        End::Passed => return format!("{head}/>\n"),
        End::Skipped => "<skipped/>".to_owned(),
        End::Failed { class, text } => {
            let first = xml(text.lines().next().unwrap_or_default());
            format!("<failure type=\"{}\" message=\"{first}\">{}</failure>", xml(class), xml(text))
        }
        End::Error(text) => {
            format!("<error type=\"not-measured\" message=\"{0}\">{0}</error>", xml(text))
        }
    };
    format!("{head}>{inside}</testcase>\n")
}

/// A text with what XML reserves escaped, and without the characters that it has no way to hold.
fn xml(text: &str) -> String {
    let held = |c: &char| matches!(c, '\t' | '\n' | '\u{20}'..='\u{fffd}' | '\u{10000}'..);
    escape(text.chars().filter(held).collect::<String>()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_cannot_leave_its_place() {
        assert_eq!(xml("a<b>&\"c\"\u{1b}[1m\u{0}"), "a&lt;b&gt;&amp;&quot;c&quot;[1m");
    }
}
