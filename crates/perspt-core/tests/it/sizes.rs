//! An event of each kind with as much in it as the agent's own limits let in stays under what the log takes.

use perspt_core::effect::{Branch, Effect, EffectKey, Expects, Intent};
use perspt_core::energy::{Energy, ReadingSummary, TestCounts};
use perspt_core::event::*;
use perspt_core::ids::{BlobId, EffectId, NodeId, SessionId};
use perspt_core::outcome::{Closing, EndReason, FinalPass, Outcome};
use perspt_core::path::RelPath;
use perspt_core::plan::{Contract, Criticality, PlanNode, WeightedTest};
use perspt_core::reading::StageKind;
use perspt_core::residual::Milli;
use perspt_core::tree::Change;

use crate::support::*;

/// What the log takes.
const MOST: usize = 16 * 1024;
/// Files of a node, of a context package, of a commit.
const FILES: usize = 20;
/// Lines of a rejection, and their characters.
const LINES: usize = 12;
const LINE_CHARS: usize = 600;
const GOAL_CHARS: usize = 1000;
const TASK_BYTES: usize = 8000;
const MOVED_PATHS: usize = 40;
const OWED: usize = 50;

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
        step: "test/collect".to_owned(),
        command: "x".repeat(161),
        end: "exit code 101".to_owned(),
        confinement: "x".repeat(200),
        ms: u64::MAX,
    };
    vec![note; 8]
}

fn energy() -> Energy {
    let reading = red(tree_id("t"), &stage(StageKind::Build), u32::MAX, "x");
    Energy::of([&reading], &[], &Default::default())
}

fn wide_reading() -> ReadingSummary {
    ReadingSummary {
        stage: wide_root(0).stage(StageKind::Structure),
        tests: Some(TestCounts { passed: u32::MAX, failed: u32::MAX, skipped: u32::MAX }),
        headlines: lines(4, 200),
        tool: "python -m pytest".to_owned(),
        ..red(tree_id("t"), &stage(StageKind::Test), u32::MAX, "x")
    }
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
        changes_tests: vec![],
        leaves_red: vec![],
        contract: Contract {
            interface_signature: Some("s".repeat(400)),
            invariants: lines(6, 120),
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
        model: "m".repeat(100),
        tests_changed: 9,
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

fn effects() -> Vec<Effect> {
    let stage = wide_root(0).stage(StageKind::Structure);
    let (branch, attempt) = (wide_branch(), u32::MAX);
    vec![
        Effect::Snapshot,
        Effect::Probe,
        Effect::Fetch { tree: tree("t") },
        Effect::LayOut { base: tree("t"), changes: blob("c") },
        Effect::Measure { branch, stage: stage.clone(), run: 2, against: blobs(4) },
        Effect::Calibrate { branch, stage: stage.clone(), reading: blob("r") },
        Effect::Assemble { intent: Intent::ArchitectGreenfield, attempt, branch, evidence: blobs(16) },
        Effect::Ask {
            intent: Intent::ArchitectGreenfield,
            attempt,
            prompt: blob("p"),
            estimate: spend(1, u64::MAX),
        },
        Effect::Parse { answer: blob("a"), expects: Expects::Bundle(branch) },
        Effect::Question { over: sha("plan") },
        Effect::Publish { branch, evidence: blobs(16), required: vec![stage; 16] },
    ]
}

fn ends() -> Vec<Ended> {
    let capture = Capture { hash: sha("c"), length: u64::MAX, first_line: "x".repeat(120) };
    let diff = DiffNote { create: paths(FILES, 120), tests_changed: 9, ..DiffNote::default() };
    let (mut rejections, text) = (lines(LINES, LINE_CHARS), "x".repeat(600));
    rejections.push("(and 1000 more)".to_owned());
    vec![
        Ended::Snapshotted {
            tree: tree("t"),
            files: u64::MAX,
            repo_mode: RepoMode::Greenfield,
            roots: (0..50).map(wide_root).collect(),
            git_head: Some("0".repeat(64)),
            notes: lines(8, 300),
        },
        Ended::Unworkable { trouble: troubled() },
        Ended::Probed {
            roots: (0..50).map(probed_root).collect(),
            tools: lines(8, 120),
            detail: blob("d"),
            confinement: "c".repeat(200),
        },
        Ended::Fetched { runs: runs() },
        Ended::LaidOut { tree: tree_id("t"), changes: blob("c"), diff, runs: runs() },
        Ended::Measured { reading: wide_reading(), environment: Some(missing(&text)), runs: runs() },
        Ended::Calibrated { verdict: Calibration::Sees(lines(4, 200)), runs: runs() },
        Ended::Assembled {
            prompt: blob("p"),
            context: sha("c"),
            files: paths(FILES, 120),
            degraded: lines(FILES, 170),
            bytes: u64::MAX,
            tokens: u64::MAX,
            template: "architect.greenfield".to_owned(),
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
            model: "m".repeat(100),
        },
        Ended::AskFailed {
            class: text.clone(),
            what: text,
            next: AskNext::Again(Some(u64::MAX)),
            began: true,
            tokens: None,
        },
        Ended::PlanParsed {
            state: ParseState::SemanticallyRejected,
            capture: capture.clone(),
            proposed: Some(PlanSource::Architect),
            diagnostics: rejections.clone(),
            evidence: Some(blob("e")),
        },
        Ended::BundleParsed {
            state: ParseState::SemanticallyRejected,
            capture,
            changes: Some(blob("c")),
            retry: Some(RetryClass::Correction),
            violations: rejections,
            evidence: Some(blob("e")),
        },
        Ended::Decided { answer: Decision::Yes, by: Approval::Policy },
        Ended::Published { commit: Box::new(wide_commit()), head: tree("t") },
        Ended::BaseMoved { head: tree("t"), changed: paths(MOVED_PATHS, 200), more: u64::MAX },
        Ended::Lost,
        Ended::Cancelled,
        Ended::Broke { trouble: troubled() },
    ]
}

fn events() -> Vec<Event> {
    let mut start = SessionStarted { task: "t".repeat(TASK_BYTES), ..started(Settings::default()) };
    start.session = SessionId("s".repeat(64));
    start.workspace = "w".repeat(1000);
    start.base_url = Some("u".repeat(300));
    let stages = (0..16).map(|at| StageVerdict {
        stage: wide_root(at).stage(StageKind::Structure),
        tool: "python -m pytest".to_owned(),
        result: StageResult::Fail(u32::MAX),
        tests: Some(TestCounts { passed: u32::MAX, failed: u32::MAX, skipped: u32::MAX }),
    });
    let key = EffectKey { node: Some(node()), generation: u32::MAX, ordinal: u32::MAX };
    let mut events = vec![
        Event::SessionStarted(Box::new(start)),
        Event::SessionResumed(SessionResumed {
            model: Some("m".repeat(100)),
            base_url: Some("u".repeat(300)),
            approval: Some(Approval::Policy),
            limits: Some(plenty()),
        }),
        Event::TailCut { offset: u64::MAX, bytes: u64::MAX, kept_as: "k".repeat(200) },
        Event::BytesKept { path: long_path(1000, 0), place: KeptPlace::Beside(long_path(1000, 1)) },
        Event::NodeProposed { by: id(), node: Box::new(wide_node()), roots: (0..2).map(wide_root).collect() },
        Event::PlanAdopted { revision: 1, source: PlanSource::Architect, nodes: 40, plan: sha("p") },
        Event::AttemptJudged {
            node: node(),
            attempt: u32::MAX,
            tree: tree_id("t"),
            stages: stages.collect(),
            energy: energy(),
            threshold: Milli(u64::MAX),
            verdict: Verdict::Discarded,
            reason: Some("r".repeat(200)),
        },
        Event::NodeClosed { node: node(), end: Closed::Escalated { certificate: Box::new(certificate()) } },
        Event::NodeClosed { node: node(), end: Closed::Blocked { by: node() } },
        Event::PauseAsked,
        Event::AbortAsked { by: "b".repeat(200) },
        Event::SessionEnded {
            reason: EndReason::NodesClosed,
            outcome: Outcome::DegradedVerification,
            closing: Closing { final_pass: FinalPass::Clean, evidence_owed: true },
            trouble: Some(troubled()),
            owed: paths(OWED, 120),
        },
    ];
    let starts =
        effects().into_iter().map(|effect| Event::EffectStarted { id: id(), key: key.clone(), effect });
    events.extend(starts);
    events.extend(ends().into_iter().map(|outcome| Event::EffectEnded { id: id(), outcome }));
    events
}

#[test]
fn the_fullest_event_of_each_kind_fits_into_the_log() {
    for event in events() {
        let bytes = serde_json::to_string(&event).unwrap().len();
        assert!(bytes < MOST, "{bytes} bytes: {:.120}", format!("{event:?}"));
    }
}
