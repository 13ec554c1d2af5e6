//! A session may be killed at any moment, and again while it is taken up: resume comes to the same tree.
//!
//! The child (`crash-child`) wraps the ports of the loop and kills itself at a point it is told: before and after
//! every append, before and after every effect, in the middle of those that wait, and around telling the actor.
//! Finer still, it can end before any call that changes or syncs something on the disk.

mod check;
mod lives;
mod scripts;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use perspt_testkit::session::child::{Kill, Told};

use self::lives::Lives;
use self::scripts::Scenario;

/// One way of being killed: in the first life, then in the second, and so on. The last life is left alone.
type Kills = Vec<Kill>;

/// Plays the session with every one of these ways, a few at a time, and says which did not come out right.
fn play_all(scenario: &Scenario, ways: &[Kills], reference: &check::Reference) {
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(Vec::new());
    let workers = std::thread::available_parallelism().map_or(2, usize::from) * 2;
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(kills) = ways.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(why) = play(scenario, kills, reference) {
                        failed.lock().unwrap().push(format!("{kills:?}: {why}"));
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "{} of {} ways:\n{}", failed.len(), ways.len(), failed.join("\n"));
}

fn play(scenario: &Scenario, kills: &[Kill], reference: &check::Reference) -> Result<(), String> {
    let mut lives = Lives::new(scenario);
    for kill in kills {
        if let Some(told) = lives.live(Some(*kill)) {
            return Err(format!("it was not killed: {told:?}"));
        }
        check::nothing_runs(&lives)?;
    }
    let told = lives.live(None).ok_or("the last life was cut short")?;
    check::right(&lives, &told, reference)
}

/// The session without any kill: how it comes out, and how many points it has.
fn undisturbed(scenario: &Scenario) -> (Told, check::Reference) {
    let mut lives = Lives::new(scenario);
    let told = lives.live(None).expect("nobody kills it");
    let reference = check::Reference::of(&lives, &told);
    (told, reference)
}

/// A small generator with a fixed seed: the same numbers on every machine.
struct Dice(u64);

impl Dice {
    /// A number below `sides`.
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

const SEED: u64 = 20_231_114;

#[test]
fn killed_at_any_point_a_session_is_taken_up_and_comes_to_the_same_tree() {
    let scenario = Scenario::toy();
    let (told, reference) = undisturbed(&scenario);
    println!("points={}", told.points);
    let ways: Vec<Kills> = (0..told.points).map(|at| vec![Kill::Point(at)]).collect();
    play_all(&scenario, &ways, &reference);
}

#[test]
fn an_undisturbed_session_comes_to_its_end() {
    let scenario = Scenario::toy();
    let started = std::time::Instant::now();
    let (told, _) = undisturbed(&scenario);
    println!("{told:?} {:?}", started.elapsed());
}
