//! Rust: cargo checks, lists and runs. Start at `stages`, then `build` and `run`, which read what came out.

mod build;
mod command;
mod doc_names;
mod docs;
mod evidence;
mod failure;
mod fetch;
mod files_read;
mod gated;
pub(crate) mod layout;
mod libtest;
mod lint;
mod manifest;
mod messages;
mod plants;
mod probe;
mod roots;
mod run;
mod sections;
mod stages;
mod stderr;

use std::collections::{BTreeMap, BTreeSet};

use perspt_core::path::RelPath;
use perspt_core::reading::{Part, Reading, StageKind};
use perspt_core::residual::{Class, Residual};
use perspt_core::stage::{Preset, Root, Stage, Step, StepEnd, StepOutput};

use crate::plugin::{
    CommandKind, Fetch, Files, FromCandidate, Further, FurtherFindings, Host, Machine, NoTool, OldTestFile,
    Pair, Plant, Plugin, Probe, ReadContext, Stages, Structure, StructureFindings, Terms, ToolState, Tools,
    Words,
};
use crate::shared::compare::compare;
use crate::shared::file_names::{chooses_tools, is_test_data};
use crate::shared::old_tests;
use crate::shared::report;
use crate::shared::stubs::new_stubs;
use layout::RustLayout;

/// The plugin's name.
const NAME: &str = "rust";

/// The folder below `{build}` that cargo builds in. The name is one that no path holds by chance, so that
/// a path cargo prints can be cut at it.
const TARGET_DIR: &str = "perspt-target";

/// The Rust plugin.
pub(crate) struct Rust;

/// Whether a file lies below a folder of tests.
fn is_in_tests(path: &RelPath) -> bool {
    path.ancestors().any(|folder| folder.name() == "tests")
}

/// A source that holds tests and nothing else, by its place.
fn is_test_source(path: &RelPath) -> bool {
    path.extension() == Some("rs") && (is_in_tests(path) || ["tests.rs", "test.rs"].contains(&path.name()))
}

/// What tests are made of, their data and expected values included.
fn is_test_material(path: &RelPath) -> bool {
    let is_data = path.extension() == Some("snap") || is_test_data(path, "rs");
    is_test_source(path) || ((is_in_tests(path) || is_data) && path.extension() != Some("py"))
}

fn decides_evidence(path: &RelPath) -> bool {
    let parent = path.parent().map(|folder| folder.name().to_owned()).unwrap_or_default();
    let in_sources = || path.ancestors().any(|folder| folder.name() == "src");
    match path.name() {
        "build.rs" => !is_test_material(path) && !in_sources(),
        "rust-toolchain" | "rust-toolchain.toml" | "clippy.toml" | ".clippy.toml" => true,
        "config" | "config.toml" => parent == ".cargo",
        "nextest.toml" => parent == ".config",
        _ => chooses_tools(path),
    }
}

impl Plugin for Rust {
    fn name(&self) -> &'static str {
        NAME
    }
}

impl Stages for Rust {
    fn roots(&self, files: &dyn Files) -> Vec<Root> {
        roots::find(files)
    }

    fn claims(&self, own: &str, above: &str, below: &RelPath) -> Option<&'static str> {
        roots::is_member(own, above, below).then_some("cargo workspace")
    }

    fn machine(&self, host: &dyn Host) -> Machine {
        fetch::machine(host)
    }

    fn probes(&self, _machine: &Machine) -> Vec<Probe> {
        vec![probe::probe()]
    }

    fn probes_for(&self, files: &dyn Files, _machine: &Machine, preset: Preset) -> Vec<Probe> {
        let strict = (preset == Preset::Strict).then(|| probe::of_lints(files));
        std::iter::once(probe::probe()).chain(strict.into_iter().flatten()).collect()
    }

    fn read_probe(&self, probe: &Probe, outputs: &[StepOutput]) -> ToolState {
        probe::read(&probe.tool, outputs)
    }

    fn stages(&self, root: &Root, files: &dyn Files, terms: &Terms<'_>) -> Vec<Result<Stage, NoTool>> {
        stages::stages(root, files, terms)
    }

    fn continues_after(&self, _stage: &Stage, output: &StepOutput) -> bool {
        // A target with a harness of its own may answer a listing with a failure; the others have listed.
        // What clippy refuses keeps rustfmt from nothing.
        let goes_on = ["list", lint::CLIPPY_STEP].contains(&output.step.as_str());
        output.end.is_success() || (goes_on && matches!(output.end, StepEnd::Exited(_)))
    }

    fn was_killed(&self, output: &StepOutput) -> bool {
        output.end.was_killed() || report::text(&output.stderr).contains("` (signal: 9, SIGKILL: kill)")
    }

    fn fetch(&self, root: &Root, files: &dyn Files) -> Option<Fetch> {
        fetch::fetch(root, files)
    }

    fn prepare(&self, root: &Root, _files: &dyn Files) -> Option<Step> {
        Some(stages::prepare(root))
    }

    fn late_reports(&self, stage: &Stage, output: &StepOutput) -> Vec<String> {
        let builds = ["compile", lint::CLIPPY_STEP].contains(&output.step.as_str());
        if stage.kind != StageKind::Build && !builds {
            return Vec::new();
        }
        messages::Artifact::all_of(output).iter().filter_map(messages::Artifact::dep_info).collect()
    }

    fn read(&self, stage: &Stage, outputs: &[StepOutput], context: &ReadContext<'_>) -> Reading {
        match stage.kind {
            StageKind::Test => run::read(stage, outputs, context),
            StageKind::Lint => lint::read(stage, outputs, context),
            StageKind::Structure | StageKind::Syntax | StageKind::Build | StageKind::Type => {
                build::read(stage, outputs, context)
            }
        }
    }

    fn further_checks(
        &self,
        stage: StageKind,
        root: &Root,
        pair: &Pair<'_>,
        _machine: &Machine,
    ) -> Vec<Step> {
        if stage == StageKind::Build { gated::checks(root, pair) } else { Vec::new() }
    }

    fn read_further(
        &self,
        stage: &Stage,
        output: &StepOutput,
        context: &ReadContext<'_>,
    ) -> Option<FurtherFindings> {
        let reading = build::read_check(stage, output, context);
        let of_the_code = |residual: &Residual| {
            matches!(residual.class, Class::CompileError | Class::LinkError | Class::CompileWarning)
        };
        let residuals: Vec<Residual> = reading.residuals.into_iter().filter(of_the_code).collect();
        let looked = output.end.is_success() || !residuals.is_empty();
        looked.then_some(FurtherFindings { residuals, looked: reading.looked })
    }

    fn less_proved(&self, stage: StageKind, pair: &Pair<'_>, further: Further) -> Vec<Part> {
        if stage == StageKind::Build { gated::less_proved(pair, further) } else { Vec::new() }
    }

    fn plants(&self, stage: StageKind, root: &Root, files: &dyn Files, name: &str) -> Vec<Plant> {
        plants::plants(stage, root, files, name)
    }

    fn environment_fault(&self, reading: &Reading) -> Option<String> {
        let of_class = |class: Class| reading.residuals.iter().find(|residual| residual.class == class);
        if let Some(missing) = of_class(Class::ToolchainMissing) {
            return Some(format!(
                "the toolchain that the project asks for cannot be used: {}",
                missing.message
            ));
        }
        let missing = of_class(Class::DependencyMissing)?;
        Some(match &missing.symbol {
            Some(name) => format!("the dependency `{name}` is not on this machine"),
            None => missing.message.clone(),
        })
    }
}

impl Structure for Rust {
    fn is_manifest(&self, path: &RelPath) -> bool {
        path.name() == "Cargo.toml"
    }

    fn is_source(&self, path: &RelPath) -> bool {
        path.extension() == Some("rs")
    }

    fn is_test_file(&self, path: &RelPath) -> bool {
        is_test_source(path)
    }

    fn is_lockfile(&self, path: &RelPath) -> bool {
        path.name() == "Cargo.lock"
    }

    fn is_support_file(&self, path: &RelPath) -> bool {
        ["lib.rs", "main.rs", "mod.rs", "Cargo.toml"].contains(&path.name())
    }

    fn decides_evidence(&self, path: &RelPath) -> bool {
        decides_evidence(path)
    }

    fn structure(&self, pair: &Pair<'_>, _tools: &Tools) -> StructureFindings {
        let compared = compare(pair, &RustLayout::of(pair));
        let residuals = new_stubs(&compared, &|_, _| false);
        let mut inventory = compared.inventory.clone();
        inventory.evidence = evidence::changed(pair, &compared);
        StructureFindings { residuals, inventory }
    }

    fn old_tests(&self, pair: &Pair<'_>, taken: &FromCandidate) -> BTreeMap<RelPath, OldTestFile> {
        let layout = RustLayout::of(pair);
        let mut files = old_tests::old_tests(pair, &layout, &compare(pair, &layout), taken);
        // Tests that are the candidate's own keep what they need.
        if *taken == FromCandidate::default() {
            files.extend(evidence::old_manifests(pair));
        }
        files
    }

    fn take_more(&self, pair: &Pair<'_>, so_far: &FromCandidate, reading: &Reading) -> FromCandidate {
        let layout = RustLayout::of(pair);
        old_tests::take_more(pair, &layout, &compare(pair, &layout), so_far, reading)
    }
}

impl Words for Rust {
    fn task_words(&self) -> &'static [&'static str] {
        &["rust", "cargo", "cargo.toml", "crate", ".rs"]
    }

    fn manifest_name(&self) -> &'static str {
        "Cargo.toml"
    }

    fn layout_hint(&self) -> &'static str {
        include_str!("../../templates/rust-layout.txt")
    }

    fn new_test_file(&self, _: &RelPath, _: &[RelPath]) -> Option<RelPath> {
        None
    }

    fn correction_fragment(&self) -> &'static str {
        include_str!("../../templates/rust-correction.txt")
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
