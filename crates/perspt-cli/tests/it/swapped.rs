//! Tools that the machine ends, or that somebody replaces, while a session runs.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::support::{Language, World, bundle, plan_of, planned, solution, write};

/// A folder for programs of the test's own, first on PATH, and the PATH behind it.
fn own_programs(world: &mut World) -> (PathBuf, String) {
    let folder = world.base().join("bin");
    fs::create_dir_all(&folder).unwrap();
    let path = world.get("PATH");
    world.set("PATH", &format!("{}:{path}", folder.display()));
    (folder, path)
}

fn script(folder: &Path, name: &str, body: &str) {
    let path = folder.join(name);
    fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn tool(language: Language) -> &'static str {
    if language == Language::Rust { "cargo" } else { "python3" }
}

/// The real program of that name, unless the words of the call hold this one: then something else happens.
fn unless(world: &mut World, language: Language, word: &str, then: &str) {
    let (folder, path) = own_programs(world);
    let name = tool(language);
    // A probe lies in a folder of its own and is let through.
    let body = format!(
        "case \"$PWD\" in */probe-*) ;; *) case \" $* \" in *\" {word} \"*) {then};; esac;; esac\n\
         PATH='{path}' exec {name} \"$@\""
    );
    script(&folder, name, &body);
}

/// Ends the first run of pytest over a tree of which this holds.
fn end_the_first(world: &mut World, holds: &str) {
    // Nothing that a confined process could write tells the first from the others.
    let pipe = world.base().join("first");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0)
        .unwrap();
    let then =
        format!("if {holds}; then read word < '{}'; [ $word = end ] && kill -9 $$; fi", pipe.display());
    unless(world, Language::Python, "--collect-only", &then);
    std::thread::spawn(move || {
        // Opening waits for a reader; one that is gone before it has read everything is no matter.
        let mut words = std::iter::once("end\n").chain(std::iter::repeat("go\n"));
        while let Ok(mut reader) = fs::OpenOptions::new().write(true).open(&pipe) {
            let _ = reader.write_all(words.next().unwrap_or_default().as_bytes());
        }
    });
}

#[test]
fn a_baseline_whose_tests_cannot_be_listed_is_none() {
    for (language, word) in [(Language::Rust, "--list"), (Language::Python, "--collect-only")] {
        let mut world = World::of(language).serve(planned(language, move |_| solution(language)));
        unless(&mut world, language, word, "kill -9 $$");
        let before = world.files();
        world.agent("add a mul function").expect(6).warns("signal 9").never_says("COMMIT");
        assert!(world.server().asks() <= 1, "no node is paid for");
        assert_eq!(world.files(), before);
    }
}

#[test]
fn a_baseline_that_the_machine_ends_once_is_taken_again_and_still_knows_every_test() {
    let task = "change the module";
    let skips = "import calc\nimport pytest\n\n\n@pytest.mark.skipif(getattr(calc, 'SKIP', False), reason='x')\n\
                 def test_add():\n    assert calc.add(2, 3) == 5\n\n\ndef test_true():\n    assert calc\n";
    let wrong = bundle(&[
        write("calc/__init__.py", "SKIP = True\n\n\ndef add(a, b):\n    return a - b\n"),
        write("tests/test_new.py", "from calc import add\n\n\ndef test_new():\n    assert add(3, 1) == 2\n"),
    ]);
    let mut world = World::python();
    world.write("tests/test_calc.py", skips);
    let plan = || plan_of(&["calc/__init__.py", "tests/test_new.py"], "unit_test");
    world = world.serve(move |ask: &perspt_testkit::server::Ask| {
        if crate::support::intent(ask).starts_with("architect") { plan() } else { wrong.clone() }
    });
    end_the_first(&mut world, "true");
    world.agent(task).expect(4).says("BASELINE pytest=2-passed").never_says("COMMIT");
}

#[test]
fn old_tests_that_the_machine_ends_once_are_run_again_and_blame_nobody() {
    let mut world = World::of(Language::Python);
    let tests = "from calc import add, mul\n\n\ndef test_add():\n    assert add(2, 2) == 4\n\n\ndef test_mul():\n    assert mul(2, 3) == 6\n";
    let files = ["calc/__init__.py", "tests/test_calc.py"];
    let answer = bundle(&[write(files[0], &Language::Python.lib_with("a * b")), write(files[1], tests)]);
    world = world.serve(move |ask: &perspt_testkit::server::Ask| {
        if crate::support::intent(ask).starts_with("architect") {
            plan_of(&files, "unit_test")
        } else {
            answer.clone()
        }
    });
    // The new code under the tests as they were.
    end_the_first(&mut world, "grep -q mul calc/__init__.py && ! grep -q mul tests/test_calc.py");
    let ran = world.perspt(&["agent", "-y", "--allow", "tests:any", "add a mul function, with a test"]);
    ran.expect(0).says("OLD-TESTS passed=1 failed=0").says("consents=tests:1");
    assert_eq!(world.server().asks(), 2);
}

#[test]
fn a_calibration_that_the_machine_ends_shows_nothing() {
    let mut world =
        World::of(Language::Python).serve(planned(Language::Python, |_| solution(Language::Python)));
    let then = "ls tests | grep -q planted && kill -9 $$";
    unless(&mut world, Language::Python, "--collect-only", then);
    world.agent("add a mul function").expect(6).warns("signal 9").never_says("stayed green");
}

#[test]
fn a_tool_that_breaks_while_the_model_writes_is_named_and_nobody_is_blamed() {
    for (language, body) in [(Language::Rust, "exit 0"), (Language::Python, "kill -9 $$")] {
        let mut world = World::of(language);
        let (folder, path) = own_programs(&mut world);
        let name = tool(language);
        let sound = format!("PATH='{path}' exec {name} \"$@\"");
        script(&folder, name, &sound);
        let place = folder.clone();
        let world = world.serve(planned(language, move |_| {
            script(&place, name, body);
            solution(language)
        }));
        let before = world.files();
        world
            .agent("add a mul function")
            .expect(6)
            .says("status=degraded")
            .warns("it worked when the session began")
            .never_says("ESCALATE");
        assert_eq!(world.files(), before);
        script(&folder, name, &sound);
        world.perspt(&["resume"]).expect(0).says("COMMIT node=mul");
        assert_eq!(world.server().asks(), 2, "nothing is bought twice");
    }
}

#[test]
fn what_listing_the_tests_leaves_behind_does_not_decide_their_run() {
    let twice = "import os\n\nPLACES = [os.path.dirname(__file__), os.environ['HOME'], os.environ['TMPDIR']]\n\
         STATES = [os.path.join(place, 'state.txt') for place in PLACES]\nSEEN = any(map(os.path.exists, STATES))\n\
         for state in STATES:\n    with open(state, 'w') as out:\n        out.write('seen')\n\n\n\
         def add(a, b):\n    return a + b\n\n\ndef mul(a, b):\n    return a * b if SEEN else 0\n";
    let test = "from calc import mul\n\n\ndef test_mul():\n    assert mul(4, 3) == 12\n";
    let answer = bundle(&[write("calc/__init__.py", twice), write("tests/test_mul.py", test)]);
    let world = World::of(Language::Python).serve(planned(Language::Python, move |_| answer.clone()));
    world.agent("add a mul function").expect(4).says("test_mul").never_says("COMMIT");
    assert!(!world.read("calc/__init__.py").contains("mul"));
}
