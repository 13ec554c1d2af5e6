//! Events of different nodes commute, commits and moves of the head aside: nodes that are worked on at the
//! same time come to the same state, however their events fall into the log.

use std::collections::BTreeMap;

use perspt_core::budget::Spend;
use perspt_core::consent::{ConsentKind, Declared};
use perspt_core::context::ContextRequest;
use perspt_core::effect::{Effect, EffectKey, Expects, Intent};
use perspt_core::event::{
    AnalysisChoice, AskNext, Category, Certificate, Closed, DiffNote, Ended, EscalateReason, Event,
    ParseState, Recovered, RetryClass, Verdict,
};
use perspt_core::grade::Grade;
use perspt_core::ids::{EffectId, Millis, NodeId, SessionId};
use perspt_core::reading::StageKind;
use perspt_core::residual::Milli;
use perspt_core::state::SessionState;
use proptest::prelude::*;

use crate::dice::Dice;
use crate::support::*;
use crate::world::{World, fold};

const NODES: [&str; 4] = ["a", "b", "c", "d"];

/// Those that come to wait for a consent instead of being given up.
const WAIT: [&str; 2] = ["b", "d"];

/// A session with an approved plan of four nodes that do not depend on each other.
fn planned() -> Vec<(Millis, Event)> {
    let mut world = World::lucky();
    world.plans(&NODES.map(|id| (plan_node(id, &[]), vec![root("", "rust")])));
    world.until_node("a", |_| true);
    // The first node's first effect is not part of what is shared.
    world.log.pop();
    world.log
}

/// One node's life as a worker of its own would write it, from the first prompt until it is given up or
/// waits.
fn life(node: &str, up_to: usize) -> Vec<Event> {
    let mut events = Vec::new();
    let mut ordinals: BTreeMap<String, u32> = BTreeMap::new();
    let mut does = |effect: Effect, outcome: Ended| {
        let count = ordinals.entry(format!("{:?}", effect.kind())).or_default();
        let key = EffectKey { node: Some(NodeId::from(node)), generation: 0, ordinal: *count };
        *count += 1;
        let id = key.id(&SessionId::from("s-1"), &effect);
        events.push(Event::EffectStarted { id, key, effect });
        events.push(Event::EffectEnded { id, of: None, outcome });
    };
    let text = |what: &str| format!("{node} {what}");
    let base = branch("base");
    for (intent, attempt) in [(Intent::Generate, 1), (Intent::Generate, 2), (Intent::Retarget, 1)] {
        let prompt = blob(&text("prompt"));
        does(
            Effect::Assemble { intent, attempt, branch: base, evidence: vec![], analysis: None },
            Ended::Assembled {
                prompt,
                context: sha("context"),
                files: vec![path("src/read.rs")],
                degraded: vec![],
                tokens: 7,
                parts: vec![],
                provenance: provenance(&text("template")),
            },
        );
        let ask = Effect::Ask { intent, attempt, prompt, estimate: Spend::call(1007, Some(50)), route: None };
        let failed = |next| Ended::AskFailed {
            class: text("class"),
            what: text("what"),
            next,
            began: false,
            tokens: None,
            cost: None,
            tries: None,
        };
        does(ask.clone(), failed(AskNext::Again(None)));
        does(ask.clone(), Ended::Lost);
        let answered = Ended::Answered {
            answer: blob(&text("answer")),
            capture: capture(&text("answer")),
            tokens_in: Some(3),
            tokens_out: Some(4),
            tokens_cached: None,
            tokens_estimated: None,
            first_token_ms: 1,
            latency_ms: 2,
            model: "m".to_owned(),
            cost: Some(9),
        };
        does(ask, answered);
        does(
            Effect::Parse { answer: blob(&text("answer")), expects: Expects::Bundle(base) },
            Ended::BundleParsed {
                state: ParseState::SemanticallyRejected,
                capture: capture("x"),
                changes: (intent == Intent::Retarget).then(|| blob(&text("changes"))),
                retry: Some(RetryClass::Retarget),
                violations: vec![text("violation")],
                evidence: None,
                widened: vec![path(&format!("src/{node}_beside.rs"))],
                changes_tests: vec![declaration("tests/a.rs")],
                leaves_red: vec![text("red")],
                skipped: vec![],
                refused: vec![],
                commands: vec![],
                needs: vec![],
                recovered: Recovered::default(),
                requests: match (intent, attempt) {
                    (Intent::Generate, 1) => vec![ContextRequest::Search { query: text("query") }],
                    _ => vec![],
                },
                roots: vec![root("", "rust"), root("web", "go")],
            },
        );
    }
    let changes = blob(&text("changes"));
    let tree_of = tree_id(&text("tree"));
    does(
        Effect::LayOut { base: base.base, changes, commands: vec![] },
        Ended::LaidOut { tree: tree_of, changes, diff: DiffNote::default(), runs: vec![] },
    );
    let candidate = perspt_core::effect::Branch { changes: Some(changes), tree: tree_of, ..base };
    let stage = stage(StageKind::Build);
    let reading = red(tree_of, &stage, 1, &text("finding"));
    let readings = vec![reading.blob];
    does(
        Effect::Measure { branch: candidate, stage: stage.clone(), run: 1 },
        Ended::Measured { reading, environment: None, runs: vec![], reused: false },
    );
    let needs = [need(ConsentKind::Tests, &text("test"), Declared::InTime)];
    let waits = WAIT.contains(&node);
    let judgement = if waits { waiting_for(&needs) } else { unstable(1, &text("finding")) };
    let energy = judgement.energy.clone();
    does(
        Effect::Judge {
            branch: candidate,
            readings,
            before: vec![],
            old_tests: vec![],
            required: vec![stage],
            grants: 0,
        },
        Ended::Judged { judgement: Box::new(judgement) },
    );
    events.push(Event::AttemptJudged {
        node: NodeId::from(node),
        attempt: 3,
        tree: tree_of,
        stages: vec![],
        energy: energy.clone(),
        threshold: Milli(100),
        verdict: if waits { Verdict::Waits } else { Verdict::Improved },
        reason: Some(text("reason")),
        grade: Grade::Tests,
        missing: if waits { needs.to_vec() } else { vec![] },
        analysis: (!waits).then_some(AnalysisChoice::Skipped),
    });
    if waits {
        events.truncate(up_to);
        return events;
    }
    let certificate = Certificate {
        reason: EscalateReason::RetriesExhausted,
        category: Category::ImplementationError,
        energy: Some(energy),
        residuals: vec![text("finding")],
        evidence: vec![],
        answers: 3,
        corrections: 1,
        head: tree_id("base"),
        next: text("next"),
    };
    let end = Closed::Escalated { certificate: Box::new(certificate) };
    events.push(Event::NodeClosed { node: NodeId::from(node), end });
    events.truncate(up_to);
    events
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn nodes_worked_on_at_the_same_time_come_to_the_same_state_in_any_order(
        lengths in prop::array::uniform4(0usize..40),
        order in prop::collection::vec(0usize..4, 0..200),
    ) {
        let prefix = planned();
        // Each event keeps its time wherever it stands; times only say what came later in one life.
        let lives: Vec<Vec<(Millis, Event)>> = NODES
            .iter()
            .zip(lengths)
            .map(|(node, length)| {
                let dated = |(at, event)| (Millis(1_000_000 + at as u64), event);
                life(node, length).into_iter().enumerate().map(dated).collect()
            })
            .collect();
        let one_after_the_other: Vec<_> = prefix.iter().chain(lives.iter().flatten()).cloned().collect();
        let mut mixed = prefix.clone();
        let mut rest: Vec<_> = lives.into_iter().map(Vec::into_iter).collect();
        for next in order.into_iter().chain(0..4) {
            mixed.extend(rest[next].next());
        }
        mixed.extend(rest.into_iter().flatten());
        prop_assert_eq!(mixed.len(), one_after_the_other.len());
        prop_assert_eq!(fold(&mixed), fold(&one_after_the_other));
    }
}

/// The node an event is about, where it is about one and moves no head.
fn node_of(event: &Event, owners: &BTreeMap<EffectId, Option<NodeId>>) -> Option<NodeId> {
    match event {
        Event::EffectStarted { key, .. } => key.node.clone(),
        Event::EffectEnded { outcome: Ended::Published { .. } | Ended::BaseMoved { .. }, .. } => None,
        Event::EffectEnded { id, .. } => owners.get(id).cloned().flatten(),
        Event::AttemptJudged { node, .. } | Event::NodeClosed { node, .. } => Some(node.clone()),
        _ => None,
    }
}

#[test]
fn neighbouring_events_of_different_nodes_may_change_places_in_a_real_log() {
    let mut swapped = 0;
    for seed in 0..60 {
        let mut world = World::new(Dice::endless(seed));
        world.run();
        let owners = world
            .events()
            .filter_map(|event| match event {
                Event::EffectStarted { id, key, .. } => Some((*id, key.node.clone())),
                _ => None,
            })
            .collect();
        let nodes: Vec<_> = world.events().map(|event| node_of(event, &owners)).collect();
        let mut state = SessionState::default();
        for at in 1..world.log.len() {
            let (first, second) = (&world.log[at - 1], &world.log[at]);
            if let (Some(one), Some(other)) = (&nodes[at - 1], &nodes[at])
                && one != other
            {
                let (mut straight, mut crossed) = (state.clone(), state.clone());
                [first, second].into_iter().for_each(|(at, event)| straight.apply(*at, event));
                [second, first].into_iter().for_each(|(at, event)| crossed.apply(*at, event));
                assert_eq!(straight, crossed, "{first:?} and {second:?}");
                swapped += 1;
            }
            state.apply(first.0, &first.1);
        }
    }
    assert!(swapped >= 20, "only {swapped} neighbours were of different nodes");
}
