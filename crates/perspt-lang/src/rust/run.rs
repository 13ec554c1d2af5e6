//! What `cargo test` found, test by test. A test is (target, name); each announced name needs its own result
//! line and each target its summary. An exit code alone says nothing: a test that ends its process with code
//! zero makes cargo succeed.

use std::collections::{BTreeMap, BTreeSet};

use perspt_core::path::RelPath;
use perspt_core::reading::{Reading, TestEnd, TestName, TestResult, Tests};
use perspt_core::residual::{Class, Component, Milli, Residual};
use perspt_core::stage::{Stage, StepOutput};

use super::libtest::{self, Section};
use super::sections::{self, Owner};
use super::{build, doc_names, failure, files_read, layout, manifest, messages};
use crate::plugin::ReadContext;
use crate::shared::failed_test::{UNNAMED_TEST, failed_test};
use crate::shared::report::{
    self, abnormal_end, did_not_look, in_tree, measured, report_missing, unexplained,
};

/// A target whose tests are run.
struct Target {
    /// What its tests' names begin with; unique in the root.
    label: String,
    /// The file it starts from.
    file: Option<RelPath>,
    /// Whether its manifest says that it brings its own harness, which may answer no listing.
    own_harness: bool,
}

/// The reading of the test stage.
pub(crate) fn read(stage: &Stage, outputs: &[StepOutput], context: &ReadContext<'_>) -> Reading {
    if let Some(reading) = did_not_look(stage, outputs, context) {
        return reading;
    }
    let mut run =
        Run { stage, context, residuals: Vec::new(), tests: Tests::default(), passed: BTreeSet::new() };
    let mut looked = BTreeSet::new();
    let tool = &stage.tool;
    match report::output_of(outputs, "compile") {
        None => run.residuals.extend(outputs.iter().map(|output| unexplained(output, tool))),
        Some(compile) => {
            let messages = messages::read(compile, tool, context);
            run.residuals.extend(build::failures(compile, &messages, stage, context));
            let errors = messages.residuals.iter().filter(|residual| residual.counts()).cloned();
            run.residuals.extend(errors);
            if !build::has_error(&run.residuals) {
                run.listed_and_run(&messages.artifacts, compile, outputs);
                looked = files_read::loaded(&messages.artifacts, compile, context, &run.passed);
            }
        }
    }
    Reading { looked, ..measured(stage, context, run.residuals, Some(run.tests)) }
}

struct Run<'a> {
    stage: &'a Stage,
    context: &'a ReadContext<'a>,
    residuals: Vec<Residual>,
    tests: Tests,
    /// Programs by file name, and crates whose documentation was run, in which a test passed.
    passed: BTreeSet<String>,
}

impl Run<'_> {
    fn listed_and_run(
        &mut self,
        artifacts: &[messages::Artifact],
        compile: &StepOutput,
        outputs: &[StepOutput],
    ) {
        let targets = targets(artifacts, self.context);
        let programs: BTreeSet<&str> = targets.keys().map(String::as_str).collect();
        let libraries = artifacts.iter().filter(|artifact| artifact.package(self.context).is_some());
        let crates: BTreeSet<&str> = libraries.map(|artifact| artifact.target.name.as_str()).collect();
        let (Some(list), Some(ran)) =
            (self.step(compile, outputs, "list"), self.step(compile, outputs, "run"))
        else {
            return;
        };
        let listed = sections::cut(&report::text(&list.stdout), &programs, &crates);
        let ran_text = report::text(&ran.stdout);
        let done = sections::cut(&ran_text, &programs, &crates);
        for (program, target) in &targets {
            let owner = Owner::Program(program.clone());
            self.program(target, program, (listed.get(&owner), done.get(&owner)), ran);
        }
        for (owner, lines) in &listed {
            if let Owner::Doc(name) = owner {
                self.documentation(name, lines, done.get(owner), ran);
            }
        }
        if !ran.end.is_success() && !build::has_error(&self.residuals) {
            self.residuals.push(unexplained(ran, &self.stage.tool));
        }
    }

    /// A step that ended by itself; one that did not is a residual, as is one that never ran.
    fn step<'o>(
        &mut self,
        compile: &StepOutput,
        outputs: &'o [StepOutput],
        name: &str,
    ) -> Option<&'o StepOutput> {
        let tool = &self.stage.tool;
        match report::output_of(outputs, name) {
            None => {
                // One step that did not end explains why those after it did not run.
                if !build::has_error(&self.residuals) {
                    self.residuals.push(report_missing(
                        compile,
                        tool,
                        format!("the step `{name}` did not run"),
                    ));
                }
                None
            }
            Some(output) => match abnormal_end(output, tool) {
                Some(residual) => {
                    self.residuals.push(residual);
                    None
                }
                None => Some(output),
            },
        }
    }

    fn program(
        &mut self,
        target: &Target,
        program: &str,
        (listed, ran): (Option<&Vec<String>>, Option<&Vec<String>>),
        run: &StepOutput,
    ) {
        let (Some(listed), Some(ran)) = (listed, ran) else {
            let part = if listed.is_none() { "list" } else { "run" };
            let message = format!("cargo did not {part} the target `{}`", target.label);
            self.residuals.push(report_missing(run, &self.stage.tool, message));
            return;
        };
        let names: BTreeSet<&str> = sections::announced(listed).into_iter().collect();
        let section = libtest::read(ran, &names);
        if names.is_empty() && target.own_harness {
            self.tests.unlisted.push(target.label.clone());
            if let Some(reason) = &section.failed {
                self.target_failed(target, reason, ran);
            }
            return;
        }
        let full = names.iter().map(|&name| (name, TestName(format!("{}::{name}", target.label)))).collect();
        self.note_passed(program, &section);
        self.results(&full, &section, target.file.as_ref());
        self.whole(&target.label, &section, run);
        if let Some(reason) =
            section.failed.as_ref().filter(|_| section.tally().failed == 0 && section.adds_up())
        {
            self.target_failed(target, reason, ran);
        }
    }

    fn target_failed(&mut self, target: &Target, reason: &str, printed: &[String]) {
        let message = format!("the test target `{}` failed: {reason}", target.label);
        let mut residual = Residual::error(Component::Log, Class::TargetFailed, &self.stage.tool, message);
        residual.score = Milli::units(UNNAMED_TEST.units());
        residual.symbol = Some(target.label.clone());
        let evidence = printed.join("\n");
        let evidence = report::tail(&evidence, Residual::EVIDENCE_CAP);
        self.residuals.push(residual.in_file(target.file.clone()).with_evidence(evidence));
    }

    fn documentation(&mut self, name: &str, listed: &[String], ran: Option<&Vec<String>>, run: &StepOutput) {
        let Some(ran) = ran else {
            let message = format!("cargo did not run the documentation tests of `{name}`");
            self.residuals.push(report_missing(run, &self.stage.tool, message));
            return;
        };
        let names = sections::announced(listed);
        let section = libtest::read(ran, &names.iter().copied().collect());
        self.note_passed(name, &section);
        for (full, file) in doc_names::full(&names) {
            let file = in_tree(self.context, file);
            self.results(&full, &section, file.as_ref());
        }
        self.whole(&format!("documentation of {name}"), &section, run);
    }

    fn note_passed(&mut self, owner: &str, section: &Section) {
        if section.results.values().any(|end| *end == TestEnd::Passed) {
            self.passed.insert(owner.to_owned());
        }
    }

    /// One result per announced name; a name without one fails.
    fn results(&mut self, names: &BTreeMap<&str, TestName>, section: &Section, file: Option<&RelPath>) {
        for (&name, full) in names {
            let end = section.results.get(name).copied();
            let (end, message) = match end {
                Some(TestEnd::Failed) => {
                    (TestEnd::Failed, self.failed(full, section.printed.get(name), file))
                }
                Some(end) => (end, String::new()),
                None => {
                    let message = format!("`{}` was announced and has no result", full.0);
                    let residual = failed_test(&self.stage.tool, Class::TestsVanished, full, message.clone());
                    self.residuals.push(residual.in_file(file.cloned()));
                    (TestEnd::Failed, message)
                }
            };
            // The report names no file: the one at the module's place, if it defines the test.
            let held = file.and_then(|target| layout::file_of(self.context.files, target, name));
            self.tests.results.insert(full.clone(), TestResult { end, file: held, message });
        }
    }

    /// The residual of a failed test; its message is returned for the result.
    fn failed(&mut self, full: &TestName, printed: Option<&String>, file: Option<&RelPath>) -> String {
        let printed = failure::settled(printed.map_or("", String::as_str));
        let what = failure::message(&printed);
        let message = format!("`{}` failed: {}", full.0, failure::in_one_line(&what));
        let mut residual = failed_test(&self.stage.tool, Class::TestFailed, full, message);
        let panicked = failure::place(&printed).and_then(|(path, line, column)| {
            Some((in_tree(self.context, path)?, report::place(line, column)))
        });
        let (at, place) = panicked.map_or((file.cloned(), None), |(path, place)| (Some(path), place));
        residual.place = place;
        self.residuals.push(residual.in_file(at).with_evidence(&printed));
        what
    }

    /// A target without a summary, or with one that its result lines contradict, was not measured.
    fn whole(&mut self, label: &str, section: &Section, run: &StepOutput) {
        if section.adds_up() {
            return;
        }
        let message = match section.summaries.last() {
            None => {
                let how = section.failed.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
                format!("the tests of `{label}` ended without a summary{how}")
            }
            Some(_) => format!("the summary of `{label}` and its result lines do not agree"),
        };
        let mut residual = report_missing(run, &self.stage.tool, message);
        residual.symbol = Some(label.to_owned());
        residual.hint = Some(
            "Something ended the test process before it reported: look for a call that exits or aborts."
                .to_owned(),
        );
        self.residuals.push(residual);
    }
}

/// The test programs of the tree's packages, by file name.
fn targets(artifacts: &[messages::Artifact], context: &ReadContext<'_>) -> BTreeMap<String, Target> {
    let mut targets = BTreeMap::new();
    for artifact in artifacts.iter().filter(|artifact| artifact.profile.test) {
        let Some(program) = artifact.executable.as_ref().and_then(|path| path.rsplit('/').next()) else {
            continue;
        };
        let Some(package) = artifact.package(context) else { continue };
        let manifest = manifest::of(context.files, &package).unwrap_or_default();
        let declared = manifest["package"]["name"].as_str().unwrap_or(package.name());
        let kind = artifact.target.kind.first().map_or("lib", String::as_str);
        let name = &artifact.target.name;
        let (table, label) = match kind {
            "bin" | "example" | "bench" => (kind, format!("{declared}/{kind}/{name}")),
            "test" => (kind, format!("{declared}/{name}")),
            _ => ("lib", declared.to_owned()),
        };
        let target = Target {
            label,
            file: in_tree(context, &artifact.target.src_path),
            own_harness: manifest::has_own_harness(&manifest, table, name),
        };
        targets.insert(program.to_owned(), target);
    }
    targets
}
