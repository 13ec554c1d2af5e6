//! What an answer may be, and what reading it gave.

use perspt_core::bundle::Bundle;
use perspt_core::context::ContextRequest;
use perspt_core::event::{ParseState, RetryClass};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What an answer can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// `{"tasks": [...]}`.
    Plan,
    /// Operations on files, as JSON or as blocks.
    Bundle,
    /// A plan of one task and its bundle, in either order.
    PlanWithBundle,
    /// What a verifier says about findings.
    Analysis,
    /// `{"context_requests": [...]}`.
    ContextRequests,
    /// `{"requires_replan": {...}}`.
    Replan,
}

/// How much of an answer's form is forgiven.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Recovery {
    /// Every form with one meaning is understood.
    #[default]
    Tolerant,
    /// Strict JSON or clean blocks, and nothing around them.
    Strict,
}

/// Which answers are understood at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted<'a> {
    /// The shapes of which an answer has exactly one.
    pub shapes: &'a [Shape],
    /// How much is forgiven.
    pub recovery: Recovery,
}

impl<'a> Wanted<'a> {
    /// One of these shapes, in any form.
    pub fn one_of(shapes: &'a [Shape]) -> Wanted<'a> {
        Wanted { shapes, recovery: Recovery::Tolerant }
    }

    /// The same shapes with another tolerance.
    pub fn with(self, recovery: Recovery) -> Wanted<'a> {
        Wanted { recovery, ..self }
    }

    pub(super) fn allows(&self, shape: Shape) -> bool {
        self.shapes.contains(&shape)
    }

    /// Whether an answer may name operations on files.
    pub(super) fn allows_files(&self) -> bool {
        self.allows(Shape::Bundle) || self.allows(Shape::PlanWithBundle)
    }

    /// Whether an answer may be a plan.
    pub(super) fn allows_plan(&self) -> bool {
        self.allows(Shape::Plan) || self.allows(Shape::PlanWithBundle)
    }
}

/// What an answer says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Payload {
    /// A plan's JSON, for the plan's own reader.
    Plan(Value),
    /// Operations on files.
    Bundle(Bundle),
    /// Both.
    PlanWithBundle {
        /// The plan's JSON: one task.
        plan: Value,
        /// What is done for it.
        bundle: Bundle,
    },
    /// What a verifier says about findings.
    Analysis(Analysis),
    /// What the model wants to see first.
    ContextRequests(Vec<ContextRequest>),
    /// The model says its scope is too small.
    Replan(Replan),
}

/// What a verifier says about findings. Nothing is decided by it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Analysis {
    /// One word or sentence.
    pub status: String,
    /// What is wrong.
    pub violations: Vec<String>,
    /// Where that is seen.
    pub evidence: Vec<String>,
    /// What could be done.
    pub suggested_corrections: Vec<String>,
}

impl Analysis {
    /// What it says, a line each, the corrections last.
    pub fn lines(&self) -> Vec<String> {
        let suggested = self.suggested_corrections.iter().map(|line| format!("do: {line}"));
        self.violations.iter().chain(&self.evidence).cloned().chain(suggested).collect()
    }
}

/// Why a model cannot do its work in its scope.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Replan {
    /// In its words.
    pub reason: String,
    /// Files it would need.
    pub needed_files: Vec<String>,
    /// Tasks it would need.
    pub needed_nodes: Vec<String>,
}

impl Replan {
    /// The reason and the files, as one line.
    pub fn line(&self) -> String {
        if self.needed_files.is_empty() {
            self.reason.clone()
        } else {
            format!("{} (it asks for {})", self.reason, self.needed_files.join(", "))
        }
    }
}

/// Which finder found the payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finder {
    /// The whole answer is JSON.
    Json,
    /// JSON in a fence.
    FencedJson,
    /// JSON within other text.
    JsonInText,
    /// Blocks as they are asked for.
    Blocks,
    /// Blocks whose paths are stated in another way.
    LooseBlocks,
    /// Unified diffs.
    UnifiedDiff,
    /// `*** Begin Patch`.
    PatchEnvelope,
    /// Tags with a path.
    Tags,
}

impl Finder {
    /// Its name in records.
    pub fn as_str(self) -> &'static str {
        match self {
            Finder::Json => "json",
            Finder::FencedJson => "fenced json",
            Finder::JsonInText => "json in text",
            Finder::Blocks => "blocks",
            Finder::LooseBlocks => "loose blocks",
            Finder::UnifiedDiff => "unified diff",
            Finder::PatchEnvelope => "patch envelope",
            Finder::Tags => "tags",
        }
    }
}

/// An answer that was understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// What it says.
    pub payload: Payload,
    /// `StructuredOk` where it came exactly as asked for, else `TolerantRecoveryOk`; `RequiresReplan` for a [`Replan`].
    pub state: ParseState,
    /// How it was found.
    pub finder: Finder,
    /// What was forgiven, a line each.
    pub recovered: Vec<String>,
}

/// An answer that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    /// The end state.
    pub state: ParseState,
    /// What to do about it.
    pub retry: RetryClass,
    /// What was wrong and how it should look, a line each, for the model.
    pub lines: Vec<String>,
}

impl Rejection {
    pub(super) fn malformed(state: ParseState, line: impl Into<String>) -> Rejection {
        Rejection { state, retry: RetryClass::Malformed, lines: vec![line.into()] }
    }

    /// Something came, and it is not what was asked for.
    pub(super) fn invalid(line: impl Into<String>) -> Rejection {
        Rejection::malformed(ParseState::SchemaInvalid, line)
    }
}
