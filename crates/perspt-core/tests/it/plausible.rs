//! Whole sessions in a world where anything can go wrong.

use std::collections::BTreeSet;

use perspt_core::effect::Effect;
use perspt_core::event::{AnalysisChoice, Closed, Ended, Event};
use perspt_core::outcome::{EndReason, Outcome};
use perspt_core::reading::{StageId, StageKind};
use perspt_core::stage::StageRole;
use perspt_core::state::SessionState;
use proptest::prelude::*;

use crate::dice::Dice;
use crate::support::cases;
use crate::world::{World, fold};

fn kept_promises(world: &World) {
    assert!(world.state.end.is_some() && world.state.in_flight.is_empty());
    assert_eq!(fold(&world.log), world.state, "the fold is a function of the log");
    let starts = world.events().filter(|event| matches!(event, Event::EffectStarted { .. })).count();
    let ends = world.events().filter(|event| matches!(event, Event::EffectEnded { .. })).count();
    assert_eq!(starts, ends);
}

fn is_read_back_as_it_was_written(world: &World) {
    let written = serde_json::to_string(&world.state).unwrap();
    assert_eq!(serde_json::from_str::<SessionState>(&written).unwrap(), world.state);
    for event in world.events() {
        let line = serde_json::to_string(event).unwrap();
        assert_eq!(serde_json::from_str::<Event>(&line).unwrap(), *event);
    }
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn a_session_keeps_every_promise_whatever_happens(rolls in prop::collection::vec(any::<u16>(), 0..700)) {
        let mut world = World::new(Dice::of(rolls));
        world.run();
        kept_promises(&world);
        is_read_back_as_it_was_written(&world);
    }
}

#[test]
fn where_all_goes_well_every_node_is_committed_and_the_session_succeeds() {
    let mut world = World::lucky();
    world.run();
    kept_promises(&world);
    let end = world.state.end.as_ref().unwrap();
    assert_eq!((end.reason, end.outcome), (EndReason::NodesClosed, Outcome::Success));
    let kinds = world.started_since(0);
    let each = |act: &'static str, kinds: &[StageKind]| -> Vec<String> {
        kinds.iter().map(|kind| format!("{act} {}", kind.as_str())).collect()
    };
    let words = |words: &[&str]| -> Vec<String> { words.iter().map(|word| (*word).to_owned()).collect() };
    let tools = &StageKind::ALL[1..];
    let session = [
        // The plan is asked for beside what is measured.
        words(&["snapshot", "probe", "assemble", "fetch"]),
        each("measure", tools),
        each("calibrate", tools),
        words(&["ask", "parse", "question"]),
    ];
    let node = [
        words(&["assemble", "ask", "parse", "lay_out"]),
        each("measure", &StageKind::ALL),
        words(&["judge", "publish"]),
    ]
    .concat();
    let both = ["core", "shell"].iter().flat_map(|id| node.iter().map(move |kind| format!("{id}: {kind}")));
    let expected: Vec<String> = session.concat().into_iter().chain(both).collect();
    assert_eq!(kinds, expected);
}

/// A simulation that never meets a case proves nothing about it: these meet them all.
#[test]
fn misfortune_without_end_does_not_keep_a_session_from_ending_and_meets_every_case() {
    let mut met: BTreeSet<String> = BTreeSet::new();
    for seed in 0..320 {
        let mut world = World::new(Dice::endless(seed));
        world.run();
        kept_promises(&world);
        let roots = world.state.probed.iter().flatten();
        let shown: Vec<StageId> = roots.flat_map(|root| root.with_role(StageRole::Shown)).collect();
        for event in world.events() {
            met.insert(tag(event, "kind"));
            match event {
                Event::EffectEnded { outcome, .. } => {
                    met.insert(tag(outcome, "ended"));
                    if let Ended::AskFailed { next, .. } = outcome {
                        met.insert(format!("ask: {}", tag(next, "is")));
                    }
                    if let Ended::PlanParsed { bundle: Some(_), .. } = outcome {
                        met.insert("with_the_plan".to_owned());
                    }
                    if let Ended::BundleParsed { requests, roots, .. } = outcome {
                        let told = [(!requests.is_empty(), "requests"), (!roots.is_empty(), "new_roots")];
                        met.extend(told.iter().filter(|told| told.0).map(|told| told.1.to_owned()));
                    }
                }
                Event::EffectStarted { effect: Effect::Measure { stage, .. }, .. }
                    if shown.contains(stage) =>
                {
                    met.insert("measured_shown".to_owned());
                }
                Event::AttemptJudged { verdict, analysis, .. } => {
                    met.insert(format!("{verdict:?}"));
                    if *analysis == Some(AnalysisChoice::Asked) {
                        met.insert("analysis_asked".to_owned());
                    }
                }
                Event::NodeClosed { end, .. } => {
                    met.insert(tag(end, "as"));
                    if let Closed::Escalated { certificate } = end {
                        met.insert(format!("{:?}", certificate.reason));
                    }
                }
                Event::SessionEnded { reason, outcome, .. } => {
                    met.insert(format!("{reason:?}"));
                    met.insert(outcome.as_str().to_owned());
                }
                _ => {}
            }
        }
    }
    let all = "session_started session_resumed tail_cut bytes_kept effect_started effect_ended node_proposed plan_adopted \
        tier_moved attempt_judged node_closed pause_asked abort_asked session_ended \
        snapshotted unworkable probed fetched laid_out measured measured_shown calibrated assembled answered ask_failed \
        plan_parsed bundle_parsed decided published base_moved lost cancelled broke judged layout_refused overtaken \
        too_large_for_model planned_locally analysis_parsed analysis_asked with_the_plan requests new_roots \
        Stable Improved Discarded Waits escalated blocked rejected RetriesExhausted Malformed Repeated RequiresReplan \
        BaseKeptMoving WindowTooSmall NodesClosed Paused Aborted Internal Usage Provider Budget Degraded Refused Consents \
        success internal-error usage partial failed budget-exhausted degraded refused provider-unusable \
        interrupted";
    let unmet: Vec<&str> = all.split_whitespace().filter(|kind| !met.contains(*kind)).collect();
    assert!(unmet.is_empty(), "never met: {unmet:?}");
    for next in ["ask: again", "ask: malformed", "ask: unusable"] {
        assert!(met.contains(next), "never met: {next}");
    }
}

fn tag(value: &impl serde::Serialize, name: &str) -> String {
    serde_json::to_value(value).unwrap()[name].as_str().unwrap().to_owned()
}
