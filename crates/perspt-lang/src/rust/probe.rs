//! Whether cargo works: it builds and runs a project of ours with one test that passes and one that fails. Where clippy
//! and rustfmt are asked for, each must find what is wrong in another.

use std::collections::BTreeMap;

use perspt_core::path::RelPath;
use perspt_core::stage::{StageRole, Step, StepEnd, StepOutput, Streams};

use super::lint;
use super::stages::{CARGO, CLIPPY, RUSTFMT, cargo};
use crate::plugin::{Files, Probe, ToolState};
use crate::shared::report::{both_streams, first_line, output_of, text};

/// What to do where a tool is missing or broken.
pub(crate) fn install(tool: &str) -> &'static str {
    match tool {
        CLIPPY => "Install it with `rustup component add clippy`.",
        RUSTFMT => "Install it with `rustup component add rustfmt`.",
        _ => "Install Rust with rustup and a C linker (`cc`), then check that `cargo test` runs.",
    }
}

const MANIFEST: &str =
    "[package]\nname = \"perspt-probe\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n[workspace]\n";

const SOURCE: &str = "#[test]\nfn perspt_passes() {}\n\n#[test]\nfn perspt_fails() {\n    \
                      panic!(\"on purpose\");\n}\n";

/// A source that clippy refuses and rustfmt would write otherwise.
const MESSY: &str = "pub fn perspt_same(x: u32) -> bool {\n    x  ==  x\n}\n";

fn project(source: &str) -> BTreeMap<String, String> {
    [("Cargo.toml", MANIFEST), ("src/lib.rs", source)].map(|(name, text)| (name.into(), text.into())).into()
}

/// The probes of clippy and rustfmt, with the toolchain that the tree asks for.
pub(crate) fn of_lints(files: &dyn Files) -> [Probe; 2] {
    let mut project = project(MESSY);
    for name in ["rust-toolchain", "rust-toolchain.toml"] {
        let pinned = RelPath::parse(name).ok().and_then(|path| files.text(&path));
        project.extend(pinned.map(|text| (name.to_owned(), text)));
    }
    let (here, target_dir) = (RelPath::root(), "{tmp}/perspt-lint-target");
    let probe = |tool: &str, version: &[&str], run: Step| {
        let steps =
            vec![cargo("version", version, &here, target_dir), Step { name: "run".to_owned(), ..run }];
        Probe { tool: tool.to_owned(), files: project.clone(), steps, role: StageRole::Required }
    };
    let clippy = cargo("run", &["clippy", "--offline", "--message-format=json"], &here, target_dir);
    [
        probe(CLIPPY, &["clippy", "--version"], clippy),
        probe(RUSTFMT, &["fmt", "--version"], lint::format(target_dir)),
    ]
}

/// The probe of cargo.
pub(crate) fn probe() -> Probe {
    let files = project(SOURCE);
    let here = RelPath::root();
    let target_dir = "{tmp}/perspt-probe-target";
    let version = cargo("version", &["--version"], &here, target_dir);
    let mut run = cargo("run", &["test", "--offline", "--lib"], &here, target_dir);
    run.streams = Streams::Merged;
    Probe { tool: CARGO.to_owned(), files, steps: vec![version, run], role: StageRole::Required }
}

/// What the outputs of a tool's probe say.
pub(crate) fn read(tool: &str, outputs: &[StepOutput]) -> ToolState {
    let install = install(tool).to_owned();
    let missing = |why: String| ToolState::Missing { why, install: install.clone() };
    let broken = |why: String| ToolState::Broken { why, install: install.clone() };
    let Some(version) = output_of(outputs, "version") else { return missing("it was not run".to_owned()) };
    match &version.end {
        StepEnd::Exited(0) => {}
        StepEnd::TimedOut => return broken(format!("`{tool} --version` did not answer")),
        StepEnd::NotStarted(why) => return missing(format!("`cargo` does not start: {why}")),
        StepEnd::Exited(_) | StepEnd::Signalled(_) => {
            let printed = both_streams(version);
            return missing(format!(
                "`{tool} --version` ended with {}: {}",
                version.end.shown(),
                first_line(&printed)
            ));
        }
    }
    let Some(run) = output_of(outputs, "run") else { return broken("its project was not run".to_owned()) };
    let printed = text(&run.stdout);
    match &run.end {
        StepEnd::TimedOut => broken(format!("{tool} did not answer on a project of ours")),
        StepEnd::Exited(code) if saw(tool, *code, run) => {
            ToolState::works(first_line(&text(&version.stdout)))
        }
        StepEnd::Exited(_) | StepEnd::Signalled(_) | StepEnd::NotStarted(_) => {
            let all = both_streams(run);
            let error = all.lines().find(|line| line.starts_with("error")).unwrap_or(first_line(&printed));
            broken(format!(
                "{tool} on a project of ours, half of it wrong on purpose, ended with {}: {error}",
                run.end.shown()
            ))
        }
    }
}

/// Whether exactly what is wrong on purpose was reported.
fn saw(tool: &str, code: i32, run: &StepOutput) -> bool {
    let printed = text(&run.stdout);
    let has_line = |line: &str| printed.lines().any(|found| found == line);
    match tool {
        CLIPPY => code != 0 && printed.contains("\"clippy::eq_op\""),
        RUSTFMT => code == 1 && printed.contains(lint::DIFF),
        _ => code != 0 && has_line("test perspt_passes ... ok") && has_line("test perspt_fails ... FAILED"),
    }
}
