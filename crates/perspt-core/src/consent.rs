//! Consents: what only the user can permit. A candidate has needs, the user gives grants, and what no grant covers
//! is missing. Nothing here reads the task's words.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::inventory::{TestId, ends_with_name};
use crate::path::RelPath;

/// What a consent is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConsentKind {
    /// Changing, removing or renaming an existing test.
    Tests,
    /// Changing what decides how tests run.
    Evidence,
    /// Leaving a test red that was red before.
    Red,
    /// Adding a package that stands in no task, plan, manifest or lock file.
    Deps,
    /// Publishing code that no tool looked at.
    Unmeasured,
    /// Running a command that an answer proposes.
    Command,
}

impl ConsentKind {
    /// Every kind.
    pub const ALL: [ConsentKind; 6] = [
        ConsentKind::Tests,
        ConsentKind::Evidence,
        ConsentKind::Red,
        ConsentKind::Deps,
        ConsentKind::Unmeasured,
        ConsentKind::Command,
    ];

    /// The word in flags and on screens.
    pub fn as_str(self) -> &'static str {
        match self {
            ConsentKind::Tests => "tests",
            ConsentKind::Evidence => "evidence",
            ConsentKind::Red => "red",
            ConsentKind::Deps => "deps",
            ConsentKind::Unmeasured => "unmeasured",
            ConsentKind::Command => "command",
        }
    }

    /// Whether a grant without a subject covers only what was declared in time.
    fn asks_declaration(self) -> bool {
        matches!(self, ConsentKind::Tests | ConsentKind::Evidence | ConsentKind::Red)
    }
}

impl fmt::Display for ConsentKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a plan or an answer says it does to an existing test, or to a file that decides how tests run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestDeclaration {
    /// The file.
    pub path: RelPath,
    /// The test's name inside the file; without it, every test of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<String>,
    /// What is done to it.
    #[serde(default)]
    pub change: TestChange,
    /// The new name or file of one that is renamed or moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The reason that the plan or the answer gives.
    #[serde(default)]
    pub why: String,
}

/// What is done to a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TestChange {
    /// It gets another text.
    #[default]
    Update,
    /// It goes away.
    Remove,
    /// It gets another name.
    Rename,
    /// It goes to another file.
    Move,
}

impl TestDeclaration {
    /// Whether it names this subject: a file, or a test as `path::name`.
    pub fn names(&self, subject: &str) -> bool {
        let (path, test) =
            subject.split_once("::").map_or((subject, None), |(path, test)| (path, Some(test)));
        let same_test = |name: &String| {
            test.is_some_and(|test| test == name || test.rsplit("::").next() == Some(name.as_str()))
        };
        self.path.as_str() == path && self.test.as_ref().is_none_or(same_test)
    }

    /// Whether it says that this subject goes away: one that only gets another text does not.
    pub fn removes(&self, subject: &str) -> bool {
        self.names(subject) && (self.test.is_none() || self.change != TestChange::Update)
    }

    /// What it names, for people.
    pub fn subject(&self) -> String {
        match &self.test {
            Some(test) => format!("{}::{test}", self.path),
            None => self.path.to_string(),
        }
    }
}

/// Whether something was declared, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Declared {
    /// In the plan or in an answer before the node's first red reading.
    InTime,
    /// In an answer after a red reading.
    Late,
    /// Nowhere.
    No,
}

/// A consent that a candidate needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Need {
    /// The kind of change that needs consent.
    pub kind: ConsentKind,
    /// Of what: a test (`path::name`), a file, a package, a command.
    pub subject: String,
    /// Why the candidate needs it.
    pub why: String,
    /// Whether it was declared.
    pub declared: Declared,
    /// What is weaker by form than before, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weaker: Vec<String>,
    /// What else a person should know before deciding, a line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The test it is about, where it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<TestId>,
}

/// How far a grant reaches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "of", content = "subject")]
pub enum Extent {
    /// What was declared in time; of kinds that nobody declares, everything.
    Declared,
    /// Everything.
    Any,
    /// One subject.
    Subject(String),
}

/// Who gave a grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GrantedBy {
    /// A flag of the command line.
    Flag,
    /// The user's configuration.
    Config,
    /// The approval of a plan that declares it.
    Plan,
    /// The answer to a question.
    Answer,
}

impl GrantedBy {
    /// The word on screens.
    pub fn as_str(self) -> &'static str {
        match self {
            GrantedBy::Flag => "flag",
            GrantedBy::Config => "config",
            GrantedBy::Plan => "plan",
            GrantedBy::Answer => "answer",
        }
    }
}

/// A consent that the user gave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// The kind of change that needs consent.
    pub kind: ConsentKind,
    /// How far.
    pub extent: Extent,
    /// By whom.
    pub by: GrantedBy,
}

/// A word of `--allow` that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{word}` is no consent: {kinds}, each alone or with `:any` or `:SUBJECT` (a command always with one)"
)]
pub struct BadGrant {
    word: String,
    kinds: String,
}

impl FromStr for Grant {
    type Err = BadGrant;

    /// Reads `KIND`, `KIND:any` or `KIND:SUBJECT`; the first colon splits.
    fn from_str(word: &str) -> Result<Grant, BadGrant> {
        let (kind, subject) =
            word.split_once(':').map_or((word, None), |(kind, subject)| (kind, Some(subject.trim())));
        let known = ConsentKind::ALL.into_iter().find(|known| known.as_str() == kind.trim());
        let extent = match subject {
            None => Extent::Declared,
            Some("any") => Extent::Any,
            Some(subject) => Extent::Subject(subject.to_owned()),
        };
        let bare_command = known == Some(ConsentKind::Command) && extent == Extent::Declared;
        match known.filter(|_| !bare_command && extent != Extent::Subject(String::new())) {
            Some(kind) => Ok(Grant { kind, extent, by: GrantedBy::Flag }),
            None => {
                let kinds: Vec<&str> = ConsentKind::ALL.iter().map(|kind| kind.as_str()).collect();
                Err(BadGrant { word: word.to_owned(), kinds: kinds.join(", ") })
            }
        }
    }
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.extent {
            Extent::Declared => write!(f, "{}", self.kind),
            Extent::Any => write!(f, "{}:any", self.kind),
            Extent::Subject(subject) => write!(f, "{}:{subject}", self.kind),
        }
    }
}

impl Grant {
    /// Whether it covers a need.
    pub fn covers(&self, need: &Need) -> bool {
        // A plan shows no texts: what turns out weaker, or other than it says, is asked about again.
        let as_planned = || need.weaker.is_empty() && need.declared == Declared::InTime;
        self.kind == need.kind
            && (self.by != GrantedBy::Plan || as_planned())
            && match &self.extent {
                Extent::Any => true,
                Extent::Declared => !self.kind.asks_declaration() || need.declared == Declared::InTime,
                Extent::Subject(subject) => self.names(subject, &need.subject),
            }
    }

    fn names(&self, subject: &str, needed: &str) -> bool {
        let in_file = || needed.strip_prefix(subject).is_some_and(|rest| rest.starts_with("::"));
        let by_last_name = || {
            let (path, test) = subject.split_once("::")?;
            let (needed_path, needed_test) = needed.split_once("::")?;
            Some(path == needed_path && ends_with_name(needed_test, test))
        };
        let by_last_name = || by_last_name().unwrap_or(false);
        needed == subject
            || match self.kind {
                // Consent to a file is consent to every test in it; a test may be named without its class or module.
                ConsentKind::Tests => in_file() || by_last_name(),
                ConsentKind::Red => ends_with_name(needed, subject),
                ConsentKind::Evidence
                | ConsentKind::Deps
                | ConsentKind::Unmeasured
                | ConsentKind::Command => false,
            }
    }
}

/// Everything the user has permitted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Consents {
    /// In the order given.
    pub grants: Vec<Grant>,
}

impl Consents {
    /// Takes a grant in, once.
    pub fn add(&mut self, grant: Grant) {
        if !self.grants.contains(&grant) {
            self.grants.push(grant);
        }
    }

    /// The grant that covers a need.
    pub fn covering(&self, need: &Need) -> Option<&Grant> {
        self.grants.iter().find(|grant| grant.covers(need))
    }

    /// The needs that no grant covers.
    pub fn missing<'a>(&self, needs: &'a [Need]) -> Vec<&'a Need> {
        needs.iter().filter(|need| self.covering(need).is_none()).collect()
    }
}

/// The shortest words of `--allow` that cover these needs.
pub fn flags_for<'a>(needs: impl IntoIterator<Item = &'a Need>) -> Vec<String> {
    let mut flags: Vec<String> = Vec::new();
    let mut add = |flag: String| {
        if !flags.contains(&flag) {
            flags.push(flag);
        }
    };
    for need in needs {
        let in_time = need.declared == Declared::InTime || !need.kind.asks_declaration();
        match need.kind {
            ConsentKind::Command => add(format!("command:{}", need.subject)),
            kind if in_time => add(kind.as_str().to_owned()),
            kind => add(format!("{kind}:{}", need.subject)),
        }
    }
    // A bare word is covered by nothing else, and many subjects are better said as one word.
    const SUBJECTS: usize = 3;
    for kind in ConsentKind::ALL {
        let prefix = format!("{kind}:");
        if flags.iter().filter(|flag| flag.starts_with(&prefix)).count() > SUBJECTS {
            flags.retain(|flag| !flag.starts_with(&prefix) && *flag != kind.as_str());
            flags.push(format!("{kind}:any"));
        }
    }
    flags
}
