//! What tox and build settings say about how tests run and where modules are imported from.

use perspt_core::reading::{StageKind, TestEnd};
use perspt_core::stage::Stage;
use perspt_lang::plugin::{Machine, Selection};
use perspt_lang::{Plugin, plugin};

use crate::support::{Map, Slot, ends, stage, terms, working};

fn python() -> &'static dyn Plugin {
    plugin("python").unwrap()
}

fn tests_of(files: &Map) -> Stage {
    let root = python().roots(files).remove(0);
    stage(python(), &root, files, StageKind::Test, &Machine::default(), &working())
}

/// What the run step gets besides what every run gets (`-m` among it): options, then variables.
fn extra(files: &Map) -> (Vec<String>, Vec<String>) {
    let bare = tests_of(&files.without("tox.ini").with("pyproject.toml", "[project]\nname = \"demo\"\n"));
    let (with, bare) = (tests_of(files).steps.remove(1), bare.steps.into_iter().nth(1).unwrap());
    let words = with.argv.into_iter().filter(|word| !bare.argv.contains(word)).collect();
    let env = with.env.into_iter().filter(|(name, value)| bare.env.get(name) != Some(value));
    (words, env.map(|(name, value)| format!("{name}={value}")).collect())
}

fn project() -> Map {
    Map::of(&[
        ("pyproject.toml", "[project]\nname = \"demo\"\n"),
        ("tests/test_demo.py", "def test_it():\n    assert True\n"),
        ("examples/test_broken.py", "raise SystemExit(3)\n"),
    ])
}

#[test]
fn what_tox_gives_to_pytest_is_taken_as_far_as_it_is_plain() {
    let with = |commands: &str| {
        extra(&project().with("tox.ini", &format!("[tox]\nenvlist = py\n\n[testenv]\n{commands}")))
    };
    let none: (Vec<String>, Vec<String>) = Default::default();
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<String>>();
    let (options, env) = with(
        "deps = pytest\nsetenv =\n    PYTHONPATH = {toxinidir}/lib\n    MODE = test\n    PYTHONHASHSEED = 7\ncommands =\n    pip check\n    pytest -q --cov=demo -n auto -m \"not slow\" --import-mode=importlib tests {posargs:-v}\n",
    );
    assert_eq!(options, words(&["not slow", "--import-mode=importlib", "testpaths=tests"]));
    assert_eq!(env, words(&["MODE=test", "PYTHONPATH={tree}:{tree}/lib:{assets}"]));
    assert_eq!(with("commands = python -m pytest tests/ {posargs}\n").0, words(&["testpaths=tests"]));
    assert_eq!(with("commands = coverage run -p -m pytest tests\n").0, words(&["testpaths=tests"]));
    // A positive marker would leave out what perspt plants, and an unknown place is nobody's.
    assert_eq!(with("commands = pytest -m slow {envtmpdir}/tests\n"), none);
    assert_eq!(with("commands =\n    pytest tests\n    pytest more/tests\n"), none);
    assert_eq!(with("commands = make test\n"), none);
    assert_eq!(with("commands = pytest \"tests\n"), none);
    let toml = "[project]\nname = \"demo\"\n\n[tool.tox.env_run_base]\ncommands = [[\"pytest\", \"tests\", { replace = \"posargs\", extend = true }]]\nset_env = { MODE = \"test\" }\n";
    assert_eq!(
        extra(&project().with("pyproject.toml", toml)),
        (words(&["testpaths=tests"]), words(&["MODE=test"]))
    );
}

#[test]
fn tests_run_where_tox_says_and_planted_ones_are_seen_there() {
    let files = project().with("tox.ini", "[testenv]\ncommands = pytest tests\n");
    let slot = Slot::new();
    let reading = slot.read(python(), &files, StageKind::Test);
    assert_eq!(reading.residuals, []);
    assert_eq!(ends(&reading), [("tests/test_demo.py::test_it", TestEnd::Passed)].into());
    let root = python().roots(&files).remove(0);
    let plant = python().plants(StageKind::Test, &root, &files, "plantedabc").remove(0);
    let (machine, tools) = (Machine::default(), working());
    let with = slot.read_planted(python(), &files, &plant, StageKind::Test, (&machine, &tools));
    assert!(plant.expect.is_met(&reading, &with), "{}: {:?}", plant.what, with.residuals);
    // pytest's own settings come first.
    let own = files.with("pytest.ini", "[pytest]\ntestpaths = examples\n");
    assert!(!tests_of(&own).steps[1].argv.contains(&"testpaths=tests".to_owned()));
    let stages = python().stages(&root, &files, &terms(&machine, &tools, &Selection::default()));
    assert_eq!(stages.len(), 2);
}

#[test]
fn modules_are_imported_from_where_the_build_settings_say() {
    for (name, text) in [
        ("pyproject.toml", "[tool.setuptools]\npackage-dir = { \"\" = \"lib\" }\n"),
        ("pyproject.toml", "[tool.setuptools.packages.find]\nwhere = [\"lib\"]\n"),
        ("pyproject.toml", "[tool.hatch.build.targets.wheel]\npackages = [\"lib/demo\"]\n"),
        ("pyproject.toml", "[tool.poetry]\npackages = [{ include = \"demo\", from = \"lib\" }]\n"),
        ("pyproject.toml", "[tool.uv.build-backend]\nmodule-root = \"lib\"\n"),
        ("setup.cfg", "[options]\npackage_dir =\n    =lib\n"),
        ("setup.cfg", "[options.packages.find]\nwhere = lib\n"),
    ] {
        let files = Map::of(&[
            ("pyproject.toml", "[project]\nname = \"demo\"\n"),
            ("lib/demo/__init__.py", "ONE = 1\n"),
            ("tests/test_demo.py", "from demo import ONE\n\n\ndef test_one():\n    assert ONE == 1\n"),
        ]);
        let files = files.with(name, text);
        let path = tests_of(&files).steps[1].env["PYTHONPATH"].clone();
        assert_eq!(path, "{tree}:{tree}/lib:{assets}", "{text}");
        let reading = Slot::new().read(python(), &files, StageKind::Test);
        assert_eq!(reading.residuals, [], "{text}");
        assert_eq!(ends(&reading).len(), 1);
    }
}
