//! What Python is asked to do: compile every file in memory, then list and run the tests.

use std::collections::BTreeSet;

use perspt_core::path::RelPath;
use perspt_core::reading::StageKind;
use perspt_core::stage::{Preset, Profile, Root, Stage, Step};

use super::checkers::{self, Checker, RUFF};
use super::layout::PYTHON as SYNTAX;
use super::roots;
use super::settings::Settings;
use super::tox::TestCommand;
use crate::plugin::{Files, Host, Machine, NoTool, Selection, Terms, ToolState, Tools};
use crate::shared::step::{in_tree, step, with_env};
use crate::shared::works::works;
use crate::syntax::parse;

/// The interpreter, pytest and unittest, as their probes call them.
pub(crate) const PYTHON: &str = "python3";
pub(crate) const PYTEST: &str = "pytest";
pub(crate) const UNITTEST: &str = "unittest";

/// Where the reports of a test stage are written.
pub(crate) const COLLECTED: &str = "{tmp}/perspt-collected.xml";
pub(crate) const RESULTS: &str = "{tmp}/perspt-results.xml";
pub(crate) const NEW_RESULTS: &str = "{tmp}/perspt-new-results.xml";
pub(crate) const LOADED: &str = "{tmp}/perspt-loaded";
pub(crate) const NEW_LOADED: &str = "{tmp}/perspt-new-loaded";
pub(crate) const LISTED: &str = "{tmp}/perspt-listed.jsonl";
pub(crate) const RAN: &str = "{tmp}/perspt-ran.jsonl";

/// The steps that run tests: those of files that were there, and those of new files.
pub(crate) const RUN: &str = "run";
pub(crate) const RUN_NEW: &str = "run-new";

/// The environment that a project keeps beside its files. It is used where it is.
const VENV: &str = ".venv";

/// The project's own interpreter: its environment's, else the active one's, else the first on the path. An environment
/// whose interpreter is gone is still the project's own. With the next one, other modules would be measured.
pub(crate) fn machine(host: &dyn Host) -> Machine {
    let of_environment = |folder: String| {
        let python = format!("{folder}/bin/python");
        let is_environment = host.exists(&format!("{folder}/pyvenv.cfg")) || host.exists(&python);
        is_environment.then_some(python)
    };
    let beside = format!("{}/{VENV}", host.workspace());
    let mounted = RelPath::parse(VENV).ok().filter(|_| host.is_folder(&beside));
    let python = of_environment(beside).or_else(|| host.variable("VIRTUAL_ENV").and_then(of_environment));
    // Packages that were installed for the user lie in the user's home.
    let homes = [host.tool_home("PYTHONUSERBASE", ".local"), host.tool_home("PYENV_ROOT", ".pyenv")];
    Machine {
        programs: python.into_iter().map(|python| (PYTHON.to_owned(), python)).collect(),
        env: homes.into_iter().flatten().collect(),
        mounted: mounted.into_iter().collect(),
        ..Machine::default()
    }
}

pub(crate) fn interpreter(machine: &Machine) -> &str {
    machine.programs.get(PYTHON).map_or("python3", String::as_str)
}

/// The modules of the standard library, as far as the interpreter lists them.
pub(crate) fn standard_modules(tools: &Tools) -> &BTreeSet<String> {
    static NONE: BTreeSet<String> = BTreeSet::new();
    match tools.get(PYTHON) {
        Some(ToolState::Works { modules, .. }) => modules,
        Some(ToolState::Missing { .. } | ToolState::Broken { .. }) | None => &NONE,
    }
}

/// The stages of a root.
pub(crate) fn stages(
    root: &Root,
    files: &dyn Files,
    &Terms { machine, tools, selection, preset }: &Terms<'_>,
) -> Vec<Result<Stage, NoTool>> {
    let python = interpreter(machine);
    let syntax = works(StageKind::Syntax, PYTHON, tools)
        .map(|()| Stage::required(StageKind::Syntax, "python compile", vec![compile(python, root, files)]));
    let test = runner(tools).map(|runner| match runner {
        Runner::Pytest => Stage::required(StageKind::Test, PYTEST, pytest(python, root, files, selection)),
        Runner::Unittest => {
            Stage::required(StageKind::Test, UNITTEST, unittest(python, root, files, selection))
        }
    });
    let types = types(root, files, machine, tools);
    let lint = lint(root, files, (machine, tools), preset);
    [syntax].into_iter().chain(types).chain(lint).chain([test]).collect()
}

/// The first type checker that the root configures and that works. Another one in its place would judge by rules that
/// nobody chose.
fn types(root: &Root, files: &dyn Files, machine: &Machine, tools: &Tools) -> Option<Result<Stage, NoTool>> {
    let configured = checkers::configured(files, root);
    let works = |checker: Checker| works(StageKind::Type, checker.name(), tools).map(|()| checker);
    let first = *configured.first()?;
    let chosen = configured.into_iter().find_map(|checker| works(checker).ok());
    Some(chosen.map_or_else(|| works(first), Ok).map(|checker| {
        let step = checkers::type_step(checker, root, files, machine);
        Stage::required(StageKind::Type, checker.name(), vec![step])
    }))
}

/// ruff, where the root configures it.
fn lint(
    root: &Root,
    files: &dyn Files,
    (machine, tools): (&Machine, &Tools),
    preset: Preset,
) -> Option<Result<Stage, NoTool>> {
    let is_strict = preset == Preset::Strict;
    let stage = || {
        let steps = checkers::ruff_steps(root, machine, is_strict && checkers::has_ruff_format(files, root));
        let made = if is_strict { Stage::required } else { Stage::shown };
        made(StageKind::Lint, RUFF, steps)
    };
    checkers::has_ruff(files, root).then(|| works(StageKind::Lint, RUFF, tools).map(|()| stage()))
}

enum Runner {
    Pytest,
    Unittest,
}

/// pytest where it works, unittest where it is missing. A pytest that is there and broken is named, not passed
/// over.
fn runner(tools: &Tools) -> Result<Runner, NoTool> {
    let Err(no_pytest) = works(StageKind::Test, PYTEST, tools) else { return Ok(Runner::Pytest) };
    if matches!(tools.get(PYTEST), Some(ToolState::Broken { .. })) {
        return Err(no_pytest);
    }
    works(StageKind::Test, UNITTEST, tools).map(|()| Runner::Unittest)
}

/// pytest, where it is missing and there are tests that unittest cannot see.
pub(crate) fn missing_tool(root: &Root, files: &dyn Files, tools: &Tools) -> Option<NoTool> {
    let no_pytest = works(StageKind::Test, PYTEST, tools).err()?;
    let file = needs_pytest(root, files).into_iter().next()?;
    Some(NoTool { why: format!("{}, and the tests in {file} need it", no_pytest.why), ..no_pytest })
}

/// Test files of a root that plain unittest does not see all of.
pub(crate) fn needs_pytest(root: &Root, files: &dyn Files) -> Vec<RelPath> {
    let own = roots::own_sources(files, root);
    let tests = own.into_iter().filter(super::is_test_name);
    tests.filter(|path| files.text(path).is_some_and(|text| is_for_pytest(&text))).collect()
}

/// Whether pytest alone sees all tests of a text: it is imported, or a test is in no class, or in one without bases.
fn is_for_pytest(text: &str) -> bool {
    let source = parse(&SYNTAX, text);
    let has_bases = |scope: &str| {
        source.item(scope).is_some_and(|head| head.tokens.iter().any(|token| token.text == "("))
    };
    let imported = source.imports.iter().flat_map(|import| &import.binds);
    let mut origins = imported.map(|(_, origin)| origin.split('.').next().unwrap_or(origin));
    origins.any(|origin| origin == "pytest") || source.tests().any(|test| !has_bases(&test.scope))
}

/// Prints the interpreter and every package that it finds, with its version and place.
pub(crate) fn list_packages(machine: &Machine) -> Step {
    const SCRIPT: &str = "import os, sys, importlib.metadata as m\n\
        user = [os.environ.get('PYTHONUSERBASE', ''), 'lib', 'python%d.%d' % sys.version_info[:2], 'site-packages']\n\
        found = m.distributions(path=sys.path + [os.path.join(*user)])\n\
        print(sys.version, sys.executable)\n\
        print(sorted((d.metadata['Name'] or '', d.version, str(d.locate_file(''))) for d in found))";
    step("environment", &[interpreter(machine), "-I", "-B", "-c", SCRIPT], &RelPath::root())
}

/// Started with `-I`, so that nothing of the tree is imported.
fn compile(python: &str, root: &Root, files: &dyn Files) -> Step {
    let mut argv = vec![python, "-I", "-B", "{assets}/perspt_syntax.py"];
    let dir = in_tree(&root.dir);
    let skipped: Vec<String> = roots::inside(files, root).iter().map(in_tree).collect();
    argv.push(&dir);
    argv.extend(skipped.iter().map(String::as_str));
    step("compile", &argv, &root.dir)
}

/// Environment of anything that runs the tree's code: no byte code that could be stale, one order of sets,
/// and output that can be read.
const RUNS_CODE: [(&str, &str); 5] = [
    ("PYTHONDONTWRITEBYTECODE", "1"),
    ("PYTHONHASHSEED", "0"),
    ("PYTHONIOENCODING", "utf-8"),
    ("PY_COLORS", "0"),
    ("COVERAGE_FILE", "{tmp}/perspt-coverage"),
];

fn runs_code(step: Step) -> Step {
    Step { profile: Profile::Test, ..with_env(step, &RUNS_CODE) }
}

/// `--verbosity` and `--maxfail` override what a project's own options say: the listing's form depends on the
/// first, and a run that stops early reports fewer tests than it announced. New test files run in a process of their
/// own, so that they cannot help the old ones.
fn pytest(python: &str, root: &Root, files: &dyn Files, selection: &Selection) -> Vec<Step> {
    let import_roots: Vec<String> = roots::import_roots(files, root).iter().map(in_tree).collect();
    let rootdir = format!("--rootdir={}", in_tree(&root.dir));
    let ignored: Vec<String> =
        roots::inside(files, root).iter().map(|dir| format!("--ignore={}", in_tree(dir))).collect();
    let settings = Settings::of(files, &root.dir);
    let tox = TestCommand::of(files, &root.dir);
    let testpaths = (!settings.testpaths_of_tox.is_empty())
        .then(|| format!("testpaths={}", settings.testpaths_of_tox.join(" ")));
    let made = |name: &str, (report, loaded): (&str, &str), extra: &[&str]| {
        let junit = format!("--junitxml={report}");
        let mut argv = vec![python, "-m", "pytest"];
        argv.extend(extra);
        argv.extend([
            "--verbosity=-1",
            "--color=no",
            "-p",
            "no:cacheprovider",
            "-p",
            "perspt_loaded",
            "--continue-on-collection-errors",
        ]);
        argv.extend(["--maxfail=0", "-o", "junit_family=xunit1", "--junit-prefix=", &rootdir, &junit]);
        argv.extend(ignored.iter().chain(&tox.options).map(String::as_str));
        argv.extend(testpaths.iter().flat_map(|paths| ["-o", paths]));
        let mut step = runs_code(step(name, &argv, &root.dir));
        let mut paths = import_roots.clone();
        for (name, value) in &tox.env {
            match name.as_str() {
                "PYTHONPATH" => paths.push(value.clone()),
                _ => step.env.extend([(name.clone(), value.clone())]),
            }
        }
        step.env.insert("PYTHONPATH".to_owned(), format!("{}:{{assets}}", paths.join(":")));
        step.env.insert("PERSPT_LOADED".to_owned(), loaded.to_owned());
        step.env.insert("PERSPT_TREE".to_owned(), "{tree}".to_owned());
        step.reports = vec![report.to_owned(), loaded.to_owned()];
        step
    };
    let collect = made("collect", (COLLECTED, LOADED), &["--collect-only"]);
    if !selection.only.is_empty() {
        let only: BTreeSet<String> = selection.only.iter().map(|(path, _)| in_tree(path)).collect();
        let only: Vec<&str> = only.iter().map(String::as_str).collect();
        return vec![collect, made(RUN, (RESULTS, LOADED), &only)];
    }
    let tests: Vec<RelPath> =
        roots::own_sources(files, root).into_iter().filter(|path| settings.names_tests(path)).collect();
    let (new, old): (Vec<&RelPath>, Vec<&RelPath>) =
        tests.iter().partition(|path| selection.new_tests.contains(path));
    if new.is_empty() || old.is_empty() {
        return vec![collect, made(RUN, (RESULTS, LOADED), &[])];
    }
    let new: Vec<String> = new.into_iter().map(in_tree).collect();
    let without: Vec<String> = new.iter().map(|path| format!("--ignore={path}")).collect();
    let without: Vec<&str> = without.iter().map(String::as_str).collect();
    let new: Vec<&str> = new.iter().map(String::as_str).collect();
    vec![collect, made(RUN, (RESULTS, LOADED), &without), made(RUN_NEW, (NEW_RESULTS, NEW_LOADED), &new)]
}

/// The runner sets the import roots itself, after it has imported what it needs.
fn unittest(python: &str, root: &Root, files: &dyn Files, selection: &Selection) -> Vec<Step> {
    let dir = in_tree(&root.dir);
    let flagged = |flag: &str, dirs: Vec<RelPath>| -> Vec<String> {
        dirs.iter().flat_map(|dir| [flag.to_owned(), in_tree(dir)]).collect()
    };
    let paths = flagged("--path", roots::import_roots(files, root));
    let skipped = flagged("--skip", roots::inside(files, root));
    let only = flagged("--only", selection.only.iter().map(|(path, _)| path.clone()).collect());
    let made = |name: &str, report: &str| {
        let mut argv = vec![python, "-B", "{assets}/perspt_unittest.py", name, &dir, report];
        argv.extend(paths.iter().chain(&skipped).chain(&only).map(String::as_str));
        let mut step = runs_code(step(name, &argv, &root.dir));
        step.reports = vec![report.to_owned()];
        step
    };
    vec![made("list", LISTED), made("run", RAN)]
}
