//! What compiling found, and which files no package holds.

use perspt_core::reading::Reading;
use perspt_core::residual::{Class, Component, Residual};
use perspt_core::stage::{Stage, StepOutput};

use super::list::Packages;
use super::vet::{self, Checks};
use super::{diagnostics, roots};
use crate::plugin::ReadContext;
use crate::shared::report::{
    abnormal_end, did_not_look, measured, output_of, report_missing, text, unexplained,
};

/// The reading of the build stage.
pub(crate) fn read(stage: &Stage, outputs: &[StepOutput], context: &ReadContext<'_>) -> Reading {
    if let Some(reading) = did_not_look(stage, outputs, context) {
        return reading;
    }
    let tool = &stage.tool;
    let (packages, mut residuals) = match output_of(outputs, "list") {
        Some(list) => (Packages::of(list), listed(list, tool, context)),
        None => (Packages::of(&outputs[0]), outputs.iter().map(|one| unexplained(one, tool)).collect()),
    };
    if let Some(link) = output_of(outputs, "link") {
        residuals.extend(linked(link, &residuals, tool, context));
    }
    if residuals.is_empty() {
        residuals.extend(match output_of(outputs, "vet") {
            Some(vet) => vet::read(vet, Checks::OfTests, "go vet", context),
            None => outputs
                .last()
                .map(|last| report_missing(last, tool, "go vet did not run".to_owned()))
                .into_iter()
                .collect(),
        });
        residuals.extend(unmeasured(&packages, tool, context));
    }
    Reading { looked: packages.built(context), ..measured(stage, context, residuals, None) }
}

/// What a listing says is wrong, or why there is none.
pub(crate) fn listed(list: &StepOutput, tool: &str, context: &ReadContext<'_>) -> Vec<Residual> {
    if let Some(residual) = abnormal_end(list, tool) {
        return vec![residual];
    }
    if !list.end.is_success() {
        let why = diagnostics::refused(list, tool, context);
        return vec![why.unwrap_or_else(|| unexplained(list, tool))];
    }
    if list.cut {
        return vec![report_missing(list, tool, "go list printed more than is kept".to_owned())];
    }
    diagnostics::of_packages(&Packages::of(list), tool, context)
}

/// What linking adds. What it says again is known from the listing.
fn linked(link: &StepOutput, known: &[Residual], tool: &str, context: &ReadContext<'_>) -> Vec<Residual> {
    if let Some(residual) = abnormal_end(link, tool) {
        return vec![residual];
    }
    if link.end.is_success() {
        return Vec::new();
    }
    let mut found = diagnostics::compiled(&text(&link.stderr), tool, context);
    found.retain(|one| !known.iter().any(|other| other.file == one.file && other.place == one.place));
    if found.is_empty() && known.is_empty() {
        found.push(diagnostics::refused(link, tool, context).unwrap_or_else(|| unexplained(link, tool)));
    }
    found
}

/// Go files of the root that are in no package. One that a condition keeps out is for another platform or build: nobody
/// looked at it here.
fn unmeasured(packages: &Packages, tool: &str, context: &ReadContext<'_>) -> Vec<Residual> {
    let (built, left_out) = (packages.built(context), packages.left_out(context));
    let sources = roots::own_sources(context.files, context.root).into_iter();
    let unread = sources.filter(|path| !built.contains(*path) && !left_out.contains(*path));
    let residual = |path: &perspt_core::path::RelPath| {
        let message = "no package of the module holds this file".to_owned();
        let mut residual = Residual::error(Component::Str, Class::UnmeasuredFile, tool, message);
        residual.hint = Some("Go passes over files whose names begin with `_` or `.`.".to_owned());
        residual.in_file(Some(path.clone()))
    };
    unread.map(residual).collect()
}
