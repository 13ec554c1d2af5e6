//! What a reading must show before it counts, beyond what the tool itself says.

use std::collections::BTreeSet;

use perspt_core::hash::Sha;
use perspt_core::judge::TEST_UNITS;
use perspt_core::path::RelPath;
use perspt_core::reading::{Reading, StageKind, Status, TestEnd, TestName, TestResult};
use perspt_core::residual::{Charge, Class, Component, Milli, Residual};
use perspt_core::state::Node;
use perspt_lang::asks_to_change;

use super::measure::TREE_CHANGED;

fn ran(reading: &Reading) -> impl Iterator<Item = (&TestName, &TestResult)> {
    let results = reading.tests.iter().flat_map(|tests| &tests.results);
    results.filter(|(_, test)| test.end != TestEnd::Skipped)
}

/// Where tests are expected, a run that collected none is not a pass.
pub(super) fn expect_tests(node: &Node, reading: &mut Reading, before: &[Reading]) {
    if reading.stage.kind != StageKind::Test || reading.status != Status::Measured {
        return;
    }
    let expected = node.spec.task_type.is_test()
        || !node.spec.contract.weighted_tests.is_empty()
        || before.iter().any(|before| ran(before).next().is_some());
    if expected && ran(reading).next().is_none() {
        let message = "no test ran, and tests are expected here";
        reading.residuals.push(Residual::error(Component::Log, Class::NoTests, &reading.tool, message));
    }
}

/// A test node that touches nothing but tests adds one that runs, changes one, or turns one green: else nothing is
/// tested that was not before. One that touches code too may only have moved its tests along.
pub(super) fn tests_do_something(reading: &mut Reading, before: &[Reading], changed: &[Residual]) {
    let measured = reading.status == Status::Measured && ran(reading).next().is_some();
    let passed_before = |name: &TestName| {
        before.iter().flat_map(ran).any(|(other, test)| other == name && test.end == TestEnd::Passed)
    };
    if !measured || !changed.is_empty() || ran(reading).any(|(name, _)| !passed_before(name)) {
        return;
    }
    let message = "this is a test task, and no test of it runs that did not run before";
    let mut residual = Residual::error(Component::Log, Class::NoNewTest, &reading.tool, message);
    residual.hint = Some(
        "Name the file and the tests as the project's runner collects them; do not skip them.".to_owned(),
    );
    reading.residuals.push(residual);
}

/// Test functions with parameters in these files, by file and path in it.
pub(super) fn cases_in(before: &[Reading], files: &BTreeSet<RelPath>) -> BTreeSet<(RelPath, String)> {
    let in_files = |(name, test): (&TestName, &TestResult)| {
        let (function, _) = name.0.split_once('[')?;
        let (_, path) = function.split_once("::")?;
        let file = test.file.clone().filter(|file| files.contains(file))?;
        Some((file, path.to_owned()))
    };
    before.iter().flat_map(ran).filter_map(in_files).collect()
}

/// A test that failed before and was rewritten may be right or wrong; only the user can say. It counts as failing
/// unless the task asks for it to be changed.
pub(super) fn rewritten(tool: &str, before: &[Reading], changed: &[Residual], task: &str) -> Vec<Residual> {
    let failed = || before.iter().flat_map(ran).filter(|(_, test)| test.end == TestEnd::Failed);
    let last = |name: &str| name.rsplit("::").next().unwrap_or(name).to_owned();
    let plain = |name: &str| last(name).split('[').next().unwrap_or_default().to_owned();
    let mut residuals = Vec::new();
    for change in changed {
        let (Some(symbol), Some(file)) = (&change.symbol, &change.file) else { continue };
        let asked = asks_to_change(task, &last(symbol), file.name());
        let same = |(name, test): &(&TestName, &TestResult)| {
            plain(&name.0) == last(symbol) && test.file.as_ref().is_none_or(|at| at == file)
        };
        if asked || !failed().any(|found| same(&found)) {
            continue;
        }
        let message = format!("the test `{symbol}` failed before and was rewritten instead of the code");
        let mut residual = Residual::error(Component::Log, Class::TestRewritten, tool, message);
        residual.score = Milli::units(TEST_UNITS);
        residual.hint = Some(
            "Put the test back as it was and mend the code; the task does not ask for this test to change."
                .to_owned(),
        );
        residuals.push(residual.in_file(Some(file.clone())));
    }
    residuals
}

/// A file that never compiled is the business of the node that touches it, and so is one that the project's own tests
/// write to. A file no tool looks at is the business of the node that touched it, or that took it out of the tools'
/// sight; else it is nobody's.
pub(super) fn spare_untouched(reading: &mut Reading, touched: &BTreeSet<RelPath>, before: &[Reading]) {
    let unmeasured = |residual: &&Residual| residual.class == Class::UnmeasuredFile;
    let seen_before = |file: &RelPath| {
        // What does not build is not looked at as a whole.
        let looked =
            |one: &&Reading| one.status == Status::Measured && !one.residuals.iter().any(Residual::counts);
        let mut looks = before.iter().filter(looked).peekable();
        looks.peek().is_some()
            && looks.all(|one| {
                !one.residuals.iter().filter(unmeasured).any(|old| old.file.as_ref() == Some(file))
            })
    };
    let known: BTreeSet<Sha> =
        before.iter().flat_map(|one| one.residuals.iter().map(Residual::fingerprint)).collect();
    let untouched = |residual: &Residual| residual.file.as_ref().is_some_and(|file| !touched.contains(file));
    let in_syntax = reading.stage.kind == StageKind::Syntax;
    // Templates, samples of bad code, what is left of an older language: whoever runs it would see it in a test.
    let of_the_project = |residual: &&mut Residual| in_syntax || residual.class == TREE_CHANGED;
    for residual in reading.residuals.iter_mut().filter(of_the_project) {
        if residual.counts() && untouched(residual) && known.contains(&residual.fingerprint()) {
            residual.charge =
                Charge::Inherited("it was there before, in a file this node does not touch".to_owned());
        }
    }
    for residual in reading.residuals.iter_mut().filter(|residual| residual.class == Class::UnmeasuredFile) {
        if !residual.file.as_ref().is_some_and(|file| touched.contains(file) || seen_before(file)) {
            residual.charge =
                Charge::Shown("no tool looks at this file; the node did not touch it".to_owned());
        }
    }
}
