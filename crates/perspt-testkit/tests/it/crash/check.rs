//! What must hold after a kill, and at the end.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::time::Duration;

use perspt_core::budget::Spend;
use perspt_core::effect::{Effect, Intent};
use perspt_core::event::{Ended, Event};
use perspt_core::ids::{EffectId, TreeId};
use perspt_core::outcome::Outcome;
use perspt_core::state::SessionState;
use perspt_store::{Follower, LogWriter, WorkspaceLease, check_log, publish};
use perspt_testkit::home::{Picture, processes_with};
use perspt_testkit::session::child::{self, Told};

use super::lives::Lives;

/// How the session comes out when nobody disturbs it.
pub struct Reference {
    tree: TreeId,
    files: Picture,
    tags: BTreeSet<String>,
}

impl Reference {
    pub fn of(lives: &Lives, told: &Told) -> Reference {
        let child::Ended::With(Outcome::Success, Some(tree)) = told.ended else { panic!("{told:?}") };
        let reference =
            Reference { tree, files: lives.place.picture(), tags: asked(lives).into_keys().collect() };
        right(lives, told, &reference).unwrap();
        reference
    }
}

/// Whether a life ended because the user's consent is missing.
pub fn waits(told: &Told) -> bool {
    matches!(told.ended, child::Ended::With(Outcome::Refused, _))
}

macro_rules! ensure {
    ($holds:expr, $($why:tt)+) => {
        if !$holds {
            return Err(format!($($why)+));
        }
    };
}

/// Whoever gets the slot's lock after a kill finds no command running.
pub fn nothing_runs(lives: &Lives) -> Result<(), String> {
    let slots = lives.place.home_path().join("slots");
    for slot in std::fs::read_dir(&slots).into_iter().flatten().flatten() {
        if let Ok(lock) = File::open(slot.path().join("0/lock")) {
            lock.lock().unwrap();
            lock.unlock().unwrap();
        }
    }
    let mark = format!("{}={}", perspt_testkit::session::MARK, lives.place.mark());
    let left = processes_with(&mark);
    ensure!(left == 0, "{left} commands are left though the slot's lock is free");
    Ok(())
}

/// Everything that must hold at the end.
pub fn right(lives: &Lives, told: &Told, reference: &Reference) -> Result<(), String> {
    let wanted = child::Ended::With(Outcome::Success, Some(reference.tree));
    ensure!(told.ended == wanted, "it ended {:?}", told.ended);
    let files = lives.place.picture();
    ensure!(files == reference.files, "the files are {files:?}");
    let home = lives.place.home();
    let verified = check_log(&home, lives.session(), &mut |_| {}).map_err(|error| error.to_string())?;
    ensure!(verified.torn.is_none(), "the log has a torn end: {:?}", verified.torn);
    log_is_right(lives, reference)?;
    no_process_is_left(lives)?;
    no_lock_is_held(lives)
}

/// A helper that has let go of its lock is about to end; nothing else is waited for.
fn no_process_is_left(lives: &Lives) -> Result<(), String> {
    nothing_runs(lives)?;
    for _ in 0..2000 {
        if processes_with(&lives.place.mark()) == 0 {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Err("a process is left".to_owned())
}

fn no_lock_is_held(lives: &Lives) -> Result<(), String> {
    let home = lives.place.home();
    let work = lives.place.work();
    drop(WorkspaceLease::try_acquire(&home, &work, lives.session()).map_err(|error| error.to_string())?);
    LogWriter::open(&home, lives.session(), &mut |_| {}).map_err(|error| error.to_string())?;
    let pending = publish::pending(&home, &work).map_err(|error| error.to_string())?;
    ensure!(pending.is_none(), "a publication is pending: {pending:?}");
    Ok(())
}

/// How often each tag was asked for, and with which bytes.
fn asked(lives: &Lives) -> BTreeMap<String, Vec<String>> {
    let mut asked: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for request in lives.server.requests() {
        let tag = request.tag.clone().expect("every request has a tag");
        asked.entry(format!("{} {} {}", tag.intent, tag.node, tag.attempt)).or_default().push(request.body);
    }
    asked
}

/// What the log says of requests.
#[derive(Default)]
struct Asks {
    answered: BTreeMap<String, usize>,
    lost: BTreeMap<String, usize>,
    moved: BTreeSet<String>,
    charged: Spend,
}

fn log_is_right(lives: &Lives, reference: &Reference) -> Result<(), String> {
    let mut started: BTreeMap<EffectId, (Effect, String)> = BTreeMap::new();
    let mut ended: BTreeSet<EffectId> = BTreeSet::new();
    let mut asks = Asks::default();
    let mut wrong = Vec::new();
    let mut each = |event: &Event| match event {
        Event::EffectStarted { id, key, effect } => {
            let node = key.node.as_ref().map_or("-", |node| node.as_str());
            if started.insert(*id, (effect.clone(), node.to_owned())).is_some() {
                wrong.push(format!("{id} started twice"));
            }
        }
        Event::EffectEnded { id, outcome, .. } => {
            if !ended.insert(*id) {
                wrong.push(format!("{id} ended twice"));
            }
            match started.get(id) {
                Some((Effect::Ask { intent, attempt, estimate, .. }, node)) => {
                    asks.note(*intent, node, *attempt, *estimate, outcome);
                }
                Some((Effect::Publish { .. }, _)) => asks.tree_moved(),
                Some(_) => {}
                None => wrong.push(format!("{id} ended and never started")),
            }
        }
        _ => {}
    };
    let state = read(lives, &mut each);
    ensure!(wrong.is_empty(), "{}", wrong.join(", "));
    ensure!(started.len() == ended.len(), "{} effects have no end", started.len() - ended.len());
    asks.agree(&asked(lives), &state, reference)
}

fn read(lives: &Lives, each: &mut dyn FnMut(&Event)) -> SessionState {
    let home = lives.place.home();
    Follower::read(&home, lives.session(), &mut |_, event, _| each(event.unwrap())).unwrap()
}

impl Asks {
    fn note(&mut self, intent: Intent, node: &str, attempt: u32, estimate: Spend, outcome: &Ended) {
        let tag = format!("{} {node} {attempt}", intent.slug());
        match outcome {
            Ended::Answered { tokens_in, tokens_out, .. } => {
                *self.answered.entry(tag).or_default() += 1;
                let tokens = tokens_in.unwrap() + tokens_out.unwrap();
                self.charged = self.charged.plus(Spend::call(tokens, None));
            }
            Ended::Lost => {
                *self.lost.entry(tag).or_default() += 1;
                self.charged = self.charged.plus(estimate);
            }
            other => panic!("a request ended with {other:?}"),
        }
    }

    /// What was lost and is asked for once more shows another tree.
    fn tree_moved(&mut self) {
        let open = self.lost.keys().filter(|tag| !self.answered.contains_key(*tag));
        self.moved.extend(open.cloned());
    }

    /// An answer that was recorded is not asked for again; a lost call may be repeated, with the same bytes
    /// while the tree is the same, and its upper estimate is charged.
    fn agree(
        &self,
        asked: &BTreeMap<String, Vec<String>>,
        state: &SessionState,
        reference: &Reference,
    ) -> Result<(), String> {
        for (tag, bodies) in asked {
            let lost = self.lost.get(tag).copied().unwrap_or(0);
            let answered = self.answered.get(tag).copied().unwrap_or(0);
            ensure!(answered == 1, "{tag} has {answered} recorded answers");
            ensure!(bodies.len() <= 1 + lost, "{tag} was asked {} times, {lost} were lost", bodies.len());
            let same = bodies.iter().all(|body| *body == bodies[0]);
            ensure!(same || self.moved.contains(tag), "{tag} was asked with other bytes");
        }
        let tags: BTreeSet<String> = asked.keys().cloned().collect();
        ensure!(tags == reference.tags, "it asked for {tags:?}");
        let account = state.account.clone();
        ensure!(account.used == self.charged, "{:?} is charged, not {:?}", account.used, self.charged);
        ensure!(account.reserved == Spend::default(), "{:?} is still reserved", account.reserved);
        Ok(())
    }
}
