//! What the lines say of readings.

use perspt_testkit::server::Ask;

use crate::support::{Language, World, bundle, intent, plan_of, planned, solution, write};

/// A test that passes the first time it is run and never again: what it reads from a pipe says so, for nothing that a
/// confined process could write tells the first run from the others.
fn moody(world: &World) {
    let pipe = world.base().join("moods");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0)
        .unwrap();
    world.write(
        "tests/test_moody.py",
        &format!("def test_moody():\n    assert open({:?}).read() == 'good'\n", pipe.to_string_lossy()),
    );
    std::thread::spawn(move || {
        // Opening waits for a reader.
        let mut words = std::iter::once("good").chain(std::iter::repeat("bad"));
        while let Ok(mut reader) = std::fs::OpenOptions::new().write(true).open(&pipe) {
            let _ = std::io::Write::write_all(&mut reader, words.next().unwrap_or_default().as_bytes());
            drop(reader);
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    });
}

/// Only where a test that passed is red now is the tree before run once more.
#[test]
fn a_test_that_wavers_before_too_is_nobodys_fault_and_is_shown_again() {
    let world = World::python();
    moody(&world);
    world.git();
    let world = world.serve(planned(Language::Python, |_| solution(Language::Python)));
    let ran = world.agent("add a mul function").expect(0);
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
    let world = world.serve(planned(Language::Python, |_| solution(Language::Python)));
    world
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
