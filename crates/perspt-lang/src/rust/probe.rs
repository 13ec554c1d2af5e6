//! Whether cargo works: it builds and runs a project of ours with one test that passes and one that fails.

use std::collections::BTreeMap;

use perspt_core::path::RelPath;
use perspt_core::stage::{StageRole, StepEnd, StepOutput, Streams};

use super::stages::{CARGO, cargo};
use crate::plugin::{Probe, ToolState};
use crate::shared::report::{both_streams, first_line, output_of, text};

/// What to do where cargo is missing or broken.
pub(crate) const INSTALL: &str =
    "Install Rust with rustup and a C linker (`cc`), then check that `cargo test` runs.";

const MANIFEST: &str =
    "[package]\nname = \"perspt-probe\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n[workspace]\n";

const SOURCE: &str = "#[test]\nfn perspt_passes() {}\n\n#[test]\nfn perspt_fails() {\n    \
                      panic!(\"on purpose\");\n}\n";

/// The one probe.
pub(crate) fn probe() -> Probe {
    let files = BTreeMap::from([
        ("Cargo.toml".to_owned(), MANIFEST.to_owned()),
        ("src/lib.rs".to_owned(), SOURCE.to_owned()),
    ]);
    let here = RelPath::root();
    let target_dir = "{tmp}/perspt-probe-target";
    let version = cargo("version", &["--version"], &here, target_dir);
    let mut run = cargo("run", &["test", "--offline", "--lib"], &here, target_dir);
    run.streams = Streams::Merged;
    Probe { tool: CARGO.to_owned(), files, steps: vec![version, run], role: StageRole::Required }
}

/// What its outputs say.
pub(crate) fn read(outputs: &[StepOutput]) -> ToolState {
    let missing = |why: String| ToolState::Missing { why, install: INSTALL.to_owned() };
    let broken = |why: String| ToolState::Broken { why, install: INSTALL.to_owned() };
    let Some(version) = output_of(outputs, "version") else { return missing("it was not run".to_owned()) };
    match &version.end {
        StepEnd::Exited(0) => {}
        StepEnd::TimedOut => return broken("`cargo --version` did not answer".to_owned()),
        StepEnd::NotStarted(why) => return missing(format!("`cargo` does not start: {why}")),
        StepEnd::Exited(_) | StepEnd::Signalled(_) => {
            let printed = both_streams(version);
            return missing(format!(
                "`cargo --version` ended with {}: {}",
                version.end.shown(),
                first_line(&printed)
            ));
        }
    }
    let Some(run) = output_of(outputs, "run") else { return broken("`cargo test` was not run".to_owned()) };
    let printed = text(&run.stdout);
    let has_line = |line: &str| printed.lines().any(|found| found == line);
    let right = has_line("test perspt_passes ... ok") && has_line("test perspt_fails ... FAILED");
    match &run.end {
        StepEnd::TimedOut => broken("`cargo test` did not answer on a project of two tests".to_owned()),
        StepEnd::Exited(code) if *code != 0 && right => ToolState::works(first_line(&text(&version.stdout))),
        StepEnd::Exited(_) | StepEnd::Signalled(_) | StepEnd::NotStarted(_) => {
            let error =
                printed.lines().find(|line| line.starts_with("error")).unwrap_or(first_line(&printed));
            broken(format!(
                "`cargo test` on a project of two tests (one passes, one fails) ended with {}: {error}",
                run.end.shown()
            ))
        }
    }
}
