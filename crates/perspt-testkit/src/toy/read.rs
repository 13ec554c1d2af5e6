//! What `toyc` said.

use std::collections::{BTreeMap, BTreeSet};

use perspt_core::path::RelPath;
use perspt_core::reading::{Reading, StageId, StageKind, Status, TestEnd, TestName, TestResult, Tests};
use perspt_core::residual::{Class, Component, Milli, Position, Residual};
use perspt_core::stage::{Stage, StepEnd, StepOutput};
use perspt_lang::plugin::{ReadContext, ToolState};

/// Whether the compiler told the passing test of the probe from the failing one.
pub(super) fn probe(outputs: &[StepOutput], install: &str) -> ToolState {
    let install = install.to_owned();
    let Some(version) = outputs.first() else {
        return ToolState::Missing { why: "it was not run".to_owned(), install };
    };
    if let StepEnd::NotStarted(why) = &version.end {
        return ToolState::Missing { why: format!("`toyc` does not start: {why}"), install };
    }
    let ran = outputs.get(1).map(|output| text(&output.stdout)).unwrap_or_default();
    if ran.contains("ok\ttwo_test.toy::passes") && ran.contains("failed\ttwo_test.toy::fails") {
        return ToolState::works(text(&version.stdout).trim());
    }
    let end = outputs.last().map(|output| output.end.shown()).unwrap_or_default();
    ToolState::Broken { why: format!("a project of two tests ended with {end}"), install }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The reading of a stage.
pub(super) fn stage(
    stage: &Stage,
    outputs: &[StepOutput],
    context: &ReadContext<'_>,
    report: &str,
) -> Reading {
    let id =
        StageId { root: context.root.dir.clone(), plugin: context.root.plugin.clone(), kind: stage.kind };
    let mut reading = Reading::measured(context.tree, id, &stage.tool);
    for output in outputs {
        if let StepEnd::NotStarted(why) = &output.end {
            reading.status = Status::Unavailable(format!("{} could not be started: {why}", stage.tool));
            return reading;
        }
        reading.residuals.extend(abnormal(output, &stage.tool));
        let errors = text(&output.stdout);
        let errors = errors.lines().filter_map(|line| error(line, &stage.tool, &context.root.dir));
        reading.residuals.extend(errors.collect::<Vec<_>>());
    }
    let sources = context.files.tree().entries.keys().filter(|path| path.is_within(&context.root.dir));
    reading.looked = if stage.kind == StageKind::Test {
        tests(&mut reading, outputs, context, report);
        used_by_passing(&reading, context)
    } else {
        sources.filter(|path| path.extension() == Some("toy")).cloned().collect()
    };
    let manifests = context.root.packages.iter().filter_map(|dir| dir.join("toy.mod").ok());
    reading.looked.extend(manifests.filter(|path| context.files.tree().entries.contains_key(path)));
    let failed = outputs.iter().find(|output| !output.end.is_success());
    if let (Some(output), true) = (failed, reading.residuals.is_empty()) {
        let message = format!("the step `{}` ended with {}", output.step, output.end.shown());
        reading.residuals.push(Residual::error(Component::Boot, Class::ToolFailed, &stage.tool, message));
    }
    reading
}

fn abnormal(output: &StepOutput, tool: &str) -> Option<Residual> {
    let (class, message) = match &output.end {
        StepEnd::Exited(_) | StepEnd::NotStarted(_) => return None,
        StepEnd::TimedOut => (Class::Timeout, format!("the step `{}` did not end in time", output.step)),
        StepEnd::Signalled(signal) => {
            (Class::Crash, format!("the step `{}` was ended by signal {signal}", output.step))
        }
    };
    Some(Residual::error(Component::Boot, class, tool, message))
}

/// The modules that a passing test uses, its own file first.
fn used_by_passing(reading: &Reading, context: &ReadContext<'_>) -> BTreeSet<RelPath> {
    let results = reading.tests.iter().flat_map(|tests| tests.results.values());
    let passed = results.filter(|result| result.end == TestEnd::Passed);
    let mut open: Vec<RelPath> = passed.filter_map(|result| result.file.clone()).collect();
    let mut found = BTreeSet::new();
    while let Some(path) = open.pop() {
        if found.insert(path.clone()) {
            let text = context.files.text(&path).unwrap_or_default();
            let used = text.lines().filter_map(|line| line.strip_prefix("use "));
            open.extend(used.filter_map(|name| context.root.dir.join(&format!("{}.toy", name.trim())).ok()));
        }
    }
    found
}

/// One line of `error`, the file, the line, a code and a message.
fn error(line: &str, tool: &str, root: &RelPath) -> Option<Residual> {
    let fields: Vec<&str> = line.split('\t').collect();
    let ["error", file, number, code, message] = fields[..] else { return None };
    let (component, class) = match code {
        "T008" => (Component::Boot, Class::DependencyMissing),
        "T000" | "T007" => (Component::Boot, Class::ManifestError),
        "T009" => (Component::Str, Class::LintFinding),
        _ => (Component::Syn, Class::CompileError),
    };
    let mut residual =
        Residual::error(component, class, tool, message).in_file(root.join(file).ok()).with_evidence(line);
    residual.place =
        number.parse().ok().filter(|line| *line > 0).map(|line: u32| Position { line, column: 0 });
    residual.symbol = Some(code.to_owned());
    Some(residual)
}

/// Every announced test needs a result of its own, and the report its end.
fn tests(reading: &mut Reading, outputs: &[StepOutput], context: &ReadContext<'_>, report: &str) {
    let listed = outputs.iter().find(|output| output.step == "list").map(|output| text(&output.stdout));
    let announced: BTreeSet<String> = listed
        .iter()
        .flat_map(|text| text.lines())
        .filter_map(|line| line.strip_prefix("test\t").map(str::to_owned))
        .collect();
    let Some(run) = outputs.iter().find(|output| output.step == "run") else { return };
    let lines = run.reports.get(report).map(|bytes| text(bytes)).unwrap_or_default();
    if !lines.lines().any(|line| line == format!("done\t{}", announced.len())) {
        let message = "the run ended without its report";
        reading.residuals.push(Residual::error(
            Component::Boot,
            Class::ReportMissing,
            &reading.tool,
            message,
        ));
    }
    let results: BTreeMap<&str, (&str, &str)> = lines
        .lines()
        .filter_map(|line| {
            let (end, rest) = line.split_once('\t')?;
            let (name, message) = rest.split_once('\t').unwrap_or((rest, ""));
            Some((name, (end, message)))
        })
        .collect();
    let mut tests = Tests::default();
    for name in announced {
        let (end, message) = results.get(name.as_str()).copied().unwrap_or(("vanished", "it has no result"));
        let file = name.split("::").next().and_then(|file| context.root.dir.join(file).ok());
        let (end, class) = match end {
            "ok" => (TestEnd::Passed, None),
            "skipped" => (TestEnd::Skipped, None),
            "failed" => (TestEnd::Failed, Some(Class::TestFailed)),
            _ => (TestEnd::Failed, Some(Class::TestsVanished)),
        };
        if let Some(class) = class {
            let message = format!("test `{name}`: {message}");
            let mut residual =
                Residual::error(Component::Log, class, &reading.tool, message).in_file(file.clone());
            residual.score = Milli::units(3);
            residual.symbol = Some(name.clone());
            reading.residuals.push(residual);
        }
        tests.results.insert(TestName(name), TestResult { end, file, message: message.to_owned() });
    }
    reading.tests = Some(tests);
}
