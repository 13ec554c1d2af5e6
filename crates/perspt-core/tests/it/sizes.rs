//! An event of each kind with as much in it as the agent's own limits let in stays under what the log takes.

use perspt_core::budget::{BudgetLimits, Spend};
use perspt_core::consent::{ConsentKind, Declared, Extent, Grant, GrantedBy, Need, TestDeclaration};
use perspt_core::context::{ContextRequest, REQUEST_CHARS, REQUESTS_MAX};
use perspt_core::contract::{Check, Rule};
use perspt_core::effect::{AskRoute, Branch, Effect, EffectKey, EffectNote, Expects, Intent, Question};
use perspt_core::energy::{Energy, NewTests, ReadingSummary, Scores, TestCounts};
use perspt_core::event::*;
use perspt_core::grade::Grade;
use perspt_core::ids::{BlobId, EffectId, NodeId, SessionId};
use perspt_core::inventory::TestId;
use perspt_core::judge::{brief, brief_promises};
use perspt_core::outcome::{Closing, EndReason, FinalPass, Outcome};
use perspt_core::own::{OwnCommand, OwnCommands, OwnWays};
use perspt_core::path::RelPath;
use perspt_core::plan::{Contract, Criticality, PlanNode, WeightedTest};
use perspt_core::reading::{MeasuredBy, StageKind};
use perspt_core::residual::Milli;
use perspt_core::route::{AnswerForm, MODELS_MAX, Price, Route, Tier, TierRoute};
use perspt_core::stage::{Preset, StageRole};
use perspt_core::tree::Change;

use crate::support::*;

/// The longest name of a revision that the command line takes.
const REVISION_CHARS: usize = 400;

/// What the log takes.
const MOST: usize = 16 * 1024;
/// Files of a node, of a context package, of a commit.
const FILES: usize = 20;
/// Lines of a rejection, and their characters.
const LINES: usize = 12;
const LINE_CHARS: usize = 600;
/// Bytes of a line that says what was put right in a plan.
const NOTE_BYTES: usize = 400;
/// Characters of a model's name and of an endpoint.
const MODEL_CHARS: usize = 200;
const URL_CHARS: usize = 2000;
/// An endpoint that leaves room for routes.
const SHORT_URL_CHARS: usize = 300;
const GOAL_CHARS: usize = 1000;
const TASK_BYTES: usize = 8000;
const MOVED_PATHS: usize = 40;
/// Grants of one answer, and flags of one command line.
const GRANTS: usize = 60;
const FLAGS: usize = 20;
/// What a judgement carries of its needs.
const NEED_BYTES: usize = 6 * 1024;

fn long_path(chars: usize, at: usize) -> RelPath {
    let name = format!("{at:03}.rs");
    path(&format!("{}/{name}", "deep/".repeat(chars / 5)[..chars - name.len() - 1].trim_end_matches('/')))
}

fn paths(count: usize, chars: usize) -> Vec<RelPath> {
    (0..count).map(|at| long_path(chars, at)).collect()
}

fn lines(count: usize, chars: usize) -> Vec<String> {
    vec!["x".repeat(chars); count]
}

fn blobs(count: usize) -> Vec<BlobId> {
    vec![blob("b"); count]
}

fn wide_root(at: usize) -> RootRef {
    RootRef { dir: long_path(40, at), plugin: root("", "python").plugin }
}

/// A root with a build and a test stage, as every language has them.
fn probed_root(at: usize) -> RootStages {
    let mut stages = stages_of(&wide_root(at));
    stages.stages.remove(0);
    // A tool is named once, however many roots ask for it.
    let left_out = || MissingTool { tool: "t".repeat(20), why: "w".repeat(400), install: "i".repeat(100) };
    stages.left_out.extend((at == 0).then(left_out));
    stages
}

fn node() -> NodeId {
    NodeId("n".repeat(64))
}

fn id() -> EffectId {
    EffectId(sha("effect"))
}

fn wide_branch() -> Branch {
    Branch { changes: Some(blob("c")), ..branch("t") }
}

fn troubled() -> Trouble {
    let text = || "x".repeat(1500);
    Trouble { what: text(), why: text(), todo: text() }
}

fn runs() -> Vec<RunNote> {
    let note = RunNote {
        slot: "0".to_owned(),
        output: Some(blob("o")),
        step: "test/collect".to_owned(),
        command: "x".repeat(161),
        end: "exit code 101".to_owned(),
        confinement: "x".repeat(200),
        ms: u64::MAX,
    };
    vec![note; 8]
}

fn energy() -> Energy {
    let most = Milli(u64::MAX);
    let scores = Scores { syn: most, str: most, log: most, boot: most, sheaf: most };
    Energy { scores, total: most, errors: u32::MAX, unmeasured: u32::MAX }
}

/// A test with a long name in a deep folder, and as much to say of it as can be.
fn wide_need(at: usize) -> Need {
    let (file, name) = (long_path(120, at), "n".repeat(120));
    Need {
        why: "é".repeat(LINE_CHARS),
        weaker: vec!["é".repeat(LINE_CHARS); LINES],
        notes: vec!["\u{1b}".repeat(LINE_CHARS); LINES],
        test: Some(TestId { file: file.clone(), name: name.clone(), runner: format!("{name}::{name}") }),
        ..need(ConsentKind::Tests, &format!("{file}::{name}"), Declared::Late)
    }
}

/// What the log carries of many such needs.
fn brief_needs(most: usize) -> Vec<Need> {
    let all: Vec<Need> = (0..100).map(wide_need).collect();
    let brief = brief(&all, most);
    assert!(!brief.is_empty() && brief.iter().zip(&all).all(|(short, need)| short.subject == need.subject));
    brief
}

/// A need of an answer: the agent says why in a line.
fn told_need(at: usize) -> Need {
    Need { weaker: vec![], notes: vec![], why: "w".repeat(200), test: None, ..wide_need(at) }
}

fn wide_grant(at: usize) -> Grant {
    let extent = Extent::Subject(long_path(120, at).to_string());
    Grant { kind: ConsentKind::Unmeasured, extent, by: GrantedBy::Config }
}

fn wide_declaration(at: usize) -> TestDeclaration {
    TestDeclaration {
        test: Some("t".repeat(60)),
        why: "w".repeat(100),
        ..declaration(long_path(120, at).as_str())
    }
}

fn wide_stages() -> Vec<StageVerdict> {
    let stage = |at| StageVerdict {
        stage: wide_root(at).stage(StageKind::Structure),
        tool: "python -m pytest".to_owned(),
        role: StageRole::Shown,
        result: StageResult::Fail(u32::MAX),
        tests: Some(TestCounts { passed: u32::MAX, failed: u32::MAX, skipped: u32::MAX }),
        inherited: u32::MAX,
    };
    (0..16).map(stage).collect()
}

fn wide_judgement() -> JudgementNote {
    JudgementNote {
        energy: energy(),
        stages: wide_stages(),
        headlines: lines(4, 200),
        below: lines(6, 200),
        unmeasured: brief_promises(&lines(6, 200)),
        missing: brief_needs(NEED_BYTES),
        missing_count: u32::MAX,
        told_undeclared: true,
        only_red: true,
        only_undeclared: false,
        tests_changed: u32::MAX,
        ..stable()
    }
}

fn wide_reading() -> ReadingSummary {
    ReadingSummary {
        stage: wide_root(0).stage(StageKind::Structure),
        tests: Some(TestCounts { passed: u32::MAX, failed: u32::MAX, skipped: u32::MAX }),
        headlines: lines(4, 200),
        tool: "python -m pytest".to_owned(),
        old_tests: true,
        by: MeasuredBy::Own,
        ..red(tree_id("t"), &stage(StageKind::Test), u32::MAX, "x")
    }
}

/// The most that the user's own commands and the names of variables may have together. The task gives way to them.
const OWN_BYTES: usize = 2000;

fn wide_own() -> OwnWays {
    let commands = || OwnCommands {
        build_cmd: Some(OwnCommand(vec!["make".to_owned()])),
        test_cmd: Some(OwnCommand(vec!["c".repeat(OWN_BYTES / 2 - 200)])),
        test_report: Some(long_path(40, 0)),
    };
    let by_language = [("python".to_owned(), commands())].into();
    OwnWays { commands: commands(), by_language, pass_env: ["TOKEN".to_owned()].into() }
}

fn wide_node() -> PlanNode {
    let test = WeightedTest { name: "t".repeat(60), criticality: Criticality::Critical };
    PlanNode {
        id: node(),
        goal: "g".repeat(GOAL_CHARS),
        context_files: paths(FILES, 120),
        output_files: paths(FILES / 2, 120),
        modifies: paths(FILES / 2, 120),
        dependencies: vec![node(); 20],
        changes_tests: (0..6).map(wide_declaration).collect(),
        leaves_red: lines(6, 60),
        contract: Contract {
            interface_signature: Some("s".repeat(400)),
            invariants: lines(6, 120),
            checks: lines(3, 80)
                .into_iter()
                .map(|line| Check { file: Some(path("src/a.rs")), rule: Rule::MustContain(line) })
                .collect(),
            forbidden_patterns: lines(6, 40),
            weighted_tests: vec![test; 10],
        },
        ..plan_node("n", &[])
    }
}

fn wide_commit() -> Commit {
    let artifact = |file: RelPath| Change { path: file, before: Some(entry("a")), after: Some(entry("b")) };
    let artifacts: Vec<Change> = paths(FILES, 120).into_iter().map(artifact).collect();
    Commit {
        new_tests: Some(NewTests { added: u32::MAX, failed_before: u32::MAX }),
        node: node(),
        goal: "g".repeat(GOAL_CHARS),
        class: Default::default(),
        parent: sha("p"),
        merkle: merkle(&artifacts),
        base: tree_id("a"),
        tree: tree_id("b"),
        artifacts,
        energy: energy(),
        retries: 3,
        evidence: blobs(16),
        prompt: Some(blob("p")),
        model: "m".repeat(MODEL_CHARS),
        grade: Grade::None,
        below: lines(6, 200),
        unmeasured: brief_promises(&lines(6, 200)),
        consents: brief_needs(4 * 1024)
            .into_iter()
            .map(|need| Consented { need, grant: wide_grant(0) })
            .collect(),
        preset: Preset::Strict,
    }
}

fn certificate() -> Certificate {
    Certificate {
        reason: EscalateReason::RetriesExhausted,
        category: Category::ImplementationError,
        energy: Some(energy()),
        residuals: lines(LINES, LINE_CHARS),
        evidence: blobs(LINES),
        answers: 6,
        corrections: 3,
        head: tree_id("t"),
        next: "n".repeat(200),
    }
}

fn wide_spend() -> Spend {
    Spend { steps: 1, tokens: u64::MAX, cost: u64::MAX, unpriced: u64::MAX, bounded: u64::MAX }
}

fn wide_route() -> Route {
    let price = Price { input: u64::MAX, cached: u64::MAX, output: u64::MAX };
    Route {
        window: Some(u32::MAX),
        output: Some(u32::MAX),
        price: Some(price),
        form: AnswerForm::Blocks,
        small: true,
        local: true,
        ..Route::plain(&"m".repeat(MODEL_CHARS), Some(&"u".repeat(URL_CHARS)))
    }
}

/// Every tier with a fallback of its own: as many bytes as routes may have beside a model's name and an endpoint.
fn wide_routes() -> Vec<TierRoute> {
    let plain = || Route { model: "m".to_owned(), base_url: None, ..wide_route() };
    let route = |tier| TierRoute { tier, main: plain(), fallback: Some(plain()) };
    let mut routes: Vec<TierRoute> = Tier::ALL.into_iter().map(route).collect();
    routes[0].main.base_url = Some(String::new());
    let bytes = serde_json::to_string(&routes).unwrap().len();
    routes[0].main.base_url = Some("u".repeat(MODELS_MAX - MODEL_CHARS - SHORT_URL_CHARS - bytes));
    routes
}

fn wide_ask_route() -> AskRoute {
    let Route { model, base_url, .. } = wide_route();
    AskRoute { tier: Tier::Speculator, model, base_url, fallback: true }
}

fn wide_recovered() -> Recovered {
    Recovered { form: "f".repeat(40), mended: lines(MENDED_MAX, MENDED_CHARS) }
}

fn wide_requests() -> Vec<ContextRequest> {
    let text = || "r".repeat(REQUEST_CHARS);
    let read = ContextRequest::Read { path: text(), lines: Some((u32::MAX, u32::MAX)) };
    let others = [ContextRequest::Search { query: text() }, ContextRequest::Symbol { symbol: text() }];
    let reads = vec![read; REQUESTS_MAX - others.len()];
    reads.into_iter().chain(others).collect()
}

fn effects() -> Vec<Effect> {
    let stage = wide_root(0).stage(StageKind::Structure);
    let (branch, attempt) = (wide_branch(), u32::MAX);
    vec![
        Effect::Snapshot,
        Effect::Probe,
        Effect::Fetch { tree: tree("t") },
        Effect::LayOut { base: tree("t"), changes: blob("c"), commands: lines(10, 400) },
        Effect::Measure { branch, stage: stage.clone(), run: 2 },
        Effect::RunOldTests { branch, stage: stage.clone() },
        Effect::RunNewTests { branch, stage: stage.clone() },
        Effect::Judge {
            branch,
            readings: blobs(16),
            before: blobs(48),
            old_tests: blobs(16),
            required: vec![stage.clone(); 16],
            grants: u32::MAX,
        },
        Effect::Calibrate { branch, stage: stage.clone(), reading: blob("r") },
        Effect::PlanLocal { branch },
        Effect::Assemble {
            intent: Intent::ArchitectGreenfield,
            attempt,
            branch,
            evidence: blobs(16),
            analysis: Some(blob("a")),
        },
        Effect::Ask {
            intent: Intent::ArchitectGreenfield,
            attempt,
            prompt: blob("p"),
            estimate: wide_spend(),
            route: Some(Box::new(wide_ask_route())),
        },
        Effect::Parse { answer: blob("a"), expects: Expects::Bundle(branch) },
        Effect::Question { question: Question::Plan { plan: sha("plan") } },
        Effect::Question {
            question: Question::Consents {
                needs: brief_needs(NEED_BYTES),
                count: u32::MAX,
                judgement: Some(blob("j")),
                texts: Some(blob("t")),
            },
        },
        Effect::Publish {
            branch,
            readings: blobs(16),
            before: blobs(48),
            old_tests: blobs(16),
            required: vec![stage; 16],
        },
    ]
}

fn ends() -> Vec<Ended> {
    let taken = Capture { hash: sha("c"), length: u64::MAX, first_line: "x".repeat(120) };
    let capture = Capture { hash: sha("c"), length: u64::MAX, first_line: "x".repeat(120) };
    let diff = DiffNote { create: paths(FILES, 120), ..DiffNote::default() };
    let (mut rejections, text) = (lines(LINES, LINE_CHARS), "x".repeat(600));
    rejections.push("(and 1000 more)".to_owned());
    vec![
        Ended::Snapshotted {
            tree: tree("t"),
            files: u64::MAX,
            repo_mode: RepoMode::Greenfield,
            roots: (0..40).map(wide_root).collect(),
            git_head: Some("0".repeat(64)),
            notes: lines(8, 300),
            since: Some(Box::new(Since {
                commit: "0".repeat(64),
                tree: tree("s"),
                changes: blob("c"),
                changed: u64::MAX,
                roots: (0..40).map(wide_root).collect(),
            })),
            runs: runs().into_iter().take(4).collect(),
        },
        Ended::Unworkable { trouble: troubled() },
        Ended::Probed {
            runs: runs().into_iter().take(4).collect(),
            roots: (0..40).map(probed_root).collect(),
            tools: lines(8, 120),
            detail: blob("d"),
            confinement: "c".repeat(200),
        },
        Ended::Fetched { runs: runs() },
        Ended::LaidOut { tree: tree_id("t"), changes: blob("c"), diff, runs: runs() },
        Ended::Measured {
            reading: wide_reading(),
            environment: Some(missing(&text)),
            runs: runs(),
            reused: false,
        },
        Ended::Calibrated { verdict: Calibration::Sees(lines(4, 200)), runs: runs() },
        Ended::Assembled {
            prompt: blob("p"),
            context: sha("c"),
            files: paths(FILES, 120),
            degraded: lines(FILES, 170),
            tokens: u64::MAX,
            parts: vec![PromptPart { part: "p".repeat(PART_CHARS), tokens: u64::MAX }; PARTS_MAX],
            provenance: provenance("architect.greenfield"),
        },
        Ended::Answered {
            answer: blob("a"),
            capture: capture.clone(),
            tokens_in: Some(u64::MAX),
            tokens_out: Some(u64::MAX),
            tokens_cached: Some(u64::MAX),
            tokens_estimated: Some(u64::MAX),
            first_token_ms: u64::MAX,
            latency_ms: u64::MAX,
            model: "m".repeat(MODEL_CHARS),
            cost: Some(u64::MAX),
        },
        Ended::TooLargeForModel { needed: u64::MAX, window: u64::MAX, model: "m".repeat(MODEL_CHARS) },
        Ended::PlannedLocally,
        Ended::AnalysisParsed {
            state: ParseState::SemanticallyRejected,
            capture: capture.clone(),
            recovered: wide_recovered(),
            analysis: Some(blob("a")),
        },
        Ended::AskFailed {
            class: text.clone(),
            what: text,
            next: AskNext::Again(Some(u64::MAX)),
            began: true,
            tokens: Some(u64::MAX),
            cost: Some(u64::MAX),
            tries: Some(u32::MAX),
        },
        Ended::PlanParsed {
            state: ParseState::SemanticallyRejected,
            capture: capture.clone(),
            proposed: Some(PlanSource::Architect),
            diagnostics: rejections.clone(),
            settled: lines(LINES + 1, NOTE_BYTES),
            evidence: Some(blob("e")),
            recovered: wide_recovered(),
            bundle: Some(blob("b")),
        },
        Ended::BundleParsed {
            state: ParseState::SemanticallyRejected,
            capture,
            changes: Some(blob("c")),
            retry: Some(RetryClass::Correction),
            violations: rejections.clone(),
            evidence: Some(blob("e")),
            widened: vec![],
            changes_tests: vec![],
            leaves_red: vec![],
            skipped: vec![],
            refused: vec![],
            commands: vec![],
            needs: vec![],
            recovered: wide_recovered(),
            requests: vec![],
            roots: vec![],
        },
        Ended::BundleParsed {
            state: ParseState::StructuredOk,
            capture: taken,
            changes: Some(blob("c")),
            retry: None,
            violations: vec![],
            evidence: None,
            widened: paths(5, 120),
            changes_tests: (0..10).map(wide_declaration).collect(),
            leaves_red: lines(10, 120),
            skipped: lines(5, 200),
            refused: vec![],
            commands: lines(5, 200),
            needs: (0..5).map(told_need).collect(),
            recovered: wide_recovered(),
            requests: wide_requests(),
            roots: (0..NEW_ROOTS_MAX).map(wide_root).collect(),
        },
        Ended::LayoutRefused { violations: rejections, runs: runs() },
        Ended::Overtaken { files: (0..40).map(|n| path(&format!("{}/{n}", "d".repeat(200)))).collect() },
        Ended::NewTestsRan {
            tests: NewTests { added: u32::MAX, failed_before: u32::MAX },
            reading: blob("r"),
            runs: runs(),
        },
        Ended::Judged { judgement: Box::new(wide_judgement()) },
        Ended::Decided {
            from: Some("x".repeat(200)),
            answer: Decision::Correct("w".repeat(1000)),
            by: Approval::Policy,
            grants: (0..GRANTS).map(wide_grant).collect(),
        },
        Ended::Published { commit: Box::new(wide_commit()), head: tree("t") },
        Ended::BaseMoved { head: tree("t"), changed: paths(MOVED_PATHS, 200), more: u64::MAX },
        Ended::Lost,
        Ended::Cancelled,
        Ended::Broke { trouble: troubled() },
    ]
}

pub fn events() -> Vec<Event> {
    let mut start =
        SessionStarted { task: "t".repeat(TASK_BYTES - OWN_BYTES), ..started(Settings::default()) };
    start.session = SessionId("s".repeat(64));
    start.workspace = "w".repeat(1000);
    start.model = "m".repeat(MODEL_CHARS);
    start.base_url = Some("u".repeat(SHORT_URL_CHARS));
    start.allow = (0..FLAGS).map(wide_grant).collect();
    start.routes = wide_routes();
    start.planning = Some(PlanningPolicy::FeatureIncrement);
    start.settings.limits.cost = Some(u64::MAX);
    start.settings.own = wide_own();
    let key = EffectKey { node: Some(node()), generation: u32::MAX, ordinal: u32::MAX };
    let mut events = vec![
        Event::SessionStarted(Box::new(start)),
        // One that verifies has no task, no routes and no grants.
        Event::SessionStarted(Box::new(SessionStarted {
            purpose: Purpose::Verify { since: Some("r".repeat(REVISION_CHARS)) },
            workspace: "w".repeat(1000),
            ..started(Settings::default())
        })),
        Event::SessionResumed(SessionResumed {
            model: Some("m".repeat(MODEL_CHARS)),
            base_url: Some("u".repeat(SHORT_URL_CHARS)),
            approval: Some(Approval::Policy),
            routes: wide_routes(),
            limits: Some(BudgetLimits { cost: Some(u64::MAX), ..plenty() }),
            allow: (0..FLAGS).map(wide_grant).collect(),
        }),
        Event::TailCut { offset: u64::MAX, bytes: u64::MAX, kept_as: "k".repeat(200) },
        Event::BytesKept { path: long_path(1000, 0), place: KeptPlace::Beside(long_path(1000, 1)) },
        Event::NodeProposed { by: id(), node: Box::new(wide_node()), roots: (0..2).map(wide_root).collect() },
        Event::PlanAdopted { revision: 1, source: PlanSource::Architect, nodes: 40, plan: sha("p") },
        Event::AttemptJudged {
            node: node(),
            attempt: u32::MAX,
            tree: tree_id("t"),
            stages: wide_stages(),
            energy: energy(),
            threshold: Milli(u64::MAX),
            verdict: Verdict::Discarded,
            reason: Some("r".repeat(200)),
            grade: Grade::None,
            missing: brief_needs(NEED_BYTES),
            analysis: Some(AnalysisChoice::Skipped),
        },
        Event::TierMoved {
            tier: Tier::Speculator,
            from: "m".repeat(MODEL_CHARS),
            to: "m".repeat(MODEL_CHARS),
            why: "w".repeat(LINE_CHARS),
        },
        Event::NodeClosed { node: node(), end: Closed::Escalated { certificate: Box::new(certificate()) } },
        Event::NodeClosed { node: node(), end: Closed::Blocked { by: node() } },
        Event::NodeClosed { node: node(), end: Closed::Rejected },
        Event::PauseAsked,
        Event::AbortAsked { by: "b".repeat(200) },
        Event::SessionEnded {
            reason: EndReason::NodesClosed,
            outcome: Outcome::DegradedVerification,
            closing: Closing { final_pass: FinalPass::Clean },
            trouble: Some(troubled()),
        },
    ];
    let starts =
        effects().into_iter().map(|effect| Event::EffectStarted { id: id(), key: key.clone(), effect });
    events.extend(starts);
    let note = EffectNote { tier: Some(Tier::Speculator), ..EffectNote::of(&key, &effects()[4]) };
    events.extend(ends().into_iter().map(|outcome| Event::EffectEnded {
        id: id(),
        of: Some(Box::new(note.clone())),
        outcome,
    }));
    events
}

#[test]
fn the_fullest_event_of_each_kind_fits_into_the_log() {
    for event in events() {
        let bytes = serde_json::to_string(&event).unwrap().len();
        assert!(bytes < MOST, "{bytes} bytes: {:.120}", format!("{event:?}"));
    }
}
