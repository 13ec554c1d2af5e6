//! Nothing that no tool read is called verified, and what is read is read once.

use perspt_testkit::server::Ask;
use serde_json::Value;

use crate::support::{Language, Ran, World, bundle, intent, plan_of, planned, solution, write};

const CRATE: &str =
    "[package]\nname = \"calc\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[features]\nextra = []\n";

/// The session of a model that writes these files at once.
pub fn writes(world: World, files: &[(&str, &str)], words: &[&str]) -> (World, Ran) {
    let artifacts: Vec<Value> = files.iter().map(|(path, text)| write(path, text)).collect();
    let paths: Vec<String> = files.iter().map(|(path, _)| (*path).to_owned()).collect();
    let world = world.serve(move |ask: &Ask| {
        if intent(ask).starts_with("architect") {
            plan_of(&paths.iter().map(String::as_str).collect::<Vec<_>>(), "code")
        } else {
            bundle(&artifacts)
        }
    });
    let all: Vec<&str> = ["agent", "-y"].iter().chain(words).chain(&["do it"]).copied().collect();
    let ran = world.perspt(&all);
    (world, ran)
}

fn rust_with(lib: &str) -> World {
    let world = World::empty();
    world.write("Cargo.toml", CRATE);
    world.write(".gitignore", "/target\nCargo.lock\n");
    world.write("src/lib.rs", lib);
    world.git();
    world
}

const LIB: &str = "pub fn one() -> u32 {\n    1\n}\n\n#[test]\nfn is_one() {\n    assert_eq!(one(), 1);\n}\n";

#[test]
fn code_behind_a_feature_that_is_off_is_checked_with_it() {
    let behind =
        |body: &str| format!("{LIB}\n#[cfg(feature = \"extra\")]\npub fn two() -> u32 {{\n    {body}\n}}\n");
    let (_, ran) = writes(rust_with(LIB), &[("src/lib.rs", &behind("nonsense"))], &[]);
    ran.expect(4).says("nonsense").never_says("COMMIT");
    let (_, ran) = writes(rust_with(LIB), &[("src/lib.rs", &behind("2"))], &[]);
    ran.expect(0)
        .says("evidence=build")
        .warns("built, no test runs it: src/lib.rs:10-13, cfg(feature = \"extra\")");
}

#[test]
fn code_for_another_platform_is_said_to_be_not_compiled_and_a_file_of_it_waits() {
    let inline = format!("{LIB}\n#[cfg(windows)]\npub fn two() -> u32 {{\n    nonsense\n}}\n");
    let (_, ran) = writes(rust_with(LIB), &[("src/lib.rs", &inline)], &[]);
    ran.expect(0).says("evidence=syntax").warns("not compiled here: src/lib.rs:10-13, cfg(windows)");
    let declared = format!("{LIB}\n#[cfg(windows)]\nmod win;\n");
    let files = [("src/lib.rs", declared.as_str()), ("src/win.rs", "pub fn two( {\n")];
    let (world, ran) = writes(rust_with(LIB), &files, &[]);
    ran.expect(7).says("consent=unmeasured:src/win.rs");
    let ran = world.perspt(&["resume", "-y", "--allow", "unmeasured"]).expect(0);
    ran.says("evidence=none").warns("no tool looked at it: src/win.rs");
}

#[test]
fn scripts_and_data_beside_a_project_are_parsed() {
    for (path, wrong, right, grade) in [
        ("tools/run.sh", "#!/bin/sh\nif then fi (\n", "#!/bin/sh\nif true; then echo; fi\n", "syntax"),
        ("package.json", "{\"name\": }\n", "{\"name\": \"x\"}\n", "data"),
        ("ci.yml", "on: [push\njobs: }\n", "on: [push]\n", "data"),
    ] {
        let (_, ran) = writes(World::python(), &[(path, wrong)], &[]);
        ran.expect(4).says(path).never_says("COMMIT");
        let (_, ran) = writes(World::python(), &[(path, right)], &[]);
        ran.expect(0).says(&format!("evidence={grade}"));
    }
    let (_, ran) = writes(World::python(), &[("web/app.js", "broken( ;;;\n")], &[]);
    ran.expect(7).says("consent=unmeasured:web/app.js").never_says("COMMIT");
}

#[test]
fn a_module_that_no_test_loads_is_said_and_can_be_required() {
    let geo = [("calc/geo.py", "def area(r):\n    return r * undefined_name\n")];
    let (_, ran) = writes(World::python(), &geo, &[]);
    ran.expect(0)
        .says("pytest=not-concerned")
        .says("evidence=syntax")
        .warns("syntax only, no test loads it: calc/geo.py");
    let (world, ran) = writes(World::python(), &geo, &["--require", "tests"]);
    ran.expect(6)
        .warns("less was proved than `--require tests` asks for")
        .warns("has the evidence `syntax`")
        .never_says("COMMIT");
    assert_eq!(world.server().asks(), 3, "it is told once");
    World::python()
        .perspt(&["agent", "-y", "--require", "magic", "do it"])
        .expect(2)
        .warns("tests, types, build");
}

/// Every run of the whole suite that the last session's log knows of; a planted test is run alone.
fn suite_runs(world: &World) -> usize {
    let outcomes = world.events_so_far().into_iter().map(|event| event["outcome"].clone());
    let outcomes = outcomes.filter(|outcome| outcome["ended"] != "new_tests_ran");
    let steps = outcomes.flat_map(|outcome| outcome["runs"].as_array().cloned().unwrap_or_default());
    steps
        .filter(|run| run["step"] == "test/run")
        .filter(|run| !run["command"].as_str().unwrap().contains("/test_planted"))
        .count()
}

#[test]
fn the_whole_suite_runs_once_before_and_once_after_and_is_not_run_again_over_the_same_tree() {
    let python = Language::Python;
    let world = World::of(python).serve(planned(python, move |_| solution(python)));
    world.agent("add a mul function").expect(0).says("CALIBRATE stage=test result=sees");
    assert_eq!(suite_runs(&world), 2);
    // The next session begins with what the last one measured.
    let (world, ran) = writes(world, &[("calc/__init__.py", &python.lib_with("b * a"))], &[]);
    ran.expect(0).says("BASELINE pytest=2-passed,0-failed,0-skipped reused");
    assert_eq!(suite_runs(&world), 1);
    // An existing test that changes is also run as it was.
    let changed = "from calc import add\n\n\ndef test_add():\n    assert add(2, 2) == 4\n";
    let (world, ran) = writes(world, &[("tests/test_calc.py", changed)], &["--allow", "tests:any"]);
    ran.expect(0).says("OLD-TESTS");
    assert_eq!(suite_runs(&world), 2);
}

#[test]
fn prose_alone_is_measured_by_nobody_unless_a_tool_reads_it() {
    let (world, ran) = writes(World::python(), &[("README.md", "# calc\n")], &[]);
    ran.expect(0).says("VERIFY structure=pass\n").says("evidence=prose");
    assert_eq!(suite_runs(&world), 1);
    let included = format!("#![doc = include_str!(\"../README.md\")]\n{LIB}");
    let world = rust_with(&included);
    world.write("README.md", "# calc\n");
    let (_, ran) = writes(world, &[("README.md", "# calc\n\n```\nassert_eq!(calc::one(), 2);\n```\n")], &[]);
    ran.expect(4).never_says("COMMIT");
}

/// A test of the project does not come to its end before there is a plan.
#[test]
fn the_plan_is_shown_before_the_tests_have_run() {
    let python = Language::Python;
    let mut world = World::of(python);
    let pipe = world.base().join("go");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0)
        .unwrap();
    let waits = format!("def test_waits():\n    assert open({:?}).read() == 'go'\n", pipe.to_string_lossy());
    world.write("tests/test_waits.py", &waits);
    world.git();
    world.set("PERSPT_STAGE_TIMEOUT_MS", "120000");
    let world = world.serve(planned(python, move |_| solution(python)));
    let running = world.spawn(&["agent", "-y", "add a mul function"]);
    while !world.events_so_far().iter().any(|event| event["kind"] == "plan_adopted") {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    std::thread::spawn(move || {
        // Opening waits for a reader; each run of the test is one.
        while let Ok(mut reader) = std::fs::OpenOptions::new().write(true).open(&pipe) {
            let _ = std::io::Write::write_all(&mut reader, b"go");
            drop(reader);
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    });
    let ran = running.wait().expect(0);
    let at = |line: &str| ran.out.find(line).unwrap_or_else(|| panic!("no {line} in {}", ran.out));
    assert!(at("\nPLAN ") < at("\nBASELINE pytest=") && at("\nBASELINE pytest=") < at("\nNODE "));
}

#[test]
fn it_is_shown_how_many_of_the_new_tests_fail_over_the_old_code() {
    let test = |name: &str, body: &str| format!("\n#[test]\nfn {name}() {{\n    assert_eq!({body});\n}}\n");
    let more = format!(
        "{}{}{}",
        LIB.replace("    1\n", "    3 - 2\n"),
        "\npub fn two() -> u32 {\n    2\n}\n",
        test("is_two", "two(), 2")
    );
    let (world, ran) = writes(rust_with(LIB), &[("src/lib.rs", &more)], &[]);
    ran.expect(0).says("NEW-TESTS added=1 fail_on_old_code=1");
    let commit = world.events_so_far().into_iter().find(|event| event["outcome"]["ended"] == "published");
    assert_eq!(commit.unwrap()["outcome"]["commit"]["new_tests"]["failed_before"], 1);
    let (_, ran) = writes(rust_with(LIB), &[("tests/old.rs", &test("is_one_too", "calc::one(), 1"))], &[]);
    ran.expect(0).says("NEW-TESTS added=1 fail_on_old_code=0");

    let both = "from calc import add, mul\n\n\ndef test_new():\n    assert mul(2, 3) == 6\n";
    let old = "from calc import add\n\n\ndef test_old():\n    assert add(2, 3) == 5\n";
    let code = Language::Python.lib_with("a * b");
    let skipped = "import calc\nimport pytest\n\n\n@pytest.mark.skipif(not hasattr(calc, 'mul'), reason='no')\n\
                   def test_c():\n    assert calc.add(1, 1) == 2\n";
    let files = [
        ("calc/__init__.py", code.as_str()),
        ("tests/test_a.py", both),
        ("tests/test_b.py", old),
        ("tests/test_c.py", skipped),
    ];
    let (_, ran) = writes(World::python(), &files, &[]);
    ran.expect(0).says("NEW-TESTS added=3 fail_on_old_code=1");
}

#[test]
fn a_root_of_another_language_that_reads_a_changed_file_looks_before_the_commit() {
    let lib = "pub const GREET: &str = include_str!(\"../py/greet.py\");\n\n#[test]\nfn says_hello() {\n    \
               assert!(GREET.contains(\"Hello\"));\n}\n";
    let mixed = || {
        let world = rust_with(lib);
        world.write("py/pyproject.toml", "[project]\nname = \"greet\"\nversion = \"0.1.0\"\n");
        world.write("py/greet.py", "def greet():\n    return 'Hello'\n");
        world.write("py/test_greet.py", "from greet import greet\n\n\ndef test_it():\n    assert greet()\n");
        world.git();
        world
    };
    let (_, ran) = writes(mixed(), &[("py/greet.py", "def greet():\n    return 'Hi'\n")], &[]);
    ran.expect(4).says("says_hello").never_says("COMMIT");
    let (_, ran) = writes(mixed(), &[("py/greet.py", "def greet():\n    return 'Hello you'\n")], &[]);
    ran.expect(0).says("cargo-test=pass");
}
