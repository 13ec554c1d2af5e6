//! Real mypy, ty and ruff over Python projects that configure them.

use perspt_core::reading::{Reading, StageKind, Status};
use perspt_core::residual::Severity;
use perspt_core::stage::{Preset, StageRole};
use perspt_lang::plugin::{Expect, Machine, Selection, Terms, ToolState};
use perspt_lang::{Plugin, plugin};

use crate::support::{Map, Slot, classes, facts, path, terms, working};

fn python() -> &'static dyn Plugin {
    plugin("python").unwrap()
}

const RIGHT: &str = "def add(a: int, b: int) -> int:\n    return a + b\n";
const WRONG: &str = "from demo import add\n\nadd(1, 2)\nadd(\"one\", 2)\n";

/// A project that configures this tool.
fn project(tool: &str) -> Map {
    Map::of(&[
        ("pyproject.toml", &format!("[project]\nname = \"demo\"\n\n[tool.{tool}]\n")),
        ("demo.py", RIGHT),
        ("use.py", RIGHT),
        ("test_demo.py", "def test_nothing():\n    assert True\n"),
    ])
}

fn strict() -> Slot {
    let mut slot = Slot::new();
    slot.preset = Preset::Strict;
    slot
}

fn planted(slot: &Slot, files: &Map, kind: StageKind, without: &Reading) -> Vec<String> {
    let root = python().roots(files).remove(0);
    let mut seen = Vec::new();
    for plant in python().plants(kind, &root, files, "plantedabc") {
        let (machine, tools) = (Machine::default(), working());
        let with = slot.read_planted(python(), files, &plant, kind, (&machine, &tools));
        assert!(plant.expect.is_met(without, &with), "{}: {:?}", plant.what, with.residuals);
        assert!(!plant.expect.is_met(&with, &with), "{}", plant.what);
        seen.push(plant.what);
    }
    seen
}

#[test]
fn a_type_error_is_found_at_its_place_and_the_files_that_were_checked_are_named() {
    for (tool, code) in [("mypy", "arg-type"), ("ty", "invalid-argument-type")] {
        let slot = Slot::new();
        let files = project(tool).with("use.py", WRONG);
        let reading = slot.read(python(), &files, StageKind::Type);
        assert_eq!((reading.status.clone(), reading.tool.as_str()), (Status::Measured, tool));
        assert_eq!(classes(&reading), ["compile-error"], "{:?}", reading.residuals);
        let residual = &reading.residuals[0];
        assert_eq!((residual.file.clone(), residual.place.unwrap().line), (Some(path("use.py")), 4));
        assert_eq!(residual.symbol.as_deref(), Some(code));
        for file in ["demo.py", "use.py"] {
            assert!(reading.looked.contains(&path(file)), "{tool}: {:?}", reading.looked);
        }
        let clean = slot.read(python(), &project(tool), StageKind::Type);
        assert_eq!(clean.residuals, [], "{tool}");
        assert_eq!(planted(&slot, &project(tool), StageKind::Type, &clean).len(), 1);
        assert_eq!(planted(&slot, &files, StageKind::Type, &reading).len(), 1);
    }
}

#[test]
fn an_edit_within_the_same_second_and_of_the_same_size_is_checked_anew() {
    let slot = Slot::new();
    for round in 0..3 {
        for (text, errors) in [("x: int = 10\n", 0), ("x: int = ''\n", 1)] {
            let reading = slot.read(python(), &project("mypy").with("use.py", text), StageKind::Type);
            assert_eq!(classes(&reading).len(), errors, "{round}: {text}");
        }
    }
}

#[test]
fn what_mypy_cannot_get_past_is_an_error_and_no_file_counts_as_checked() {
    let twice = project("mypy")
        .with("a/conftest.py", "")
        .with("b/conftest.py", "")
        .with("pyproject.toml", "[tool.mypy]\nfiles = [\"a\", \"b\"]\n");
    let reading = Slot::new().read(python(), &twice, StageKind::Type);
    assert_eq!(classes(&reading), ["compile-error"]);
    assert_eq!(reading.looked, Default::default());
    let unread = project("mypy").with("pyproject.toml", "[tool.mypy]\nfiles = [\"gone.py\"]\n");
    let reading = Slot::new().read(python(), &unread, StageKind::Type);
    assert_eq!(classes(&reading), ["tool-failed"], "{:?}", reading.residuals);
}

#[test]
fn mypy_is_given_the_code_where_its_settings_name_no_files() {
    let given = |files: &Map| {
        let root = python().roots(files).remove(0);
        let (machine, tools, selection) = (Machine::default(), working(), Selection::default());
        let stages = python().stages(&root, files, &terms(&machine, &tools, &selection));
        let stage = stages.into_iter().flatten().find(|stage| stage.kind == StageKind::Type).unwrap();
        let words = &stage.steps[0].argv;
        words[words.iter().position(|word| word == "PERSPT_PYTHON").unwrap() + 1..].to_vec()
    };
    assert_eq!(given(&project("mypy")), ["demo.py", "use.py"]);
    let package =
        project("mypy").with("demo/__init__.py", "").with("tests/test_a.py", "").with("docs/conf.py", "");
    assert_eq!(given(&package), ["demo", "demo.py", "use.py"]);
    assert_eq!(given(&project("mypy").with("src/demo/__init__.py", "")), ["src"]);
    let named = project("mypy").with("mypy.ini", "[mypy]\nfiles = demo.py\n");
    assert_eq!(given(&named), [""; 0]);
}

#[test]
fn a_checker_looks_only_where_the_project_configures_it() {
    let bare = Map::of(&[("demo.py", RIGHT)]);
    let (machine, selection) = (Machine::default(), Selection::default());
    let types = |files: &Map, tools: &_| {
        let root = python().roots(files).remove(0);
        let stages = python().stages(&root, files, &terms(&machine, tools, &selection));
        stages.into_iter().find_map(|stage| match stage {
            Ok(stage) if stage.kind == StageKind::Type => Some(Ok(stage.tool)),
            Err(lack) if lack.stage == StageKind::Type => Some(Err(lack.tool)),
            Ok(_) | Err(_) => None,
        })
    };
    let mut tools = working();
    assert_eq!(types(&bare, &tools), None);
    for (name, text, tool) in [
        ("pyproject.toml", "[tool.ty]\n", "ty"),
        ("ty.toml", "", "ty"),
        ("pyproject.toml", "[tool.pyright]\n", "pyright"),
        ("pyrightconfig.json", "{}", "pyright"),
        ("mypy.ini", "[mypy]\n", "mypy"),
        ("setup.cfg", "[mypy]\n", "mypy"),
        ("pyproject.toml", "[tool.mypy]\n[tool.ty]\n", "mypy"),
    ] {
        assert_eq!(types(&bare.with(name, text), &tools), Some(Ok(tool.to_owned())), "{name}");
    }
    let both = bare.with("pyproject.toml", "[tool.mypy]\n[tool.ty]\n");
    tools.remove("mypy");
    assert_eq!(types(&both, &tools), Some(Ok("ty".to_owned())));
    tools.remove("ty");
    assert_eq!(types(&both, &tools), Some(Err("mypy".to_owned())));
}

#[test]
fn the_probes_of_configured_tools_tell_working_broken_and_missing_apart() {
    let machine = Machine::default();
    let probes = |files: &Map| python().probes_for(files, &machine, Preset::Default).split_off(3);
    assert!(probes(&Map::of(&[("demo.py", RIGHT)])).is_empty());
    for tool in ["mypy", "ty", "ruff"] {
        let probe = probes(&project(tool)).remove(0);
        assert_eq!(probe.tool, tool);
        let mut outputs = Slot::probe(&probe, None);
        let state = python().read_probe(&probe, &outputs);
        assert!(matches!(state, ToolState::Works { .. }), "{tool}: {state:?}");
        outputs[1].stdout.clear();
        let state = python().read_probe(&probe, &outputs);
        assert!(matches!(state, ToolState::Broken { .. }), "{tool}: {state:?}");
    }
    // A setting that keeps mypy from starting is found before anything is paid for.
    let plugin = project("mypy").with("pyproject.toml", "[tool.mypy]\nplugins = [\"no_such_plugin\"]\n");
    let probe = probes(&plugin).remove(0);
    let state = python().read_probe(&probe, &Slot::probe(&probe, None));
    assert!(matches!(state, ToolState::Broken { .. }), "{state:?}");
    let bare = tempfile::tempdir().unwrap();
    let made =
        std::process::Command::new("python3").args(["-m", "venv", "--without-pip"]).arg(bare.path()).status();
    assert!(made.unwrap().success());
    let mut machine = Machine::default();
    let interpreter = bare.path().join("bin/python3").to_str().unwrap().to_owned();
    machine.programs.insert("python3".to_owned(), interpreter);
    for tool in ["mypy", "ruff"] {
        let probe = python().probes_for(&project(tool), &machine, Preset::Default).remove(3);
        let state = python().read_probe(&probe, &Slot::probe(&probe, None));
        let on_path = std::process::Command::new(tool).arg("--version").output().is_ok();
        assert_eq!(matches!(state, ToolState::Missing { .. }), !on_path, "{tool}: {state:?}");
    }
}

#[test]
fn ruff_is_shown_and_counts_in_the_strict_preset() {
    let files = project("ruff").with("use.py", "import os\n");
    let (machine, tools, selection) = (Machine::default(), working(), Selection::default());
    let root = python().roots(&files).remove(0);
    for (preset, role) in [(Preset::Default, StageRole::Shown), (Preset::Strict, StageRole::Required)] {
        let terms = Terms { preset, ..terms(&machine, &tools, &selection) };
        let stages = python().stages(&root, &files, &terms).into_iter().flatten();
        let lint: Vec<_> = stages.filter(|stage| stage.kind == StageKind::Lint).collect();
        assert_eq!((lint.len(), lint[0].role), (1, role));
    }
    let slot = strict();
    let reading = slot.read(python(), &files, StageKind::Lint);
    assert_eq!(reading.residuals.len(), 1);
    let found = &reading.residuals[0];
    assert_eq!((found.symbol.as_deref(), found.severity), (Some("F401"), Severity::Warning));
    assert_eq!((found.file.clone(), found.place.unwrap().line), (Some(path("use.py")), 1));
    assert_eq!(planted(&slot, &files, StageKind::Lint, &reading).len(), 1);
}

#[test]
fn ruffs_formatter_is_asked_in_the_strict_preset_where_it_has_settings() {
    let settings = "[tool.ruff]\n[tool.ruff.format]\nquote-style = \"single\"\n";
    let files = project("ruff").with("pyproject.toml", settings).with("use.py", "x  =  1\n");
    let slot = strict();
    let reading = slot.read(python(), &files, StageKind::Lint);
    let found: Vec<_> =
        reading.residuals.iter().map(|one| (one.message.as_str(), one.file.clone())).collect();
    assert_eq!(found, [("File would be reformatted", Some(path("use.py")))]);
    let plants = planted(&slot, &files, StageKind::Lint, &reading);
    assert_eq!(plants.len(), 2, "{plants:?}");
    let shown = Slot::new().read(python(), &files, StageKind::Lint);
    assert_eq!(shown.residuals, []);
    let root = python().roots(&files).remove(0);
    let expected: Vec<Expect> =
        python().plants(StageKind::Lint, &root, &files, "x").into_iter().map(|plant| plant.expect).collect();
    assert_eq!(expected, [Expect::Red, Expect::Finding]);
}

#[test]
fn a_change_that_lets_a_configured_checker_look_away_is_evidence_and_taking_one_up_is_not() {
    let base = project("mypy");
    let bare = base.with("pyproject.toml", "[project]\nname = \"demo\"\n");
    let silent = "[project]\nname = \"demo\"\n\n[tool.mypy]\nignore_errors = true\n";
    let told = |base: &Map, name: &str, text: &str| facts(python(), base, &base.with(name, text));
    assert_eq!(told(&base, "pyproject.toml", silent), ["evidence pyproject.toml"]);
    assert_eq!(told(&base, "mypy.ini", "[mypy]\nignore_errors = True\n"), ["evidence mypy.ini"]);
    assert_eq!(told(&bare, "pyproject.toml", silent), [""; 0]);
    assert_eq!(told(&bare, "mypy.ini", "[mypy]\n"), [""; 0]);
}
