//! Effects: everything perspt does to or asks of the world, as data. Each is named by an [`EffectId`];
//! its start and its end are events.

use serde::{Deserialize, Serialize};

use crate::budget::Spend;
use crate::consent::Need;
use crate::hash::Sha;
use crate::ids::{BlobId, EffectId, NodeId, SessionId, TreeId};
use crate::reading::{StageId, StageKind};
use crate::route::Tier;

/// A tree by name, and the blob that lists it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TreeRef {
    /// The hash over its entries.
    pub id: TreeId,
    /// The blob that holds its entries.
    pub manifest: BlobId,
}

/// A branch: a base tree plus changes. It is data; a slot is where it is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Branch {
    /// What it starts from.
    pub base: TreeRef,
    /// The blob that lists the changes; `None` for the base itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<BlobId>,
    /// The tree that results.
    pub tree: TreeId,
}

/// Why a model is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Intent {
    /// A plan for an existing project.
    #[serde(rename = "architect.existing")]
    ArchitectExisting,
    /// A plan for an empty folder.
    #[serde(rename = "architect.greenfield")]
    ArchitectGreenfield,
    /// A node's first answer.
    #[serde(rename = "actuator.generate")]
    Generate,
    /// A node's next answer, after tools found fault with the last.
    #[serde(rename = "correction")]
    Correction,
    /// After an answer that named the wrong file, or a hunk that does not apply.
    #[serde(rename = "retarget")]
    Retarget,
    /// After an answer that could not be read.
    #[serde(rename = "malformed")]
    Malformed,
    /// What the tools found is explained, before the next answer is asked for.
    #[serde(rename = "verifier.analysis")]
    Analysis,
    /// The first answer of a node that nobody planned.
    #[serde(rename = "solo.generate")]
    SoloGenerate,
    /// The next answer of a node that nobody planned, after tools found fault with the last.
    #[serde(rename = "solo.correction")]
    SoloCorrection,
}

impl Intent {
    /// The slug in tag lines and recordings.
    pub fn slug(self) -> &'static str {
        match self {
            Intent::ArchitectExisting => "architect.existing",
            Intent::ArchitectGreenfield => "architect.greenfield",
            Intent::Generate => "actuator.generate",
            Intent::Correction => "correction",
            Intent::Retarget => "retarget",
            Intent::Malformed => "malformed",
            Intent::Analysis => "verifier.analysis",
            Intent::SoloGenerate => "solo.generate",
            Intent::SoloCorrection => "solo.correction",
        }
    }

    /// The tier whose model is asked.
    pub fn tier(self) -> Tier {
        match self {
            Intent::ArchitectExisting | Intent::ArchitectGreenfield => Tier::Architect,
            Intent::Generate
            | Intent::Correction
            | Intent::Retarget
            | Intent::Malformed
            | Intent::SoloGenerate
            | Intent::SoloCorrection => Tier::Actuator,
            Intent::Analysis => Tier::Verifier,
        }
    }
}

/// What an answer is read as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expects {
    /// A plan; there is another try if it is not one.
    Plan,
    /// A plan; if it is not one the fallback graph is proposed.
    PlanOrFallback,
    /// A bundle for the node, on top of this branch.
    Bundle(Branch),
    /// An explanation of what the tools found.
    Analysis,
}

/// Which model a request goes to.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AskRoute {
    /// The tier.
    pub tier: Tier,
    /// The model.
    pub model: String,
    /// Its endpoint, without credentials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// Whether it is the tier's fallback.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fallback: bool,
}

/// Something to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Effect {
    /// Hash the workspace and detect its languages.
    Snapshot,
    /// Find out which tools work and what confinement can be had.
    Probe,
    /// Bring the base tree's dependencies onto the machine.
    Fetch {
        /// The tree whose lock files say what.
        tree: TreeRef,
    },
    /// Lay a branch out in the slot and settle its lock files.
    LayOut {
        /// The base.
        base: TreeRef,
        /// What the node changes.
        changes: BlobId,
        /// Commands of the answer, run after its files are there.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        commands: Vec<String>,
    },
    /// Take one reading.
    Measure {
        /// The branch.
        branch: Branch,
        /// The stage.
        stage: StageId,
        /// 1, or 2 for the second look at a baseline's tests.
        run: u32,
    },
    /// Run the tests as they were over the candidate's code.
    RunOldTests {
        /// The candidate.
        branch: Branch,
        /// The stage.
        stage: StageId,
    },
    /// Run the tests that a candidate adds over the code as it was: it is shown how many of them fail there.
    RunNewTests {
        /// The candidate.
        branch: Branch,
        /// The stage.
        stage: StageId,
    },
    /// Judge a candidate, or the head at the end, from what was measured.
    Judge {
        /// What is judged.
        branch: Branch,
        /// Its readings.
        readings: Vec<BlobId>,
        /// Earlier readings of the same stages.
        before: Vec<BlobId>,
        /// The tests as they were over its code.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        old_tests: Vec<BlobId>,
        /// The stages that had to look.
        required: Vec<StageId>,
        /// How many grants there were: with more of them it is judged again.
        grants: u32,
    },
    /// Show that a stage sees a planted error.
    Calibrate {
        /// The branch the plant is laid over.
        branch: Branch,
        /// The stage.
        stage: StageId,
        /// Its reading without the plant.
        reading: BlobId,
    },
    /// Make a plan of one node with no model's help.
    PlanLocal {
        /// The tree it is for.
        branch: Branch,
    },
    /// Gather context and compile a prompt.
    Assemble {
        /// Why the model will be asked.
        intent: Intent,
        /// The tag line's number.
        attempt: u32,
        /// What the answer will be laid over.
        branch: Branch,
        /// Readings or rejected answers the prompt must speak of.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        evidence: Vec<BlobId>,
        /// What the verifier's model made of them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        analysis: Option<BlobId>,
    },
    /// One request to the model.
    Ask {
        /// What the model is asked to do.
        intent: Intent,
        /// The tag line's number.
        attempt: u32,
        /// The compiled prompt.
        prompt: BlobId,
        /// The most it may cost.
        estimate: Spend,
        /// Which model is asked; absent in logs from before there were tiers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        route: Option<Box<AskRoute>>,
    },
    /// Read an answer.
    Parse {
        /// The answer's text.
        answer: BlobId,
        /// As what.
        expects: Expects,
    },
    /// Ask the user, or the session's policy.
    Question {
        /// What is asked.
        question: Question,
    },
    /// Put a stable branch into the user's tree.
    Publish {
        /// The branch.
        branch: Branch,
        /// Its readings.
        readings: Vec<BlobId>,
        /// Earlier readings of the same stages.
        before: Vec<BlobId>,
        /// The tests as they were over its code.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        old_tests: Vec<BlobId>,
        /// The stages that had to look.
        required: Vec<StageId>,
    },
}

/// What the user is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "about", rename_all = "snake_case")]
pub enum Question {
    /// Whether the plan may be worked on: yes or no.
    Plan {
        /// The hash over its nodes.
        plan: Sha,
    },
    /// Whether a candidate may have what only the user can permit: yes, no, or no with what is to be corrected.
    Consents {
        /// What is needed, the first few.
        needs: Vec<Need>,
        /// How many needs there are in all.
        count: u32,
        /// The judgement with all of them, where something was measured.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        judgement: Option<BlobId>,
        /// The reading that holds the tests' old and new texts.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        texts: Option<BlobId>,
    },
}

/// The kind of an effect, for counting and naming.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "do", content = "stage", rename_all = "snake_case")]
pub enum EffectKind {
    /// See [`Effect::Snapshot`].
    Snapshot,
    /// See [`Effect::Probe`].
    Probe,
    /// See [`Effect::Fetch`].
    Fetch,
    /// See [`Effect::LayOut`].
    LayOut,
    /// See [`Effect::Measure`].
    Measure(StageKind),
    /// See [`Effect::RunOldTests`].
    RunOldTests,
    /// See [`Effect::RunNewTests`].
    RunNewTests,
    /// See [`Effect::Judge`].
    Judge,
    /// See [`Effect::Calibrate`].
    Calibrate(StageKind),
    /// See [`Effect::PlanLocal`].
    PlanLocal,
    /// See [`Effect::Assemble`].
    Assemble,
    /// See [`Effect::Ask`].
    Ask,
    /// See [`Effect::Parse`].
    Parse,
    /// See [`Effect::Question`].
    Question,
    /// See [`Effect::Publish`].
    Publish,
}

impl Effect {
    /// Its kind.
    pub fn kind(&self) -> EffectKind {
        match self {
            Effect::Snapshot => EffectKind::Snapshot,
            Effect::Probe => EffectKind::Probe,
            Effect::Fetch { .. } => EffectKind::Fetch,
            Effect::LayOut { .. } => EffectKind::LayOut,
            Effect::Measure { stage, .. } => EffectKind::Measure(stage.kind),
            Effect::RunOldTests { .. } => EffectKind::RunOldTests,
            Effect::RunNewTests { .. } => EffectKind::RunNewTests,
            Effect::Judge { .. } => EffectKind::Judge,
            Effect::Calibrate { stage, .. } => EffectKind::Calibrate(stage.kind),
            Effect::PlanLocal { .. } => EffectKind::PlanLocal,
            Effect::Assemble { .. } => EffectKind::Assemble,
            Effect::Ask { .. } => EffectKind::Ask,
            Effect::Parse { .. } => EffectKind::Parse,
            Effect::Question { .. } => EffectKind::Question,
            Effect::Publish { .. } => EffectKind::Publish,
        }
    }

    /// Whether it is part of asking somebody, the model or the user; what is measured may go on beside that.
    pub fn asks(&self) -> bool {
        matches!(
            self,
            Effect::PlanLocal { .. }
                | Effect::Assemble { .. }
                | Effect::Ask { .. }
                | Effect::Parse { .. }
                | Effect::Question { .. }
        )
    }

    /// What it may cost at most.
    pub fn reserve(&self) -> Spend {
        match self {
            Effect::Ask { estimate, .. } => *estimate,
            Effect::Snapshot
            | Effect::Probe
            | Effect::Fetch { .. }
            | Effect::LayOut { .. }
            | Effect::Measure { .. }
            | Effect::RunOldTests { .. }
            | Effect::RunNewTests { .. }
            | Effect::Judge { .. }
            | Effect::Calibrate { .. }
            | Effect::PlanLocal { .. }
            | Effect::Assemble { .. }
            | Effect::Parse { .. }
            | Effect::Question { .. }
            | Effect::Publish { .. } => Spend::default(),
        }
    }

    /// The hash of what it works on.
    pub fn input(&self) -> Sha {
        // Effects are plain data of strings and integers; there is nothing in them that cannot be written.
        Sha::of(&serde_json::to_vec(self).unwrap_or_default())
    }
}

/// What an effect was, for readers of its end that did not see it begin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectNote {
    /// Its kind.
    #[serde(flatten)]
    pub kind: EffectKind,
    /// The node it worked for; `None` for the session's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeId>,
    /// Why the model was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<Intent>,
    /// The tag line's number, where the model was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// The tier whose model was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<Tier>,
}

impl EffectNote {
    /// The note of an effect.
    pub fn of(key: &EffectKey, effect: &Effect) -> EffectNote {
        let (intent, attempt) = match effect {
            Effect::Assemble { intent, attempt, .. } | Effect::Ask { intent, attempt, .. } => {
                (Some(*intent), Some(*attempt))
            }
            Effect::Snapshot
            | Effect::Probe
            | Effect::Fetch { .. }
            | Effect::LayOut { .. }
            | Effect::Measure { .. }
            | Effect::RunOldTests { .. }
            | Effect::RunNewTests { .. }
            | Effect::Judge { .. }
            | Effect::Calibrate { .. }
            | Effect::PlanLocal { .. }
            | Effect::Parse { .. }
            | Effect::Question { .. }
            | Effect::Publish { .. } => (None, None),
        };
        let tier = match effect {
            Effect::Ask { route, .. } => route.as_ref().map(|route| route.tier),
            _ => None,
        };
        EffectNote { kind: effect.kind(), node: key.node.clone(), intent, attempt, tier }
    }
}

/// What tells one effect from another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectKey {
    /// The node it works for; `None` for the session's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeId>,
    /// The node's generation when it was wanted.
    pub generation: u32,
    /// How many effects of this kind were started in this generation before it.
    pub ordinal: u32,
}

impl EffectKey {
    /// The effect's name.
    pub fn id(&self, session: &SessionId, effect: &Effect) -> EffectId {
        let stage = serde_json::to_string(&effect.kind()).unwrap_or_default();
        EffectId(Sha::of_fields([
            session.as_str().as_bytes(),
            self.node.as_ref().map_or("", NodeId::as_str).as_bytes(),
            &self.generation.to_be_bytes(),
            stage.as_bytes(),
            &self.ordinal.to_be_bytes(),
            &effect.input().0,
        ]))
    }
}
