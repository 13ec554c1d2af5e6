//! The weights of tests.

use perspt_core::plan::{Contract, Criticality};
use perspt_core::reading::{Reading, StageKind, Status, TestEnd, TestName};
use perspt_core::residual::{Class, Component, Milli, Residual};

/// What a failing test that nobody named weighs.
pub(crate) const UNNAMED: Criticality = Criticality::High;

/// Classes that stand for one test that did not pass; their symbol is its name.
const PER_TEST: [Class; 2] = [Class::TestFailed, Class::TestsVanished];

/// Gives failing tests the weights of the contract. A named test that no result answers to, or that was
/// skipped, fails at its weight. Readings of other stages, and stages that did not look, stay as they are.
pub fn weigh(mut reading: Reading, contract: &Contract) -> Reading {
    if reading.stage.kind != StageKind::Test || reading.status != Status::Measured {
        return reading;
    }
    for named in &contract.weighted_tests {
        let score = Milli::units(named.criticality.units());
        for residual in &mut reading.residuals {
            let its = residual.symbol.as_deref().is_some_and(|test| ends_with_name(test, &named.name));
            if its && PER_TEST.contains(&residual.class) {
                residual.score = score;
            }
        }
        let results = reading.tests.iter().flat_map(|tests| &tests.results);
        let mut ends = results.filter(|(TestName(test), _)| ends_with_name(test, &named.name)).peekable();
        let missing = match ends.peek() {
            None => Some((Class::TestMissing, format!("the named test `{}` does not exist", named.name))),
            Some(_) => ends
                .any(|(_, result)| result.end == TestEnd::Skipped)
                .then(|| (Class::TestSkipped, format!("the named test `{}` was skipped", named.name))),
        };
        if let Some((class, message)) = missing {
            let mut residual = Residual::error(Component::Log, class, &reading.tool, message);
            residual.score = score;
            residual.symbol = Some(named.name.clone());
            reading.residuals.push(residual);
        }
    }
    reading
}

/// Whether a test's full name is this name or ends with it at a boundary. Parameters in brackets may be
/// left out, and dots may stand for `::`.
pub(crate) fn ends_with_name(full: &str, name: &str) -> bool {
    let at_boundary = |full: &str, name: &str| {
        full.strip_suffix(name)
            .is_some_and(|before| before.is_empty() || before.ends_with("::") || before.ends_with('/'))
    };
    let bare = full.split_once('[').map_or(full, |(bare, _)| bare);
    let dotted = name.replace('.', "::");
    !name.is_empty() && [full, bare].iter().any(|full| at_boundary(full, name) || at_boundary(full, &dotted))
}

/// The residual of one test that failed.
pub(crate) fn failed(tool: &str, class: Class, test: &TestName, message: String) -> Residual {
    let mut residual = Residual::error(Component::Log, class, tool, message);
    residual.score = Milli::units(UNNAMED.units());
    residual.symbol = Some(test.0.clone());
    residual
}
