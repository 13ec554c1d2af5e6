//! Whether the interpreter, pytest and unittest work: each runs on a project of ours with one thing right and
//! one wrong, and works only if exactly that is reported.

use std::collections::{BTreeMap, BTreeSet};

use perspt_core::path::RelPath;
use perspt_core::reading::TestEnd;
use perspt_core::stage::{StageRole, StepEnd, StepOutput};

use super::checkers::{self, Checker, RUFF, SETTINGS};
use super::stages::{PYTEST, PYTHON, UNITTEST, interpreter};
use super::{SYNTAX_SCRIPT, TOOL_SCRIPT, UNITTEST_SCRIPT, roots, syntax, unittest};
use crate::plugin::{Files, Machine, Probe, ToolState};
use crate::shared::junit;
use crate::shared::report::{both_streams, first_line, output_of, text};
use crate::shared::step::step;

const REPORT: &str = "{tmp}/perspt-probe-report";

/// The step that lists the standard library, which Python can do from 3.10 on.
const MODULES: &str = "modules";
const LIST_MODULES: &str = "import sys\nprint(*sorted(sys.stdlib_module_names))";
/// What is lost with an older one.
const OLD: &str = " (before 3.10: a new file that hides a standard module is not noticed)";

const TESTS: &str = "import unittest\n\n\nclass PersptProbe(unittest.TestCase):\n    def test_passes(self):\n        \
                     self.assertTrue(True)\n\n    def test_fails(self):\n        self.assertTrue(False)\n";

/// What to do where a tool is missing or broken.
pub(crate) fn install(tool: &str) -> &'static str {
    match tool {
        PYTEST => "Install pytest into the project's environment: `python -m pip install pytest`.",
        "mypy" => "Install mypy 1.11 or later into the project's environment: `python -m pip install mypy`.",
        "pyright" => "Install pyright with npm; the one from PyPI needs a network at its first start.",
        "ty" => "Install ty into the project's environment: `python -m pip install ty`.",
        "ruff" => "Install ruff into the project's environment: `python -m pip install ruff`.",
        _ => "Install Python 3.8 or later, or repair the project's virtual environment.",
    }
}

/// One probe per tool.
pub(crate) fn probes(machine: &Machine) -> Vec<Probe> {
    let python = interpreter(machine);
    let here = RelPath::root();
    let probe = |tool: &str, files: &[(&str, &str)], version: &[&str], run: &[&str]| {
        let argv = |arguments: &[&str]| -> Vec<String> {
            std::iter::once(python).chain(arguments.iter().copied()).map(str::to_owned).collect()
        };
        let mut steps = vec![step("version", &[], &here), step("run", &[], &here)];
        steps[0].argv = argv(version);
        steps[1].argv = argv(run);
        steps[1].reports = vec![REPORT.to_owned()];
        let files: BTreeMap<String, String> =
            files.iter().map(|&(name, text)| (name.to_owned(), text.to_owned())).collect();
        if tool == PYTHON {
            steps.push(step(MODULES, &[python, "-I", "-B", "-c", LIST_MODULES], &here));
        }
        Probe { tool: tool.to_owned(), files, steps, role: StageRole::Required }
    };
    let junit = format!("--junitxml={REPORT}");
    let project = [("project/test_perspt_probe.py", TESTS)];
    vec![
        probe(
            PYTHON,
            &[
                ("tool/perspt_syntax.py", SYNTAX_SCRIPT),
                ("project/right.py", "x = 1\n"),
                ("project/wrong.py", "x = = 1\n"),
            ],
            &["--version"],
            &["-I", "-B", "{tree}/tool/perspt_syntax.py", "{tree}/project"],
        ),
        probe(
            PYTEST,
            &project,
            &["-m", "pytest", "--version"],
            &[
                "-B",
                "-m",
                "pytest",
                "-q",
                "-p",
                "no:cacheprovider",
                "--rootdir={tree}/project",
                &junit,
                "project",
            ],
        ),
        probe(
            UNITTEST,
            &[project[0], ("tool/perspt_unittest.py", UNITTEST_SCRIPT)],
            &["--version"],
            &[
                "-B",
                "{tree}/tool/perspt_unittest.py",
                "run",
                "{tree}/project",
                REPORT,
                "--path",
                "{tree}/project",
            ],
        ),
    ]
}

/// A module that every type checker accepts, and one that none does. A linter sees what is wrong with both.
const TYPED: &str = "def perspt_takes(x: int) -> int:\n    return x\n";
const MISTYPED: &str = "from right import perspt_takes\n\nperspt_takes(\"text\")\n";
const BROKEN: &str = "def perspt_broken(:\n";

/// The probes of the type checkers that some root configures, with its own settings, and of ruff without any.
pub(crate) fn of_configured(files: &dyn Files, machine: &Machine) -> Vec<Probe> {
    let all = roots::find(files);
    let mut probes = Vec::new();
    for checker in Checker::ALL {
        let Some(root) = all.iter().find(|root| checker.is_configured(files, &root.dir)) else { continue };
        let settings = SETTINGS.into_iter().filter_map(|name| {
            let text = files.text(&root.dir.join(name).ok()?)?;
            Some((format!("project/{name}"), text))
        });
        let arguments = checker.arguments(&["right.py".to_owned(), "wrong.py".to_owned()]);
        probes.push(launched(checker.name(), (settings.collect(), MISTYPED), &arguments, machine));
    }
    if all.iter().any(|root| checkers::has_ruff(files, root)) {
        let words = ["check", "--isolated", "--no-cache", "--output-format=json", "."];
        let arguments = words.map(str::to_owned);
        probes.push(launched(RUFF, (BTreeMap::new(), BROKEN), &arguments, machine));
    }
    probes
}

/// A tool that is started as its stage starts it, over a module that is right and one that is wrong.
fn launched(
    tool: &str,
    (mut files, wrong): (BTreeMap<String, String>, &str),
    arguments: &[String],
    machine: &Machine,
) -> Probe {
    let texts =
        [("tool/perspt_tool.py", TOOL_SCRIPT), ("project/right.py", TYPED), ("project/wrong.py", wrong)];
    files.extend(texts.map(|(name, text)| (name.to_owned(), text.to_owned())));
    let start = |name: &str, arguments: &[String], cwd: &RelPath| {
        checkers::launched(name, (machine, "{tree}/tool/perspt_tool.py"), tool, arguments, cwd)
    };
    let project = RelPath::parse("project").unwrap_or_else(|_| RelPath::root());
    let version = start("version", &["--version".to_owned()], &RelPath::root());
    Probe {
        tool: tool.to_owned(),
        files,
        steps: vec![version, start("run", arguments, &project)],
        role: StageRole::Required,
    }
}

/// Whether a tool's report names the wrong module and not the right one.
fn names_only_wrong(run: &StepOutput) -> bool {
    let printed = text(&run.stdout);
    run.end == StepEnd::Exited(1) && printed.contains("wrong.py") && !printed.contains("right.py")
}

/// What a probe's outputs say.
pub(crate) fn read(probe: &Probe, outputs: &[StepOutput]) -> ToolState {
    let install = install(&probe.tool).to_owned();
    let missing = |why: String| ToolState::Missing { why, install: install.clone() };
    let broken = |why: String| ToolState::Broken { why, install: install.clone() };
    let tool = &probe.tool;
    let Some(version) = output_of(outputs, "version") else { return missing("it was not run".to_owned()) };
    let printed = both_streams(version);
    match &version.end {
        StepEnd::Exited(0) => {}
        StepEnd::TimedOut => return broken(format!("`{tool} --version` did not answer")),
        StepEnd::NotStarted(why) => return missing(format!("the interpreter does not start: {why}")),
        StepEnd::Exited(_) if printed.contains(&format!("No module named {tool}")) => {
            return missing(first_line(&printed).to_owned());
        }
        StepEnd::Exited(_) | StepEnd::Signalled(_) => {
            let why =
                format!("`{tool} --version` ended with {}: {}", version.end.shown(), first_line(&printed));
            let is_interpreter = [PYTHON, UNITTEST].contains(&tool.as_str());
            return if is_interpreter { missing(why) } else { broken(why) };
        }
    }
    let Some(run) = output_of(outputs, "run") else { return broken("its project was not run".to_owned()) };
    if run.end == StepEnd::TimedOut {
        return broken(format!("{tool} did not answer on a project of ours"));
    }
    if saw_both(tool, run) {
        let version = first_line(&printed);
        if tool != PYTHON {
            return ToolState::works(version);
        }
        let modules = standard_modules(outputs);
        let lost = if modules.is_empty() { OLD } else { "" };
        return ToolState::Works { version: format!("{version}{lost}"), modules };
    }
    let printed = both_streams(run);
    let last = printed.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or("");
    broken(format!(
        "{tool} on a project of ours, half of it wrong on purpose, did not report that: {}, {last}",
        run.end.shown()
    ))
}

/// What the interpreter says of its standard library. Private modules are left out, and `test`: many projects call
/// their folder of tests so.
fn standard_modules(outputs: &[StepOutput]) -> BTreeSet<String> {
    let listed = output_of(outputs, MODULES).filter(|output| output.end.is_success());
    let names = listed.map(|output| text(&output.stdout)).unwrap_or_default();
    let is_public = |name: &&str| *name != "test" && (!name.starts_with('_') || *name == "__future__");
    names.split_whitespace().filter(is_public).map(str::to_owned).collect()
}

/// Whether exactly one thing was reported right and one wrong.
fn saw_both(tool: &str, run: &StepOutput) -> bool {
    let report = run.reports.get(REPORT).map(|bytes| text(bytes)).unwrap_or_default();
    match tool {
        PYTHON => {
            let checked = syntax::parse(&text(&run.stdout));
            let wrong: Vec<&str> = checked
                .files
                .iter()
                .filter(|file| file.problem.is_some())
                .map(|file| file.file.as_str())
                .collect();
            run.end.is_success() && checked.is_whole() && checked.files.len() == 2 && wrong == ["wrong.py"]
        }
        PYTEST => {
            let cases = junit::parse(&report).unwrap_or_default();
            let ends: BTreeMap<&str, TestEnd> =
                cases.iter().map(|case| (case.name.as_str(), case.end)).collect();
            run.end == StepEnd::Exited(1)
                && ends == BTreeMap::from([("test_fails", TestEnd::Failed), ("test_passes", TestEnd::Passed)])
        }
        _ if tool != UNITTEST => names_only_wrong(run),
        _ => {
            let ran = unittest::parse(&report);
            let ends: Vec<(&str, TestEnd)> = ran
                .results
                .iter()
                .map(|(name, result)| (name.rsplit("::").next().unwrap_or(name), result.0))
                .collect();
            ran.is_whole() && ends == [("test_fails", TestEnd::Failed), ("test_passes", TestEnd::Passed)]
        }
    }
}
