//! The fold. Each event changes the state in one way; an outcome that is not in flight, or of an older
//! generation, changes nothing.

use super::node::{Candidate, Failure, Node, Work};
use super::{End, Found, InFlight, PlanWork, SessionState, Stop, stage_key};
use crate::budget::Spend;
use crate::effect::{Branch, Effect, Intent};
use crate::energy::{Energy, ReadingSummary};
use crate::event::{
    AskNext, Calibration, Closed, Decision, Ended, Event, MissingTool, RetryClass, RootRef, SessionResumed,
    Trouble, Verdict,
};
use crate::ids::{BlobId, EffectId, Millis, NodeId};
use crate::outcome::{EndReason, NodeEnd};
use crate::path::RelPath;
use crate::reading::{StageId, StageKind, Status};

/// The longest that a provider may ask to wait.
const LONGEST_WAIT_MS: u64 = 10 * 60_000;

impl SessionState {
    /// Folds one event in. `at` is the time its record carries.
    pub fn apply(&mut self, at: Millis, event: &Event) {
        if self.meta.is_none() && !matches!(event, Event::SessionStarted(_)) {
            return;
        }
        // What a later process writes about one that died says nothing of when that one worked.
        let of_the_dead = matches!(
            event,
            Event::SessionResumed(_)
                | Event::TailCut { .. }
                | Event::BytesKept { .. }
                | Event::EffectEnded { outcome: Ended::Lost, .. }
        );
        if !of_the_dead {
            self.last_at = self.last_at.max(at);
        }
        match event {
            Event::SessionStarted(meta) => {
                if self.meta.is_none() {
                    self.span_start = at;
                    self.meta = Some((**meta).clone());
                }
            }
            Event::SessionResumed(resumed) => self.resumed(at, resumed),
            Event::TailCut { .. } => {}
            Event::BytesKept { path, place } => self.kept.push((path.clone(), place.clone())),
            Event::EffectStarted { id, key, effect } => {
                let ordinal = Self::ordinal_key(key.node.as_ref(), key.generation, effect.stage());
                let count = self.ordinals.entry(ordinal).or_insert(0);
                *count = (*count).max(key.ordinal.saturating_add(1));
                if matches!(effect, Effect::Parse { .. }) && key.node.is_none() {
                    self.planning.proposal.clear();
                }
                let started = InFlight { key: key.clone(), effect: effect.clone() };
                if self.in_flight.insert(*id, started).is_none() {
                    self.account.reserved = self.account.reserved.plus(effect.reserve());
                }
            }
            Event::EffectEnded { id, outcome } => self.ended(at, *id, outcome),
            Event::NodeProposed { by, node, roots } => {
                if self.in_flight.contains_key(by) {
                    self.planning.proposal.push(((**node).clone(), roots.clone()));
                }
            }
            Event::PlanAdopted { revision, source, plan, .. } => {
                self.order.clear();
                self.nodes.clear();
                for (spec, roots) in std::mem::take(&mut self.planning.proposal) {
                    self.order.push(spec.id.clone());
                    self.nodes.insert(spec.id.clone(), Node::new(spec, roots));
                }
                self.planning.adopted = Some((*plan, *revision, *source));
                self.planning.work = PlanWork::Approval;
                self.check_planned_roots();
            }
            Event::AttemptJudged { node, energy, verdict, reason, .. } => {
                self.judged(node, energy, *verdict, reason.as_deref());
            }
            Event::NodeClosed { node, end } => {
                let end = match end {
                    Closed::Escalated { .. } => NodeEnd::Escalated,
                    Closed::Blocked { .. } => NodeEnd::Blocked,
                };
                if let Some(node) = self.nodes.get_mut(node)
                    && node.end.is_none()
                {
                    node.close(end);
                }
                if self.active.as_ref() == Some(node) {
                    self.active = None;
                }
                self.choose_active();
            }
            Event::PauseAsked => self.stop = self.stop.max(Stop::Pause),
            Event::AbortAsked { .. } => {
                self.stop = Stop::Abort;
                // What had ended only for now comes to its last end.
                self.end.take_if(|end| end.reason.is_resumable());
            }
            Event::SessionEnded { reason, outcome, trouble, owed, .. } => {
                if !reason.is_resumable() {
                    self.edited.clear();
                }
                self.end = Some(End {
                    reason: *reason,
                    outcome: *outcome,
                    trouble: trouble.clone(),
                    owed: owed.clone(),
                });
            }
        }
    }

    fn resumed(&mut self, at: Millis, resumed: &SessionResumed) {
        self.account.active_ms = self.active_ms();
        self.span_start = at.max(self.last_at);
        self.last_at = self.span_start;
        if let Some(meta) = &mut self.meta {
            if let Some(model) = &resumed.model {
                meta.model.clone_from(model);
            }
            if resumed.base_url.is_some() {
                meta.base_url.clone_from(&resumed.base_url);
            }
            meta.approval = resumed.approval.unwrap_or(meta.approval);
            meta.settings.limits = resumed.limits.unwrap_or(meta.settings.limits);
        }
        if self.end.as_ref().is_some_and(|end| !end.reason.is_resumable()) {
            return;
        }
        if self.end.as_ref().is_some_and(|end| end.reason == EndReason::Degraded) {
            self.forget_sensors();
        }
        self.end = None;
        self.stop = Stop::No;
        self.refused = false;
        self.broke = None;
        self.provider = None;
        self.planning.asker.failures = 0;
        self.planning.asker.not_before = Millis(0);
        for node in self.nodes.values_mut() {
            node.asker.failures = 0;
            node.asker.not_before = Millis(0);
        }
    }

    /// After a degraded end the machine may have been mended: every sensor is looked at again.
    fn forget_sensors(&mut self) {
        self.degraded = None;
        self.probed = None;
        self.fetched = false;
        self.calibrated
            .retain(|_, verdict| matches!(verdict, Calibration::Sees(_) | Calibration::Remembered));
        self.put_off.clear();
        self.baseline.readings.clear();
        if self.head == self.found.as_ref().map(|found| found.base) {
            self.first_baseline.clear();
        }
        for node in self.nodes.values_mut() {
            // What a sensor called stable that was then found blind has to be shown again.
            node.work = match std::mem::take(&mut node.work) {
                Work::Verifying(mut candidate) | Work::Stable(mut candidate) => {
                    candidate.readings.clear();
                    candidate.energy = None;
                    Work::Verifying(candidate)
                }
                other => other,
            };
        }
    }

    fn ended(&mut self, at: Millis, id: EffectId, outcome: &Ended) {
        let Some(InFlight { key, effect }) = self.in_flight.remove(&id) else { return };
        self.account.reserved = self.account.reserved.minus(effect.reserve());
        self.account.used = self.account.used.plus(charged(&effect, outcome));
        if key.generation != self.generation_of(key.node.as_ref()) {
            return;
        }
        // What was asked or measured for a node that is closed is nobody's any more, least of all the architect's.
        let closed = key.node.is_some() && self.node_mut(&key.node).is_none();
        match outcome {
            Ended::Lost | Ended::Cancelled => {}
            Ended::Assembled { .. }
            | Ended::Answered { .. }
            | Ended::AskFailed { .. }
            | Ended::Measured { .. }
                if closed => {}
            Ended::Broke { trouble } => self.broke = Some(trouble.clone()),
            Ended::Unworkable { trouble } => self.unworkable = Some(trouble.clone()),
            Ended::Snapshotted { tree, files, repo_mode, roots, .. } => {
                let (files, repo_mode, roots) = (*files, *repo_mode, roots.clone());
                self.found = Some(Found { base: *tree, files, repo_mode, roots });
                self.parent = tree.id.0;
                self.move_head(*tree);
            }
            Ended::Probed { roots, detail, .. } => {
                self.probe_detail = Some(*detail);
                if roots.iter().all(|root| !root.missing.is_empty()) {
                    self.degraded = roots.iter().flat_map(|root| root.missing.first()).next().cloned();
                }
                self.probed = Some(roots.clone());
                self.check_planned_roots();
            }
            Ended::Fetched { .. } => self.fetched = true,
            Ended::LaidOut { tree, changes, diff, .. } => {
                if let (Some(node), Effect::LayOut { base, .. }) = (self.node_mut(&key.node), &effect) {
                    let branch = Branch { base: *base, changes: Some(*changes), tree: *tree };
                    let candidate = Candidate { branch, diff: diff.clone(), readings: vec![], energy: None };
                    node.work = Work::Verifying(Box::new(candidate));
                }
            }
            Ended::Measured { reading, environment, .. } => {
                self.measured(&key.node, &effect, reading, environment);
            }
            Ended::Calibrated { verdict, .. } => {
                if let Effect::Calibrate { stage, .. } = &effect {
                    self.calibrated(&key.node, stage, verdict);
                }
            }
            Ended::Assembled { prompt, files, tokens, .. } => {
                self.assembled(&key.node, &effect, *prompt, files, *tokens);
            }
            Ended::Answered { answer, capture, .. } => {
                let Effect::Ask { intent, .. } = effect else { return };
                let asker = self.asker_mut(&key.node);
                *asker.answers.entry(intent).or_insert(0) += 1;
                asker.failures = 0;
                asker.last_failure = None;
                match self.node_mut(&key.node) {
                    Some(node) => {
                        node.same_answer.note(capture.hash);
                        node.work = Work::Parsing { answer: *answer };
                    }
                    None => self.planning.work = PlanWork::Parsing { answer: *answer },
                }
            }
            Ended::AskFailed { class, what, next, .. } => self.ask_failed(at, &key.node, class, what, *next),
            Ended::PlanParsed { proposed, evidence, .. } => {
                self.planning.evidence = *evidence;
                match proposed {
                    Some(source) => self.planning.work = PlanWork::Proposed(*source),
                    None => {
                        self.planning.rejected += 1;
                        self.planning.work = PlanWork::Context;
                    }
                }
            }
            Ended::BundleParsed { changes, retry, violations, evidence, .. } => {
                self.bundle_parsed(&key.node, *changes, *retry, violations, *evidence);
            }
            Ended::Decided { answer, .. } => match answer {
                Decision::Yes => {
                    self.planning.work = PlanWork::Done;
                    self.choose_active();
                }
                Decision::No => self.refused = true,
            },
            Ended::Published { commit, head } => self.published(commit, *head),
            Ended::BaseMoved { head, changed, more } => self.base_moved(&key.node, *head, changed, *more),
        }
    }

    pub(super) fn node_mut(&mut self, id: &Option<NodeId>) -> Option<&mut Node> {
        self.nodes.get_mut(id.as_ref()?).filter(|node| node.end.is_none())
    }

    fn asker_mut(&mut self, id: &Option<NodeId>) -> &mut super::Asker {
        match id.as_ref().and_then(|id| self.nodes.get_mut(id)) {
            Some(node) => &mut node.asker,
            None => &mut self.planning.asker,
        }
    }

    /// A node whose root cannot be measured is the machine's fault: the session stops, and can go on.
    fn check_planned_roots(&mut self) {
        let Some(probed) = &self.probed else { return };
        let open = self.nodes.values().filter(|node| node.end.is_none());
        let missing = open.flat_map(|node| &node.roots).find_map(|root| {
            probed.iter().find(|stages| stages.root == *root).and_then(|stages| stages.missing.first())
        });
        if let Some(missing) = missing {
            self.degraded = Some(missing.clone());
        }
    }

    /// Before there is a plan, a root that cannot be measured is in the way only of nodes that touch it, as one whose
    /// tools are missing is.
    fn cannot_measure(&mut self, stage: &StageId, missing: &MissingTool) {
        let here = |root: &RootRef| root.dir == stage.root && root.plugin == stage.plugin;
        let others = self.live_roots().any(|root| !here(root));
        let known = self.probed.iter_mut().flatten().find(|stages| here(&stages.root));
        match known.filter(|_| others && self.nodes.is_empty()) {
            Some(stages) => stages.missing.push(missing.clone()),
            None => self.degraded = Some(missing.clone()),
        }
    }

    fn measured(
        &mut self,
        node: &Option<NodeId>,
        effect: &Effect,
        reading: &ReadingSummary,
        environment: &Option<MissingTool>,
    ) {
        if let Some(missing) = environment {
            self.cannot_measure(&reading.stage, missing);
        }
        let Effect::Measure { branch, stage, .. } = effect else { return };
        if reading.tree != branch.tree || reading.stage != *stage {
            return;
        }
        if let Status::Unavailable(why) = &reading.status
            && self.degraded.is_none()
        {
            self.degraded = Some(MissingTool {
                tool: reading.tool.clone(),
                why: why.clone(),
                install: "see `perspt doctor`".to_owned(),
            });
        }
        match self.node_mut(node) {
            Some(node) => {
                if let Work::Verifying(candidate) = &mut node.work
                    && candidate.branch == *branch
                {
                    candidate.readings.push(reading.clone());
                }
            }
            None => {
                let first = self.found.as_ref().is_some_and(|found| found.base.id == branch.tree);
                if first {
                    self.first_baseline.entry(stage_key(stage)).or_default().push(reading.blob);
                }
                if self.head.is_some_and(|head| head.id == branch.tree) {
                    self.baseline.readings.entry(stage_key(stage)).or_default().push(reading.clone());
                }
            }
        }
    }

    /// Tests that do not reach the code before anything was done may be what the task is about: they are looked at
    /// again with the first candidate. Everything else that does not see cannot be used.
    fn calibrated(&mut self, node: &Option<NodeId>, stage: &StageId, verdict: &Calibration) {
        let key = stage_key(stage);
        if let (Calibration::Unreached(_), None) = (verdict, node) {
            self.put_off.insert(key);
            return;
        }
        if let Calibration::Blind(plant) | Calibration::Unreached(plant) = verdict {
            let tool = self.tool_of(stage);
            self.degraded = Some(MissingTool {
                why: format!("{tool} stayed green in `{}` over a planted error ({plant})", stage.root),
                install: match stage.kind {
                    StageKind::Test => {
                        "the tests must import and call the code of this folder itself, \
                                        not an installed copy; add one that does"
                    }
                    StageKind::Structure | StageKind::Syntax | StageKind::Build => {
                        "the project's own configuration must let its tools see the files of this folder"
                    }
                }
                .to_owned(),
                tool,
            });
        }
        if let Calibration::Unmeasured(why) = verdict {
            self.degraded = Some(MissingTool {
                tool: self.tool_of(stage),
                why: why.clone(),
                install: "make the project's own tests run on this machine, then `perspt resume`".to_owned(),
            });
        }
        self.calibrated.insert(key, verdict.clone());
    }

    fn assembled(
        &mut self,
        node: &Option<NodeId>,
        effect: &Effect,
        prompt: BlobId,
        files: &[RelPath],
        tokens: u64,
    ) {
        let Effect::Assemble { intent, .. } = effect else { return };
        match self.node_mut(node) {
            Some(node) => {
                for file in files {
                    if !node.reads.contains(file) {
                        node.reads.push(file.clone());
                    }
                }
                node.prompt = Some(prompt);
                node.work = Work::Asking { intent: *intent, prompt, tokens };
            }
            None => self.planning.work = PlanWork::Asking { prompt, tokens },
        }
    }

    fn ask_failed(&mut self, at: Millis, node: &Option<NodeId>, class: &str, what: &str, next: AskNext) {
        let settings = self.settings();
        if next == AskNext::Malformed {
            self.spoiled(node, what);
            return;
        }
        let asker = self.asker_mut(node);
        asker.failures = asker.failures.saturating_add(1);
        asker.last_failure = Some(what.to_owned());
        let too_long = matches!(next, AskNext::Again(Some(told)) if told > LONGEST_WAIT_MS);
        let given_up = next == AskNext::Unusable || too_long || asker.failures >= settings.ask_tries;
        if let AskNext::Again(told) = next {
            // Jitter comes from what is in the log, so that the fold stays a function of it.
            let doubled = settings.backoff_ms.saturating_mul(1 << asker.failures.min(6).saturating_sub(1));
            let jitter = at.0 % (doubled / 4 + 1);
            asker.not_before = at.plus(told.unwrap_or(0).max(doubled.saturating_add(jitter)));
        }
        if given_up {
            let tries = match asker.failures {
                1 => "1 request".to_owned(),
                tries => format!("{tries} requests"),
            };
            let minutes = LONGEST_WAIT_MS / 60_000;
            let wait = if too_long {
                format!(" (perspt waits {minutes} minutes at the most)")
            } else {
                String::new()
            };
            self.provider = Some(Trouble {
                what: format!("the model could not be used ({class}, after {tries})"),
                why: format!("{what}{wait}"),
                todo: "mend the endpoint, key or model, then `perspt resume` goes on from here".to_owned(),
            });
        }
    }

    /// An answer the provider cut off or filtered: an attempt is gone, and the next prompt says why.
    fn spoiled(&mut self, node: &Option<NodeId>, what: &str) {
        match self.node_mut(node) {
            Some(node) => {
                node.spoiled = node.spoiled.saturating_add(1);
                node.attempts = node.attempts.saturating_add(1);
                node.failure = Some(Failure {
                    class: RetryClass::Malformed,
                    reason: what.to_owned(),
                    evidence: vec![],
                    lines: vec![what.to_owned()],
                });
                node.work = Work::Context(Intent::Malformed);
            }
            None => {
                self.planning.rejected = self.planning.rejected.saturating_add(1);
                let out_of_tries = self.planning.rejected >= self.settings().plan_tries;
                // Reading an empty answer is how the fallback graph is proposed without another request.
                self.planning.work = if out_of_tries {
                    PlanWork::Parsing { answer: BlobId::of(b"") }
                } else {
                    PlanWork::Context
                };
            }
        }
    }

    fn bundle_parsed(
        &mut self,
        node: &Option<NodeId>,
        changes: Option<BlobId>,
        retry: Option<RetryClass>,
        violations: &[String],
        evidence: Option<BlobId>,
    ) {
        let Some(node) = self.node_mut(node) else { return };
        if let Some(changes) = changes {
            node.work = Work::LayingOut { changes };
            return;
        }
        let class = retry.unwrap_or(RetryClass::Malformed);
        node.attempts = node.attempts.saturating_add(1);
        node.failure = Some(Failure {
            class,
            reason: violations.first().cloned().unwrap_or_else(|| class.as_str().to_owned()),
            evidence: evidence.into_iter().collect(),
            lines: violations.to_vec(),
        });
        node.work = match class {
            RetryClass::Malformed => Work::Context(Intent::Malformed),
            RetryClass::Retarget => Work::Context(Intent::Retarget),
            RetryClass::Correction => Work::Context(Intent::Correction),
            // `due` closes the node before anything is wanted of it.
            RetryClass::Replan => Work::Context(Intent::Retarget),
        };
    }

    fn judged(&mut self, id: &NodeId, energy: &Energy, verdict: Verdict, reason: Option<&str>) {
        let Some(node) = self.nodes.get_mut(id).filter(|node| node.end.is_none()) else { return };
        let Work::Verifying(candidate) = &node.work else { return };
        let mut candidate = (**candidate).clone();
        candidate.energy = Some(energy.clone());
        node.attempts = node.attempts.saturating_add(1);
        if verdict == Verdict::Stable {
            node.failure = None;
            node.work = Work::Stable(Box::new(candidate));
            return;
        }
        let mut findings = crate::hash::ShaBuilder::default();
        candidate.readings.iter().for_each(|reading| findings.update(&reading.fingerprint.0));
        node.same_findings.note(findings.finish());
        let lines = candidate.readings.iter().flat_map(|reading| reading.headlines.clone()).collect();
        node.corrections = node.corrections.saturating_add(1);
        node.discarded = verdict == Verdict::Discarded;
        if verdict == Verdict::Improved {
            node.best = Some(candidate);
        }
        // The next answer is laid over the best state, so its findings are the ones to mend.
        let best = node.best.iter().flat_map(|best| &best.readings);
        node.failure = Some(Failure {
            class: RetryClass::Correction,
            reason: reason.unwrap_or("the candidate is not stable").to_owned(),
            evidence: best.map(|reading| reading.blob).collect(),
            lines,
        });
        node.work = Work::Context(Intent::Correction);
    }
}

/// What an outcome costs: what the provider said, the whole reserve where nobody said.
fn charged(effect: &Effect, outcome: &Ended) -> Spend {
    let Effect::Ask { estimate, .. } = effect else { return Spend::default() };
    match outcome {
        Ended::Answered { tokens_in: Some(read), tokens_out: Some(written), .. } => {
            Spend { steps: 1, tokens: read.saturating_add(*written) }
        }
        Ended::Answered { tokens_estimated: Some(tokens), .. } => Spend { steps: 1, tokens: *tokens },
        Ended::AskFailed { tokens: Some(tokens), .. } => Spend { steps: 1, tokens: *tokens },
        // A request that failed before its answer began costs a step and no tokens.
        Ended::AskFailed { next: AskNext::Again(_) | AskNext::Unusable, began: false, .. } => {
            Spend { steps: 1, tokens: 0 }
        }
        _ => *estimate,
    }
}
