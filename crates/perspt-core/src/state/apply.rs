//! The fold. Each event changes the state in one way; an outcome that is not in flight, or of an older
//! generation, changes nothing.

use super::node::{Candidate, Failure, Held, Laying, Node, Wait, Work};
use super::{End, Found, InFlight, LastAnswer, PlanWork, SessionState, Stop, stage_key};
use crate::budget::Spend;
use crate::consent::{ConsentKind, Need};
use crate::context::ContextRequest;
use crate::effect::{Branch, Effect, Expects, Intent};
use crate::energy::ReadingSummary;
use crate::event::{
    AnalysisChoice, Approval, AskNext, Calibration, Closed, Decision, Ended, Event, JudgementNote,
    MissingTool, PlanSource, Purpose, RetryClass, RootRef, RootStages, SessionResumed, Trouble, Verdict,
};
use crate::grade::Require;
use crate::ids::{BlobId, EffectId, Millis, NodeId};
use crate::outcome::{EndReason, NodeEnd};
use crate::path::RelPath;
use crate::reading::{MeasuredBy, StageId, StageKind, Status};
use crate::route::Tier;
use crate::stage::{StageRole, Want};

/// What stands for a tool where less was proved than the user requires.
pub(super) const REQUIRE: &str = "--require ";

/// How many answers in a row that cannot be read move a tier to its fallback.
const UNREAD_IN_A_ROW: u32 = 2;

/// How many answers of a node may ask to see more instead of answering.
const MOST_LOOKUPS: u32 = 3;

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
                    self.consents.grants.clone_from(&meta.allow);
                    if meta.purpose != Purpose::Task {
                        // There is nothing to plan.
                        self.planning.work = PlanWork::Done;
                    }
                    self.meta = Some((**meta).clone());
                }
            }
            Event::SessionResumed(resumed) => self.resumed(at, resumed),
            Event::TailCut { .. } => {}
            Event::BytesKept { path, place } => self.kept.push((path.clone(), place.clone())),
            Event::EffectStarted { id, key, effect } => {
                let ordinal = Self::ordinal_key(key.node.as_ref(), key.generation, effect.kind());
                let count = self.ordinals.entry(ordinal).or_insert(0);
                *count = (*count).max(key.ordinal.saturating_add(1));
                if matches!(effect, Effect::Parse { .. } | Effect::PlanLocal { .. }) && key.node.is_none() {
                    self.planning.proposal.clear();
                }
                let started = InFlight { key: key.clone(), effect: effect.clone() };
                if self.in_flight.insert(*id, started).is_none() {
                    self.account.reserved = self.account.reserved.plus(effect.reserve());
                }
            }
            Event::EffectEnded { id, outcome, .. } => self.ended(at, *id, outcome),
            Event::NodeProposed { by, node, roots } => {
                if self.in_flight.contains_key(by) {
                    self.planning.proposal.push(((**node).clone(), roots.clone()));
                }
            }
            Event::PlanAdopted { revision, source, plan, .. } => {
                self.adopt_nodes();
                self.planning.adopted = Some((*plan, *revision, *source));
                self.planning.work = PlanWork::Approval;
                self.note_planned_roots();
                self.check_planned_roots();
                self.check_absent_modules();
            }
            Event::TierMoved { tier, .. } => {
                self.failing = None;
                self.fallen.insert(*tier);
                self.unread.remove(tier);
                self.ask_anew(*tier);
            }
            Event::AttemptJudged { node, verdict, reason, analysis, .. } => {
                let analysis = analysis.unwrap_or(AnalysisChoice::Skipped);
                self.judged(node, *verdict, reason.as_deref(), analysis);
            }
            Event::NodeClosed { node, end } => {
                let end = match end {
                    Closed::Escalated { .. } => NodeEnd::Escalated,
                    Closed::Blocked { .. } => NodeEnd::Blocked,
                    Closed::Rejected => NodeEnd::Rejected,
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
            Event::SessionEnded { reason, outcome, trouble, .. } => {
                if !reason.is_resumable() {
                    self.edited.clear();
                }
                self.end = Some(End { reason: *reason, outcome: *outcome, trouble: trouble.clone() });
            }
        }
    }

    /// The proposed nodes become the plan's. Nodes of an earlier plan that have begun stay as they are, before the new
    /// ones where the new plan does not name them.
    fn adopt_nodes(&mut self) {
        self.nodes.retain(|_, node| node.has_begun());
        self.order.retain(|id| self.nodes.contains_key(id));
        let solo = self.planning.work == PlanWork::Proposed(PlanSource::Local);
        for (spec, roots) in std::mem::take(&mut self.planning.proposal) {
            if !self.nodes.contains_key(&spec.id) {
                self.order.push(spec.id.clone());
                self.nodes.insert(spec.id.clone(), Node { solo, ..Node::new(spec, roots) });
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
            if resumed.names_models() {
                meta.routes.clone_from(&resumed.routes);
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
        self.failing = None;
        self.no_analysis = false;
        self.unread.clear();
        // The model of before is asked again, with prompts that fit it.
        let fallen = std::mem::take(&mut self.fallen);
        for asker in self.nodes.values_mut().map(|node| &mut node.asker).chain([&mut self.planning.asker]) {
            asker.failures = 0;
            asker.not_before = Millis(0);
        }
        let others = |tier: &Tier| resumed.names_models() || fallen.contains(tier);
        Tier::ALL.into_iter().filter(others).for_each(|tier| self.ask_anew(tier));
        resumed.allow.iter().for_each(|grant| self.consents.add(grant.clone()));
        self.take_up_waiting();
    }

    /// Roots that the plan makes: their tools are looked at once the plan stands.
    fn note_planned_roots(&mut self) {
        let found = self.found.iter().flat_map(|found| &found.roots);
        let known: Vec<&RootRef> = found.chain(&self.planned_roots).collect();
        let planned = self.nodes.values().flat_map(|node| &node.roots);
        let mut new: Vec<RootRef> = planned.filter(|root| !known.contains(root)).cloned().collect();
        new.sort();
        new.dedup();
        self.planned_roots.extend(new);
    }

    /// After a degraded end the machine may have been mended: every sensor is looked at again.
    fn forget_sensors(&mut self) {
        self.degraded = None;
        self.probed = None;
        self.fetched = false;
        self.calibrated
            .retain(|_, verdict| matches!(verdict, Calibration::Sees(_) | Calibration::Remembered));
        self.baseline.readings.clear();
        if self.head == self.found.as_ref().map(|found| found.base) {
            self.first_baseline.clear();
        }
        for node in self.nodes.values_mut() {
            // What a sensor called stable that was then found blind has to be shown again.
            node.work = match std::mem::take(&mut node.work) {
                Work::Verifying(mut candidate) | Work::Stable(mut candidate) => {
                    candidate.readings.clear();
                    candidate.old_tests.clear();
                    candidate.judgement = None;
                    Work::Verifying(candidate)
                }
                Work::Waiting(mut wait) => {
                    if let Held::Candidate(candidate) = &mut wait.held {
                        candidate.readings.clear();
                        candidate.old_tests.clear();
                    }
                    Work::Waiting(wait)
                }
                other => other,
            };
            if let Some(best) = &mut node.best {
                best.readings.clear();
                best.old_tests.clear();
            }
        }
    }

    fn ended(&mut self, at: Millis, id: EffectId, outcome: &Ended) {
        let Some(InFlight { key, effect }) = self.in_flight.remove(&id) else { return };
        self.account.reserved = self.account.reserved.minus(effect.reserve());
        let spent = charged(&effect, outcome);
        self.account.used = self.account.used.plus(spent);
        if let Effect::Ask { intent, .. } = &effect {
            let tier = self.account.tiers.entry(intent.tier()).or_default();
            *tier = tier.plus(spent);
        }
        if key.generation != self.generation_of(key.node.as_ref()) {
            return;
        }
        // What was asked or measured for a node that is closed is nobody's any more, least of all the architect's.
        let closed = key.node.is_some() && self.node_mut(&key.node).is_none();
        match outcome {
            Ended::Lost | Ended::Cancelled => {}
            Ended::Assembled { .. }
            | Ended::TooLargeForModel { .. }
            | Ended::Answered { .. }
            | Ended::AskFailed { .. }
            | Ended::Measured { .. }
                if closed => {}
            Ended::Broke { trouble } => self.broke = Some(trouble.clone()),
            Ended::Unworkable { trouble } => self.unworkable = Some(trouble.clone()),
            Ended::Snapshotted { tree, files, repo_mode, roots, since, .. } => {
                let (files, repo_mode, roots) = (*files, *repo_mode, roots.clone());
                let since = since.as_deref().cloned();
                self.found = Some(Found { base: *tree, files, repo_mode, roots, since });
                self.parent = tree.id.0;
                self.move_head(*tree);
            }
            Ended::Probed { roots, detail, .. } => {
                self.probe_detail = Some(*detail);
                if !self.verifies() && roots.iter().all(|root| !root.missing.is_empty()) {
                    self.degraded = roots.iter().flat_map(|root| root.missing.first()).next().cloned();
                }
                let known = self.probed.take().unwrap_or_default();
                let mut roots = roots.clone();
                roots.iter_mut().for_each(|root| stay_left_out(root, &known));
                let kept = known.into_iter().filter(|known| !roots.iter().any(|new| new.root == known.root));
                self.probed = Some(kept.chain(roots.iter().cloned()).collect());
                self.check_planned_roots();
            }
            Ended::Fetched { .. } => self.fetched = true,
            Ended::LaidOut { tree, changes, diff, .. } => {
                if let (Some(node), Effect::LayOut { base, .. }) = (self.node_mut(&key.node), &effect) {
                    let branch = Branch { base: *base, changes: Some(*changes), tree: *tree };
                    node.work = Work::Verifying(Box::new(Candidate::new(branch, diff.clone())));
                }
            }
            Ended::Overtaken { .. } => {
                if let Some(node) = self.node_mut(&key.node) {
                    node.overtaken();
                }
            }
            Ended::LayoutRefused { violations, .. } => {
                if let Some(node) = self.node_mut(&key.node) {
                    node.rejected(RetryClass::Retarget, violations, None);
                }
            }
            Ended::Measured { reading, environment, reused, .. } => {
                if *reused {
                    self.baseline.reused.insert(stage_key(&reading.stage));
                }
                self.measured(&key.node, &effect, reading, environment);
            }
            Ended::NewTestsRan { tests, .. } => {
                if let (Some(node), Effect::RunNewTests { branch, stage }) =
                    (self.node_mut(&key.node), &effect)
                    && let Work::Stable(candidate) = &mut node.work
                    && candidate.branch == *branch
                {
                    candidate.new_tests.push((stage.clone(), *tests));
                }
            }
            Ended::Judged { judgement } => {
                if let Effect::Judge { branch, .. } = &effect {
                    self.note_judgement(&key.node, branch, judgement);
                }
            }
            Ended::Calibrated { verdict, .. } => {
                if let Effect::Calibrate { stage, .. } = &effect {
                    self.calibrated(stage, verdict);
                }
            }
            Ended::Assembled { prompt, tokens, .. } => {
                self.assembled(&key.node, &effect, *prompt, *tokens);
            }
            Ended::TooLargeForModel { needed, window, model } => match self.node_mut(&key.node) {
                // Findings that nobody can explain are corrected as they are.
                Some(node) if matches!(effect, Effect::Assemble { intent: Intent::Analysis, .. }) => {
                    node.work = Work::Context(node.correction_intent());
                }
                Some(node) => {
                    node.too_large = Some(format!(
                        "a prompt needs at least {needed} tokens, and {model} takes {window} with its answer"
                    ));
                }
                None => self.planning.too_large = true,
            },
            Ended::PlannedLocally => self.planning.work = PlanWork::Proposed(PlanSource::Local),
            Ended::AnalysisParsed { analysis, .. } => {
                if let Some(node) = self.node_mut(&key.node) {
                    node.analysis = *analysis;
                    node.work = Work::Context(node.correction_intent());
                    self.note_read(Tier::Verifier, analysis.is_some());
                }
            }
            Ended::Answered { answer, capture, .. } => {
                let Effect::Ask { intent, .. } = effect else { return };
                let asker = self.asker_mut(&key.node);
                *asker.answers.entry(intent).or_insert(0) += 1;
                asker.failures = 0;
                asker.last_failure = None;
                match self.node_mut(&key.node) {
                    Some(node) => {
                        let Work::Asking { over, .. } = node.work else { return };
                        let expects = match intent {
                            Intent::Analysis => Expects::Analysis,
                            _ => Expects::Bundle(over),
                        };
                        if intent != Intent::Analysis {
                            node.same_answer.note(capture.hash);
                        }
                        node.work = Work::Parsing { intent, answer: *answer, expects };
                    }
                    None => self.planning.work = PlanWork::Parsing { answer: *answer },
                }
            }
            Ended::AskFailed { .. } => {
                let Effect::Ask { intent, .. } = effect else { return };
                self.ask_failed(at, &key.node, intent, outcome);
            }
            Ended::PlanParsed { proposed, evidence, bundle, .. } => {
                self.planning.evidence = *evidence;
                self.note_read(Tier::Architect, proposed.is_some());
                self.planning.bundle = bundle.zip(self.planning.shown);
                match proposed {
                    Some(source) => self.planning.work = PlanWork::Proposed(*source),
                    None => {
                        self.planning.rejected += 1;
                        self.planning.work = PlanWork::Context;
                    }
                }
            }
            Ended::BundleParsed { .. } => self.bundle_parsed(&key.node, outcome),
            Ended::Decided { answer, from, grants, .. } => {
                self.last_answer = Some(LastAnswer { question: id, from: from.clone() });
                grants.iter().for_each(|grant| self.consents.add(grant.clone()));
                match (&key.node, answer) {
                    (None, Decision::Yes) => {
                        self.planning.work = PlanWork::Done;
                        self.choose_active();
                    }
                    (None, Decision::No | Decision::Correct(_)) => self.refused = true,
                    (Some(_), Decision::Yes) => self.take_up_waiting(),
                    (Some(_), Decision::No) => {
                        if let Some(node) = self.node_mut(&key.node) {
                            node.refused = true;
                        }
                    }
                    (Some(_), Decision::Correct(why)) => {
                        if let Some(node) = self.node_mut(&key.node) {
                            node.corrected_by_user(why);
                        }
                    }
                }
            }
            Ended::Published { commit, head } => self.published(commit, *head),
            Ended::BaseMoved { .. } if self.verifies() => self.look_anew(),
            Ended::BaseMoved { head, changed, .. } => self.base_moved(&key.node, *head, changed),
        }
        if let Some(id) = &key.node {
            self.ask_about_red(id);
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

    /// A module that tests of an open node's root import, that is neither installed nor in the tree, and that no task of
    /// the plan makes: no answer could mend that, so none is paid for. Who permits red tests has seen it.
    fn check_absent_modules(&mut self) {
        let permits_red = self.consents.grants.iter().any(|grant| grant.kind == ConsentKind::Red);
        if self.planning.adopted.is_none() || permits_red || self.degraded.is_some() {
            return;
        }
        let open: Vec<&Node> = self.nodes.values().filter(|node| node.end.is_none()).collect();
        let is_made = |module: &str| {
            let top = module.split('.').next().unwrap_or(module);
            let names = |path: &RelPath| path.parts().any(|part| part.split('.').next() == Some(top));
            open.iter().any(|node| node.spec.scope.is_open() || node.spec.output_files.iter().any(names))
        };
        let concerned = |stage: &StageId| {
            let here = |root: &RootRef| root.dir == stage.root && root.plugin == stage.plugin;
            open.iter().any(|node| node.roots.iter().any(here))
        };
        let readings = self.baseline.readings.values().flatten().filter(|reading| concerned(&reading.stage));
        let missing = readings
            .flat_map(|reading| reading.absent.iter().map(|module| (&reading.tool, module)))
            .find(|(_, module)| !is_made(module));
        self.degraded = missing.map(|(tool, module)| MissingTool {
            tool: tool.clone(),
            why: format!("tests import `{module}`, which is not installed, and no task of the plan makes it"),
            install: "install it, then `perspt resume`; or `--allow red:any` works beside those tests"
                .to_owned(),
        });
    }

    /// A root that cannot be measured is in the way only of nodes that touch it, as one whose tools are missing is.
    fn cannot_measure(&mut self, stage: &StageId, missing: &MissingTool) {
        if self.settings().preset.wants(stage.kind) == Want::WhereItWorks {
            return self.leave_out(stage, missing);
        }
        let here = |root: &RootRef| root.dir == stage.root && root.plugin == stage.plugin;
        let others = self.verifies() || self.live_roots().any(|root| !here(root));
        let open = |node: &&Node| node.end.is_none();
        let concerned = self.nodes.values().filter(open).any(|node| node.roots.iter().any(here));
        let known = self.probed.iter_mut().flatten().find(|stages| here(&stages.root));
        match known.filter(|_| others && !concerned) {
            Some(stages) => stages.missing.push(missing.clone()),
            None => self.degraded = Some(missing.clone()),
        }
    }

    /// Goes on without a stage that does not work here: what it finds is only shown from now on.
    fn leave_out(&mut self, stage: &StageId, missing: &MissingTool) {
        let here = |root: &RootRef| root.dir == stage.root && root.plugin == stage.plugin;
        let Some(stages) = self.probed.iter_mut().flatten().find(|stages| here(&stages.root)) else { return };
        stages.left_out.push(missing.clone());
        for tool in stages.stages.iter_mut().filter(|tool| tool.kind == stage.kind) {
            tool.role = StageRole::Shown;
        }
    }

    fn measured(
        &mut self,
        node: &Option<NodeId>,
        effect: &Effect,
        reading: &ReadingSummary,
        environment: &Option<MissingTool>,
    ) {
        if self.measured_before(effect, reading) {
            return;
        }
        // Where a shown stage cannot look, nothing is missing.
        let required = self.role_of(&reading.stage).is_required();
        if let Some(missing) = environment.as_ref().filter(|_| required) {
            self.cannot_measure(&reading.stage, missing);
        }
        let (branch, stage, is_old) = match effect {
            Effect::Measure { branch, stage, .. } => (branch, stage, false),
            Effect::RunOldTests { branch, stage } => (branch, stage, true),
            _ => return,
        };
        if (reading.tree != branch.tree && !is_old) || reading.stage != *stage {
            return;
        }
        if let Status::Unavailable(why) = &reading.status
            && self.role_of(&reading.stage).is_required()
            && self.degraded.is_none()
        {
            let install = match reading.by {
                MeasuredBy::Own => {
                    format!(
                        "let your own command run here, then {}; or begin again with another one",
                        self.again()
                    )
                }
                MeasuredBy::Language => "see `perspt doctor`".to_owned(),
            };
            let (tool, why) = (reading.tool.clone(), why.clone());
            let missing = MissingTool { tool, why, install };
            match self.settings().preset.wants(reading.stage.kind) {
                Want::WhereItWorks => self.leave_out(&reading.stage, &missing),
                Want::Must | Want::Shown | Want::Off if !self.verifies() => self.degraded = Some(missing),
                Want::Must | Want::Shown | Want::Off if environment.is_some() => {}
                Want::Must | Want::Shown | Want::Off => self.cannot_measure(&reading.stage, &missing),
            }
        }
        match self.node_mut(node) {
            Some(node) => {
                if let Work::Verifying(candidate) = &mut node.work
                    && candidate.branch == *branch
                {
                    let taken = if is_old { &mut candidate.old_tests } else { &mut candidate.readings };
                    taken.push(reading.clone());
                }
            }
            None => {
                let first = self.found.as_ref().is_some_and(|found| found.base.id == branch.tree);
                let key = stage_key(stage);
                let again = matches!(effect, Effect::Measure { run, .. } if *run > 1);
                // What an earlier session saw and this one does not was not wavering: the world has changed.
                let stale = again && self.baseline.reused.remove(&key);
                if again {
                    self.baseline.again.insert(key.clone());
                }
                if stale {
                    self.first_baseline.remove(&key);
                    self.baseline.readings.remove(&key);
                }
                if first {
                    self.first_baseline.entry(key.clone()).or_default().push(reading.blob);
                }
                if self.head.is_some_and(|head| head.id == branch.tree) {
                    self.baseline.readings.entry(key).or_default().push(reading.clone());
                    self.check_absent_modules();
                }
            }
        }
    }

    /// What does not see cannot be used.
    fn calibrated(&mut self, stage: &StageId, verdict: &Calibration) {
        let key = stage_key(stage);
        let unseeing = match verdict {
            Calibration::Sees(_) | Calibration::Remembered => None,
            Calibration::Blind(plant) => {
                let tool = self.tool_of(stage);
                let why = format!(
                    "{tool} stayed green in `{}` although an error was put there on purpose ({plant})",
                    stage.root
                );
                Some(MissingTool { tool, why, install: stage.kind.facts().when_blind.to_owned() })
            }
            Calibration::Unmeasured(why) => Some(MissingTool {
                tool: self.tool_of(stage),
                why: why.clone(),
                install: format!("make the project's own tests run on this machine, then {}", self.again()),
            }),
        };
        if let Some(missing) = unseeing {
            self.cannot_measure(stage, &missing);
        }
        self.calibrated.insert(key, verdict.clone());
    }

    fn assembled(&mut self, node: &Option<NodeId>, effect: &Effect, prompt: BlobId, tokens: u64) {
        let Effect::Assemble { intent, branch, .. } = effect else { return };
        match self.node_mut(node) {
            Some(node) => {
                node.prompt = Some(prompt);
                node.work = Work::Asking { intent: *intent, prompt, tokens, over: *branch };
            }
            None => {
                self.planning.shown = Some(*branch);
                self.planning.work = PlanWork::Asking { prompt, tokens };
            }
        }
    }

    /// A tier's prompts are made again, for another model or after a pause, and its requests begin afresh.
    fn ask_anew(&mut self, tier: Tier) {
        if tier == Tier::Architect {
            self.planning.too_large = false;
            self.planning.asker.failures = 0;
            self.planning.asker.not_before = Millis(0);
            if matches!(self.planning.work, PlanWork::Asking { .. }) {
                self.planning.work = PlanWork::Context;
            }
        }
        for node in self.nodes.values_mut().filter(|node| node.end.is_none()) {
            match node.work {
                Work::Asking { intent, .. } if intent.tier() != tier => continue,
                Work::Asking { intent, .. } => node.work = Work::Context(intent),
                _ => {}
            }
            node.too_large = None;
            node.asker.failures = 0;
            node.asker.not_before = Millis(0);
        }
    }

    /// Two answers in a row that could not be read move the tier to its fallback.
    fn note_read(&mut self, tier: Tier, readable: bool) {
        let unread = self.unread.entry(tier).or_insert(0);
        *unread = if readable { 0 } else { unread.saturating_add(1) };
        if *unread >= UNREAD_IN_A_ROW && self.fallback(tier).is_some() {
            self.failing = Some((tier, format!("{UNREAD_IN_A_ROW} answers in a row could not be used")));
        }
    }

    fn ask_failed(&mut self, at: Millis, node: &Option<NodeId>, intent: Intent, failed: &Ended) {
        let Ended::AskFailed { class, what, next, tries, .. } = failed else { return };
        let (settings, next) = (self.settings(), *next);
        if next == AskNext::Malformed {
            self.spoiled(node, intent, what);
            return;
        }
        let asker = self.asker_mut(node);
        asker.failures = asker.failures.saturating_add(1);
        asker.last_failure = Some(what.to_owned());
        let too_long = matches!(next, AskNext::Again(Some(told)) if told > LONGEST_WAIT_MS);
        let most = settings.ask_tries.min(tries.unwrap_or(u32::MAX));
        let given_up = next == AskNext::Unusable || too_long || asker.failures >= most;
        if let AskNext::Again(told) = next {
            // Jitter comes from what is in the log, so that the fold stays a function of it.
            let doubled = settings.backoff_ms.saturating_mul(1 << asker.failures.min(6).saturating_sub(1));
            let jitter = at.0 % (doubled / 4 + 1);
            asker.not_before = at.plus(told.unwrap_or(0).max(doubled.saturating_add(jitter)));
        }
        if given_up && self.fallback(intent.tier()).is_some() {
            self.failing = Some((intent.tier(), what.clone()));
        } else if given_up && intent == Intent::Analysis {
            self.no_analysis = true;
            if let Some(node) = self.node_mut(node) {
                node.asker.failures = 0;
                node.asker.not_before = Millis(0);
                node.work = Work::Context(node.correction_intent());
            }
        } else if given_up {
            let tries = match self.asker_mut(node).failures {
                1 => "1 request".to_owned(),
                tries => format!("{tries} requests"),
            };
            let minutes = LONGEST_WAIT_MS / 60_000;
            let wait =
                if too_long { format!(" (perspt waits at most {minutes} minutes)") } else { String::new() };
            self.provider = Some(Trouble {
                what: format!("the model could not be used ({class}, after {tries})"),
                why: format!("{what}{wait}"),
                todo: "fix the endpoint, key or model, then run `perspt resume`".to_owned(),
            });
        }
    }

    /// An answer the provider cut off or filtered: an attempt is gone, and the next prompt says why.
    fn spoiled(&mut self, node: &Option<NodeId>, intent: Intent, what: &str) {
        self.note_read(intent.tier(), false);
        match self.node_mut(node) {
            Some(node) if intent == Intent::Analysis => {
                node.work = Work::Context(node.correction_intent());
            }
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

    fn bundle_parsed(&mut self, node: &Option<NodeId>, parsed: &Ended) {
        let Ended::BundleParsed { changes, retry, violations, evidence, .. } = parsed else { return };
        let Ended::BundleParsed { widened, changes_tests, leaves_red, commands, needs, .. } = parsed else {
            return;
        };
        let Ended::BundleParsed { requests, roots, .. } = parsed else { return };
        let missing: Vec<Need> = self.consents.missing(needs).into_iter().cloned().collect();
        let id = node;
        // An answer that came with the plan is the architect's; it says nothing of the actuator.
        match self.node_mut(node).map(|node| node.prompt.is_some()) {
            Some(true) => self.note_read(Tier::Actuator, *retry != Some(RetryClass::Malformed)),
            Some(false) => {}
            None => return,
        }
        let Some(node) = self.node_mut(node) else { return };
        if !requests.is_empty() {
            node.looks_up(requests);
            return;
        }
        let Some(changes) = *changes else {
            node.rejected(retry.unwrap_or(RetryClass::Malformed), violations, *evidence);
            return;
        };
        node.declare(changes_tests, leaves_red);
        for path in widened {
            if !node.spec.output_files.contains(path) {
                node.spec.output_files.push(path.clone());
            }
        }
        if !roots.is_empty() {
            node.roots.clone_from(roots);
        }
        let laying = Laying { changes, commands: commands.clone() };
        self.note_planned_roots();
        self.check_planned_roots();
        let Some(node) = self.node_mut(id) else { return };
        if missing.is_empty() {
            node.work = Work::LayingOut(laying);
            return;
        }
        let count = missing.len() as u32;
        let held = Held::Changes(laying);
        node.work = Work::Waiting(Box::new(Wait { needs: missing, count, held }));
        self.rest_active();
    }

    /// A node that waits lets others go on, unless someone is there to be asked.
    fn rest_active(&mut self) {
        if self.meta.as_ref().is_some_and(|meta| meta.approval == Approval::Policy) {
            self.active = None;
            self.choose_active();
        }
    }

    fn note_judgement(&mut self, node: &Option<NodeId>, branch: &Branch, judgement: &JudgementNote) {
        match self.node_mut(node) {
            Some(node) => {
                if let Work::Verifying(candidate) = &mut node.work
                    && candidate.branch == *branch
                {
                    candidate.judgement = Some(judgement.clone());
                }
            }
            None if node.is_none() => self.last_look = Some((branch.tree, judgement.clone())),
            None => {}
        }
    }

    fn judged(&mut self, id: &NodeId, verdict: Verdict, reason: Option<&str>, analysis: AnalysisChoice) {
        let Some(node) = self.nodes.get_mut(id).filter(|node| node.end.is_none()) else { return };
        let Work::Verifying(candidate) = &node.work else { return };
        let candidate = (**candidate).clone();
        let Some(judgement) = candidate.judgement.clone() else { return };
        node.attempts = node.attempts.saturating_add(1);
        match verdict {
            Verdict::Stable => {
                node.failure = None;
                node.work = Work::Stable(Box::new(candidate));
            }
            Verdict::Waits => {
                node.failure = None;
                let (needs, count) = (judgement.missing, judgement.missing_count);
                let held = Held::Candidate(Box::new(candidate));
                node.work = Work::Waiting(Box::new(Wait { needs, count, held }));
                self.rest_active();
            }
            Verdict::Improved | Verdict::Discarded if judgement.only_required && node.told_required => {
                let why = judgement.headlines.first().cloned().unwrap_or_default();
                node.work = Work::Verifying(Box::new(Candidate { judgement: None, ..candidate }));
                let required = self.settings().require.map_or("", Require::as_str);
                let required = format!("{REQUIRE}{required}");
                self.degraded = Some(MissingTool {
                    tool: required,
                    why,
                    install:
                        "let tests or tools look at it, then `perspt resume`; or run again and require less"
                            .to_owned(),
                });
            }
            Verdict::Improved | Verdict::Discarded => {
                node.told_required |= judgement.only_required;
                node.unstable(candidate, &judgement, verdict, reason);
                if analysis == AnalysisChoice::Asked {
                    node.work = Work::Context(Intent::Analysis);
                }
                self.ask_about_red(id);
            }
        }
    }

    /// Where no answer is left and the best candidate lacks nothing but what the user can permit (tests that were red
    /// before, changes of which the model was told and that it did not declare), that is a matter of consent.
    fn ask_about_red(&mut self, id: &NodeId) {
        let Some(node) = self.nodes.get(id).filter(|node| matches!(node.work, Work::Context(_))) else {
            return;
        };
        let only_red = |best: &Candidate| best.judgement.as_ref().is_some_and(|judgement| judgement.only_red);
        if node.asks_red || !node.best.as_ref().is_some_and(only_red) || self.give_up(node).is_none() {
            return;
        }
        let Some(node) = self.nodes.get_mut(id) else { return };
        if let Some(best) = node.best.take() {
            node.asks_red = true;
            node.failure = None;
            node.work = Work::Verifying(Box::new(Candidate { judgement: None, ..best }));
        }
    }
}

impl Node {
    /// An answer that cannot be used.
    fn rejected(&mut self, class: RetryClass, violations: &[String], evidence: Option<BlobId>) {
        self.attempts = self.attempts.saturating_add(1);
        self.failure = Some(Failure {
            class,
            reason: violations.first().cloned().unwrap_or_else(|| class.as_str().to_owned()),
            evidence: evidence.into_iter().collect(),
            lines: violations.to_vec(),
        });
        self.work = match class {
            RetryClass::Malformed => Work::Context(Intent::Malformed),
            RetryClass::Retarget => Work::Context(Intent::Retarget),
            RetryClass::Correction => Work::Context(self.correction_intent()),
            // `due` closes the node before anything is wanted of it.
            RetryClass::Replan => Work::Context(Intent::Retarget),
        };
    }

    /// A candidate that is not stable.
    fn unstable(
        &mut self,
        candidate: Candidate,
        judgement: &JudgementNote,
        verdict: Verdict,
        reason: Option<&str>,
    ) {
        // To be told of an undeclared change is no red reading: what is declared then is declared in time.
        self.was_red |= !judgement.only_undeclared;
        self.told_undeclared |= judgement.told_undeclared;
        self.same_findings.note(judgement.fingerprint);
        self.corrections = self.corrections.saturating_add(1);
        self.discarded = verdict == Verdict::Discarded;
        if verdict == Verdict::Improved {
            self.best = Some(candidate);
        }
        // The next answer is laid over the best state, so its findings are the ones to mend.
        let best = self.best.iter().filter_map(|best| best.judgement.as_ref());
        self.failure = Some(Failure {
            class: RetryClass::Correction,
            reason: reason.unwrap_or("the candidate is not stable").to_owned(),
            evidence: best.map(|judgement| judgement.blob).collect(),
            lines: judgement.headlines.clone(),
        });
        self.analysis = None;
        self.work = Work::Context(self.correction_intent());
    }

    /// The user said no to what a candidate needs, and what is to be done instead.
    fn corrected_by_user(&mut self, why: &str) {
        let Work::Waiting(wait) = &self.work else { return };
        let evidence = match &wait.held {
            Held::Candidate(candidate) => {
                let blob = candidate.judgement.as_ref().map(|judgement| judgement.blob);
                self.best = Some((**candidate).clone());
                blob
            }
            Held::Changes(_) => None,
        };
        let line = format!("the user says: {why}");
        self.was_red = true;
        self.failure = Some(Failure {
            class: RetryClass::Correction,
            reason: line.clone(),
            evidence: evidence.into_iter().collect(),
            lines: vec![line],
        });
        self.analysis = None;
        self.work = Work::Context(self.correction_intent());
    }

    /// An answer that only asks to see more. After a few of them it counts as one that could not be used.
    fn looks_up(&mut self, requests: &[ContextRequest]) {
        let Work::Parsing { intent, .. } = self.work else { return };
        if self.lookups >= MOST_LOOKUPS {
            let why = format!("context was asked for {MOST_LOOKUPS} times already: answer with changes now");
            self.rejected(RetryClass::Malformed, &[why], None);
            return;
        }
        self.lookups = self.lookups.saturating_add(1);
        for request in requests {
            if !self.requested.contains(request) {
                self.requested.push(request.clone());
            }
        }
        self.work = Work::Context(intent);
    }
}

/// What an outcome costs: what the provider said, the whole reserve where nobody said.
fn charged(effect: &Effect, outcome: &Ended) -> Spend {
    let Effect::Ask { estimate, .. } = effect else { return Spend::default() };
    match outcome {
        Ended::Answered { tokens_in: Some(read), tokens_out: Some(written), cost, .. } => {
            Spend::call(read.saturating_add(*written), *cost)
        }
        Ended::Answered { tokens_estimated: Some(tokens), cost, .. } => Spend::call(*tokens, *cost),
        Ended::AskFailed { tokens: Some(tokens), cost, .. } => Spend::call(*tokens, *cost),
        // A request that failed before its answer began costs a step and no tokens.
        Ended::AskFailed { next: AskNext::Again(_) | AskNext::Unusable, began: false, .. } => {
            Spend::call(0, Some(0))
        }
        _ => *estimate,
    }
}

/// A stage that was left out stays so when its root is probed again in the same session.
fn stay_left_out(root: &mut RootStages, known: &[RootStages]) {
    let Some(known) = known.iter().find(|known| known.root == root.root) else { return };
    let shown = |kind: StageKind| known.with_role(StageRole::Shown).any(|stage| stage.kind == kind);
    for tool in root.stages.iter_mut().filter(|tool| shown(tool.kind)) {
        tool.role = StageRole::Shown;
    }
}
