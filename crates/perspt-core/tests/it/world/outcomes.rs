//! What can come of an effect. A roll of zero is success.

use perspt_core::consent::{ConsentKind, Declared, Extent, Grant, GrantedBy, Need};
use perspt_core::context::ContextRequest;
use perspt_core::effect::{Branch, Effect, Expects, Intent, Question, TreeRef};
use perspt_core::energy::{Energy, NewTests, ReadingSummary, TestCounts};
use perspt_core::event::{
    Approval, AskNext, Calibration, Decision, DiffNote, Ended, Event, JudgementNote, ParseState, PlanSource,
    PromptPart, Recovered, RepoMode, RetryClass, RootRef,
};
use perspt_core::hash::Sha;
use perspt_core::ids::{BlobId, EffectId, NodeId, TreeId};
use perspt_core::plan::{OpenScope, PlanNode, TaskType};
use perspt_core::reading::{StageId, StageKind, Status};
use perspt_core::stage::StageRole;
use perspt_core::state::InFlight;

use super::World;
use crate::support::*;

const NAMES: [&str; 4] = ["core", "shell", "tests", "glue"];

fn recovered() -> Recovered {
    Recovered { form: "json".to_owned(), mended: vec!["a comma was missing".to_owned()] }
}

impl World {
    /// An outcome this effect can really have, with the facts recorded before it.
    pub(super) fn legal(&mut self, id: EffectId, flight: &InFlight) -> (Vec<Event>, Ended) {
        if self.dice.chance(4) {
            return (vec![], Ended::Broke { trouble: trouble() });
        }
        let node = flight.key.node.as_ref();
        let outcome = match &flight.effect {
            Effect::Snapshot => self.snapshot(),
            Effect::Probe => self.probe(),
            Effect::Fetch { .. } => Ended::Fetched { runs: vec![run_note()] },
            Effect::LayOut { base, changes, commands } => self.lay_out(node, base, *changes, commands),
            Effect::Measure { branch, stage, .. } => self.measure(node, branch, stage),
            Effect::RunOldTests { branch, stage } => self.old_tests(branch, stage),
            Effect::RunNewTests { .. } => {
                let added = self.dice.below(3) as u32;
                let tests = NewTests { added, failed_before: self.dice.below(u64::from(added) + 1) as u32 };
                Ended::NewTestsRan { tests, reading: blob(&self.fresh("new tests")), runs: vec![run_note()] }
            }
            Effect::Judge { branch, readings, before, required, .. } => {
                let judgement = Box::new(self.judge(node, branch, readings, before, required));
                Ended::Judged { judgement }
            }
            Effect::Calibrate { .. } => self.calibrate(),
            Effect::PlanLocal { .. } => return self.plan_local(id),
            Effect::Assemble { intent, .. } if self.dice.chance(25) => Ended::TooLargeForModel {
                needed: 900,
                window: 800,
                model: self.state.route(intent.tier()).model,
            },
            Effect::Assemble { intent, .. } => {
                let prompt = blob(&self.fresh("prompt"));
                let files = vec![path("src/read.rs"), path("Cargo.toml")];
                Ended::Assembled {
                    prompt,
                    context: sha("context"),
                    files,
                    degraded: vec![],
                    tokens: 500 + self.dice.below(200),
                    parts: vec![PromptPart { part: "the head".to_owned(), tokens: 300 }],
                    provenance: provenance(intent.slug()),
                }
            }
            Effect::Ask { intent, estimate, .. } => self.ask(*intent, estimate.tokens),
            Effect::Parse { answer, expects } => match expects {
                Expects::Plan => return self.plan(id, *answer, PlanSource::Architect),
                Expects::PlanOrFallback => return self.plan(id, *answer, PlanSource::Fallback),
                Expects::Bundle(_) => self.bundle(),
                Expects::Analysis => self.analysis(),
            },
            Effect::Question { question } => self.decide(question),
            Effect::Publish { .. } => self.publish(flight),
        };
        let reads_the_tree = matches!(
            flight.effect,
            Effect::Probe
                | Effect::Fetch { .. }
                | Effect::LayOut { .. }
                | Effect::Measure { .. }
                | Effect::RunOldTests { .. }
                | Effect::RunNewTests { .. }
                | Effect::Calibrate { .. }
                | Effect::Assemble { .. }
                | Effect::Parse { .. }
        );
        if reads_the_tree && self.trials.moves > 0 && self.dice.chance(8) {
            self.trials.moves -= 1;
            let head = self.moved();
            let all: [(&[&str], u64); 4] =
                [(&["README.md"], 0), (&[], 1), (&["src/core.rs"], 0), (&["src/shell.rs", "docs/a.md"], 0)];
            let (changed, more) = self.dice.pick(&all);
            let changed = changed.iter().map(|file| path(file)).collect();
            return (vec![], Ended::BaseMoved { head, changed, more });
        }
        (vec![], outcome)
    }

    fn moved(&mut self) -> TreeRef {
        tree(&self.fresh("moved"))
    }

    fn snapshot(&mut self) -> Ended {
        if self.dice.chance(20) {
            return Ended::Unworkable { trouble: trouble() };
        }
        let roots = [vec![root("", "rust")], vec![root("", "rust"), root("py", "python")], vec![]];
        Ended::Snapshotted {
            since: None,
            runs: vec![],
            tree: tree("base"),
            files: 12,
            repo_mode: self.dice.pick(&[RepoMode::Existing, RepoMode::Existing, RepoMode::Greenfield]),
            roots: self.dice.pick(&roots),
            git_head: None,
            notes: vec![],
        }
    }

    fn probe(&mut self) -> Ended {
        let mut roots: Vec<_> = self.all_roots().iter().map(stages_of).collect();
        for root in &mut roots {
            if self.dice.chance(60) {
                root.missing = vec![missing("pytest")];
                root.stages.pop();
            } else if self.dice.chance(300) {
                let at = self.dice.below(root.stages.len() as u64) as usize;
                root.stages[at].role = StageRole::Shown;
            }
        }
        let tools = vec!["cargo: 1".to_owned()];
        Ended::Probed {
            roots,
            runs: vec![run_note()],
            tools,
            detail: blob("probes"),
            confinement: "full".to_owned(),
        }
    }

    fn all_roots(&self) -> Vec<RootRef> {
        let found = self.state.found.iter().flat_map(|found| &found.roots);
        found.chain(&self.state.planned_roots).cloned().collect()
    }

    /// The files a candidate changes, and which consents it will need: those never change once it has its name.
    fn lay_out(
        &mut self,
        node: Option<&NodeId>,
        base: &TreeRef,
        changes: BlobId,
        commands: &[String],
    ) -> Ended {
        if !commands.is_empty() && self.dice.chance(200) {
            let violations = vec!["a command wrote `src/other.rs`".to_owned()];
            return Ended::LayoutRefused { violations, runs: vec![run_note()] };
        }
        if self.dice.chance(60) {
            return Ended::Overtaken { files: vec![path("src/other.rs")] };
        }
        let tree = TreeId(Sha::of_fields([&base.id.0.0[..], &changes.0.0[..]]));
        let mut diff = DiffNote::default();
        diff.create.extend(node.map(|id| path(&format!("src/{id}.rs"))));
        if self.dice.chance(200) {
            diff.modify.push(path("Cargo.toml"));
        }
        let needs = self.some_needs();
        self.needs.entry(tree).or_insert(needs);
        Ended::LaidOut { tree, changes, diff, runs: vec![] }
    }

    fn some_needs(&mut self) -> Vec<Need> {
        let count = if self.dice.chance(250) { 1 + self.dice.below(2) } else { 0 };
        let one = |world: &mut World| {
            let kinds = [ConsentKind::Tests, ConsentKind::Evidence, ConsentKind::Unmeasured];
            let kind = world.dice.pick(&kinds);
            let subject = world.dice.pick(&["tests/a.rs::adds", "tests/b.rs", "conftest.py"]);
            let declared = world.dice.pick(&[Declared::InTime, Declared::No, Declared::Late]);
            need(kind, subject, declared)
        };
        (0..count).map(|_| one(self)).collect()
    }

    /// Grants that cover all of these, or as much as the dice give.
    pub(super) fn granted(&mut self, needs: &[Need], by: GrantedBy) -> Vec<Grant> {
        let given = needs.iter().filter(|_| !self.dice.chance(100)).collect::<Vec<_>>();
        let grant =
            |need: &&Need| Grant { kind: need.kind, extent: Extent::Subject(need.subject.clone()), by };
        given.iter().map(grant).collect()
    }

    fn decide(&mut self, question: &Question) -> Ended {
        let by = self.state.meta.as_ref().unwrap().approval;
        let (answer, grants) = match question {
            Question::Plan { .. } if self.dice.chance(60) => (Decision::No, vec![]),
            Question::Plan { .. } => (Decision::Yes, vec![]),
            Question::Consents { needs, .. } => {
                let why = Decision::Correct("keep the test".to_owned());
                let yes = Decision::Yes;
                match self.dice.pick(&[yes.clone(), yes.clone(), yes, Decision::No, why]) {
                    Decision::Yes => (Decision::Yes, self.granted(needs, GrantedBy::Answer)),
                    other => (other, vec![]),
                }
            }
        };
        Ended::Decided { answer, by, from: None, grants }
    }

    /// Tests as they were: run on a tree of its own.
    fn old_tests(&mut self, branch: &Branch, stage: &StageId) -> Ended {
        let mut reading = green(TreeId(sha(&format!("old tests over {}", branch.tree))), stage);
        if self.dice.chance(100) {
            reading.status = Status::NotRun("they do not build".to_owned());
            reading.tests = None;
        }
        reading.blob = blob(&self.fresh("old tests"));
        Ended::Measured { reading, environment: None, runs: vec![run_note()], reused: false }
    }

    /// A judge as simple as can be: errors count, the finding that was there before is a matter of consent once
    /// that is asked about, and a candidate needs what it needs.
    fn judge(
        &mut self,
        node: Option<&NodeId>,
        branch: &Branch,
        readings: &[BlobId],
        before: &[BlobId],
        required: &[StageId],
    ) -> JudgementNote {
        let node = node.map(|id| &self.state.nodes[id]);
        let of = |blobs: &[BlobId]| -> Vec<ReadingSummary> {
            blobs.iter().map(|blob| self.kept[blob].clone()).collect()
        };
        let (readings, before) = (of(readings), of(before));
        let person = self.state.meta.as_ref().unwrap().approval == Approval::Person;
        let covered = |need: &Need| self.state.consents.covering(need).is_some();
        let mut needs = match node {
            Some(_) => self.needs.get(&branch.tree).cloned().unwrap_or_default(),
            None => vec![],
        };
        let told = |need: &Need| {
            need.declared == Declared::No
                && need.kind != ConsentKind::Unmeasured
                && !person
                && !covered(need)
                && node.is_some_and(|node| !node.told_undeclared)
        };
        let undeclared = needs.iter().filter(|need| told(need)).count() as u32;
        needs.retain(|need| !told(need));
        let (mut errors, mut red, mut findings) = (undeclared, 0, vec![]);
        for reading in readings.iter().filter(|one| required.contains(&one.stage)) {
            let old = reading.stage.kind == StageKind::Test
                && before
                    .iter()
                    .any(|one| one.stage == reading.stage && one.fingerprint == reading.fingerprint);
            let left = need(ConsentKind::Red, "tests/old.rs::old", Declared::No);
            if reading.errors > 0 && old && (covered(&left) || node.is_some_and(|node| node.asks_red)) {
                needs.push(left);
            } else {
                errors += reading.errors;
                red += if old { reading.errors } else { 0 };
                findings.extend(reading.headlines.clone());
            }
        }
        let looked = |stage: &&StageId| {
            !readings.iter().any(|one| one.stage == **stage && one.status == Status::Measured)
        };
        let unmeasured = required.iter().filter(looked).count() as u32;
        let missing: Vec<Need> = self.state.consents.missing(&needs).into_iter().cloned().collect();
        let note = JudgementNote {
            energy: Energy { unmeasured, ..stirred(errors) },
            told_undeclared: undeclared > 0,
            only_red: errors > 0 && errors == red + undeclared && unmeasured == 0,
            fingerprint: sha(&format!("{findings:?} {undeclared}")),
            headlines: findings,
            ..waiting_for(&missing)
        };
        JudgementNote { blob: blob(&self.fresh("judgement")), ..note }
    }

    fn measure(&mut self, node: Option<&NodeId>, branch: &Branch, stage: &StageId) -> Ended {
        let red_chance = if stage.kind == StageKind::Structure { 40 } else { 200 };
        let mut environment = None;
        let mut reading = if self.dice.chance(red_chance) {
            let finding = self.dice.pick(&["a new finding", "the old finding", "another finding"]);
            let fresh = self.fresh(finding);
            let finding = if finding == "a new finding" { fresh.as_str() } else { finding };
            red(branch.tree, stage, 1 + self.dice.below(3) as u32, finding)
        } else {
            green(branch.tree, stage)
        };
        self.tests_of(&mut reading);
        if stage.kind == StageKind::Structure {
            reading.old_tests = self.dice.chance(200);
            reading.added_tests = self.dice.below(2) as u32;
            let other = |root: &RootRef| node.is_some_and(|id| !self.state.nodes[id].roots.contains(root));
            let others: Vec<RootRef> = self.all_roots().into_iter().filter(other).collect();
            reading.other_roots = if self.dice.chance(200) { others } else { vec![] };
        }
        if self.dice.chance(15) {
            reading.status = Status::Unavailable("it hangs".to_owned());
            reading.tests = None;
        } else if self.dice.chance(15) {
            reading.status = Status::NotRun("an earlier step failed".to_owned());
            reading.tests = None;
        } else if node.is_none() && self.dice.chance(20) {
            environment = Some(missing("a module"));
        }
        reading.blob = blob(&self.fresh("reading"));
        Ended::Measured { reading, environment, runs: vec![run_note()], reused: false }
    }

    fn tests_of(&mut self, reading: &mut ReadingSummary) {
        if let Some(tests) = &mut reading.tests {
            let passed = self.dice.pick(&[3, 3, 0]);
            *tests = TestCounts { passed, failed: reading.errors, skipped: 0 };
        }
    }

    fn calibrate(&mut self) -> Ended {
        let verdict = if self.dice.chance(40) {
            let plant = "a type error".to_owned();
            self.dice.pick(&[Calibration::Blind(plant.clone()), Calibration::Unmeasured(plant)])
        } else {
            let seen = vec!["a type error".to_owned()];
            self.dice.pick(&[Calibration::Sees(seen), Calibration::Remembered])
        };
        Ended::Calibrated { verdict, runs: vec![run_note()] }
    }

    fn ask(&mut self, intent: Intent, estimate: u64) -> Ended {
        let route = self.state.route(intent.tier());
        let cost = |tokens: u64| route.price.map(|price| price.cost(tokens / 2, 0, tokens - tokens / 2));
        if self.dice.chance(150) {
            let told = self.dice.below(20_000);
            let next = [
                AskNext::Again(None),
                AskNext::Again(Some(told)),
                AskNext::Malformed,
                AskNext::Malformed,
                AskNext::Unusable,
            ];
            let next = self.dice.pick(&next);
            let began = self.dice.chance(300);
            let tokens = if began && self.dice.chance(300) { Some(self.dice.below(estimate)) } else { None };
            return Ended::AskFailed {
                class: "Status".to_owned(),
                what: "529".to_owned(),
                next,
                began,
                tokens,
                cost: tokens.and_then(cost),
                tries: if self.dice.chance(300) { Some(2) } else { None },
            };
        }
        let text = if self.dice.chance(300) { "the same answer".to_owned() } else { self.fresh("answer") };
        // A provider may charge more than was estimated, and may say nothing at all.
        let charged = self.dice.below(estimate + estimate / 2);
        let tokens = if self.dice.chance(200) { None } else { Some(charged) };
        Ended::Answered {
            answer: blob(&text),
            capture: capture(&text),
            tokens_in: tokens.map(|tokens| tokens / 2),
            tokens_out: tokens.map(|tokens| tokens - tokens / 2),
            tokens_cached: None,
            tokens_estimated: if tokens.is_none() && self.dice.chance(500) { Some(charged) } else { None },
            first_token_ms: 5,
            latency_ms: 50,
            cost: cost(charged),
            model: route.model,
        }
    }

    fn analysis(&mut self) -> Ended {
        let usable = !self.dice.chance(300);
        Ended::AnalysisParsed {
            state: if usable { ParseState::TolerantRecoveryOk } else { ParseState::NoStructuredPayload },
            capture: capture("an analysis"),
            recovered: recovered(),
            analysis: usable.then(|| blob(&self.fresh("analysis"))),
        }
    }

    fn plan_local(&mut self, by: EffectId) -> (Vec<Event>, Ended) {
        let node = PlanNode { scope: OpenScope::Open, output_files: vec![], ..plan_node(NAMES[0], &[]) };
        let roots = self.all_roots();
        (vec![Event::NodeProposed { by, node: Box::new(node), roots }], Ended::PlannedLocally)
    }

    fn plan(&mut self, by: EffectId, answer: BlobId, source: PlanSource) -> (Vec<Event>, Ended) {
        let readable = !self.dice.chance(250);
        let capture = capture("a plan");
        if !readable && source == PlanSource::Architect {
            let (state, evidence) = (ParseState::SchemaInvalid, Some(blob("rejected")));
            let diagnostics = vec!["no tasks".to_owned()];
            return (
                vec![],
                Ended::PlanParsed {
                    state,
                    capture,
                    proposed: None,
                    diagnostics,
                    settled: vec![],
                    evidence,
                    recovered: recovered(),
                    bundle: None,
                },
            );
        }
        let source = if readable { PlanSource::Architect } else { source };
        let mut roots = self.all_roots();
        if self.dice.chance(200) {
            roots.push(root("web", "go"));
        }
        let count = 1 + self.dice.pick(&[1, 0, 2, 3]);
        let facts = NAMES[..count].iter().map(|name| {
            let node = Box::new(self.planned(name, source));
            Event::NodeProposed { by, node, roots: self.some_roots(&roots) }
        });
        let facts = facts.collect();
        let together = count == 1 && source == PlanSource::Architect && self.dice.chance(500);
        let state = ParseState::StructuredOk;
        let proposed = Some(source);
        (
            facts,
            Ended::PlanParsed {
                state,
                capture,
                proposed,
                diagnostics: vec![],
                settled: vec![],
                evidence: None,
                recovered: recovered(),
                bundle: together.then_some(answer),
            },
        )
    }

    fn planned(&mut self, name: &str, source: PlanSource) -> PlanNode {
        let before: Vec<&str> = NAMES.iter().copied().take_while(|other| *other != name).collect();
        let kept: Vec<&str> = before.into_iter().filter(|_| !self.dice.chance(400)).collect();
        let mut node = plan_node(name, &kept);
        if self.dice.chance(200) {
            node.leaves_red.push("old".to_owned());
        }
        node.task_type = self.dice.pick(&[TaskType::Code, TaskType::UnitTest, TaskType::Documentation]);
        if source == PlanSource::Fallback {
            node.scope = OpenScope::Open;
            node.output_files.clear();
        }
        node
    }

    fn some_roots(&mut self, roots: &[RootRef]) -> Vec<RootRef> {
        if roots.is_empty() {
            return vec![];
        }
        let one = vec![self.dice.pick(roots)];
        self.dice.pick(&[one.clone(), one, roots.to_vec()])
    }

    fn bundle(&mut self) -> Ended {
        let asks = self.dice.chance(100);
        let rejected = !asks && self.dice.chance(200);
        let retry = self.dice.pick(&[
            RetryClass::Malformed,
            RetryClass::Retarget,
            RetryClass::Retarget,
            RetryClass::Replan,
        ]);
        let commands = if self.dice.chance(150) { vec!["make assets".to_owned()] } else { vec![] };
        let needs = if !commands.is_empty() && self.dice.chance(500) {
            vec![need(ConsentKind::Command, "make assets", Declared::No)]
        } else {
            vec![]
        };
        Ended::BundleParsed {
            state: if rejected { ParseState::SemanticallyRejected } else { ParseState::StructuredOk },
            capture: capture("a bundle"),
            changes: (!rejected && !asks).then(|| blob(&self.fresh("changes"))),
            retry: rejected.then_some(retry),
            violations: if rejected { vec!["outside its files".to_owned()] } else { vec![] },
            evidence: rejected.then(|| blob("rejected answer")),
            widened: if self.dice.chance(100) { vec![path("src/beside.rs")] } else { vec![] },
            changes_tests: if self.dice.chance(100) { vec![declaration("tests/a.rs")] } else { vec![] },
            leaves_red: if self.dice.chance(100) { vec!["old".to_owned()] } else { vec![] },
            skipped: vec![],
            refused: vec![],
            commands,
            needs,
            recovered: recovered(),
            requests: if asks { self.some_requests() } else { vec![] },
            roots: if self.dice.chance(60) { vec![root("web", "go")] } else { vec![] },
        }
    }

    fn some_requests(&mut self) -> Vec<ContextRequest> {
        let path = self.dice.pick(&["src/a.rs", "src/b.rs"]).to_owned();
        let lines = if self.dice.chance(500) { Some((1, 40)) } else { None };
        let search = ContextRequest::Search { query: "adds".to_owned() };
        let symbol = ContextRequest::Symbol { symbol: "Adder".to_owned() };
        let read = ContextRequest::Read { path, lines };
        (0..=self.dice.below(2))
            .map(|_| self.dice.pick(&[read.clone(), search.clone(), symbol.clone()]))
            .collect()
    }

    fn publish(&mut self, flight: &InFlight) -> Ended {
        if self.dice.chance(250) {
            let changed = self.dice.pick(&["README.md", "src/core.rs", "src/read.rs", "docs/a.md"]);
            return Ended::BaseMoved { head: self.moved(), changed: vec![path(changed)], more: 0 };
        }
        self.publish_done(flight)
    }

    /// The outcome of a publication that reached the tree.
    pub(super) fn publish_done(&mut self, flight: &InFlight) -> Ended {
        let (Effect::Publish { branch, readings, .. }, Some(node)) = (&flight.effect, &flight.key.node)
        else {
            panic!("{flight:?} publishes nothing");
        };
        let commit = commit(&self.state, node, branch, readings.clone());
        let head = TreeRef { id: branch.tree, manifest: blob(&branch.tree.to_string()) };
        Ended::Published { commit: Box::new(commit), head }
    }
}
