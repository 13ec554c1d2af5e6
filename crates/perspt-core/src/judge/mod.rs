//! The one judge: a pure function over readings, what the candidate did to tests, and consents. Effects measure;
//! nothing but this decides what a finding counts and which consents a candidate needs.

mod findings;
mod grades;
mod needs;
mod promises;
mod tests;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::consent::{Consents, Declared, Need, TestDeclaration};
use crate::energy::{Energy, TestCounts, Weights, headlines};
use crate::event::{JudgementNote, StageResult, StageVerdict};
use crate::grade::{FileKind, Grade, Require};
use crate::hash::{Sha, ShaBuilder};
use crate::ids::{BlobId, TreeId};
use crate::inventory::{Inventory, ends_with_name};
use crate::path::RelPath;
use crate::plan::Contract;
use crate::reading::{Part, Reading, StageId, StageKind, Status};
use crate::residual::{Charge, Class, Residual, Severity};
use crate::stage::{Preset, StageRole};

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

    /// When it was declared that this test goes away.
    pub fn of_removal(&self, subject: &str) -> Declared {
        let fitting = self.tests.iter().filter(|(declared, _)| declared.removes(subject));
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
    /// Those, and the files it removed.
    pub touched: &'a BTreeSet<RelPath>,
    /// Whether the node is to bring tests: its plan or its answer names a test file.
    pub brings_tests: bool,
    /// The least that must be proved of every file of code.
    pub require: Option<Require>,
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
    /// How much is measured: warnings count in the strict one.
    pub preset: Preset,
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
    /// What each stage found, and whether it counts.
    pub stages: Vec<StageVerdict>,
    /// Its energy.
    pub energy: Energy,
    /// How much was proved.
    pub grade: Grade,
    /// What lies below tests, in words.
    pub below: Vec<String>,
    /// Promises of the contract that are not known to hold, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unmeasured: Vec<String>,
    /// How much was proved of each changed file of code.
    pub files: Vec<FileGrade>,
}

/// How much was proved of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileGrade {
    /// The file.
    pub path: RelPath,
    /// The grade.
    pub grade: Grade,
    /// Lines of it of which less was proved.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
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

/// Judges a case. Readings of stages that are not required are shown: they change nothing else.
pub fn judge(case: &Case<'_>, terms: &Terms<'_>) -> Judgement {
    let is_required = |reading: &Reading| terms.required.contains(&reading.stage);
    let (required, shown): (Vec<Reading>, Vec<Reading>) =
        case.readings.iter().cloned().partition(is_required);
    let mut judgement = judge_required(&Case { readings: &required, ..*case }, terms);
    for reading in shown {
        judgement.stages.push(shown_verdict(&reading));
        judgement.findings.extend(shown_findings(reading));
    }
    judgement
}

fn judge_required(case: &Case<'_>, terms: &Terms<'_>) -> Judgement {
    let inventory = case.inventory();
    let mut findings = findings::charged(case, terms);
    findings.extend(promises::findings(case));
    let mut needs = tests::charge(case, terms, &inventory, &mut findings);
    let grades = grades::of(case, terms);
    needs.extend(needs::of(case, terms, &inventory));
    needs.extend(grades.needs(terms));
    findings.extend(grades.unmet(case, terms));
    let told = needs::undeclared_findings(terms, &mut needs);
    findings.extend(told);
    let energy = Energy::of_findings(&findings, case.readings, terms.required, terms.weights);
    let stages = verdicts(case, terms, &findings);
    let (grade, mut below) = (grades.lowest(terms), grades.below());
    below.extend(flaky(&findings));
    let unmeasured = promises::unmeasured(case);
    Judgement {
        tree: case.tree,
        findings,
        needs,
        stages,
        energy,
        grade,
        below,
        unmeasured,
        files: grades.files,
    }
}

/// Failures that were excused, in words.
fn flaky(findings: &[Finding]) -> Option<String> {
    let excused = |finding: &&Finding| finding.residual.charge == Charge::Shown(tests::FLAKY.to_owned());
    let names: Vec<&str> =
        findings.iter().filter(excused).filter_map(|finding| finding.residual.symbol.as_deref()).collect();
    (!names.is_empty()).then(|| {
        format!("red, and not counted because it wavers on the tree before too: {}", names.join(", "))
    })
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
        unmeasured: brief_promises(&judgement.unmeasured),
        missing: brief(missing.iter().copied(), NEED_BYTES),
        missing_count: missing.len() as u32,
        told_undeclared: judgement.counted().any(|residual| residual.class == Class::UndeclaredChange),
        only_undeclared: judgement.counted().all(|residual| residual.class == Class::UndeclaredChange),
        only_required: !judgement.energy.is_stable(terms.weights)
            && judgement.counted().all(|residual| residual.class == Class::EvidenceTooLow),
        only_red: !judgement.energy.is_stable(terms.weights) && only_red(),
        tests_changed: case.inventory().changed.len() as u32,
        blob,
    }
}

fn cut(text: &str) -> String {
    const CHARS: usize = 200;
    text.chars().take(CHARS).collect()
}

/// The first few promises, as short as an event must have them.
pub fn brief_promises(lines: &[String]) -> Vec<String> {
    const LINES: usize = 3;
    const CHARS: usize = 100;
    let kept = if lines.len() > LINES { LINES - 1 } else { LINES };
    let short = lines.iter().take(kept).map(|line| line.chars().take(CHARS).collect());
    let more = lines.len().saturating_sub(kept);
    short.chain((more > 0).then(|| format!("and {more} more"))).collect()
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

/// Whether a stage read something that the candidate changed. Data may be read at run time without anybody's telling,
/// and what was removed is missed where it was.
fn concerns(reading: &Reading, terms: &Terms<'_>) -> bool {
    // What a user's build reads is found out with the tests, where there are some.
    let builds = reading.command.is_some() && reading.stage.kind == StageKind::Build;
    let own = reading.stage.kind == StageKind::Structure || builds;
    let reads = |path: &RelPath| reading.looked.contains(path) || FileKind::of(path) == FileKind::Data;
    own || terms.touched.len() > terms.changed.len() || terms.changed.iter().any(reads)
}

/// A shown stage's part of a judgement.
fn shown_verdict(reading: &Reading) -> StageVerdict {
    // A linter's warnings are what it is run for.
    let found = reading.residuals.iter().filter(|one| one.severity != Severity::Note).count() as u32;
    let result = match &reading.status {
        Status::NotRun(_) => StageResult::NotRun,
        Status::Unavailable(_) => StageResult::Unavailable,
        Status::Measured if found == 0 => StageResult::Pass,
        Status::Measured => StageResult::Fail(found),
    };
    StageVerdict {
        stage: reading.stage.clone(),
        tool: reading.tool.clone(),
        role: StageRole::Shown,
        result,
        tests: reading.tests.as_ref().map(TestCounts::of),
        inherited: 0,
    }
}

fn shown_findings(reading: Reading) -> impl Iterator<Item = Finding> {
    let Reading { stage, residuals, .. } = reading;
    residuals.into_iter().map(move |residual| {
        let charge = Charge::Shown("its stage is shown and never charged".to_owned());
        Finding { stage: stage.clone(), residual: Residual { charge, ..residual } }
    })
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
            Some(Status::Measured) if errors == 0 && !reading.is_some_and(|one| concerns(one, terms)) => {
                StageResult::NotConcerned
            }
            Some(Status::Measured) if errors == 0 => StageResult::Pass,
            Some(Status::Measured) => StageResult::Fail(errors),
        };
        StageVerdict {
            stage: stage.clone(),
            tool: reading.map_or_else(|| stage.kind.as_str().to_owned(), |reading| reading.tool.clone()),
            role: StageRole::Required,
            result,
            tests: reading.and_then(|reading| reading.tests.as_ref()).map(TestCounts::of),
            inherited: inherited as u32,
        }
    };
    terms.required.iter().map(verdict).collect()
}
