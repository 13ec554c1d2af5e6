//! What ruff would have otherwise: its rules are warnings, what it cannot parse is an error.

use perspt_core::reading::Reading;
use perspt_core::residual::{Class, Component, Residual};
use perspt_core::stage::{Stage, StepEnd, StepOutput};
use serde::Deserialize;

use super::checkers::RUFF;
use super::roots;
use crate::plugin::ReadContext;
use crate::shared::report::{abnormal_end, did_not_look, in_tree, measured, place, unexplained};

/// The steps of the lint stage.
pub(crate) const CHECK_STEP: &str = "ruff";
pub(crate) const FORMAT_STEP: &str = "ruff-format";

#[derive(Deserialize)]
struct Finding {
    filename: String,
    #[serde(default)]
    code: Option<String>,
    message: String,
    #[serde(default)]
    location: Option<Location>,
}

#[derive(Deserialize)]
struct Location {
    row: u64,
    column: u64,
}

/// The reading of the lint stage.
pub(crate) fn read(stage: &Stage, outputs: &[StepOutput], context: &ReadContext<'_>) -> Reading {
    if let Some(reading) = did_not_look(stage, outputs, context) {
        return reading;
    }
    let found = outputs.iter().flat_map(|output| match abnormal_end(output, RUFF) {
        Some(residual) => vec![residual],
        None => checked(output, context),
    });
    // It is given the folder, and says nothing of files without findings.
    let looked = roots::own_sources(context.files, context.root).into_iter().collect();
    Reading { looked, ..measured(stage, context, found.collect(), None) }
}

/// The names that ruff gives to text that is no Python.
fn is_broken(code: Option<&str>) -> bool {
    code.is_none_or(|code| ["invalid-syntax", "E999"].contains(&code))
}

fn checked(output: &StepOutput, context: &ReadContext<'_>) -> Vec<Residual> {
    let found = serde_json::from_slice::<Vec<Finding>>(&output.stdout);
    let (StepEnd::Exited(0 | 1), Ok(found)) = (&output.end, found) else {
        return vec![unexplained(output, RUFF)];
    };
    if found.is_empty() && !output.end.is_success() {
        return vec![unexplained(output, RUFF)];
    }
    let residual = |found: Finding| {
        let code = found.code.as_deref();
        let mut residual = if is_broken(code) {
            Residual::error(Component::Syn, Class::SyntaxError, RUFF, found.message)
        } else {
            Residual::warning(Component::Str, Class::LintFinding, RUFF, found.message)
        };
        residual.place = found.location.and_then(|at| place(at.row, at.column));
        residual.symbol = found.code;
        residual.in_file(in_tree(context, &found.filename))
    };
    found.into_iter().map(residual).collect()
}
