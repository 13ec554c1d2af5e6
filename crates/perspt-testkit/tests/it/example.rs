//! `docs/example-session.jsonl`: the log of a session of two nodes with one correction, as the program writes it.
//!
//! To write it anew after a change that is meant: `PERSPT_BLESS=1 cargo test -p perspt-testkit example`.

use std::path::Path;

use perspt_core::event::{Ended, Event, RunNote, SCHEMA};
use perspt_core::outcome::Outcome;
use perspt_store::LogWriter;
use perspt_testkit::home::Place;
use perspt_testkit::server::{Reply, Table};

use crate::support::{World, bundle, plan, task, three, write};

const TOYC: &str = env!("CARGO_BIN_EXE_toyc");

fn session() -> World {
    let tasks = [
        task("three", &["lib/three.toy", "tests/three.toy"], &[]),
        task("four", &["lib/four.toy", "tests/four.toy"], &["three"]),
    ];
    let four = [
        write("lib/four.toy", "use lib/three\nlet four = three + 1\n"),
        write("tests/four.toy", "use lib/four\ntest four: four == 4\n"),
    ];
    let table = Table::new()
        .on("architect.existing", "-", 1, Reply::text(plan(&tasks)))
        .on("actuator.generate", "three", 1, Reply::text(three("4")))
        .on("correction", "three", 1, Reply::text(bundle(&[write("lib/three.toy", "let three = 3\n")])))
        .on("actuator.generate", "four", 1, Reply::text(bundle(&four)));
    let files = [
        ("toy.mod", ""),
        ("lib/two.toy", "let two = 2\n"),
        ("tests/two.toy", "use lib/two\ntest two_is_two: two == 2\n"),
    ];
    let mut world = World::new(&files, table);
    world.rig.started.task = "add three and four, with tests".to_owned();
    world
}

/// What differs from machine to machine and run to run, and only that: the workspace's path, where the compiler
/// lies, how long something took, which confinement there was.
fn as_on_any_machine(mut event: Event) -> Event {
    let note = |run: &mut RunNote| {
        run.command = run.command.replace(TOYC, "toyc");
        run.confinement = "full".to_owned();
        run.ms = 1;
        run.output = None;
    };
    match &mut event {
        Event::SessionStarted(started) => started.workspace = "/home/user/project".to_owned(),
        Event::EffectEnded { outcome, .. } => match outcome {
            Ended::Probed { confinement, runs, .. } => {
                *confinement = "full".to_owned();
                runs.iter_mut().for_each(note);
            }
            Ended::Fetched { runs }
            | Ended::LaidOut { runs, .. }
            | Ended::Measured { runs, .. }
            | Ended::NewTestsRan { runs, .. }
            | Ended::Calibrated { runs, .. } => runs.iter_mut().for_each(note),
            Ended::Answered { first_token_ms, latency_ms, .. } => (*first_token_ms, *latency_ms) = (1, 2),
            _ => {}
        },
        _ => {}
    }
    event
}

#[test]
fn the_example_session_is_what_the_program_writes() {
    let world = session();
    assert_eq!(world.begin().end.unwrap().outcome, Outcome::Success);
    let copy = Place::new();
    let mut log = LogWriter::create(&copy.home(), world.rig.id()).unwrap();
    for (at, event) in world.rig.events() {
        log.append(at, SCHEMA, &as_on_any_machine(event)).unwrap();
    }
    let written = std::fs::read_to_string(log.path()).unwrap();
    let kept_at = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/example-session.jsonl");
    if std::env::var_os("PERSPT_BLESS").is_some() {
        std::fs::write(&kept_at, &written).unwrap();
    }
    let kept = std::fs::read_to_string(&kept_at).unwrap_or_default();
    let differs = kept.lines().zip(written.lines()).find(|(kept, written)| kept != written);
    assert!(differs.is_none(), "{differs:#?}\nif this is meant, run again with PERSPT_BLESS=1");
    assert_eq!(kept.len(), written.len(), "if this is meant, run again with PERSPT_BLESS=1");
}
