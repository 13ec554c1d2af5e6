//! What `go vet` and gofmt say. Some of vet's checks are part of `go test`: it runs no test of a package that fails one.

use std::collections::BTreeMap;

use perspt_core::reading::Reading;
use perspt_core::residual::{Class, Component, Residual};
use perspt_core::stage::{Stage, StepOutput};
use serde::Deserialize;

use super::diagnostics::{compiled, spot_of};
use crate::plugin::ReadContext;
use crate::shared::report::{
    abnormal_end, did_not_look, in_tree, measured, output_of, place, text, unexplained,
};

/// The checks that `go test` makes.
const OF_TESTS: [&str; 10] = [
    "atomic",
    "bool",
    "buildtags",
    "buildtag",
    "directive",
    "errorsas",
    "ifaceassert",
    "nilfunc",
    "printf",
    "stringintconv",
];

#[derive(Deserialize)]
#[serde(untagged)]
enum Said {
    Findings(Vec<Finding>),
    Other(serde::de::IgnoredAny),
}

#[derive(Deserialize)]
struct Finding {
    posn: String,
    message: String,
}

/// Which findings of vet are meant.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Checks {
    /// Those with which `go test` refuses a package.
    OfTests,
    /// All others.
    Others,
}

/// Findings of `go vet -json`, and what kept it from looking.
pub(crate) fn read(
    output: &StepOutput,
    which: Checks,
    tool: &str,
    context: &ReadContext<'_>,
) -> Vec<Residual> {
    let mut found = findings(output, which, tool, context);
    if let Some(residual) = abnormal_end(output, tool) {
        found.push(residual);
    } else if !output.end.is_success() && found.is_empty() {
        let broken = compiled(&text(&output.stderr), tool, context);
        found.extend(if broken.is_empty() { vec![unexplained(output, tool)] } else { broken });
    }
    found
}

fn findings(output: &StepOutput, which: Checks, tool: &str, context: &ReadContext<'_>) -> Vec<Residual> {
    // Older versions print to the other stream.
    let printed = format!("{}\n{}", text(&output.stdout), text(&output.stderr));
    let said: String = printed.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n");
    type OfPackages = BTreeMap<String, BTreeMap<String, Said>>;
    let packages = serde_json::Deserializer::from_str(&said).into_iter::<OfPackages>().map_while(Result::ok);
    let mut found: Vec<Residual> = Vec::new();
    for (check, said) in packages.flatten().flat_map(|(_, checks)| checks) {
        let is_of_tests = OF_TESTS.contains(&check.as_str()) || check == "tests";
        let Said::Findings(findings) = said else { continue };
        if is_of_tests != (which == Checks::OfTests) {
            continue;
        }
        for finding in findings {
            let Some((file, (line, column))) = spot_of(&finding.posn) else { continue };
            let mut residual = Residual::error(Component::Str, Class::LintFinding, tool, finding.message);
            residual.symbol = Some(check.clone());
            residual.place = place(line, column);
            if which == Checks::OfTests {
                residual.hint = Some("`go test` runs no test of a package with this finding.".to_owned());
            }
            let residual = residual.in_file(in_tree(context, file));
            // A package is looked at by itself and with its tests.
            let is_known = |known: &Residual| known.place == residual.place && known.file == residual.file;
            if !found.iter().any(is_known) {
                found.push(residual);
            }
        }
    }
    found
}

/// The reading of the lint stage.
pub(crate) fn lint(stage: &Stage, outputs: &[StepOutput], context: &ReadContext<'_>) -> Reading {
    if let Some(reading) = did_not_look(stage, outputs, context) {
        return reading;
    }
    let mut residuals = Vec::new();
    if let Some(format) = output_of(outputs, "format") {
        let ended = (!format.end.is_success()).then(|| unexplained(format, "gofmt"));
        residuals.extend(abnormal_end(format, "gofmt").or(ended));
        let printed = text(&format.stdout);
        for path in printed.lines().filter_map(|line| in_tree(context, line.trim())) {
            let message = format!("`{path}` is not formatted as gofmt would");
            let residual = Residual::error(Component::Str, Class::LintFinding, "gofmt", message);
            residuals.push(residual.in_file(Some(path)));
        }
    }
    if let Some(vet) = output_of(outputs, "vet") {
        residuals.extend(read(vet, Checks::Others, "go vet", context));
    }
    measured(stage, context, residuals, None)
}
