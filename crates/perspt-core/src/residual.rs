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

/// What kind of finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// The compiler refuses a file.
    CompileError,
    /// The linker does.
    LinkError,
    /// A parser refuses a file.
    SyntaxError,
    /// A test file imports what the tree does not have.
    ImportError,
    /// A test file cannot be collected, by its own doing.
    CollectionError,
    /// The compiler warns.
    CompileWarning,
    /// A linter or formatter would have it otherwise.
    LintFinding,
    /// A test failed; the symbol is its name.
    TestFailed,
    /// A target that lists no tests failed.
    TargetFailed,
    /// A test that was announced has no result.
    TestsVanished,
    /// A test that ran before, or that the contract names, is gone.
    TestMissing,
    /// Such a test is skipped.
    TestSkipped,
    /// No test ran where some are expected.
    NoTests,
    /// A run ended without its report, or the report contradicts itself.
    ReportMissing,
    /// A step ran into its time limit.
    Timeout,
    /// A step was ended by a signal.
    Crash,
    /// A step failed and nothing says why.
    ToolFailed,
    /// A runner did not begin, because of its settings or what it loads.
    ToolRefused,
    /// A dependency is not on the machine.
    DependencyMissing,
    /// A dependency does not build.
    DependencyBroken,
    /// A module from outside the tree is not installed.
    ModuleMissing,
    /// The toolchain that the project asks for cannot be used.
    ToolchainMissing,
    /// A manifest cannot be read.
    ManifestError,
    /// A build script failed.
    BuildScriptFailed,
    /// There are tests, and no runner that sees them.
    TestsUnseen,
    /// No tool looks at this file.
    UnmeasuredFile,
    /// A file was changed or removed while the tree was measured.
    TreeChanged,
    /// The answer changes nothing.
    NothingChanged,
    /// A planned file is not there.
    OutputMissing,
    /// The contract forbids this text.
    ForbiddenPattern,
    /// A promised signature is missing, or is another one.
    Signature,
    /// A checked statement of the contract does not hold.
    Invariant,
    /// Code that stands in for code still to be written.
    Stub,
    /// An existing test, or what decides how tests run, was changed and nobody said so.
    UndeclaredChange,
    /// Less was proved of a file than the user requires.
    EvidenceTooLow,
    /// A data file that cannot be read as what it is.
    InvalidData,
    /// A command of the answer failed.
    CommandFailed,
}

impl Class {
    /// The word in events and on screens.
    pub fn as_str(self) -> &'static str {
        match self {
            Class::CompileError => "compile-error",
            Class::LinkError => "link-error",
            Class::SyntaxError => "syntax-error",
            Class::ImportError => "import-error",
            Class::CollectionError => "collection-error",
            Class::CompileWarning => "compile-warning",
            Class::LintFinding => "lint-finding",
            Class::TestFailed => "test-failed",
            Class::TargetFailed => "target-failed",
            Class::TestsVanished => "tests-vanished",
            Class::TestMissing => "test-missing",
            Class::TestSkipped => "test-skipped",
            Class::NoTests => "no-tests",
            Class::ReportMissing => "report-missing",
            Class::Timeout => "timeout",
            Class::Crash => "crash",
            Class::ToolFailed => "tool-failed",
            Class::ToolRefused => "tool-refused",
            Class::DependencyMissing => "dependency-missing",
            Class::DependencyBroken => "dependency-broken",
            Class::ModuleMissing => "module-missing",
            Class::ToolchainMissing => "toolchain-missing",
            Class::ManifestError => "manifest-error",
            Class::BuildScriptFailed => "build-script-failed",
            Class::TestsUnseen => "tests-unseen",
            Class::UnmeasuredFile => "unmeasured-file",
            Class::TreeChanged => "tree-changed",
            Class::NothingChanged => "nothing-changed",
            Class::OutputMissing => "output-missing",
            Class::ForbiddenPattern => "forbidden-pattern",
            Class::Signature => "signature",
            Class::Invariant => "invariant",
            Class::Stub => "stub",
            Class::UndeclaredChange => "undeclared-change",
            Class::EvidenceTooLow => "evidence-too-low",
            Class::InvalidData => "invalid-data",
            Class::CommandFailed => "command-failed",
        }
    }
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Keeps the node unstable, whatever the weights.
    Error,
    /// Shown, and never charged.
    Warning,
    /// Shown, and never charged; less than a warning.
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
    /// Only the user can permit it: outside the energy, and the candidate waits for the consent.
    Consent(String),
}

/// A place in a file; lines and columns start at 1, and a column of 0 is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Position {
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
    /// What kind of finding.
    pub class: Class,
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
    pub place: Option<Position>,
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
    pub fn error(component: Component, class: Class, sensor: &str, message: impl Into<String>) -> Residual {
        Residual {
            component,
            class,
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
    pub fn warning(component: Component, class: Class, sensor: &str, message: impl Into<String>) -> Residual {
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
            self.class.as_str().as_bytes(),
            symbol.as_bytes(),
            message.as_bytes(),
        ])
    }
}
