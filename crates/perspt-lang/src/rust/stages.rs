//! What cargo is asked to do. Everything is offline; only the fetch has a network.
//!
//! No step passes `--locked`: `prepare` has settled the lock file by then, and where it could not,
//! `--locked` would hide cargo's own reason behind "the lock file needs to be updated".

use perspt_core::path::RelPath;
use perspt_core::reading::StageKind;
use perspt_core::stage::{Preset, Profile, Root, Stage, Step, Streams};

use super::{TARGET_DIR, lint, manifest};
use crate::plugin::{Files, NoTool, Selection, Terms};
use crate::shared::step::{step, with_env};
use crate::shared::toml;
use crate::shared::works::works;

/// The tools, as their probes call them.
pub(crate) const CARGO: &str = "cargo";
pub(crate) const CLIPPY: &str = "clippy";
pub(crate) const RUSTFMT: &str = "rustfmt";

/// The stages of a root.
pub(crate) fn stages(root: &Root, files: &dyn Files, terms: &Terms<'_>) -> Vec<Result<Stage, NoTool>> {
    let works = |kind: StageKind, tool: &str| works(kind, tool, terms.tools);
    let build = works(StageKind::Build, CARGO)
        .map(|()| Stage::required(StageKind::Build, "cargo check", vec![check(root, files)]));
    let lint = || {
        let both = works(StageKind::Lint, CLIPPY).and_then(|()| works(StageKind::Lint, RUSTFMT));
        both.map(|()| Stage::required(StageKind::Lint, lint::TOOL, lint::steps(root, files)))
    };
    let test = works(StageKind::Test, CARGO)
        .map(|()| Stage::required(StageKind::Test, "cargo test", test_steps(root, files, terms.selection)));
    let lint = (terms.preset == Preset::Strict).then(lint);
    [build].into_iter().chain(lint).chain([test]).collect()
}

/// A cargo step with the environment that keeps its output readable and its files in the slot.
pub(crate) fn cargo(name: &str, arguments: &[&str], cwd: &RelPath, target_dir: &str) -> Step {
    let argv: Vec<&str> = std::iter::once("cargo").chain(arguments.iter().copied()).collect();
    with_env(
        step(name, &argv, cwd),
        &[
            ("CARGO_TARGET_DIR", target_dir),
            // A project's configuration could send intermediate files elsewhere.
            ("CARGO_BUILD_BUILD_DIR", target_dir),
            ("CARGO_TERM_COLOR", "never"),
            // A project's configuration could be quiet or verbose; both change the lines we read.
            ("CARGO_TERM_QUIET", "false"),
            ("CARGO_TERM_VERBOSE", "false"),
            ("CARGO_TERM_PROGRESS_WHEN", "never"),
            // A toolchain that is not there is said to be missing; there is no network to get it by.
            ("RUSTUP_AUTO_INSTALL", "0"),
        ],
    )
}

/// A cargo step that builds in the slot.
pub(super) fn in_build(name: &str, arguments: &[&str], root: &Root) -> Step {
    cargo(name, arguments, &root.dir, &format!("{{build}}/{TARGET_DIR}"))
}

/// `--keep-going` shows the errors of every package that can be reached, so that energy falls with each one fixed.
fn check(root: &Root, files: &dyn Files) -> Step {
    let arguments = check_arguments("check", root, files);
    in_build("check", &arguments.iter().map(String::as_str).collect::<Vec<_>>(), root)
}

/// The arguments of a cargo command that looks at every target.
pub(super) fn check_arguments(command: &str, root: &Root, files: &dyn Files) -> Vec<String> {
    let mut arguments = vec![command, "--workspace"];
    if benches_want_nightly(root, files) {
        arguments.extend(["--bins", "--tests", "--examples"]);
        // Asked for where there is none, cargo refuses.
        let has_lib = |package: &RelPath| manifest::lib(files, package).is_some();
        arguments.extend(root.packages.iter().any(has_lib).then_some("--lib"));
    } else {
        arguments.push("--all-targets");
    }
    arguments.extend(["--keep-going", "--offline", "--message-format=json"]);
    arguments.into_iter().map(str::to_owned).collect()
}

/// Whether some benchmark asks for unstable features that the toolchain need not have. The tests do not need
/// benchmarks, so they are left out then; their files stay unmeasured.
fn benches_want_nightly(root: &Root, files: &dyn Files) -> bool {
    let unstable = |path: &RelPath| files.text(path).is_some_and(|text| text.contains("#![feature("));
    let nightly = ["rust-toolchain", "rust-toolchain.toml"].iter().any(|name| {
        let pinned = root.dir.join(name).ok().and_then(|path| files.text(&path));
        pinned.is_some_and(|text| text.contains("nightly"))
    });
    !nightly
        && root
            .packages
            .iter()
            .flat_map(|package| manifest::benches(files, package))
            .any(|path| unstable(&path))
}

fn test_steps(root: &Root, files: &dyn Files, selection: &Selection) -> Vec<Step> {
    let build = ["test", "--workspace", "--no-run", "--no-fail-fast", "--offline", "--message-format=json"];
    let run = ["test", "--workspace", "--no-fail-fast", "--offline"];
    let list: Vec<&str> = run.iter().copied().chain(["--", "--list", "--format", "terse"]).collect();
    let names = selection.only.iter().map(|(_, name)| name.as_str());
    let only = (!selection.only.is_empty()).then_some("--").into_iter().chain(names);
    let run: Vec<&str> = run.iter().copied().chain(only).collect();
    let confined = |step: Step| Step {
        profile: Profile::Test,
        streams: Streams::Merged,
        build_writes: build_writes(root, files),
        ..step
    };
    vec![
        in_build("compile", &build, root),
        confined(in_build("list", &list, root)),
        confined(in_build("run", &run, root)),
    ]
}

/// What cargo and tests write below the build directory when everything is compiled, seen with all else
/// read-only: cargo opens its lock for writing and writes the dep-info of examples anew, and
/// `CARGO_TARGET_TMPDIR` is promised to tests.
fn build_writes(root: &Root, files: &dyn Files) -> Vec<String> {
    let mut writes = vec![format!("{TARGET_DIR}/tmp")];
    // With a target triple configured, cargo builds in that triple's folder and locks both.
    let folders: Vec<String> = std::iter::once("debug".to_owned())
        .chain(triples(root, files).map(|triple| format!("{triple}/debug")))
        .collect();
    let examples: Vec<String> =
        root.packages.iter().flat_map(|package| manifest::examples(files, package)).collect();
    for folder in folders {
        writes.push(format!("{TARGET_DIR}/{folder}/.cargo-lock"));
        writes.extend(examples.iter().map(|name| format!("{TARGET_DIR}/{folder}/examples/{name}.d")));
    }
    writes
}

/// Target triples that the tree's cargo configuration asks for.
fn triples(root: &Root, files: &dyn Files) -> impl Iterator<Item = String> {
    let above = std::iter::once(root.dir.clone()).chain(root.dir.ancestors());
    let configs = above.flat_map(|dir| [".cargo/config.toml", ".cargo/config"].map(|name| dir.join(name)));
    configs.flatten().filter_map(|path| {
        let config = toml::parse(&files.text(&path)?)?;
        Some(toml::at(&config, &["build", "target"])?.as_str()?.to_owned())
    })
}

/// Settles the lock file: the smallest change that the manifests ask for, and none where they ask for none.
pub(crate) fn prepare(root: &Root) -> Step {
    in_build("prepare", &["metadata", "--offline", "--format-version", "1"], root)
}
