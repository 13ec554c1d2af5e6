//! What counts of test results: what failed before and still does, what wavers, what is gone.

use std::collections::BTreeSet;

use super::findings::{at_base, before, is_foreign};
use super::needs::{self, in_file};
use super::{Case, Finding, TEST_UNITS, Terms, Undeclared};
use crate::consent::{ConsentKind, Declared, Need};
use crate::inventory::{Inventory, TestId, ends_with_name};
use crate::path::RelPath;
use crate::plan::{Contract, WeightedTest};
use crate::reading::{Reading, StageKind, Status, TestEnd, TestName, TestResult};
use crate::residual::{Charge, Class, Component, Milli, Residual};

/// Why a test that wavers is not charged.
pub(super) const FLAKY: &str = "flaky: it passed and failed on the tree before";

/// Charges every test stage. What only the user can permit comes back as needs.
pub(super) fn charge(
    case: &Case<'_>,
    terms: &Terms<'_>,
    inventory: &Inventory,
    findings: &mut Vec<Finding>,
) -> Vec<Need> {
    let mut needs = Vec::new();
    let looked =
        |reading: &&Reading| reading.stage.kind == StageKind::Test && reading.status == Status::Measured;
    let all: Vec<&Reading> = case.readings.iter().filter(looked).collect();
    let mut more = Vec::new();
    for reading in &all {
        let before: Vec<&Reading> = before(case, reading).collect();
        let base = at_base(case, before.clone());
        for finding in findings.iter_mut().filter(|finding| finding.stage == reading.stage) {
            needs.extend(old_failure(&mut finding.residual, reading, (&before, &base), terms));
            weigh(&mut finding.residual, terms.contract);
        }
        let of_stage = |residual| (reading.stage.clone(), residual);
        for mut residual in
            tests_gone_or_skipped((&all, case.old_tests), reading, (&before, &base), inventory)
        {
            needs.extend(need_for_gone(&mut residual, terms));
            more.push(of_stage(residual));
        }
        more.extend(none_ran(&all, reading, &before, terms, inventory).map(of_stage));
    }
    // A named test lies in one of the roots, whichever it is.
    let first = all.first().iter().flat_map(|first| unmet(&all, first, terms.contract)).collect::<Vec<_>>();
    more.extend(first.into_iter().map(|residual| (all[0].stage.clone(), residual)));
    findings.extend(more.into_iter().map(|(stage, residual)| Finding { stage, residual }));
    needs
}

fn results(reading: &Reading) -> impl Iterator<Item = (&TestName, &TestResult)> {
    reading.tests.iter().flat_map(|tests| &tests.results)
}

fn result<'a>(reading: &'a Reading, name: &TestName) -> Option<&'a TestResult> {
    reading.tests.as_ref()?.results.get(name)
}

/// Whether a test both passed and failed on one and the same tree.
fn wavers(before: &[&Reading], name: &TestName) -> bool {
    let ended = |on: &Reading, end: TestEnd| {
        before
            .iter()
            .any(|one| one.tree == on.tree && result(one, name).is_some_and(|result| result.end == end))
    };
    before.iter().any(|one| ended(one, TestEnd::Passed) && ended(one, TestEnd::Failed))
}

/// A failing test that failed in the same way before: inherited where the node cannot reach it, else a need.
fn old_failure(
    residual: &mut Residual,
    reading: &Reading,
    (before, base): (&[&Reading], &[&Reading]),
    terms: &Terms<'_>,
) -> Option<Need> {
    let name = TestName(residual.symbol.clone().filter(|_| residual.class == Class::TestFailed)?);
    if !residual.counts() {
        return None;
    }
    let now = result(reading, &name)?;
    let same = |old: &TestResult| old.end == TestEnd::Failed && same_failure(&old.message, &now.message);
    // Only the failure that it wavers with is excused.
    if wavers(before, &name) && before.iter().filter_map(|one| result(one, &name)).any(same) {
        residual.charge = Charge::Shown(FLAKY.to_owned());
        return None;
    }
    let was = base.iter().filter_map(|one| result(one, &name)).find(|old| old.end == TestEnd::Failed)?;
    if is_foreign(residual.file.as_ref().or(now.file.as_ref()), terms) {
        residual.charge =
            Charge::Inherited("it failed before, in a package this node does not touch".to_owned());
        return None;
    }
    if !same(was) {
        return None;
    }
    if is_out_of_reach(reading, residual.file.as_ref().into_iter().chain(&now.file), terms) {
        residual.charge = Charge::Inherited(
            "it failed before in the same way, and leads to nothing that was changed".to_owned(),
        );
        return None;
    }
    let need = Need {
        kind: ConsentKind::Red,
        subject: name.0.clone(),
        why: "it failed before, and fails in the same way now".to_owned(),
        declared: terms.declared.of_red(&name.0),
        weaker: Vec::new(),
        notes: vec![first_line(&residual.message)],
        test: None,
    };
    let asks = need.declared != Declared::No
        || terms.red == Undeclared::Ask
        || terms.consents.covering(&need).is_some();
    if !asks {
        residual.hint = Some(
            "It failed before you began. Mend what it shows, or say in `leaves_red` that it stays as it is."
                .to_owned(),
        );
        return None;
    }
    residual.charge =
        Charge::Consent("it failed before in the same way: leaving it red needs your consent".to_owned());
    Some(need)
}

/// Whether the runner says of a test's file what it leads to, and that is nothing that the candidate touches.
fn is_out_of_reach<'a>(
    reading: &Reading,
    files: impl Iterator<Item = &'a RelPath>,
    terms: &Terms<'_>,
) -> bool {
    let mut reached = files.filter_map(|file| reading.reach.get(file)).peekable();
    reached.peek().is_some() && reached.all(|reached| reached.is_disjoint(terms.touched))
}

/// Whether two messages tell the same failure: digits, addresses and paths aside.
fn same_failure(one: &str, other: &str) -> bool {
    fn words_of(message: &str) -> Vec<String> {
        let words = message.split_whitespace().filter(|word| !word.contains('/') && !word.starts_with("0x"));
        let bare = words.map(|word| word.chars().filter(|c| !c.is_ascii_digit()).collect::<String>());
        bare.filter(|word| !word.is_empty()).collect()
    }
    words_of(one) == words_of(other)
}

fn first_line(text: &str) -> String {
    text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().chars().take(200).collect()
}

/// How many cases with parameters of a test's function ran.
fn cases(reading: &Reading, name: &TestName) -> usize {
    let function = |name: &str| name.split('[').next().unwrap_or(name).to_owned();
    let of = function(&name.0);
    let ran = results(reading).filter(|(other, result)| {
        result.end != TestEnd::Skipped && other.0.contains('[') && function(&other.0) == of
    });
    ran.count()
}

/// Tests of the base that ran and are now gone or skipped. Those that the candidate changed, removed, renamed or
/// moved are looked at by their text.
fn tests_gone_or_skipped(
    (all, old_tests): (&[&Reading], &[Reading]),
    reading: &Reading,
    (before, base): (&[&Reading], &[&Reading]),
    inventory: &Inventory,
) -> Vec<Residual> {
    let Some(first) = base.first() else { return Vec::new() };
    let runs_now = |id: &TestId| {
        let mut now = all.iter().flat_map(|one| results(one));
        now.any(|(name, result)| result.end != TestEnd::Skipped && id.is(name, result))
    };
    let known = |name: &TestName, was: &TestResult| {
        let mut moved = inventory.moved.iter();
        inventory.changed.iter().any(|test| test.id.is_or_gives(name, was))
            || moved.any(|(from, to)| from.is_or_gives(name, was) && runs_now(to))
    };
    let mut residuals = Vec::new();
    for (name, was) in results(first) {
        let ran = |one: &&Reading| result(one, name).is_some_and(|result| result.end != TestEnd::Skipped);
        let class = match result(reading, name).map(|result| result.end) {
            None => Class::TestMissing,
            Some(TestEnd::Skipped) => Class::TestSkipped,
            Some(TestEnd::Passed | TestEnd::Failed) => continue,
        };
        // A case has what it is given in its name: where as many cases run as before, and the old ones still pass, none is gone.
        let passes = |old: &&Reading| result(old, name).is_some_and(|result| result.end == TestEnd::Passed);
        let as_many = class == Class::TestMissing
            && cases(first, name) > 0
            && cases(reading, name) >= cases(first, name)
            && old_tests.iter().any(|old| passes(&old));
        if !base.iter().all(ran) || wavers(before, name) || known(name, was) || as_many {
            continue;
        }
        let said = if class == Class::TestMissing { "is gone" } else { "is skipped" };
        let message = format!("test `{}` ran before and {said} now", name.0);
        let mut residual = Residual::error(Component::Log, class, &reading.tool, message);
        residual.score = Milli::units(TEST_UNITS);
        residual.symbol = Some(name.0.clone());
        residual.hint = Some(
            "A test that ran must go on running; where the task needs it gone, declare that in `changes_tests`.".to_owned(),
        );
        residuals.push(residual.in_file(was.file.clone()));
    }
    residuals
}

/// A test that is gone or skipped, and that nothing of the inventory explains: tests that a macro or a setting makes. It is
/// a finding first; where it was declared, or the model was told, it is a need.
fn need_for_gone(residual: &mut Residual, terms: &Terms<'_>) -> Option<Need> {
    let name = residual.symbol.clone()?;
    let subject = match &residual.file {
        Some(file) => in_file(file, &TestName(name)),
        None => name,
    };
    let why = "it ran before, and it does not run any more".to_owned();
    let need = needs::need(ConsentKind::Tests, subject, why, terms);
    let asks = need.declared != Declared::No
        || terms.undeclared == Undeclared::Ask
        || terms.consents.covering(&need).is_some();
    if !asks {
        return None;
    }
    residual.charge =
        Charge::Consent("an existing test does not run any more: that needs your consent".to_owned());
    Some(need)
}

/// Whether a runner's name of a test is the one that the contract names.
fn is_named(test: &str, named: &WeightedTest) -> bool {
    ends_with_name(test, &named.name) || ends_with_name(test, &named.name.replace('.', "::"))
}

/// Gives a failing test the weight of the contract.
fn weigh(residual: &mut Residual, contract: &Contract) {
    let of_test = matches!(residual.class, Class::TestFailed | Class::TestsVanished);
    let Some(test) = residual.symbol.clone().filter(|_| of_test) else { return };
    for named in contract.weighted_tests.iter().filter(|named| is_named(&test, named)) {
        residual.score = Milli::units(named.criticality.units());
    }
}

/// Whether a command of the user was run that names no test.
fn is_by_exit_code(reading: &Reading) -> bool {
    reading.command.is_some() && reading.tests.is_none()
}

/// A named test that no result answers to, or that was skipped, fails at its weight.
fn unmet(all: &[&Reading], first: &Reading, contract: &Contract) -> Vec<Residual> {
    // An exit code says nothing of single tests.
    if all.iter().any(|reading| is_by_exit_code(reading)) {
        return Vec::new();
    }
    let mut residuals = Vec::new();
    for named in &contract.weighted_tests {
        let answers = all.iter().flat_map(|one| results(one)).filter(|(test, _)| is_named(&test.0, named));
        let ends: Vec<TestEnd> = answers.map(|(_, result)| result.end).collect();
        let (class, message) = if ends.is_empty() {
            (Class::TestMissing, format!("the named test `{}` does not exist", named.name))
        } else if ends.contains(&TestEnd::Skipped) {
            (Class::TestSkipped, format!("the named test `{}` was skipped", named.name))
        } else {
            continue;
        };
        let mut residual = Residual::error(Component::Log, class, &first.tool, message);
        residual.score = Milli::units(named.criticality.units());
        residual.symbol = Some(named.name.clone());
        residuals.push(residual);
    }
    residuals
}

/// Where tests are expected, a run that collected none is not a pass. What a node brings may lie in any of its roots.
fn none_ran(
    all: &[&Reading],
    reading: &Reading,
    before: &[&Reading],
    terms: &Terms<'_>,
    inventory: &Inventory,
) -> Option<Residual> {
    let ran = |one: &Reading| {
        is_by_exit_code(one) || results(one).any(|(_, result)| result.end != TestEnd::Skipped)
    };
    // Tests that go away with a consent are no longer expected.
    let removed: BTreeSet<_> =
        inventory.changed.iter().filter(|test| test.new.is_empty()).map(|test| &test.id).collect();
    let left = |(name, was): (&TestName, &TestResult)| {
        was.end != TestEnd::Skipped && !removed.iter().any(|id| id.is(name, was))
    };
    let brings =
        terms.brings_tests || !inventory.added.is_empty() || !terms.contract.weighted_tests.is_empty();
    let expected =
        (brings && !all.iter().any(|one| ran(one))) || before.iter().any(|one| results(one).any(left));
    let message = "no test ran, and tests are expected here";
    (expected && !ran(reading))
        .then(|| Residual::error(Component::Log, Class::NoTests, &reading.tool, message))
}
