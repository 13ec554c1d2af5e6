//! Holding a reading against what was there before: what is inherited, what went missing, what is flaky.

use std::collections::{BTreeMap, BTreeSet};

use crate::hash::Sha;
use crate::path::RelPath;
use crate::reading::{Reading, Status, TestEnd, TestName};
use crate::residual::{Charge, Class, Component, Milli, Residual};

/// The class of a failing test's residual; its symbol is the test's name.
pub const TEST_FAILED: Class = Class::TestFailed;
/// The units a failing test weighs where the plan does not name it.
pub const TEST_UNITS: u64 = 3;

/// Which packages there are, and which of them the node's files lie in.
pub struct Scope<'a> {
    /// Every package of the root.
    pub packages: &'a [RelPath],
    /// Files the node owns or changed.
    pub files: &'a BTreeSet<RelPath>,
    /// Test functions whose own text the node changed, by their file and their path in it.
    pub rewritten: &'a BTreeSet<(RelPath, String)>,
}

impl Scope<'_> {
    /// The package a file belongs to: the deepest that holds it.
    pub fn package_of(&self, file: &RelPath) -> Option<&RelPath> {
        self.packages
            .iter()
            .filter(|package| file.is_within(package))
            .max_by_key(|package| package.as_str().len())
    }

    fn rewrote(&self, file: &RelPath, case: &TestName) -> bool {
        let function = case.0.split('[').next().unwrap_or_default();
        self.rewritten.iter().any(|(at, path)| {
            at == file && function.strip_suffix(path.as_str()).is_some_and(|rest| rest.ends_with("::"))
        })
    }

    fn is_foreign(&self, file: Option<&RelPath>) -> bool {
        let Some(home) = file.and_then(|file| self.package_of(file)) else { return false };
        let mut mine = self.files.iter().filter_map(|file| self.package_of(file));
        !self.files.is_empty() && mine.all(|package| package != home)
    }
}

/// Charges a reading against earlier readings of the same stage. `before` is empty where nothing was
/// there to be inherited, and then every finding counts.
pub fn charge(reading: &mut Reading, before: &[Reading], scope: &Scope<'_>) {
    let before: Vec<&Reading> = before.iter().filter(|one| one.status == Status::Measured).collect();
    let known: BTreeSet<Sha> =
        before.iter().flat_map(|one| one.residuals.iter().map(Residual::fingerprint)).collect();
    let flaky = flaky_tests(&before);
    for residual in reading.residuals.iter_mut().filter(|residual| residual.counts()) {
        let test = residual.symbol.as_ref().filter(|_| residual.class == TEST_FAILED);
        if test.is_some_and(|name| flaky.contains(&TestName(name.clone()))) {
            residual.charge = Charge::Shown("flaky: it passed and failed on the tree before".to_owned());
            continue;
        }
        let was_there = match test {
            Some(name) => failed_before(&before, &TestName(name.clone())),
            None => known.contains(&residual.fingerprint()),
        };
        if was_there && scope.is_foreign(residual.file.as_ref()) {
            residual.charge =
                Charge::Inherited("it was there before, in a package this node does not touch".to_owned());
        }
    }
    let lost = lost_tests(reading, &before, &flaky, scope);
    reading.residuals.extend(lost);
}

fn ends<'a>(
    before: &[&'a Reading],
) -> impl Iterator<Item = &'a BTreeMap<TestName, crate::reading::TestResult>> {
    before.iter().filter_map(|one| one.tests.as_ref().map(|tests| &tests.results))
}

fn failed_before(before: &[&Reading], name: &TestName) -> bool {
    ends(before).any(|results| results.get(name).is_some_and(|result| result.end == TestEnd::Failed))
}

/// Tests that both passed and failed on one and the same tree.
fn flaky_tests(before: &[&Reading]) -> BTreeSet<TestName> {
    let mut seen: BTreeMap<(Sha, &TestName), BTreeSet<TestEnd>> = BTreeMap::new();
    for one in before {
        for (name, result) in one.tests.iter().flat_map(|tests| &tests.results) {
            seen.entry((one.tree.0, name)).or_default().insert(result.end);
        }
    }
    let both = |ends: &BTreeSet<TestEnd>| ends.contains(&TestEnd::Passed) && ends.contains(&TestEnd::Failed);
    seen.into_iter().filter(|(_, ends)| both(ends)).map(|((_, name), _)| name.clone()).collect()
}

fn is_in(reading: Option<&Reading>, name: &TestName) -> bool {
    reading.and_then(|one| one.tests.as_ref()).is_some_and(|tests| tests.results.contains_key(name))
}

/// How many cases with parameters of a test's function ran.
fn cases_of(results: &BTreeMap<TestName, crate::reading::TestResult>, name: &TestName) -> usize {
    let function = |name: &str| name.split('[').next().unwrap_or(name).to_owned();
    let of = function(&name.0);
    let ran = results.iter().filter(|(other, result)| {
        result.end != TestEnd::Skipped && other.0.contains('[') && function(&other.0) == of
    });
    ran.count()
}

/// Tests that ran before, in every run of their tree, and are now gone or skipped: each counts as failing.
fn lost_tests(
    reading: &Reading,
    before: &[&Reading],
    flaky: &BTreeSet<TestName>,
    scope: &Scope<'_>,
) -> Vec<Residual> {
    let Some(now) = reading.tests.as_ref().filter(|_| reading.status == Status::Measured) else {
        return vec![];
    };
    let mut runs: BTreeMap<Sha, Vec<&Reading>> = BTreeMap::new();
    for one in before.iter().filter(|one| one.tests.is_some()) {
        runs.entry(one.tree.0).or_default().push(one);
    }
    let mut lost = BTreeMap::new();
    // What the head lacks already was let go by whoever made the head.
    let head = before.last().copied();
    for same_tree in runs.values() {
        let Some(first) = same_tree.first().and_then(|one| one.tests.as_ref()) else { continue };
        for (name, result) in &first.results {
            let ran = |one: &&Reading| {
                one.tests.as_ref().is_some_and(|tests| {
                    tests.results.get(name).is_some_and(|result| result.end != TestEnd::Skipped)
                })
            };
            if !same_tree.iter().all(ran) || flaky.contains(name) {
                continue;
            }
            // A case of a test with parameters has what it expects in its name: where the test was rewritten, which is
            // looked at by itself, and there are as many cases as before, none is gone.
            let rewritten = result.file.as_ref().is_some_and(|file| scope.rewrote(file, name));
            let cases = cases_of(&now.results, name);
            let as_many = cases > 0 && cases >= cases_of(&first.results, name);
            let other_names = as_many && !now.results.contains_key(name);
            if other_names && (rewritten || !is_in(head, name)) {
                continue;
            }
            let what = match now.results.get(name).map(|result| result.end) {
                None => Class::TestMissing,
                Some(TestEnd::Skipped) => Class::TestSkipped,
                Some(TestEnd::Passed | TestEnd::Failed) => continue,
            };
            lost.insert(name.clone(), (what, result.file.clone()));
        }
    }
    lost.into_iter()
        .map(|(name, (class, file))| {
            let said = if class == Class::TestMissing { "is gone" } else { "is skipped" };
            let mut residual = Residual::error(
                Component::Log,
                class,
                &reading.tool,
                format!("test `{}` ran before and {said} now", name.0),
            );
            residual.score = Milli::units(TEST_UNITS);
            residual.symbol = Some(name.0);
            residual.hint =
                Some("put the test back as it was; a test that ran must go on running".to_owned());
            residual.in_file(file)
        })
        .collect()
}
