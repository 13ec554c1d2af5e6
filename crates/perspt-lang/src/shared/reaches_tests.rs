//! What reaches existing tests though their own text stayed: a name that comes from elsewhere now, code that runs when
//! they are loaded. The results of the old tests, with and without it, settle it.

use std::collections::{BTreeMap, BTreeSet};

use perspt_core::inventory::ChangedEvidence;
use perspt_core::path::RelPath;

use super::compare::{ChangedSource, Comparison, FileRole};
use super::file_names::more_than_before;
use crate::syntax::{Item, Kind, Source, Spot};

/// Everything of that kind in a candidate.
pub(crate) fn changed(compared: &Comparison) -> Vec<ChangedEvidence> {
    let mut found = Vec::new();
    for (path, side) in &compared.sources {
        let names = rebound(side);
        let mut words: Vec<String> =
            names.into_iter().map(|name| format!("where `{name}` comes from")).collect();
        words.extend(
            ambient(side).map(|item| format!("`{}`, which reaches tests that do not name it", item.name)),
        );
        if !words.is_empty() {
            let what = format!("new for existing tests: {}", words.join(", "));
            found.push(ChangedEvidence { path: path.clone(), what, settled_by_results: true });
        }
    }
    found
}

/// Names that existing tests of a file use and that mean something else there now.
fn rebound(side: &ChangedSource) -> Vec<String> {
    let tokens = side.base.source.tests().flat_map(|test| &test.tokens).filter(|token| token.is_name);
    let used: BTreeSet<&str> = tokens.map(|token| token.text.as_str()).collect();
    let (before, now) = (bindings(side, &side.base.source), bindings(side, &side.candidate.source));
    let other = |name: &&&str| now.get(**name).is_some_and(|sources| before.get(**name) != Some(sources));
    used.iter().filter(other).map(|name| (*name).to_owned()).collect()
}

/// Where the names come from that a file's tests see by its imports and by the items beside them.
fn bindings<'s>(side: &ChangedSource, source: &'s Source) -> BTreeMap<&'s str, BTreeSet<&'s str>> {
    let mut found: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for import in source.imports.iter().filter(|import| side.role == FileRole::Tests || import.guarded) {
        for (name, origin) in &import.binds {
            found.entry(name).or_default().insert(origin);
        }
    }
    // Methods bind no name of their file; items of a module that exists for tests do there.
    let binds = |item: &&Item| item.kind == Kind::Other && (item.scope.is_empty() || item.guarded);
    for item in side.support(source).filter(binds) {
        found.entry(item.last()).or_default().insert("this file");
    }
    found
}

/// What is new in a file of tests, or in one that they load, and reaches tests that do not name it.
fn ambient(side: &ChangedSource) -> impl Iterator<Item = &Item> {
    let loaded = matches!(side.role, FileRole::Tests | FileRole::Helper);
    let had_something = !side.base.source.items.is_empty() || side.role == FileRole::Helper;
    let is_new = move |item: &&Item| {
        let known = side.base.source.items.iter().any(|old| old.tokens == item.tokens);
        loaded && had_something && item.ambient && !known
    };
    side.candidate.source.items.iter().filter(is_new)
}

/// Code that is no test and asks more often than before whether tests run.
pub(crate) fn code_that_asks(compared: &Comparison) -> Vec<ChangedEvidence> {
    let count_in = |side: fn(&ChangedSource) -> &Source| -> BTreeMap<RelPath, usize> {
        let code = compared
            .sources
            .iter()
            .filter(|(_, sides)| matches!(sides.role, FileRole::Mixed | FileRole::Other));
        let count = |source: &Source| {
            let of_code = |spot: &&Spot| !source.is_of_tests(spot.start);
            source.asks.iter().filter(of_code).count()
        };
        code.map(|(path, sides)| (path.clone(), count(side(sides)))).collect()
    };
    let grown =
        more_than_before(&count_in(|sides| &sides.base.source), &count_in(|sides| &sides.candidate.source));
    let what = "code that is no test asks whether tests run";
    let entry = |path| ChangedEvidence { path, what: what.to_owned(), settled_by_results: false };
    grown.into_iter().map(entry).collect()
}
