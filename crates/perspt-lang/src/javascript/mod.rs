//! JavaScript and TypeScript: files are parsed by Node or the project's own compiler, types are checked by tsc where the
//! project has it, tests are run by node --test, Vitest, Jest or Mocha and read from their reports. Start at `stages`, then
//! `runner`, which says what runs a package's tests, and `tests`, which reads what came out.

mod command;
mod evidence;
pub(crate) mod layout;
mod lint;
mod manifest;
mod modules;
mod plants;
mod probe;
mod results;
mod roots;
mod runner;
mod stages;
mod syntax;
mod tests;
mod types;

use std::collections::{BTreeMap, BTreeSet};

use perspt_core::path::RelPath;
use perspt_core::reading::{Reading, StageKind, Status};
use perspt_core::residual::{Class, Residual};
use perspt_core::stage::{Root, Stage, StepEnd, StepOutput};

use crate::plugin::{
    CommandKind, Files, FromCandidate, Host, Machine, NoTool, OldTestFile, Pair, Plant, Plugin, Probe,
    ReadContext, Stages, Structure, StructureFindings, Terms, ToolState, Tools, Words,
};
use crate::shared::compare::compare;
use crate::shared::file_names::chooses_tools;
use crate::shared::old_tests;
use crate::shared::report::measured;
use crate::shared::stubs::new_stubs;
use crate::syntax::{Kind, Source, Spot};
use layout::JavaScriptLayout;
use manifest::MANIFEST;

/// The plugin's name.
const NAME: &str = "javascript";

const SYNTAX_SCRIPT: &str = include_str!("../../assets/perspt_syntax.mjs");
const NODE_SCRIPT: &str = include_str!("../../assets/perspt_node.mjs");
const MOCHA_SCRIPT: &str = include_str!("../../assets/perspt_mocha.cjs");
const LOADED_SCRIPT: &str = include_str!("../../assets/perspt_loaded.cjs");

/// Endings of sources.
const SOURCES: [&str; 8] = ["js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx"];

/// The JavaScript plugin.
pub(crate) struct JavaScript;

fn is_source(path: &RelPath) -> bool {
    path.extension().is_some_and(|extension| SOURCES.contains(&extension)) && !path.name().contains(".min.")
}

/// A file that runners look for tests in, by its name.
fn is_test_name(path: &RelPath) -> bool {
    let stem = path.name().rsplit_once('.').map_or("", |(stem, _)| stem);
    let named = [".test", ".spec", "-test", "_test"].iter().any(|end| stem.ends_with(end));
    let in_folder = path.parent().is_some_and(|folder| folder.name() == "__tests__");
    is_source(path) && (named || in_folder || stem == "test" || stem.starts_with("test-"))
}

/// Whether a file lies below a folder of tests.
fn is_in_tests(path: &RelPath) -> bool {
    path.ancestors().any(|folder| ["tests", "test", "__tests__", "spec"].contains(&folder.name()))
}

/// A source that holds tests or helps them.
fn is_test_source(path: &RelPath) -> bool {
    is_source(path) && (is_test_name(path) || is_in_tests(path))
}

/// Whether a file settles how a runner of tests works.
fn is_runner_settings(path: &RelPath) -> bool {
    let beginnings =
        ["vitest.", "vite.config.", "jest.", "babel.config.", ".babelrc", ".swcrc", ".mocharc", ".c8rc"];
    let named = beginnings.iter().any(|begin| path.name().starts_with(begin));
    named && !is_test_name(path)
}

fn decides_evidence(path: &RelPath) -> bool {
    let files = [".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", ".nvmrc", ".node-version"];
    let is_settings = path.name().starts_with("tsconfig") && path.extension() == Some("json");
    // What is installed is no part of a project; a file put there stands before what is.
    let installed = path.parts().any(|part| part == stages::MODULES);
    let named = files.contains(&path.name()) || is_runner_settings(path) || lint::is_configuration(path);
    named || is_settings || installed || chooses_tools(path)
}

/// The files in which the tools of a root find their settings.
fn settings_files(context: &ReadContext<'_>) -> BTreeSet<RelPath> {
    let entries = context.files.tree().entries.keys();
    let settles = |path: &&RelPath| path.name() == MANIFEST || is_runner_settings(path);
    entries.filter(|path| path.is_within(&context.root.dir)).filter(settles).cloned().collect()
}

/// Whether a placeholder is for others to fill in: a method of a class that another class of the file extends, or that
/// nothing is made of.
fn is_meant(source: &Source, spot: &Spot) -> bool {
    let [.., class, _] = spot.path.as_slice() else { return false };
    let says = |tokens: &[crate::syntax::Token]| {
        let words: Vec<&str> = tokens.iter().map(|token| token.text.as_str()).collect();
        words.windows(2).any(|pair| pair[0] == "extends" && pair[1] == class)
            || words.first() == Some(&"abstract")
    };
    source.items.iter().filter(|item| item.kind == Kind::Head).any(|item| says(&item.tokens))
}

impl Plugin for JavaScript {
    fn name(&self) -> &'static str {
        NAME
    }
}

impl Stages for JavaScript {
    fn roots(&self, files: &dyn Files) -> Vec<Root> {
        roots::find(files)
    }

    fn claims(&self, _own: &str, above: &str, below: &RelPath) -> Option<&'static str> {
        manifest::takes_in(&manifest::workspaces_in(above), below.as_str()).then_some("npm workspace")
    }

    fn machine(&self, host: &dyn Host) -> Machine {
        stages::machine(host)
    }

    fn assets(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("perspt_syntax.mjs", SYNTAX_SCRIPT),
            ("perspt_node.mjs", NODE_SCRIPT),
            ("perspt_mocha.cjs", MOCHA_SCRIPT),
            ("perspt_loaded.cjs", LOADED_SCRIPT),
        ]
    }

    fn probes(&self, machine: &Machine) -> Vec<Probe> {
        probe::probes(machine)
    }

    fn read_probe(&self, probe: &Probe, outputs: &[StepOutput]) -> ToolState {
        probe::read(probe, outputs)
    }

    fn stages(&self, root: &Root, files: &dyn Files, terms: &Terms<'_>) -> Vec<Result<Stage, NoTool>> {
        stages::stages(root, files, terms)
    }

    fn continues_after(&self, _stage: &Stage, output: &StepOutput) -> bool {
        // What one package's tests or types show keeps the other packages from nothing.
        matches!(output.end, StepEnd::Exited(_))
    }

    fn read(&self, stage: &Stage, outputs: &[StepOutput], context: &ReadContext<'_>) -> Reading {
        match stage.kind {
            StageKind::Test => tests::read(stage, outputs, context),
            StageKind::Syntax => syntax::read(stage, outputs, context),
            StageKind::Type => types::read(stage, outputs, context),
            StageKind::Lint => lint::read(stage, outputs, context),
            StageKind::Structure | StageKind::Build => {
                let status = Status::Unavailable("JavaScript has no such stage".to_owned());
                Reading { status, ..measured(stage, context, Vec::new(), None) }
            }
        }
    }

    fn plants(&self, stage: StageKind, root: &Root, files: &dyn Files, name: &str) -> Vec<Plant> {
        plants::plants(stage, root, files, name)
    }

    fn environment_fault(&self, reading: &Reading) -> Option<String> {
        let of = |class: Class| reading.residuals.iter().find(|residual| residual.class == class);
        if let Some(refused) = of(Class::ToolRefused) {
            return Some(refused.message.clone());
        }
        // With nothing but settings to complain of, the compiler may have looked at no file.
        let alone = reading.residuals.iter().all(|residual| residual.class == Class::ManifestError);
        let refused = of(Class::ManifestError).filter(|_| alone && reading.stage.kind == StageKind::Type);
        if let Some(refused) = refused {
            return Some(format!("tsc refuses the project's settings: {}", refused.message));
        }
        let missing = of(Class::ModuleMissing).filter(|_| reading.stage.kind == StageKind::Test)?;
        let package = missing.symbol.as_deref().unwrap_or_default();
        Some(format!("the package `{package}` is not installed: install the project's packages"))
    }

    fn missing_files(&self, reading: &Reading, _root: &Root, _files: &dyn Files) -> Vec<RelPath> {
        let missing = reading.residuals.iter().filter(|residual| residual.class == Class::ImportError);
        missing.filter_map(|residual: &Residual| RelPath::parse(residual.symbol.as_deref()?).ok()).collect()
    }
}

impl Structure for JavaScript {
    fn is_manifest(&self, path: &RelPath) -> bool {
        path.name() == MANIFEST
    }

    fn is_source(&self, path: &RelPath) -> bool {
        is_source(path)
    }

    fn is_test_file(&self, path: &RelPath) -> bool {
        is_test_source(path)
    }

    fn is_lockfile(&self, path: &RelPath) -> bool {
        let locks = ["package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "yarn.lock", "bun.lock"];
        locks.contains(&path.name())
    }

    fn is_support_file(&self, path: &RelPath) -> bool {
        let is_index = path.name().rsplit_once('.').is_some_and(|(stem, _)| stem == "index");
        path.name() == MANIFEST || (is_source(path) && is_index)
    }

    fn decides_evidence(&self, path: &RelPath) -> bool {
        decides_evidence(path)
    }

    fn structure(&self, pair: &Pair<'_>, _tools: &Tools) -> StructureFindings {
        let compared = compare(pair, &JavaScriptLayout::of(pair));
        let residuals = new_stubs(&compared, &is_meant);
        let mut inventory = compared.inventory.clone();
        inventory.evidence = evidence::changed(pair, &compared);
        StructureFindings { residuals, inventory }
    }

    fn old_tests(&self, pair: &Pair<'_>, taken: &FromCandidate) -> BTreeMap<RelPath, OldTestFile> {
        let layout = JavaScriptLayout::of(pair);
        old_tests::old_tests(pair, &layout, &compare(pair, &layout), taken)
    }

    fn take_more(&self, pair: &Pair<'_>, so_far: &FromCandidate, reading: &Reading) -> FromCandidate {
        let layout = JavaScriptLayout::of(pair);
        old_tests::take_more(pair, &layout, &compare(pair, &layout), so_far, reading)
    }
}

impl Words for JavaScript {
    fn task_words(&self) -> &'static [&'static str] {
        &[
            "javascript",
            "typescript",
            "node",
            "nodejs",
            "node.js",
            "npm",
            "package.json",
            "express",
            "react",
            "vitest",
            "jest",
            ".js",
            ".ts",
            ".tsx",
        ]
    }

    fn manifest_name(&self) -> &'static str {
        MANIFEST
    }

    fn layout_hint(&self) -> &'static str {
        include_str!("../../templates/javascript-layout.txt")
    }

    fn new_test_file(&self, source: &RelPath, tests: &[RelPath]) -> Option<RelPath> {
        let (stem, extension) = source.name().rsplit_once('.')?;
        let beside = tests.iter().find(|path| path.name().contains(stem)).or(tests.first());
        let extension = beside.and_then(|path| path.extension()).unwrap_or(extension);
        let word = if beside.is_some_and(|path| path.name().contains(".spec.")) { "spec" } else { "test" };
        let name = format!("{stem}-task.{word}.{extension}");
        beside.unwrap_or(source).parent()?.join(&name).ok()
    }

    fn correction_fragment(&self) -> &'static str {
        include_str!("../../templates/javascript-correction.txt")
    }

    fn command(&self, argv: &[String], _root: &Root, _files: &dyn Files) -> CommandKind {
        command::kind(argv)
    }

    fn dependencies(&self, files: &dyn Files) -> BTreeSet<String> {
        command::dependencies(files)
    }

    fn packages(&self, files: &dyn Files) -> BTreeSet<String> {
        command::packages(files)
    }
}
