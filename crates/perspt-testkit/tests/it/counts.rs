//! What things cost, in numbers that do not depend on the machine. The derivation stands beside each.

use std::collections::BTreeSet;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use perspt_agent::ports::Interrupt;
use perspt_core::effect::Effect;
use perspt_core::event::{Ended, Event};
use perspt_core::ids::NodeId;
use perspt_core::outcome::{EndReason, Outcome};
use perspt_core::reading::StageKind;
use perspt_store::RealDisk;
use perspt_testkit::disk::{Call, Op, Watched};
use perspt_testkit::session::Point;
use rustix::fs::inotify;

use crate::support::{
    PROJECT, THREE, World, answers, bundle, code_node, delete, one_node, rename, three, write,
};

/// Syncs by what they make durable.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Syncs {
    /// The log.
    log: u64,
    /// Blobs: one for the bytes and one for the name, only the latter for one that is already there.
    blobs: u64,
    /// The journal of a publication: its bytes, its name, its removal.
    journal: u64,
    /// The workspace: each new content, each folder in which an entry changes.
    work: u64,
}

impl Syncs {
    fn note(&mut self, call: &Call) {
        if !call.op.syncs() {
            return;
        }
        let count = match call.path.as_str() {
            path if path.ends_with("/log.jsonl") => &mut self.log,
            path if path.contains("/blobs/") || path.contains("/texts/") => &mut self.blobs,
            path if path.contains("/home/workspaces/") => &mut self.journal,
            path if path.contains("/work/") => &mut self.work,
            path => panic!("{path} is synced, too"),
        };
        *count += 1;
    }
}

/// Counts the syncs from a node's first prompt to the end of its publication.
fn syncs_of_node(world: &mut World) -> Syncs {
    let syncs = Arc::new(Mutex::new(Syncs::default()));
    let disk = Watched::new(Arc::new(RealDisk), &[]);
    let counted = syncs.clone();
    // What comes before the node syncs other folders too; it is not looked at.
    let open = Arc::new(Mutex::new(false));
    let looked = open.clone();
    disk.before_each(move |call| {
        if *looked.lock().unwrap() {
            counted.lock().unwrap().note(call);
        }
    });
    world.rig.home = world.place.home_on(Arc::new(disk));
    world.rig.watch = Arc::new(move |point: &Point<'_>| match point {
        Point::BeforeAppend(Event::EffectStarted { key, effect: Effect::Assemble { .. }, .. })
            if key.node.is_some() =>
        {
            *open.lock().unwrap() = true;
        }
        Point::AfterTold(Event::EffectEnded { .. }) => *open.lock().unwrap() = false,
        _ => {}
    });
    assert_eq!(world.begin().end.unwrap().outcome, Outcome::Success);
    *syncs.lock().unwrap()
}

/// | syncs | for |
/// |---|---|
/// | log 21 | a start and an end for each of assemble, ask, parse, lay out, structure, build, test, judge, new tests over the old code, publish; one verdict |
/// | blobs 31 | two each for prompt, answer, two new files, changes, four readings, four outputs of commands, the judgement, the new tree's list; one for the changes that laying out finds unchanged |
/// | journal 3 | its bytes, its name, its removal |
/// | work 4 | two new files, two folders that get an entry |
#[test]
fn a_node_that_is_right_at_once_costs_these_syncs() {
    let mut world = World::new(PROJECT, answers(one_node(THREE), &[("actuator.generate", 1, three("3"))]));
    assert_eq!(syncs_of_node(&mut world), Syncs { log: 21, blobs: 31, journal: 3, work: 4 });
}

/// Replaced and deleted files leave an old content behind, which goes once the commit is in the log.
///
/// | syncs | for |
/// |---|---|
/// | log 19 | as above, without new tests |
/// | blobs 33 | two each for prompt, the three files as they were, answer, the replaced file's new bytes, changes, three readings, two outputs of commands, the judgement, the new tree's list; one each for the moved file's bytes, the three old contents and the laid out changes, which are there already |
/// | journal 3 | as above |
/// | work 4 | two contents under new names or in the place of old ones, their one folder, and again when the old contents go |
#[test]
fn a_node_that_replaces_moves_and_deletes_costs_these_syncs() {
    let answer = bundle(&[
        write("lib/two.toy", "let two = 1 + 1\n"),
        rename("lib/old.toy", "lib/new.toy"),
        delete("lib/gone.toy"),
    ]);
    let files = ["lib/two.toy", "lib/old.toy", "lib/new.toy", "lib/gone.toy"];
    let mut world = World::new(PROJECT, answers(code_node(&files), &[("actuator.generate", 1, answer)]));
    world.place.write("lib/old.toy", "let old = 1\n");
    world.place.write("lib/gone.toy", "let gone = 0\n");
    assert_eq!(syncs_of_node(&mut world), Syncs { log: 19, blobs: 33, journal: 3, work: 4 });
}

/// To the node above a correction adds: log 17 (a start and an end for each of assemble, ask, parse, lay out, three
/// stages and judge; one verdict) and blobs 21 (two each for prompt, answer, the new file, changes, three readings, the
/// judgement and two outputs that were not there before; one for the changes that laying out finds unchanged).
#[test]
fn a_correction_adds_these_syncs() {
    let right = bundle(&[write("lib/three.toy", "let three = 3\n")]);
    let table = answers(one_node(THREE), &[("actuator.generate", 1, three("4")), ("correction", 1, right)]);
    let mut world = World::new(PROJECT, table);
    assert_eq!(syncs_of_node(&mut world), Syncs { log: 21 + 17, blobs: 31 + 21, journal: 3, work: 4 });
}

/// The processes of each kind of effect, in order.
fn processes(world: &World) -> Vec<(String, usize)> {
    let outcomes = world.outcomes().into_iter();
    outcomes
        .filter_map(|(effect, outcome)| {
            let runs = match &outcome {
                Ended::Fetched { runs }
                | Ended::LaidOut { runs, .. }
                | Ended::Measured { runs, .. }
                | Ended::Calibrated { runs, .. } => runs.len(),
                _ => return None,
            };
            let name = match &effect {
                Effect::Measure { stage, .. } => format!("measure {}", stage.kind.as_str()),
                Effect::Calibrate { stage, .. } => format!("calibrate {}", stage.kind.as_str()),
                Effect::LayOut { .. } => "lay out".to_owned(),
                other => format!("{:?}", other.kind()),
            };
            Some((name, runs))
        })
        .collect()
}

/// One request for the plan, one for each answer. An attempt is four processes: one that settles the lock file,
/// one that checks, one that lists tests and one that runs them. Before the first answer the baseline takes three
/// and calibration three: a check with an error planted, and a list and a run with a failing test planted.
#[test]
fn a_session_costs_these_processes_and_model_calls() {
    let right = bundle(&[write("lib/three.toy", "let three = 3\n")]);
    let table = answers(one_node(THREE), &[("actuator.generate", 1, three("4")), ("correction", 1, right)]);
    let world = World::new(PROJECT, table);
    assert_eq!(world.begin().end.unwrap().outcome, Outcome::Success);
    let attempt = [("lay out", 1), ("measure structure", 0), ("measure build", 1), ("measure test", 2)];
    let before = [
        ("Fetch", 0),
        ("measure build", 1),
        ("measure test", 2),
        ("calibrate build", 1),
        ("calibrate test", 2),
    ];
    let all = before.into_iter().chain(attempt).chain(attempt);
    let all: Vec<(String, usize)> = all.map(|(name, count)| (name.to_owned(), count)).collect();
    assert_eq!((processes(&world), world.server.asks()), (all, 3));
}

/// Tells of files that are opened below a folder.
struct Opens {
    inotify: OwnedFd,
}

impl Opens {
    fn below(root: &Path) -> Opens {
        let inotify = inotify::init(inotify::CreateFlags::NONBLOCK | inotify::CreateFlags::CLOEXEC).unwrap();
        let mut folders = vec![root.to_owned()];
        while let Some(folder) = folders.pop() {
            inotify::add_watch(&inotify, &folder, inotify::WatchFlags::OPEN).unwrap();
            let entries = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
            folders.extend(entries.filter(|path| path.is_dir()));
        }
        let opens = Opens { inotify };
        opens.names();
        opens
    }

    /// The names of files that were opened since it was asked last.
    fn names(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(&self.inotify, &mut buffer);
        while let Ok(event) = reader.next() {
            let folder = event.events().contains(inotify::ReadFlags::ISDIR);
            if let (Some(name), false) = (event.file_name(), folder) {
                names.insert(name.to_string_lossy().into_owned());
            }
        }
        names
    }
}

/// A file that was changed in the last two seconds may change again with the same time, so it is always read.
fn let_files_age(world: &World) {
    loop {
        let ages = PROJECT.iter().map(|(path, _)| {
            let changed = world.place.work().join(path).metadata().unwrap().modified().unwrap();
            SystemTime::now().duration_since(changed).unwrap_or_default()
        });
        if ages.min().unwrap() > Duration::from_millis(2500) {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The session stops when all is measured, so what is left is to judge and to publish. The log is read once from front to
/// back: one read for each 64 KiB begun, and one that finds the end. Of the workspace no file is hashed to know what is
/// there, their stamps are known. Opened are the new contents that wait beside their places, and what the judge asks
/// the language for: toy looks for tests in its sources in order and finds the first in the node's own test file, so two
/// sources come before it.
#[test]
fn a_resume_reads_each_event_once_and_no_file_that_has_not_changed() {
    let mut world = World::new(PROJECT, answers(one_node(THREE), &[("actuator.generate", 1, three("3"))]));
    let_files_age(&world);
    let stops = world.rig.stops.clone();
    world.rig.watch = Arc::new(move |point: &Point<'_>| {
        if let Point::DuringAct(running) = point
            && running.key.node == Some(NodeId::from("one"))
            && matches!(&running.effect, Effect::Measure { stage, .. } if stage.kind == StageKind::Test)
        {
            stops.ask(Interrupt::Signal);
        }
    });
    assert_eq!(world.begin().end.unwrap().reason, EndReason::Paused);
    // The session's start; a start and an end for each of seven effects before the node, four for the plan and seven for
    // the node; the node's proposal, the plan's adoption, the request to pause, the end.
    assert_eq!(world.rig.events().len(), 41);
    let log = std::fs::metadata(world.rig.home.session_dir(world.rig.id()).join("log.jsonl")).unwrap().len();
    let reads = Arc::new(Mutex::new(0));
    let disk = Watched::new(Arc::new(RealDisk), &[]);
    let counted = reads.clone();
    disk.before_each(move |call| {
        if call.op == Op::Read && call.path.ends_with("/log.jsonl") {
            *counted.lock().unwrap() += 1;
        }
    });
    world.rig.home = world.place.home_on(Arc::new(disk));
    world.rig.watch = Arc::new(|_: &Point<'_>| {});
    let opens = Opens::below(&world.place.work());
    assert_eq!(world.resume().end.unwrap().outcome, Outcome::Success);
    assert_eq!(*reads.lock().unwrap(), log.div_ceil(64 * 1024) + 1);
    let opened = opens.names();
    let (new, old): (Vec<String>, Vec<String>) =
        opened.into_iter().partition(|name| name.starts_with(".perspt-"));
    assert_eq!((new.len(), old), (2, vec!["main.toy".to_owned(), "two.toy".to_owned()]));
}
