//! What a plan promises of a node in forms that can be checked, and what was found of each promise.

use serde::{Deserialize, Serialize};

use crate::path::RelPath;

/// A promise in a form that can be checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// The file, or the folder, that it is about; without one, the files that the node makes or changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<RelPath>,
    /// What is to hold there.
    #[serde(flatten)]
    pub rule: Rule,
}

/// What can be checked of files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// A pattern that one of the files matches.
    MustContain(String),
    /// A pattern that no line may match which the node writes.
    MustNotContain(String),
    /// A module that none of the files may begin to import.
    MustNotImport(String),
    /// A signature that one of the files declares.
    Signature(String),
}

impl std::fmt::Display for Check {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{file} ")?;
        }
        match &self.rule {
            Rule::MustContain(pattern) => write!(f, "must contain `{pattern}`"),
            Rule::MustNotContain(pattern) => write!(f, "must not contain `{pattern}`"),
            Rule::MustNotImport(module) => write!(f, "must not import `{module}`"),
            Rule::Signature(signature) => write!(f, "must declare `{signature}`"),
        }
    }
}

/// The sorts of promises of a contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromiseKind {
    /// A signature.
    Signature,
    /// A pattern that must not be written.
    ForbiddenPattern,
    /// A statement that is to hold.
    Invariant,
}

/// What was found of one promise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromiseReading {
    /// Which sort.
    pub kind: PromiseKind,
    /// The promise, in words.
    pub promise: String,
    /// What was found.
    #[serde(flatten)]
    pub found: PromiseFound,
}

/// What was found of a promise. "It holds" and "nobody looked" are different values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "is")]
pub enum PromiseFound {
    /// It holds.
    Kept,
    /// It does not.
    Broken {
        /// Where, and how.
        breaches: Vec<Breach>,
    },
    /// It does not, and what breaks it stood there before.
    BrokenBefore {
        /// Where, and how.
        breaches: Vec<Breach>,
    },
    /// It is in no form that can be checked, or what it is about is not there.
    Unmeasured {
        /// Why not.
        why: String,
    },
}

/// One place at which a promise is broken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Breach {
    /// The file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<RelPath>,
    /// The line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// What is wrong, in words.
    pub what: String,
    /// What to do.
    pub direction: String,
}
