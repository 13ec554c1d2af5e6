//! What counts of what the tools found, tests aside: a finding that was there before is inherited.

use std::collections::BTreeMap;

use super::{Case, Finding, Terms};
use crate::hash::Sha;
use crate::path::RelPath;
use crate::reading::{Inherits, Reading, StageKind, Status};
use crate::residual::{Charge, Class, Milli, Residual, Severity};
use crate::stage::Preset;

/// Every finding of the readings, with what it counts.
pub(super) fn charged(case: &Case<'_>, terms: &Terms<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for reading in case.readings {
        let before = at_base(case, before(case, reading).collect());
        let mut known = times_found(&before);
        for mut residual in reading.residuals.iter().cloned() {
            let is_warning = residual.severity == Severity::Warning;
            if is_warning && terms.preset == Preset::Strict {
                count_warning(&mut residual);
            }
            if residual.class == Class::UnmeasuredFile {
                unmeasured(&mut residual, terms, &before);
            } else if residual.counts()
                && residual.class != Class::TestFailed
                && (is_warning || is_spared(&residual, reading.stage.kind, terms))
                && let Some(left) = known.get_mut(&residual.fingerprint()).filter(|left| **left > 0)
            {
                *left -= 1;
                residual.charge = Charge::Inherited("it was there before".to_owned());
            }
            findings.push(Finding { stage: reading.stage.clone(), residual });
        }
    }
    findings
}

/// How often each finding was there before. The same mistake made once more is a new one.
fn times_found(before: &[&Reading]) -> BTreeMap<Sha, usize> {
    let mut most: BTreeMap<Sha, usize> = BTreeMap::new();
    for reading in before {
        let mut times: BTreeMap<Sha, usize> = BTreeMap::new();
        for residual in &reading.residuals {
            *times.entry(residual.fingerprint()).or_default() += 1;
        }
        for (finding, times) in times {
            let known = most.entry(finding).or_default();
            *known = times.max(*known);
        }
    }
    most
}

/// Counts a warning as an error, where it is about a file of the tree.
fn count_warning(residual: &mut Residual) {
    if residual.file.is_some() {
        (residual.severity, residual.score) = (Severity::Error, Milli::ONE);
        residual.charge = Charge::Counted;
    }
}

/// Earlier readings of the same stage that looked.
pub(super) fn before<'a>(case: &Case<'a>, reading: &'a Reading) -> impl Iterator<Item = &'a Reading> {
    let same = |one: &&Reading| one.stage == reading.stage && one.status == Status::Measured;
    case.before.iter().filter(same)
}

/// Of these, the readings of what the candidate was laid over, where there are some: what a node of this session has
/// mended is not there before the next.
pub(super) fn at_base<'a>(case: &Case<'_>, before: Vec<&'a Reading>) -> Vec<&'a Reading> {
    let of_base: Vec<&Reading> = before.iter().copied().filter(|one| one.tree == case.base).collect();
    if of_base.is_empty() { before } else { of_base }
}

/// A static finding is known again by its fingerprint. What could not be started or built in the node's own package
/// keeps its tests from running, so that is never inherited there.
fn is_spared(residual: &Residual, stage: StageKind, terms: &Terms<'_>) -> bool {
    let untouched = residual.file.as_ref().is_some_and(|file| !terms.files.contains(file));
    let foreign = || is_foreign(residual.file.as_ref(), terms);
    match stage.facts().inherits {
        Inherits::All => true,
        Inherits::UntouchedFiles => untouched || foreign(),
        Inherits::OtherPackages => (residual.class == Class::TreeChanged && untouched) || foreign(),
    }
}

/// Whether a file lies in a package that the node does not touch.
pub(super) fn is_foreign(file: Option<&RelPath>, terms: &Terms<'_>) -> bool {
    let package_of = |file: &RelPath| {
        let holding = terms.packages.iter().filter(|package| file.is_within(package));
        holding.max_by_key(|package| package.as_str().len())
    };
    let Some(home) = file.and_then(package_of) else { return false };
    !terms.files.is_empty() && terms.files.iter().filter_map(package_of).all(|package| package != home)
}

/// A file no tool looks at is the business of the node that touched it, or that took it out of the tools' sight.
fn unmeasured(residual: &mut Residual, terms: &Terms<'_>, before: &[&Reading]) {
    let Some(file) = residual.file.clone() else { return };
    let is_it = |old: &&Residual| old.class == Class::UnmeasuredFile && old.file.as_ref() == Some(&file);
    // What does not build is not looked at as a whole.
    let mut looked = before.iter().filter(|one| !one.residuals.iter().any(Residual::counts)).peekable();
    let seen_before =
        looked.peek().is_some() && looked.all(|one| !one.residuals.iter().any(|old| is_it(&old)));
    if !terms.files.contains(&file) && !seen_before {
        residual.charge = Charge::Shown("no tool looks at this file; the node did not touch it".to_owned());
    }
}
