//! What is charged to a node and what it found there.

use std::collections::BTreeSet;

use perspt_core::judge::{Scope, TEST_FAILED, TEST_UNITS, charge};
use perspt_core::path::RelPath;
use perspt_core::reading::{Reading, StageKind, Status, TestEnd, TestName, TestResult, Tests};
use perspt_core::residual::{Charge, Class, Component, Milli, Residual, Severity};

use crate::support::*;

use TestEnd::{Failed, Passed, Skipped};

/// A run of tests, each with the file it lies in.
fn run(on: &str, tests: &[(&str, &str, TestEnd)]) -> Reading {
    let mut residuals = vec![];
    let mut results = Tests::default();
    for (name, file, end) in tests {
        let result = TestResult { end: *end, file: Some(path(file)), message: String::new() };
        results.results.insert(TestName((*name).to_owned()), result);
        if *end == Failed {
            let mut failed = Residual::error(Component::Log, TEST_FAILED, "cargo test", "it failed");
            failed.symbol = Some((*name).to_owned());
            residuals.push(failed.in_file(Some(path(file))));
        }
    }
    reading(on, StageKind::Test, residuals, Some(results))
}

fn build(on: &str, errors: &[(&str, &str)]) -> Reading {
    let error = |(file, message): &(&str, &str)| {
        Residual::error(Component::Syn, Class::CompileError, "cargo check", *message)
            .in_file(Some(path(file)))
    };
    reading(on, StageKind::Build, errors.iter().map(error).collect(), None)
}

fn reading(on: &str, kind: StageKind, residuals: Vec<Residual>, tests: Option<Tests>) -> Reading {
    Reading {
        tree: tree_id(on),
        stage: stage(kind),
        tool: "a tool".to_owned(),
        status: Status::Measured,
        residuals,
        tests,
        notes: vec![],
    }
}

/// What is charged to a node that touches `mine`, with packages `a` and `b`.
fn charged(mut now: Reading, before: &[Reading], mine: &[&str]) -> Reading {
    let files: BTreeSet<RelPath> = mine.iter().map(|file| path(file)).collect();
    let packages = [path("a"), path("b")];
    charge(&mut now, before, &Scope { packages: &packages, files: &files, rewritten: &BTreeSet::new() });
    now
}

fn counted(reading: &Reading) -> Vec<&str> {
    let name = |residual: &&Residual| residual.counts();
    let mut names: Vec<&str> = reading
        .residuals
        .iter()
        .filter(name)
        .map(|residual| residual.symbol.as_deref().unwrap_or(&residual.message))
        .collect();
    names.sort();
    names
}

fn is_inherited(residual: &Residual) -> bool {
    matches!(residual.charge, Charge::Inherited(_))
}

#[test]
fn a_failure_is_inherited_only_if_it_was_there_before_and_lies_in_another_package() {
    let before = [run("base", &[("old_b", "b/t.rs", Failed), ("old_a", "a/t.rs", Failed)])];
    let tests = [
        ("old_b", "b/t.rs", Failed),
        ("old_a", "a/t.rs", Failed),
        ("new_b", "b/t.rs", Failed),
        ("new_a", "a/t.rs", Failed),
    ];
    let now = charged(run("now", &tests), &before, &["a/src/lib.rs"]);
    assert_eq!(counted(&now), ["new_a", "new_b", "old_a"]);
    assert_eq!(now.residuals.iter().filter(|residual| is_inherited(residual)).count(), 1);
}

#[test]
fn a_compiler_error_is_known_again_by_its_words_and_not_by_its_line() {
    let before = [build("base", &[("b/src/lib.rs", "no method on line 3"), ("a/src/lib.rs", "no type")])];
    let errors =
        [("b/src/lib.rs", "no method on line 9"), ("b/src/lib.rs", "no field"), ("a/src/lib.rs", "no type")];
    let now = charged(build("now", &errors), &before, &["a/src/lib.rs"]);
    assert_eq!(counted(&now), ["no field", "no type"]);
}

#[test]
fn where_nothing_was_measured_before_every_finding_counts() {
    let now = charged(build("now", &[("b/src/lib.rs", "x")]), &[], &["a/src/lib.rs"]);
    assert_eq!(counted(&now), ["x"]);
    let mut silent = build("base", &[("b/src/lib.rs", "x")]);
    silent.status = Status::Unavailable("why".to_owned());
    let now = charged(build("now", &[("b/src/lib.rs", "x")]), &[silent], &["a/src/lib.rs"]);
    assert_eq!(counted(&now), ["x"], "what did not look says nothing about what was there");
}

#[test]
fn where_no_package_is_known_every_finding_counts() {
    let before = [build("base", &[("b/src/lib.rs", "x"), ("c/src/lib.rs", "y")])];
    let files = BTreeSet::from([path("a/src/lib.rs")]);
    let mut now = build("now", &[("b/src/lib.rs", "x"), ("c/src/lib.rs", "y")]);
    charge(&mut now, &before, &Scope { packages: &[], files: &files, rewritten: &BTreeSet::new() });
    assert_eq!(counted(&now), ["x", "y"]);
    // A file outside every package, a finding without a file, a node without files: all count.
    let now = charged(build("now", &[("c/src/lib.rs", "y")]), &before, &["a/src/lib.rs"]);
    assert_eq!(counted(&now), ["y"]);
    let now = charged(build("now", &[("b/src/lib.rs", "x")]), &before, &[]);
    assert_eq!(counted(&now), ["x"]);
    let mut nowhere = build("base", &[("b/src/lib.rs", "x")]);
    nowhere.residuals[0].file = None;
    let now = charged(nowhere.clone(), &[nowhere], &["a/src/lib.rs"]);
    assert_eq!(counted(&now), ["x"]);
}

#[test]
fn a_node_whose_files_lie_in_no_package_of_the_root_inherits_what_was_there() {
    let before = [build("base", &[("b/src/lib.rs", "x")])];
    let now = build("now", &[("b/src/lib.rs", "x"), ("b/src/lib.rs", "new")]);
    assert_eq!(counted(&charged(now, &before, &["docs/guide.md"])), ["new"]);
}

#[test]
fn a_file_belongs_to_the_deepest_package_that_holds_it() {
    let packages = [RelPath::root(), path("b"), path("b/c")];
    let files = BTreeSet::from([path("b/c/src/lib.rs")]);
    let scope = Scope { packages: &packages, files: &files, rewritten: &BTreeSet::new() };
    assert_eq!(scope.package_of(&path("b/c/src/lib.rs")), Some(&path("b/c")));
    assert_eq!(scope.package_of(&path("b/src/lib.rs")), Some(&path("b")));
    assert_eq!(scope.package_of(&path("bc/src/lib.rs")), Some(&RelPath::root()));
    let before = [build("base", &[("b/src/lib.rs", "x"), ("b/c/src/lib.rs", "y")])];
    let mut now = before[0].clone();
    charge(&mut now, &before, &scope);
    assert_eq!(counted(&now), ["y"]);
}

#[test]
fn a_test_that_ran_before_and_is_gone_or_skipped_counts_as_failing() {
    let ran = [("gone", "b/t.rs", Passed), ("hidden", "b/t.rs", Passed), ("red", "b/t.rs", Failed)];
    let before = [run("base", &ran)];
    let now = charged(run("now", &[("hidden", "b/t.rs", Skipped)]), &before, &["a/src/lib.rs"]);
    assert_eq!(counted(&now), ["gone", "hidden", "red"]);
    for residual in &now.residuals {
        assert_eq!((residual.severity, residual.score), (Severity::Error, Milli::units(TEST_UNITS)));
        assert_eq!(residual.component, Component::Log);
        assert_eq!(residual.file, Some(path("b/t.rs")));
    }
    let class = |name: &str| {
        now.residuals.iter().find(|one| one.symbol.as_deref() == Some(name)).unwrap().class.clone()
    };
    assert_eq!((class("gone").as_str(), class("hidden").as_str()), ("test-missing", "test-skipped"));
}

#[test]
fn a_test_that_was_skipped_before_may_stay_skipped() {
    let before = [run("base", &[("slow", "a/t.rs", Skipped)])];
    let now = charged(run("now", &[("slow", "a/t.rs", Skipped)]), &before, &["a/src/lib.rs"]);
    assert!(now.residuals.is_empty());
    let now = charged(run("now", &[]), &before, &["a/src/lib.rs"]);
    assert!(now.residuals.is_empty());
}

#[test]
fn a_flaky_test_is_shown_and_not_charged() {
    let once = run("base", &[("flaky", "a/t.rs", Passed), ("red", "a/t.rs", Failed)]);
    let twice = run("base", &[("flaky", "a/t.rs", Failed), ("red", "a/t.rs", Failed)]);
    let now = run("now", &[("flaky", "a/t.rs", Failed), ("red", "a/t.rs", Failed)]);
    let now = charged(now, &[once.clone(), twice.clone()], &["a/src/lib.rs"]);
    assert_eq!(counted(&now), ["red"]);
    assert!(now.residuals.iter().any(|residual| matches!(residual.charge, Charge::Shown(_))));
    // Nor is it missed.
    let now = charged(run("now", &[("red", "a/t.rs", Passed)]), &[once, twice], &["a/src/lib.rs"]);
    assert!(counted(&now).is_empty());
}

#[test]
fn a_test_that_passed_on_one_tree_and_failed_on_another_is_not_flaky() {
    let before = [run("base", &[("t", "a/t.rs", Passed)]), run("head", &[("t", "a/t.rs", Failed)])];
    let now = charged(run("now", &[("t", "a/t.rs", Failed)]), &before, &["a/src/lib.rs"]);
    assert_eq!(counted(&now), ["t"]);
}

#[test]
fn a_test_in_only_one_of_two_runs_of_a_tree_is_not_tracked() {
    let both = [
        run("base", &[("stays", "a/t.rs", Passed), ("comes", "a/t.rs", Passed)]),
        run("base", &[("stays", "a/t.rs", Passed), ("goes", "a/t.rs", Passed)]),
    ];
    for before in [both.clone(), [both[1].clone(), both[0].clone()]] {
        let now = charged(run("now", &[]), &before, &["a/src/lib.rs"]);
        assert_eq!(counted(&now), ["stays"]);
    }
}

#[test]
fn a_test_that_a_later_tree_added_is_tracked_too() {
    let before = [
        run("base", &[("old", "a/t.rs", Passed)]),
        run("head", &[("old", "a/t.rs", Passed), ("new", "a/t.rs", Passed)]),
    ];
    let now = charged(run("now", &[("old", "a/t.rs", Passed)]), &before, &["a/src/lib.rs"]);
    assert_eq!(counted(&now), ["new"]);
}

#[test]
fn a_run_that_was_not_measured_misses_no_tests() {
    let before = [run("base", &[("t", "a/t.rs", Passed)])];
    let mut now = run("now", &[]);
    now.status = Status::NotRun("it does not compile".to_owned());
    assert!(charged(now, &before, &["a/src/lib.rs"]).residuals.is_empty());
}
