//! One node's part of the state.

use serde::{Deserialize, Serialize};

use super::Asker;
use crate::consent::{Declared, Need, TestDeclaration};
use crate::context::ContextRequest;
use crate::effect::{Branch, Expects, Intent};
use crate::energy::{Energy, NewTests, ReadingSummary};
use crate::event::{DiffNote, JudgementNote, RetryClass, RootRef};
use crate::hash::Sha;
use crate::ids::BlobId;
use crate::judge::Declarations;
use crate::outcome::NodeEnd;
use crate::path::RelPath;
use crate::plan::PlanNode;
use crate::reading::{StageId, StageKind, Status};

/// Where a node stands, for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeState {
    /// Waits for its dependencies or its turn.
    Queued,
    /// A prompt is being made, or the model writes.
    Generating,
    /// An answer is being read.
    Validating,
    /// Tools are looking.
    Verifying,
    /// The next answer is being asked for.
    Retrying,
    /// Stable, not yet in the tree.
    Committing,
    /// Stable but for a consent that only the user can give.
    Waiting,
    /// Its changes are in the workspace.
    Committed,
    /// Given up.
    Escalated,
    /// It never ran: a node that it depends on did not make it.
    Blocked,
    /// The user said no to what it needs.
    Rejected,
}

impl NodeState {
    /// The word on screens.
    pub fn as_str(self) -> &'static str {
        match self {
            NodeState::Queued => "queued",
            NodeState::Generating => "generating",
            NodeState::Validating => "validating",
            NodeState::Verifying => "verifying",
            NodeState::Retrying => "retrying",
            NodeState::Committing => "committing",
            NodeState::Committed => "committed",
            NodeState::Escalated => "escalated",
            NodeState::Blocked => "blocked",
            NodeState::Waiting => "waiting",
            NodeState::Rejected => "rejected",
        }
    }
}

/// A branch with what is known of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    /// The branch.
    pub branch: Branch,
    /// What it changes, for people.
    pub diff: DiffNote,
    /// What was measured.
    pub readings: Vec<ReadingSummary>,
    /// The tests as they were, over its code.
    #[serde(default)]
    pub old_tests: Vec<ReadingSummary>,
    /// The tests it adds, over the code as it was: stage by stage.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub new_tests: Vec<(StageId, NewTests)>,
    /// The judgement, once made.
    pub judgement: Option<JudgementNote>,
}

impl Candidate {
    /// A candidate of which nothing is known yet.
    pub fn new(branch: Branch, diff: DiffNote) -> Candidate {
        Candidate { branch, diff, readings: vec![], old_tests: vec![], new_tests: vec![], judgement: None }
    }

    /// Its energy, once judged.
    pub fn energy(&self) -> Option<&Energy> {
        self.judgement.as_ref().map(|judgement| &judgement.energy)
    }

    /// Whether it changes nothing that any tool reads.
    pub fn is_only_prose(&self) -> bool {
        self.readings.iter().any(|reading| reading.only_prose)
    }

    /// How the tests it adds end over the code as it was, over all stages.
    pub fn new_tests(&self) -> Option<NewTests> {
        let add = |sum: NewTests, (_, one): &(StageId, NewTests)| NewTests {
            added: sum.added.saturating_add(one.added),
            failed_before: sum.failed_before.saturating_add(one.failed_before),
        };
        let sum = self.new_tests.iter().fold(NewTests::default(), add);
        (sum.added > 0).then_some(sum)
    }

    /// The test stage whose new tests are to be run over the old code next.
    pub fn next_new_tests(&self, had_code: impl Fn(&StageId) -> bool) -> Option<StageId> {
        let adds = self.readings.iter().any(|reading| reading.added_tests > 0);
        let holds = |reading: &&ReadingSummary| {
            reading.stage.kind == StageKind::Test
                && reading.status == Status::Measured
                && had_code(&reading.stage)
                && !self.new_tests.iter().any(|(stage, _)| *stage == reading.stage)
        };
        self.readings.iter().filter(|_| adds).find(holds).map(|reading| reading.stage.clone())
    }

    /// The tests that the stage ran must also be run as they were: something existing is not what it was.
    fn wants_old_tests(&self, stage: &StageId) -> bool {
        let asks = self.readings.iter().any(|reading| reading.old_tests);
        asks && !self.old_tests.iter().any(|reading| reading.stage == *stage)
    }

    /// The test stage whose old tests are to be run next. Where more tests fail than before, the candidate is not
    /// stable whatever they say.
    pub fn next_old_tests(
        &self,
        failed_before: impl Fn(&StageId) -> u32,
        had_tests: impl Fn(&StageId) -> bool,
    ) -> Option<StageId> {
        let holds = |reading: &&ReadingSummary| {
            reading.stage.kind == StageKind::Test
                && reading.status == Status::Measured
                && reading.errors <= failed_before(&reading.stage)
                && had_tests(&reading.stage)
                && self.wants_old_tests(&reading.stage)
        };
        self.readings.iter().find(holds).map(|reading| reading.stage.clone())
    }
}

/// What a node that waits for a consent holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Held {
    /// An answer's changes, with commands to be run before they are measured.
    Changes(Laying),
    /// A candidate that is stable but for consents.
    Candidate(Box<Candidate>),
}

/// What is to be laid out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Laying {
    /// The changes.
    pub changes: BlobId,
    /// Commands of the answer.
    #[serde(default)]
    pub commands: Vec<String>,
}

/// A node that waits for consents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wait {
    /// The consents that are missing, the first few.
    pub needs: Vec<Need>,
    /// How many are missing in all.
    pub count: u32,
    /// The work that goes on once consent is given.
    pub held: Held,
}

impl Wait {
    /// The candidate that waits, where something was measured.
    pub fn candidate(&self) -> Option<&Candidate> {
        match &self.held {
            Held::Candidate(candidate) => Some(candidate),
            Held::Changes(_) => None,
        }
    }
}

/// What a node is doing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Work {
    /// Waits for its turn.
    #[default]
    Queued,
    /// A prompt is to be compiled.
    Context(Intent),
    /// The model is to be asked.
    Asking {
        /// What the model is asked to do.
        intent: Intent,
        /// The prompt.
        prompt: BlobId,
        /// Its tokens.
        tokens: u64,
        /// What the prompt shows, and the answer will be written over.
        over: Branch,
    },
    /// An answer is to be read.
    Parsing {
        /// What the model was asked to do.
        intent: Intent,
        /// The answer.
        answer: BlobId,
        /// As what. A bundle names what it was written over; the head may have moved since.
        expects: Expects,
    },
    /// The changes are to be laid out.
    LayingOut(Laying),
    /// The candidate is to be measured and judged.
    Verifying(Box<Candidate>),
    /// The candidate is stable, and to be published.
    Stable(Box<Candidate>),
    /// Consents are missing.
    Waiting(Box<Wait>),
    /// Nothing is left to do.
    Closed,
}

/// How often the same thing came in a row.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Repeat {
    /// The hash of the last one.
    pub last: Option<Sha>,
    /// How often in a row.
    pub times: u32,
}

impl Repeat {
    /// Notes one more; the count says how often it has now come in a row.
    pub fn note(&mut self, what: Sha) {
        if self.last == Some(what) {
            self.times = self.times.saturating_add(1);
        } else {
            *self = Repeat { last: Some(what), times: 1 };
        }
    }
}

/// Why the last attempt did not do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What to do about it.
    pub class: RetryClass,
    /// One line for people.
    pub reason: String,
    /// Readings or the rejected answer.
    pub evidence: Vec<BlobId>,
    /// All lines, for the certificate.
    pub lines: Vec<String>,
}

/// One node of the session's plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// As planned.
    pub spec: PlanNode,
    /// The roots it is verified in.
    pub roots: Vec<RootRef>,
    /// Rises when its base changes under it; outcomes of an older one change nothing.
    pub generation: u32,
    /// What it is doing.
    pub work: Work,
    /// Its requests to the model.
    pub asker: Asker,
    /// Candidates judged and answers rejected.
    pub attempts: u32,
    /// Corrections used.
    pub corrections: u32,
    /// Answers that were cut off or filtered by the provider.
    pub spoiled: u32,
    /// Rebuilds on a moved base.
    pub rebuilds: u32,
    /// The best candidate so far.
    pub best: Option<Candidate>,
    /// The same answer in a row.
    pub same_answer: Repeat,
    /// The same findings in a row.
    pub same_findings: Repeat,
    /// Why the last attempt did not do.
    pub failure: Option<Failure>,
    /// Whether the last candidate was worse than the best and was dropped.
    pub discarded: bool,
    /// What the plan and the answers declare.
    #[serde(default)]
    pub declared: Declarations,
    /// Whether a reading was red: what is declared from then on is declared late.
    #[serde(default)]
    pub was_red: bool,
    /// Whether the model was told of undeclared changes.
    #[serde(default)]
    pub told_undeclared: bool,
    /// Whether the model was told that less was proved than is required.
    #[serde(default)]
    pub told_required: bool,
    /// Whether tests that were red before are a matter of consent now: corrections are used up.
    #[serde(default)]
    pub asks_red: bool,
    /// Whether the user said no to what it needs.
    #[serde(default)]
    pub refused: bool,
    /// What the verifier's model made of the last findings.
    #[serde(default)]
    pub analysis: Option<BlobId>,
    /// What the model has asked to see.
    #[serde(default)]
    pub requested: Vec<ContextRequest>,
    /// How many answers did nothing but ask to see more.
    #[serde(default)]
    pub lookups: u32,
    /// Why its prompt does not fit the model's window.
    #[serde(default)]
    pub too_large: Option<String>,
    /// Whether nobody planned it: it is the whole task.
    #[serde(default)]
    pub solo: bool,
    /// The last prompt.
    pub prompt: Option<BlobId>,
    /// How it ended.
    pub end: Option<NodeEnd>,
    /// The commit's Merkle root, once committed.
    pub merkle: Option<Sha>,
    /// Files of its commit that the user has changed since, as far as perspt has seen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_since: Vec<RelPath>,
}

impl Node {
    /// A planned node that has not begun.
    pub fn new(spec: PlanNode, roots: Vec<RootRef>) -> Node {
        let declared = Declarations {
            tests: spec.changes_tests.iter().map(|one| (one.clone(), Declared::InTime)).collect(),
            red: spec.leaves_red.iter().map(|name| (name.clone(), Declared::InTime)).collect(),
        };
        Node {
            spec,
            roots,
            declared,
            was_red: false,
            told_undeclared: false,
            told_required: false,
            asks_red: false,
            refused: false,
            generation: 0,
            work: Work::Queued,
            asker: Asker::default(),
            attempts: 0,
            corrections: 0,
            spoiled: 0,
            rebuilds: 0,
            best: None,
            same_answer: Repeat::default(),
            same_findings: Repeat::default(),
            failure: None,
            discarded: false,
            analysis: None,
            requested: Vec::new(),
            lookups: 0,
            too_large: None,
            solo: false,
            prompt: None,
            end: None,
            merkle: None,
            changed_since: Vec::new(),
        }
    }

    /// Where it stands, for people.
    pub fn state(&self) -> NodeState {
        match (self.end, &self.work) {
            (Some(NodeEnd::Committed), _) => NodeState::Committed,
            (Some(NodeEnd::Escalated), _) => NodeState::Escalated,
            (Some(NodeEnd::Blocked), _) => NodeState::Blocked,
            (Some(NodeEnd::Rejected), _) => NodeState::Rejected,
            (Some(NodeEnd::Open | NodeEnd::Waiting) | None, work) => match work {
                Work::Queued => NodeState::Queued,
                Work::Waiting(_) => NodeState::Waiting,
                Work::Context(_) | Work::Asking { .. } if self.failure.is_some() => NodeState::Retrying,
                Work::Context(_) | Work::Asking { .. } => NodeState::Generating,
                Work::Parsing { .. } => NodeState::Validating,
                Work::LayingOut(_) | Work::Verifying(_) => NodeState::Verifying,
                Work::Stable(_) | Work::Closed => NodeState::Committing,
            },
        }
    }

    /// What the next answer is laid over: the best candidate, or the base itself.
    pub fn start(&self, head: Branch) -> Branch {
        match &self.best {
            Some(best) if best.branch.base == head.base => best.branch,
            Some(_) | None => head,
        }
    }

    /// Answers used, those the provider spoiled included. Neither explanations nor requests to see more are answers.
    pub fn answers_used(&self) -> u32 {
        let explained = self.asker.answers.get(&Intent::Analysis).copied().unwrap_or(0);
        let answers = self.asker.total().saturating_sub(explained).saturating_sub(self.lookups);
        answers.saturating_add(self.spoiled)
    }

    /// What its first answer is asked for by.
    pub fn first_intent(&self) -> Intent {
        if self.solo { Intent::SoloGenerate } else { Intent::Generate }
    }

    /// What its next answer is asked for by, after tools found fault with the last.
    pub fn correction_intent(&self) -> Intent {
        if self.solo { Intent::SoloCorrection } else { Intent::Correction }
    }

    /// Every file it may write as its own.
    pub fn owns(&self, path: &RelPath) -> bool {
        self.spec.output_files.contains(path) || self.spec.modifies.contains(path)
    }

    /// Whether anything was done for it.
    pub fn has_begun(&self) -> bool {
        self.end.is_some() || self.work != Work::Queued
    }

    /// Whether it waits for consents.
    pub fn waits(&self) -> bool {
        self.end.is_none() && matches!(self.work, Work::Waiting(_))
    }

    /// Takes in what an answer declares.
    pub fn declare(&mut self, tests: &[TestDeclaration], red: &[String]) {
        let when = if self.was_red { Declared::Late } else { Declared::InTime };
        self.declared.tests.extend(tests.iter().map(|one| (one.clone(), when)));
        self.declared.red.extend(red.iter().map(|name| (name.clone(), when)));
    }

    /// Drops what only an open node needs.
    pub fn close(&mut self, end: NodeEnd) {
        self.end = Some(end);
        self.work = Work::Closed;
        self.asker.last_failure = None;
        if let Some(best) = &mut self.best {
            best.readings.clear();
            best.old_tests.clear();
        }
    }
}
