//! Stories of tiers: which model is asked, what takes over where it fails, and what it all costs.

use perspt_core::budget::Spend;
use perspt_core::effect::{AskRoute, Effect, Expects, Intent};
use perspt_core::event::{
    AskNext, Ended, Event, ParseState, Recovered, RetryClass, SessionResumed, SessionStarted, Settings,
};
use perspt_core::ids::Millis;
use perspt_core::outcome::{EndReason, Outcome};
use perspt_core::route::{Price, Route, Tier, TierRoute};
use perspt_core::state::InFlight;

use crate::dice::Dice;
use crate::steps::*;
use crate::support::*;
use crate::world::World;

/// A thousand tokens for a thousandth of a dollar, four times as much for those that are written.
const PRICE: Price = Price { input: 1_000_000, cached: 100_000, output: 4_000_000 };

fn route_of(flight: &InFlight) -> AskRoute {
    let Effect::Ask { route, .. } = &flight.effect else { panic!("{flight:?}") };
    *route.clone().unwrap()
}

fn asks_a_plan(flight: &InFlight) -> bool {
    asks(&flight.effect) && flight.key.node.is_none()
}

fn no_plan() -> Ended {
    Ended::PlanParsed {
        state: ParseState::NoStructuredPayload,
        capture: capture("no plan"),
        proposed: None,
        diagnostics: vec!["no tasks".to_owned()],
        settled: vec![],
        evidence: Some(blob("no plan")),
        recovered: Recovered::default(),
        bundle: None,
    }
}

fn answered(tokens: (u64, u64), cost: Option<u64>) -> Ended {
    Ended::Answered {
        answer: blob("an answer"),
        capture: capture("an answer"),
        tokens_in: Some(tokens.0),
        tokens_out: Some(tokens.1),
        tokens_cached: None,
        tokens_estimated: None,
        first_token_ms: 1,
        latency_ms: 2,
        model: "m".to_owned(),
        cost,
    }
}

#[test]
fn a_request_names_its_tier_and_its_model() {
    let routes = vec![
        TierRoute { tier: Tier::Architect, main: Route::plain("large", Some("http://a")), fallback: None },
        tier(Tier::Actuator, "fast", Some("spare")),
    ];
    let mut world = routed(routes);
    let (_, plan) = world.until(asks_a_plan);
    let (tier, base_url) = (Tier::Architect, Some("http://a".to_owned()));
    assert_eq!(route_of(&plan), AskRoute { tier, model: "large".to_owned(), base_url, fallback: false });
    let (id, node) = world.until_node("core", asks);
    let (tier, model) = (Tier::Actuator, "fast".to_owned());
    assert_eq!(route_of(&node), AskRoute { tier, model, base_url: None, fallback: false });
    let Event::EffectEnded { of: Some(of), .. } = world.state.effect_ended(id, Ended::Lost) else { panic!() };
    assert_eq!(of.tier, Some(Tier::Actuator));

    let mut plain = World::lucky();
    let (_, node) = plain.until_node("core", asks);
    assert_eq!(route_of(&node).model, "m", "a tier that nobody named asks the session's model");
}

#[test]
fn a_tier_that_fails_for_good_moves_to_its_fallback_with_a_new_prompt_and_fresh_requests() {
    let mut world = routed(vec![tier(Tier::Actuator, "fast", Some("spare"))]);
    world.until_node("core", asks);
    world.ends_with(again(None));
    world.now = world.state.next_wake(world.now).unwrap();
    let (_, first) = world.running();
    world.ends_with(unusable());
    let length = world.log.len();
    let (_, next) = world.until_node("core", asks);
    assert_eq!(world.started_since(length), ["core: assemble", "core: ask"]);
    let [(tier, from, to, why)] = &moves(&world)[..] else { panic!("{:?}", moves(&world)) };
    assert_eq!((*tier, from.as_str(), to.as_str(), why.as_str()), (Tier::Actuator, "fast", "spare", "529"));
    let (Effect::Ask { prompt: old, .. }, Effect::Ask { prompt: new, intent, attempt, .. }) =
        (&first.effect, &next.effect)
    else {
        panic!()
    };
    assert_ne!(old, new, "the prompt is made again, for the other model");
    assert_eq!((*intent, *attempt), (Intent::Generate, 1));
    let route = route_of(&next);
    assert_eq!((route.model.as_str(), route.fallback), ("spare", true));
    let asker = &world.state.nodes[&"core".into()].asker;
    assert_eq!((asker.failures, asker.not_before), (0, Millis(0)));
    world.run();
    assert_eq!(ended(&world), (EndReason::NodesClosed, Outcome::Success));
}

#[test]
fn the_architect_moves_to_its_fallback_too() {
    let mut world = routed(vec![tier(Tier::Architect, "large", Some("spare"))]);
    world.until(asks_a_plan);
    world.ends_with(unusable());
    let (_, next) = world.until(asks_a_plan);
    assert_eq!((route_of(&next).model.as_str(), route_of(&next).fallback), ("spare", true));
    assert_eq!(world.state.planning.asker.failures, 0);
    let (_, node) = world.until_node("core", asks);
    assert!(!route_of(&node).fallback, "the other tiers stay as they are");
}

#[test]
fn a_fallback_that_fails_too_ends_the_session_and_a_tier_without_one_ends_it_at_once() {
    for (fallback, requests) in [(Some("spare"), 2), (None, 1)] {
        let mut world = routed(vec![tier(Tier::Actuator, "fast", fallback)]);
        for _ in 0..requests {
            world.until_node("core", asks);
            world.ends_with(unusable());
        }
        world.run_once();
        assert_eq!(ended(&world), (EndReason::Provider, Outcome::ProviderUnusable));
        assert_eq!(moves(&world).len(), requests - 1);
    }
}

#[test]
fn a_failure_that_is_worth_two_tries_is_told_after_two_requests() {
    let mut world = routed(vec![]);
    world.until_node("core", asks);
    for request in 1..=2 {
        assert!(world.state.provider.is_none(), "told after {} requests", request - 1);
        world.ends_with(failed(AskNext::Again(None), Some(2)));
        world.now = world.state.next_wake(world.now).unwrap();
    }
    world.run_once();
    assert_eq!(ended(&world).0, EndReason::Provider);
    let what = &world.state.end.as_ref().unwrap().trouble.as_ref().unwrap().what;
    assert!(what.contains("after 2 requests"), "{what}");

    let mut world = routed(vec![tier(Tier::Actuator, "fast", Some("spare"))]);
    world.until_node("core", asks);
    for _ in 0..2 {
        world.ends_with(failed(AskNext::Again(None), Some(2)));
        world.now = world.state.next_wake(world.now).unwrap_or(world.now);
    }
    assert_eq!(route_of(&world.until_node("core", asks).1).model, "spare");
}

/// What comes of reading the node's answers, one after the other, and whether its tier moved.
fn moves_after(answers: &[RetryClass]) -> bool {
    let mut world = routed(vec![tier(Tier::Actuator, "fast", Some("spare"))]);
    for retry in answers {
        world.until_node("core", parses);
        world.ends_with(rejected(*retry));
    }
    world.until_node("core", asks);
    !moves(&world).is_empty()
}

#[test]
fn two_answers_in_a_row_that_cannot_be_read_move_the_tier() {
    use RetryClass::{Malformed, Retarget};
    assert!(!moves_after(&[Malformed]));
    assert!(moves_after(&[Malformed, Malformed]));
    assert!(!moves_after(&[Malformed, Retarget, Malformed]), "one that could be read begins the count anew");
    assert!(!moves_after(&[Retarget, Retarget, Retarget]), "an answer about wrong files can be read");
}

#[test]
fn answers_that_the_provider_cut_off_count_as_unread_and_the_count_begins_anew_with_the_fallback() {
    let mut world = routed(vec![tier(Tier::Actuator, "fast", Some("spare"))]);
    for expected in [0, 1] {
        world.until_node("core", asks);
        assert_eq!(moves(&world).len(), 0, "{expected}");
        world.ends_with(failed(AskNext::Malformed, None));
    }
    let (_, next) = world.until_node("core", asks);
    assert_eq!(moves(&world).len(), 1);
    assert_eq!(route_of(&next).model, "spare");
    assert_eq!(world.state.unread.get(&Tier::Actuator), None);
    world.ends_with(failed(AskNext::Malformed, None));
    world.run();
    assert_eq!(ended(&world).1, Outcome::Success);
    assert_eq!(moves(&world).len(), 1, "there is no second fallback");
}

#[test]
fn two_plans_that_cannot_be_read_move_the_architect() {
    let mut world = routed(vec![tier(Tier::Architect, "large", Some("spare"))]);
    for _ in 0..2 {
        world.until(|flight| matches!(flight.effect, Effect::Parse { expects: Expects::Plan, .. }));
        world.ends_with(no_plan());
    }
    let (_, third) = world.until(asks_a_plan);
    assert_eq!(route_of(&third).model, "spare");
    assert!(matches!(third.effect, Effect::Ask { attempt: 3, .. }), "it gets no more answers for that");
}

#[test]
fn what_tiers_have_used_adds_up_and_calls_without_a_price_are_counted_and_cost_nothing() {
    let priced = Route { price: Some(PRICE), ..model("large") };
    let mut world = routed(vec![TierRoute { tier: Tier::Architect, main: priced, fallback: None }]);
    let (_, plan) = world.until(asks_a_plan);
    let cost = PRICE.cost(500, 0, 1000);
    assert_eq!(plan.effect.reserve(), Spend { steps: 1, tokens: 1500, cost, unpriced: 0, bounded: 1 });
    assert_eq!(world.state.account.reserved, plan.effect.reserve());
    world.ends_with(answered((400, 100), Some(800)));
    let (_, node) = world.until_node("core", asks);
    assert_eq!(node.effect.reserve(), Spend { steps: 1, tokens: 1500, cost: 0, unpriced: 1, bounded: 1 });
    world.ends_with(answered((40, 10), None));
    let account = &world.state.account;
    let spent = |tokens, cost, unpriced| Spend { steps: 1, tokens, cost, unpriced, bounded: 0 };
    let tiers = [(Tier::Architect, spent(500, 800, 0)), (Tier::Actuator, spent(50, 0, 1))];
    assert_eq!(account.tiers, tiers.into());
    assert_eq!(account.used, Spend { steps: 2, tokens: 550, cost: 800, unpriced: 1, bounded: 0 });
    assert_eq!(account.reserved, Spend::default());
}

fn limited(cost: u64, price: Option<Price>) -> World {
    let mut settings = Settings { limits: plenty(), output_tokens: 1000, ..Settings::default() };
    settings.limits.cost = Some(cost);
    let main = Route { price, ..model("m") };
    let routes = vec![TierRoute { tier: Tier::Architect, main, fallback: None }];
    World::begun(Dice::lucky(), SessionStarted { routes, ..started(settings) })
}

#[test]
fn a_call_whose_highest_price_just_fits_is_made_and_one_that_could_cost_more_is_not() {
    let estimate = PRICE.cost(500, 0, 1000);
    let mut world = limited(estimate, Some(PRICE));
    world.until(asks_a_plan);
    let mut world = limited(estimate - 1, Some(PRICE));
    world.run_once();
    assert_eq!(ended(&world), (EndReason::Budget, Outcome::BudgetExhausted));
    assert_eq!(world.state.account.used, Spend::default(), "nothing was asked");
    let trouble = world.state.end.as_ref().unwrap().trouble.clone().unwrap();
    assert!(trouble.why.contains("--max-cost") && trouble.todo.contains("--max-cost"), "{trouble:?}");
}

#[test]
fn a_price_that_nobody_knows_never_counts_as_money() {
    let mut world = limited(0, None);
    world.run();
    assert_eq!(ended(&world), (EndReason::NodesClosed, Outcome::Success));
    let used = world.state.account.used;
    assert_eq!((used.cost, used.unpriced), (0, used.steps));
}

#[test]
fn an_answer_is_no_longer_than_the_models_window_leaves_room_for() {
    for (window, output, tokens) in
        [(None, None, 1500), (None, Some(300), 800), (Some(1100), Some(900), 1100)]
    {
        let main = Route { window, output, ..model("m") };
        let mut world = routed(vec![TierRoute { tier: Tier::Architect, main, fallback: None }]);
        let (_, plan) = world.until(asks_a_plan);
        assert_eq!(plan.effect.reserve().tokens, tokens, "a prompt of 500 tokens, and the answer");
    }
}

fn resumed(world: &mut World, with: SessionResumed) {
    world.record(Event::PauseAsked);
    let (id, _) = world.state.in_flight.iter().next().map(|(id, flight)| (*id, flight.clone())).unwrap();
    world.record(world.state.effect_ended(id, Ended::Lost));
    world.run_once();
    world.record(Event::SessionResumed(with));
}

#[test]
fn a_resume_sends_the_same_prompt_again_unless_another_model_is_asked() {
    let spare = SessionResumed { routes: vec![tier(Tier::Actuator, "other", None)], ..Default::default() };
    let plain = SessionResumed { model: Some("another".to_owned()), ..Default::default() };
    let url = SessionResumed { base_url: Some("http://b".to_owned()), ..Default::default() };
    for (with, asked, again) in [
        (SessionResumed::default(), "m", vec!["core: ask"]),
        (spare, "other", vec!["core: assemble", "core: ask"]),
        (plain, "another", vec!["core: assemble", "core: ask"]),
        (url, "m", vec!["core: assemble", "core: ask"]),
    ] {
        let mut world = World::lucky();
        world.until_node("core", asks);
        resumed(&mut world, with);
        let length = world.log.len();
        let (_, next) = world.until_node("core", asks);
        assert_eq!(world.started_since(length), again, "{asked}");
        assert_eq!(route_of(&next).model, asked);
    }
}

#[test]
fn a_resume_goes_back_to_the_tiers_own_model_with_a_prompt_made_for_it() {
    for with in [
        SessionResumed::default(),
        SessionResumed { routes: vec![tier(Tier::Actuator, "fast", Some("spare"))], ..Default::default() },
    ] {
        let mut world = routed(vec![tier(Tier::Actuator, "fast", Some("spare"))]);
        world.until_node("core", asks);
        world.ends_with(unusable());
        world.until_node("core", asks);
        assert_eq!(world.state.fallen, [Tier::Actuator].into());
        resumed(&mut world, with);
        let length = world.log.len();
        let (_, next) = world.until_node("core", asks);
        assert_eq!((route_of(&next).model.as_str(), route_of(&next).fallback), ("fast", false));
        assert_eq!(world.started_since(length), ["core: assemble", "core: ask"]);
        world.ends_with(unusable());
        assert_eq!(route_of(&world.until_node("core", asks).1).model, "spare", "it may fall again");
    }
}
