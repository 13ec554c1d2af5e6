//! The stages of a look at the tree, as they end.

use perspt_agent::ports::{Appended, View};
use perspt_core::event::{Calibration, Ended, Event};
use perspt_core::state::SessionState;

use super::Form;
use crate::out::{self, plain, value};
use crate::view::Progress;
use crate::view::readings::field;
use crate::view::text::languages_field;

/// Prints a line for each stage, where lines are wanted.
pub struct Live {
    form: Form,
    progress: Progress,
}

impl Live {
    /// Nothing was printed yet.
    pub fn new(form: Form) -> Live {
        Live { form, progress: Progress::default() }
    }
}

impl View for Live {
    fn saw(&mut self, Appended { event, state, .. }: Appended<'_>) {
        self.progress.clear();
        match event {
            Event::EffectStarted { effect, .. } => self.progress.show(effect),
            Event::EffectEnded { outcome, .. } if self.form == Form::Text => ended(outcome, state),
            _ => {}
        }
    }
}

fn ended(outcome: &Ended, state: &SessionState) {
    match outcome {
        Ended::Snapshotted { files, notes, since, .. } => {
            let since = since.as_ref().map_or_else(String::new, |since| {
                format!(
                    " since={} changed={}",
                    since.commit.get(..12).unwrap_or(&since.commit),
                    since.changed
                )
            });
            out::line(&format!("DETECT plugins={} files={files}{since}", languages_field(state)));
            notes.iter().for_each(|note| out::note(&format!("note: {}", plain(note))));
        }
        Ended::Measured { reading, reused, .. } => {
            let is_old = state.head.is_some_and(|head| head.id != reading.tree);
            let label = if is_old { "OLD" } else { "STAGE" };
            let roots = state.found.as_ref().map_or(0, |found| found.roots.len());
            let root = match roots {
                0 | 1 => String::new(),
                _ => format!(" root={}", value(reading.stage.root.shown())),
            };
            let reused = if *reused { " reused" } else { "" };
            out::line(&format!("{label} {}{root}{reused}", field(reading)));
        }
        Ended::Calibrated { verdict: Calibration::Blind(plant), .. } => {
            out::line(&format!("CALIBRATE result=blind plant={}", value(plant)));
        }
        Ended::Calibrated { verdict: Calibration::Unmeasured(why), .. } => {
            out::line(&format!("CALIBRATE result=unmeasured why={}", value(why)));
        }
        _ => {}
    }
}
