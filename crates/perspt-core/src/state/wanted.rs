//! What ought to be running: a pure function of the state and the clock.

use std::collections::BTreeMap;

use super::node::{Candidate, Held, Laying, Node, Wait, Work};
use super::{Found, PlanWork, SessionState, Stop, Wanted, stage_key};
use crate::budget::{BudgetKind, Spend};
use crate::effect::{AskRoute, Branch, Effect, EffectKey, Expects, Intent, Question};
use crate::energy::ReadingSummary;
use crate::event::{Approval, RootRef, RootStages};
use crate::hash::Sha;
use crate::ids::{BlobId, EffectId, Millis, NodeId, SessionId};
use crate::outcome::NodeEnd;
use crate::reading::{StageId, StageKind, Status};
use crate::stage::StageRole;

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
        if self.is_ending() {
            // Nothing that still runs can change how this ends.
            return BTreeMap::new();
        }
        if self.due(now).is_some() {
            return running(|_| true);
        }
        let all = self.next_effects();
        let wanted: BTreeMap<EffectId, Wanted> = all
            .into_iter()
            .filter_map(|(node, effect)| self.wants(&meta.session, node, effect, now))
            .collect();
        // What is no longer wanted ends before another of its kind begins.
        let ending = |asks: bool| {
            let mut old = self.in_flight.iter().filter(|(id, _)| !wanted.contains_key(id));
            old.any(|(_, flight)| flight.effect.asks() == asks)
        };
        let (asking, measuring) = (ending(true), ending(false));
        let may_begin = |wanted: &Wanted| {
            let of_a_node = wanted.key.node.is_some();
            !(asking && (of_a_node || wanted.effect.asks()))
                && !(measuring && (of_a_node || !wanted.effect.asks()))
        };
        let begun = |id: &EffectId| self.in_flight.contains_key(id);
        wanted
            .iter()
            .filter(|(id, one)| begun(id) || may_begin(one))
            .map(|(id, one)| (*id, one.clone()))
            .collect()
    }

    /// Something was found that ends the session as soon as nothing runs.
    fn is_ending(&self) -> bool {
        self.unworkable.is_some() || self.provider.is_some() || self.degraded.is_some() || self.refused
    }

    /// One of the next effects under its name, unless a request has to wait or the budget does not cover it.
    fn wants(
        &self,
        session: &SessionId,
        node: Option<NodeId>,
        effect: Effect,
        now: Millis,
    ) -> Option<(EffectId, Wanted)> {
        let generation = self.generation_of(node.as_ref());
        let same = self.in_flight.iter().find(|(_, flight)| {
            flight.effect == effect && flight.key.node == node && flight.key.generation == generation
        });
        if let Some((id, flight)) = same {
            return Some((*id, Wanted { key: flight.key.clone(), effect }));
        }
        if let Effect::Ask { estimate, .. } = &effect
            && (now < self.asker_of(&node).not_before || self.budget_refusal(*estimate, now).is_some())
        {
            return None;
        }
        let ordinal_key = Self::ordinal_key(node.as_ref(), generation, effect.kind());
        let ordinal = self.ordinals.get(&ordinal_key).copied().unwrap_or(0);
        let key = EffectKey { node, generation, ordinal };
        Some((key.id(session, &effect), Wanted { key, effect }))
    }

    /// When to look again though nothing happens: the end of a pause before a request.
    pub fn next_wake(&self, now: Millis) -> Option<Millis> {
        let requests =
            self.next_effects().into_iter().filter(|(_, effect)| matches!(effect, Effect::Ask { .. }));
        requests.map(|(node, _)| self.asker_of(&node).not_before).filter(|at| *at > now).min()
    }

    /// Which budget stands in the way of the next request, if one does.
    pub(super) fn budget_refusal(&self, estimate: Spend, now: Millis) -> Option<BudgetKind> {
        let active = self.account.active_ms.saturating_add(now.max(self.last_at).since(self.span_start));
        self.account.refusal(&self.settings().limits, estimate, active)
    }

    pub(super) fn asker_of(&self, node: &Option<NodeId>) -> &super::Asker {
        node.as_ref().and_then(|id| self.nodes.get(id)).map_or(&self.planning.asker, |node| &node.asker)
    }

    /// What is to be done next, whatever the clock, the budget or the user say. The plan is asked for beside what is
    /// measured of the tree; nodes wait for both.
    pub(super) fn next_effects(&self) -> Vec<(Option<NodeId>, Effect)> {
        let (Some(found), Some(head)) = (&self.found, self.head_branch()) else {
            return vec![(None, Effect::Snapshot)];
        };
        if self.probed.is_none() {
            return vec![(None, Effect::Probe)];
        }
        let planning = self.planning_effect(&head).map(|effect| (None, effect));
        planning.into_iter().chain(self.next_of_the_tree(found, &head)).collect()
    }

    /// What is next of measuring and of the nodes: one after the other, for there is one slot.
    fn next_of_the_tree(&self, found: &Found, head: &Branch) -> Option<(Option<NodeId>, Effect)> {
        let session = |effect: Effect| Some((None, effect));
        if !self.fetched {
            return session(Effect::Fetch { tree: found.base });
        }
        if let Some(effect) = self.baseline_effect(head) {
            return session(effect);
        }
        if self.verifies() {
            return self.verify_effect(found, head).and_then(session);
        }
        if !self.planned_roots.iter().all(|root| self.root_stages(root).is_some()) {
            return session(Effect::Probe);
        }
        if self.planning.work != PlanWork::Done {
            return None;
        }
        let Some(id) = &self.active else { return self.last_judgement(head).and_then(session) };
        let node = self.nodes.get(id)?;
        if let Some(effect) = self.second_look(node, head) {
            return session(effect);
        }
        self.node_effect(node, head).map(|effect| (Some(id.clone()), effect))
    }

    /// Where tests that passed before are red or missing now, the tree before is run once more: a test that wavers
    /// there too is nobody's fault.
    fn second_look(&self, node: &Node, head: &Branch) -> Option<Effect> {
        let Work::Verifying(candidate) = &node.work else { return None };
        let alone = |reading: &&ReadingSummary| {
            let [before] = self.baseline_of(&reading.stage) else { return false };
            let seen_again = self.baseline.again.contains(&stage_key(&reading.stage));
            reading.regressed
                && !seen_again
                && before.tree == head.tree
                && candidate.branch.base.id == head.tree
        };
        let stage = candidate.readings.iter().find(alone)?.stage.clone();
        Some(Self::measure(head, stage, 2))
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
        let stages = roots
            .filter_map(|root| self.root_stages(root))
            .flat_map(|stages| stages.with_role(StageRole::Required));
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
        // One that verifies looks with what there is, and says what is missing.
        let works = |stages: &&RootStages| self.verifies() || stages.missing.is_empty();
        self.probed.iter().flatten().filter(works).map(|stages| &stages.root)
    }

    pub(super) fn measure(branch: &Branch, stage: StageId, run: u32) -> Effect {
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
        for root in self.live_roots().filter(|root| self.measures_head_in(root, untouched)) {
            for stage in self.root_stages(root)?.with_role(StageRole::Required) {
                let taken = self.baseline_of(&stage);
                if taken.is_empty() {
                    return Some(Self::measure(head, stage, 1));
                }
                if stage.kind.facts().gates && !taken.iter().all(ReadingSummary::is_green) {
                    break;
                }
            }
        }
        if !untouched {
            return None;
        }
        let concerns = |root: &&RootRef| {
            let mut open = self.nodes.values().filter(|node| node.end.is_none());
            self.nodes.is_empty() || open.any(|node| node.roots.contains(root))
        };
        for root in self.live_roots().filter(concerns) {
            for stage in self.root_stages(root)?.with_role(StageRole::Required) {
                let Some(reading) = self.baseline_of(&stage).first() else { continue };
                let partly_green = match (&reading.tests, stage.kind) {
                    (Some(tests), StageKind::Test) => tests.passed > 0,
                    _ => reading.is_green(),
                };
                let key = stage_key(&stage);
                // A user's command is given its errors with each candidate, in the files that were changed.
                if partly_green && reading.by.is_language() && !self.calibrated.contains_key(&key) {
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
            Some(_) if untouched => found,
            Some(node) => node.roots.contains(root) && self.is_used(root),
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
            PlanWork::Context if self.plans_locally() => Some(Effect::PlanLocal { branch: *head }),
            PlanWork::Context => Some(Effect::Assemble {
                intent,
                attempt,
                branch: *head,
                evidence: planning.evidence.into_iter().collect(),
                analysis: None,
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
        let tier = intent.tier();
        let route = self.route(tier);
        let output = u64::from(self.output_tokens(&route, tokens));
        let cost = route.price.map(|price| price.cost(tokens, 0, output));
        let estimate = Spend::call(tokens.saturating_add(output), cost).at_most();
        let fallback = self.fallen.contains(&tier);
        let route = AskRoute { tier, model: route.model, base_url: route.base_url, fallback };
        Effect::Ask { intent, attempt, prompt, estimate, route: Some(Box::new(route)) }
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
                analysis: node.analysis.filter(|_| *intent == node.correction_intent()),
            }),
            Work::Asking { intent, prompt, tokens, .. } => {
                Some(self.ask(*intent, node.asker.attempt(*intent), *prompt, *tokens))
            }
            Work::Parsing { answer, expects, .. } => {
                Some(Effect::Parse { answer: *answer, expects: *expects })
            }
            Work::LayingOut(Laying { changes, commands }) => {
                let (changes, commands) = (*changes, commands.clone());
                Some(Effect::LayOut { base: head.base, changes, commands })
            }
            Work::Verifying(candidate) => Some(self.verification(node, candidate)),
            Work::Stable(candidate) => self.calibration_owed(candidate).or_else(|| {
                if let Some(stage) = candidate.next_new_tests(|stage| !self.against(stage).is_empty()) {
                    return Some(Effect::RunNewTests { branch: candidate.branch, stage });
                }
                let (readings, before, old_tests) = self.evidence_of(node, candidate);
                let required = self.required_of(node, candidate);
                Some(Effect::Publish { branch: candidate.branch, readings, before, old_tests, required })
            }),
        }
    }

    /// What is next for a candidate: a required stage that has not looked, the tests as they were, stages whose results
    /// are shown, then the judgement.
    fn verification(&self, node: &Node, candidate: &Candidate) -> Effect {
        if let Some(stage) = self.next_stage(node) {
            return Self::measure(&candidate.branch, stage, 1);
        }
        let had_tests = |stage: &StageId| {
            self.baseline_of(stage).iter().filter_map(|one| one.tests).any(|tests| tests.collected() > 0)
        };
        if let Some(stage) = candidate.next_old_tests(|stage| self.errors_before(stage), had_tests) {
            return Effect::RunOldTests { branch: candidate.branch, stage };
        }
        if let Some(stage) = self.next_shown_stage(node, candidate) {
            return Self::measure(&candidate.branch, stage, 1);
        }
        let (readings, before, old_tests) = self.evidence_of(node, candidate);
        let required = self.required_of(node, candidate);
        let grants = self.consents.grants.len() as u32;
        Effect::Judge { branch: candidate.branch, readings, before, old_tests, required, grants }
    }

    /// The stages that must look at a candidate: perspt's own alone where no tool reads what it changes.
    fn required_of(&self, node: &Node, candidate: &Candidate) -> Vec<StageId> {
        if candidate.is_only_prose() {
            return vec![crate::judge::structure_stage()];
        }
        self.required_stages(&self.roots_of(node, candidate))
    }

    /// The roots that look at a candidate: the node's own, and those whose tools have read what it changes.
    fn roots_of(&self, node: &Node, candidate: &Candidate) -> Vec<RootRef> {
        let others = candidate.readings.iter().flat_map(|reading| &reading.other_roots);
        let live = |root: &&RootRef| self.live_roots().any(|live| live == *root);
        let others = others.filter(live).filter(|root| !node.roots.contains(root));
        node.roots.iter().chain(others).cloned().collect()
    }

    /// The candidate's readings, those before it, and the tests as they were.
    fn evidence_of(&self, node: &Node, candidate: &Candidate) -> (Vec<BlobId>, Vec<BlobId>, Vec<BlobId>) {
        let required = self.required_of(node, candidate);
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
        let Some(looked) = of(&structure) else { return Some(structure) };
        if looked.only_prose {
            return None;
        }
        for root in &self.roots_of(node, candidate) {
            let stages = self.root_stages(root).into_iter();
            for stage in stages.flat_map(|stages| stages.with_role(StageRole::Required)) {
                let Some(reading) = of(&stage) else { return Some(stage) };
                if stage.kind.facts().gates && self.is_worse(reading) {
                    break;
                }
            }
        }
        None
    }

    /// Whether a stage did not look at a candidate, or found more errors than in the tree before.
    fn is_worse(&self, reading: &ReadingSummary) -> bool {
        reading.status != Status::Measured || reading.errors > self.errors_before(&reading.stage)
    }

    fn errors_before(&self, stage: &StageId) -> u32 {
        self.baseline_of(stage).iter().map(|one| one.errors).max().unwrap_or(0)
    }

    /// The next stage whose result is only shown. None looks at a candidate on which a required stage failed.
    fn next_shown_stage(&self, node: &Node, candidate: &Candidate) -> Option<StageId> {
        let required = self.required_of(node, candidate);
        let taken = candidate.readings.iter().chain(&candidate.old_tests);
        let failed = taken.filter(|one| required.contains(&one.stage)).any(|one| self.is_worse(one));
        if failed || candidate.is_only_prose() {
            return None;
        }
        let roots = self.roots_of(node, candidate);
        let stages = roots.iter().filter_map(|root| self.root_stages(root));
        stages
            .flat_map(|stages| stages.with_role(StageRole::Shown))
            .find(|stage| candidate.readings.iter().all(|reading| reading.stage != *stage))
    }

    /// Before a root's first green counts, each of its stages must have seen a planted error. Where no test ran
    /// there is no green to count: the evidence is owed, and the first test that runs is what is calibrated.
    fn calibration_owed(&self, candidate: &super::Candidate) -> Option<Effect> {
        let counts = |reading: &ReadingSummary| {
            let has_passed = || reading.tests.is_some_and(|tests| tests.passed > 0);
            reading.stage.kind != StageKind::Structure
                && self.role_of(&reading.stage).is_required()
                && reading.by.is_language()
                && (reading.stage.kind != StageKind::Test || has_passed())
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
