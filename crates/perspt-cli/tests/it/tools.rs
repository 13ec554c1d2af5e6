//! Tools that are missing, broken or never answer.

use std::os::unix::fs::PermissionsExt;

use crate::support::{Language, Ran, World, bundle, intent, planned, solution, write};

/// A folder of programs that comes first on PATH, or is all of it.
fn program(world: &World, name: &str, script: &str) {
    let folder = world.base().join("bin");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    std::fs::write(&path, script).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn first_on_path(world: &mut World) {
    let path = format!("{}:{}", world.base().join("bin").display(), world.get("PATH"));
    world.set("PATH", &path);
}

fn degraded(world: &World, tool: &str) -> Ran {
    let before = world.files();
    let ran = world.agent("add a mul function").expect(6).says("status=degraded").warns(tool).warns("do:");
    assert!(!ran.out.contains("COMMIT"));
    assert_eq!(world.files(), before);
    assert!(world.server().requests().len() <= 1, "no node is paid for before the tools work");
    ran
}

fn world(language: Language) -> World {
    World::of(language).serve(planned(language, move |_| solution(language)))
}

#[test]
fn missing_cargo_ends_with_6_and_names_it() {
    let mut world = world(Language::Rust);
    std::fs::create_dir(world.base().join("bin")).unwrap();
    let only = format!("{}:/usr/bin:/bin", world.base().join("bin").display());
    world.set("PATH", &only);
    degraded(&world, "cargo");
}

#[test]
fn broken_cargo_ends_with_6_and_names_it() {
    let mut world = world(Language::Rust);
    program(&world, "cargo", "#!/bin/sh\necho 'cargo 1.0.0'\nexit 0\n");
    first_on_path(&mut world);
    degraded(&world, "cargo");
}

#[test]
fn hanging_cargo_ends_with_6_and_names_it() {
    let mut world = world(Language::Rust);
    program(&world, "cargo", "#!/bin/sh\nexec sleep 1000\n");
    first_on_path(&mut world);
    world.set("PERSPT_PROBE_TIMEOUT_MS", "500");
    degraded(&world, "cargo");
}

#[test]
fn a_toolchain_that_the_project_asks_for_and_that_is_missing_ends_with_6() {
    let world = world(Language::Rust);
    world.write("rust-toolchain.toml", "[toolchain]\nchannel = \"1.2.3\"\n");
    degraded(&world, "toolchain '1.2.3");
}

#[test]
fn a_stage_that_breaks_over_a_planted_error_is_not_said_to_have_stayed_green() {
    let world = world(Language::Python);
    let picky = "def pytest_collection_modifyitems(items):\n    if len(items) > 1:\n        raise RuntimeError('one test is enough')\n";
    world.write("conftest.py", picky);
    let ran = world.agent("add a mul function").expect(6).says("result=unmeasured");
    assert!(!ran.err.contains("stayed green"), "{}", ran.err);
}

#[test]
fn a_build_script_that_does_not_say_what_it_reads_is_no_obstacle_where_there_is_no_lock_file() {
    let world = world(Language::Rust);
    world.write("build.rs", "fn main() {}\n");
    world.agent("add a mul function").expect(0).says("COMMIT node=mul");
}

/// A project with something to fetch, and a folder of cargo's own. Nothing is asked of the network: the dependency has
/// no source that could be reached.
fn with_a_dependency() -> (World, std::path::PathBuf) {
    let mut world = world(Language::Rust);
    let cache = world.base().join("cargo");
    world.set("CARGO_HOME", &cache.to_string_lossy());
    let manifest = std::fs::read_to_string(world.ws().join("Cargo.toml")).unwrap();
    let dependency = "[dependencies]\nx = { git = \"file:///nonexistent\" }\n";
    world.write("Cargo.toml", &format!("{manifest}{dependency}"));
    (world, cache)
}

#[test]
fn a_fetch_writes_packages_and_nothing_beside_them() {
    let (mut world, cache) = with_a_dependency();
    let path = world.get("PATH");
    let writes = "#!/bin/sh\ncase \"$*\" in *fetch*) : > \"$CARGO_HOME/registry/ran\"; : > \"$CARGO_HOME/credentials.toml\";; esac\n";
    program(&world, "cargo", &format!("{writes}PATH='{path}' exec cargo \"$@\"\n"));
    first_on_path(&mut world);
    world.agent("add a mul function");
    assert!(cache.join("registry/ran").exists(), "the fetch ran");
    assert!(!cache.join("credentials.toml").exists(), "it reached what is the user's");
}

#[test]
fn nothing_of_the_repository_runs_while_there_is_a_network() {
    let wrapper = |ws: &str| format!("[build]\nrustc-wrapper = \"{ws}/tools/bin/cargo\"\n");
    type Bring<'a> = &'a dyn Fn(&World, &str);
    let brings: [Bring<'_>; 2] = [
        &|world, ws| {
            world.write("elsewhere/config.toml", &wrapper(ws));
            std::os::unix::fs::symlink("elsewhere", world.ws().join(".cargo")).unwrap();
        },
        &|world, ws| {
            let text = format!("[toolchain]\npath = \"{ws}/tools\"\n");
            world.write("rust-toolchain.toml", &text);
        },
    ];
    for bring in brings {
        let (world, cache) = with_a_dependency();
        // Only the fetch may write there.
        world.write("tools/bin/cargo", "#!/bin/sh\n: > \"$CARGO_HOME/registry/ran\"\nexec \"$@\"\n");
        let program = world.ws().join("tools/bin/cargo");
        std::fs::set_permissions(program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let ws = world.ws().canonicalize().unwrap();
        bring(&world, &ws.to_string_lossy());
        world.agent("add a mul function");
        let fetched = serde_json::to_string(&world.outcomes("fetched")).unwrap();
        assert!(fetched.contains("cargo fetch"), "{fetched}");
        assert!(cache.join("registry").is_dir(), "what the fetch may write is there");
        assert!(!cache.join("registry/ran").exists(), "a program of the repository ran");
    }
}

#[test]
fn a_compiler_that_the_machine_kills_is_run_again() {
    let mut world = world(Language::Rust);
    let once = "#!/bin/sh\ncase \"$*\" in *\"--crate-name calc \"*)\n  if [ ! -e \"$TMPDIR/killed\" ]; then : > \"$TMPDIR/killed\"; kill -9 $$; fi;;\nesac\n";
    let path = world.get("PATH");
    program(&world, "rustc", &format!("{once}PATH='{path}' exec rustc \"$@\"\n"));
    first_on_path(&mut world);
    world.agent("add a mul function").expect(0).says("COMMIT node=mul");
    assert_eq!(world.server().asks(), 2, "the model is not blamed");
    let runs = serde_json::to_string(&world.outcomes("measured")).unwrap();
    assert!(runs.contains("exit code 101"), "{runs}");
}

/// A Python without pytest: an environment of its own.
fn bare_python(world: &World) {
    let made = crate::support::Ran::of(
        #[allow(clippy::disallowed_types, reason = "a test makes an environment")]
        std::process::Command::new("python3")
            .args(["-m", "venv", "--without-pip", ".venv"])
            .current_dir(world.ws())
            .output()
            .unwrap(),
    );
    made.expect(0);
    world.write(".gitignore", ".venv/\n");
}

#[test]
fn missing_pytest_ends_with_6_where_the_tests_need_it() {
    let world = world(Language::Python);
    bare_python(&world);
    degraded(&world, "pytest");
}

#[test]
fn an_environment_whose_interpreter_is_gone_ends_with_6_and_names_it() {
    let world = world(Language::Python);
    let bin = world.ws().join(".venv/bin");
    std::fs::create_dir_all(&bin).unwrap();
    world.write(".venv/pyvenv.cfg", "home = /nonexistent\n");
    world.write(".gitignore", ".venv/\n");
    std::os::unix::fs::symlink("/nonexistent/python3", bin.join("python")).unwrap();
    degraded(&world, ".venv/bin/python");
    std::fs::remove_file(bin.join("python")).unwrap();
    degraded(&world, ".venv/bin/python");
}

#[test]
fn where_pytest_is_missing_unittest_tests_are_run_by_our_own_runner() {
    let language = Language::Python;
    let world = World::of(language);
    world.write("tests/__init__.py", "");
    world.write("tests/test_calc.py", "import unittest\n\nfrom calc import add\n\n\nclass CalcTest(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(add(2, 3), 5)\n");
    bare_python(&world);
    world.git();
    let world = world.serve(planned(language, move |_| {
        bundle(&[
            write("calc/__init__.py", &language.lib_with("a * b")),
            write("tests/test_mul.py", "import unittest\n\nfrom calc import mul\n\n\nclass MulTest(unittest.TestCase):\n    def test_mul(self):\n        self.assertEqual(mul(4, 3), 12)\n"),
        ])
    }));
    world.agent("add a mul function").expect(0).says("unittest=pass(2-passed,0-failed)");
}

#[test]
fn where_pytest_is_missing_an_answer_with_tests_that_need_it_is_corrected() {
    let unit = "import unittest\n\nfrom calc import mul\n\n\nclass MulTest(unittest.TestCase):\n    def test_mul(self):\n        self.assertEqual(mul(4, 3), 12)\n";
    let world = World::python().serve(planned(Language::Python, move |ask| {
        if intent(ask) == "actuator.generate" {
            return solution(Language::Python);
        }
        assert!(ask.request.text().contains("tests/test_mul.py"), "the correction names the file");
        bundle(&[write("tests/test_mul.py", unit)])
    }));
    std::fs::remove_file(world.ws().join("tests/test_calc.py")).unwrap();
    world.write("tests/test_old.py", &unit.replace("mul", "add").replace("12", "7").replace("Mul", "Add"));
    bare_python(&world);
    world
        .agent("add a mul function")
        .expect(0)
        .says("RETRY class=correction")
        .says("unittest=pass(2-passed,0-failed)");
}

#[test]
fn broken_pytest_ends_with_6_and_names_it() {
    let world = world(Language::Python);
    bare_python(&world);
    fake_pytest(&world, "import sys\nsys.exit(0)\n");
    degraded(&world, "pytest");
}

#[test]
fn hanging_pytest_ends_with_6_and_names_it() {
    let mut world = world(Language::Python);
    bare_python(&world);
    fake_pytest(&world, "import time\ntime.sleep(1000)\n");
    world.set("PERSPT_PROBE_TIMEOUT_MS", "1500");
    degraded(&world, "pytest");
}

fn fake_pytest(world: &World, main: &str) {
    let lib = world.ws().join(".venv/lib");
    let version = std::fs::read_dir(&lib).unwrap().next().unwrap().unwrap().path();
    let folder = version.join("site-packages/pytest");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("__init__.py"), "__version__ = '9'\n").unwrap();
    std::fs::write(folder.join("__main__.py"), main).unwrap();
}

#[test]
fn a_missing_third_party_module_ends_with_6_and_names_it() {
    let world = World::python();
    world.write(
        "pyproject.toml",
        "[project]\nname = \"calc\"\nversion = \"0.1\"\ndependencies = [\"surely_not_installed_x\"]\n",
    );
    world.write("calc/__init__.py", "import surely_not_installed_x\n\n\ndef add(a, b):\n    return a + b\n");
    world.git();
    let world = world.serve(planned(Language::Python, |_| solution(Language::Python)));
    degraded(&world, "surely_not_installed_x");
}

#[test]
fn a_tool_that_was_mended_is_found_by_resume_and_nothing_is_bought_twice() {
    let mut world = world(Language::Python);
    bare_python(&world);
    fake_pytest(&world, "import sys\nsys.exit(0)\n");
    degraded(&world, "pytest");
    std::fs::remove_dir_all(world.ws().join(".venv")).unwrap();
    world.unset("PERSPT_PROBE_TIMEOUT_MS");
    world.perspt(&["resume"]).expect(0).says("COMMIT node=mul");
    assert_eq!(world.server().asks(), 2);
}
