//! Steps that stories have in common: what runs, what comes of it, how it all ended.

use perspt_core::effect::Effect;
use perspt_core::event::{
    AskNext, Closed, Ended, EscalateReason, Event, ParseState, Recovered, RetryClass, SessionStarted,
    Settings,
};
use perspt_core::outcome::{EndReason, Outcome};
use perspt_core::reading::StageKind;
use perspt_core::route::{Route, Tier, TierRoute};
use perspt_core::state::InFlight;

use crate::dice::Dice;
use crate::support::*;
use crate::world::World;

pub fn with(settings: Settings) -> World {
    World::with(Dice::lucky(), Settings { limits: plenty(), output_tokens: 1000, ..settings })
}

pub fn asks(effect: &Effect) -> bool {
    matches!(effect, Effect::Ask { .. })
}

pub fn measures(kind: StageKind) -> impl Fn(&Effect) -> bool {
    move |effect| matches!(effect, Effect::Measure { stage, .. } if stage.kind == kind)
}

pub fn publishes(effect: &Effect) -> bool {
    matches!(effect, Effect::Publish { .. })
}

pub fn again(told: Option<u64>) -> Ended {
    Ended::AskFailed {
        class: "Status".to_owned(),
        what: "529".to_owned(),
        next: AskNext::Again(told),
        began: false,
        tokens: None,
        cost: None,
        tries: None,
    }
}

pub fn rejected(retry: RetryClass) -> Ended {
    Ended::BundleParsed {
        state: ParseState::SemanticallyRejected,
        capture: capture("x"),
        changes: None,
        retry: Some(retry),
        violations: vec!["wrong".to_owned()],
        evidence: Some(blob("rejected")),
        widened: vec![],
        changes_tests: vec![],
        leaves_red: vec![],
        skipped: vec![],
        refused: vec![],
        commands: vec![],
        needs: vec![],
        recovered: Recovered::default(),
        requests: vec![],
        roots: vec![],
    }
}

pub fn finds(flight: &InFlight, errors: u32, finding: &str) -> Ended {
    let Effect::Measure { branch, stage, .. } = &flight.effect else { panic!("{flight:?}") };
    let reading = red(branch.tree, stage, errors, finding);
    Ended::Measured { reading, environment: None, runs: vec![], reused: false }
}

/// Lets the node's build find this many errors.
pub fn build_fails(world: &mut World, errors: u32, finding: &str) {
    let (_, flight) = world.until_node("core", measures(StageKind::Build));
    world.ends_with(finds(&flight, errors, finding));
    world.until_node("core", judges);
    let judged = Ended::Judged { judgement: Box::new(unstable(errors, finding)) };
    world.ends_with(judged);
}

pub fn ended(world: &World) -> (EndReason, Outcome) {
    let end = world.state.end.as_ref().expect("not ended");
    (end.reason, end.outcome)
}

pub fn escalation(world: &World, node: &str) -> EscalateReason {
    let found = world.events().find_map(|event| match event {
        Event::NodeClosed { node: id, end: Closed::Escalated { certificate } } if id.as_str() == node => {
            Some(certificate.reason)
        }
        _ => None,
    });
    found.expect("not given up")
}

pub fn assembles(effect: &Effect) -> bool {
    matches!(effect, Effect::Assemble { .. })
}

pub fn parses(effect: &Effect) -> bool {
    matches!(effect, Effect::Parse { .. })
}

/// A request that no further one could mend.
pub fn unusable() -> Ended {
    failed(AskNext::Unusable, None)
}

/// A request that failed, and how many such requests are worth making.
pub fn failed(next: AskNext, tries: Option<u32>) -> Ended {
    let Ended::AskFailed { class, what, began, tokens, cost, .. } = again(None) else { panic!() };
    Ended::AskFailed { class, what, next, began, tokens, cost, tries }
}

/// A model of which only the name is known.
pub fn model(name: &str) -> Route {
    Route::plain(name, None)
}

/// A tier's model, and the one that takes over.
pub fn tier(tier: Tier, main: &str, fallback: Option<&str>) -> TierRoute {
    TierRoute { tier, main: model(main), fallback: fallback.map(model) }
}

/// A session in which tiers ask these models.
pub fn routed(routes: Vec<TierRoute>) -> World {
    let settings = Settings { limits: plenty(), output_tokens: 1000, ..Settings::default() };
    World::begun(Dice::lucky(), SessionStarted { routes, ..started(settings) })
}

/// The log's decision that the fallback of a tier takes over: the tier, from which model to which, and why.
pub fn moves(world: &World) -> Vec<(Tier, String, String, String)> {
    let moved = |event: &Event| match event {
        Event::TierMoved { tier, from, to, why } => Some((*tier, from.clone(), to.clone(), why.clone())),
        _ => None,
    };
    world.events().filter_map(moved).collect()
}

pub fn judges(effect: &Effect) -> bool {
    matches!(effect, Effect::Judge { .. })
}
