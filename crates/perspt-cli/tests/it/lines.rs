//! What the lines say of readings.

use perspt_testkit::server::{Ask, Reply};

use crate::support::{World, bundle, intent, plan_of, write};

fn no_model(world: World) -> World {
    world.serve(|_: &Ask| Reply::status(401, "no"))
}

#[test]
fn a_baseline_whose_second_look_differs_is_shown_again() {
    let world = World::python();
    // It fails once the log knows of two readings: in the second look, after the syntax and the first one. Tests cannot
    // read perspt's own log, so it is copied for this one, which waits for a copy with the start of its own run.
    let copy = world.base().join("copy.jsonl");
    world.write(
        "tests/test_moody.py",
        &format!(
            "import pathlib\n\n\ndef test_moody():\n    log, text = pathlib.Path({copy:?}), ''\n    \
             while 'effect_started' not in text.rsplit('\\n', 2)[-2:][0]:\n        \
             text = log.read_text() if log.exists() else ''\n    \
             assert text.count('\"ended\":\"measured\"') < 2\n",
        ),
    );
    world.git();
    let world = no_model(world);
    let over = std::sync::atomic::AtomicBool::new(false);
    let ran = std::thread::scope(|scope| {
        scope.spawn(|| {
            let new = copy.with_extension("new");
            while !over.load(std::sync::atomic::Ordering::Relaxed) {
                let log =
                    world.sessions().pop().map(|id| world.home().join("sessions").join(id).join("log.jsonl"));
                if log.is_some_and(|log| std::fs::copy(log, &new).is_ok()) {
                    std::fs::rename(&new, &copy).unwrap();
                }
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
        });
        let ran = world.agent("add a mul function");
        over.store(true, std::sync::atomic::Ordering::Relaxed);
        ran
    });
    for line in [
        "\nBASELINE pytest=2-passed,0-failed,0-skipped\n",
        "\nBASELINE again pytest=1-passed,1-failed,0-skipped\n",
    ] {
        assert_eq!(ran.out.matches(line).count(), 1, "{}", ran.out);
    }
}

#[test]
fn tests_that_cannot_be_collected_are_counted_as_errors_and_the_first_is_named() {
    let world = World::python();
    world.write("tests/test_calc.py", "raise RuntimeError('no luck')\n");
    world.git();
    no_model(world)
        .agent("add a mul function")
        .says("BASELINE pytest=0-passed,0-failed,0-skipped,1-errors\n")
        .warns("note: pytest: ")
        .warns("note: tests fail already");
}

#[test]
fn inherited_findings_and_changed_tests_stand_in_the_lines() {
    let world = World::empty();
    world.write("Cargo.toml", "[workspace]\nmembers = [\"one\", \"two\"]\nresolver = \"2\"\n");
    world.write(".gitignore", "/target\n");
    for (name, wanted) in [("one", 1), ("two", 2)] {
        world.write(
            &format!("{name}/Cargo.toml"),
            &format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"),
        );
        world.write(&format!("{name}/src/lib.rs"), "pub fn value() -> u32 {\n    1\n}\n");
        world.write(
            &format!("{name}/tests/api.rs"),
            &format!("#[test]\nfn has_its_value() {{\n    assert_eq!({name}::value(), {wanted});\n}}\n"),
        );
    }
    world.git();
    let world = world.serve(|ask: &Ask| {
        if intent(ask).starts_with("architect") {
            return plan_of(&["one/src/lib.rs", "one/tests/api.rs"], "unit_test");
        }
        bundle(&[
            write("one/src/lib.rs", "pub fn value() -> u32 {\n    3\n}\n"),
            write("one/tests/api.rs", "#[test]\nfn has_its_value() {\n    assert_eq!(one::value(), 3);\n}\n"),
        ])
    });
    let ran = world
        .perspt(&["agent", "-y", "--allow", "tests:any", "make the value of one 3, and change its test"])
        .expect(0)
        .says("cargo-test=pass(1-passed,1-failed,1-inherited)");
    let summary = ran.out.lines().last().unwrap();
    assert!(summary.contains(" tests_changed=1 "), "{summary}");
}
