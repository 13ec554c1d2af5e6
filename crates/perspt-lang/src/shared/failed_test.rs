//! What a failing test weighs before the contract is looked at.

use perspt_core::plan::Criticality;
use perspt_core::reading::TestName;
use perspt_core::residual::{Class, Component, Milli, Residual};

/// The weight of a failing test that no contract names.
pub(crate) const UNNAMED_TEST: Criticality = Criticality::High;

/// The residual of one test that failed.
pub(crate) fn failed_test(tool: &str, class: Class, test: &TestName, message: String) -> Residual {
    let mut residual = Residual::error(Component::Log, class, tool, message);
    residual.score = Milli::units(UNNAMED_TEST.units());
    residual.symbol = Some(test.0.clone());
    residual
}
