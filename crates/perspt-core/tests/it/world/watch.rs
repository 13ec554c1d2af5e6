//! What must hold of every session, whatever happens in it. The watch keeps its own accounts, from the
//! events alone, and holds the state against them.

use std::collections::{BTreeMap, BTreeSet};

use perspt_core::budget::Spend;
use perspt_core::effect::{AskRoute, Branch, Effect, EffectKey, Intent, Question};
use perspt_core::event::{
    Approval, AskNext, Calibration, Decision, Ended, Event, RepoMode, RootStages, Verdict,
};
use perspt_core::ids::{BlobId, EffectId, Millis, NodeId, TreeId};
use perspt_core::judge::structure_stage;
use perspt_core::outcome::{EndReason, FinalPass, NodeEnd, Outcome, outcome};
use perspt_core::reading::{StageId, StageKind, Status};
use perspt_core::route::{Route, Tier};
use perspt_core::stage::StageRole;
use perspt_core::state::{Held, SessionState, Stop, Work, stage_key};

type Node = Option<NodeId>;

/// The last judgement of a node: of what, from what, with what result.
struct Judged {
    branch: Branch,
    readings: Vec<BlobId>,
    old_tests: Vec<BlobId>,
    stable: bool,
    missing: u32,
}

/// The watch's own accounts.
#[derive(Default)]
pub struct Watch {
    started: BTreeMap<EffectId, (EffectKey, Effect)>,
    ended: BTreeSet<EffectId>,
    open: BTreeSet<EffectId>,
    ordinals: BTreeMap<String, u32>,
    answers: BTreeMap<(Node, Intent), u32>,
    spoiled: BTreeMap<Node, u32>,
    prompts: BTreeMap<Node, BlobId>,
    judged: BTreeMap<NodeId, (u32, TreeId)>,
    judgements: BTreeMap<NodeId, Judged>,
    failures: BTreeMap<NodeId, u32>,
    waits: BTreeMap<NodeId, u32>,
    free: BTreeSet<NodeId>,
    overtaken: BTreeSet<NodeId>,
    seen: BTreeMap<BlobId, (TreeId, StageId, bool)>,
    without_tests: BTreeSet<BlobId>,
    calibrated: BTreeSet<String>,
    committed: BTreeSet<NodeId>,
    approved: bool,
    stop: Stop,
    widest: Spend,
    made_for: BTreeMap<Node, Route>,
    lookups: BTreeMap<NodeId, u32>,
    /// Nodes whose first answer came with the plan, and those that have not read it yet.
    given: BTreeSet<NodeId>,
    unread: BTreeMap<NodeId, BlobId>,
    span: (Millis, Millis),
    active_ms: u64,
    spent: BTreeMap<Tier, Spend>,
}

fn is_shown(state: &SessionState, stage: &StageId) -> bool {
    let roots = state.probed.iter().flatten().filter(|root| root.root.plugin == stage.plugin);
    roots.flat_map(|root| root.with_role(StageRole::Shown)).any(|shown| shown == *stage)
}

impl Watch {
    /// One event went in; the state was `before` and is `after`.
    pub fn saw(&mut self, before: &SessionState, at: Millis, event: &Event, after: &SessionState) {
        self.time(at, event, after);
        match event {
            Event::EffectStarted { id, key, effect } => self.start(before, *id, key, effect),
            Event::EffectEnded { id, outcome, .. } => {
                self.end(*id, outcome);
                if let Ended::Measured { reading, .. } = outcome
                    && is_shown(before, &reading.stage)
                {
                    assert_eq!(before.degraded, after.degraded, "a shown stage held the session up");
                }
            }
            Event::AttemptJudged { node, tree, verdict, energy, .. } => {
                let generation = before.nodes[node].generation;
                let last = &self.judgements[node];
                assert_eq!(last.branch.tree, *tree, "the verdict is on another candidate");
                assert_eq!((*verdict == Verdict::Stable), last.stable && last.missing == 0);
                assert_eq!((*verdict == Verdict::Waits), last.stable && last.missing > 0);
                match verdict {
                    Verdict::Stable => {
                        assert_eq!((energy.errors, energy.unmeasured), (0, 0));
                        self.judged.insert(node.clone(), (generation, *tree));
                    }
                    Verdict::Waits => {
                        assert!(after.nodes[node].waits());
                        *self.waits.entry(node.clone()).or_default() += 1;
                    }
                    Verdict::Improved | Verdict::Discarded => {
                        *self.failures.entry(node.clone()).or_default() += 1;
                    }
                }
                if self.free.contains(node) {
                    assert_eq!(*verdict, Verdict::Stable, "{node} was permitted and is not stable");
                }
            }
            Event::SessionEnded { reason, outcome, closing, .. } => {
                assert!(before.in_flight.is_empty(), "a session ended over running effects");
                let ends = before.node_ends();
                assert_eq!(*outcome, perspt_core::outcome::outcome(*reason, &ends, *closing));
                let any = ends.contains(&NodeEnd::Committed);
                let looks = any && *reason == EndReason::NodesClosed;
                assert_eq!(closing.final_pass == FinalPass::NotNeeded, !looks);
                self.at_end(*reason, before);
            }
            Event::PauseAsked => self.stop = self.stop.max(Stop::Pause),
            Event::AbortAsked { .. } => self.stop = Stop::Abort,
            Event::SessionResumed(_) => {
                self.stop = Stop::No;
                self.frees(before, after);
            }
            Event::SessionStarted(_)
            | Event::TailCut { .. }
            | Event::BytesKept { .. }
            | Event::NodeProposed { .. }
            | Event::PlanAdopted { .. }
            | Event::TierMoved { .. }
            | Event::NodeClosed { .. } => {}
        }
        if let (Some((answer, _)), None, Some(node)) =
            (&before.planning.bundle, &after.planning.bundle, &after.active)
        {
            self.given.insert(node.clone());
            self.unread.insert(node.clone(), *answer);
            let intent = after.nodes[node].first_intent();
            self.answers.insert((Some(node.clone()), intent), 1);
        }
        self.counts(after);
    }

    /// What waited with all it needs permitted now, over the tree as it is, is judged and published with no request.
    fn frees(&mut self, before: &SessionState, after: &SessionState) {
        self.free.clear();
        if before.end.as_ref().is_some_and(|end| end.reason == EndReason::Degraded) {
            return;
        }
        for (id, node) in before.nodes.iter().filter(|(_, node)| node.waits()) {
            let Work::Waiting(wait) = &node.work else { panic!("{id} waits for nothing") };
            let Held::Candidate(candidate) = &wait.held else { continue };
            let permitted =
                wait.count as usize == wait.needs.len() && after.consents.missing(&wait.needs).is_empty();
            if permitted && Some(candidate.branch.base) == before.head {
                self.free.insert(id.clone());
            }
        }
    }

    /// Dead time between a crash and a resume is nobody's work.
    fn time(&mut self, at: Millis, event: &Event, after: &SessionState) {
        match event {
            Event::SessionStarted(_) => self.span = (at, at),
            Event::SessionResumed(_) => {
                self.active_ms += self.span.1.since(self.span.0);
                self.span = (at, at);
            }
            Event::TailCut { .. }
            | Event::BytesKept { .. }
            | Event::EffectEnded { outcome: Ended::Lost, .. } => {}
            _ => self.span.1 = at,
        }
        assert_eq!(after.active_ms(), self.active_ms + self.span.1.since(self.span.0));
    }

    fn start(&mut self, before: &SessionState, id: EffectId, key: &EffectKey, effect: &Effect) {
        let session = &before.meta.as_ref().unwrap().session;
        assert_eq!(id, key.id(session, effect));
        assert!(self.started.insert(id, (key.clone(), effect.clone())).is_none(), "{key:?} started twice");
        self.open.insert(id);
        assert_eq!(self.stop, Stop::No, "something new was started though the user asked to stop");
        assert!(before.end.is_none());
        let beside = before.in_flight.values().filter(|flight| flight.effect.asks() == effect.asks());
        assert_eq!(beside.count(), 0, "only the plan may be asked for beside what is measured");
        assert!(before.in_flight.is_empty() || key.node.is_none(), "a node waits for the plan and the tree");
        let kind = format!("{:?} {} {:?}", key.node, key.generation, effect.kind());
        let count = self.ordinals.entry(kind).or_default();
        assert_eq!(key.ordinal, *count);
        *count += 1;
        if let Some(given) = key.node.as_ref().and_then(|id| self.unread.remove(id)) {
            let reads = matches!(effect, Effect::Parse { answer, .. } if *answer == given);
            assert!(reads, "an answer that came with the plan is read first");
        }
        match effect {
            Effect::Ask { intent, attempt, prompt, estimate, route } => {
                self.routed(before, &key.node, *intent, route.as_deref());
                let freed = key.node.as_ref().is_some_and(|id| self.free.contains(id));
                assert!(!freed, "a candidate that lacks nothing is paid for again");
                self.asks(before, &key.node, *intent, *attempt, *prompt);
                self.widest.steps = self.widest.steps.max(estimate.steps);
                self.widest.tokens = self.widest.tokens.max(estimate.tokens);
                self.widest.cost = self.widest.cost.max(estimate.cost);
            }
            Effect::Assemble { intent, attempt, .. } => {
                assert_eq!(*attempt, self.tag(&key.node, *intent));
                self.made_for.insert(key.node.clone(), before.route(intent.tier()));
                self.overtaken.retain(|id| Some(id) != key.node.as_ref());
            }
            Effect::LayOut { .. } => {
                let overtaken = key.node.as_ref().is_some_and(|id| self.overtaken.contains(id));
                assert!(!overtaken, "an answer is laid over what somebody wrote after it was asked for");
            }
            Effect::Publish { branch, readings, old_tests, required, .. } => {
                let node = key.node.as_ref().unwrap();
                assert_eq!(self.judged.get(node), Some(&(key.generation, branch.tree)));
                let last = &self.judgements[node];
                assert!(last.branch == *branch && last.stable && last.missing == 0, "published unjudged");
                assert_eq!((&last.readings, &last.old_tests), (readings, old_tests));
                self.proved(branch.tree, readings, required);
            }
            Effect::Question { question: Question::Consents { needs, count, .. } } => {
                let node = &before.nodes[key.node.as_ref().unwrap()];
                assert!(node.waits() && *count > 0 && *count as usize >= needs.len());
                assert_eq!(before.meta.as_ref().unwrap().approval, Approval::Person);
            }
            Effect::RunOldTests { branch, stage } => {
                let node = &before.nodes[key.node.as_ref().unwrap()];
                let Work::Verifying(candidate) = &node.work else { panic!("not verifying") };
                assert_eq!(candidate.branch, *branch);
                assert!(candidate.old_tests.iter().all(|one| one.stage != *stage), "run twice");
                assert!(!before.baseline_of(stage).is_empty(), "there were no tests before");
            }
            Effect::RunNewTests { branch, stage } => {
                let node = &before.nodes[key.node.as_ref().unwrap()];
                let Work::Stable(candidate) = &node.work else {
                    panic!("only what is stable shows its new tests")
                };
                assert_eq!(candidate.branch, *branch);
                assert!(candidate.new_tests.iter().all(|(taken, _)| taken != stage), "run twice");
            }
            Effect::Measure { stage, .. } => {
                self.gated(before, &key.node, stage);
                if is_shown(before, stage) {
                    self.shown(before, key.node.as_ref().unwrap(), stage);
                }
            }
            Effect::Calibrate { stage, .. } => assert!(!is_shown(before, stage), "nothing counts on it"),
            _ => {}
        }
    }

    /// A request goes to the tier's model, with a prompt that was made for it.
    fn routed(&self, before: &SessionState, node: &Node, intent: Intent, route: Option<&AskRoute>) {
        let (route, now) = (route.unwrap(), before.route(intent.tier()));
        assert_eq!(route.tier, intent.tier());
        assert_eq!((&route.model, &route.base_url), (&now.model, &now.base_url));
        assert_eq!(route.fallback, before.fallen.contains(&route.tier));
        assert_eq!(self.made_for.get(node), Some(&now), "the prompt was made for another model");
    }

    fn tag(&self, node: &Node, intent: Intent) -> u32 {
        self.answers.get(&(node.clone(), intent)).copied().unwrap_or(0) + 1
    }

    fn asks(&self, before: &SessionState, node: &Node, intent: Intent, attempt: u32, prompt: BlobId) {
        assert_eq!(attempt, self.tag(node, intent), "the tag line's number");
        assert_eq!(Some(&prompt), self.prompts.get(node), "a repeat sends the same bytes");
        if node.is_some() {
            assert!(self.approved, "a node was paid for before the plan was approved");
        }
        // Before a node's first answer is paid for, every root that can be measured has been.
        let found = before.found.as_ref().unwrap();
        if found.repo_mode == RepoMode::Existing && self.committed.is_empty() && node.is_some() {
            let live = |root: &&RootStages| root.missing.is_empty() && found.roots.contains(&root.root);
            for root in before.probed.iter().flatten().filter(live) {
                let looked = |(tree, stage, _): &(TreeId, StageId, bool)| {
                    *tree == found.base.id && stage.root == root.root.dir && stage.plugin == root.root.plugin
                };
                assert!(self.seen.values().any(looked), "{:?} was not measured", root.root);
            }
        }
    }

    /// Every required stage looked at this very tree, and is known to see.
    fn proved(&self, tree: TreeId, readings: &[BlobId], required: &[StageId]) {
        assert!(required.contains(&structure_stage()));
        for stage in required {
            let of_stage = |blob: &&BlobId| self.seen.get(blob).is_some_and(|(_, by, _)| by == stage);
            let own: Vec<&BlobId> = readings.iter().filter(of_stage).collect();
            assert_eq!(own.len(), 1, "{stage:?} did not look");
            let (on, _, sound) = &self.seen[own[0]];
            assert!(*on == tree && *sound, "{stage:?} does not prove the tree");
            let empty = self.without_tests.contains(own[0]);
            let sees =
                stage.kind == StageKind::Structure || empty || self.calibrated.contains(&stage_key(stage));
            assert!(sees, "{stage:?} was never shown to see");
        }
    }

    /// Tests are not run on a root that does not compile.
    fn gated(&self, before: &SessionState, node: &Node, stage: &StageId) {
        let Some(node) = node.as_ref().and_then(|id| before.nodes.get(id)) else { return };
        let Work::Verifying(candidate) = &node.work else { panic!("not verifying") };
        let earlier = candidate.readings.iter().filter(|reading| {
            let gate = reading.stage.kind.facts().gates && !is_shown(before, &reading.stage);
            gate && reading.stage.root == stage.root && reading.stage.plugin == stage.plugin
        });
        let before = |stage| before.baseline_of(stage).iter().map(|one| one.errors).max().unwrap_or(0);
        for reading in earlier {
            assert_eq!(reading.status, Status::Measured);
            assert!(reading.errors <= before(&reading.stage), "a root that does not compile was tested");
        }
        assert!(candidate.readings.iter().all(|reading| reading.stage != *stage), "measured twice");
    }

    /// A shown stage looks last, and at nothing on which a required one failed.
    fn shown(&self, before: &SessionState, node: &NodeId, stage: &StageId) {
        let Work::Verifying(candidate) = &before.nodes[node].work else { panic!("not verifying") };
        for required in before.probed.iter().flatten().filter(|root| root.root.dir == stage.root) {
            for stage in required.with_role(StageRole::Required) {
                assert!(candidate.readings.iter().any(|reading| reading.stage == stage), "{stage:?} waits");
            }
        }
        let errors = |stage| before.baseline_of(stage).iter().map(|one| one.errors).max().unwrap_or(0);
        for reading in candidate.readings.iter().filter(|reading| !is_shown(before, &reading.stage)) {
            assert!(reading.status == Status::Measured && reading.errors <= errors(&reading.stage));
        }
    }

    fn end(&mut self, id: EffectId, outcome: &Ended) {
        assert!(self.ended.insert(id) && self.open.remove(&id), "an effect ended twice");
        let (key, effect) = self.started[&id].clone();
        self.charged(&effect, outcome);
        match outcome {
            Ended::BundleParsed { requests, .. } if !requests.is_empty() => {
                *self.lookups.entry(key.node.unwrap()).or_default() += 1;
            }
            Ended::Answered { .. } => {
                let Effect::Ask { intent, .. } = effect else { panic!("{effect:?}") };
                *self.answers.entry((key.node, intent)).or_default() += 1;
            }
            Ended::AskFailed { next: AskNext::Malformed, .. } => {
                let Effect::Ask { intent, .. } = effect else { panic!("{effect:?}") };
                if intent != Intent::Analysis {
                    *self.spoiled.entry(key.node).or_default() += 1;
                }
            }
            Ended::Assembled { prompt, .. } => {
                self.prompts.insert(key.node, *prompt);
            }
            Ended::Measured { reading, .. } => {
                let looked = reading.status == Status::Measured;
                self.seen.insert(reading.blob, (reading.tree, reading.stage.clone(), looked));
                if reading.stage.kind == StageKind::Test
                    && reading.tests.is_none_or(|tests| tests.passed == 0)
                {
                    self.without_tests.insert(reading.blob);
                }
            }
            Ended::Calibrated { verdict: Calibration::Sees(_) | Calibration::Remembered, .. } => {
                let Effect::Calibrate { stage, .. } = effect else { panic!("{effect:?}") };
                self.calibrated.insert(stage_key(&stage));
            }
            Ended::Calibrated { verdict: Calibration::Blind(_) | Calibration::Unmeasured(_), .. } => {
                let Effect::Calibrate { stage, .. } = effect else { panic!("{effect:?}") };
                // What a blind sensor called clean is not known to be.
                self.free.clear();
                self.seen.values_mut().filter(|(_, by, _)| *by == stage).for_each(|seen| seen.2 = false);
            }
            Ended::Judged { judgement } => {
                let Effect::Judge { branch, readings, old_tests, .. } = effect else { panic!("{effect:?}") };
                let Some(node) = key.node else { return };
                let stable = judgement.energy.errors == 0 && judgement.energy.unmeasured == 0;
                let missing = judgement.missing_count;
                self.judgements.insert(node, Judged { branch, readings, old_tests, stable, missing });
            }
            Ended::BaseMoved { .. } => {
                self.free.clear();
            }
            Ended::Overtaken { .. } => self.overtaken.extend(key.node),
            Ended::Decided { answer: Decision::Yes, .. } => self.approved = true,
            Ended::Decided { answer: Decision::Correct(_), .. } => {
                if let Some(node) = key.node {
                    *self.waits.entry(node).or_default() += 1;
                }
            }
            Ended::Published { commit, .. } => {
                assert_eq!(self.judged.get(&commit.node), Some(&(key.generation, commit.tree)));
                assert!(self.committed.insert(commit.node.clone()), "committed twice");
                // What others have waiting lies over the tree of before.
                self.free.clear();
            }
            _ => {}
        }
    }

    /// Every call counts once, for its tier. Money counts only where a price is known.
    fn charged(&mut self, effect: &Effect, outcome: &Ended) {
        let Effect::Ask { intent, estimate, .. } = effect else { return };
        let call = |tokens: u64, cost: Option<u64>| match cost {
            Some(cost) => Spend { steps: 1, tokens, cost, unpriced: 0, bounded: 0 },
            None => Spend { steps: 1, tokens, cost: 0, unpriced: 1, bounded: 0 },
        };
        let spent = match outcome {
            Ended::Answered { tokens_in: Some(read), tokens_out: Some(wrote), cost, .. } => {
                call(read + wrote, *cost)
            }
            Ended::Answered { tokens_estimated: Some(tokens), cost, .. } => call(*tokens, *cost),
            Ended::AskFailed { tokens: Some(tokens), cost, .. } => call(*tokens, *cost),
            Ended::AskFailed { next, began: false, .. } if *next != AskNext::Malformed => call(0, Some(0)),
            _ => *estimate,
        };
        let tier = self.spent.entry(intent.tier()).or_default();
        *tier = tier.plus(spent);
    }

    /// What must hold after every event.
    fn counts(&self, state: &SessionState) {
        let settings = state.settings();
        let account = &state.account;
        assert_eq!(account.tiers, self.spent);
        let all = account.tiers.values().fold(Spend::default(), |sum, tier| sum.plus(*tier));
        assert_eq!(all, account.used);
        let taken = account.used.plus(account.reserved);
        assert!(taken.steps <= settings.limits.steps.max(self.widest.steps));
        assert!(taken.tokens <= settings.limits.tokens.saturating_add(self.widest.tokens));
        let most = settings.limits.cost.unwrap_or(u64::MAX);
        assert!(taken.cost <= most.saturating_add(self.widest.cost));
        assert!(
            self.open.iter().eq(state.in_flight.keys()),
            "what runs is what was started and has not ended"
        );
        if self.open.is_empty() {
            assert_eq!(account.reserved, Spend::default());
        }
        for (id, node) in &state.nodes {
            let own = self.answers.iter().filter(|((by, _), _)| by.as_ref() == Some(id));
            let (explained, answered): (Vec<_>, Vec<_>) =
                own.partition(|((_, intent), _)| *intent == Intent::Analysis);
            let sum = |counts: Vec<(_, &u32)>| counts.into_iter().map(|(_, count)| *count).sum::<u32>();
            let lookups = self.lookups.get(id).copied().unwrap_or(0).min(3);
            let answered = sum(answered) - lookups;
            let spoiled = self.spoiled.get(&Some(id.clone())).copied().unwrap_or(0);
            assert_eq!(node.answers_used(), answered + spoiled);
            let most = settings.answers.max(u32::from(self.given.contains(id)));
            assert!(answered + spoiled <= most, "{id} had more answers than it may");
            let failures = self.failures.get(id).copied().unwrap_or(0);
            assert!(sum(explained) <= failures, "one failure was explained twice");
            assert_eq!(node.corrections, failures);
            let waits = self.waits.get(id).copied().unwrap_or(0) + u32::from(node.asks_red);
            assert!(failures <= settings.corrections + 1 + waits);
            assert_eq!(node.end == Some(NodeEnd::Committed), self.committed.contains(id));
        }
        let asked: u32 =
            self.answers.iter().filter(|((by, _), _)| by.is_none()).map(|(_, count)| count).sum();
        let spoiled = self.spoiled.get(&None).copied().unwrap_or(0);
        assert!(asked + spoiled <= settings.plan_tries, "the architect had more answers than it may");
    }

    fn at_end(&self, reason: EndReason, state: &SessionState) {
        assert_eq!(reason == EndReason::Aborted, self.stop == Stop::Abort);
        if self.stop == Stop::Abort {
            assert_eq!(outcome(reason, &state.node_ends(), Default::default()), Outcome::Interrupted);
            assert_eq!(Outcome::Interrupted.exit_code(), 130);
        }
        let lost = |id: &NodeId| {
            matches!(state.nodes[id].end, Some(NodeEnd::Escalated | NodeEnd::Blocked | NodeEnd::Rejected))
        };
        if reason == EndReason::NodesClosed && state.node_ends().contains(&NodeEnd::Rejected) {
            assert_eq!(outcome(reason, &state.node_ends(), Default::default()), Outcome::Refused);
        }
        if reason == EndReason::Consents {
            assert!(state.nodes.values().any(|node| node.waits()), "nothing waits");
            assert!(self.free.is_empty(), "something that lacks nothing was left behind");
            for node in state.nodes.values().filter(|node| node.end.is_none() && !node.waits()) {
                let ready = node.spec.dependencies.iter().all(|id| self.committed.contains(id));
                assert!(!ready, "{} could go on", node.spec.id);
            }
        }
        for node in state.nodes.values() {
            let cut_off = node.spec.dependencies.iter().any(lost);
            if reason == EndReason::NodesClosed {
                assert!(node.end.is_some(), "{} is open", node.spec.id);
                assert_eq!(node.end == Some(NodeEnd::Blocked), cut_off, "{}", node.spec.id);
            }
            if node.end == Some(NodeEnd::Blocked) {
                assert!(cut_off && !self.answers.keys().any(|(by, _)| by.as_ref() == Some(&node.spec.id)));
            }
        }
    }

    /// What must hold of the two questions the loop asks, at any moment.
    pub fn looks(&self, state: &SessionState, now: Millis) {
        let wanted = state.wanted(now);
        let due = state.due(now);
        assert!(wanted.keys().all(|id| !self.ended.contains(id)), "an ended effect is wanted again");
        let new = wanted.keys().filter(|id| !state.in_flight.contains_key(id)).count();
        assert!(new <= 2 && wanted.len() <= 2);
        if state.end.is_some() {
            assert!(wanted.is_empty() && due.is_none(), "something goes on after the end");
        }
        if due.is_some() || state.stop != Stop::No {
            assert_eq!(new, 0);
        }
        for (id, flight) in &state.in_flight {
            if matches!(flight.effect, Effect::Publish { .. }) {
                assert!(wanted.contains_key(id), "a started publish is no longer wanted");
            }
        }
    }
}
