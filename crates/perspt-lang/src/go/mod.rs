//! Go: packages are listed and compiled by `go list`, vetted, and tested by `go test -json`. Start at `stages`, then
//! `list`, `build` and `run`, which read what came out.

mod build;
mod command;
mod diagnostics;
mod evidence;
pub(crate) mod layout;
mod list;
mod manifest;
mod plants;
mod probe;
mod roots;
mod run;
mod stages;
mod vet;

use std::collections::{BTreeMap, BTreeSet};

use perspt_core::path::RelPath;
use perspt_core::reading::{Reading, StageKind, Status};
use perspt_core::residual::Class;
use perspt_core::stage::{Root, Stage, Step, StepEnd, StepOutput};

use crate::plugin::{
    CommandKind, Fetch, Files, FromCandidate, Host, Machine, NoTool, OldTestFile, Pair, Plant, Plugin, Probe,
    ReadContext, Stages, Structure, StructureFindings, Terms, ToolState, Tools, Words,
};
use crate::shared::compare::compare;
use crate::shared::file_names::chooses_tools;
use crate::shared::old_tests;
use crate::shared::report::measured;
use crate::shared::stubs::new_stubs;
use layout::GoLayout;

/// The plugin's name.
const NAME: &str = "go";

/// The Go plugin.
pub(crate) struct Go;

fn is_test_source(path: &RelPath) -> bool {
    path.name().ends_with("_test.go")
}

fn decides_evidence(path: &RelPath) -> bool {
    match path.name() {
        "go.work" | "go.env" => true,
        "modules.txt" => path.parent().is_some_and(|folder| folder.name() == "vendor"),
        _ => chooses_tools(path),
    }
}

impl Plugin for Go {
    fn name(&self) -> &'static str {
        NAME
    }
}

impl Stages for Go {
    fn roots(&self, files: &dyn Files) -> Vec<Root> {
        roots::find(files)
    }

    fn claims(&self, _own: &str, above: &str, below: &RelPath) -> Option<&'static str> {
        let above = manifest::Manifest::parse(above);
        let is_this = |used: &str| RelPath::parse(used).is_ok_and(|used| used == *below);
        above.uses().any(is_this).then_some("Go workspace")
    }

    fn machine(&self, host: &dyn Host) -> Machine {
        stages::machine(host)
    }

    fn probes(&self, _machine: &Machine) -> Vec<Probe> {
        probe::probes()
    }

    fn read_probe(&self, probe: &Probe, outputs: &[StepOutput]) -> ToolState {
        probe::read(probe, outputs)
    }

    fn stages(&self, root: &Root, files: &dyn Files, terms: &Terms<'_>) -> Vec<Result<Stage, NoTool>> {
        stages::stages(root, files, terms)
    }

    fn continues_after(&self, _stage: &Stage, output: &StepOutput) -> bool {
        // Packages that do not build keep the others from nothing.
        let goes_on = ["link", "compile", "format"].contains(&output.step.as_str());
        output.end.is_success() || (goes_on && matches!(output.end, StepEnd::Exited(_)))
    }

    fn fetch(&self, root: &Root, files: &dyn Files) -> Option<Fetch> {
        stages::fetch(root, files)
    }

    fn prepare(&self, root: &Root, files: &dyn Files) -> Option<Step> {
        stages::prepare(root, files)
    }

    fn read(&self, stage: &Stage, outputs: &[StepOutput], context: &ReadContext<'_>) -> Reading {
        match stage.kind {
            StageKind::Build => build::read(stage, outputs, context),
            StageKind::Test => run::read(stage, outputs, context),
            StageKind::Lint => vet::lint(stage, outputs, context),
            StageKind::Structure | StageKind::Syntax | StageKind::Type => {
                let status = Status::Unavailable("Go has no such stage".to_owned());
                Reading { status, ..measured(stage, context, Vec::new(), None) }
            }
        }
    }

    fn plants(&self, stage: StageKind, root: &Root, files: &dyn Files, name: &str) -> Vec<Plant> {
        plants::plants(stage, root, files, name)
    }

    fn environment_fault(&self, reading: &Reading) -> Option<String> {
        let of_class = |class: Class| reading.residuals.iter().find(|residual| residual.class == class);
        if let Some(missing) = of_class(Class::ToolchainMissing) {
            return Some(format!(
                "the Go that the project asks for is not on this machine: {}",
                missing.message
            ));
        }
        let missing = of_class(Class::DependencyMissing)?;
        Some(match &missing.symbol {
            Some(name) => format!("the package `{name}` is not on this machine"),
            None => missing.message.clone(),
        })
    }
}

impl Structure for Go {
    fn is_manifest(&self, path: &RelPath) -> bool {
        ["go.mod", "go.work"].contains(&path.name())
    }

    fn is_source(&self, path: &RelPath) -> bool {
        path.extension() == Some("go")
    }

    fn is_test_file(&self, path: &RelPath) -> bool {
        is_test_source(path)
    }

    fn is_lockfile(&self, path: &RelPath) -> bool {
        ["go.sum", "go.work.sum"].contains(&path.name())
    }

    fn is_kept_by_tools(&self, path: &RelPath) -> bool {
        ["go.mod", "go.sum"].contains(&path.name())
    }

    fn is_support_file(&self, path: &RelPath) -> bool {
        ["go.mod", "go.work", "doc.go"].contains(&path.name())
    }

    fn decides_evidence(&self, path: &RelPath) -> bool {
        decides_evidence(path)
    }

    fn structure(&self, pair: &Pair<'_>, _tools: &Tools) -> StructureFindings {
        let compared = compare(pair, &GoLayout::of(pair));
        let residuals = new_stubs(&compared, &|_, _| false);
        let mut inventory = compared.inventory.clone();
        inventory.evidence = evidence::changed(pair, &compared);
        StructureFindings { residuals, inventory }
    }

    fn old_tests(&self, pair: &Pair<'_>, taken: &FromCandidate) -> BTreeMap<RelPath, OldTestFile> {
        let layout = GoLayout::of(pair);
        old_tests::old_tests(pair, &layout, &compare(pair, &layout), taken)
    }

    fn take_more(&self, pair: &Pair<'_>, so_far: &FromCandidate, reading: &Reading) -> FromCandidate {
        let layout = GoLayout::of(pair);
        old_tests::take_more(pair, &layout, &compare(pair, &layout), so_far, reading)
    }
}

impl Words for Go {
    fn task_words(&self) -> &'static [&'static str] {
        &[
            "golang",
            "go.mod",
            "go.sum",
            "go.work",
            "gofmt",
            "go test",
            "go module",
            "go package",
            "goroutine",
            ".go",
        ]
    }

    fn manifest_name(&self) -> &'static str {
        "go.mod"
    }

    fn workspace_manifest(&self) -> &'static str {
        "go.work"
    }

    fn layout_hint(&self) -> &'static str {
        include_str!("../../templates/go-layout.txt")
    }

    fn new_test_file(&self, source: &RelPath, _tests: &[RelPath]) -> Option<RelPath> {
        let stem = source.name().strip_suffix(".go")?;
        let name = format!("{stem}_task_test.go");
        match source.parent() {
            Some(folder) => folder.join(&name).ok(),
            None => RelPath::parse(&name).ok(),
        }
    }

    fn correction_fragment(&self) -> &'static str {
        include_str!("../../templates/go-correction.txt")
    }

    fn command(&self, argv: &[String], root: &Root, files: &dyn Files) -> CommandKind {
        command::kind(argv, root, files)
    }

    fn dependencies(&self, files: &dyn Files) -> BTreeSet<String> {
        command::dependencies(files)
    }

    fn packages(&self, files: &dyn Files) -> BTreeSet<String> {
        command::packages(files)
    }
}
