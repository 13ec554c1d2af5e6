//! Reports in JUnit's form: what pytest writes, and most other runners when they are asked.

use perspt_core::reading::TestEnd;
use quick_xml::XmlVersion;
use quick_xml::escape::unescape;
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;

/// One `testcase`. A test may have several: its call and its teardown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Case {
    /// Module and classes, joined with dots; empty where there is none: pytest says so of a file that it could not collect.
    pub classname: String,
    /// The test, with its parameters.
    pub name: String,
    /// The file, as the runner calls it.
    pub file: Option<String>,
    /// How it ended; passed where nothing else is said. An expected failure is reported as skipped.
    pub end: TestEnd,
    /// The message of a failure, error or skip.
    pub message: String,
    /// The text below it.
    pub text: String,
}

/// The cases of a report; `None` where the report is not whole.
pub(crate) fn parse(text: &str) -> Option<Vec<Case>> {
    let mut reader = Reader::from_str(text);
    let mut cases: Vec<Case> = Vec::new();
    let (mut depth, mut rooted, mut inside) = (0usize, false, Inside::Nothing);
    loop {
        match reader.read_event().ok()? {
            Event::Start(tag) => {
                rooted |= depth == 0 && is_root(&tag);
                depth += 1;
                inside = open(&tag, inside, &mut cases)?;
            }
            Event::Empty(tag) => {
                rooted |= depth == 0 && is_root(&tag);
                let before = inside;
                open(&tag, inside, &mut cases)?;
                inside = before;
            }
            Event::End(tag) => {
                depth = depth.checked_sub(1)?;
                inside = match (inside, tag.name().0) {
                    (_, "testcase") => Inside::Nothing,
                    (Inside::Verdict, "failure" | "error" | "skipped") => Inside::Case,
                    (inside, _) => inside,
                };
            }
            Event::Text(part) => append(&mut cases, inside, &part),
            Event::CData(part) => append(&mut cases, inside, &part),
            Event::GeneralRef(name) => {
                append(&mut cases, inside, &unescape(&format!("&{};", &*name)).unwrap_or_default());
            }
            Event::Eof => break,
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
        }
    }
    (rooted && depth == 0).then_some(cases)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    Nothing,
    Case,
    Verdict,
}

fn is_root(tag: &BytesStart<'_>) -> bool {
    ["testsuites", "testsuite"].contains(&tag.name().0)
}

fn append(cases: &mut [Case], inside: Inside, part: &str) {
    if let Some(case) = cases.last_mut().filter(|_| inside == Inside::Verdict) {
        case.text.push_str(part);
    }
}

/// A tag that opens; where the reader is afterwards. `None` where its attributes cannot be read.
fn open(tag: &BytesStart<'_>, inside: Inside, cases: &mut Vec<Case>) -> Option<Inside> {
    let end = match (tag.name().0, inside) {
        ("testcase", _) => {
            cases.push(Case {
                classname: attribute(tag, "classname")?.unwrap_or_default(),
                name: attribute(tag, "name")?.unwrap_or_default(),
                file: attribute(tag, "file")?,
                end: TestEnd::Passed,
                message: String::new(),
                text: String::new(),
            });
            return Some(Inside::Case);
        }
        ("failure" | "error", Inside::Case) => TestEnd::Failed,
        ("skipped", Inside::Case) => TestEnd::Skipped,
        _ => return Some(inside),
    };
    let message = attribute(tag, "message")?.unwrap_or_default();
    let case = cases.last_mut()?;
    if case.end != TestEnd::Failed {
        (case.end, case.message) = (end, message);
    }
    Some(Inside::Verdict)
}

/// An attribute's value; the outer `None` where the tag is malformed.
fn attribute(tag: &BytesStart<'_>, name: &str) -> Option<Option<String>> {
    for attribute in tag.attributes() {
        let attribute = attribute.ok()?;
        if attribute.key.0 == name {
            return Some(Some(attribute.normalized_value(XmlVersion::Explicit1_0).ok()?.into_owned()));
        }
    }
    Some(None)
}
