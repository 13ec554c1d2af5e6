//! Masking secrets in tool output before it reaches events, certificates and prompts.

use perspt_core::contract::PromiseFound;
use perspt_core::reading::{Reading, Status};
use perspt_core::residual::Residual;
use perspt_policy::mask::Masks;

/// The reading without secrets. Names of tests stay exact: they identify the tests.
pub(crate) fn masked_reading(masks: &Masks, mut reading: Reading) -> Reading {
    reading.status = match reading.status {
        Status::Measured => Status::Measured,
        Status::NotRun(why) => Status::NotRun(masks.masked(&why)),
        Status::Unavailable(why) => Status::Unavailable(masks.masked(&why)),
    };
    reading.residuals =
        reading.residuals.into_iter().map(|residual| masked_residual(masks, residual)).collect();
    let results = reading.tests.iter_mut().flat_map(|tests| tests.results.values_mut());
    for result in results.filter(|result| !result.message.is_empty()) {
        result.message = masks.masked(&result.message);
    }
    reading.notes = masked_lines(masks, &reading.notes);
    for promise in &mut reading.promises {
        match &mut promise.found {
            PromiseFound::Broken { breaches } | PromiseFound::BrokenBefore { breaches } => {
                breaches.iter_mut().for_each(|breach| breach.what = masks.masked(&breach.what));
            }
            PromiseFound::Kept | PromiseFound::Unmeasured { .. } => {}
        }
    }
    reading
}

fn masked_residual(masks: &Masks, residual: Residual) -> Residual {
    Residual {
        message: masks.masked(&residual.message),
        evidence: masks.masked(&residual.evidence),
        hint: residual.hint.map(|hint| masks.masked(&hint)),
        ..residual
    }
}

/// A finding for a prompt. Names of tests are masked too.
pub(crate) fn masked_finding(masks: &Masks, residual: Residual) -> Residual {
    let residual = masked_residual(masks, residual);
    Residual { symbol: residual.symbol.map(|symbol| masks.masked(&symbol)), ..residual }
}

/// Lines without secrets.
pub(crate) fn masked_lines(masks: &Masks, lines: &[String]) -> Vec<String> {
    lines.iter().map(|line| masks.masked(line)).collect()
}
