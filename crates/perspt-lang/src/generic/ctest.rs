//! What `ctest` prints.

use std::collections::BTreeMap;

use perspt_core::reading::TestEnd;

use super::report::{OneTest, Report};

/// What a text holds of a run of `ctest`; `None` where there was none.
pub(super) fn parse(text: &str) -> Option<Report> {
    let mut tests: BTreeMap<u64, OneTest> = BTreeMap::new();
    let (mut announced, mut counted, mut begun) = (0, false, false);
    for line in text.lines() {
        begun |= line.starts_with("Test project ");
        counted |= line.contains("% tests passed, ") || line.trim() == "No tests were found!!!";
        if let Some((of, number, test)) = result(line) {
            announced = of;
            tests.insert(number, test);
        }
    }
    if tests.is_empty() && !(begun && counted) {
        return None;
    }
    let mut report = Report { tests: tests.into_values().collect(), faults: Vec::new() };
    let count = report.tests.len() as u64;
    if count != announced {
        report.faults.push(format!("{announced} tests were announced, {count} have a result"));
    }
    if !counted {
        report.faults.push("the run ended before its summary".to_owned());
    }
    Some(report)
}

/// `2/3 Test #2: name ....***Failed    0.01 sec`: how many there are, its number, and the test.
fn result(line: &str) -> Option<(u64, u64, OneTest)> {
    let (place, rest) = line.trim_start().split_once(' ')?;
    let (at, of) = place.split_once('/')?;
    let (_, of) = (at.parse::<u64>().ok()?, of.parse::<u64>().ok()?);
    let rest = rest.trim_start().strip_prefix("Test")?.trim_start().strip_prefix('#')?;
    let (number, rest) = rest.split_once(':')?;
    let number = number.trim().parse().ok()?;
    let (name, ended) = rest.trim_start().split_once(" .")?;
    let ended = ended.trim_start_matches('.').trim();
    let end = match () {
        () if ended.starts_with("Passed") => TestEnd::Passed,
        () if ended.contains("***Skipped") || ended.contains("(Disabled)") => TestEnd::Skipped,
        () => TestEnd::Failed,
    };
    let message = match end {
        TestEnd::Passed => String::new(),
        TestEnd::Failed | TestEnd::Skipped => ended.trim_start_matches('*').to_owned(),
    };
    Some((of, number, OneTest { name: name.trim().to_owned(), end, message, ..OneTest::default() }))
}
