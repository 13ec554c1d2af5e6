//! A session that ends without warning: run by the crash tests with one JSON argument, a [`Config`].
//!
//! It counts the points of the session and the calls that change the disk, and kills itself at the one it was
//! told. If it comes to its end it prints a [`Told`].
// A program prints, and what it cannot set up is a failed test.
#![allow(clippy::print_stdout, clippy::expect_used)]

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use perspt_agent::AgentError;
use perspt_core::effect::Effect;
use perspt_core::event::{Event, SessionResumed};
use perspt_core::ids::Millis;
use perspt_core::state::SessionState;
use perspt_sandbox::Allowed;
use perspt_store::{Home, RealDisk, StoreError};
use perspt_testkit::clock::{START, TickClock};
use perspt_testkit::disk::Watched;
use perspt_testkit::session::child::{Config, Confine, Ended, Kill, Language, Mode, Told, tool_homes};
use perspt_testkit::session::{Answers, Point, Rig};
use perspt_testkit::toy::{Flaw, Toy};
use rustix::process::{Signal, getpid, kill_process};

fn main() {
    let argument = std::env::args().nth(1).expect("one argument");
    let config: Config = serde_json::from_str(&argument).expect("a config");
    let told = play(&config);
    println!("{}", serde_json::to_string(&told).expect("plain data"));
}

/// Counts, and ends the process at one number.
struct Counter {
    count: AtomicU64,
    kill_at: Option<u64>,
}

impl Counter {
    fn new(kill_at: Option<u64>) -> Arc<Counter> {
        Arc::new(Counter { count: AtomicU64::new(0), kill_at })
    }

    fn pass(&self) {
        if self.kill_at == Some(self.count.fetch_add(1, Ordering::Relaxed)) {
            kill_process(getpid(), Signal::KILL).expect("a process can always end itself");
        }
    }

    fn now(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }
}

fn play(config: &Config) -> Told {
    let (at_point, at_step) = match config.kill {
        None => (None, None),
        Some(Kill::Point(at)) => (Some(at), None),
        Some(Kill::Disk(at)) => (None, Some(at)),
    };
    let (points, steps) = (Counter::new(at_point), Counter::new(at_step));
    let mut rig = rig(config, steps.clone());
    let publishes = Arc::new(Mutex::new(Vec::new()));
    rig.watch = {
        let (points, steps, publishes) = (points.clone(), steps.clone(), publishes.clone());
        let (edit, file) = (config.edit.clone(), config.work.join(&config.edit.file));
        Arc::new(move |point: &Point<'_>| {
            points.pass();
            if point.before_publish(&edit.before_publish_of) {
                user_edits(&file, &edit.text);
            }
            let mut publishes = publishes.lock().expect("one thread");
            match point {
                Point::BeforeAct(wanted) if is_publish(&wanted.effect) => {
                    publishes.push((steps.now(), steps.now()));
                }
                Point::AfterAct(wanted, _) if is_publish(&wanted.effect) => {
                    publishes.last_mut().expect("it was begun").1 = steps.now();
                }
                Point::AfterTold(Event::EffectEnded { .. }) => {
                    publishes.last_mut().expect("it was begun").1 = steps.now();
                }
                _ => {}
            }
        })
    };
    let ended = ended(match config.mode {
        Mode::Begin => rig.begin(),
        Mode::Resume => rig.resume(SessionResumed { allow: config.allow.clone(), ..Default::default() }),
    });
    let publishes = publishes.lock().expect("one thread").clone();
    Told { points: points.now(), steps: steps.now(), publishes, ended }
}

fn rig(config: &Config, steps: Arc<Counter>) -> Rig {
    let disk = Watched::new(Arc::new(RealDisk), &[]);
    disk.before_each(move |call| {
        if !call.op.reads() {
            steps.pass();
        }
    });
    let home = Home::open(config.home.clone(), Arc::new(disk)).expect("a home");
    let mut rig = Rig::new(home, &config.work, &config.mark, &config.helper);
    if config.confine == Confine::InPlace {
        rig.runner = rig.runner.with(Allowed::without_namespaces());
    }
    match &config.language {
        Language::Toy(toyc) => rig.plugins = vec![Toy::plugin(toyc, Flaw::None)],
        Language::Real => {
            rig.plugins = perspt_lang::plugins().to_vec();
            rig.env.extend(tool_homes());
        }
    }
    rig.answers = Answers::Http(config.base_url.clone());
    rig.started.session = config.session.clone();
    rig.started.task.clone_from(&config.task);
    rig.clock = Arc::new(TickClock::at(Millis(START.0 + 1_000_000 * config.life)));
    rig
}

fn is_publish(effect: &Effect) -> bool {
    matches!(effect, Effect::Publish { .. })
}

/// The user's edit, made once: after a kill the file already says what it is to say.
fn user_edits(file: &Path, text: &str) {
    if std::fs::read_to_string(file).ok().as_deref() != Some(text) {
        std::fs::write(file, text).expect("the user can write");
    }
}

fn ended(result: Result<SessionState, AgentError>) -> Ended {
    match result {
        Ok(state) => match state.end {
            Some(end) => Ended::With(end.outcome, state.head.map(|head| head.id)),
            None => Ended::Failed("the session has no end".to_owned()),
        },
        Err(AgentError::NeverBegun | AgentError::Store(StoreError::NoSession(_))) => Ended::NeverBegun,
        Err(error) => Ended::Failed(error.to_string()),
    }
}
