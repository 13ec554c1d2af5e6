//! What in a Go project decides how tests run, and what of it a candidate changed.

use std::collections::BTreeSet;

use perspt_core::inventory::ChangedEvidence;
use perspt_core::path::RelPath;
use perspt_core::tree::Change;

use super::manifest::Manifest;
use super::{decides_evidence, is_test_source, roots};
use crate::plugin::{Files, Pair};
use crate::shared::compare::Comparison;
use crate::shared::reaches_tests;

/// Everything found between base and candidate.
pub(crate) fn changed(pair: &Pair<'_>, compared: &Comparison) -> Vec<ChangedEvidence> {
    let tested: Vec<RelPath> =
        roots::find(pair.base).into_iter().filter(|root| root.has_tests).map(|root| root.dir).collect();
    // A project without tests may bring its own way to run them.
    let has_tests = |path: &RelPath| tested.iter().any(|dir| path.is_within(dir));
    let mut found = Vec::new();
    for change in
        pair.base.tree().changes_to(pair.candidate.tree()).iter().filter(|change| has_tests(&change.path))
    {
        match change.path.name() {
            "go.mod" => found.extend(manifest(pair, change)),
            "go.work" if change.before.is_some() && change.after.is_some() => {
                found.extend(manifest(pair, change));
            }
            _ if decides_evidence(&change.path) => {
                let did = match (change.before, change.after) {
                    (None, _) => "is new",
                    (_, None) => "is gone",
                    (Some(_), Some(_)) => "was changed",
                };
                let what = format!("`{}` decides how tests are built or run, and it {did}", change.path);
                found.push(entry(&change.path, what, false));
            }
            _ => {}
        }
    }
    found.extend(beside_tests(pair, compared));
    found.extend(reaches_tests::code_that_asks(compared));
    found.extend(reaches_tests::changed(compared));
    found
}

fn entry(path: &RelPath, what: String, settled_by_results: bool) -> ChangedEvidence {
    ChangedEvidence { path: path.clone(), what, settled_by_results }
}

/// A manifest compared by what it says, not by its text.
fn manifest(pair: &Pair<'_>, change: &Change) -> Vec<ChangedEvidence> {
    let path = &change.path;
    let of = |files: &dyn Files| files.text(path).map(|text| Manifest::parse(&text));
    let (old, new) = (of(pair.base), of(pair.candidate));
    let said = |side: &Option<Manifest>| side.as_ref().map(Manifest::evidence).unwrap_or_default();
    let (before, now) = (said(&old), said(&new));
    let differing = before.symmetric_difference(&now);
    let mut found: Vec<ChangedEvidence> = differing
        .map(|line| {
            let is = if now.contains(line) { "new" } else { "gone" };
            entry(path, format!("`{line}` decides what tests are built from; it is {is}"), false)
        })
        .collect();
    let uses = |side: &Option<Manifest>| -> BTreeSet<String> {
        side.iter().flat_map(Manifest::uses).map(str::to_owned).collect()
    };
    let lost: Vec<String> = uses(&old).difference(&uses(&new)).cloned().collect();
    found
        .extend(lost.iter().map(|used| entry(path, format!("the workspace no longer uses `{used}`"), false)));
    found
}

/// New files of tests that do something as they are loaded, in packages that have tests: all of a package's tests are one
/// program.
fn beside_tests(pair: &Pair<'_>, compared: &Comparison) -> Vec<ChangedEvidence> {
    let before = pair.base.tree().entries.keys().filter(|path| is_test_source(path));
    let tested: BTreeSet<RelPath> = before.filter_map(RelPath::parent).collect();
    let is_new = |path: &RelPath| !pair.base.tree().entries.contains_key(path);
    let sources = compared.sources.iter().filter(|(path, _)| is_test_source(path) && is_new(path));
    let beside = sources.filter(|(path, _)| path.parent().is_some_and(|folder| tested.contains(&folder)));
    beside
        .filter_map(|(path, side)| {
            let ambient = side.candidate.source.items.iter().filter(|item| item.ambient);
            let names: Vec<String> = ambient.map(|item| format!("`{}`", item.name)).collect();
            let what = format!("new for existing tests of the package: {}", names.join(", "));
            (!names.is_empty()).then(|| entry(path, what, true))
        })
        .collect()
}
