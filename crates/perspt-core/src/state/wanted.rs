//! What ought to be running: a pure function of the state and the clock.

use std::collections::BTreeMap;

use super::node::{Candidate, Held, Laying, Node, Wait, Work};
use super::{PlanWork, SessionState, Stop, Wanted, stage_key};
use crate::budget::{BudgetKind, Spend};
use crate::effect::{Branch, Effect, EffectKey, Expects, Intent, Question};
use crate::energy::ReadingSummary;
use crate::event::{Approval, RootRef};
use crate::hash::Sha;
use crate::ids::{BlobId, EffectId, Millis, NodeId};
use crate::outcome::NodeEnd;
use crate::reading::{StageId, StageKind, Status};

impl SessionState {
    /// Every effect that ought to be running now. The loop starts what is missing and cancels what runs
    /// and is not here. While something is due to be recorded, nothing new is wanted.
    pub fn wanted(&self, now: Millis) -> BTreeMap<EffectId, Wanted> {
        let Some(meta) = &self.meta else { return BTreeMap::new() };
        let running = |keep: fn(&Effect) -> bool| {
            self.in_flight
                .iter()
                .filter(|(_, flight)| keep(&flight.effect))
                .map(|(id, flight)| (*id, Wanted { key: flight.key.clone(), effect: flight.effect.clone() }))
                .collect::<BTreeMap<_, _>>()
        };
        if self.stop == Stop::Abort || self.end.is_some() || self.broke.is_some() {
            return running(|effect| matches!(effect, Effect::Publish { .. }));
        }
        if self.stop == Stop::Pause {
            // A question could wait for ever; it is asked again by a resume.
            return running(|effect| !matches!(effect, Effect::Question { .. }));
        }
        if self.due(now).is_some() {
            return running(|_| true);
        }
        let mut wanted = BTreeMap::new();
        let Some((node, effect)) = self.next_effect() else { return wanted };
        if let Effect::Ask { estimate, .. } = &effect {
            let not_before = self.asker_of(&node).not_before;
            let running = self.in_flight.values().any(|flight| flight.effect == effect);
            if !running && (now < not_before || self.budget_refusal(*estimate, now).is_some()) {
                return wanted;
            }
        }
        let generation = self.generation_of(node.as_ref());
        let same = self.in_flight.iter().find(|(_, flight)| {
            flight.effect == effect && flight.key.node == node && flight.key.generation == generation
        });
        if let Some((id, flight)) = same {
            wanted.insert(*id, Wanted { key: flight.key.clone(), effect });
            return wanted;
        }
        let ordinal_key = Self::ordinal_key(node.as_ref(), generation, effect.stage());
        let ordinal = self.ordinals.get(&ordinal_key).copied().unwrap_or(0);
        let key = EffectKey { node, generation, ordinal };
        wanted.insert(key.id(&meta.session, &effect), Wanted { key, effect });
        wanted
    }

    /// When to look again though nothing happens: the end of a pause before a request.
    pub fn next_wake(&self, now: Millis) -> Option<Millis> {
        let (node, effect) = self.next_effect()?;
        let not_before = self.asker_of(&node).not_before;
        (matches!(effect, Effect::Ask { .. }) && not_before > now).then_some(not_before)
    }

    /// Which budget stands in the way of the next request, if one does.
    pub(super) fn budget_refusal(&self, estimate: Spend, now: Millis) -> Option<BudgetKind> {
        let active = self.account.active_ms.saturating_add(now.max(self.last_at).since(self.span_start));
        self.account.refusal(&self.settings().limits, estimate, active)
    }

    pub(super) fn asker_of(&self, node: &Option<NodeId>) -> &super::Asker {
        node.as_ref().and_then(|id| self.nodes.get(id)).map_or(&self.planning.asker, |node| &node.asker)
    }

    /// The next thing to do, whatever the clock, the budget or the user say.
    pub(super) fn next_effect(&self) -> Option<(Option<NodeId>, Effect)> {
        let session = |effect: Effect| Some((None, effect));
        let Some(found) = &self.found else { return session(Effect::Snapshot) };
        let is_probed = |root: &RootRef| self.root_stages(root).is_some();
        if self.probed.is_none() || !self.planned_roots.iter().all(is_probed) {
            return session(Effect::Probe);
        }
        if !self.fetched {
            return session(Effect::Fetch { tree: found.base });
        }
        let head = self.head_branch()?;
        if let Some(effect) = self.baseline_effect(&head) {
            return session(effect);
        }
        if self.planning.work != PlanWork::Done {
            return self.planning_effect(&head).and_then(session);
        }
        if let Some(id) = &self.active {
            let node = self.nodes.get(id)?;
            return self.node_effect(node, &head).map(|effect| (Some(id.clone()), effect));
        }
        self.last_judgement(&head).and_then(session)
    }

    /// Judges what only the last look measured.
    fn last_judgement(&self, head: &Branch) -> Option<Effect> {
        let committed = self.nodes.values().any(|node| node.end == Some(NodeEnd::Committed));
        let looked = self.last_look.as_ref().is_some_and(|(tree, _)| *tree == head.tree);
        let required = self.unjudged_stages();
        if !committed || !self.all_closed() || looked || required.is_empty() {
            return None;
        }
        let readings = required.iter().flat_map(|stage| self.baseline_of(stage)).map(|one| one.blob);
        Some(Effect::Judge {
            branch: *head,
            readings: readings.collect(),
            before: required.iter().flat_map(|stage| self.first_looks(stage)).collect(),
            old_tests: vec![],
            grants: self.consents.grants.len() as u32,
            required,
        })
    }

    /// Stages of the head that no committed node was judged by.
    pub(super) fn unjudged_stages(&self) -> Vec<StageId> {
        let roots = self.live_roots().filter(|root| self.is_used(root));
        let stages = roots.filter_map(|root| self.root_stages(root)).flat_map(|stages| {
            stages.stages.iter().filter(|tool| tool.required).map(|tool| stages.root.stage(tool.kind))
        });
        // What could be looked at neither before the session nor now, because the root does not build, is not missed.
        let looked =
            |stage: &StageId| !self.baseline_of(stage).is_empty() || !self.first_looks(stage).is_empty();
        let existed = |stage: &StageId| {
            self.found
                .iter()
                .flat_map(|found| &found.roots)
                .any(|root| root.dir == stage.root && root.plugin == stage.plugin)
        };
        stages
            .filter(|stage| !self.baseline.judged.contains(&stage_key(stage)))
            .filter(|stage| looked(stage) || !existed(stage))
            .collect()
    }

    /// Whether a root is there: it was found in the tree, or a committed node has made it.
    fn is_used(&self, root: &RootRef) -> bool {
        let existing = self.found.as_ref().is_some_and(|found| {
            found.repo_mode == crate::event::RepoMode::Existing && found.roots.contains(root)
        });
        let committed = |node: &Node| node.end == Some(NodeEnd::Committed) && node.roots.contains(root);
        existing || self.nodes.values().any(committed)
    }

    fn first_looks(&self, stage: &StageId) -> Vec<BlobId> {
        self.first_baseline.get(&stage_key(stage)).cloned().unwrap_or_default()
    }

    /// The roots whose tools work.
    pub(super) fn live_roots(&self) -> impl Iterator<Item = &RootRef> {
        self.probed.iter().flatten().filter(|stages| stages.missing.is_empty()).map(|stages| &stages.root)
    }

    fn measure(branch: &Branch, stage: StageId, run: u32) -> Effect {
        Effect::Measure { branch: *branch, stage, run }
    }

    /// What is still to be measured of the head, then which of its stages are to be calibrated. After a
    /// commit the node's own readings are the head's; after a user's edit the head is measured anew.
    fn baseline_effect(&self, head: &Branch) -> Option<Effect> {
        let existing = self.found.as_ref()?.repo_mode == crate::event::RepoMode::Existing;
        let untouched = self.found.as_ref()?.base.id == head.tree;
        if untouched && !existing {
            return None;
        }
        let runs = if untouched { 2 } else { 1 };
        for root in self.live_roots().filter(|root| self.measures_head_in(root, untouched)) {
            let stages = self.root_stages(root)?;
            for tool in stages.stages.iter().filter(|tool| tool.required) {
                let stage = root.stage(tool.kind);
                let taken = self.baseline_of(&stage);
                let looked = |reading: &ReadingSummary| reading.status == Status::Measured;
                let again = tool.kind == StageKind::Test && taken.len() < runs && taken.iter().all(looked);
                if taken.is_empty() || again {
                    return Some(Self::measure(head, stage, taken.len() as u32 + 1));
                }
                if tool.kind != StageKind::Test && !taken.iter().all(ReadingSummary::is_green) {
                    break;
                }
            }
        }
        if !untouched {
            return None;
        }
        for root in self.live_roots() {
            for tool in self.root_stages(root)?.stages.iter().filter(|tool| tool.required) {
                let stage = root.stage(tool.kind);
                let Some(reading) = self.baseline_of(&stage).first() else { continue };
                let partly_green = match (&reading.tests, tool.kind) {
                    (Some(tests), StageKind::Test) => tests.passed > 0,
                    _ => reading.is_green(),
                };
                let key = stage_key(&stage);
                if partly_green && !self.calibrated.contains_key(&key) && !self.put_off.contains(&key) {
                    return Some(Effect::Calibrate { branch: *head, stage, reading: reading.blob });
                }
            }
        }
        None
    }

    /// Which roots of the head are looked at: all of them before planning and once every node is closed,
    /// in between those of the node at hand.
    fn measures_head_in(&self, root: &RootRef, untouched: bool) -> bool {
        let active = self.active.as_ref().and_then(|id| self.nodes.get(id));
        let committed = self.nodes.values().any(|node| node.end == Some(NodeEnd::Committed));
        let found = self.found.as_ref().is_some_and(|found| found.roots.contains(root));
        match active {
            // A root that the plan makes is not there before a node has made it.
            Some(node) => node.roots.contains(root) && if untouched { found } else { self.is_used(root) },
            None => (untouched && found) || (committed && self.all_closed() && self.is_used(root)),
        }
    }

    /// The readings a reading of this stage is held against: the session's first look, and the head's.
    fn against(&self, stage: &StageId) -> Vec<BlobId> {
        let mut against = self.first_looks(stage);
        for reading in self.baseline_of(stage) {
            if !against.contains(&reading.blob) {
                against.push(reading.blob);
            }
        }
        against
    }

    fn planning_effect(&self, head: &Branch) -> Option<Effect> {
        let planning = &self.planning;
        let intent = self.architect_intent();
        let attempt = planning.asker.attempt(intent);
        match &planning.work {
            PlanWork::Context => Some(Effect::Assemble {
                intent,
                attempt,
                branch: *head,
                evidence: planning.evidence.into_iter().collect(),
            }),
            PlanWork::Asking { prompt, tokens } => Some(self.ask(intent, attempt, *prompt, *tokens)),
            PlanWork::Parsing { answer } => {
                let last = planning.rejected.saturating_add(1) >= self.settings().plan_tries;
                let expects = if last { Expects::PlanOrFallback } else { Expects::Plan };
                Some(Effect::Parse { answer: *answer, expects })
            }
            PlanWork::Approval => {
                let plan = planning.adopted.map_or(Sha::ZERO, |adopted| adopted.0);
                Some(Effect::Question { question: Question::Plan { plan } })
            }
            PlanWork::Proposed(_) | PlanWork::Done => None,
        }
    }

    fn ask(&self, intent: Intent, attempt: u32, prompt: BlobId, tokens: u64) -> Effect {
        let tokens = tokens.saturating_add(u64::from(self.settings().output_tokens));
        Effect::Ask { intent, attempt, prompt, estimate: Spend { steps: 1, tokens } }
    }

    fn node_effect(&self, node: &Node, head: &Branch) -> Option<Effect> {
        let start = node.start(*head);
        match &node.work {
            Work::Queued | Work::Closed => None,
            Work::Waiting(wait) => self.consent_question(wait),
            Work::Context(intent) => Some(Effect::Assemble {
                intent: *intent,
                attempt: node.asker.attempt(*intent),
                branch: start,
                evidence: node.failure.as_ref().map(|failure| failure.evidence.clone()).unwrap_or_default(),
            }),
            Work::Asking { intent, prompt, tokens, .. } => {
                Some(self.ask(*intent, node.asker.attempt(*intent), *prompt, *tokens))
            }
            Work::Parsing { answer, over } => {
                Some(Effect::Parse { answer: *answer, expects: Expects::Bundle(*over) })
            }
            Work::LayingOut(Laying { changes, commands }) => {
                let (changes, commands) = (*changes, commands.clone());
                Some(Effect::LayOut { base: head.base, changes, commands })
            }
            Work::Verifying(candidate) => Some(self.verification(node, candidate)),
            Work::Stable(candidate) => self.calibration_owed(candidate).or_else(|| {
                let (readings, before, old_tests) = self.evidence_of(node, candidate);
                let required = self.required_stages(&node.roots);
                Some(Effect::Publish { branch: candidate.branch, readings, before, old_tests, required })
            }),
        }
    }

    /// What is next for a candidate: a stage that has not looked, the tests as they were, then the judgement.
    fn verification(&self, node: &Node, candidate: &Candidate) -> Effect {
        if let Some(stage) = self.next_stage(node) {
            return Self::measure(&candidate.branch, stage, 1);
        }
        let failed =
            |stage: &StageId| self.baseline_of(stage).iter().map(|one| one.errors).max().unwrap_or(0);
        let had_tests = |stage: &StageId| {
            self.baseline_of(stage).iter().filter_map(|one| one.tests).any(|tests| tests.collected() > 0)
        };
        if let Some(stage) = candidate.next_old_tests(failed, had_tests) {
            return Effect::RunOldTests { branch: candidate.branch, stage };
        }
        let (readings, before, old_tests) = self.evidence_of(node, candidate);
        let required = self.required_stages(&node.roots);
        let grants = self.consents.grants.len() as u32;
        Effect::Judge { branch: candidate.branch, readings, before, old_tests, required, grants }
    }

    /// The candidate's readings, those before it, and the tests as they were.
    fn evidence_of(&self, node: &Node, candidate: &Candidate) -> (Vec<BlobId>, Vec<BlobId>, Vec<BlobId>) {
        let required = self.required_stages(&node.roots);
        let blobs = |readings: &[ReadingSummary]| readings.iter().map(|reading| reading.blob).collect();
        let before = required.iter().flat_map(|stage| self.against(stage)).collect();
        (blobs(&candidate.readings), before, blobs(&candidate.old_tests))
    }

    /// The question about what waits, where someone is there to answer it.
    fn consent_question(&self, wait: &Wait) -> Option<Effect> {
        let asks = self.meta.as_ref().is_some_and(|meta| meta.approval == Approval::Person);
        let (judgement, texts) = match &wait.held {
            Held::Candidate(candidate) => {
                let structure = |one: &&ReadingSummary| one.stage.kind == StageKind::Structure;
                let texts = candidate.readings.iter().find(structure).map(|reading| reading.blob);
                (candidate.judgement.as_ref().map(|judgement| judgement.blob), texts)
            }
            Held::Changes(_) => (None, None),
        };
        let question = Question::Consents { needs: wait.needs.clone(), count: wait.count, judgement, texts };
        asks.then_some(Effect::Question { question })
    }

    /// The next stage that is to look at the candidate; `None` once every stage that can look has.
    /// Tests are not run on a root that does not compile.
    pub(super) fn next_stage(&self, node: &Node) -> Option<StageId> {
        let Work::Verifying(candidate) = &node.work else { return None };
        let of = |stage: &StageId| candidate.readings.iter().find(|reading| reading.stage == *stage);
        let structure = crate::judge::structure_stage();
        if of(&structure).is_none() {
            return Some(structure);
        }
        for root in &node.roots {
            let stages = self.root_stages(root).into_iter().flat_map(|stages| &stages.stages);
            for stage in stages.filter(|tool| tool.required).map(|tool| root.stage(tool.kind)) {
                let Some(reading) = of(&stage) else { return Some(stage) };
                let gates = matches!(stage.kind, StageKind::Syntax | StageKind::Build);
                let before = self.baseline_of(&stage).iter().map(|one| one.errors).max().unwrap_or(0);
                if gates && (reading.errors > before || reading.status != Status::Measured) {
                    break;
                }
            }
        }
        None
    }

    /// Before a root's first green counts, each of its stages must have seen a planted error. Where no test ran
    /// there is no green to count: the evidence is owed, and the first test that runs is what is calibrated.
    fn calibration_owed(&self, candidate: &super::Candidate) -> Option<Effect> {
        let counts = |reading: &ReadingSummary| match reading.stage.kind {
            StageKind::Structure => false,
            StageKind::Syntax | StageKind::Build => true,
            StageKind::Test => reading.tests.is_some_and(|tests| tests.passed > 0),
        };
        let owed = candidate
            .readings
            .iter()
            .find(|reading| counts(reading) && !self.calibrated.contains_key(&stage_key(&reading.stage)))?;
        Some(Effect::Calibrate { branch: candidate.branch, stage: owed.stage.clone(), reading: owed.blob })
    }

    /// Whether every node is closed.
    pub(super) fn all_closed(&self) -> bool {
        self.planning.work == PlanWork::Done
            && self.nodes.values().all(|node| node.end.is_some_and(|end| end != NodeEnd::Open))
    }
}
