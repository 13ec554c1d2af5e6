//! Deliberate errors, by which a stage shows that it sees.

use std::collections::{BTreeMap, BTreeSet};

use perspt_core::inventory::ends_with_name;
use perspt_core::path::RelPath;
use perspt_core::reading::{Reading, Status, TestEnd, TestName};
use perspt_core::residual::{Residual, Severity};
use serde::{Deserialize, Serialize};

/// A deliberate error that a working stage must see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plant {
    /// What it shows, for people: `a type error in src/lib.rs`.
    pub what: String,
    /// New text by path; the files exist or are new.
    pub writes: BTreeMap<RelPath, String>,
    /// What the stage must then say.
    pub expect: Expect,
}

/// What a plant must do to a reading.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expect {
    /// The reading must hold an error residual.
    Red,
    /// The reading must hold a finding, be it a warning: formatters know no errors.
    Finding,
    /// The reading must report this test, by this last part of its name, as failed.
    TestFails(String),
}

impl Plant {
    /// The test that it plants, by its file and its name: that one alone is run.
    pub fn only(&self) -> BTreeSet<(RelPath, String)> {
        match &self.expect {
            Expect::TestFails(name) => {
                self.writes.keys().take(1).map(|path| (path.clone(), name.clone())).collect()
            }
            Expect::Red | Expect::Finding => BTreeSet::new(),
        }
    }
}

impl Expect {
    /// Whether a planted reading shows what it must, beside the reading of the same tree without the plant.
    pub fn is_met(&self, without: &Reading, with: &Reading) -> bool {
        match self {
            Expect::Red => finds_more(without, with, |severity| severity == Severity::Error),
            Expect::Finding => finds_more(without, with, |severity| severity != Severity::Note),
            Expect::TestFails(name) => {
                with.status == Status::Measured
                    && ended(with, TestEnd::Failed).any(|test| ends_with_name(&test.0, name))
            }
        }
    }
}

/// Whether there is a finding of such a severity that was not there without the plant.
fn finds_more(without: &Reading, with: &Reading, is_meant: fn(Severity) -> bool) -> bool {
    let found = |reading: &Reading| -> BTreeSet<_> {
        let meant = reading.residuals.iter().filter(|residual| is_meant(residual.severity));
        meant.map(Residual::fingerprint).collect()
    };
    with.status == Status::Measured && !found(with).is_subset(&found(without))
}

fn ended(reading: &Reading, end: TestEnd) -> impl Iterator<Item = &TestName> {
    let results = reading.tests.iter().flat_map(|tests| &tests.results);
    results.filter(move |(_, result)| result.end == end).map(|(name, _)| name)
}
