//! Small values to build events from.

use perspt_core::budget::{BudgetLimits, Spend};
use perspt_core::consent::{ConsentKind, Declared, Grant, Need, TestChange, TestDeclaration};
use perspt_core::effect::{Branch, TreeRef};
use perspt_core::energy::{Energy, ReadingSummary, Scores, TestCounts};
use perspt_core::event::{
    Capture, Commit, JudgementNote, MissingTool, Provenance, RootRef, RootStages, RunNote, SessionStarted,
    Settings, StageTool, Trouble, merkle,
};
use perspt_core::grade::Grade;
use perspt_core::hash::Sha;
use perspt_core::ids::{BlobId, NodeId, SessionId, TreeId};
use perspt_core::path::RelPath;
use perspt_core::plan::{Contract, NodeClass, OpenScope, PlanNode, TaskType};
use perspt_core::reading::{MeasuredBy, PluginName, StageId, StageKind, Status};
use perspt_core::residual::Milli;
use perspt_core::stage::{Preset, StageRole};
use perspt_core::state::{SessionState, Work};
use perspt_core::tree::{Change, Entry, EntryKind};
use proptest::test_runner::{Config, RngSeed};

/// The same cases on every machine; `PROPTEST_RNG_SEED` and `PROPTEST_CASES` look further.
pub fn cases(cases: u32) -> Config {
    let fixed = std::env::var_os("PROPTEST_RNG_SEED").is_none();
    let config = Config { failure_persistence: None, ..Config::default() };
    let config = if fixed { Config { rng_seed: RngSeed::Fixed(11), ..config } } else { config };
    if std::env::var_os("PROPTEST_CASES").is_none() { Config { cases, ..config } } else { config }
}

pub fn sha(text: &str) -> Sha {
    Sha::of(text.as_bytes())
}

pub fn blob(text: &str) -> BlobId {
    BlobId::of(text.as_bytes())
}

pub fn tree_id(text: &str) -> TreeId {
    TreeId(sha(text))
}

pub fn tree(text: &str) -> TreeRef {
    TreeRef { id: tree_id(text), manifest: blob(text) }
}

pub fn branch(text: &str) -> Branch {
    Branch { base: tree(text), changes: None, tree: tree_id(text) }
}

pub fn path(text: &str) -> RelPath {
    RelPath::parse(text).unwrap()
}

pub fn root(dir: &str, plugin: &str) -> RootRef {
    let dir = if dir.is_empty() { RelPath::root() } else { path(dir) };
    RootRef { dir, plugin: PluginName(plugin.to_owned()) }
}

pub fn stage(kind: StageKind) -> StageId {
    root("", "rust").stage(kind)
}

pub fn trouble() -> Trouble {
    Trouble { what: "what".to_owned(), why: "why".to_owned(), todo: "todo".to_owned() }
}

pub fn missing(tool: &str) -> MissingTool {
    MissingTool { tool: tool.to_owned(), why: "not found".to_owned(), install: "install it".to_owned() }
}

pub fn capture(text: &str) -> Capture {
    Capture { hash: sha(text), length: text.len() as u64, first_line: text.to_owned() }
}

pub fn provenance(template: &str) -> Box<Provenance> {
    let evidence = vec![("task".to_owned(), sha("task"))];
    Box::new(Provenance { template: template.to_owned(), evidence, ..Provenance::default() })
}

pub fn run_note() -> RunNote {
    RunNote {
        slot: "0".to_owned(),
        output: Some(blob("output")),
        step: "build/compile".to_owned(),
        command: "cargo check".to_owned(),
        end: "exit code 0".to_owned(),
        confinement: "full".to_owned(),
        ms: 7,
    }
}

/// A root with a required stage of every kind but perspt's own look.
pub fn stages_of(root: &RootRef) -> RootStages {
    let tool = |kind: StageKind| {
        let (tool, role) = (format!("a {}", kind.as_str()), StageRole::Required);
        StageTool { kind, tool, role }
    };
    let kinds = StageKind::ALL.into_iter().filter(|kind| *kind != StageKind::Structure);
    RootStages { root: root.clone(), stages: kinds.map(tool).collect(), missing: vec![], left_out: vec![] }
}

pub fn started(settings: Settings) -> SessionStarted {
    let [workspace, task, model, program] = ["/w", "do it", "m", "perspt test"].map(str::to_owned);
    let started = SessionStarted::new(SessionId::from("s-1"), workspace, task, model);
    SessionStarted { settings, program, ..started }
}

pub fn plenty() -> BudgetLimits {
    BudgetLimits { steps: 10_000, tokens: 1_000_000_000, time_ms: 1_000_000_000_000, cost: None }
}

pub fn spend(steps: u64, tokens: u64) -> Spend {
    Spend { steps, tokens, ..Spend::default() }
}

pub fn plan_node(id: &str, dependencies: &[&str]) -> PlanNode {
    PlanNode {
        id: NodeId::from(id),
        goal: format!("the goal of {id}"),
        context_files: vec![],
        output_files: vec![path(&format!("src/{id}.rs"))],
        modifies: vec![],
        dependencies: dependencies.iter().map(|id| NodeId::from(*id)).collect(),
        task_type: TaskType::Code,
        node_class: NodeClass::Implementation,
        changes_tests: vec![],
        leaves_red: vec![],
        contract: Contract::default(),
        scope: OpenScope::Listed,
    }
}

/// A reading that looked and found nothing.
pub fn green(tree: TreeId, stage: &StageId) -> ReadingSummary {
    let tests = TestCounts { passed: 3, failed: 0, skipped: 0 };
    ReadingSummary {
        absent: vec![],
        regressed: false,
        only_prose: false,
        added_tests: 0,
        other_roots: vec![],
        by: MeasuredBy::Language,
        tree,
        stage: stage.clone(),
        tool: format!("a {}", stage.kind.as_str()),
        status: Status::Measured,
        scores: Scores::default(),
        errors: 0,
        old_tests: false,
        tests: (stage.kind == StageKind::Test).then_some(tests),
        headlines: vec![],
        fingerprint: Sha::of(b""),
        blob: blob(&format!("{tree} {} {}", stage.root, stage.kind.as_str())),
    }
}

/// A reading that found this many errors.
pub fn red(tree: TreeId, stage: &StageId, errors: u32, finding: &str) -> ReadingSummary {
    let syn = Milli::units(u64::from(errors));
    ReadingSummary {
        scores: Scores { syn, ..Scores::default() },
        errors,
        headlines: vec![format!("src/lib.rs:1: {finding}")],
        fingerprint: sha(finding),
        blob: blob(&format!("{tree} {} {} {finding} {errors}", stage.root, stage.kind.as_str())),
        ..green(tree, stage)
    }
}

pub fn entry(text: &str) -> Entry {
    Entry { kind: EntryKind::File, hash: sha(text), size: text.len() as u64 }
}

pub fn change(at: &str, before: Option<&str>, after: Option<&str>) -> Change {
    Change { path: path(at), before: before.map(entry), after: after.map(entry) }
}

/// The commit record of a node's stable candidate, as the agent writes it.
pub fn commit(state: &SessionState, node: &NodeId, branch: &Branch, evidence: Vec<BlobId>) -> Commit {
    let spec = &state.nodes[node].spec;
    let files = spec.output_files.iter();
    let mut artifacts: Vec<Change> = files.map(|file| change(file.as_str(), None, Some("text"))).collect();
    let judgement = match &state.nodes[node].work {
        Work::Stable(candidate) => {
            let modified = candidate.diff.modify.iter();
            artifacts.extend(modified.map(|file| change(file.as_str(), Some("before"), Some("after"))));
            candidate.judgement.clone()
        }
        _ => None,
    };
    Commit {
        new_tests: None,
        node: node.clone(),
        goal: spec.goal.clone(),
        class: spec.node_class,
        parent: state.parent,
        merkle: merkle(&artifacts),
        base: branch.base.id,
        tree: branch.tree,
        artifacts,
        energy: judgement.as_ref().map_or_else(calm, |judgement| judgement.energy.clone()),
        retries: state.nodes[node].corrections,
        evidence,
        prompt: state.nodes[node].prompt,
        model: "m".to_owned(),
        grade: judgement.map_or(Grade::Tests, |judgement| judgement.grade),
        below: vec![],
        unmeasured: vec![],
        consents: vec![],
        preset: Preset::Default,
    }
}

/// No energy at all, with everything looked at.
pub fn calm() -> Energy {
    Energy { scores: Scores::default(), total: Milli(0), errors: 0, unmeasured: 0 }
}

/// The energy of this many errors.
pub fn stirred(errors: u32) -> Energy {
    let syn = Milli::units(u64::from(errors));
    Energy { scores: Scores { syn, ..Scores::default() }, total: syn, errors, unmeasured: 0 }
}

/// A judgement that found nothing and misses nothing.
pub fn stable() -> JudgementNote {
    JudgementNote {
        only_required: false,
        energy: calm(),
        stages: vec![],
        headlines: vec![],
        fingerprint: Sha::of(b""),
        grade: Grade::Tests,
        below: vec![],
        unmeasured: vec![],
        missing: vec![],
        missing_count: 0,
        told_undeclared: false,
        only_red: false,
        only_undeclared: false,
        tests_changed: 0,
        blob: blob("a judgement"),
    }
}

/// A judgement with this many errors.
pub fn unstable(errors: u32, finding: &str) -> JudgementNote {
    let headlines = vec![format!("src/lib.rs:1: {finding}")];
    JudgementNote { energy: stirred(errors), headlines, fingerprint: sha(finding), ..stable() }
}

/// A judgement that is stable but for these consents.
pub fn waiting_for(needs: &[Need]) -> JudgementNote {
    JudgementNote { missing: needs.to_vec(), missing_count: needs.len() as u32, ..stable() }
}

pub fn need(kind: ConsentKind, subject: &str, declared: Declared) -> Need {
    Need {
        kind,
        subject: subject.to_owned(),
        why: "it was changed".to_owned(),
        declared,
        weaker: vec![],
        notes: vec![],
        test: None,
    }
}

/// A declaration of every test in a file.
pub fn declaration(file: &str) -> TestDeclaration {
    let change = TestChange::Update;
    TestDeclaration { path: path(file), test: None, change, to: None, why: "the task asks for it".to_owned() }
}

/// What a flag says.
pub fn grant(word: &str) -> Grant {
    word.parse().unwrap()
}
