//! What is being done, on a terminal's last line.

use perspt_core::effect::Effect;

use crate::out;

/// The line, as long as it stands there.
#[derive(Default)]
pub struct Progress {
    shown: bool,
}

impl Progress {
    /// Says what has begun.
    pub fn show(&mut self, effect: &Effect) {
        if !out::progress_shown() {
            return;
        }
        let what = match effect {
            Effect::Snapshot => "looking at the workspace",
            Effect::Probe => "trying the tools",
            Effect::Fetch { .. } => "fetching dependencies",
            Effect::LayOut { .. } => "laying out the branch",
            Effect::Measure { stage, .. } => stage.kind.facts().progress,
            Effect::RunOldTests { .. } => "running the tests as they were over the new code",
            Effect::RunNewTests { .. } => "running the new tests over the code as it was",
            Effect::Judge { .. } => "judging",
            Effect::Calibrate { .. } => "planting an error to see whether the tools see it",
            Effect::PlanLocal { .. } => "making a plan of one node",
            Effect::Assemble { .. } => "gathering context",
            Effect::Ask { .. } => "asking the model",
            Effect::Parse { .. } => "reading the answer",
            Effect::Question { .. } => return,
            Effect::Publish { .. } => "committing",
        };
        self.shown = true;
        out::prompt(&format!("\r\x1b[K… {what}"));
    }

    /// Takes the line away, before another is printed.
    pub fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            out::prompt("\r\x1b[K");
        }
    }
}
