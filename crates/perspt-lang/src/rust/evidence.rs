//! What in a Rust project decides how tests run, and what of it a candidate changed.

use std::collections::{BTreeMap, BTreeSet};

use perspt_core::inventory::ChangedEvidence;
use perspt_core::path::RelPath;
use perspt_core::tree::Change;
use serde_json::Value;

use super::{decides_evidence, is_test_material, manifest, roots};
use crate::plugin::{Files, OldTestFile, Pair};
use crate::shared::compare::Comparison;
use crate::shared::reaches_tests;
use crate::shared::toml;

/// Everything found between base and candidate.
pub(crate) fn changed(pair: &Pair<'_>, compared: &Comparison) -> Vec<ChangedEvidence> {
    let roots = roots::find(pair.base);
    let has_tests = |path: &RelPath| roots::of(&roots, path).is_some_and(|root| root.has_tests);
    let mut found = Vec::new();
    for change in pair.base.tree().changes_to(pair.candidate.tree()) {
        let path = &change.path;
        // A project without tests may bring its own way to run them.
        if !has_tests(path) {
            continue;
        }
        if path.name() == "Cargo.toml" && !is_test_material(path) {
            found.extend(manifest_rules(pair, &change));
        } else if decides_evidence(path) {
            let what = format!("`{path}` decides how tests are built or run, and it {}", did(&change));
            found.push(ChangedEvidence { path: path.clone(), what, settled_by_results: false });
        }
    }
    found.extend(judges(compared));
    found.extend(reaches_tests::code_that_asks(compared));
    found.extend(reaches_tests::changed(compared));
    found
}

fn did(change: &Change) -> &'static str {
    match (change.before, change.after) {
        (None, _) => "is new",
        (_, None) => "is gone",
        (Some(_), Some(_)) => "was changed",
    }
}

/// A manifest compared by what it says, not by its text. In a new one only what hides tests counts.
fn manifest_rules(pair: &Pair<'_>, change: &Change) -> Vec<ChangedEvidence> {
    let path = &change.path;
    let read = |files: &dyn Files| path.parent().and_then(|dir| manifest::of(files, &dir));
    let (old, Some(new)) = (read(pair.base), read(pair.candidate)) else { return Vec::new() };
    let now = manifest::evidence(&new);
    let before = old.as_ref().map(manifest::evidence).unwrap_or_default();
    let keys: BTreeSet<&String> = now.keys().chain(before.keys()).collect();
    let changed = keys.into_iter().filter(|key| now.get(*key) != before.get(*key));
    // Taking back what hid tests is no offence.
    let changed = changed.filter(|key| now.contains_key(*key) || !manifest::is_trick(key));
    let entry = |what: String, settled_by_results: bool| ChangedEvidence {
        path: path.clone(),
        what,
        settled_by_results,
    };
    let mut found: Vec<ChangedEvidence> = changed
        .filter(|key| change.before.is_some() || manifest::is_trick(key))
        .map(|key| {
            let is = now.get(key).map_or("gone".to_owned(), |value| format!("`{value}`"));
            entry(format!("`{key}` decides how tests are built or run; it is now {is}"), false)
        })
        .collect();
    let lost = old.as_ref().map(manifest::members).unwrap_or_default();
    let lost = lost.difference(&manifest::members(&new)).cloned().collect::<Vec<_>>();
    found.extend(
        lost.iter()
            .map(|member| entry(format!("the workspace no longer names its member `{member}`"), false)),
    );
    if old.as_ref().is_some_and(|old| of_tests(old) != of_tests(&new)) {
        found.push(entry("the dependencies of tests are not what they were".to_owned(), true));
    }
    found
}

/// The dependencies of tests alone.
fn of_tests(manifest: &Value) -> Option<&Value> {
    manifest.get(DEV).filter(|table| table.as_object().is_none_or(|table| !table.is_empty()))
}

const DEV: &str = "dev-dependencies";

/// Manifests with the dependencies of tests that the base had.
pub(crate) fn old_manifests(pair: &Pair<'_>) -> BTreeMap<RelPath, OldTestFile> {
    let mut was = BTreeMap::new();
    for change in pair.base.tree().changes_to(pair.candidate.tree()) {
        let path = change.path;
        let (Some(old), Some(new)) = (pair.base.text(&path), pair.candidate.text(&path)) else { continue };
        if path.name() != "Cargo.toml" || is_test_material(&path) {
            continue;
        }
        let (before, now) = (toml::parse(&old).unwrap_or_default(), toml::parse(&new).unwrap_or_default());
        if of_tests(&before) != of_tests(&now) {
            was.extend(with_dependencies(&old, &new).map(|text| (path, OldTestFile::Text(text))));
        }
    }
    was
}

fn with_dependencies(old: &str, new: &str) -> Option<String> {
    let old: toml_edit::DocumentMut = old.parse().ok()?;
    let mut new: toml_edit::DocumentMut = new.parse().ok()?;
    match old.get(DEV) {
        Some(table) => drop(new.insert(DEV, table.clone())),
        None => drop(new.remove(DEV)),
    }
    Some(new.to_string())
}

/// New macros with the names of those by which tests fail. One that only moved is not new.
fn judges(compared: &Comparison) -> Vec<ChangedEvidence> {
    let known: BTreeSet<String> = compared
        .sources
        .values()
        .flat_map(|side| &side.base.source.judges)
        .map(|spot| spot.text.clone())
        .collect();
    let mut found = Vec::new();
    for (path, side) in &compared.sources {
        for spot in side.candidate.source.judges.iter().filter(|spot| !known.contains(&spot.text)) {
            let name: String = spot.text.split(['!', '{', '(']).nth(1).unwrap_or_default().trim().to_owned();
            let what =
                format!("line {}: a macro takes the name of `{name}!`, by which tests fail", spot.line);
            found.push(ChangedEvidence { path: path.clone(), what, settled_by_results: false });
        }
    }
    found
}
