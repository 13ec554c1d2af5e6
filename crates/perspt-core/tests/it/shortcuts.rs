//! Stories of what is asked less often, or beside the way: plans without an architect, plans that come with their
//! changes, findings that are explained, context that the model asks for, windows that are too small.

use perspt_core::context::ContextRequest;
use perspt_core::effect::{Effect, Expects, Intent};
use perspt_core::event::{
    AnalysisChoice, AskNext, Closed, Ended, EscalateReason, Event, JudgementNote, ParseState, PlanSource,
    PlanningPolicy, Recovered, RetryClass, SessionResumed, SessionStarted, Settings,
};
use perspt_core::ids::BlobId;
use perspt_core::outcome::{EndReason, NodeEnd, Outcome};
use perspt_core::route::{Route, Tier, TierRoute};
use perspt_core::state::{InFlight, Node};
use perspt_core::view::History;

use crate::dice::Dice;
use crate::steps::*;
use crate::support::*;
use crate::world::{World, fold};

fn core(world: &World) -> &Node {
    &world.state.nodes[&"core".into()]
}

fn intent_of(flight: &InFlight) -> Intent {
    match &flight.effect {
        Effect::Ask { intent, .. } | Effect::Assemble { intent, .. } => *intent,
        other => panic!("{other:?}"),
    }
}

fn too_large() -> Ended {
    Ended::TooLargeForModel { needed: 9000, window: 4096, model: "tiny".to_owned() }
}

fn planning(policy: Option<PlanningPolicy>, architect: Route) -> World {
    let settings = Settings { limits: plenty(), output_tokens: 1000, ..Settings::default() };
    let routes = vec![TierRoute { tier: Tier::Architect, main: architect, fallback: None }];
    World::begun(Dice::lucky(), SessionStarted { routes, planning: policy, ..started(settings) })
}

fn asks_anyone(world: &World) -> Vec<Intent> {
    let asked = |event: &Event| match event {
        Event::EffectStarted { effect: Effect::Ask { intent, .. }, .. } => Some(*intent),
        _ => None,
    };
    world.events().filter_map(asked).collect()
}

/// The session goes to its end with one node that nobody planned, and no request before its approval.
fn is_solo(mut world: World) {
    let question = |flight: &InFlight| matches!(flight.effect, Effect::Question { .. });
    world.until(question);
    assert_eq!(asks_anyone(&world), [], "nobody was asked before the approval");
    let adopted = world.events().find_map(|event| match event {
        Event::PlanAdopted { source, nodes, .. } => Some((*source, *nodes)),
        _ => None,
    });
    assert_eq!(adopted, Some((PlanSource::Local, 1)));
    build_fails(&mut world, 1, "a finding");
    world.run();
    assert_eq!(ended(&world), (EndReason::NodesClosed, Outcome::Success));
    assert_eq!(asks_anyone(&world), [Intent::SoloGenerate, Intent::SoloCorrection]);
}

#[test]
fn a_small_task_becomes_one_node_with_no_architect() {
    let small = || Route { small: true, ..model("tiny") };
    is_solo(planning(Some(PlanningPolicy::LocalEdit), model("large")));
    is_solo(planning(Some(PlanningPolicy::SingleFile), model("large")));
    is_solo(planning(None, small()));
    let mut asked = planning(Some(PlanningPolicy::FeatureIncrement), small());
    asked.run();
    assert_eq!(asks_anyone(&asked)[0], Intent::ArchitectExisting, "the user's word counts");
}

#[test]
fn a_tree_that_does_not_fit_the_architects_window_is_planned_without_it() {
    for policy in [None, Some(PlanningPolicy::FeatureIncrement)] {
        let mut world = planning(policy, model("tiny"));
        world.until(|flight| assembles(&flight.effect));
        world.ends_with(too_large());
        is_solo(world);
    }
}

#[test]
fn a_resume_with_another_architect_asks_it_for_the_plan() {
    let mut world = planning(None, model("tiny"));
    world.until(|flight| assembles(&flight.effect));
    world.ends_with(too_large());
    world.until(|flight| matches!(flight.effect, Effect::PlanLocal { .. }));
    for id in world.state.in_flight.keys().copied().collect::<Vec<_>>() {
        world.record(world.state.effect_ended(id, Ended::Lost));
    }
    let routes = vec![tier(Tier::Architect, "large", None)];
    world.record(Event::SessionResumed(SessionResumed { routes, ..SessionResumed::default() }));
    world.run();
    assert_eq!(ended(&world).1, Outcome::Success);
    assert_eq!(asks_anyone(&world)[0], Intent::ArchitectExisting);
}

/// A plan of one node whose answer also holds its changes. The head moves after the plan's prompt was made.
fn with_its_changes(answer_with: &str) -> (World, BlobId) {
    let mut world =
        routed(vec![tier(Tier::Architect, answer_with, None), tier(Tier::Actuator, "fast", None)]);
    let (_, flight) = world.until(|flight| assembles(&flight.effect));
    world.ends_with(Ended::Assembled {
        prompt: blob("the plan's prompt"),
        context: sha("context"),
        files: vec![],
        degraded: vec![],
        tokens: 500,
        parts: vec![],
        provenance: provenance(intent_of(&flight).slug()),
    });
    world.until(|flight| matches!(flight.effect, Effect::Measure { .. }));
    world.ends_with(Ended::BaseMoved { head: tree("moved"), changed: vec![path("README.md")], more: 0 });
    world.until(|flight| asks(&flight.effect));
    world.ends_with(Ended::Answered {
        answer: blob("plan and changes"),
        capture: capture("plan and changes"),
        tokens_in: Some(70),
        tokens_out: Some(30),
        tokens_cached: None,
        tokens_estimated: None,
        first_token_ms: 1,
        latency_ms: 2,
        model: answer_with.to_owned(),
        cost: None,
    });
    let (by, flight) = world.until(|flight| parses(&flight.effect));
    let Effect::Parse { answer, .. } = flight.effect else { panic!() };
    let (node, roots) = (Box::new(plan_node("core", &[])), vec![root("", "rust")]);
    world.record(Event::NodeProposed { by, node, roots });
    world.ends_with(Ended::PlanParsed {
        state: ParseState::StructuredOk,
        capture: capture("plan and changes"),
        proposed: Some(PlanSource::Architect),
        diagnostics: vec![],
        settled: vec![],
        evidence: None,
        recovered: Recovered::default(),
        bundle: Some(answer),
    });
    (world, answer)
}

#[test]
fn changes_that_came_with_the_plan_are_read_after_its_approval_over_what_its_prompt_showed() {
    let (mut world, answer) = with_its_changes("large");
    let adopted = world.state.due(world.now).unwrap();
    world.record(adopted.clone());
    assert!(matches!(adopted, Event::PlanAdopted { .. }));
    assert!(!world.state.releases_texts(&adopted), "the answer is still to be read");
    let (_, first) = world.until_node("core", |_| true);
    assert_eq!(world.state.head, Some(tree("moved")));
    let expects = Expects::Bundle(branch("base"));
    assert_eq!(first.effect, Effect::Parse { answer, expects }, "not over the head, which has moved since");
    world.run();
    assert_eq!(ended(&world), (EndReason::NodesClosed, Outcome::Success));
    assert_eq!(asks_anyone(&world), [Intent::ArchitectExisting], "one request was enough");
    assert_eq!(core(&world).answers_used(), 1);
}

#[test]
fn a_plan_without_changes_releases_its_texts() {
    let mut world = World::lucky();
    world.plans(&[(plan_node("core", &[]), vec![root("", "rust")])]);
    let adopted = world.state.due(world.now).unwrap();
    world.record(adopted.clone());
    assert!(world.state.releases_texts(&adopted));
}

#[test]
fn a_session_killed_between_the_plan_and_its_changes_goes_on_with_the_same_answer() {
    let length = with_its_changes("large").0.log.len();
    for more in 0..4 {
        let (mut world, answer) = with_its_changes("large");
        // The plan is adopted, asked about, approved, and its changes begin to be read.
        while world.log.len() < length + more {
            match world.state.due(world.now) {
                Some(event) => world.record(event),
                None if world.state.in_flight.is_empty() => world.start_what_is_wanted(),
                None => drop(world.step()),
            }
        }
        assert_eq!(fold(&world.log), world.state);
        world.crash();
        let (_, first) = world.until_node("core", |_| true);
        let expects = Expects::Bundle(branch("base"));
        assert_eq!(first.effect, Effect::Parse { answer, expects }, "killed after {more} more events");
        world.run();
        assert_eq!(ended(&world).1, Outcome::Success);
        assert_eq!(asks_anyone(&world), [Intent::ArchitectExisting]);
    }
}

fn history(world: &World) -> History {
    let mut history = History::default();
    world.events().for_each(|event| history.apply(event));
    history
}

#[test]
fn an_answer_that_came_with_the_plan_shows_as_the_nodes_first_with_the_architects_model() {
    let (mut world, _) = with_its_changes("large");
    world.run();
    let history = history(&world);
    let [attempt] = history.attempts(&"core".into()) else {
        panic!("{:?}", history.attempts(&"core".into()))
    };
    assert_eq!((attempt.model.as_str(), attempt.tokens), ("large", Some((70, 30))));
    assert_eq!((attempt.intent, attempt.candidate), (Some(Intent::ArchitectExisting), Some(1)));
}

/// The architect's answer is no node's where it holds a plan alone.
#[test]
fn a_plan_alone_shows_as_no_nodes_attempt() {
    let mut world = World::lucky();
    world.until_node("core", assembles);
    world.ends_with(Ended::BaseMoved { head: tree("moved"), changed: vec![], more: 1 });
    let history = history(&world);
    assert!(history.attempts(&"core".into()).iter().all(|attempt| attempt.answer.is_none()));
}

#[test]
fn changes_of_a_plan_that_cannot_be_used_are_asked_for_again_as_any_others() {
    let (mut world, _) = with_its_changes("large");
    world.until_node("core", parses);
    world.ends_with(rejected(RetryClass::Malformed));
    let (_, next) = world.until_node("core", asks);
    assert_eq!(intent_of(&next), Intent::Malformed);
    assert_eq!(core(&world).answers_used(), 1);
    assert_eq!(world.state.unread.get(&Tier::Actuator), None, "the actuator has not been asked before");
}

/// What the last judgement says of an analysis.
fn choice(world: &World) -> Option<AnalysisChoice> {
    let of = |event: &Event| match event {
        Event::AttemptJudged { analysis, .. } => Some(*analysis),
        _ => None,
    };
    world.events().filter_map(of).last().unwrap()
}

fn two_models() -> World {
    routed(vec![tier(Tier::Verifier, "wise", None), tier(Tier::Actuator, "fast", None)])
}

#[test]
fn another_model_explains_the_findings_before_the_correction() {
    let mut world = two_models();
    build_fails(&mut world, 1, "a finding");
    let (_, made) = world.until_node("core", assembles);
    assert_eq!(choice(&world), Some(AnalysisChoice::Asked));
    let Effect::Assemble { intent, evidence, analysis, .. } = &made.effect else { panic!() };
    assert_eq!((*intent, evidence.len(), *analysis), (Intent::Analysis, 1, None));
    let (_, asked) = world.until_node("core", asks);
    let Effect::Ask { route: Some(route), intent: Intent::Analysis, .. } = &asked.effect else { panic!() };
    assert_eq!((route.tier, route.model.as_str()), (Tier::Verifier, "wise"));
    let (_, read) = world.until_node("core", parses);
    assert!(matches!(read.effect, Effect::Parse { expects: Expects::Analysis, .. }));
    let used = core(&world).answers_used();
    world.ends_with(analysis_parsed(Some(blob("explained"))));
    let (_, made) = world.until_node("core", assembles);
    let Effect::Assemble { intent, analysis, .. } = &made.effect else { panic!() };
    assert_eq!((*intent, *analysis), (Intent::Correction, Some(blob("explained"))));
    assert_eq!((used, core(&world).answers_used()), (1, 1), "an explanation is no answer");
    build_fails(&mut world, 1, "another finding");
    world.until_node("core", asks);
    world.ends_with(unusable());
    let (_, made) = world.until_node("core", assembles);
    let Effect::Assemble { intent, analysis, .. } = &made.effect else { panic!() };
    assert_eq!((*intent, *analysis), (Intent::Correction, None), "what was said of other findings is over");
    assert_eq!(history(&world).attempts(&"core".into()).len(), 2, "an explanation is no attempt");
}

fn analysis_parsed(analysis: Option<BlobId>) -> Ended {
    let state = ParseState::NoStructuredPayload;
    Ended::AnalysisParsed { state, capture: capture("x"), recovered: Recovered::default(), analysis }
}

#[test]
fn one_model_explains_its_own_findings_only_where_there_are_many() {
    use AnalysisChoice::{Asked, Skipped};
    for (routes, headlines, expected) in [
        (vec![], 11, Skipped),
        (vec![], 12, Asked),
        (vec![tier(Tier::Verifier, "m", None)], 11, Skipped),
        (vec![tier(Tier::Verifier, "wise", None)], 1, Asked),
    ] {
        let mut world = routed(routes);
        world.until_node("core", judges);
        let headlines = (0..headlines).map(|at| format!("finding {at}")).collect();
        let judgement = JudgementNote { headlines, ..unstable(1, "a finding") };
        world.ends_with(Ended::Judged { judgement: Box::new(judgement) });
        let (_, made) = world.until_node("core", assembles);
        assert_eq!(choice(&world), Some(expected));
        let intent = if expected == Asked { Intent::Analysis } else { Intent::Correction };
        assert_eq!(intent_of(&made), intent);
    }
}

#[test]
fn a_stable_candidate_has_nothing_to_explain() {
    let mut world = two_models();
    world.until_node("core", publishes);
    assert_eq!(choice(&world), None);
}

/// However an analysis fails, the correction is asked for without it.
#[test]
fn an_analysis_that_fails_in_any_way_leads_on_to_the_correction() {
    type Step = (fn(&Effect) -> bool, Ended);
    let refused = || failed(AskNext::Again(None), Some(1));
    let ways: [Step; 5] = [
        (assembles, too_large()),
        (asks, failed(AskNext::Malformed, None)),
        (asks, unusable()),
        (asks, refused()),
        (parses, analysis_parsed(None)),
    ];
    for (at, outcome) in ways {
        let mut world = two_models();
        build_fails(&mut world, 1, "a finding");
        world.until_node("core", at);
        world.ends_with(outcome.clone());
        let (_, made) = world.until_node("core", assembles);
        let Effect::Assemble { intent, analysis, evidence, .. } = &made.effect else { panic!() };
        assert_eq!((*intent, *analysis, evidence.len()), (Intent::Correction, None, 1), "{outcome:?}");
        assert_eq!(core(&world).answers_used(), 1, "{outcome:?}");
        assert_eq!((core(&world).asker.failures, &world.state.provider), (0, &None));
        world.run();
        assert_eq!(ended(&world), (EndReason::NodesClosed, Outcome::Success), "{outcome:?}");
    }
}

#[test]
fn a_verifier_that_cannot_be_reached_is_asked_no_more_until_a_resume() {
    let mut world = two_models();
    build_fails(&mut world, 2, "a finding");
    world.until_node("core", asks);
    world.ends_with(unusable());
    build_fails(&mut world, 1, "another finding");
    world.until_node("core", assembles);
    assert_eq!(choice(&world), Some(AnalysisChoice::Skipped));
    world.record(Event::PauseAsked);
    world.run_once();
    world.record(Event::SessionResumed(SessionResumed::default()));
    build_fails(&mut world, 3, "a third finding");
    world.until_node("core", assembles);
    assert_eq!(choice(&world), Some(AnalysisChoice::Asked));
}

#[test]
fn a_verifier_moves_to_its_fallback_too() {
    let mut world = routed(vec![tier(Tier::Verifier, "wise", Some("spare"))]);
    for finding in ["a finding", "another finding"] {
        build_fails(&mut world, 1, finding);
        world.until_node("core", |effect| matches!(effect, Effect::Parse { expects: Expects::Analysis, .. }));
        world.ends_with(analysis_parsed(None));
    }
    world.until_node("core", asks);
    let [(tier, _, to, _)] = &moves(&world)[..] else { panic!("{:?}", moves(&world)) };
    assert_eq!((*tier, to.as_str()), (Tier::Verifier, "spare"));
}

fn asks_to_see(requests: Vec<ContextRequest>) -> Ended {
    let Ended::BundleParsed { capture, .. } = rejected(RetryClass::Malformed) else { panic!() };
    Ended::BundleParsed {
        state: ParseState::StructuredOk,
        capture,
        changes: None,
        retry: None,
        violations: vec![],
        evidence: None,
        widened: vec![],
        changes_tests: vec![],
        leaves_red: vec![],
        skipped: vec![],
        refused: vec![],
        commands: vec![],
        needs: vec![],
        recovered: Recovered::default(),
        requests,
        roots: vec![],
    }
}

fn read(file: &str) -> ContextRequest {
    ContextRequest::Read { path: file.to_owned(), lines: None }
}

#[test]
fn what_the_model_asks_to_see_is_shown_by_another_prompt_of_the_same_intent() {
    let mut world = World::lucky();
    let symbol = ContextRequest::Symbol { symbol: "Adder".to_owned() };
    let rounds = [vec![read("a.rs"), symbol.clone()], vec![read("a.rs"), read("b.rs")], vec![read("c.rs")]];
    for (round, requests) in (1..).zip(rounds) {
        world.until_node("core", parses);
        world.ends_with(asks_to_see(requests));
        let (_, made) = world.running();
        let Effect::Assemble { intent, attempt, .. } = made.effect else { panic!("{made:?}") };
        assert_eq!((intent, attempt), (Intent::Generate, round + 1));
        assert_eq!(core(&world).answers_used(), 0, "a request is no answer");
        assert_eq!(core(&world).failure, None);
    }
    let seen = [read("a.rs"), symbol, read("b.rs"), read("c.rs")];
    assert_eq!(core(&world).requested, seen, "each is kept once");
    world.until_node("core", parses);
    world.ends_with(asks_to_see(vec![read("d.rs")]));
    let (_, next) = world.until_node("core", asks);
    let Effect::Ask { intent, attempt, .. } = next.effect else { panic!() };
    assert_eq!((intent, attempt), (Intent::Malformed, 1), "after three rounds it is an answer of no use");
    assert_eq!(core(&world).answers_used(), 1);
    assert!(core(&world).failure.as_ref().unwrap().reason.contains("3 times"), "{:?}", core(&world).failure);
    world.run();
    assert_eq!(ended(&world), (EndReason::NodesClosed, Outcome::Success));
}

#[test]
fn a_correction_may_ask_to_see_more_too() {
    let mut world = World::lucky();
    build_fails(&mut world, 1, "a finding");
    world.until_node("core", parses);
    world.ends_with(asks_to_see(vec![read("a.rs")]));
    let (_, made) = world.running();
    let Effect::Assemble { intent, attempt, evidence, .. } = &made.effect else { panic!("{made:?}") };
    assert_eq!((*intent, *attempt, evidence.len()), (Intent::Correction, 2, 1));
}

#[test]
fn a_root_that_an_answer_makes_is_probed_and_measured() {
    let mut world = World::lucky();
    world.until_node("core", parses);
    let Ended::BundleParsed { state, capture, .. } = asks_to_see(vec![]) else { panic!() };
    world.ends_with(Ended::BundleParsed {
        state,
        capture,
        changes: Some(blob("changes")),
        retry: None,
        violations: vec![],
        evidence: None,
        widened: vec![],
        changes_tests: vec![],
        leaves_red: vec![],
        skipped: vec![],
        refused: vec![],
        commands: vec![],
        needs: vec![],
        recovered: Recovered::default(),
        requests: vec![],
        roots: vec![root("web", "go")],
    });
    let (_, next) = world.running();
    assert_eq!(next.effect, Effect::Probe);
    let (_, publish) = world.until_node("core", publishes);
    let Effect::Publish { required, .. } = &publish.effect else { panic!() };
    assert!(required.iter().any(|stage| stage.root == path("web")), "{required:?}");
}

#[test]
fn a_node_whose_prompt_does_not_fit_is_closed_with_a_certificate_that_says_so() {
    let mut world = World::lucky();
    world.until_node("core", assembles);
    world.ends_with(too_large());
    world.run_once();
    assert_eq!(escalation(&world, "core"), EscalateReason::WindowTooSmall);
    let certificate = world.events().find_map(|event| match event {
        Event::NodeClosed { end: Closed::Escalated { certificate }, .. } => Some(certificate.clone()),
        _ => None,
    });
    let certificate = certificate.unwrap();
    let line = &certificate.residuals[0];
    assert!(line.contains("9000") && line.contains("4096") && line.contains("tiny"), "{line}");
    assert!(certificate.next.contains("--model"), "{}", certificate.next);
    assert_eq!((certificate.answers, asks_anyone(&world)), (0, vec![Intent::ArchitectExisting]));
    assert_eq!(ended(&world), (EndReason::NodesClosed, Outcome::Failed));
}

#[test]
fn a_closed_node_stays_as_it_is_when_another_model_is_asked() {
    let mut world = World::lucky();
    world.until_node("core", assembles);
    world.ends_with(too_large());
    let closing = world.state.due(world.now).unwrap();
    world.record(closing);
    let before = core(&world).clone();
    let model = Some("large".to_owned());
    world.record(Event::SessionResumed(SessionResumed { model, ..SessionResumed::default() }));
    assert_eq!((before.end, core(&world)), (Some(NodeEnd::Escalated), &before));
}

#[test]
fn a_small_model_is_given_up_for_its_corrections_and_not_for_the_same_findings() {
    let small = Route { small: true, ..model("tiny") };
    let routes =
        [Tier::Architect, Tier::Actuator].map(|tier| TierRoute { tier, main: small.clone(), fallback: None });
    let mut world = routed(routes.to_vec());
    for _ in 0..4 {
        build_fails(&mut world, 1, "the same finding");
    }
    world.run();
    assert_eq!(escalation(&world, "core"), EscalateReason::RetriesExhausted);
}
