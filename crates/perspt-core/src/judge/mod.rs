//! The one judge: a pure function over readings, what the candidate did to tests, and consents. Effects measure;
//! nothing but this decides what a finding counts and which consents a candidate needs.

mod findings;
mod needs;
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::consent::{Consents, Declared, Need, TestDeclaration};
use crate::energy::{Energy, TestCounts, Weights, headlines};
use crate::event::{JudgementNote, StageResult, StageVerdict};
use crate::grade::{FileKind, Grade};
use crate::hash::{Sha, ShaBuilder};
use crate::ids::{BlobId, TreeId};
use crate::inventory::{Inventory, ends_with_name};
use crate::path::RelPath;
use crate::plan::Contract;
use crate::reading::{Reading, StageId, StageKind, Status};
use crate::residual::{Charge, Class, Residual, Severity};

pub use needs::structure_stage;

/// The units a failing test weighs where the plan does not name it.
pub const TEST_UNITS: u64 = 3;

/// What was measured.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    /// The candidate.
    pub tree: TreeId,
    /// What it was laid over.
    pub base: TreeId,
    /// The candidate's readings.
    pub readings: &'a [Reading],
    /// Earlier readings of the same stages: of the tree the session began with, and of the base.
    pub before: &'a [Reading],
    /// The tests as they were, run over the candidate's code.
    pub old_tests: &'a [Reading],
}

impl Case<'_> {
    /// What the candidate did to tests.
    pub fn inventory(&self) -> Inventory {
        self.readings.iter().find_map(|reading| reading.inventory.clone()).unwrap_or_default()
    }

    /// Changed code that no stage looks at.
    fn unread(&self) -> BTreeSet<&RelPath> {
        self.readings.iter().flat_map(|reading| &reading.unread).collect()
    }
}

/// What a plan and a node's answers declare.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Declarations {
    /// Of existing tests and files that decide how tests run.
    pub tests: Vec<(TestDeclaration, Declared)>,
    /// Of tests that failed before and stay so.
    pub red: Vec<(String, Declared)>,
}

impl Declarations {
    /// When a change of this subject was declared, the earliest that fits.
    pub fn of_test(&self, subject: &str) -> Declared {
        let fitting = self.tests.iter().filter(|(declared, _)| declared.names(subject));
        fitting.map(|(_, when)| *when).min().unwrap_or(Declared::No)
    }

    /// When it was declared that this test stays red.
    pub fn of_red(&self, test: &str) -> Declared {
        let fitting = self.red.iter().filter(|(name, _)| ends_with_name(test, name));
        fitting.map(|(_, when)| *when).min().unwrap_or(Declared::No)
    }
}

/// What is done about something that was not declared: the model is told once, then the user is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Undeclared {
    /// It is a finding.
    Tell,
    /// It is a need.
    Ask,
}

/// What a case is judged by.
#[derive(Debug, Clone, Copy)]
pub struct Terms<'a> {
    /// What the plan promises.
    pub contract: &'a Contract,
    /// Every package of the roots.
    pub packages: &'a [RelPath],
    /// Files the node owns or changed.
    pub files: &'a BTreeSet<RelPath>,
    /// Files the candidate changed or made.
    pub changed: &'a BTreeSet<RelPath>,
    /// Whether the node is to bring tests: its plan or its answer names a test file.
    pub brings_tests: bool,
    /// Stages whose tests do not reach the code.
    pub unreached: &'a BTreeSet<StageId>,
    /// What was declared.
    pub declared: &'a Declarations,
    /// What the user permitted.
    pub consents: &'a Consents,
    /// Undeclared changes of tests.
    pub undeclared: Undeclared,
    /// Tests that were red before and still are.
    pub red: Undeclared,
    /// The stages that must look.
    pub required: &'a [StageId],
    /// Weights and threshold.
    pub weights: &'a Weights,
}

/// One finding of one stage, charged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The stage.
    pub stage: StageId,
    /// What was found.
    pub residual: Residual,
}

/// What a candidate is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judgement {
    /// The candidate.
    pub tree: TreeId,
    /// Everything found, charged or only shown.
    pub findings: Vec<Finding>,
    /// Every consent it needs, given or not.
    pub needs: Vec<Need>,
    /// Stage by stage.
    pub stages: Vec<StageVerdict>,
    /// Its energy.
    pub energy: Energy,
    /// How much was proved.
    pub grade: Grade,
    /// What lies below tests, in words.
    pub below: Vec<String>,
}

impl Judgement {
    /// The findings that count.
    pub fn counted(&self) -> impl Iterator<Item = &Residual> {
        self.findings.iter().map(|finding| &finding.residual).filter(|residual| residual.counts())
    }

    /// What the counted findings have in common with themselves when they come back.
    pub fn fingerprint(&self) -> Sha {
        let all: BTreeSet<Sha> = self.counted().map(Residual::fingerprint).collect();
        let mut hash = ShaBuilder::default();
        all.iter().for_each(|one| hash.update(&one.0));
        hash.finish()
    }
}

/// Judges a case.
pub fn judge(case: &Case<'_>, terms: &Terms<'_>) -> Judgement {
    let inventory = case.inventory();
    let mut findings = findings::charged(case, terms);
    let mut needs = tests::charge(case, terms, &inventory, &mut findings);
    needs.extend(needs::of(case, terms, &inventory));
    let told = needs::tell(terms, &mut needs);
    findings.extend(told);
    let energy = Energy::of_findings(&findings, case.readings, terms.required, terms.weights);
    let stages = verdicts(case, terms, &findings);
    let (grade, below) = grade(case, terms);
    Judgement { tree: case.tree, findings, needs, stages, energy, grade, below }
}

/// What the log carries of a judgement whose whole is in `blob`.
pub fn note(judgement: &Judgement, case: &Case<'_>, terms: &Terms<'_>, blob: BlobId) -> JudgementNote {
    const LINES: usize = 6;
    const NEED_BYTES: usize = 6 * 1024;
    let mut missing = terms.consents.missing(&judgement.needs);
    // One of each sort comes first, so that a list that is cut still says which flags are needed.
    let mut seen = BTreeSet::new();
    missing.sort_by_key(|need| !seen.insert((need.kind, need.declared)));
    let asked = Terms { red: Undeclared::Ask, undeclared: Undeclared::Ask, ..*terms };
    let only_red = || judge(case, &asked).energy.is_stable(terms.weights);
    JudgementNote {
        energy: judgement.energy.clone(),
        stages: judgement.stages.clone(),
        headlines: headlines(judgement.counted()),
        fingerprint: judgement.fingerprint(),
        grade: judgement.grade,
        below: judgement.below.iter().take(LINES).map(|line| cut(line)).collect(),
        missing: brief(missing.iter().copied(), NEED_BYTES),
        missing_count: missing.len() as u32,
        told_undeclared: judgement.counted().any(|residual| residual.class == Class::UndeclaredChange),
        only_undeclared: judgement.counted().all(|residual| residual.class == Class::UndeclaredChange),
        only_red: !judgement.energy.is_stable(terms.weights) && only_red(),
        tests_changed: case.inventory().changed.len() as u32,
        blob,
    }
}

fn cut(text: &str) -> String {
    const CHARS: usize = 200;
    text.chars().take(CHARS).collect()
}

/// The first few needs, as short as an event must have them: at most so many bytes. A subject is never cut, it is
/// what a grant names.
pub fn brief<'a>(needs: impl IntoIterator<Item = &'a Need>, most: usize) -> Vec<Need> {
    const NEEDS: usize = 20;
    const LINES: usize = 3;
    let short = |need: &'a Need| {
        let lines = |lines: &[String]| lines.iter().take(LINES).map(|line| cut(line)).collect();
        Need { why: cut(&need.why), weaker: lines(&need.weaker), notes: lines(&need.notes), ..need.clone() }
    };
    let bare = |need: &Need| Need { weaker: vec![], notes: vec![], ..need.clone() };
    let size = |need: &Need| serde_json::to_vec(need).map_or(usize::MAX, |text| text.len());
    let mut left = most;
    let mut kept = Vec::new();
    for need in needs.into_iter().take(NEEDS).map(short) {
        let Some(need) = [need.clone(), bare(&need)].into_iter().find(|need| size(need) <= left) else {
            break;
        };
        left -= size(&need);
        kept.push(need);
    }
    kept
}

fn verdicts(case: &Case<'_>, terms: &Terms<'_>, findings: &[Finding]) -> Vec<StageVerdict> {
    let verdict = |stage: &StageId| {
        let reading = case.readings.iter().find(|reading| reading.stage == *stage);
        let counted = findings.iter().filter(|finding| finding.stage == *stage && finding.residual.counts());
        let inherited = findings
            .iter()
            .filter(|finding| {
                finding.stage == *stage && matches!(finding.residual.charge, Charge::Inherited(_))
            })
            .count();
        let errors = counted.filter(|finding| finding.residual.severity == Severity::Error).count() as u32;
        let result = match reading.map(|reading| &reading.status) {
            None | Some(Status::NotRun(_)) => StageResult::NotRun,
            Some(Status::Unavailable(_)) => StageResult::Unavailable,
            Some(Status::Measured) if errors == 0 => StageResult::Pass,
            Some(Status::Measured) => StageResult::Fail(errors),
        };
        StageVerdict {
            stage: stage.clone(),
            tool: reading.map_or_else(|| stage.kind.as_str().to_owned(), |reading| reading.tool.clone()),
            result,
            tests: reading.and_then(|reading| reading.tests.as_ref()).map(TestCounts::of),
            inherited: inherited as u32,
        }
    };
    terms.required.iter().map(verdict).collect()
}

/// The lowest grade of the candidate's code, and what lies below tests.
fn grade(case: &Case<'_>, terms: &Terms<'_>) -> (Grade, Vec<String>) {
    let code: Vec<&RelPath> =
        terms.changed.iter().filter(|path| FileKind::of(path) == FileKind::Code).collect();
    if code.is_empty() {
        return (Grade::Prose, Vec::new());
    }
    let unread = case.unread();
    let mut by_root: BTreeMap<(&RelPath, &str), Grade> = BTreeMap::new();
    for reading in case.readings.iter().filter(|reading| reading.status == Status::Measured) {
        let passed = reading.tests.as_ref().is_some_and(|tests| TestCounts::of(tests).passed > 0);
        let grade = match reading.stage.kind {
            StageKind::Structure => continue,
            StageKind::Syntax => Grade::Syntax,
            StageKind::Build => Grade::Build,
            StageKind::Test if passed && !terms.unreached.contains(&reading.stage) => Grade::Tests,
            StageKind::Test => continue,
        };
        let best = by_root.entry((&reading.stage.root, reading.stage.plugin.0.as_str())).or_insert(grade);
        *best = (*best).min(grade);
    }
    let mut lowest = by_root.values().copied().max().unwrap_or(Grade::None);
    let mut below = Vec::new();
    let files = |paths: &[&RelPath]| paths.iter().map(|path| path.as_str()).collect::<Vec<_>>().join(", ");
    let (not_read, read): (Vec<&RelPath>, Vec<&RelPath>) =
        code.into_iter().partition(|path| unread.contains(*path));
    if !read.is_empty() && lowest > Grade::Tests {
        let why = match lowest {
            Grade::Build => "built, and no test runs it",
            Grade::Syntax => "only its syntax was checked, and no test runs it",
            Grade::Prose | Grade::Tests | Grade::None => "no tool looked at it",
        };
        below.push(format!("{why}: {}", files(&read)));
    }
    if !not_read.is_empty() {
        below.push(format!("no tool looked at it: {}", files(&not_read)));
        lowest = Grade::None;
    }
    (lowest, below)
}
