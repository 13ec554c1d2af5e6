//! The session's state: a pure fold over its events ([`SessionState::apply`]), what the log owes next
//! ([`SessionState::due`]), and what ought to be running ([`SessionState::wanted`]).
//!
//! Facts come in as outcomes of effects; decisions go out as events of their own (`due`), so that a log
//! says what was decided and not only what it was decided from. Every function here is total: any
//! sequence of events gives a state.

mod apply;
mod due;
mod node;
mod tree;
mod verify;
mod wanted;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::budget::Account;
use crate::consent::Consents;
use crate::effect::{Branch, Effect, EffectKey, EffectKind, EffectNote, Intent, Question, TreeRef};
use crate::energy::ReadingSummary;
use crate::event::{
    Calibration, Ended, Event, JudgementNote, KeptPlace, MissingTool, PlanSource, PlanningPolicy, RepoMode,
    RootRef, RootStages, SessionStarted, Since, Trouble,
};
use crate::hash::Sha;
use crate::ids::{BlobId, EffectId, Millis, NodeId, TreeId};
use crate::outcome::{EndReason, NodeEnd, Outcome};
use crate::path::RelPath;
use crate::plan::PlanNode;
use crate::reading::StageId;
use crate::route::{Route, Tier, TierRoute};
use crate::stage::StageRole;

pub use due::quoted;
pub use node::{Candidate, Held, Laying, Node, NodeState, Wait, Work};

/// An effect that ought to be running.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// What tells it from others.
    pub key: EffectKey,
    /// The work, with everything needed to carry it out.
    pub effect: Effect,
}

/// A question that was answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastAnswer {
    /// The question's effect.
    pub question: EffectId,
    /// The process that it came from, where that is not the session's own.
    pub from: Option<String>,
}

/// An effect that was begun and has not ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InFlight {
    /// What tells it from others.
    pub key: EffectKey,
    /// The work, with everything needed to carry it out.
    pub effect: Effect,
}

/// The workspace as it was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// The tree when the session began.
    pub base: TreeRef,
    /// How many files it had.
    pub files: u64,
    /// Whether the project has files already.
    pub repo_mode: RepoMode,
    /// The language roots.
    pub roots: Vec<RootRef>,
    /// The revision whose findings are old.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Since>,
}

/// Requests to the model on behalf of the architect or one node.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Asker {
    /// Answers recorded, by intent.
    pub answers: BTreeMap<Intent, u32>,
    /// Failed requests since the last answer.
    pub failures: u32,
    /// The last failure, for people.
    pub last_failure: Option<String>,
    /// No request before this moment.
    pub not_before: Millis,
}

impl Asker {
    /// The tag line's number for the next request of this intent.
    pub fn attempt(&self, intent: Intent) -> u32 {
        self.answers.get(&intent).copied().unwrap_or(0) + 1
    }

    /// Answers of every intent together.
    pub fn total(&self) -> u32 {
        self.answers.values().sum()
    }
}

/// Where planning stands.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum PlanWork {
    /// A prompt is to be compiled.
    #[default]
    Context,
    /// The architect is to be asked.
    Asking {
        /// The prompt.
        prompt: BlobId,
        /// Its tokens.
        tokens: u64,
    },
    /// The answer is to be read.
    Parsing {
        /// The answer.
        answer: BlobId,
    },
    /// A plan stands in `proposal`, to be adopted.
    Proposed(PlanSource),
    /// The plan is to be approved.
    Approval,
    /// Approved.
    Done,
}

/// The architect's part of the session.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Planning {
    /// Where it stands.
    pub work: PlanWork,
    /// Its requests.
    pub asker: Asker,
    /// Answers that were not a valid plan.
    pub rejected: u32,
    /// The last rejected answer with its diagnostics.
    pub evidence: Option<BlobId>,
    /// Nodes proposed by the effect that is reading an answer.
    pub proposal: Vec<(PlanNode, Vec<RootRef>)>,
    /// The adopted plan's hash and revision.
    pub adopted: Option<(Sha, u32, PlanSource)>,
    /// What the last prompt showed.
    pub shown: Option<Branch>,
    /// An answer that holds the plan's one node and its changes, with what it was written over.
    pub bundle: Option<(BlobId, Branch)>,
    /// Whether the architect cannot be asked, since what it must see does not fit its window.
    pub too_large: bool,
}

/// The readings of one tree that later readings are held against.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Baseline {
    /// The tree they were taken on.
    pub tree: Option<TreeRef>,
    /// Per stage, one or two runs.
    pub readings: BTreeMap<String, Vec<ReadingSummary>>,
    /// Stages whose reading is one of an earlier session.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub reused: BTreeSet<String>,
    /// Stages that were looked at once more.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub again: BTreeSet<String>,
    /// Stages whose readings were judged with the node that was committed.
    #[serde(default)]
    pub judged: BTreeSet<String>,
}

/// How the session ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// What ended the session.
    pub reason: EndReason,
    /// The outcome.
    pub outcome: Outcome,
    /// What went wrong, for ends that are an error.
    pub trouble: Option<Trouble>,
}

/// A request to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub enum Stop {
    /// None.
    #[default]
    No,
    /// Start nothing new.
    Pause,
    /// Cancel what runs.
    Abort,
}

/// Everything a session's events say.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SessionState {
    /// The first event, with what resumes changed. `None` before it.
    pub meta: Option<SessionStarted>,
    /// The last event's time.
    pub last_at: Millis,
    /// When this process took the session up.
    pub span_start: Millis,
    /// Budgets.
    pub account: Account,
    /// Effects begun and not ended.
    pub in_flight: BTreeMap<EffectId, InFlight>,
    /// How many effects of each kind were started, by node and generation.
    pub ordinals: BTreeMap<String, u32>,
    /// The workspace.
    pub found: Option<Found>,
    /// What can be measured; cleared by a resume after a degraded end.
    pub probed: Option<Vec<RootStages>>,
    /// The blob with everything the probes saw.
    pub probe_detail: Option<BlobId>,
    /// Whether dependencies were fetched.
    pub fetched: bool,
    /// The tree as the session last published or saw it.
    pub head: Option<TreeRef>,
    /// What the head measured.
    pub baseline: Baseline,
    /// Tests seen to be flaky, and the two first runs that tell: the session's first baseline.
    pub first_baseline: BTreeMap<String, Vec<BlobId>>,
    /// Of a session that verifies: the readings of the revision whose findings are old.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub old_readings: BTreeMap<String, ReadingSummary>,
    /// Stages that were shown to see.
    pub calibrated: BTreeMap<String, Calibration>,
    /// The last question that was answered, and from where.
    #[serde(default)]
    pub last_answer: Option<LastAnswer>,
    /// The first sensor that cannot be used.
    pub degraded: Option<MissingTool>,
    /// The architect.
    pub planning: Planning,
    /// The plan's nodes, in its order.
    pub order: Vec<NodeId>,
    /// The nodes.
    pub nodes: BTreeMap<NodeId, Node>,
    /// The node being worked on.
    pub active: Option<NodeId>,
    /// The last commit record's hash; the base tree's before the first.
    pub parent: Sha,
    /// What the user permitted.
    #[serde(default)]
    pub consents: Consents,
    /// Roots that the plan makes, which the tree did not have.
    #[serde(default)]
    pub planned_roots: Vec<RootRef>,
    /// The judgement of what nobody but the last look measured, with the head it is of.
    #[serde(default)]
    pub last_look: Option<(TreeId, JudgementNote)>,
    /// Files that did not exist when the session began.
    pub authored: BTreeSet<RelPath>,
    /// Files that the user changed while the session went on, with the tree of before, until a commit takes them up
    /// or nothing more can be answered.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub edited: BTreeMap<RelPath, TreeRef>,
    /// Bytes of the user's that lost their place in the tree.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<(RelPath, KeptPlace)>,
    /// A request to stop.
    pub stop: Stop,
    /// The user's no.
    pub refused: bool,
    /// An effect that broke.
    pub broke: Option<Trouble>,
    /// A workspace that cannot be worked with.
    pub unworkable: Option<Trouble>,
    /// The provider cannot be used.
    pub provider: Option<Trouble>,
    /// A tier whose model failed, with why; its fallback is to take over.
    #[serde(default)]
    pub failing: Option<(Tier, String)>,
    /// Tiers whose fallback has taken over.
    #[serde(default)]
    pub fallen: BTreeSet<Tier>,
    /// Answers in a row that could not be read, by tier.
    #[serde(default)]
    pub unread: BTreeMap<Tier, u32>,
    /// Whether findings are no longer explained: the verifier's model cannot be used.
    #[serde(default)]
    pub no_analysis: bool,
    /// The end, until a resume.
    pub end: Option<End>,
}

/// What a small model may write beyond as much as it was shown, in tokens.
const SMALL_OUTPUT: u64 = 1500;

/// The key of a stage in ordered maps.
pub fn stage_key(stage: &StageId) -> String {
    format!("{}|{}|{}", stage.root.as_str(), stage.plugin, stage.kind.as_str())
}

impl SessionState {
    /// The settings, defaults before the first event.
    pub fn settings(&self) -> crate::event::Settings {
        self.meta.as_ref().map(|meta| meta.settings.clone()).unwrap_or_default()
    }

    /// Milliseconds that processes have worked on the session.
    pub fn active_ms(&self) -> u64 {
        self.account.active_ms.saturating_add(self.last_at.since(self.span_start))
    }

    /// The intent the architect is asked with.
    pub fn architect_intent(&self) -> Intent {
        match self.found.as_ref().map(|found| found.repo_mode) {
            Some(RepoMode::Greenfield) => Intent::ArchitectGreenfield,
            Some(RepoMode::Existing) | None => Intent::ArchitectExisting,
        }
    }

    /// The model that a tier asks now.
    pub fn route(&self, tier: Tier) -> Route {
        let Some(meta) = &self.meta else { return Route::plain("", None) };
        let fallen = self.fallen.contains(&tier);
        let known = meta.routes.iter().find(|route| route.tier == tier);
        match known {
            Some(TierRoute { fallback: Some(fallback), .. }) if fallen => fallback.clone(),
            Some(TierRoute { main, .. }) => main.clone(),
            None => Route::plain(&meta.model, meta.base_url.as_deref()),
        }
    }

    /// The tier's fallback, where it has one that has not taken over yet.
    pub(crate) fn fallback(&self, tier: Tier) -> Option<&Route> {
        let routes = self.meta.iter().flat_map(|meta| &meta.routes);
        let known = routes.filter(|route| route.tier == tier && !self.fallen.contains(&tier));
        known.filter_map(|route| route.fallback.as_ref()).next()
    }

    /// How many tokens an answer to a prompt of this size may have.
    pub fn output_tokens(&self, route: &Route, prompt: u64) -> u32 {
        let most = self.settings().output_tokens.min(route.output.unwrap_or(u32::MAX));
        // A small model that goes astray writes on for ever. It has little to change and is shown no more than that.
        let sane = u32::try_from(prompt.saturating_add(SMALL_OUTPUT)).unwrap_or(u32::MAX);
        let most = if route.small { most.min(sane) } else { most };
        let Some(window) = route.window else { return most };
        let left = u64::from(window).saturating_sub(prompt);
        most.min(u32::try_from(left).unwrap_or(u32::MAX)).max(1)
    }

    /// Whether the task becomes one node with no architect's help.
    pub fn plans_locally(&self) -> bool {
        let chosen = self.meta.as_ref().and_then(|meta| meta.planning);
        match chosen {
            Some(PlanningPolicy::LocalEdit | PlanningPolicy::SingleFile) => true,
            Some(PlanningPolicy::FeatureIncrement) => self.planning.too_large,
            None => self.planning.too_large || self.route(Tier::Architect).small,
        }
    }

    /// The head as a branch without changes.
    pub fn head_branch(&self) -> Option<Branch> {
        self.head.map(|head| Branch { base: head, changes: None, tree: head.id })
    }

    /// The ends of all nodes, in the plan's order.
    pub fn node_ends(&self) -> Vec<NodeEnd> {
        self.order
            .iter()
            .filter_map(|id| self.nodes.get(id))
            .map(|node| match node.end {
                None if node.waits() => NodeEnd::Waiting,
                end => end.unwrap_or(NodeEnd::Open),
            })
            .collect()
    }

    /// What can be measured in one root.
    pub fn root_stages(&self, root: &RootRef) -> Option<&RootStages> {
        self.probed.as_ref()?.iter().find(|stages| stages.root == *root)
    }

    /// The stages that must look at a node, in order: perspt's own look first, then each root's tools.
    pub fn required_stages(&self, roots: &[RootRef]) -> Vec<StageId> {
        let mut stages = vec![crate::judge::structure_stage()];
        for root in roots {
            if let Some(root_stages) = self.root_stages(root) {
                stages.extend(root_stages.with_role(StageRole::Required));
            }
        }
        stages
    }

    /// Whether prompts and answers up to `event`, which was folded in last, are of no more use: the talk that it ends
    /// was the last one that anybody still needs.
    pub fn releases_texts(&self, event: &Event) -> bool {
        let over = matches!(event, Event::SessionEnded { .. });
        let talks = |node: &Node| {
            node.end.is_none() && (node.prompt.is_some() || matches!(node.work, Work::Parsing { .. }))
        };
        let talking = self.planning.bundle.is_some() || self.nodes.values().any(talks);
        event.ends_a_talk() && (over || !talking)
    }

    /// The baseline's readings of one stage.
    pub fn baseline_of(&self, stage: &StageId) -> &[ReadingSummary] {
        self.baseline.readings.get(&stage_key(stage)).map_or(&[], Vec::as_slice)
    }

    /// The event by which an effect ends, with a note of what it was.
    pub fn effect_ended(&self, id: EffectId, outcome: Ended) -> Event {
        let of = self.in_flight.get(&id).map(|flight| Box::new(EffectNote::of(&flight.key, &flight.effect)));
        Event::EffectEnded { id, of, outcome }
    }

    /// The question that somebody is being asked.
    pub fn open_question(&self) -> Option<(EffectId, &InFlight, &Question)> {
        self.in_flight.iter().find_map(|(id, flight)| {
            let Effect::Question { question } = &flight.effect else { return None };
            Some((*id, flight, question))
        })
    }

    fn ordinal_key(node: Option<&NodeId>, generation: u32, stage: EffectKind) -> String {
        let stage = serde_json::to_string(&stage).unwrap_or_default();
        format!("{}|{generation}|{stage}", node.map_or("", NodeId::as_str))
    }

    fn generation_of(&self, node: Option<&NodeId>) -> u32 {
        node.and_then(|id| self.nodes.get(id)).map_or(0, |node| node.generation)
    }
}
