//! What can come of an effect. A roll of zero is success.

use perspt_core::effect::{Branch, Effect, Expects, TreeRef};
use perspt_core::energy::{ReadingSummary, TestCounts};
use perspt_core::event::{
    Approval, AskNext, Calibration, Decision, DiffNote, Ended, Event, ParseState, PlanSource, RepoMode,
    RetryClass, RootRef,
};
use perspt_core::hash::Sha;
use perspt_core::ids::{EffectId, NodeId, TreeId};
use perspt_core::plan::{OpenScope, PlanNode, TaskType};
use perspt_core::reading::{StageId, StageKind, Status};
use perspt_core::state::InFlight;

use super::World;
use crate::support::*;

const NAMES: [&str; 4] = ["core", "shell", "tests", "glue"];

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
            Effect::LayOut { base, changes } => {
                let tree = TreeId(Sha::of_fields([&base.id.0.0[..], &changes.0.0[..]]));
                let diff = DiffNote { create: vec![path("src/new.rs")], ..DiffNote::default() };
                Ended::LaidOut { tree, changes: *changes, diff, runs: vec![] }
            }
            Effect::Measure { branch, stage, .. } => self.measure(node, branch, stage),
            Effect::Calibrate { .. } => self.calibrate(),
            Effect::Assemble { intent, .. } => {
                let prompt = blob(&self.fresh("prompt"));
                let files = vec![path("src/read.rs"), path("Cargo.toml")];
                Ended::Assembled {
                    prompt,
                    context: sha("context"),
                    files,
                    degraded: vec![],
                    bytes: 2000,
                    tokens: 500 + self.dice.below(200),
                    template: intent.slug().to_owned(),
                }
            }
            Effect::Ask { estimate, .. } => self.ask(estimate.tokens),
            Effect::Parse { expects, .. } => match expects {
                Expects::Plan => return self.plan(id, PlanSource::Architect),
                Expects::PlanOrFallback => return self.plan(id, PlanSource::Fallback),
                Expects::Bundle(_) => self.bundle(),
            },
            Effect::Question { .. } => {
                let answer = if self.dice.chance(60) { Decision::No } else { Decision::Yes };
                Ended::Decided { answer, by: Approval::Policy }
            }
            Effect::Publish { .. } => self.publish(flight),
        };
        let reads_the_tree = matches!(
            flight.effect,
            Effect::Probe
                | Effect::Fetch { .. }
                | Effect::LayOut { .. }
                | Effect::Measure { .. }
                | Effect::Calibrate { .. }
                | Effect::Assemble { .. }
                | Effect::Parse { .. }
        );
        if reads_the_tree && self.trials.moves > 0 && self.dice.chance(8) {
            self.trials.moves -= 1;
            let head = self.moved();
            return (vec![], Ended::BaseMoved { head, changed: vec![], more: 1 });
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
        let roots = [vec![root("", "rust")], vec![root("", "rust"), root("py", "python")]];
        Ended::Snapshotted {
            tree: tree("base"),
            files: 12,
            repo_mode: self.dice.pick(&[RepoMode::Existing, RepoMode::Existing, RepoMode::Greenfield]),
            roots: self.dice.pick(&roots),
            git_head: None,
            notes: vec![],
        }
    }

    fn probe(&mut self) -> Ended {
        let found = self.state.found.as_ref().map_or(vec![], |found| found.roots.clone());
        let mut roots: Vec<_> = found.iter().map(stages_of).collect();
        for root in &mut roots {
            if self.dice.chance(60) {
                root.missing = vec![missing("pytest")];
                root.stages.pop();
            } else if self.dice.chance(100) {
                root.stages[0].required = false;
            }
        }
        let tools = vec!["cargo: 1".to_owned()];
        Ended::Probed { roots, tools, detail: blob("probes"), confinement: "full".to_owned() }
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
        Ended::Measured { reading, environment, runs: vec![run_note()] }
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
            self.dice.pick(&[
                Calibration::Blind(plant.clone()),
                Calibration::Unmeasured(plant.clone()),
                Calibration::Unreached(plant),
            ])
        } else {
            let seen = vec!["a type error".to_owned()];
            self.dice.pick(&[Calibration::Sees(seen), Calibration::Remembered])
        };
        Ended::Calibrated { verdict, runs: vec![run_note()] }
    }

    fn ask(&mut self, estimate: u64) -> Ended {
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
            return Ended::AskFailed {
                class: "Status".to_owned(),
                what: "529".to_owned(),
                next,
                began: self.dice.chance(300),
                tokens: None,
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
            model: "m".to_owned(),
        }
    }

    fn plan(&mut self, by: EffectId, source: PlanSource) -> (Vec<Event>, Ended) {
        let readable = !self.dice.chance(250);
        let capture = capture("a plan");
        if !readable && source == PlanSource::Architect {
            let (state, evidence) = (ParseState::SchemaInvalid, Some(blob("rejected")));
            let diagnostics = vec!["no tasks".to_owned()];
            return (vec![], Ended::PlanParsed { state, capture, proposed: None, diagnostics, evidence });
        }
        let source = if readable { PlanSource::Architect } else { source };
        let roots = self.state.found.as_ref().map_or(vec![], |found| found.roots.clone());
        let count = 1 + self.dice.pick(&[1, 0, 2, 3]);
        let facts = NAMES[..count].iter().map(|name| {
            let node = Box::new(self.planned(name, source));
            Event::NodeProposed { by, node, roots: self.some_roots(&roots) }
        });
        let facts = facts.collect();
        let state = ParseState::StructuredOk;
        let proposed = Some(source);
        (facts, Ended::PlanParsed { state, capture, proposed, diagnostics: vec![], evidence: None })
    }

    fn planned(&mut self, name: &str, source: PlanSource) -> PlanNode {
        let before: Vec<&str> = NAMES.iter().copied().take_while(|other| *other != name).collect();
        let kept: Vec<&str> = before.into_iter().filter(|_| !self.dice.chance(400)).collect();
        let mut node = plan_node(name, &kept);
        node.task_type = self.dice.pick(&[TaskType::Code, TaskType::UnitTest, TaskType::Documentation]);
        if source == PlanSource::Fallback {
            node.scope = OpenScope::Sources;
            node.output_files.clear();
        }
        node
    }

    fn some_roots(&mut self, roots: &[RootRef]) -> Vec<RootRef> {
        let one = vec![self.dice.pick(roots)];
        self.dice.pick(&[one.clone(), one, roots.to_vec()])
    }

    fn bundle(&mut self) -> Ended {
        let rejected = self.dice.chance(200);
        let retry = self.dice.pick(&[
            RetryClass::Malformed,
            RetryClass::Retarget,
            RetryClass::Retarget,
            RetryClass::Replan,
        ]);
        Ended::BundleParsed {
            state: if rejected { ParseState::SemanticallyRejected } else { ParseState::StructuredOk },
            capture: capture("a bundle"),
            changes: (!rejected).then(|| blob(&self.fresh("changes"))),
            retry: rejected.then_some(retry),
            violations: if rejected { vec!["outside its files".to_owned()] } else { vec![] },
            evidence: rejected.then(|| blob("rejected answer")),
        }
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
        let (Effect::Publish { branch, evidence, .. }, Some(node)) = (&flight.effect, &flight.key.node)
        else {
            panic!("{flight:?} publishes nothing");
        };
        let commit = commit(&self.state, node, branch, evidence.clone());
        let head = TreeRef { id: branch.tree, manifest: blob(&branch.tree.to_string()) };
        Ended::Published { commit: Box::new(commit), head }
    }
}
