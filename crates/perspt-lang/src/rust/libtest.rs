//! One target's part of a test run, as libtest prints it. Only lines in the result area count: what a test
//! printed is shown again among the failures, where it may look like anything.

use std::collections::{BTreeMap, BTreeSet};

use perspt_core::reading::TestEnd;

/// What libtest adds to a name in its result line.
const SUFFIXES: [&str; 3] = [" - should panic", " - compile fail", " - compile"];

/// What a section says.
#[derive(Debug, Default)]
pub(crate) struct Section {
    /// Each announced name that has a result; a failure wins over anything else said of it.
    pub results: BTreeMap<String, TestEnd>,
    /// The sum of its summaries, and the last one.
    pub summaries: Vec<Counts>,
    /// What failed tests printed.
    pub printed: BTreeMap<String, String>,
    /// Cargo's word that the target failed, with its reason.
    pub failed: Option<String>,
}

/// The numbers of a summary line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Passed, benchmarks that were measured included.
    pub passed: usize,
    /// Failed.
    pub failed: usize,
    /// Ignored.
    pub ignored: usize,
}

impl Section {
    /// The results, counted as a summary would.
    pub fn tally(&self) -> Counts {
        let count = |end| self.results.values().filter(|&&found| found == end).count();
        Counts {
            passed: count(TestEnd::Passed),
            failed: count(TestEnd::Failed),
            ignored: count(TestEnd::Skipped),
        }
    }

    /// Whether its summaries agree with its results. Documentation tests may come in several batches,
    /// each with a summary; elsewhere an earlier one is something a test printed.
    pub fn adds_up(&self) -> bool {
        let sum = self.summaries.iter().fold(Counts::default(), |sum, next| Counts {
            passed: sum.passed.saturating_add(next.passed),
            failed: sum.failed.saturating_add(next.failed),
            ignored: sum.ignored.saturating_add(next.ignored),
        });
        let tally = self.tally();
        self.summaries.last().is_some_and(|last| *last == tally)
            || (!self.summaries.is_empty() && sum == tally)
    }
}

/// Where in a section a line lies.
enum Area {
    Results,
    Failures(Option<String>),
}

/// Reads a section, given the names that were announced for it.
pub(crate) fn read(lines: &[String], announced: &BTreeSet<&str>) -> Section {
    let mut section = Section::default();
    let mut area = Area::Results;
    // With one test thread the name is printed before the test runs, and its result after what it wrote.
    let mut pending: Option<String> = None;
    for (at, line) in lines.iter().enumerate() {
        let printed_by_a_test = matches!(area, Area::Failures(Some(_)));
        if !printed_by_a_test && is_verdict(line) {
            let reason =
                lines[at..].iter().map(|line| line.trim()).find(|line| line.starts_with("process didn't"));
            section.failed = Some(reason.unwrap_or(line).to_owned());
            area = Area::Results;
            continue;
        }
        if let Some(counts) = summary(line).filter(|_| !printed_by_a_test) {
            section.summaries.push(counts);
            // Cargo judges a target after its last summary; what came before was printed by a test.
            section.failed = None;
            area = Area::Results;
            pending = None;
            continue;
        }
        match &mut area {
            Area::Failures(current) => {
                let opened = opened(line).filter(|name| section.results.get(*name) == Some(&TestEnd::Failed));
                if let Some(name) = opened {
                    *current = Some(name.to_owned());
                    section.printed.entry(name.to_owned()).or_default();
                } else if line == "failures:" && names_failures(lines.get(at + 1), &section.results) {
                    *current = None;
                } else if let Some(text) = current.as_ref().and_then(|name| section.printed.get_mut(name)) {
                    text.push_str(line);
                    text.push('\n');
                }
            }
            Area::Results if line == "failures:" => area = Area::Failures(None),
            Area::Results => match result(line, announced) {
                Some((name, Some(end))) => {
                    pending = None;
                    record(&mut section, name, end);
                }
                Some((name, None)) => pending = Some(name.to_owned()),
                None => {
                    if let (Some(name), Some(end)) = (&pending, ending(line)) {
                        section.results.insert(name.clone(), end);
                    }
                }
            },
        }
    }
    section
}

fn record(section: &mut Section, name: &str, end: TestEnd) {
    let before = section.results.get(name).copied();
    let end = if before == Some(TestEnd::Failed) { TestEnd::Failed } else { end };
    section.results.insert(name.to_owned(), end);
}

/// The announced name a line gives a result for, and the result where the line holds it too. What a test
/// wrote without a newline may stand before it.
fn result<'a>(line: &str, announced: &BTreeSet<&'a str>) -> Option<(&'a str, Option<TestEnd>)> {
    line.match_indices("test ").find_map(|(at, word)| {
        let (name, tail) = line[at + word.len()..].split_once(" ...")?;
        let name = name.trim_end();
        let bare = SUFFIXES.iter().find_map(|suffix| name.strip_suffix(suffix));
        let known = announced.get(name).or_else(|| announced.get(bare?))?;
        let tail = tail.trim();
        let end = match tail {
            "ok" => Some(TestEnd::Passed),
            "FAILED" => Some(TestEnd::Failed),
            "ignored" => Some(TestEnd::Skipped),
            _ if tail.starts_with("ignored, ") => Some(TestEnd::Skipped),
            _ => ending(tail),
        };
        Some((*known, end))
    })
}

/// The result at the end of a line that starts with something else.
fn ending(line: &str) -> Option<TestEnd> {
    let line = line.trim_end();
    if line.ends_with("FAILED") {
        Some(TestEnd::Failed)
    } else if line.ends_with("ok") {
        Some(TestEnd::Passed)
    } else {
        None
    }
}

/// `test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; …`
fn summary(line: &str) -> Option<Counts> {
    let at = line.find("test result: ")?;
    let (verdict, numbers) = line[at..].strip_prefix("test result: ")?.split_once(". ")?;
    if verdict != "ok" && verdict != "FAILED" {
        return None;
    }
    let mut counts = Counts::default();
    for part in numbers.split(';') {
        let mut words = part.split_whitespace();
        let Some(number) = words.next().and_then(|word| word.parse::<usize>().ok()) else { continue };
        match words.next() {
            Some("passed" | "measured") => counts.passed = counts.passed.saturating_add(number),
            Some("failed") => counts.failed = number,
            Some("ignored") => counts.ignored = number,
            _ => {}
        }
    }
    Some(counts)
}

/// Cargo's word that a target failed; what the target wrote last may lack its newline.
fn is_verdict(line: &str) -> bool {
    ["error: test failed, to rerun pass `", "error: doctest failed, to rerun pass `"]
        .iter()
        .any(|verdict| line.contains(verdict))
}

/// Whether the line after `failures:` begins the closing list of names; a test may print the word too.
fn names_failures(next: Option<&String>, results: &BTreeMap<String, TestEnd>) -> bool {
    let name = next.and_then(|line| line.strip_prefix("    "));
    name.is_some_and(|name| results.get(name) == Some(&TestEnd::Failed))
}

/// `---- name stdout ----`
fn opened(line: &str) -> Option<&str> {
    let inside = line.strip_prefix("---- ")?.strip_suffix(" ----")?;
    inside.strip_suffix(" stdout").or(inside.strip_suffix(" stderr"))
}
