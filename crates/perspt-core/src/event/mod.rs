//! Events: the only truth of a session. Every one is durable before anything acts on it; what need not
//! survive a crash is not an event. Events only grow: new fields are optional, none is renamed or reused.

mod commit;
mod decode;
mod ended;
mod session;

use serde::{Deserialize, Serialize};

use crate::consent::Need;
use crate::effect::{Effect, EffectKey, EffectNote};
use crate::energy::Energy;
use crate::grade::Grade;
use crate::hash::Sha;
use crate::ids::{BlobId, EffectId, NodeId, TreeId};
use crate::outcome::{Closing, EndReason, Outcome};
use crate::path::RelPath;
use crate::plan::PlanNode;
use crate::residual::Milli;
use crate::route::Tier;

pub use commit::{
    Category, Certificate, Closed, Commit, Consented, EscalateReason, KeptPlace, StageResult, StageVerdict,
    Verdict, merkle,
};
pub use decode::{Unknown, decode};
pub use ended::{
    AskNext, CORRECTION_MAX, Calibration, Capture, Decision, DiffNote, Ended, JudgementNote, MENDED_CHARS,
    MENDED_MAX, NEW_ROOTS_MAX, PART_CHARS, PARTS_MAX, ParseState, PlanSource, PromptPart, Provenance,
    Recovered, RetryClass, RunNote, Since,
};
pub use session::{
    Approval, MissingTool, PlanningPolicy, Purpose, RepoMode, RootRef, RootStages, SessionResumed,
    SessionStarted, Settings, StageTool, Trouble,
};

/// Whether findings are explained before the next answer is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnalysisChoice {
    /// The verifier's model is asked.
    Asked,
    /// One model serves both tiers and the findings are few: it reads them itself.
    Skipped,
}

/// The schema this program writes. A record of a later one is shown as unknown and never acted on.
pub const SCHEMA: u32 = 2;

/// Everything that a session records. Each is one line of the log, and the state is folded from nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Event {
    /// The session begins.
    SessionStarted(Box<SessionStarted>),
    /// A process takes it up again.
    SessionResumed(SessionResumed),
    /// A torn last record was cut when the log was opened.
    TailCut {
        /// Where the cut was made, in bytes from the start of the log.
        offset: u64,
        /// How many bytes.
        bytes: u64,
        /// The file beside the log that keeps them.
        kept_as: String,
    },
    /// Bytes a user wrote to a file at the very moment it was published or taken back. They have no place in
    /// the tree any more.
    BytesKept {
        /// The file.
        path: RelPath,
        /// Where they are.
        place: KeptPlace,
    },
    /// An effect is about to begin; its budget is reserved.
    EffectStarted {
        /// The hash that names the effect; its end repeats it.
        id: EffectId,
        /// What tells it from others.
        key: EffectKey,
        /// The work, with everything needed to carry it out.
        effect: Effect,
    },
    /// An effect has ended; one of these per effect.
    EffectEnded {
        /// The hash that names the effect; its end repeats it.
        id: EffectId,
        /// What it was, where it was in flight.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        of: Option<Box<EffectNote>>,
        /// How it ended.
        outcome: Ended,
    },
    /// One node of a proposed plan, written before the end of the effect that read it.
    NodeProposed {
        /// The effect that read it.
        by: EffectId,
        /// The node.
        node: Box<PlanNode>,
        /// The roots it is verified in.
        roots: Vec<RootRef>,
    },
    /// The proposed plan is the session's plan.
    PlanAdopted {
        /// Counts the plans of the session, from one.
        revision: u32,
        /// Who made the plan.
        source: PlanSource,
        /// How many nodes.
        nodes: u32,
        /// The hash over its nodes.
        plan: Sha,
    },
    /// A tier's model failed, and its fallback takes over.
    TierMoved {
        /// The tier.
        tier: Tier,
        /// The model before.
        from: String,
        /// The model from now on.
        to: String,
        /// What was wrong with the other.
        why: String,
    },
    /// A candidate was judged.
    AttemptJudged {
        /// The node.
        node: NodeId,
        /// Its attempt, counted over the whole node.
        attempt: u32,
        /// The candidate.
        tree: TreeId,
        /// What each stage found, and whether it counts.
        stages: Vec<StageVerdict>,
        /// Its energy.
        energy: Energy,
        /// The threshold it was held against.
        threshold: Milli,
        /// Whether it is published, waits, or another attempt follows.
        verdict: Verdict,
        /// The worst finding, for people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// How much was proved.
        grade: Grade,
        /// Consents that are missing, the first few.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        missing: Vec<Need>,
        /// Whether a model explains the findings before the next answer is asked for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        analysis: Option<AnalysisChoice>,
    },
    /// A node is closed without a commit.
    NodeClosed {
        /// The node.
        node: NodeId,
        /// Given up, blocked or rejected, with why.
        end: Closed,
    },
    /// The user asked to pause: nothing new is started.
    PauseAsked,
    /// The user asked to abort: what runs is cancelled.
    AbortAsked {
        /// From where.
        by: String,
    },
    /// The session has come to an end, for good or until it is resumed.
    SessionEnded {
        /// What ended the session.
        reason: EndReason,
        /// The outcome.
        outcome: Outcome,
        /// What is left to say of the whole.
        closing: Closing,
        /// For ends that are an error: what, why, what to do.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        trouble: Option<Trouble>,
    },
}

impl Event {
    /// The prompt or answer that this event cites; it is there until it is
    /// [released](crate::state::SessionState::releases_texts).
    pub fn text(&self) -> Option<BlobId> {
        let Event::EffectEnded { outcome, .. } = self else { return None };
        outcome.text()
    }

    /// Whether what somebody was asked and answered is of no more use: the plan stands, or a node is closed, or the
    /// session is over for good.
    pub fn ends_a_talk(&self) -> bool {
        match self {
            Event::PlanAdopted { .. }
            | Event::EffectEnded { outcome: Ended::Published { .. }, .. }
            | Event::NodeClosed { end: Closed::Escalated { .. } | Closed::Rejected, .. } => true,
            Event::SessionEnded { reason, .. } => !reason.is_resumable(),
            Event::EffectEnded { .. }
            | Event::NodeClosed { end: Closed::Blocked { .. }, .. }
            | Event::SessionStarted(_)
            | Event::SessionResumed(_)
            | Event::TailCut { .. }
            | Event::BytesKept { .. }
            | Event::EffectStarted { .. }
            | Event::NodeProposed { .. }
            | Event::TierMoved { .. }
            | Event::AttemptJudged { .. }
            | Event::PauseAsked
            | Event::AbortAsked { .. } => false,
        }
    }
}
