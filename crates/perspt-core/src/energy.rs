//! Energy: V(x) = alpha·V_syn + beta·V_str + gamma·V_log + V_boot + V_sheaf, from residuals alone, and the
//! [`StabilityProof`], which nothing outside this module can make.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::consent::{ConsentKind, Grant, Need};
use crate::event::RootRef;
use crate::hash::{Sha, ShaBuilder};
use crate::ids::{BlobId, TreeId};
use crate::inventory::Inventory;
use crate::judge::{Case, Finding, Judgement, Terms, judge};
use crate::reading::{MeasuredBy, Reading, StageId, StageKind, Status, TestEnd, Tests};
use crate::residual::{Component, Milli, Residual, Severity};

/// The weights of the components that have one, and the threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Weights {
    /// Of V_syn.
    pub alpha: Milli,
    /// Of V_str.
    pub beta: Milli,
    /// Of V_log.
    pub gamma: Milli,
    /// A node is stable at or below this.
    pub epsilon: Milli,
}

impl Default for Weights {
    fn default() -> Weights {
        Weights { alpha: Milli(1000), beta: Milli(500), gamma: Milli(2000), epsilon: Milli(100) }
    }
}

/// The raw sum of each component.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Scores {
    /// V_syn.
    pub syn: Milli,
    /// V_str.
    pub str: Milli,
    /// V_log.
    pub log: Milli,
    /// V_boot.
    pub boot: Milli,
    /// V_sheaf; no sensor contributes to it yet, so screens say `not-run`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub sheaf: Milli,
}

fn is_zero(milli: &Milli) -> bool {
    milli.0 == 0
}

fn is_none(count: &u32) -> bool {
    *count == 0
}

impl Scores {
    fn add(&mut self, component: Component, score: Milli) {
        let sum = match component {
            Component::Syn => &mut self.syn,
            Component::Str => &mut self.str,
            Component::Log => &mut self.log,
            Component::Boot => &mut self.boot,
            Component::Sheaf => &mut self.sheaf,
        };
        sum.0 = sum.0.saturating_add(score.0);
    }

    /// The component that weighs most, for naming the kind of failure; `None` where all are zero.
    pub fn largest(&self, weights: &Weights) -> Option<Component> {
        let weigh = |score: Milli, weight: Milli| u128::from(score.0) * u128::from(weight.0);
        [
            (weigh(self.boot, Milli::ONE), Component::Boot),
            (weigh(self.syn, weights.alpha), Component::Syn),
            (weigh(self.log, weights.gamma), Component::Log),
            (weigh(self.str, weights.beta), Component::Str),
            (weigh(self.sheaf, Milli::ONE), Component::Sheaf),
        ]
        .into_iter()
        .filter(|(weight, _)| *weight > 0)
        .reduce(|best, next| if next.0 > best.0 { next } else { best })
        .map(|(_, component)| component)
    }
}

/// How many tests ended in each way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TestCounts {
    /// Passed.
    pub passed: u32,
    /// Failed.
    pub failed: u32,
    /// Skipped.
    pub skipped: u32,
}

impl TestCounts {
    /// The counts of a run.
    pub fn of(tests: &Tests) -> TestCounts {
        TestCounts {
            passed: tests.count(TestEnd::Passed),
            failed: tests.count(TestEnd::Failed),
            skipped: tests.count(TestEnd::Skipped),
        }
    }

    /// All that were collected.
    pub fn collected(&self) -> u32 {
        self.passed.saturating_add(self.failed).saturating_add(self.skipped)
    }
}

/// How the tests that a candidate adds end over the code as it was. One that fails there shows what the candidate does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NewTests {
    /// How many were added and pass now.
    pub added: u32,
    /// How many of them do not pass over the old code, or cannot be built there.
    pub failed_before: u32,
}

/// A reading as the log carries it: what was found before anything is judged, and the blob that holds the rest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadingSummary {
    /// The tree it was taken on.
    pub tree: TreeId,
    /// Which stage of which root.
    pub stage: StageId,
    /// The tool that was run.
    pub tool: String,
    /// Whether it looked.
    pub status: Status,
    /// The counted scores by component.
    pub scores: Scores,
    /// How many counted residuals are errors.
    pub errors: u32,
    /// Of perspt's own look: whether the tests as they were must be run over the new code.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub old_tests: bool,
    /// Of perspt's own look: how many tests were added.
    #[serde(default, skip_serializing_if = "is_none")]
    pub added_tests: u32,
    /// Modules that tests import and that are nowhere, the first few.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<String>,
    /// Whether a test that passed on the tree before does not pass now.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub regressed: bool,
    /// Of perspt's own look: whether nothing that any tool reads was changed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only_prose: bool,
    /// Of perspt's own look: roots that are not the node's and whose tools have read something that was changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_roots: Vec<RootRef>,
    /// What was run.
    #[serde(default, skip_serializing_if = "MeasuredBy::is_language")]
    pub by: MeasuredBy,
    /// For a test stage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<TestCounts>,
    /// The worst findings, a line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headlines: Vec<String>,
    /// What the counted findings have in common with themselves when they come back.
    pub fingerprint: Sha,
    /// The whole reading.
    pub blob: BlobId,
}

/// Absent modules that a summary names.
const ABSENT: usize = 8;
/// Other roots that a summary names.
const OTHER_ROOTS: usize = 16;

impl ReadingSummary {
    /// The summary of a reading whose bytes are in `blob`.
    pub fn of(reading: &Reading, blob: BlobId) -> ReadingSummary {
        let counted: Vec<&Residual> = reading.residuals.iter().filter(|residual| residual.counts()).collect();
        let mut scores = Scores::default();
        let mut fingerprints = BTreeSet::new();
        for residual in &counted {
            scores.add(residual.component, charged_score(residual));
            fingerprints.insert(residual.fingerprint());
        }
        let mut fingerprint = ShaBuilder::default();
        fingerprints.iter().for_each(|one| fingerprint.update(&one.0));
        ReadingSummary {
            tree: reading.tree,
            stage: reading.stage.clone(),
            tool: reading.tool.clone(),
            status: reading.status.clone(),
            scores,
            errors: counted.iter().filter(|residual| residual.severity == Severity::Error).count() as u32,
            by: reading.by(),
            tests: reading.tests.as_ref().map(TestCounts::of),
            old_tests: reading.inventory.as_ref().is_some_and(Inventory::asks_old_tests),
            added_tests: reading.inventory.as_ref().map_or(0, |inventory| inventory.added.len() as u32),
            absent: reading.absent.iter().take(ABSENT).cloned().collect(),
            regressed: reading.regressed,
            only_prose: reading.only_prose,
            other_roots: reading.other_roots.iter().take(OTHER_ROOTS).cloned().collect(),
            headlines: headlines(counted.iter().copied()),
            fingerprint: fingerprint.finish(),
            blob,
        }
    }

    /// Whether it looked and counted nothing.
    pub fn is_green(&self) -> bool {
        self.status == Status::Measured && self.errors == 0 && self.scores == Scores::default()
    }
}

/// The first findings, a line each.
pub fn headlines<'a>(residuals: impl IntoIterator<Item = &'a Residual>) -> Vec<String> {
    const HEADLINES: usize = 4;
    residuals.into_iter().take(HEADLINES).map(headline).collect()
}

fn headline(residual: &Residual) -> String {
    let place = match (&residual.file, &residual.place) {
        (Some(file), Some(place)) => format!("{file}:{}: ", place.line),
        (Some(file), None) => format!("{file}: "),
        (None, _) => String::new(),
    };
    let text = format!("{place}{}", residual.message.lines().next().unwrap_or(residual.class.as_str()));
    const CHARS: usize = 200;
    text.chars().take(CHARS).collect()
}

/// An error weighs at least one unit, whatever its sensor said.
fn charged_score(residual: &Residual) -> Milli {
    match residual.severity {
        Severity::Error => residual.score.max(Milli::ONE),
        Severity::Warning | Severity::Note => residual.score,
    }
}

/// The energy of one candidate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Energy {
    /// Raw components.
    pub scores: Scores,
    /// The weighted sum of what was measured.
    pub total: Milli,
    /// Counted error residuals.
    pub errors: u32,
    /// Required stages that did not look: their share is unknown, never zero.
    pub unmeasured: u32,
}

impl Energy {
    /// The energy of charged findings, given which stages looked and which had to.
    pub fn of_findings(
        findings: &[Finding],
        readings: &[Reading],
        required: &[StageId],
        weights: &Weights,
    ) -> Energy {
        let mut scores = Scores::default();
        let mut errors = 0u32;
        for residual in findings.iter().map(|finding| &finding.residual).filter(|one| one.counts()) {
            scores.add(residual.component, charged_score(residual));
            errors = errors.saturating_add(u32::from(residual.severity == Severity::Error));
        }
        let weigh = |score: Milli, weight: Milli| {
            u64::try_from(u128::from(score.0) * u128::from(weight.0) / 1000).unwrap_or(u64::MAX)
        };
        let total = weigh(scores.syn, weights.alpha)
            .saturating_add(weigh(scores.str, weights.beta))
            .saturating_add(weigh(scores.log, weights.gamma))
            .saturating_add(scores.boot.0)
            .saturating_add(scores.sheaf.0);
        let looked = |stage: &&StageId| {
            readings.iter().any(|reading| reading.stage == **stage && reading.status == Status::Measured)
        };
        let unmeasured = required.iter().filter(|stage| !looked(stage)).count() as u32;
        Energy { scores, total: Milli(total), errors, unmeasured }
    }

    /// Whether a node with this energy may be committed.
    pub fn is_stable(&self, weights: &Weights) -> bool {
        self.unmeasured == 0 && self.errors == 0 && self.total <= weights.epsilon
    }

    /// Lower is better: first how much could not be looked at, then the total. A candidate that compiles
    /// and fails tests is further than one that does not compile.
    pub fn rank(&self) -> (u32, Milli, u32) {
        (self.unmeasured, self.total, self.errors)
    }
}

/// That a tree may be published: made from readings of that same tree and the user's consents, by [`prove`] alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StabilityProof {
    judgement: Judgement,
    consents: Vec<(Need, Grant)>,
}

impl StabilityProof {
    /// The tree that was proved stable.
    pub fn tree(&self) -> TreeId {
        self.judgement.tree
    }

    /// What it was judged to be.
    pub fn judgement(&self) -> &Judgement {
        &self.judgement
    }

    /// What the user permitted of it, and how.
    pub fn consents(&self) -> &[(Need, Grant)] {
        &self.consents
    }
}

/// Why no proof could be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotProved {
    /// A reading was taken on another tree.
    #[error("the reading of {stage} was taken on tree {found}, not on {wanted}")]
    OtherTree {
        /// Which stage.
        stage: &'static str,
        /// The reading's tree.
        found: TreeId,
        /// The tree to be proved.
        wanted: TreeId,
    },
    /// perspt's own look is missing, so nothing is known of what changed.
    #[error("perspt's own look at this tree is missing")]
    NoStructure,
    /// The energy is too high or not known.
    #[error("V(x) is {total} with {errors} errors and {unmeasured} unmeasured stages")]
    Unstable {
        /// The weighted total.
        total: Milli,
        /// Error residuals.
        errors: u32,
        /// Stages that did not look.
        unmeasured: u32,
    },
    /// Only the user can permit this.
    #[error("the consent `{kind}` for `{subject}` is missing")]
    NoConsent {
        /// The kind of consent.
        kind: ConsentKind,
        /// Of what.
        subject: String,
    },
}

/// Makes the proof that a candidate may be published, or says why there is none.
pub fn prove(case: &Case<'_>, terms: &Terms<'_>) -> Result<StabilityProof, NotProved> {
    let structure = |reading: &Reading| reading.stage.kind == StageKind::Structure;
    if !case.readings.iter().any(structure) {
        return Err(NotProved::NoStructure);
    }
    if let Some(stray) = case.readings.iter().find(|reading| reading.tree != case.tree) {
        let stage = stray.stage.kind.as_str();
        return Err(NotProved::OtherTree { stage, found: stray.tree, wanted: case.tree });
    }
    let judgement = judge(case, terms);
    if !judgement.energy.is_stable(terms.weights) {
        let Energy { total, errors, unmeasured, .. } = judgement.energy;
        return Err(NotProved::Unstable { total, errors, unmeasured });
    }
    let mut consents = Vec::new();
    for need in &judgement.needs {
        let Some(grant) = terms.consents.covering(need) else {
            return Err(NotProved::NoConsent { kind: need.kind, subject: need.subject.clone() });
        };
        consents.push((need.clone(), grant.clone()));
    }
    Ok(StabilityProof { judgement, consents })
}
