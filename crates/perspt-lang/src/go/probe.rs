//! Whether go and gofmt work: each is run on a project of ours with one thing that is right and one that is wrong.

use std::collections::BTreeMap;

use perspt_core::path::RelPath;
use perspt_core::stage::{StageRole, StepEnd, StepOutput};

use super::stages::{GO, GOFMT, go};
use crate::plugin::{Probe, ToolState};
use crate::shared::report::{both_streams, first_line, output_of, text};
use crate::shared::step::step;

/// What to do where go is missing or broken.
pub(crate) const INSTALL: &str = "Install Go 1.21 or later, then check that `go test` runs.";

const MANIFEST: &str = "module perspt.invalid/probe\n\ngo 1.21\n";

const SOURCE: &str = "package probe\n\nimport \"testing\"\n\nfunc TestPasses(t *testing.T) {}\n\n\
                      func TestFails(t *testing.T) { t.Fatal(\"on purpose\") }\n";

/// The probes.
pub(crate) fn probes() -> Vec<Probe> {
    let here = RelPath::root();
    let of = |files: &[(&str, &str)]| -> BTreeMap<String, String> {
        files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
    };
    vec![
        Probe {
            tool: GO.to_owned(),
            files: of(&[("go.mod", MANIFEST), ("probe_test.go", SOURCE)]),
            steps: vec![
                go("version", &["version"], &here),
                go("run", &["test", "-json", "-vet=off", "-count=1"], &here),
            ],
            role: StageRole::Required,
        },
        Probe {
            tool: GOFMT.to_owned(),
            files: of(&[("right.go", "package probe\n"), ("wrong.go", "package  probe\n")]),
            steps: vec![step("format", &["gofmt", "-l", "."], &here)],
            role: StageRole::Shown,
        },
    ]
}

/// What their outputs say.
pub(crate) fn read(probe: &Probe, outputs: &[StepOutput]) -> ToolState {
    if probe.tool == GOFMT { gofmt(outputs) } else { go_itself(outputs) }
}

fn missing(why: String) -> ToolState {
    ToolState::Missing { why, install: INSTALL.to_owned() }
}

fn broken(why: String) -> ToolState {
    ToolState::Broken { why, install: INSTALL.to_owned() }
}

fn go_itself(outputs: &[StepOutput]) -> ToolState {
    let Some(version) = output_of(outputs, "version") else { return missing("it was not run".to_owned()) };
    match &version.end {
        StepEnd::Exited(0) => {}
        StepEnd::TimedOut => return broken("`go version` did not answer".to_owned()),
        StepEnd::NotStarted(why) => return missing(format!("`go` does not start: {why}")),
        StepEnd::Exited(_) | StepEnd::Signalled(_) => {
            let printed = both_streams(version);
            let (end, line) = (version.end.shown(), first_line(&printed));
            return missing(format!("`go version` ended with {end}: {line}"));
        }
    }
    let Some(run) = output_of(outputs, "run") else { return broken("`go test` was not run".to_owned()) };
    let printed = text(&run.stdout);
    let ended = |action: &str, test: &str| {
        let words = [format!("\"Action\":\"{action}\""), format!("\"Test\":\"{test}\"")];
        printed.lines().any(|line| words.iter().all(|word| line.contains(word)))
    };
    if run.end == StepEnd::TimedOut {
        return broken("`go test` did not answer on a project of two tests".to_owned());
    }
    if run.end == StepEnd::Exited(1) && ended("pass", "TestPasses") && ended("fail", "TestFails") {
        return ToolState::works(first_line(&text(&version.stdout)));
    }
    let printed = both_streams(run);
    let error = printed.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    broken(format!(
        "`go test` on a project of two tests (one passes, one fails) ended with {}: {error}",
        run.end.shown()
    ))
}

fn gofmt(outputs: &[StepOutput]) -> ToolState {
    let Some(run) = output_of(outputs, "format") else { return missing("it was not run".to_owned()) };
    let named = text(&run.stdout);
    match &run.end {
        StepEnd::NotStarted(why) => missing(format!("`gofmt` does not start: {why}")),
        StepEnd::Exited(0) if named.trim() == "wrong.go" => ToolState::works("gofmt"),
        StepEnd::Exited(_) | StepEnd::Signalled(_) | StepEnd::TimedOut => {
            let end = run.end.shown();
            broken(format!("`gofmt -l` on one file in form and one that is not ended with {end}"))
        }
    }
}
