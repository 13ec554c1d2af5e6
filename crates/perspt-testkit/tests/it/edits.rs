//! The user works in the same folder meanwhile, and folders are not always tidy.

use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use perspt_core::effect::Effect;
use perspt_core::event::{Category, EscalateReason, Event, KeptPlace};
use perspt_core::ids::NodeId;
use perspt_core::outcome::Outcome;
use perspt_core::state::SessionState;
use perspt_store::RealDisk;
use perspt_testkit::disk::{Op, Watched};
use perspt_testkit::home::Shape;
use perspt_testkit::server::Table;
use perspt_testkit::session::Point;

use crate::support::{PROJECT, THREE, World, answers, bundle, delete, edit, one_node, rename, three, write};

fn outcome(state: &SessionState) -> Outcome {
    state.end.as_ref().unwrap().outcome
}

/// Does something before the first publications of a node, as often as told.
fn before_publishing(world: &mut World, times: usize, user: impl Fn(usize) + Send + Sync + 'static) {
    let count = AtomicUsize::new(0);
    world.rig.watch = Arc::new(move |point: &Point<'_>| {
        if point.before_publish("one") && count.load(Ordering::Relaxed) < times {
            user(count.fetch_add(1, Ordering::Relaxed));
        }
    });
}

#[test]
fn an_edit_of_a_file_the_node_owns_starts_a_new_generation_with_a_model_call() {
    let files = ["lib/two.toy", "tests/three.toy"];
    let answer = |two: &str| {
        bundle(&[
            write("lib/two.toy", two),
            write("tests/three.toy", "use lib/two\ntest three: three == 3\n"),
        ])
    };
    let table = answers(
        one_node(&files),
        &[
            ("actuator.generate", 1, answer("let two = 2\nlet three = 3\n")),
            ("actuator.generate", 2, answer("let two = 2\nlet extra = 7\nlet three = 3\n")),
        ],
    );
    let mut world = World::new(PROJECT, table);
    let file = world.place.work().join("lib/two.toy");
    before_publishing(&mut world, 1, move |_| std::fs::write(&file, "let two = 2\nlet extra = 7\n").unwrap());
    let state = world.begin();
    assert_eq!(outcome(&state), Outcome::Success);
    assert_eq!(world.moves(), 1);
    assert_eq!(state.nodes[&NodeId::from("one")].generation, 1);
    assert_eq!(
        world.tags(),
        ["architect.existing - 1", "actuator.generate one 1", "actuator.generate one 2"]
    );
    let asked = &world.server.requests()[2].body;
    assert!(asked.contains("let extra = 7"), "the model is shown what the user wrote");
    assert_eq!(world.place.read("lib/two.toy").unwrap(), "let two = 2\nlet extra = 7\nlet three = 3\n");
}

/// A file that the node does not change, also one that it was shown: the candidate is laid over it and measured.
#[test]
fn an_edit_of_another_file_rebuilds_the_node_without_a_model_call() {
    for (path, text) in [("NOTES.md", "my own notes\n"), ("main.toy", "use lib/two\n")] {
        let table = answers(one_node(THREE), &[("actuator.generate", 1, three("3"))]);
        let mut world = World::new(PROJECT, table);
        let file = world.place.work().join(path);
        before_publishing(&mut world, 1, move |_| std::fs::write(&file, text).unwrap());
        let state = world.begin();
        assert_eq!(outcome(&state), Outcome::Success);
        assert_eq!((world.moves(), world.server.asks()), (1, 2));
        assert_eq!(world.place.read(path).unwrap(), text);
        assert_eq!(world.place.read("lib/three.toy").unwrap(), "let three = 3\n");
    }
}

#[test]
fn an_edit_that_breaks_the_candidate_is_measured_and_told_to_the_model() {
    let mend = bundle(&[write("lib/three.toy", "let three = 3\nlet more = 1\n")]);
    let table = answers(one_node(THREE), &[("actuator.generate", 1, three("3")), ("correction", 1, mend)]);
    let mut world = World::new(PROJECT, table);
    let file = world.place.work().join("lib/late.toy");
    before_publishing(&mut world, 1, move |_| {
        std::fs::write(&file, "use lib/three\nlet late = more + three\n").unwrap();
    });
    assert_eq!(outcome(&world.begin()), Outcome::Success);
    assert_eq!(world.tags()[2], "correction one 1");
    assert!(world.place.read("lib/late.toy").is_some());
}

#[test]
fn a_file_the_user_deletes_stays_deleted() {
    let mut world = World::new(PROJECT, answers(one_node(THREE), &[("actuator.generate", 1, three("3"))]));
    let file = world.place.work().join("NOTES.md");
    before_publishing(&mut world, 1, move |_| std::fs::remove_file(&file).unwrap());
    assert_eq!(outcome(&world.begin()), Outcome::Success);
    assert_eq!(world.place.read("NOTES.md"), None);
    assert_eq!(world.server.asks(), 2);
}

#[test]
fn a_file_of_the_node_that_the_user_deletes_starts_a_new_generation() {
    let first = bundle(&[
        edit("lib/two.toy", "let two = 2\n", "let two = 2\nlet three = 3\n"),
        write("tests/three.toy", "use lib/two\ntest three: three == 3\n"),
    ]);
    let second = bundle(&[
        write("lib/two.toy", "let two = 2\nlet three = 3\n"),
        write("tests/three.toy", "use lib/two\ntest three: three == 3\n"),
    ]);
    let table = answers(
        one_node(&["lib/two.toy", "tests/three.toy"]),
        &[("actuator.generate", 1, first), ("actuator.generate", 2, second)],
    );
    let mut world = World::new(PROJECT, table);
    let file = world.place.work().join("lib/two.toy");
    before_publishing(&mut world, 1, move |_| std::fs::remove_file(&file).unwrap());
    assert_eq!(outcome(&world.begin()), Outcome::Success);
    assert_eq!(world.server.asks(), 3);
    assert_eq!(world.place.read("lib/two.toy").unwrap(), "let two = 2\nlet three = 3\n");
}

#[test]
fn a_node_whose_base_keeps_moving_is_rebuilt_three_times_and_then_given_up() {
    let mut world = World::new(PROJECT, answers(one_node(THREE), &[("actuator.generate", 1, three("3"))]));
    let file = world.place.work().join("NOTES.md");
    before_publishing(&mut world, 9, move |n| std::fs::write(&file, format!("edit {n}\n")).unwrap());
    let state = world.begin();
    assert_eq!(outcome(&state), Outcome::Failed);
    let certificate = world.certificate("one");
    assert_eq!(certificate.reason, EscalateReason::BaseKeptMoving);
    assert_eq!(certificate.category, Category::TopologyMismatch);
    assert_eq!((world.moves(), world.server.asks()), (4, 2));
    assert_eq!(world.place.read("NOTES.md").unwrap(), "edit 3\n");
    assert_eq!(world.place.read("lib/three.toy"), None);
}

#[test]
fn an_edit_while_the_project_is_first_measured_is_what_is_worked_on() {
    let mut world = World::new(PROJECT, answers(one_node(THREE), &[("actuator.generate", 1, three("3"))]));
    let work = world.place.work();
    let once = AtomicUsize::new(0);
    world.rig.watch = Arc::new(move |point: &Point<'_>| {
        let measuring = matches!(point, Point::BeforeAct(wanted)
            if matches!(wanted.effect, perspt_core::effect::Effect::Measure { .. }));
        if measuring && once.fetch_add(1, Ordering::Relaxed) == 0 {
            std::fs::write(work.join("lib/two.toy"), "let two = 1 + 1\n").unwrap();
        }
    });
    assert_eq!(outcome(&world.begin()), Outcome::Success);
    assert_eq!(world.place.read("lib/two.toy").unwrap(), "let two = 1 + 1\n");
}

#[test]
fn links_are_kept_as_they_are_and_never_written_through() {
    let through = bundle(&[
        write("alias/three.toy", "let three = 3\n"),
        write("tests/three.toy", "use lib/three\ntest three: three == 3\n"),
    ]);
    let files = ["lib/three.toy", "tests/three.toy"];
    let table = answers(one_node(&files), &[("actuator.generate", 1, through), ("retarget", 1, three("3"))]);
    let world = World::new(PROJECT, table);
    let work = world.place.work();
    std::os::unix::fs::symlink("lib", work.join("alias")).unwrap();
    std::os::unix::fs::symlink("/nowhere/at/all", work.join("dangling")).unwrap();
    assert_eq!(outcome(&world.begin()), Outcome::Success);
    assert_eq!(world.tags()[2], "retarget one 1");
    let picture = world.place.picture();
    assert_eq!(picture.0["alias"], Shape::Link("lib".into()));
    assert_eq!(picture.0["dangling"], Shape::Link("/nowhere/at/all".into()));
    assert_eq!(world.place.read("lib/three.toy").unwrap(), "let three = 3\n");
}

#[test]
fn names_in_any_script_are_written_moved_and_deleted() {
    let files = ["lib/größe.toy", "lib/数.toy", "tests/größe.toy", "lib/alt ä.toy"];
    let answer = bundle(&[
        write("lib/größe.toy", "let größe = 3\n"),
        write("tests/größe.toy", "use lib/größe\ntest größe: größe == 3\n"),
        rename("lib/alt ä.toy", "lib/数.toy"),
    ]);
    let world = World::new(PROJECT, answers(one_node(&files), &[("actuator.generate", 1, answer)]));
    world.place.write("lib/alt ä.toy", "let alt = 1\n");
    assert_eq!(outcome(&world.begin()), Outcome::Success);
    assert_eq!(world.place.read("lib/größe.toy").unwrap(), "let größe = 3\n");
    assert_eq!(world.place.read("lib/数.toy").unwrap(), "let alt = 1\n");
    assert_eq!(world.place.read("lib/alt ä.toy"), None);
}

#[test]
fn a_file_with_crlf_keeps_it_when_it_is_edited() {
    let answer = bundle(&[
        edit("lib/two.toy", "let two = 2\nlet end = 0", "let two = 2\nlet three = 3\nlet end = 0"),
        write("tests/three.toy", "use lib/two\ntest three: three == 3\n"),
    ]);
    let files = ["lib/two.toy", "tests/three.toy"];
    let world = World::new(PROJECT, answers(one_node(&files), &[("actuator.generate", 1, answer)]));
    world.place.write("lib/two.toy", "let two = 2\r\nlet end = 0\r\n");
    assert_eq!(outcome(&world.begin()), Outcome::Success);
    let two = world.place.read("lib/two.toy").unwrap();
    assert_eq!(two, "let two = 2\r\nlet three = 3\r\nlet end = 0\r\n");
}

#[test]
fn an_edit_that_fits_two_places_is_asked_again() {
    let adding = |find: &str, replace: &str| {
        bundle(&[
            edit("lib/two.toy", find, replace),
            write("tests/three.toy", "use lib/two\ntest three: three == 3\n"),
        ])
    };
    let table = answers(
        one_node(&["lib/two.toy", "tests/three.toy"]),
        &[
            // Two empty lines in three line ends: the places overlap.
            ("actuator.generate", 1, adding("\n\n", "\nlet three = 3\n\n")),
            ("retarget", 1, adding("let two = 2\n", "let two = 2\nlet three = 3\n")),
        ],
    );
    let world = World::new(PROJECT, table);
    world.place.write("lib/two.toy", "let two = 2\n\n\nlet end = 0\n");
    assert_eq!(outcome(&world.begin()), Outcome::Success);
    assert_eq!(world.place.read("lib/two.toy").unwrap(), "let two = 2\nlet three = 3\n\n\nlet end = 0\n");
    assert!(
        world.server.requests()[2].json().to_string().contains("occurs 2 times"),
        "the model is told why"
    );
}

#[test]
fn a_dirty_work_tree_is_worked_on_as_it_is_and_git_is_left_alone() {
    let answer = bundle(&[
        write("lib/three.toy", "let three = 3\n"),
        write("tests/three.toy", "use lib/three\ntest three: three == 3\n"),
        delete("lib/stray.toy"),
    ]);
    let files = ["lib/three.toy", "tests/three.toy", "lib/stray.toy"];
    let world = World::new(PROJECT, answers(one_node(&files), &[("actuator.generate", 1, answer)]));
    git(&world, &["init", "-q"]);
    git(&world, &["add", "."]);
    git(&world, &["-c", "user.name=u", "-c", "user.email=u@u", "commit", "-q", "-m", "first"]);
    world.place.write("lib/two.toy", "let two = 3 - 1\n");
    world.place.write("lib/stray.toy", "let stray = 0\n");
    world.place.write(".gitignore", "ignored/\n");
    world.place.write("ignored/cache.toy", "this is no toy at all\n");
    let inside = |world: &World| {
        let mut picture = world.place.picture();
        picture.0.retain(|path, _| path.starts_with(".git/") || path.starts_with("ignored/"));
        picture
    };
    let before = inside(&world);
    assert!(before.0.contains_key("ignored/cache.toy") && before.0.contains_key(".git/HEAD"));
    assert_eq!(outcome(&world.begin()), Outcome::Success);
    assert_eq!(inside(&world), before);
    assert_eq!(world.place.read("lib/two.toy").unwrap(), "let two = 3 - 1\n");
    assert_eq!(world.place.read("lib/stray.toy"), None);
}

// Git is the user's own tool here.
#[allow(clippy::disallowed_types)]
fn git(world: &World, arguments: &[&str]) {
    let done = std::process::Command::new("git")
        .args(arguments)
        .current_dir(world.place.work())
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("HOME", world.place.root())
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// The bytes that the log says were kept, by path.
fn kept(world: &World) -> Vec<(String, Vec<u8>)> {
    let blobs = world.rig.home.blobs(world.rig.id()).unwrap();
    let events = world.rig.events().into_iter();
    events
        .filter_map(|(_, event)| match event {
            Event::BytesKept { path, place: KeptPlace::Blob(blob) } => {
                Some((path.to_string(), blobs.get(blob).unwrap()))
            }
            _ => None,
        })
        .collect()
}

fn two_and_three() -> Table {
    let answer = bundle(&[
        write("lib/two.toy", "let two = 2\nlet three = 3\n"),
        write("tests/three.toy", "use lib/two\ntest three: three == 3\n"),
    ]);
    let both = [("actuator.generate", 1, answer.clone()), ("actuator.generate", 2, answer)];
    answers(one_node(&["lib/two.toy", "tests/three.toy"]), &both)
}

#[test]
fn what_a_program_writes_to_a_file_it_holds_open_while_it_is_replaced_is_kept_and_told() {
    let mut world = World::new(PROJECT, two_and_three());
    let file = world.place.work().join("lib/two.toy");
    let held = Mutex::new(None);
    world.rig.watch = Arc::new(move |point: &Point<'_>| match point {
        Point::BeforeAct(wanted) if matches!(wanted.effect, Effect::Publish { .. }) => {
            *held.lock().unwrap() = Some(std::fs::File::options().append(true).open(&file).unwrap());
        }
        Point::BeforeTold(Event::EffectEnded { .. }) => {
            let held = held.lock().unwrap().take();
            held.unwrap().write_all(b"written late\n").unwrap();
        }
        _ => {}
    });
    assert_eq!(outcome(&world.begin()), Outcome::Success);
    let kept = kept(&world);
    assert_eq!(kept.len(), 1);
    assert_eq!(kept[0].0, "lib/two.toy");
    assert!(kept[0].1.ends_with(b"written late\n"));
}

#[test]
fn an_edit_that_a_newer_one_drives_out_while_a_publication_is_taken_back_is_kept_and_told() {
    let mut told = 0;
    for second in 1..=12 {
        let mut world = World::new(PROJECT, two_and_three());
        let disk = Watched::new(Arc::new(RealDisk), &[]);
        let file = world.place.work().join("lib/two.toy");
        let mut since = None;
        disk.before_each(move |call| {
            if call.op == Op::Exchange && call.path.ends_with("lib/two.toy") && since.is_none() {
                std::fs::write(&file, "let two = 2\nlet older = 1\n").unwrap();
                since = Some(call.number);
            }
            if since.is_some_and(|first| call.number == first + second) {
                std::fs::write(file.with_extension("new"), "let two = 2\nlet newer = 1\n").unwrap();
                std::fs::rename(file.with_extension("new"), &file).unwrap();
            }
        });
        world.rig.home = world.place.home_on(Arc::new(disk));
        let _ = world.rig.begin().unwrap();
        for (path, bytes) in kept(&world) {
            assert_eq!(
                (path.as_str(), bytes.as_slice()),
                ("lib/two.toy", &b"let two = 2\nlet older = 1\n"[..])
            );
            told += 1;
        }
    }
    assert!(told > 0, "no edit came between an exchange and its undoing");
}
