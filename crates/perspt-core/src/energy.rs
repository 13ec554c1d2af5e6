//! Energy: V(x) = alpha·V_syn + beta·V_str + gamma·V_log + V_boot + V_sheaf, from residuals alone, and the
//! [`StabilityProof`], which nothing outside this module can make.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::hash::{Sha, ShaBuilder};
use crate::ids::{BlobId, TreeId};
use crate::reading::{Reading, StageId, Status, TestEnd};
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

    fn merge(&mut self, other: &Scores) {
        self.add(Component::Syn, other.syn);
        self.add(Component::Str, other.str);
        self.add(Component::Log, other.log);
        self.add(Component::Boot, other.boot);
        self.add(Component::Sheaf, other.sheaf);
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
    /// All that were collected.
    pub fn collected(&self) -> u32 {
        self.passed.saturating_add(self.failed).saturating_add(self.skipped)
    }
}

/// A reading as the log carries it: what energy needs, and the blob that holds the rest.
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
    /// How many findings were inherited from the baseline.
    #[serde(default)]
    pub inherited: u32,
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

impl ReadingSummary {
    const HEADLINES: usize = 4;
    const HEADLINE_CHARS: usize = 200;

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
            inherited: reading
                .residuals
                .iter()
                .filter(|residual| matches!(residual.charge, crate::residual::Charge::Inherited(_)))
                .count() as u32,
            tests: reading.tests.as_ref().map(|tests| TestCounts {
                passed: tests.count(TestEnd::Passed),
                failed: tests.count(TestEnd::Failed),
                skipped: tests.count(TestEnd::Skipped),
            }),
            headlines: counted.iter().take(Self::HEADLINES).map(|residual| headline(residual)).collect(),
            fingerprint: fingerprint.finish(),
            blob,
        }
    }

    /// Whether it looked and counted nothing.
    pub fn is_green(&self) -> bool {
        self.status == Status::Measured && self.errors == 0 && self.scores == Scores::default()
    }
}

fn headline(residual: &Residual) -> String {
    let place = match (&residual.file, &residual.place) {
        (Some(file), Some(place)) => format!("{file}:{}: ", place.line),
        (Some(file), None) => format!("{file}: "),
        (None, _) => String::new(),
    };
    let text = format!("{place}{}", residual.message.lines().next().unwrap_or(residual.class.as_str()));
    text.chars().take(ReadingSummary::HEADLINE_CHARS).collect()
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
    /// The energy of these readings, given which stages had to look.
    pub fn of<'a>(
        readings: impl IntoIterator<Item = &'a ReadingSummary>,
        required: &[StageId],
        weights: &Weights,
    ) -> Energy {
        let mut scores = Scores::default();
        let mut errors = 0u32;
        let mut measured = BTreeSet::new();
        for reading in readings {
            scores.merge(&reading.scores);
            errors = errors.saturating_add(reading.errors);
            if reading.status == Status::Measured {
                measured.insert(&reading.stage);
            }
        }
        let weigh = |score: Milli, weight: Milli| {
            u64::try_from(u128::from(score.0) * u128::from(weight.0) / 1000).unwrap_or(u64::MAX)
        };
        let total = weigh(scores.syn, weights.alpha)
            .saturating_add(weigh(scores.str, weights.beta))
            .saturating_add(weigh(scores.log, weights.gamma))
            .saturating_add(scores.boot.0)
            .saturating_add(scores.sheaf.0);
        let unmeasured = required.iter().filter(|stage| !measured.contains(stage)).count() as u32;
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

/// That a tree is stable: made from readings of that same tree, by [`prove`] alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StabilityProof {
    tree: TreeId,
    energy: Energy,
    evidence: Vec<BlobId>,
}

impl StabilityProof {
    /// The tree that was proved stable.
    pub fn tree(&self) -> TreeId {
        self.tree
    }

    /// Its energy.
    pub fn energy(&self) -> &Energy {
        &self.energy
    }

    /// The readings it stands on.
    pub fn evidence(&self) -> &[BlobId] {
        &self.evidence
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
    /// Nothing had to look, so nothing is known.
    #[error("no stage is required for this tree, so nothing is known about it")]
    NothingRequired,
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
}

/// Makes the proof that `tree` is stable, or says why there is none. The readings come with the blob ids
/// their bytes were read from.
pub fn prove(
    tree: TreeId,
    readings: &[(BlobId, Reading)],
    required: &[StageId],
    weights: &Weights,
) -> Result<StabilityProof, NotProved> {
    if required.is_empty() {
        return Err(NotProved::NothingRequired);
    }
    if let Some((_, stray)) = readings.iter().find(|(_, reading)| reading.tree != tree) {
        let stage = stray.stage.kind.as_str();
        return Err(NotProved::OtherTree { stage, found: stray.tree, wanted: tree });
    }
    let summaries: Vec<ReadingSummary> =
        readings.iter().map(|(blob, reading)| ReadingSummary::of(reading, *blob)).collect();
    let energy = Energy::of(&summaries, required, weights);
    if !energy.is_stable(weights) {
        let Energy { total, errors, unmeasured, .. } = energy;
        return Err(NotProved::Unstable { total, errors, unmeasured });
    }
    Ok(StabilityProof { tree, energy, evidence: readings.iter().map(|(blob, _)| *blob).collect() })
}
