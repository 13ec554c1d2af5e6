//! A session that verifies: the tree as it is, stage by stage, with no plan and no model. Everything found counts, unless
//! the user names a revision that has it too.

use std::collections::BTreeSet;

use super::{Baseline, Found, SessionState, stage_key};
use crate::effect::{Branch, Effect};
use crate::energy::ReadingSummary;
use crate::event::{Purpose, RootRef, Since, Trouble};
use crate::ids::BlobId;
use crate::outcome::EndReason;
use crate::reading::{StageId, Status};
use crate::stage::{Preset, StageRole};

impl SessionState {
    /// Whether the session only measures the tree as it is.
    pub fn verifies(&self) -> bool {
        self.meta.as_ref().is_some_and(|meta| meta.purpose != Purpose::Task)
    }

    /// How the user goes on once the machine was mended.
    pub fn again(&self) -> &'static str {
        if self.verifies() { "run `perspt verify` again" } else { "run `perspt resume`" }
    }

    /// What is next once every required stage has looked at the tree and was shown to see.
    pub(super) fn verify_effect(&self, found: &Found, head: &Branch) -> Option<Effect> {
        if let Some(stage) = self.next_shown() {
            return Some(Self::measure(head, stage, 1));
        }
        if let Some(since) = &found.since
            && let Some(stage) = self.next_of_revision(since, head)
        {
            return Some(Self::measure(&Self::revision(since), stage, 1));
        }
        let required = self.stages_with(StageRole::Required);
        if self.last_look.is_some() || required.is_empty() {
            return None;
        }
        let shown = self.stages_with(StageRole::Shown);
        let taken = |stage: &StageId| self.baseline_of(stage).first().map(|reading| reading.blob);
        let readings = required.iter().chain(&shown).filter_map(taken).collect();
        let branch = match &found.since {
            Some(since) => Branch { base: since.tree, changes: Some(since.changes), tree: head.tree },
            None => *head,
        };
        let (before, old_tests, grants) = (self.old_blobs(found, head), vec![], 0);
        Some(Effect::Judge { branch, readings, before, old_tests, required, grants })
    }

    /// The tree was changed while it was looked at: everything begins again, but for what was shown to see.
    pub(super) fn look_anew(&mut self) {
        (self.found, self.probed, self.head) = (None, None, None);
        (self.fetched, self.last_look) = (false, None);
        self.baseline = Baseline::default();
        self.first_baseline.clear();
        self.old_readings.clear();
    }

    /// A reading of the revision whose findings are old; nothing is missing where it could not be taken.
    pub(super) fn measured_before(&mut self, effect: &Effect, reading: &ReadingSummary) -> bool {
        let Effect::Measure { branch, .. } = effect else { return false };
        let since = self.found.as_ref().and_then(|found| found.since.as_ref());
        let is_old = since.is_some_and(|since| since.tree.id == branch.tree)
            && self.head.is_some_and(|head| head.id != branch.tree);
        if is_old {
            self.old_readings.insert(stage_key(&reading.stage), reading.clone());
        }
        is_old
    }

    /// Whether the tree was measured and nothing counts.
    pub(super) fn is_clean(&self) -> bool {
        let weights = self.settings().weights;
        self.last_look.as_ref().is_some_and(|(_, judgement)| judgement.energy.is_stable(&weights))
    }

    /// How such a session ends once nothing is left to do.
    pub(super) fn verified(&self) -> (EndReason, Option<Trouble>) {
        match self.unseen() {
            Some(trouble) => (EndReason::Degraded, Some(trouble)),
            None => (EndReason::NodesClosed, None),
        }
    }

    /// What could not be looked at. A red build is no such thing: the tests after it are not run, and that is its fault.
    fn unseen(&self) -> Option<Trouble> {
        let missing = || self.probed.iter().flatten().flat_map(|root| &root.missing);
        if let Some(first) = missing().next() {
            let missing: BTreeSet<&str> = missing().map(|one| one.tool.as_str()).collect();
            let what = match missing.len() {
                1 => format!("`{}` cannot be used to verify this project", first.tool),
                many => format!("{many} tools cannot be used to verify this project, `{}` first", first.tool),
            };
            return Some(Trouble { what, why: first.why.clone(), todo: first.install.clone() });
        }
        let Some((_, judgement)) = &self.last_look else {
            return Some(Trouble {
                what: "nothing was measured".to_owned(),
                why: "no tool that perspt knows looks at anything in this folder".to_owned(),
                todo: "run it in a project's own folder, or name the project's own command with `--test-cmd` or \
                       `--build-cmd`; `perspt doctor` lists the languages and their tools"
                    .to_owned(),
            });
        };
        if judgement.only_required {
            return Some(Trouble {
                what: format!(
                    "less was proved than `--require {}` asks for",
                    self.settings().require.map_or("", |require| require.as_str())
                ),
                why: judgement.headlines.first().cloned().unwrap_or_default(),
                todo: "let tests or tools look at it, or require less".to_owned(),
            });
        }
        let blind = judgement.energy.errors == 0 && judgement.energy.unmeasured > 0;
        blind.then(|| Trouble {
            what: "a stage did not look".to_owned(),
            why: format!("{} of the required stages gave no result", judgement.energy.unmeasured),
            todo: "run `perspt doctor`".to_owned(),
        })
    }

    /// The stages of every root.
    fn stages_with(&self, role: StageRole) -> Vec<StageId> {
        self.probed.iter().flatten().flat_map(|root| root.with_role(role)).collect()
    }

    /// The next stage whose result is only shown. None looks at a root in which a required one before it gates and is red.
    fn next_shown(&self) -> Option<StageId> {
        let is_fit = |root: &&RootRef| {
            let stages = self.root_stages(root).into_iter();
            let mut gates = stages
                .flat_map(|stages| stages.with_role(StageRole::Required))
                .filter(|stage| stage.kind.facts().gates);
            gates.all(|stage| self.baseline_of(&stage).iter().any(ReadingSummary::is_green))
        };
        let stages = self.live_roots().filter(is_fit).filter_map(|root| self.root_stages(root));
        stages
            .flat_map(|stages| stages.with_role(StageRole::Shown))
            .find(|stage| self.baseline_of(stage).is_empty())
    }

    fn revision(since: &Since) -> Branch {
        Branch { base: since.tree, changes: None, tree: since.tree.id }
    }

    /// The next stage that is to look at the revision. It is looked at only where something was found now.
    fn next_of_revision(&self, since: &Since, head: &Branch) -> Option<StageId> {
        let required = self.stages_with(StageRole::Required);
        // Where warnings count, a reading without an error may have some.
        let strict = self.settings().preset == Preset::Strict;
        let red =
            |stage: &StageId| self.baseline_of(stage).iter().any(|reading| strict || !reading.is_green());
        if since.tree.id == head.tree || !required.iter().any(red) {
            return None;
        }
        for root in &since.roots {
            let stages = self.root_stages(root).into_iter();
            for stage in stages.flat_map(|stages| stages.with_role(StageRole::Required)) {
                let Some(reading) = self.old_readings.get(&stage_key(&stage)) else { return Some(stage) };
                let stops = reading.status != Status::Measured || reading.errors > 0;
                if stage.kind.facts().gates && stops {
                    break;
                }
            }
        }
        None
    }

    /// The readings that what is found now is held against.
    fn old_blobs(&self, found: &Found, head: &Branch) -> Vec<BlobId> {
        match &found.since {
            Some(since) if since.tree.id == head.tree => {
                self.baseline.readings.values().flatten().map(|reading| reading.blob).collect()
            }
            Some(_) | None => self.old_readings.values().map(|reading| reading.blob).collect(),
        }
    }
}
