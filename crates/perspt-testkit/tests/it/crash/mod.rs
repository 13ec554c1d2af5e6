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

use perspt_testkit::heavy::{cases, seed};
use perspt_testkit::session::child::{Kill, Told};

use self::lives::Lives;
use self::scripts::Scenario;

/// The lives in which a session is killed, one after the other. The last life is left alone.
type Kills = Vec<Kill>;

/// One way of being killed.
#[derive(Debug)]
struct Way {
    first: First,
    kills: Kills,
}

/// What becomes of the first life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum First {
    /// It is the first to be killed.
    IsKilled,
    /// It comes to wait for a consent.
    Waits,
}

/// What becomes of a kill that lies beyond the end of its life.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Beyond {
    /// It is a mistake of the test.
    Wrong,
    /// The session is over, which is as good.
    Fine,
}

/// Plays the session with every one of these ways, a few at a time, and says which did not come out right.
fn play_all(scenario: &Scenario, ways: &[Kills], beyond: Beyond, reference: &check::Reference) {
    let ways = ways.iter().map(|kills| Way { first: First::IsKilled, kills: kills.clone() });
    play_ways(scenario, &ways.collect::<Vec<_>>(), beyond, reference);
}

fn play_ways(scenario: &Scenario, ways: &[Way], beyond: Beyond, reference: &check::Reference) {
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(Vec::new());
    let workers = std::thread::available_parallelism().map_or(2, usize::from) * 2;
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(way) = ways.get(number) else { return };
                    let mut lives = Lives::new(scenario, number);
                    if let Err(why) = play(&mut lives, way, beyond, reference) {
                        failed.lock().unwrap().push(format!("{way:?}: {why}"));
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "{} of {} ways:\n{}", failed.len(), ways.len(), failed.join("\n"));
}

fn play(lives: &mut Lives, way: &Way, beyond: Beyond, reference: &check::Reference) -> Result<(), String> {
    if way.first == First::Waits {
        let told = lives.live(None).ok_or("the first life was cut short")?;
        if !check::waits(&told) {
            return Err(format!("the first life does not wait: {told:?}"));
        }
    }
    for kill in &way.kills {
        match (lives.live(Some(*kill)), beyond) {
            (None, _) => check::nothing_runs(lives)?,
            (Some(told), Beyond::Fine) if check::waits(&told) => break,
            (Some(told), Beyond::Fine) => return check::right(lives, &told, reference),
            (Some(told), Beyond::Wrong) => return Err(format!("it was not killed: {told:?}")),
        }
    }
    let told = lives.live(None).ok_or("the last life was cut short")?;
    // Where nothing of the first life was kept, this one is the first: it waits, and the user permits it then.
    let told =
        if check::waits(&told) { lives.live(None).ok_or("the last life was cut short")? } else { told };
    check::right(lives, &told, reference)
}

/// A session that waits for a consent: killed in the life that comes to wait, or in the one that brings the consent, at
/// every point or at every few of them.
fn play_waiting(scenario: &Scenario, (first_by, second_by): (usize, usize)) {
    let mut lives = Lives::new(scenario, 0);
    let first = lives.live(None).expect("nobody kills it");
    assert!(check::waits(&first), "{first:?}");
    let second = lives.live(None).expect("nobody kills it");
    let reference = check::Reference::of(&lives, &second);
    println!("points={} and {}", first.points, second.points);
    let mut ways: Vec<Way> = Vec::new();
    let points = |told: &Told, by| (0..told.points).step_by(by).map(Kill::Point).collect::<Vec<_>>();
    ways.extend(
        points(&first, first_by).into_iter().map(|kill| Way { first: First::IsKilled, kills: vec![kill] }),
    );
    ways.extend(
        points(&second, second_by).into_iter().map(|kill| Way { first: First::Waits, kills: vec![kill] }),
    );
    let publishes = second.publishes.iter().flat_map(|(begun, over)| *begun..*over);
    let publishes = publishes.step_by(second_by * 3).map(Kill::Disk);
    ways.extend(publishes.map(|kill| Way { first: First::Waits, kills: vec![kill] }));
    let mut dice = Dice::seeded();
    ways.extend((0..cases(12, 200)).map(|_| {
        let one = Kill::Point(dice.roll(first.points));
        Way { first: First::IsKilled, kills: vec![one, Kill::Point(dice.roll(second.points))] }
    }));
    println!("ways={}", ways.len());
    play_ways(scenario, &ways, Beyond::Fine, &reference);
}

/// The session without any kill: how it comes out, and how many points it has.
fn undisturbed(scenario: &Scenario) -> (Told, check::Reference) {
    let mut lives = Lives::new(scenario, 0);
    let told = lives.live(None).expect("nobody kills it");
    let reference = check::Reference::of(&lives, &told);
    (told, reference)
}

/// A small generator: the same numbers from the same seed on every machine.
struct Dice(u64);

impl Dice {
    fn seeded() -> Dice {
        println!("seed={}", seed());
        Dice(seed())
    }

    /// A number below `sides`.
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    fn rolls(&mut self, count: usize, sides: u64) -> Vec<u64> {
        (0..count).map(|_| self.roll(sides)).collect()
    }
}

/// At every point in the heavy run, at every fourth in the common one, beginning where the seed says.
#[test]
fn killed_at_any_point_a_session_is_taken_up_and_comes_to_the_same_tree() {
    let scenario = Scenario::toy();
    let (told, reference) = undisturbed(&scenario);
    println!("points={}", told.points);
    assert!(told.points > 300, "only {} points", told.points);
    let step = cases(4, 1);
    let begin = seed() % step as u64;
    let ways: Vec<Kills> = (begin..told.points).step_by(step).map(|at| vec![Kill::Point(at)]).collect();
    play_all(&scenario, &ways, Beyond::Wrong, &reference);
}

/// While a session begins and while it publishes, every call counts; elsewhere a few are taken.
#[test]
fn killed_before_any_call_to_the_disk_a_session_comes_to_the_same_tree() {
    let scenario = Scenario::toy();
    let (told, reference) = undisturbed(&scenario);
    let mut steps: Vec<u64> = (0..12).collect();
    let publishes = told.publishes.iter().filter(|(begun, over)| over > begun);
    steps.extend(publishes.flat_map(|(begun, over)| *begun..*over));
    steps.extend(Dice::seeded().rolls(cases(24, 200), told.steps));
    println!("disk steps={} of {}", steps.len(), told.steps);
    let ways: Vec<Kills> = steps.into_iter().map(|at| vec![Kill::Disk(at)]).collect();
    play_all(&scenario, &ways, Beyond::Wrong, &reference);
}

#[test]
fn killed_again_while_it_is_taken_up_a_session_comes_to_the_same_tree() {
    let scenario = Scenario::toy();
    let (told, reference) = undisturbed(&scenario);
    let mut dice = Dice::seeded();
    let ways: Vec<Kills> = (0..cases(24, 200))
        .map(|n| {
            let first = Kill::Point(dice.roll(told.points));
            // The calls to the disk with which a resume begins are as good as points.
            let second =
                if n % 2 == 0 { Kill::Disk(dice.roll(16)) } else { Kill::Point(dice.roll(told.points)) };
            vec![first, second]
        })
        .collect();
    play_all(&scenario, &ways, Beyond::Fine, &reference);
}

/// A publication interrupted at its steps (every third in the common run), and then again while it is finished.
#[test]
fn killed_again_while_a_publication_is_finished_a_session_comes_to_the_same_tree() {
    let scenario = Scenario::toy();
    let (told, reference) = undisturbed(&scenario);
    let (begun, over) = *told.publishes.last().unwrap();
    let mut dice = Dice::seeded();
    let ways: Vec<Kills> = (begun..over)
        .step_by(cases(3, 1))
        .map(|at| vec![Kill::Disk(at), Kill::Disk(dice.roll(over - begun))])
        .collect();
    println!("publications killed twice={}", ways.len());
    play_all(&scenario, &ways, Beyond::Fine, &reference);
}

#[test]
fn a_session_that_waits_is_killed_at_any_point_and_the_consent_brings_it_to_the_same_tree() {
    play_waiting(&Scenario::waiting(), (cases(6, 1), cases(4, 1)));
}

#[test]
fn a_session_whose_command_waits_is_killed_at_any_point_and_comes_to_the_same_tree() {
    play_waiting(&Scenario::waiting_for_a_command(), (cases(8, 1), cases(3, 1)));
}

#[test]
fn a_session_that_waits_while_another_node_is_worked_on_comes_to_the_same_tree() {
    play_waiting(&Scenario::waiting_beside_another(), (cases(4, 1), cases(8, 1)));
}

fn a_few_points(scenario: &Scenario) {
    let (told, reference) = undisturbed(scenario);
    let points = Dice::seeded().rolls(cases(4, 24), told.points);
    println!("points={points:?} of {}", told.points);
    let ways: Vec<Kills> = points.into_iter().map(|at| vec![Kill::Point(at)]).collect();
    play_all(scenario, &ways, Beyond::Wrong, &reference);
}

#[test]
fn killed_at_a_few_points_a_session_with_cargo_comes_to_the_same_tree() {
    a_few_points(&Scenario::rust());
}

#[test]
fn killed_at_a_few_points_a_session_with_python_comes_to_the_same_tree() {
    a_few_points(&Scenario::python());
}
