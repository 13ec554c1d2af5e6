//! The report as SARIF 2.1.0, for code scanning.

use std::collections::BTreeSet;

use perspt_core::path::RelPath;
use perspt_core::residual::Severity;
use serde_json::{Value, json};

use super::Report;
use super::report::{Counted, FindingReport, Verified};
use crate::out;

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

pub fn print(report: &Report) {
    if let Ok(text) = serde_json::to_string_pretty(&document(report)) {
        text.lines().for_each(out::json_line);
    }
}

fn document(report: &Report) -> Value {
    let rules: BTreeSet<&str> = report.findings.iter().map(|finding| finding.class).collect();
    let rules: Vec<Value> = rules.into_iter().map(|rule| json!({"id": rule, "name": rule})).collect();
    let missing = report.missing.iter().map(|missing| {
        let missing = &missing.missing;
        notification(&format!("{}: {}; {}", missing.tool, missing.why, missing.install))
    });
    let trouble = report.trouble.iter().filter(|_| report.missing.is_empty());
    let trouble =
        trouble.map(|trouble| notification(&format!("{}: {}; {}", trouble.what, trouble.why, trouble.todo)));
    let looked = matches!(report.result, Verified::Clean | Verified::Red);
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "perspt",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            }},
            "columnKind": "unicodeCodePoints",
            "invocations": [{
                "executionSuccessful": looked,
                "exitCode": report.exit_code,
                "toolExecutionNotifications": missing.chain(trouble).collect::<Vec<_>>(),
            }],
            "results": report.findings.iter().map(result).collect::<Vec<_>>(),
        }],
    })
}

fn notification(text: &str) -> Value {
    json!({"level": "error", "message": {"text": text}})
}

fn result(finding: &FindingReport) -> Value {
    let level = match (finding.counted, finding.severity) {
        (Counted::Yes, _) | (Counted::Old, Severity::Error) => "error",
        (Counted::Shown | Counted::Old, Severity::Warning) | (Counted::Shown, Severity::Error) => "warning",
        (Counted::Shown | Counted::Old, Severity::Note) => "note",
    };
    let named = finding.symbol.as_ref().filter(|symbol| !finding.message.contains(symbol.as_str()));
    let text = match named {
        Some(symbol) => format!("{symbol}: {}", finding.message),
        None => finding.message.clone(),
    };
    let mut result = json!({
        "ruleId": finding.class,
        "level": level,
        "message": {"text": text},
        "partialFingerprints": {"perspt/v1": finding.fingerprint},
        "properties": {
            "root": finding.root,
            "language": finding.language,
            "stage": finding.stage,
            "tool": finding.tool,
            "symbol": finding.symbol,
            "why": finding.why,
        },
        "locations": locations(finding),
    });
    match finding.counted {
        Counted::Old => result["baselineState"] = json!("unchanged"),
        Counted::Yes | Counted::Shown => {}
    }
    result
}

/// Where it is shown. Code scanning refuses a whole document in which one result has no place or no line: what is in no
/// file stands at its root's folder, and what is in no line at the first.
fn locations(finding: &FindingReport) -> Vec<Value> {
    let place = finding.file.as_ref().unwrap_or(&finding.root);
    let uri = if place.as_str().is_empty() { ".".to_owned() } else { uri(place) };
    let mut region = json!({"startLine": finding.line.unwrap_or(1)});
    if let (Some(_), Some(column)) = (finding.line, finding.column) {
        region["startColumn"] = json!(column);
    }
    vec![json!({"physicalLocation": {"artifactLocation": {"uri": uri}, "region": region}})]
}

/// A path as a relative reference: every byte that may not stand there as it is becomes its number. A colon in the first
/// part would make it a scheme.
fn uri(path: &RelPath) -> String {
    let mut uri = String::new();
    for byte in path.as_str().bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' | b'@' | b'+' => {
                uri.push(char::from(byte));
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
mod tests {
    use super::*;
    use crate::view::verified::failed_command;

    #[test]
    fn every_result_has_a_place_and_a_line() {
        let place = |root: &str, file: Option<&str>| {
            let path = |text: &str| RelPath::parse(text).unwrap();
            let root = if root.is_empty() { RelPath::root() } else { path(root) };
            let finding = failed_command(root, file.map(path));
            let result = result(&finding);
            let place = &result["locations"][0]["physicalLocation"];
            assert_eq!(place["region"], json!({"startLine": 1}));
            place["artifactLocation"]["uri"].as_str().unwrap().to_owned()
        };
        assert_eq!(place("", None), ".");
        assert_eq!(place("api", None), "api");
        assert_eq!(place("api", Some("api/pyproject.toml")), "api/pyproject.toml");
    }

    #[test]
    fn a_path_becomes_a_relative_reference() {
        assert_eq!(uri(&RelPath::parse("src/a b#c%.rs").unwrap()), "src/a%20b%23c%25.rs");
        assert_eq!(uri(&RelPath::parse("c:x/ä.py").unwrap()), "c%3Ax/%C3%A4.py");
    }
}
