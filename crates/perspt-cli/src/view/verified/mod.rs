//! What `perspt verify` found: made once from the session that looked, then printed for people, as JSON, SARIF or JUnit
//! XML.

mod json;
mod junit;
mod live;
mod report;
mod sarif;
mod text;

pub use live::Live;
pub use report::Report;

use crate::args::VerifyArgs;

/// How the findings are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Lines for people.
    Text,
    /// One JSON document.
    Json,
    /// SARIF 2.1.0.
    Sarif,
    /// JUnit XML.
    Junit,
}

impl Form {
    /// As the command line says.
    pub fn of(args: &VerifyArgs) -> Form {
        match (args.json, args.sarif, args.junit) {
            (true, _, _) => Form::Json,
            (_, true, _) => Form::Sarif,
            (_, _, true) => Form::Junit,
            (false, false, false) => Form::Text,
        }
    }

    /// Prints a report on stdout.
    pub fn print(self, report: &Report) {
        match self {
            Form::Text => text::print(report),
            Form::Json => json::print(report),
            Form::Sarif => sarif::print(report),
            Form::Junit => junit::print(report),
        }
    }
}

/// What is found where a command of the user's fails.
#[cfg(test)]
fn failed_command(
    root: perspt_core::path::RelPath,
    file: Option<perspt_core::path::RelPath>,
) -> report::FindingReport {
    report::FindingReport {
        root,
        language: "generic".to_owned(),
        stage: "test",
        tool: "./t.sh".to_owned(),
        file,
        line: None,
        column: None,
        class: "target-failed",
        symbol: None,
        severity: perspt_core::residual::Severity::Error,
        counted: report::Counted::Yes,
        why: None,
        message: "`./t.sh` ended with exit code 3".to_owned(),
        hint: None,
        evidence: "`./t.sh` ended with exit code 3\n\nDATABASE_URL is not set\n".to_owned(),
        fingerprint: String::new(),
    }
}
