//! What in a JavaScript project decides how tests run, and what of it a candidate changed.

use std::collections::{BTreeMap, BTreeSet};

use perspt_core::inventory::ChangedEvidence;
use perspt_core::path::RelPath;
use perspt_core::tree::Change;

use super::manifest::MANIFEST;
use super::{decides_evidence, is_runner_settings, is_source, lint, roots};
use crate::plugin::{Files, Pair};
use crate::shared::compare::Comparison;
use crate::shared::reaches_tests;

/// Keys of a manifest that settle how tests run, or what another name of a module means.
const KEYS: [&str; 9] =
    ["jest", "vitest", "mocha", "babel", "c8", "eslintConfig", "imports", "overrides", "resolutions"];

/// Everything found between base and candidate.
pub(crate) fn changed(pair: &Pair<'_>, compared: &Comparison) -> Vec<ChangedEvidence> {
    let changes = pair.base.tree().changes_to(pair.candidate.tree());
    let tested: Vec<RelPath> =
        roots::find(pair.base).into_iter().filter(|root| root.has_tests).map(|root| root.dir).collect();
    // A project without tests may bring its own way to run them.
    let has_tests = |path: &RelPath| tested.iter().any(|dir| path.is_within(dir));
    let set_up = set_up(pair);
    let mut found: Vec<ChangedEvidence> = changes
        .iter()
        .filter(|change| has_tests(&change.path))
        .flat_map(|change| rules(pair, change, &set_up))
        .collect();
    found.extend(reaches_tests::code_that_asks(compared));
    let told: BTreeSet<RelPath> = found.iter().map(|known| known.path.clone()).collect();
    found.extend(reaches_tests::changed(compared).into_iter().filter(|new| !told.contains(&new.path)));
    found
}

fn entry(path: &RelPath, what: String, settled_by_results: bool) -> ChangedEvidence {
    ChangedEvidence { path: path.clone(), what, settled_by_results }
}

/// What one changed file decides.
fn rules(pair: &Pair<'_>, change: &Change, set_up: &str) -> Vec<ChangedEvidence> {
    let path = &change.path;
    let did = match (change.before, change.after) {
        (None, _) => "is new",
        (_, None) => "is gone",
        (Some(_), Some(_)) => "was changed",
    };
    if path.name() == MANIFEST {
        let of = |files: &dyn Files| files.text(path).map(|text| settings(&text)).unwrap_or_default();
        let (before, after) = (of(pair.base), of(pair.candidate));
        let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        let changed = keys.into_iter().filter(|key| before.get(*key) != after.get(*key));
        return changed.map(|key| entry(path, format!("`{key}` is not what it was"), false)).collect();
    }
    if lint::is_configuration(path) {
        // Where nothing configured the linter it was not run, so the first settings can only add findings.
        let was_run = pair.base.tree().entries.keys().any(lint::is_configuration);
        let found =
            was_run.then(|| entry(path, format!("`{path}` decides what is linted, and it {did}"), false));
        return found.into_iter().collect();
    }
    if decides_evidence(path) {
        return vec![entry(path, format!("`{path}` decides how tests run, and it {did}"), false)];
    }
    let stem = path.name().split('.').next().unwrap_or_default();
    let is_named =
        || set_up.split(|c: char| !(c.is_alphanumeric() || ['_', '-'].contains(&c))).any(|word| word == stem);
    if is_source(path) && stem.len() > 3 && is_named() {
        return vec![entry(path, format!("the runner's settings load `{path}`, and it {did}"), true)];
    }
    if path.ancestors().any(|folder| folder.name() == "__mocks__") {
        return vec![entry(path, format!("`{path}` stands in for a module in tests, and it {did}"), true)];
    }
    Vec::new()
}

/// The settings of runners on both sides, as one text: what they name is loaded before tests.
fn set_up(pair: &Pair<'_>) -> String {
    let of = |files: &dyn Files| -> String {
        let entries = files.tree().entries.keys();
        let configured = entries.into_iter().filter(|path| is_runner_settings(path));
        let texts = configured.filter_map(|path| files.text(path));
        let manifests = files.tree().entries.keys().filter(|path| path.name() == MANIFEST);
        let own = manifests
            .filter_map(|path| files.text(path))
            .map(|text| settings(&text).into_values().collect::<Vec<_>>().join("\n"));
        texts.chain(own).collect::<Vec<_>>().join("\n")
    };
    format!("{}\n{}", of(pair.base), of(pair.candidate))
}

/// What a manifest settles: the scripts that test or are run before and after, and tables of tools.
fn settings(text: &str) -> BTreeMap<String, String> {
    let json: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
    let scripts = json.get("scripts").and_then(|scripts| scripts.as_object()).into_iter().flatten();
    let testing = scripts.filter(|(name, _)| {
        name.split([':', '-']).any(|word| ["test", "pretest", "posttest"].contains(&word))
    });
    let mut found: BTreeMap<String, String> =
        testing.map(|(name, script)| (format!("scripts.{name}"), script.to_string())).collect();
    let tables = KEYS.iter().filter_map(|key| Some(((*key).to_owned(), json.get(key)?.to_string())));
    found.extend(tables);
    found
}
