//! docs/events.md says what the program writes: every kind of event, effect and outcome, and every field.

use std::collections::{BTreeMap, BTreeSet};

use perspt_core::event::Event;
use serde_json::Value;

use crate::sizes;

const DOC: &str = include_str!("../../../../docs/events.md");

/// The rows of the table that begins with this head cell: the names of the first cell, and the rest of the row.
fn rows(head: &str) -> BTreeMap<String, String> {
    let mut lines = DOC.lines().skip_while(|line| !line.starts_with(&format!("| {head} |")));
    let table = lines.by_ref().skip(2).take_while(|line| line.starts_with('|'));
    table
        .map(|line| {
            let (name, rest) = line.trim_matches('|').split_once('|').unwrap();
            (name.trim().trim_matches('`').to_owned(), rest.to_owned())
        })
        .collect()
}

fn fields(value: &Value, tag: &str) -> BTreeSet<String> {
    value.as_object().unwrap().keys().filter(|key| *key != tag).cloned().collect()
}

/// The kinds that were written, each with every field that was seen, against the rows of a table.
fn check(head: &str, tag: &str, written: impl Iterator<Item = Value>) {
    let mut seen: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for value in written {
        let kind = value[tag].as_str().unwrap().to_owned();
        seen.entry(kind).or_default().extend(fields(&value, tag));
    }
    let rows = rows(head);
    let (documented, kinds): (Vec<&String>, Vec<&String>) = (rows.keys().collect(), seen.keys().collect());
    assert_eq!(documented, kinds, "the table of `{head}` and what is written");
    for (kind, fields) in &seen {
        for field in fields {
            assert!(rows[kind].contains(&format!("`{field}`")), "{head} `{kind}` has a field `{field}`");
        }
    }
}

#[test]
fn every_kind_and_every_field_stands_in_the_table_of_events() {
    let events: Vec<Event> = sizes::events();
    let written = || events.iter().map(|event| serde_json::to_value(event).unwrap());
    check("kind", "kind", written());
    check("do", "do", written().filter_map(|event| event.get("effect").cloned()));
    let outcomes = written().filter(|event| event["kind"] == "effect_ended");
    check("ended", "ended", outcomes.map(|event| event["outcome"].clone()));
}

/// Every key at any depth, except those of maps whose keys are data.
fn keys(value: &Value, all: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| {
            all.insert(key.clone());
            keys(value, all);
        }),
        Value::Array(items) => items.iter().for_each(|item| keys(item, all)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn every_field_at_any_depth_is_named() {
    let mut all = BTreeSet::new();
    sizes::events().iter().for_each(|event| keys(&serde_json::to_value(event).unwrap(), &mut all));
    let missing: Vec<&String> = all.iter().filter(|key| !DOC.contains(&format!("`{key}`"))).collect();
    assert!(missing.is_empty(), "not in docs/events.md: {missing:?}");
}
