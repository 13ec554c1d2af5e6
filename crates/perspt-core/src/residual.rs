//! Residuals: the units energy is made of. Each names what was found, where, and by which sensor.

use serde::{Deserialize, Serialize};

use crate::path::RelPath;

/// A score or energy in thousandths: integers, so that no NaN, infinity or rounding enters the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Milli(pub u64);

impl Milli {
    /// One whole unit.
    pub const ONE: Milli = Milli(1000);

    /// A number of whole units.
    pub fn units(count: u64) -> Milli {
        Milli(count.saturating_mul(1000))
    }
}

impl std::fmt::Display for Milli {
    /// At least two decimals; the third only where it says something.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (whole, rest) = (self.0 / 1000, self.0 % 1000);
        if rest % 10 == 0 { write!(f, "{whole}.{:02}", rest / 10) } else { write!(f, "{whole}.{rest:03}") }
    }
}

/// The five parts of V(x).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Component {
    /// Compiler and parser errors.
    Syn,
    /// Structure: ownership, tests weakened, evidence rules changed, code nobody looks at.
    Str,
    /// Failing tests.
    Log,
    /// Tools, dependencies and runs that failed before they could measure.
    Boot,
    /// Failures between nodes.
    Sheaf,
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Keeps the node unstable, whatever the weights.
    Error,
    /// Shown.
    Warning,
    /// Shown.
    Note,
}

/// Whether a finding counts against the node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "is", content = "why")]
pub enum Charge {
    /// It counts.
    Counted,
    /// It was there before and lies in another package: shown, not charged.
    Inherited(String),
    /// A warning, or a flaky test: shown, not charged.
    Shown(String),
}

/// A place in a file; lines and columns start at 1, and a column of 0 is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Place {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Residual {
    /// Which part of V(x) it belongs to.
    pub component: Component,
    /// What kind of finding, as a slug: `compile-error`, `test-failed`, `test-missing`, `config-changed` …
    pub class: String,
    /// How bad.
    pub severity: Severity,
    /// How much; for an error at least one unit.
    pub score: Milli,
    /// Who found it, such as `cargo check`.
    pub sensor: String,
    /// Whether it counts.
    pub charge: Charge,
    /// The file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<RelPath>,
    /// Where in the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// The tool's code for it (`E0277`), or the test's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub symbol: Option<String>,
    /// One line for people.
    pub message: String,
    /// What the tool printed, shortened to [`Residual::EVIDENCE_CAP`] bytes.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub evidence: String,
    /// A suggested direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Residual {
    /// The most evidence one residual carries.
    pub const EVIDENCE_CAP: usize = 4000;

    /// A counted error worth one unit; the rest is filled in by the caller.
    pub fn error(component: Component, class: &str, sensor: &str, message: impl Into<String>) -> Residual {
        Residual {
            component,
            class: class.to_owned(),
            severity: Severity::Error,
            score: Milli::ONE,
            sensor: sensor.to_owned(),
            charge: Charge::Counted,
            file: None,
            place: None,
            symbol: None,
            message: message.into(),
            evidence: String::new(),
            hint: None,
        }
    }

    /// A warning: shown, never charged.
    pub fn warning(component: Component, class: &str, sensor: &str, message: impl Into<String>) -> Residual {
        Residual {
            severity: Severity::Warning,
            score: Milli(0),
            charge: Charge::Shown("warning".to_owned()),
            ..Residual::error(component, class, sensor, message)
        }
    }

    /// With the file it lies in.
    pub fn in_file(mut self, file: Option<RelPath>) -> Residual {
        self.file = file;
        self
    }

    /// With what the tool printed, cut at a character boundary.
    pub fn with_evidence(mut self, evidence: &str) -> Residual {
        let mut end = evidence.len().min(Residual::EVIDENCE_CAP);
        while !evidence.is_char_boundary(end) {
            end -= 1;
        }
        self.evidence = evidence[..end].to_owned();
        self
    }

    /// Whether it counts against the node.
    pub fn counts(&self) -> bool {
        self.charge == Charge::Counted
    }

    /// What stays the same when the same finding comes back on another line: file, class, code or test,
    /// and the message without its digits.
    pub fn fingerprint(&self) -> crate::hash::Sha {
        let file = self.file.as_ref().map_or("", RelPath::as_str);
        let symbol = self.symbol.as_deref().unwrap_or("");
        let message: String = self.message.chars().filter(|c| !c.is_ascii_digit()).collect();
        crate::hash::Sha::of_fields([
            file.as_bytes(),
            self.class.as_bytes(),
            symbol.as_bytes(),
            message.as_bytes(),
        ])
    }
}
