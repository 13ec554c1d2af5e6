//! Real Python: what the plugin makes of its output.

use std::process::Command;

use perspt_core::reading::{StageKind, Status, TestEnd};
use perspt_core::residual::{Component, Milli};
use perspt_core::stage::StepEnd;
use perspt_lang::plugin::{Files, Machine, Selection, ToolState, Tools};
use perspt_lang::{Plugin, plugin};

use crate::support::{Map, Slot, classes, ends, energy, path, stage, terms, working};

fn python() -> &'static dyn Plugin {
    plugin("python").unwrap()
}

const PROJECT: (&str, &str) = ("pyproject.toml", "[project]\nname = \"demo\"\nversion = \"0.1\"\n");
const DEMO: (&str, &str) = ("src/demo/__init__.py", "def add(a, b):\n    return a + b\n");

fn project(files: &[(&str, &str)]) -> Map {
    let all: Vec<(&str, &str)> = [PROJECT, DEMO].into_iter().chain(files.iter().copied()).collect();
    Map::of(&all)
}

fn with_python(program: &str) -> Machine {
    Machine { programs: [("python3".to_owned(), program.to_owned())].into(), ..Machine::default() }
}

/// An interpreter without pytest.
fn bare_python(folder: &tempfile::TempDir) -> Machine {
    let venv = folder.path().join("venv");
    let made = Command::new("python3").args(["-m", "venv", "--without-pip"]).arg(&venv).status().unwrap();
    assert!(made.success());
    with_python(venv.join("bin/python").to_str().unwrap())
}

fn without_pytest() -> Tools {
    let mut tools = working();
    let missing =
        ToolState::Missing { why: "No module named pytest".to_owned(), install: "install it".to_owned() };
    tools.insert("pytest".to_owned(), missing);
    tools
}

const UNIT: &str = "import unittest\nfrom demo import add\n\nclass T(unittest.TestCase):\n    def test_right(self):\n        \
                    self.assertEqual(add(1, 1), 2)\n    def test_wrong(self):\n        self.assertEqual(add(1, 1), 3)\n";

#[test]
fn a_clean_tree_is_green_in_both_stages() {
    let files = project(&[(
        "tests/test_demo.py",
        "from demo import add\ndef test_adds():\n    assert add(1, 1) == 2\n",
    )]);
    let slot = Slot::new();
    let syntax = slot.read(python(), &files, StageKind::Syntax);
    assert_eq!(syntax.status, Status::Measured);
    assert_eq!(syntax.residuals, []);
    let test = slot.read(python(), &files, StageKind::Test);
    assert_eq!(test.status, Status::Measured);
    assert_eq!(test.residuals, []);
    assert_eq!(ends(&test), [("tests/test_demo.py::test_adds", TestEnd::Passed)].into());
    let left: Vec<_> = walk(&slot.folder("tree"))
        .into_iter()
        .filter(|name| !files.texts().contains_key(&path(name)))
        .collect();
    assert_eq!(left, [""; 0], "nothing is written into the tree");
}

fn walk(folder: &std::path::Path) -> Vec<String> {
    let mut names = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let entry = entry.unwrap().path();
            if entry.is_dir() {
                open.push(entry);
            } else {
                names.push(entry.strip_prefix(folder).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    names
}

#[test]
fn each_file_that_does_not_compile_is_an_error_with_its_place() {
    let files = project(&[
        ("src/demo/one.py", "x = 1\ndef f(:\n    pass\n"),
        ("src/demo/two.py", "if True:\nx = 1\n"),
        ("src/demo/nul.py", "x = '\0'\n"),
        ("src/demo/latin.py", "# coding: no-such-coding\n"),
        ("json.py", "raise SystemExit('the script imported me')\n"),
    ]);
    let reading = Slot::new().read(python(), &files, StageKind::Syntax);
    assert_eq!(classes(&reading), ["syntax-error"; 4], "{:?}", reading.residuals);
    assert_eq!(energy(&reading), Milli::units(4));
    let one =
        reading.residuals.iter().find(|residual| residual.file == Some(path("src/demo/one.py"))).unwrap();
    assert_eq!(one.component, Component::Syn);
    assert_eq!(one.place.unwrap().line, 2);
    assert!(one.evidence.contains("def f(:"), "{}", one.evidence);
}

#[test]
fn a_file_the_script_did_not_report_is_unmeasured() {
    let files = project(&[]);
    let slot = Slot::new();
    slot.lay_out(&files, python());
    let more = files.with("src/demo/late.py", "");
    let root = python().roots(&files).remove(0);
    let stage = stage(python(), &root, &files, StageKind::Syntax, &Machine::default(), &working());
    let outputs = slot.outputs(python(), &stage);
    let reading = slot.read_outputs(python(), &stage, &outputs, &root, &more);
    assert_eq!(classes(&reading), ["unmeasured-file"]);
}

#[test]
fn every_way_a_pytest_test_can_end_is_read() {
    let tests = r#"
import unittest
import pytest

@pytest.mark.parametrize("x", ["a b", "x::y", "[z]", "é", "\n", "a/b.py", "<&>", "\x00", "\x1b"])
def test_odd(x): assert x

def test_wrong(): assert 1 == 2, "boo"

@pytest.mark.skip(reason="r")
def test_skipped(): pass

@pytest.mark.xfail
def test_expected(): assert 0

@pytest.mark.xfail
def test_surprise(): pass

@pytest.mark.xfail(strict=True)
def test_strict(): pass

class TestC:
    def test_m(self): pass
    class TestN:
        def test_n(self): pass

class U(unittest.TestCase):
    def test_sub(self):
        for i in range(3):
            with self.subTest(i=i): self.assertNotEqual(i, 1)

@pytest.fixture
def before(): raise RuntimeError("setup")
def test_setup(before): pass

@pytest.fixture
def after():
    yield
    raise RuntimeError("teardown")
def test_teardown(after): pass
"#;
    let files = project(&[
        ("tests/test_a.py", tests),
        ("tests/sub/test_b.py", "def test_wrong(): pass\n"),
        // A project's own options must change neither the listing nor how far the run goes.
        ("pytest.ini", "[pytest]\naddopts = -q -x\njunit_family = xunit2\n"),
    ]);
    let reading = Slot::new().read(python(), &files, StageKind::Test);
    let ends = ends(&reading);
    let end = |name: &str| ends[format!("tests/test_a.py::{name}").as_str()];
    let odd =
        ends.iter().filter(|(name, end)| name.contains("test_odd[") && **end == TestEnd::Passed).count();
    assert_eq!(odd, 9, "{ends:?}");
    for name in ["test_surprise", "TestC::test_m", "TestC::TestN::test_n"] {
        assert_eq!(end(name), TestEnd::Passed, "{name}");
    }
    for name in ["test_skipped", "test_expected"] {
        assert_eq!(end(name), TestEnd::Skipped, "{name}");
    }
    for name in ["test_wrong", "test_strict", "U::test_sub", "test_setup", "test_teardown"] {
        assert_eq!(end(name), TestEnd::Failed, "{name}");
    }
    assert_eq!(ends["tests/sub/test_b.py::test_wrong"], TestEnd::Passed);
    assert_eq!(classes(&reading), ["test-failed"; 5], "{:?}", reading.residuals);
    let wrong = reading
        .residuals
        .iter()
        .find(|found| found.symbol.as_deref() == Some("tests/test_a.py::test_wrong"))
        .unwrap();
    assert_eq!(wrong.score, Milli::units(3));
    assert_eq!((wrong.file.clone(), wrong.place.unwrap().line), (Some(path("tests/test_a.py")), 8));
    assert!(wrong.message.contains("boo") && wrong.evidence.contains("assert 1 == 2"), "{wrong:?}");
}

#[test]
fn nothing_collected_is_measured_with_no_tests() {
    let reading = Slot::new().read(python(), &project(&[]), StageKind::Test);
    assert_eq!(reading.status, Status::Measured);
    assert_eq!(reading.residuals, []);
    assert_eq!(ends(&reading), [].into());
}

#[test]
fn files_that_cannot_be_collected_are_errors_by_kind_and_the_others_still_run() {
    let files = project(&[
        ("requirements.txt", "Some-Thing>=1\n"),
        ("tests/test_fine.py", "def test_fine(): pass\n"),
        ("tests/test_own.py", "from demo.missing import x\ndef test_q(): pass\n"),
        ("tests/test_name.py", "from demo import nothing\ndef test_q(): pass\n"),
        ("tests/test_outside.py", "import some_thing\ndef test_q(): pass\n"),
        ("tests/test_unwritten.py", "import brand_new\ndef test_q(): pass\n"),
        ("tests/test_syntax.py", "def test_q(: pass\n"),
        ("tests/test_boom.py", "x = 1\n1 / 0\n"),
    ]);
    let reading = Slot::new().read(python(), &files, StageKind::Test);
    let by_file: Vec<(&str, &str)> = reading
        .residuals
        .iter()
        .map(|found| (found.file.as_ref().unwrap().name(), found.class.as_str()))
        .collect();
    let expected = [
        ("test_boom.py", "collection-error"),
        ("test_name.py", "import-error"),
        ("test_outside.py", "module-missing"),
        ("test_own.py", "import-error"),
        ("test_syntax.py", "syntax-error"),
        ("test_unwritten.py", "import-error"),
    ];
    let mut sorted = by_file.clone();
    sorted.sort();
    assert_eq!(sorted, expected);
    assert_eq!(ends(&reading), [("tests/test_fine.py::test_fine", TestEnd::Passed)].into());
    let boom = reading.residuals.iter().find(|found| found.class.as_str() == "collection-error").unwrap();
    assert_eq!(boom.place.unwrap().line, 2);
    let fault = python().environment_fault(&reading);
    assert_eq!(fault.as_deref(), Some("Python module `some_thing` is not installed"));
    let own = files.without("tests/test_outside.py");
    let reading = Slot::new().read(python(), &own, StageKind::Test);
    assert_eq!(python().environment_fault(&reading), None, "code still to be written is an ordinary start");
}

#[test]
fn a_conftest_that_does_not_load_is_red_and_names_the_module() {
    let files = project(&[
        ("tests/conftest.py", "import numpy_is_not_here\n"),
        ("tests/test_a.py", "def test_a(): pass\n"),
    ]);
    let reading = Slot::new().read(python(), &files, StageKind::Test);
    assert_eq!(classes(&reading), ["import-error"]);
    assert_eq!(reading.residuals[0].file, Some(path("tests/conftest.py")));
    let outside = files.with("requirements-dev.txt", "numpy-is-not-here\n");
    let reading = Slot::new().read(python(), &outside, StageKind::Test);
    assert_eq!(classes(&reading), ["module-missing"]);
}

#[test]
fn hooks_that_drop_tests_after_the_listing_are_red() {
    let hook = "def pytest_collection_modifyitems(config, items):\n    if not config.option.collectonly:\n        del items[1:]\n";
    let files = project(&[
        ("conftest.py", hook),
        ("tests/test_a.py", "def test_a(): pass\ndef test_b(): assert 0\n"),
    ]);
    let reading = Slot::new().read(python(), &files, StageKind::Test);
    assert_eq!(classes(&reading), ["tests-vanished"]);
    assert_eq!(ends(&reading)["tests/test_a.py::test_b"], TestEnd::Failed);
}

#[test]
fn a_test_that_ends_the_process_leaves_no_report_and_is_red_with_both_runners() {
    let folder = tempfile::tempdir().unwrap();
    let test = "import os, unittest\nclass T(unittest.TestCase):\n    def test_a(self): pass\n    def test_b(self): os._exit(0)\n";
    let files = project(&[("tests/test_a.py", test)]);
    let slot = Slot::new();
    let pytest = slot.read(python(), &files, StageKind::Test);
    assert_eq!(classes(&pytest), ["report-missing", "tests-vanished", "tests-vanished"]);
    // A report of an earlier, green run lies where this one should: it must not be read.
    let green = files.with("tests/test_a.py", &test.replace("os._exit(0)", "pass"));
    assert_eq!(slot.read(python(), &green, StageKind::Test).residuals, []);
    assert_eq!(slot.read(python(), &files, StageKind::Test).residuals, pytest.residuals);
    let unittest =
        slot.read_with(python(), &files, StageKind::Test, &bare_python(&folder), &without_pytest());
    assert_eq!(classes(&unittest), ["report-missing", "tests-vanished"]);
    assert_eq!(ends(&unittest)["tests/test_a.py::T::test_a"], TestEnd::Passed);
}

#[test]
fn a_project_that_fails_the_run_without_a_failing_test_is_red() {
    let hook = "def pytest_sessionfinish(session):\n    if not session.config.option.collectonly:\n        session.exitstatus = 1\n";
    let files = project(&[("conftest.py", hook), ("tests/test_a.py", "def test_a(): pass\n")]);
    let reading = Slot::new().read(python(), &files, StageKind::Test);
    assert_eq!(classes(&reading), ["tool-failed"]);
    assert_eq!(ends(&reading), [("tests/test_a.py::test_a", TestEnd::Passed)].into());
}

#[test]
fn the_syntax_script_imports_nothing_of_the_tree_even_where_the_environment_points_there() {
    let files = project(&[("json.py", "raise SystemExit(0)\n"), ("src/demo/bad.py", "x = = 1\n")]);
    let slot = Slot::new();
    slot.lay_out(&files, python());
    let root = python().roots(&files).remove(0);
    let mut stage = stage(python(), &root, &files, StageKind::Syntax, &Machine::default(), &working());
    stage.steps[0].env.insert("PYTHONPATH".to_owned(), "{tree}".to_owned());
    let outputs = slot.outputs(python(), &stage);
    assert_eq!(classes(&slot.read_outputs(python(), &stage, &outputs, &root, &files)), ["syntax-error"]);
}

#[test]
fn without_pytest_unittest_runs_and_names_tests_alike() {
    let folder = tempfile::tempdir().unwrap();
    let machine = bare_python(&folder);
    let more = r#"
import unittest

class Sub(unittest.TestCase):
    def test_sub(self):
        for i in range(3):
            with self.subTest(i=i): self.assertNotEqual(i, 1)
    @unittest.skip("later")
    def test_skipped(self): pass
    @unittest.expectedFailure
    def test_expected(self): self.fail()
    @unittest.expectedFailure
    def test_surprise(self): pass
    def test_sub_skipped(self):
        with self.subTest(): self.skipTest("part")

class Unset(unittest.TestCase):
    @classmethod
    def setUpClass(cls): raise RuntimeError("no")
    def test_x(self): pass

class Late(unittest.TestCase):
    @classmethod
    def tearDownClass(cls): raise RuntimeError("late")
    def test_y(self): pass
"#;
    let files = project(&[("tests/test_demo.py", UNIT), ("tests/deep/test_more.py", more)]);
    let slot = Slot::new();
    let reading = slot.read_with(python(), &files, StageKind::Test, &machine, &without_pytest());
    assert_eq!(reading.tool, "unittest");
    let expected = [
        ("tests/deep/test_more.py::Late::test_y", TestEnd::Passed),
        ("tests/deep/test_more.py::Sub::test_expected", TestEnd::Skipped),
        ("tests/deep/test_more.py::Sub::test_skipped", TestEnd::Skipped),
        ("tests/deep/test_more.py::Sub::test_sub", TestEnd::Failed),
        ("tests/deep/test_more.py::Sub::test_sub_skipped", TestEnd::Skipped),
        ("tests/deep/test_more.py::Sub::test_surprise", TestEnd::Failed),
        ("tests/deep/test_more.py::Unset::test_x", TestEnd::Failed),
        ("tests/test_demo.py::T::test_right", TestEnd::Passed),
        ("tests/test_demo.py::T::test_wrong", TestEnd::Failed),
    ];
    assert_eq!(ends(&reading), expected.into());
    assert_eq!(classes(&reading), ["test-failed"; 5], "{:?}", reading.residuals);
    let simple = project(&[("tests/test_demo.py", UNIT)]);
    let ours = slot.read_with(python(), &simple, StageKind::Test, &machine, &without_pytest());
    let pytest = slot.read(python(), &simple, StageKind::Test);
    assert_eq!(ends(&ours), ends(&pytest));
}

#[test]
fn without_pytest_a_file_that_cannot_be_loaded_is_an_error_by_kind() {
    let folder = tempfile::tempdir().unwrap();
    let files = project(&[
        ("tests/test_demo.py", UNIT),
        ("tests/test_lib.py", "import requests\n"),
        ("tests/test_own.py", "import unittest\nfrom demo import nothing\n"),
    ]);
    let reading =
        Slot::new().read_with(python(), &files, StageKind::Test, &bare_python(&folder), &without_pytest());
    assert_eq!(
        classes(&reading),
        ["module-missing", "import-error", "test-failed"],
        "{:?}",
        reading.residuals
    );
    assert_eq!(
        python().environment_fault(&reading).as_deref(),
        Some("Python module `requests` is not installed")
    );
}

#[test]
fn without_pytest_tests_that_need_it_are_never_green() {
    let folder = tempfile::tempdir().unwrap();
    let machine = bare_python(&folder);
    for needing in
        ["def test_a():\n    assert 0\n", "class TestA:\n    def test_a(self): assert 0\n", "import pytest\n"]
    {
        let files = project(&[("tests/test_a.py", needing)]);
        let root = python().roots(&files).remove(0);
        let no_tool = python().missing_tool(&root, &files, &without_pytest()).unwrap();
        assert_eq!((no_tool.stage, no_tool.tool.as_str()), (StageKind::Test, "pytest"), "{needing}");
        assert!(no_tool.why.contains("tests/test_a.py"));
        assert_eq!(python().missing_tool(&root, &files, &working()), None);
        assert_eq!(
            python().missing_tool(&root, &project(&[("tests/test_a.py", UNIT)]), &without_pytest()),
            None
        );
        // A candidate that brings such tests is red.
        let stage = stage(python(), &root, &files, StageKind::Test, &machine, &without_pytest());
        let slot = Slot::new();
        slot.lay_out(&files, python());
        let outputs = slot.outputs(python(), &stage);
        let reading = slot.read_outputs(python(), &stage, &outputs, &root, &files);
        assert!(classes(&reading).contains(&"tests-unseen"), "{needing}: {:?}", reading.residuals);
    }
    let mut broken = working();
    broken.insert("pytest".to_owned(), ToolState::Broken { why: "hangs".to_owned(), install: String::new() });
    let files = project(&[("tests/test_a.py", UNIT)]);
    let root = python().roots(&files).remove(0);
    assert!(
        python().stages(&root, &files, &terms(&machine, &broken, &Selection::default()))[1].is_err(),
        "a broken pytest is named, not passed over"
    );
}

#[test]
fn every_plant_is_seen_by_both_runners() {
    let folder = tempfile::tempdir().unwrap();
    let test = UNIT.replace("    def test_wrong(self):\n        self.assertEqual(add(1, 1), 3)\n", "");
    let runs = [(Machine::default(), working()), (bare_python(&folder), without_pytest())];
    for (name, (machine, tools)) in ["tests/test_demo.py", "tests/demo_test.py"].iter().zip(runs) {
        let files = project(&[(name, &test), ("tests/__init__.py", "")]);
        let root = python().roots(&files).remove(0);
        let slot = Slot::new();
        let mut seen = 0;
        for kind in [StageKind::Syntax, StageKind::Test] {
            let without = slot.read_with(python(), &files, kind, &machine, &tools);
            assert_eq!(without.residuals, []);
            for plant in python().plants(kind, &root, &files, "planted1") {
                let with = slot.read_planted(python(), &files, &plant, kind, (&machine, &tools));
                assert!(plant.expect.is_met(&without, &with), "{}: {:?}", plant.what, with.residuals);
                assert!(!plant.expect.is_met(&without, &without), "{}", plant.what);
                seen += 1;
            }
        }
        assert_eq!(seen, 2);
    }
}

#[test]
fn a_run_lists_the_modules_that_it_loaded_from_the_tree_and_no_others() {
    let folder = tempfile::tempdir().unwrap();
    let runs = [(Machine::default(), working()), (bare_python(&folder), without_pytest())];
    for (machine, tools) in runs {
        let files = project(&[
            ("tests/test_demo.py", &UNIT.replace("add(1, 1), 3", "add(1, 1), 2")),
            ("tests/__init__.py", ""),
            ("src/demo/alone.py", "nobody = imports(this)\n"),
        ]);
        let reading = Slot::new().read_with(python(), &files, StageKind::Test, &machine, &tools);
        let has = |name: &str| reading.looked.contains(&path(name));
        assert!(has("tests/test_demo.py") && has("src/demo/__init__.py"), "{:?}", reading.looked);
        assert!(!has("src/demo/alone.py"));
        assert!(
            reading.looked.iter().all(|path| files.tree().entries.contains_key(path)),
            "{:?}",
            reading.looked
        );
        let syntax = Slot::new().read_with(python(), &files, StageKind::Syntax, &machine, &tools);
        assert!(syntax.looked.contains(&path("src/demo/alone.py")));
    }
}

#[test]
fn a_run_says_what_the_files_of_failed_tests_lead_to() {
    let files = project(&[
        ("src/demo/one.py", "from demo import two\n\n\ndef f():\n    return two.g()\n"),
        ("src/demo/two.py", "def g():\n    return 2\n"),
        ("src/demo/three.py", "VALUE = 3\n"),
        ("tests/conftest.py", "import pytest\nfrom demo.three import VALUE\n"),
        ("tests/test_one.py", "from demo.one import f\n\n\ndef test_f():\n    assert f() == 3\n"),
        ("tests/test_three.py", "def test_three():\n    assert True\n"),
    ]);
    let reading = Slot::new().read(python(), &files, StageKind::Test);
    assert_eq!(reading.reach.keys().map(|path| path.as_str()).collect::<Vec<_>>(), ["tests/test_one.py"]);
    let reached: Vec<&str> =
        reading.reach[&path("tests/test_one.py")].iter().map(|path| path.as_str()).collect();
    let modules = ["src/demo/__init__.py", "src/demo/one.py", "src/demo/three.py", "src/demo/two.py"];
    assert!(modules[1..].iter().all(|module| reached.contains(module)), "{reached:?}");
}

#[test]
fn an_editable_install_of_the_original_tree_is_not_the_tree() {
    // What the tests import lies outside the laid-out tree: they say nothing of the tree's own.
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("elsewhere")).unwrap();
    std::fs::write(folder.path().join("elsewhere/__init__.py"), "def add(a, b): return a + b\n").unwrap();
    let path_line =
        format!("import sys\nsys.path.insert(0, {:?})\nfrom elsewhere import add\n", folder.path());
    let test = format!("{path_line}def test_a():\n    assert add(1, 1) == 2\n");
    let files = project(&[("tests/test_a.py", &test)]);
    let reading = Slot::new().read(python(), &files, StageKind::Test);
    assert_eq!(ends(&reading).len(), 1);
    assert!(!reading.looked.contains(&path("src/demo/__init__.py")), "{:?}", reading.looked);
}

#[test]
fn the_interpreter_says_which_modules_it_brings_and_an_older_one_what_is_lost() {
    let probe = python().probes(&Machine::default()).remove(0);
    let mut outputs = Slot::probe(&probe, None);
    let ToolState::Works { modules, version } = python().read_probe(&probe, &outputs) else { panic!() };
    let has = |name: &str| modules.contains(name);
    assert!(has("json") && has("unittest") && has("__future__") && !has("test") && !has("_json"));
    assert!(version.starts_with("Python 3.") && !version.contains("not noticed"), "{version}");
    outputs[2].end = StepEnd::Exited(1);
    let ToolState::Works { modules, version } = python().read_probe(&probe, &outputs) else { panic!() };
    assert!(modules.is_empty() && version.contains("hides a standard module is not noticed"), "{version}");
}

#[test]
fn probes_tell_working_missing_and_lying_tools_apart() {
    let probes = python().probes(&Machine::default());
    for probe in &probes {
        let state = python().read_probe(probe, &Slot::probe(probe, None));
        assert!(matches!(state, ToolState::Works { .. }), "{}: {state:?}", probe.tool);
    }
    let folder = tempfile::tempdir().unwrap();
    for probe in python().probes(&bare_python(&folder)) {
        let state = python().read_probe(&probe, &Slot::probe(&probe, None));
        let missing = matches!(state, ToolState::Missing { .. });
        assert_eq!(missing, probe.tool == "pytest", "{}: {state:?}", probe.tool);
    }
    let nowhere = with_python("/nowhere/python");
    let probe = python().probes(&nowhere).remove(0);
    assert!(matches!(python().read_probe(&probe, &Slot::probe(&probe, None)), ToolState::Missing { .. }));
    let liar = folder.path().join("python3");
    std::fs::write(&liar, "#!/bin/sh\necho all fine\nexit 0\n").unwrap();
    std::fs::set_permissions(&liar, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    for probe in &probes {
        let state = python().read_probe(probe, &Slot::probe(probe, Some(folder.path())));
        assert!(matches!(state, ToolState::Broken { .. }), "{}: {state:?}", probe.tool);
    }
}

#[test]
fn roots_are_folders_with_manifests_and_do_not_share_files() {
    let files = Map::of(&[
        ("pyproject.toml", ""),
        ("top.py", ""),
        ("tests/test_top.py", "def test_top(): pass\n"),
        ("tests/fixtures/x/setup.py", ""),
        ("part/setup.cfg", ""),
        ("part/inner.py", "x = = 1\n"),
        ("part/tests/test_top.py", "def test_inner(): assert 0\n"),
    ]);
    let roots = python().roots(&files);
    let shown: Vec<(&str, bool)> = roots.iter().map(|root| (root.dir.as_str(), root.has_tests)).collect();
    assert_eq!(shown, [("", true), ("part", true)]);
    let slot = Slot::new();
    assert_eq!(
        slot.read(python(), &files, StageKind::Syntax).residuals,
        [],
        "the inner root's file is its own"
    );
    assert_eq!(ends(&slot.read(python(), &files, StageKind::Test)).len(), 1);
    assert_eq!(python().roots(&Map::of(&[("scripts/x.py", "")]))[0].dir.as_str(), "");
    assert!(python().roots(&Map::of(&[("README.md", "")])).is_empty());
}

#[test]
fn a_pytest_that_its_own_settings_keep_from_starting_says_so_and_is_no_fault_of_the_tree() {
    let test = ("tests/test_a.py", "def test_a(): pass\n");
    for (name, text, said) in [
        (
            "pytest.ini",
            "[pytest]\naddopts = --no-such-option=x\n",
            "pytest did not start: unrecognized arguments: --no-such-option=x",
        ),
        ("pytest.ini", "nothing\n", "pytest did not start: pytest.ini:1: unexpected line: 'nothing'"),
        (
            "setup.cfg",
            "[tool:pytest]\nrequired_plugins = pytest-no-such\n",
            "pytest did not start: Missing required plugins: pytest-no-such",
        ),
        (
            "conftest.py",
            "def pytest_collection_modifyitems(items):\n    raise ValueError('boo')\n",
            "pytest stopped with an internal error: ValueError: boo",
        ),
    ] {
        let files = project(&[test, (name, text)]);
        let reading = Slot::new().read(python(), &files, StageKind::Test);
        assert_eq!(classes(&reading), ["tool-refused"], "{:?}", reading.residuals);
        let residual = &reading.residuals[0];
        assert_eq!((residual.component, residual.message.as_str()), (Component::Boot, said));
        let last = said.rsplit(": ").next().unwrap();
        assert!(residual.evidence.contains(last), "{}", residual.evidence);
        assert_eq!(python().environment_fault(&reading).as_deref(), Some(said));
    }
    let files = project(&[test, ("conftest.py", "import demo.nothing\n")]);
    let reading = Slot::new().read(python(), &files, StageKind::Test);
    assert_eq!(classes(&reading), ["import-error"]);
    assert_eq!(python().environment_fault(&reading), None, "a conftest of the tree is its own fault");
}

#[test]
fn plants_and_roots_follow_the_names_of_tests_in_pytests_settings() {
    let check = "from demo import add\ndef check_adds():\n    assert add(1, 1) == 2\n";
    for (patterns, name) in [
        ("check_*.py", "tests/check_demo.py"),
        ("*_checks.py", "tests/demo_checks.py"),
        ("only.py check_*.py", "tests/only.py"),
    ] {
        let settings = format!(
            "[pytest]\npython_files = {patterns}\npython_functions = check_*\npython_classes = Check\n"
        );
        let files = project(&[("pytest.ini", &settings), (name, check)]);
        let root = python().roots(&files).remove(0);
        assert!(root.has_tests, "{patterns}");
        let slot = Slot::new();
        let without = slot.read(python(), &files, StageKind::Test);
        assert_eq!(ends(&without).len(), 1, "{:?}", without.residuals);
        let plants = python().plants(StageKind::Test, &root, &files, "planted1");
        assert_eq!(plants.len(), 1);
        for plant in plants {
            let here = (&Machine::default(), &working());
            let with = slot.read_planted(python(), &files, &plant, StageKind::Test, here);
            assert!(plant.expect.is_met(&without, &with), "{patterns}: {}: {:?}", plant.what, with.residuals);
        }
    }
}
