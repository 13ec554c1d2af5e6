//! Events that make no sense: any kind, with any content, over so few names that they collide.

mod models;

use perspt_core::consent::{ConsentKind, Declared, Grant, Need};
use perspt_core::effect::{Branch, Effect, EffectKey, Expects, Intent, Question, TreeRef};
use perspt_core::energy::{Energy, NewTests, ReadingSummary, Scores, TestCounts};
use perspt_core::event::*;
use perspt_core::grade::Grade;
use perspt_core::ids::{BlobId, EffectId, NodeId, SessionId, TreeId};
use perspt_core::inventory::TestId;
use perspt_core::outcome::{Closing, EndReason, FinalPass, Outcome};
use perspt_core::path::RelPath;
use perspt_core::plan::{OpenScope, PlanNode, TaskType};
use perspt_core::reading::{MeasuredBy, StageId, StageKind, Status};
use perspt_core::residual::Milli;
use perspt_core::route::Tier;
use perspt_core::stage::{Preset, StageRole};

use crate::dice::Dice;
use crate::support::*;

const PLAN_SOURCES: [PlanSource; 3] = [PlanSource::Architect, PlanSource::Fallback, PlanSource::Local];

/// Talks nonsense.
pub struct Babble<'a>(pub &'a mut Dice);

impl Babble<'_> {
    fn number(&mut self) -> u64 {
        self.0.pick(&[0, 1, 2, 3, 1000, u64::from(u32::MAX), u64::MAX])
    }

    fn small(&mut self) -> u32 {
        self.0.pick(&[0, 1, 2, 3, 1000, u32::MAX])
    }

    fn tree(&mut self) -> TreeRef {
        tree(self.0.pick(&["t0", "t1", "t2"]))
    }

    fn tree_id(&mut self) -> TreeId {
        self.tree().id
    }

    fn blob(&mut self) -> BlobId {
        blob(self.0.pick(&["b0", "b1", "b2", "b3"]))
    }

    fn blobs(&mut self) -> Vec<BlobId> {
        (0..self.0.below(3)).map(|_| self.blob()).collect()
    }

    fn maybe<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.0.chance(500).then(|| make(self))
    }

    fn path(&mut self) -> RelPath {
        path(self.0.pick(&["src/a.rs", "src/b.rs", "py/c.py"]))
    }

    fn paths(&mut self) -> Vec<RelPath> {
        (0..self.0.below(3)).map(|_| self.path()).collect()
    }

    fn text(&mut self) -> String {
        self.0.pick(&["", "a", "text"]).to_owned()
    }

    pub fn node_id(&mut self) -> NodeId {
        NodeId::from(self.0.pick(&["a", "b", "c"]))
    }

    fn root(&mut self) -> RootRef {
        self.0.pick(&[root("", "rust"), root("py", "python"), root("", "python")])
    }

    fn roots(&mut self) -> Vec<RootRef> {
        (0..self.0.below(3)).map(|_| self.root()).collect()
    }

    fn stage(&mut self) -> StageId {
        let kind = self.0.pick(&StageKind::ALL);
        self.root().stage(kind)
    }

    fn branch(&mut self) -> Branch {
        Branch { base: self.tree(), changes: self.maybe(Self::blob), tree: self.tree_id() }
    }

    fn intent(&mut self) -> Intent {
        self.0.pick(&[
            Intent::Generate,
            Intent::ArchitectExisting,
            Intent::ArchitectGreenfield,
            Intent::Correction,
            Intent::Retarget,
            Intent::Malformed,
            Intent::Analysis,
            Intent::SoloGenerate,
            Intent::SoloCorrection,
        ])
    }

    pub fn effect(&mut self) -> Effect {
        match self.0.below(15) {
            0 => Effect::Snapshot,
            1 => Effect::Probe,
            2 => Effect::Fetch { tree: self.tree() },
            3 => Effect::LayOut { base: self.tree(), changes: self.blob(), commands: vec![self.text()] },
            4 => Effect::Measure { branch: self.branch(), stage: self.stage(), run: 1 },
            5 => Effect::Calibrate { branch: self.branch(), stage: self.stage(), reading: self.blob() },
            6 => Effect::Assemble {
                intent: self.intent(),
                attempt: self.small(),
                branch: self.branch(),
                evidence: self.blobs(),
                analysis: self.maybe(Self::blob),
            },
            7 => Effect::Ask {
                intent: self.intent(),
                attempt: self.small(),
                prompt: self.blob(),
                estimate: self.spend(),
                route: self.maybe(|by| Box::new(by.ask_route())),
            },
            8 => {
                let bundle = Expects::Bundle(self.branch());
                let expects = [Expects::Plan, Expects::PlanOrFallback, bundle, Expects::Analysis];
                Effect::Parse { answer: self.blob(), expects: self.0.pick(&expects) }
            }
            9 => Effect::Question { question: self.question() },
            10 => Effect::RunOldTests { branch: self.branch(), stage: self.stage() },
            12 => Effect::RunNewTests { branch: self.branch(), stage: self.stage() },
            13 => Effect::PlanLocal { branch: self.branch() },
            11 => Effect::Judge {
                branch: self.branch(),
                readings: self.blobs(),
                before: self.blobs(),
                old_tests: self.blobs(),
                required: vec![self.stage()],
                grants: self.small(),
            },
            _ => Effect::Publish {
                branch: self.branch(),
                readings: self.blobs(),
                before: self.blobs(),
                old_tests: self.blobs(),
                required: vec![self.stage()],
            },
        }
    }

    fn question(&mut self) -> Question {
        if self.0.chance(500) {
            return Question::Plan { plan: self.blob().0 };
        }
        Question::Consents {
            needs: self.needs(),
            count: self.small(),
            judgement: self.maybe(Self::blob),
            texts: self.maybe(Self::blob),
        }
    }

    fn need(&mut self) -> Need {
        let kind = self.0.pick(&ConsentKind::ALL);
        let declared = self.0.pick(&[Declared::InTime, Declared::Late, Declared::No]);
        let test = TestId { file: self.path(), name: self.text(), runner: self.text() };
        Need {
            weaker: vec![self.text()],
            test: self.maybe(|_| test),
            ..need(kind, self.0.pick(&["src/a.rs", "src/a.rs::adds", "make"]), declared)
        }
    }

    fn needs(&mut self) -> Vec<Need> {
        (0..self.0.below(3)).map(|_| self.need()).collect()
    }

    fn grants(&mut self) -> Vec<Grant> {
        let words =
            ["tests", "red:any", "command:make", "tests:src/a.rs", "unmeasured", "deps", "evidence:any"];
        (0..self.0.below(3)).map(|_| grant(self.0.pick(&words))).collect()
    }

    fn judgement(&mut self) -> JudgementNote {
        let (energy, missing) = (if self.0.chance(500) { self.energy() } else { calm() }, self.needs());
        JudgementNote {
            energy,
            missing_count: self.0.pick(&[missing.len() as u32, 0, 7]),
            missing,
            headlines: vec![self.text()],
            fingerprint: self.blob().0,
            grade: self.0.pick(&[Grade::Tests, Grade::None]),
            told_undeclared: self.0.chance(300),
            only_red: self.0.chance(300),
            tests_changed: self.small(),
            blob: self.blob(),
            ..stable()
        }
    }

    pub fn key(&mut self) -> EffectKey {
        EffectKey {
            node: self.maybe(Self::node_id),
            generation: self.0.below(3) as u32,
            ordinal: self.0.below(4) as u32,
        }
    }

    pub fn effect_id(&mut self) -> EffectId {
        EffectId(self.blob().0)
    }

    fn scores(&mut self) -> Scores {
        let mut milli = || Milli(self.number());
        Scores { syn: milli(), str: milli(), log: milli(), boot: milli(), sheaf: milli() }
    }

    fn energy(&mut self) -> Energy {
        Energy {
            scores: self.scores(),
            total: Milli(self.number()),
            errors: self.small(),
            unmeasured: self.small(),
        }
    }

    fn reading(&mut self) -> ReadingSummary {
        let status = [
            Status::Measured,
            Status::Measured,
            Status::NotRun(self.text()),
            Status::Unavailable(self.text()),
        ];
        ReadingSummary {
            absent: vec![],
            regressed: false,
            only_prose: self.0.chance(100),
            added_tests: self.small(),
            other_roots: self.roots(),
            by: self.0.pick(&[MeasuredBy::Language, MeasuredBy::Own]),
            tree: self.tree_id(),
            stage: self.stage(),
            tool: self.text(),
            status: self.0.pick(&status),
            scores: self.scores(),
            errors: self.small(),
            old_tests: self.0.chance(300),
            tests: self.maybe(|by| TestCounts {
                passed: by.small(),
                failed: by.small(),
                skipped: by.small(),
            }),
            headlines: vec![self.text()],
            fingerprint: self.blob().0,
            blob: self.blob(),
        }
    }

    fn root_stages(&mut self) -> RootStages {
        let mut stages = stages_of(&self.root());
        stages.stages.truncate(self.0.below(1 + stages.stages.len() as u64) as usize);
        for tool in stages.stages.iter_mut().filter(|_| self.0.chance(200)) {
            tool.role = StageRole::Shown;
        }
        if self.0.chance(200) {
            stages.missing.push(missing("t"));
        }
        if self.0.chance(200) {
            stages.left_out.push(missing("u"));
        }
        stages
    }

    fn commit(&mut self) -> Commit {
        let artifacts: Vec<_> = self.paths().iter().map(|at| change(at.as_str(), None, Some("x"))).collect();
        Commit {
            new_tests: None,
            node: self.node_id(),
            goal: self.text(),
            class: Default::default(),
            parent: self.blob().0,
            merkle: merkle(&artifacts),
            base: self.tree_id(),
            tree: self.tree_id(),
            artifacts,
            energy: self.energy(),
            retries: self.small(),
            evidence: self.blobs(),
            prompt: self.maybe(Self::blob),
            model: self.text(),
            grade: Grade::Build,
            below: vec![self.text()],
            unmeasured: vec![self.text()],
            consents: self.needs().into_iter().map(|need| Consented { need, grant: grant("deps") }).collect(),
            preset: Preset::Default,
        }
    }

    fn plan_node(&mut self) -> PlanNode {
        let id = self.node_id();
        let dependencies: Vec<NodeId> = (0..self.0.below(3)).map(|_| self.node_id()).collect();
        PlanNode {
            dependencies,
            output_files: self.paths(),
            task_type: self.0.pick(&[TaskType::Code, TaskType::Documentation]),
            scope: self.0.pick(&[OpenScope::Listed, OpenScope::Open]),
            ..plan_node(id.as_str(), &[])
        }
    }

    fn asked(&mut self) -> Ended {
        let text = self.text();
        match self.0.below(4) {
            0 => Ended::Answered {
                answer: self.blob(),
                capture: capture(&text),
                tokens_in: self.maybe(Self::number),
                tokens_out: self.maybe(Self::number),
                tokens_cached: self.maybe(Self::number),
                tokens_estimated: self.maybe(Self::number),
                first_token_ms: self.number(),
                latency_ms: self.number(),
                model: text,
                cost: self.maybe(Self::number),
            },
            1 => Ended::Assembled {
                prompt: self.blob(),
                context: self.blob().0,
                files: self.paths(),
                degraded: vec![text.clone()],
                tokens: self.number(),
                parts: vec![PromptPart { part: text.clone(), tokens: self.number() }],
                provenance: provenance(&text),
            },
            2 => Ended::TooLargeForModel { needed: self.number(), window: self.number(), model: text },
            _ => {
                let again = AskNext::Again(self.maybe(Self::number));
                let next = self.0.pick(&[again, AskNext::Malformed, AskNext::Unusable]);
                Ended::AskFailed {
                    class: text.clone(),
                    what: text,
                    next,
                    began: self.0.chance(500),
                    tokens: self.0.chance(300).then_some(7),
                    cost: self.maybe(Self::number),
                    tries: self.maybe(Self::small),
                }
            }
        }
    }

    fn read(&mut self) -> Ended {
        let state = self.0.pick(&[ParseState::StructuredOk, ParseState::EmptyResponse]);
        let capture = capture(&self.text());
        let classes =
            [RetryClass::Malformed, RetryClass::Retarget, RetryClass::Correction, RetryClass::Replan];
        if self.0.chance(200) {
            let (recovered, analysis) = (self.recovered(), self.maybe(Self::blob));
            Ended::AnalysisParsed { state, capture, recovered, analysis }
        } else if self.0.chance(500) {
            let source = self.0.pick(&PLAN_SOURCES);
            let (proposed, evidence) = (self.maybe(|_| source), self.maybe(Self::blob));
            Ended::PlanParsed {
                state,
                capture,
                proposed,
                diagnostics: vec![self.text()],
                settled: vec![self.text()],
                evidence,
                recovered: self.recovered(),
                bundle: self.maybe(Self::blob),
            }
        } else {
            Ended::BundleParsed {
                state,
                capture,
                changes: self.maybe(Self::blob),
                retry: self.maybe(|by| by.0.pick(&classes)),
                violations: vec![self.text()],
                evidence: self.maybe(Self::blob),
                widened: self.paths(),
                changes_tests: self.paths().iter().map(|at| declaration(at.as_str())).collect(),
                leaves_red: vec![self.text()],
                skipped: vec![self.text()],
                refused: vec![],
                commands: vec![self.text()],
                needs: self.needs(),
                recovered: self.recovered(),
                requests: (0..self.0.below(2)).map(|_| self.request()).collect(),
                roots: self.roots(),
            }
        }
    }

    pub fn ended(&mut self) -> Ended {
        match self.0.below(24) {
            0 => Ended::Snapshotted {
                since: None,
                runs: vec![],
                tree: self.tree(),
                files: self.number(),
                repo_mode: self.0.pick(&[RepoMode::Existing, RepoMode::Greenfield]),
                roots: self.roots(),
                git_head: self.maybe(Self::text),
                notes: vec![self.text()],
            },
            1 => Ended::Unworkable { trouble: trouble() },
            2 => Ended::Probed {
                runs: vec![run_note()],
                roots: (0..self.0.below(4)).map(|_| self.root_stages()).collect(),
                tools: vec![self.text()],
                detail: self.blob(),
                confinement: self.text(),
            },
            3 => Ended::Fetched { runs: vec![run_note()] },
            4 => {
                let diff = DiffNote { create: self.paths(), ..DiffNote::default() };
                Ended::LaidOut { tree: self.tree_id(), changes: self.blob(), diff, runs: vec![] }
            }
            5 | 6 => Ended::Measured {
                reading: self.reading(),
                environment: self.maybe(|_| missing("t")),
                runs: vec![],
                reused: false,
            },
            7 => {
                let blind = Calibration::Blind(self.text());
                let sees = Calibration::Sees(vec![]);
                let verdict = self.0.pick(&[Calibration::Remembered, sees, blind]);
                Ended::Calibrated { verdict, runs: vec![] }
            }
            8..=10 => self.asked(),
            11 | 12 => self.read(),
            13 => {
                let other = Decision::Correct(self.text());
                let answer = self.0.pick(&[Decision::Yes, Decision::Yes, Decision::No, other]);
                Ended::Decided { answer, by: Approval::Person, from: None, grants: self.grants() }
            }
            14 => Ended::Published { commit: Box::new(self.commit()), head: self.tree() },
            15 => Ended::BaseMoved { head: self.tree(), changed: self.paths(), more: self.0.below(2) },
            16 => self.0.pick(&[Ended::Lost, Ended::Cancelled]),
            17 | 18 => Ended::Judged { judgement: Box::new(self.judgement()) },
            19 => Ended::LayoutRefused { violations: vec![self.text()], runs: vec![run_note()] },
            20 => Ended::Overtaken { files: self.paths() },
            21 => Ended::NewTestsRan {
                tests: NewTests { added: self.small(), failed_before: self.small() },
                reading: self.blob(),
                runs: vec![run_note()],
            },
            22 => Ended::PlannedLocally,
            _ => Ended::Broke { trouble: trouble() },
        }
    }

    pub fn event(&mut self) -> Event {
        match self.0.below(15) {
            0 => {
                let settings = Settings {
                    answers: self.small(),
                    corrections: self.small(),
                    backoff_ms: self.number(),
                    ..Settings::default()
                };
                let session = SessionId::from(self.0.pick(&["s-1", "s-2"]));
                let (routes, planning) = (self.routes(), self.maybe(|by| by.0.pick(&PlanningPolicy::ALL)));
                let started = SessionStarted { session, routes, planning, ..started(settings) };
                Event::SessionStarted(Box::new(started))
            }
            1 => Event::SessionResumed(SessionResumed {
                limits: self.maybe(|_| plenty()),
                approval: self.maybe(|by| by.0.pick(&[Approval::Person, Approval::Policy])),
                allow: self.grants(),
                model: self.maybe(Self::text),
                base_url: self.maybe(Self::text),
                routes: self.routes(),
            }),
            2 => Event::TailCut { offset: self.number(), bytes: self.number(), kept_as: self.text() },
            3 => Event::EffectStarted { id: self.effect_id(), key: self.key(), effect: self.effect() },
            4 => Event::EffectEnded { id: self.effect_id(), of: None, outcome: self.ended() },
            5 => Event::NodeProposed {
                by: self.effect_id(),
                node: Box::new(self.plan_node()),
                roots: self.roots(),
            },
            6 => Event::PlanAdopted {
                revision: self.small(),
                source: self.0.pick(&PLAN_SOURCES),
                nodes: self.small(),
                plan: self.blob().0,
            },
            7 => Event::AttemptJudged {
                node: self.node_id(),
                attempt: self.small(),
                tree: self.tree_id(),
                stages: vec![],
                energy: self.energy(),
                threshold: Milli(self.number()),
                verdict: self.0.pick(&[
                    Verdict::Stable,
                    Verdict::Improved,
                    Verdict::Discarded,
                    Verdict::Waits,
                ]),
                reason: self.maybe(Self::text),
                grade: self.0.pick(&[Grade::Prose, Grade::Syntax]),
                missing: self.needs(),
                analysis: self.maybe(|by| by.0.pick(&[AnalysisChoice::Asked, AnalysisChoice::Skipped])),
            },
            13 => Event::TierMoved {
                tier: self.0.pick(&Tier::ALL),
                from: self.text(),
                to: self.text(),
                why: self.text(),
            },
            8 | 9 => Event::NodeClosed { node: self.node_id(), end: self.closed() },
            10 => Event::PauseAsked,
            11 => Event::AbortAsked { by: self.text() },
            12 => {
                let place = KeptPlace::Blob(self.blob());
                self.paths().pop().map_or(Event::PauseAsked, |path| Event::BytesKept { path, place })
            }
            _ => {
                let reasons = [
                    EndReason::NodesClosed,
                    EndReason::Paused,
                    EndReason::Aborted,
                    EndReason::Degraded,
                    EndReason::Budget,
                    EndReason::Consents,
                    EndReason::Refused,
                ];
                let closing = Closing { final_pass: FinalPass::Red };
                Event::SessionEnded {
                    reason: self.0.pick(&reasons),
                    outcome: self.0.pick(&[Outcome::Success, Outcome::Failed]),
                    closing,
                    trouble: self.maybe(|_| trouble()),
                }
            }
        }
    }

    fn closed(&mut self) -> Closed {
        if self.0.chance(200) {
            return Closed::Rejected;
        }
        if self.0.chance(500) {
            return Closed::Blocked { by: self.node_id() };
        }
        let certificate = Certificate {
            reason: self.0.pick(&[EscalateReason::Repeated, EscalateReason::WindowTooSmall]),
            category: Category::ImplementationError,
            energy: self.maybe(Self::energy),
            residuals: vec![self.text()],
            evidence: self.blobs(),
            answers: self.small(),
            corrections: self.small(),
            head: self.tree_id(),
            next: self.text(),
        };
        Closed::Escalated { certificate: Box::new(certificate) }
    }
}
