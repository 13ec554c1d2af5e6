//! A whole world in memory: it plays the agent's loop step by step, appends events as the loop does, and
//! answers every effect with something that can really happen. Crashes strike between any two events.

mod outcomes;
mod watch;

use std::collections::{BTreeMap, BTreeSet};

use perspt_core::consent::{GrantedBy, Need};
use perspt_core::effect::Effect;
use perspt_core::energy::ReadingSummary;
use perspt_core::event::{
    Approval, Ended, Event, KeptPlace, ParseState, PlanSource, PlanningPolicy, Recovered, RootRef,
    SessionResumed, SessionStarted, Settings,
};
use perspt_core::ids::{BlobId, EffectId, Millis, TreeId};
use perspt_core::path::RelPath;
use perspt_core::plan::PlanNode;
use perspt_core::route::{Price, Route, Tier, TierRoute};
use perspt_core::state::{InFlight, SessionState, Stop};

use crate::dice::Dice;
use crate::support::{capture, grant, plenty, started};
use watch::Watch;

/// More steps than any session may need. The longest the tests ever saw took a third of it.
const STEPS: u32 = 3000;

/// What may still go wrong because of somebody outside: each of these happens only so often.
struct Trials {
    crashes: u32,
    resumes: u32,
    stops: u32,
    moves: u32,
}

/// The world.
pub struct World {
    pub dice: Dice,
    pub now: Millis,
    pub state: SessionState,
    pub log: Vec<(Millis, Event)>,
    watch: Watch,
    trials: Trials,
    cancelled: BTreeSet<EffectId>,
    /// What was measured, by the blob it is kept in.
    kept: BTreeMap<BlobId, ReadingSummary>,
    /// The consents that each candidate needs.
    pub needs: BTreeMap<TreeId, Vec<Need>>,
    fresh: u64,
    /// The effect that a test waited for.
    sought: Option<EffectId>,
}

impl World {
    /// A session that has just begun, with settings the dice choose.
    pub fn new(mut dice: Dice) -> World {
        let mut settings = Settings { limits: plenty(), output_tokens: 1000, ..Settings::default() };
        if dice.chance(500) {
            settings.corrections = dice.below(4) as u32;
            settings.answers = dice.below(7) as u32;
            settings.plan_tries = 1 + dice.below(3) as u32;
            settings.rebuilds = dice.below(4) as u32;
            settings.ask_tries = 1 + dice.below(4) as u32;
        }
        if dice.chance(200) {
            settings.limits.steps = dice.below(12);
        }
        if dice.chance(100) {
            settings.limits.tokens = dice.below(30_000);
        }
        if dice.chance(50) {
            settings.limits.time_ms = dice.below(30_000);
        }
        if dice.chance(150) {
            settings.limits.cost = Some(dice.below(8000));
        }
        let routes = some_routes(&mut dice);
        let planning = if dice.chance(150) { Some(dice.pick(&PlanningPolicy::ALL)) } else { None };
        let allow = if dice.chance(200) { vec![grant("tests"), grant("red:any")] } else { vec![] };
        let approval = dice.pick(&[Approval::Policy, Approval::Policy, Approval::Person]);
        World::begun(dice, SessionStarted { allow, approval, routes, planning, ..started(settings) })
    }

    /// A session with these settings.
    pub fn with(dice: Dice, settings: Settings) -> World {
        World::begun(dice, started(settings))
    }

    /// A session that begins like this.
    pub fn begun(dice: Dice, start: SessionStarted) -> World {
        let mut world = World {
            dice,
            now: Millis(1000),
            state: SessionState::default(),
            log: vec![],
            watch: Watch::default(),
            trials: Trials { crashes: 6, resumes: 6, stops: 3, moves: 8 },
            cancelled: BTreeSet::new(),
            kept: BTreeMap::new(),
            needs: BTreeMap::new(),
            fresh: 0,
            sought: None,
        };
        world.record(Event::SessionStarted(Box::new(start)));
        world
    }

    /// A session in which all goes well, as far as the test lets it.
    pub fn lucky() -> World {
        let settings = Settings { limits: plenty(), output_tokens: 1000, ..Settings::default() };
        World::with(Dice::lucky(), settings)
    }

    /// Appends one event.
    pub fn record(&mut self, event: Event) {
        let at = self.now.max(self.state.last_at);
        if let Event::EffectEnded { outcome: Ended::Measured { reading, .. }, .. } = &event {
            self.kept.insert(reading.blob, reading.clone());
        }
        let before = self.state.clone();
        self.state.apply(at, &event);
        self.watch.saw(&before, at, &event, &self.state);
        self.log.push((at, event));
    }

    /// Runs the session to its end, through as many resumes as the dice want.
    pub fn run(&mut self) {
        for _ in 0..STEPS {
            if self.step() {
                return;
            }
        }
        panic!("the session did not end: {:?}", self.state.planning.work);
    }

    /// Runs the session to its next end, and no further.
    pub fn run_once(&mut self) {
        let resumes = std::mem::replace(&mut self.trials.resumes, 0);
        self.run();
        self.trials.resumes = resumes;
    }

    /// One step of the loop; true once the session has ended and nobody takes it up again.
    pub fn step(&mut self) -> bool {
        self.watch.looks(&self.state, self.now);
        if self.strikes() {
            self.crash();
            return false;
        }
        if let Some(event) = self.state.due(self.now) {
            self.record(event);
            return false;
        }
        if let Some(end) = &self.state.end {
            let goes_on = end.reason.is_resumable() && self.trials.resumes > 0;
            if !goes_on || self.dice.is_spent() || self.dice.chance(100) {
                return true;
            }
            self.resume();
            return false;
        }
        self.start_what_is_wanted();
        if self.user_stops() {
            return false;
        }
        self.finish_one();
        false
    }

    /// What the loop does once nothing is due: cancel what is no longer wanted, start what is missing.
    pub fn start_what_is_wanted(&mut self) {
        self.now = self.now.plus(self.dice.below(40));
        let wanted = self.state.wanted(self.now);
        for (id, flight) in &self.state.in_flight {
            if !wanted.contains_key(id) {
                assert!(!matches!(flight.effect, Effect::Publish { .. }), "a started publish was cancelled");
                self.cancelled.insert(*id);
            }
        }
        for (id, wanted) in wanted {
            if !self.state.in_flight.contains_key(&id) {
                self.record(Event::EffectStarted { id, key: wanted.key, effect: wanted.effect });
            }
        }
    }

    fn finish_one(&mut self) {
        let ids = self.in_flight();
        if ids.is_empty() {
            match self.state.next_wake(self.now) {
                Some(at) => self.now = at,
                None => assert!(self.state.due(self.now).is_some(), "stuck: {:#?}", self.state),
            }
            return;
        }
        let id = self.dice.pick(&ids);
        self.now = self.now.plus(self.dice.below(90));
        let flight = self.state.in_flight[&id].clone();
        let (facts, outcome) = self.outcome_of(id, &flight);
        for fact in facts {
            if self.strikes() {
                self.crash();
                return;
            }
            self.record(fact);
        }
        self.record(self.state.effect_ended(id, outcome));
    }

    /// What runs: what is measured of the tree before the plan that is asked for beside it.
    fn in_flight(&self) -> Vec<EffectId> {
        let mut ids: Vec<EffectId> = self.state.in_flight.keys().copied().collect();
        ids.sort_by_key(|id| self.state.in_flight[id].effect.asks());
        ids
    }

    fn outcome_of(&mut self, id: EffectId, flight: &InFlight) -> (Vec<Event>, Ended) {
        if self.cancelled.contains(&id) && !self.dice.chance(200) {
            return (vec![], Ended::Cancelled);
        }
        self.legal(id, flight)
    }

    fn user_stops(&mut self) -> bool {
        if self.trials.stops == 0 || !self.dice.chance(15) {
            return false;
        }
        self.trials.stops -= 1;
        let event = match (self.state.stop, self.dice.chance(300)) {
            (Stop::No, false) => Event::PauseAsked,
            (Stop::No, true) | (Stop::Pause | Stop::Abort, _) => {
                Event::AbortAsked { by: "this terminal".to_owned() }
            }
        };
        self.record(event);
        true
    }

    fn strikes(&mut self) -> bool {
        self.trials.crashes > 0 && self.state.end.is_none() && self.dice.chance(8)
    }

    /// The process dies. Some time later another takes the session up.
    pub fn crash(&mut self) {
        self.trials.crashes = self.trials.crashes.saturating_sub(1);
        self.cancelled.clear();
        let publish = self
            .state
            .in_flight
            .iter()
            .find(|(_, flight)| matches!(flight.effect, Effect::Publish { .. }))
            .map(|(id, flight)| (*id, flight.clone()));
        match publish {
            // The journal of a publication is finished before anything else, or taken back.
            Some((id, flight)) if !self.dice.chance(300) => {
                let outcome = self.publish_done(&flight);
                self.record(self.state.effect_ended(id, outcome));
            }
            Some(_) | None => self.now = self.now.plus(self.dice.below(100_000_000)),
        }
        self.resume();
    }

    /// Another process takes the session up, whether it ended or was cut off.
    pub fn resume(&mut self) {
        self.trials.resumes = self.trials.resumes.saturating_sub(1);
        self.now = self.now.plus(self.dice.below(100_000_000));
        if self.dice.chance(200) {
            self.record(Event::TailCut { offset: 100, bytes: 3, kept_as: "log.cut".to_owned() });
        }
        if self.dice.chance(100) {
            let place = KeptPlace::Blob(BlobId::of(b"theirs"));
            self.record(Event::BytesKept { path: RelPath::parse("src/lib.rs").unwrap(), place });
        }
        for id in self.state.in_flight.keys().copied().collect::<Vec<_>>() {
            self.record(self.state.effect_ended(id, Ended::Lost));
        }
        let limits = self.dice.chance(700).then(plenty);
        let model = self.dice.chance(200).then(|| "another model".to_owned());
        let needs: Vec<Need> = self.state.waiting_needs().cloned().collect();
        let allow = if self.dice.chance(300) { vec![] } else { self.granted(&needs, GrantedBy::Flag) };
        let approval = self.dice.chance(100).then(|| self.dice.pick(&[Approval::Policy, Approval::Person]));
        let routes = if self.dice.chance(200) { some_routes(&mut self.dice) } else { vec![] };
        let resumed = SessionResumed { model, base_url: None, routes, approval, limits, allow };
        self.record(Event::SessionResumed(resumed));
    }

    /// A name nothing else has.
    fn fresh(&mut self, what: &str) -> String {
        self.fresh += 1;
        format!("{what} {}", self.fresh)
    }
}

/// Steps for tests that tell a story of their own.
impl World {
    /// Records what is due and starts what is wanted; the effect that was looked for, or the first that then runs.
    pub fn running(&mut self) -> (EffectId, InFlight) {
        while let Some(event) = self.state.due(self.now) {
            self.record(event);
        }
        self.start_what_is_wanted();
        let ids = self.in_flight();
        let sought = self.sought.filter(|id| ids.contains(id));
        let id = sought.or(ids.first().copied()).expect("nothing runs");
        (id, self.state.in_flight[&id].clone())
    }

    /// Ends the effect that runs, starting it first where none does.
    pub fn ends_with(&mut self, outcome: Ended) -> InFlight {
        let (id, flight) = self.running();
        self.record(self.state.effect_ended(id, outcome));
        flight
    }

    /// Ends the effect that runs as one that is no longer wanted.
    pub fn ends_as_cancelled(&mut self) {
        let id = *self.in_flight().first().expect("nothing runs");
        self.record(self.state.effect_ended(id, Ended::Cancelled));
    }

    /// Lets everything succeed until an effect runs that fits.
    pub fn until(&mut self, fits: impl Fn(&InFlight) -> bool) -> (EffectId, InFlight) {
        for _ in 0..STEPS {
            self.running();
            if let Some((id, flight)) = self.state.in_flight.iter().find(|(_, flight)| fits(flight)) {
                self.sought = Some(*id);
                return (*id, flight.clone());
            }
            self.finish_one();
        }
        panic!("no such effect came");
    }

    /// Lets everything succeed until a node's effect runs that fits.
    pub fn until_node(&mut self, node: &str, fits: impl Fn(&Effect) -> bool) -> (EffectId, InFlight) {
        self.until(|flight| {
            flight.key.node.as_ref().is_some_and(|id| id.as_str() == node) && fits(&flight.effect)
        })
    }

    /// The effects started since the log had this length, by name.
    pub fn started_since(&self, length: usize) -> Vec<String> {
        let name = |effect: &Effect| {
            let kind = serde_json::to_value(effect.kind()).unwrap();
            let words = ["do", "stage"].iter().filter_map(|key| kind.get(*key)?.as_str());
            words.collect::<Vec<_>>().join(" ")
        };
        self.log[length..]
            .iter()
            .filter_map(|(_, event)| match event {
                Event::EffectStarted { effect, key, .. } => {
                    let node = key.node.as_ref().map_or(String::new(), |id| format!("{id}: "));
                    Some(format!("{node}{}", name(effect)))
                }
                _ => None,
            })
            .collect()
    }

    /// Ends the request for a plan with these nodes, each in its roots.
    pub fn plans(&mut self, nodes: &[(PlanNode, Vec<RootRef>)]) {
        let (by, _) = self.until(|flight| matches!(flight.effect, Effect::Parse { .. }));
        for (node, roots) in nodes {
            self.record(Event::NodeProposed { by, node: Box::new(node.clone()), roots: roots.clone() });
        }
        let (state, capture) = (ParseState::StructuredOk, capture("a plan"));
        let proposed = Some(PlanSource::Architect);
        self.ends_with(Ended::PlanParsed {
            state,
            capture,
            proposed,
            diagnostics: vec![],
            settled: vec![],
            evidence: None,
            recovered: Recovered::default(),
            bundle: None,
        });
    }

    /// The log's events, without their times.
    pub fn events(&self) -> impl Iterator<Item = &Event> {
        self.log.iter().map(|(_, event)| event)
    }
}

/// Models for some of the tiers, or for none.
fn some_routes(dice: &mut Dice) -> Vec<TierRoute> {
    if !dice.chance(500) {
        return vec![];
    }
    let tiers: Vec<Tier> = Tier::ALL.into_iter().filter(|_| !dice.chance(300)).collect();
    let route = |dice: &mut Dice| {
        let price = Price { input: 1_000_000, cached: 100_000, output: 4_000_000 };
        Route {
            price: dice.chance(500).then_some(price),
            window: dice.chance(300).then_some(1200),
            output: dice.chance(300).then_some(300),
            small: dice.chance(150),
            ..Route::plain(dice.pick(&["m", "large", "other"]), None)
        }
    };
    let one = |tier| TierRoute {
        tier,
        main: route(dice),
        fallback: if dice.chance(600) { Some(route(dice)) } else { None },
    };
    tiers.into_iter().map(one).collect()
}

/// The fold of a log.
pub fn fold<'a>(log: impl IntoIterator<Item = &'a (Millis, Event)>) -> SessionState {
    let mut state = SessionState::default();
    for (at, event) in log {
        state.apply(*at, event);
    }
    state
}
