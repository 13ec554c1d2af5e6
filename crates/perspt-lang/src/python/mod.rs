//! Python: files are compiled in memory, tests are listed and run by pytest, or by a small unittest runner of
//! ours where pytest is missing. Types are checked where the project configures a checker. Start at `stages`, then
//! `syntax`, `types`, `ruff`, `pytest` and `unittest`, which read what came out.

mod checkers;
mod collection;
mod command;
mod doctests;
mod evidence;
mod ini;
pub(crate) mod layout;
mod modules;
mod package_dirs;
mod placeholders;
mod plants;
mod probe;
mod pytest;
mod refusal;
mod roots;
mod ruff;
mod settings;
mod stages;
mod syntax;
mod tox;
mod types;
mod undefined_names;
mod unittest;

use std::collections::{BTreeMap, BTreeSet};

use perspt_core::path::RelPath;
use perspt_core::reading::{Reading, StageKind, Status};
use perspt_core::residual::{Class, Residual, Severity};
use perspt_core::stage::{Preset, Root, Stage, Step, StepEnd, StepOutput};

use crate::plugin::{
    CommandKind, Files, FromCandidate, FurtherFindings, Host, Machine, NoTool, OldTestFile, Pair, Plant,
    Plugin, Probe, ReadContext, Stages, Structure, StructureFindings, Terms, ToolState, Tools, Words,
};
use crate::shared::compare::compare;
use crate::shared::file_names::{chooses_tools, is_test_data};
use crate::shared::old_tests;
use crate::shared::report::measured;
use crate::shared::stubs::new_stubs;
use layout::PythonLayout;

/// The plugin's name.
const NAME: &str = "python";

const SYNTAX_SCRIPT: &str = include_str!("../../assets/perspt_syntax.py");
const UNITTEST_SCRIPT: &str = include_str!("../../assets/perspt_unittest.py");
const TOOL_SCRIPT: &str = include_str!("../../assets/perspt_tool.py");
const LOADED_SCRIPT: &str = include_str!("../../assets/perspt_loaded.py");

/// The Python plugin.
pub(crate) struct Python;

fn is_manifest(path: &RelPath) -> bool {
    ["pyproject.toml", "setup.cfg", "setup.py"].contains(&path.name())
}

/// A file that runners look for tests in, by its name.
fn is_test_name(path: &RelPath) -> bool {
    let name = path.name();
    let named =
        name.starts_with("test_") || name.ends_with("_test.py") || ["test.py", "tests.py"].contains(&name);
    named && path.extension() == Some("py")
}

/// Whether a file lies below a folder of tests.
fn is_in_tests(path: &RelPath) -> bool {
    path.ancestors().any(|folder| ["tests", "test"].contains(&folder.name()))
}

/// What tests are made of, their data and expected values included.
fn is_test_material(path: &RelPath) -> bool {
    let is_material = is_in_tests(path) || is_test_name(path) || is_test_data(path, "py");
    is_material && path.extension() != Some("rs")
}

/// A source that holds tests or helps them.
fn is_test_source(path: &RelPath) -> bool {
    let helps = is_in_tests(path) || is_test_name(path);
    helps && path.extension() == Some("py") && path.name() != "conftest.py"
}

fn decides_evidence(path: &RelPath) -> bool {
    let files = [
        "conftest.py",
        "pytest.ini",
        ".pytest.ini",
        "pytest.toml",
        ".pytest.toml",
        "tox.ini",
        "noxfile.py",
        "mypy.ini",
        ".mypy.ini",
        "pyrightconfig.json",
        "ty.toml",
        "sitecustomize.py",
        "usercustomize.py",
        "pytest.py",
        "unittest.py",
        "_pytest.py",
        "pluggy.py",
    ];
    let packages = ["pytest", "_pytest", "unittest", "pluggy"];
    let in_package = path.ancestors().any(|folder| {
        let at_import_root = folder.parent().is_some_and(|above| above.is_root() || above.name() == "src");
        packages.contains(&folder.name()) && at_import_root
    });
    let named = files.contains(&path.name()) || path.extension() == Some("pth");
    named || in_package || is_installed(path) || chooses_python(path)
}

/// Whether a file says which Python is run.
fn chooses_python(path: &RelPath) -> bool {
    [".python-version", "runtime.txt"].contains(&path.name()) || chooses_tools(path)
}

/// Whether a file belongs to the description of an installed distribution. pytest loads the plugins that such a
/// description on the path names, without any import in the project.
fn is_installed(path: &RelPath) -> bool {
    let describes =
        |name: &str| name.ends_with(".dist-info") || name.ends_with(".egg-info") || name == "EGG-INFO";
    path.parts().any(describes)
}

fn has_error(residuals: &[Residual]) -> bool {
    residuals.iter().any(|residual| residual.severity == Severity::Error)
}

/// Modules that a test file could not import and that are nowhere in the tree, nor a part of a package that is.
fn absent_modules(residuals: &[Residual], context: &ReadContext<'_>) -> BTreeSet<String> {
    let failed = residuals.iter().filter(|residual| residual.class == Class::ImportError);
    let named = failed.filter_map(|residual| residual.symbol.as_deref());
    named.filter(|module| !modules::is_own(context.files, module)).map(str::to_owned).collect()
}

/// The files in which a runner finds its settings.
fn settings_files(context: &ReadContext<'_>) -> BTreeSet<RelPath> {
    let names = ["pyproject.toml", "pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg"];
    let paths = names.into_iter().filter_map(|name| context.root.dir.join(name).ok());
    paths.filter(|path| context.files.tree().entries.contains_key(path)).collect()
}

impl Plugin for Python {
    fn name(&self) -> &'static str {
        NAME
    }
}

impl Stages for Python {
    fn roots(&self, files: &dyn Files) -> Vec<Root> {
        roots::find(files)
    }

    fn machine(&self, host: &dyn Host) -> Machine {
        stages::machine(host)
    }

    fn assets(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("perspt_syntax.py", SYNTAX_SCRIPT),
            ("perspt_unittest.py", UNITTEST_SCRIPT),
            ("perspt_loaded.py", LOADED_SCRIPT),
            ("perspt_tool.py", TOOL_SCRIPT),
        ]
    }

    fn probes(&self, machine: &Machine) -> Vec<Probe> {
        probe::probes(machine)
    }

    fn probes_for(&self, files: &dyn Files, machine: &Machine, _preset: Preset) -> Vec<Probe> {
        let configured = probe::of_configured(files, machine);
        probe::probes(machine).into_iter().chain(configured).collect()
    }

    fn read_probe(&self, probe: &Probe, outputs: &[StepOutput]) -> ToolState {
        probe::read(probe, outputs)
    }

    fn stages(&self, root: &Root, files: &dyn Files, terms: &Terms<'_>) -> Vec<Result<Stage, NoTool>> {
        stages::stages(root, files, terms)
    }

    fn missing_tool(&self, root: &Root, files: &dyn Files, tools: &Tools) -> Option<NoTool> {
        stages::missing_tool(root, files, tools)
    }

    fn continues_after(&self, _stage: &Stage, output: &StepOutput) -> bool {
        // Files that could not be collected keep the others from nothing.
        let collected = output.step == "collect" && matches!(output.end, StepEnd::Exited(1 | 2));
        // What old tests find keeps the new ones from nothing.
        let ran = output.step == stages::RUN && matches!(output.end, StepEnd::Exited(1 | 2 | 5));
        // Lines that ruff would have otherwise keep its formatter from nothing.
        let linted = output.step == ruff::CHECK_STEP && output.end == StepEnd::Exited(1);
        output.end.is_success() || collected || ran || linted
    }

    fn list_packages(&self, machine: &Machine) -> Option<Step> {
        Some(stages::list_packages(machine))
    }

    fn read(&self, stage: &Stage, outputs: &[StepOutput], context: &ReadContext<'_>) -> Reading {
        match stage.kind {
            StageKind::Test if stage.tool == stages::UNITTEST => unittest::read(stage, outputs, context),
            StageKind::Test => pytest::read(stage, outputs, context),
            StageKind::Syntax => syntax::read(stage, outputs, context),
            StageKind::Type => types::read(stage, outputs, context),
            StageKind::Lint => ruff::read(stage, outputs, context),
            StageKind::Structure | StageKind::Build => {
                let status = Status::Unavailable("Python has no such stage".to_owned());
                Reading { status, ..measured(stage, context, Vec::new(), None) }
            }
        }
    }

    fn further_checks(&self, stage: StageKind, root: &Root, pair: &Pair<'_>, machine: &Machine) -> Vec<Step> {
        if stage == StageKind::Syntax { undefined_names::checks(root, pair, machine) } else { Vec::new() }
    }

    fn read_further(
        &self,
        _stage: &Stage,
        output: &StepOutput,
        context: &ReadContext<'_>,
    ) -> Option<FurtherFindings> {
        undefined_names::read(output, context)
    }

    fn plants(&self, stage: StageKind, root: &Root, files: &dyn Files, name: &str) -> Vec<Plant> {
        plants::plants(stage, root, files, name)
    }

    fn environment_fault(&self, reading: &Reading) -> Option<String> {
        if let Some(refused) = reading.residuals.iter().find(|residual| residual.class == refusal::CLASS) {
            return Some(refused.message.clone());
        }
        let missing = reading.residuals.iter().filter(|residual| residual.class == Class::ModuleMissing);
        let module = missing.filter_map(|residual| residual.symbol.as_deref()).next()?;
        let top = module.split('.').next().unwrap_or(module);
        Some(format!("Python module `{top}` is not installed"))
    }

    fn missing_files(&self, reading: &Reading, root: &Root, files: &dyn Files) -> Vec<RelPath> {
        let missing = reading.residuals.iter().filter(|residual| residual.class == Class::ImportError);
        let modules: Vec<&str> = missing.filter_map(|residual| residual.symbol.as_deref()).collect();
        modules::files_of(&modules, &roots::import_roots(files, root))
    }
}

impl Structure for Python {
    fn is_manifest(&self, path: &RelPath) -> bool {
        is_manifest(path)
    }

    fn is_source(&self, path: &RelPath) -> bool {
        path.extension() == Some("py")
    }

    fn is_test_file(&self, path: &RelPath) -> bool {
        is_test_source(path)
    }

    fn is_lockfile(&self, path: &RelPath) -> bool {
        ["poetry.lock", "uv.lock", "pdm.lock", "Pipfile.lock"].contains(&path.name())
    }

    fn is_support_file(&self, path: &RelPath) -> bool {
        let requirements = path.name().starts_with("requirements") && path.extension() == Some("txt");
        path.name() == "__init__.py" || is_manifest(path) || requirements
    }

    fn decides_evidence(&self, path: &RelPath) -> bool {
        decides_evidence(path)
    }

    fn structure(&self, pair: &Pair<'_>, tools: &Tools) -> StructureFindings {
        let compared = compare(pair, &PythonLayout::of(pair));
        let is_meant = |source: &_, spot: &_| placeholders::is_meant(pair.candidate, source, spot);
        let residuals = new_stubs(&compared, &is_meant);
        let mut inventory = compared.inventory.clone();
        inventory.evidence = evidence::changed(pair, &compared, stages::standard_modules(tools));
        StructureFindings { residuals, inventory }
    }

    fn old_tests(&self, pair: &Pair<'_>, taken: &FromCandidate) -> BTreeMap<RelPath, OldTestFile> {
        let layout = PythonLayout::of(pair);
        old_tests::old_tests(pair, &layout, &compare(pair, &layout), taken)
    }

    fn take_more(&self, pair: &Pair<'_>, so_far: &FromCandidate, reading: &Reading) -> FromCandidate {
        let layout = PythonLayout::of(pair);
        old_tests::take_more(pair, &layout, &compare(pair, &layout), so_far, reading)
    }
}

impl Words for Python {
    fn task_words(&self) -> &'static [&'static str] {
        &["python", "python3", "pytest", "unittest", "pyproject.toml", "django", "flask", ".py"]
    }

    fn manifest_name(&self) -> &'static str {
        "pyproject.toml"
    }

    fn layout_hint(&self) -> &'static str {
        include_str!("../../templates/python-layout.txt")
    }

    fn new_test_file(&self, source: &RelPath, tests: &[RelPath]) -> Option<RelPath> {
        let stem = source.name().strip_suffix(".py")?;
        let named = |path: &&RelPath| path.name().contains(stem);
        let beside = tests.iter().find(named).or(tests.first()).unwrap_or(source);
        let name = format!("test_{stem}_task.py");
        match beside.parent() {
            Some(folder) => folder.join(&name).ok(),
            None => RelPath::parse(&name).ok(),
        }
    }

    fn correction_fragment(&self) -> &'static str {
        include_str!("../../templates/python-correction.txt")
    }

    fn command(&self, argv: &[String], _root: &Root, _files: &dyn Files) -> CommandKind {
        command::kind(argv)
    }

    fn packages(&self, files: &dyn Files) -> BTreeSet<String> {
        command::packages(files)
    }
}
