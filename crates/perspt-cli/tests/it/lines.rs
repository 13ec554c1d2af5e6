//! What the lines say of readings.

use perspt_testkit::server::{Ask, Reply};

use crate::support::{World, bundle, intent, plan_of, write};

fn no_model(world: World) -> World {
    world.serve(|_: &Ask| Reply::status(401, "no"))
}

#[test]
fn a_baseline_whose_second_look_differs_is_shown_again() {
    let world = World::python();
    // It fails once the log knows of two readings: in the second look, after the syntax and the first one.
    world.write(
        "tests/test_moody.py",
        &format!(
            "import pathlib\n\n\ndef test_moody():\n    logs = pathlib.Path({:?}).glob('sessions/*/log.jsonl')\n    \
             assert sum(log.read_text().count('\"ended\":\"measured\"') for log in logs) < 2\n",
            world.home()
        ),
    );
    world.git();
    let ran = no_model(world).agent("add a mul function");
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
