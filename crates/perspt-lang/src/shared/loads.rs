//! What reaches existing tests though their own text stayed: a name that comes from elsewhere now, code that runs when
//! they are loaded. The results of the old tests, with and without it, settle it.

use std::collections::{BTreeMap, BTreeSet};

use perspt_core::inventory::ChangedEvidence;
use perspt_core::path::RelPath;

use super::compare::{Compared, Role, Sides};
use super::places::more_than_before;
use crate::syntax::{Item, Kind, Source, Spot};

/// Everything of that kind in a candidate.
pub(crate) fn changed(compared: &Compared) -> Vec<ChangedEvidence> {
    let mut found = Vec::new();
    for (path, side) in &compared.sides {
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
fn rebound(side: &Sides) -> Vec<String> {
    let tokens = side.base.1.tests().flat_map(|test| &test.tokens).filter(|token| token.is_name);
    let used: BTreeSet<&str> = tokens.map(|token| token.text.as_str()).collect();
    let (before, now) = (bindings(side, &side.base.1), bindings(side, &side.candidate.1));
    let other = |name: &&&str| now.get(**name).is_some_and(|sources| before.get(**name) != Some(sources));
    used.iter().filter(other).map(|name| (*name).to_owned()).collect()
}

/// Where the names come from that a file's tests see by its imports and by what stands beside them.
fn bindings<'s>(side: &Sides, source: &'s Source) -> BTreeMap<&'s str, BTreeSet<&'s str>> {
    let mut found: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for import in source.imports.iter().filter(|import| side.role == Role::Tests || import.guarded) {
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
fn ambient(side: &Sides) -> impl Iterator<Item = &Item> {
    let loaded = matches!(side.role, Role::Tests | Role::Helper);
    let had_something = !side.base.1.items.is_empty() || side.role == Role::Helper;
    let is_new = move |item: &&Item| {
        let known = side.base.1.items.iter().any(|old| old.tokens == item.tokens);
        loaded && had_something && item.ambient && !known
    };
    side.candidate.1.items.iter().filter(is_new)
}

/// Code that is no test and asks more often than before whether tests run.
pub(crate) fn asks(compared: &Compared) -> Vec<ChangedEvidence> {
    let of = |side: fn(&Sides) -> &Source| -> BTreeMap<RelPath, usize> {
        let code = compared.sides.iter().filter(|(_, sides)| matches!(sides.role, Role::Mixed | Role::Other));
        let count = |source: &Source| {
            let of_code = |spot: &&Spot| !source.is_of_tests(spot.start);
            source.asks.iter().filter(of_code).count()
        };
        code.map(|(path, sides)| (path.clone(), count(side(sides)))).collect()
    };
    let grown = more_than_before(&of(|sides| &sides.base.1), &of(|sides| &sides.candidate.1));
    let what = "code that is no test asks whether tests run";
    let entry = |path| ChangedEvidence { path, what: what.to_owned(), settled_by_results: false };
    grown.into_iter().map(entry).collect()
}
