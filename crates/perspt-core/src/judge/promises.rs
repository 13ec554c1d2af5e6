//! What counts of a plan's promises. A broken one does. What nobody could measure is said, and counts neither way.

use super::{Case, Finding};
use crate::contract::{Breach, PromiseFound, PromiseKind, PromiseReading};
use crate::residual::{Charge, Class, Component, Position, Residual};

/// Broken promises as findings.
pub(super) fn findings(case: &Case<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for reading in case.readings {
        let stage = &reading.stage;
        for promise in &reading.promises {
            let residuals = match &promise.found {
                PromiseFound::Broken { breaches } => charged(promise, breaches, &Charge::Counted),
                PromiseFound::BrokenBefore { breaches } => {
                    charged(promise, breaches, &Charge::Inherited("it was there before".to_owned()))
                }
                PromiseFound::Kept | PromiseFound::Unmeasured { .. } => vec![],
            };
            let finding = |residual| Finding { stage: stage.clone(), residual };
            findings.extend(residuals.into_iter().map(finding));
        }
    }
    findings
}

fn charged(promise: &PromiseReading, breaches: &[Breach], charge: &Charge) -> Vec<Residual> {
    let class = match promise.kind {
        PromiseKind::Signature => Class::Signature,
        PromiseKind::ForbiddenPattern => Class::ForbiddenPattern,
        PromiseKind::Invariant => Class::Invariant,
    };
    let residual = |breach: &Breach| Residual {
        charge: charge.clone(),
        file: breach.file.clone(),
        place: breach.line.map(|line| Position { line, column: 0 }),
        symbol: Some(promise.promise.clone()),
        hint: Some(breach.direction.clone()),
        ..Residual::error(Component::Str, class, "contract", breach.what.clone())
    };
    breaches.iter().map(residual).collect()
}

/// The promises that are not known to hold, in words.
pub(super) fn unmeasured(case: &Case<'_>) -> Vec<String> {
    let promises = case.readings.iter().flat_map(|reading| &reading.promises);
    let line = |promise: &PromiseReading| {
        let why = match &promise.found {
            PromiseFound::Kept | PromiseFound::Broken { .. } => return None,
            PromiseFound::BrokenBefore { .. } => "it did not hold before",
            PromiseFound::Unmeasured { why } => why,
        };
        Some(format!("{} ({why})", promise.promise))
    };
    promises.filter_map(line).collect()
}
