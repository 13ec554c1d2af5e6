//! Which shape a JSON value has, and whether it is one that was asked for.

use perspt_core::context::ContextRequest;
use serde_json::{Map, Value};

use super::bundle::{bundle_of, is_artifact, is_bundle};
use super::notes::Notes;
use super::wanted::{Analysis, Payload, Replan, Shape, Wanted};

/// What a JSON value is here.
#[derive(Debug)]
pub(super) enum Fit {
    /// One of the shapes that were asked for.
    Is(Payload, Notes),
    /// It is meant as an answer and cannot be taken as one.
    Wrong(String),
    /// Something else: an example, a configuration.
    Other,
}

/// Fits a value to what is wanted.
pub(super) fn fit(value: &Value, wanted: &Wanted<'_>) -> Fit {
    let mut notes = Notes::default();
    let value = unwrapped(value, &mut notes);
    match fit_value(value, wanted, &mut notes) {
        Ok(Some(payload)) => Fit::Is(payload, notes),
        Ok(None) => Fit::Other,
        Err(line) => Fit::Wrong(line),
    }
}

/// The value inside objects that only wrap it.
fn unwrapped<'a>(value: &'a Value, notes: &mut Notes) -> &'a Value {
    const WRAPPERS: [&str; 6] = ["bundle", "answer", "response", "result", "output", "final"];
    let mut value = value;
    while let Value::Object(object) = value {
        let mut fields = object.iter();
        match (fields.next(), fields.next()) {
            (Some((name, inner)), None) if inner.is_object() && WRAPPERS.contains(&name.as_str()) => {
                notes.add(format!("the answer stood in `{name}`"));
                value = inner;
            }
            _ => return value,
        }
    }
    value
}

fn fit_value(value: &Value, wanted: &Wanted<'_>, notes: &mut Notes) -> Result<Option<Payload>, String> {
    let Value::Object(object) = value else {
        return fit_list(value, wanted, notes);
    };
    let object = &without_empty_answers(object, notes);
    let shapes = [
        ("context_requests", says(object, "context_requests")),
        ("requires_replan", says(object, "requires_replan")),
        ("a plan", wanted.allows_plan() && is_plan(value)),
        ("a bundle", wanted.allows_files() && is_bundle(object)),
    ];
    let mut named = shapes.iter().filter(|(_, is)| *is).map(|(name, _)| *name);
    match (named.next(), named.next()) {
        (None, _) if wanted.allows(Shape::Analysis) => Ok(analysis(object).map(Payload::Analysis)),
        (None, _) => Ok(None),
        (Some("a plan"), Some("a bundle")) if wanted.allows(Shape::PlanWithBundle) => {
            both(object, notes).map(Some)
        }
        (Some(one), Some(other)) => Err(format!("an answer is one thing: this is {one} and also {other}")),
        (Some("context_requests"), None) => {
            allowed(wanted, Shape::ContextRequests, "context_requests")?;
            requests(&object["context_requests"], notes).map(|list| Some(Payload::ContextRequests(list)))
        }
        (Some("requires_replan"), None) => {
            allowed(wanted, Shape::Replan, "requires_replan")?;
            replan(&object["requires_replan"]).map(|replan| Some(Payload::Replan(replan)))
        }
        (Some("a plan"), None) => {
            if !object.contains_key("tasks") {
                notes.add("the plan has no `tasks` around it");
            }
            Ok(Some(Payload::Plan(value.clone())))
        }
        (Some(_), None) => bundle_of(value, notes).map(|bundle| Some(Payload::Bundle(bundle))),
    }
}

fn fit_list(value: &Value, wanted: &Wanted<'_>, notes: &mut Notes) -> Result<Option<Payload>, String> {
    let Some(list) = value.as_array().filter(|list| !list.is_empty()) else { return Ok(None) };
    if wanted.allows_plan() && list.iter().all(is_task) {
        notes.add("a bare list of tasks");
        return Ok(Some(Payload::Plan(value.clone())));
    }
    if wanted.allows_files() && list.iter().all(is_artifact) {
        return bundle_of(value, notes).map(|bundle| Some(Payload::Bundle(bundle)));
    }
    Ok(None)
}

fn says(object: &Map<String, Value>, name: &str) -> bool {
    object.contains_key(name)
}

/// The object without requests that ask for nothing, which models leave beside a bundle.
fn without_empty_answers(object: &Map<String, Value>, notes: &mut Notes) -> Map<String, Value> {
    let mut object = object.clone();
    for name in ["context_requests", "requires_replan"] {
        let is_empty = match object.get(name) {
            Some(Value::Null | Value::Bool(false)) => true,
            Some(Value::Array(list)) => list.is_empty(),
            Some(Value::Object(fields)) => fields.is_empty(),
            Some(_) | None => false,
        };
        if is_empty && object.len() > 1 {
            object.remove(name);
            notes.add(format!("an empty `{name}` left out"));
        }
    }
    object
}

fn allowed(wanted: &Wanted<'_>, shape: Shape, name: &str) -> Result<(), String> {
    if wanted.allows(shape) { Ok(()) } else { Err(format!("`{name}` is not possible here")) }
}

/// Whether a value is one task of a plan.
pub(crate) fn is_task(value: &Value) -> bool {
    ["goal", "output_files"].iter().any(|word| value.get(word).is_some())
}

fn is_plan(value: &Value) -> bool {
    ["tasks", "nodes", "plan"].iter().any(|name| value.get(name).is_some()) || is_task(value)
}

/// One object with the tasks of a plan and the fields of a bundle.
fn both(object: &Map<String, Value>, notes: &mut Notes) -> Result<Payload, String> {
    let (plan, rest): (Map<_, _>, Map<_, _>) = object
        .iter()
        .map(|(name, value)| (name.clone(), value.clone()))
        .partition(|(name, _)| ["tasks", "nodes", "plan"].contains(&name.as_str()));
    if plan.is_empty() {
        return Err("a task with files in it: write {\"tasks\": [...]} and the files beside it".to_owned());
    }
    let bundle = bundle_of(&Value::Object(rest), notes)?;
    Ok(Payload::PlanWithBundle { plan: Value::Object(plan), bundle })
}

fn requests(value: &Value, notes: &mut Notes) -> Result<Vec<ContextRequest>, String> {
    let list = match value {
        Value::Array(list) => list.clone(),
        one => {
            notes.add("`context_requests` is a list");
            vec![one.clone()]
        }
    };
    if list.is_empty() {
        return Err("`context_requests` asks for nothing".to_owned());
    }
    list.iter().map(|one| request(one, notes)).collect()
}

fn request(value: &Value, notes: &mut Notes) -> Result<ContextRequest, String> {
    let wrong = || {
        "each of context_requests is {\"kind\": \"read\", \"path\": \"src/a.py\"}, {\"kind\": \"search\", \"query\": \"text\"} \
         or {\"kind\": \"symbol\", \"symbol\": \"name\"}"
            .to_owned()
    };
    let mut fields = value.as_object().ok_or_else(wrong)?.clone();
    fields.retain(|_, value| !value.is_null());
    if !fields.contains_key("kind") {
        let kinds = [("path", "read"), ("query", "search"), ("symbol", "symbol")];
        let mut said = kinds.iter().filter(|(name, _)| fields.contains_key(*name));
        let (Some((_, kind)), None) = (said.next(), said.next()) else { return Err(wrong()) };
        notes.add("a request without its kind");
        fields.insert("kind".to_owned(), Value::String((*kind).to_owned()));
    }
    serde_json::from_value(Value::Object(fields)).map_err(|_| wrong())
}

fn replan(value: &Value) -> Result<Replan, String> {
    let wrong = || {
        "`requires_replan` is {\"reason\": \"...\", \"needed_files\": [], \"needed_nodes\": []}".to_owned()
    };
    if let Value::String(reason) = value {
        return Ok(Replan { reason: reason.clone(), ..Replan::default() });
    }
    let fields = value.as_object().ok_or_else(wrong)?;
    let reason = fields.get("reason").and_then(Value::as_str).ok_or_else(wrong)?;
    Ok(Replan {
        reason: reason.to_owned(),
        needed_files: texts(fields.get("needed_files")),
        needed_nodes: texts(fields.get("needed_nodes")),
    })
}

fn analysis(object: &Map<String, Value>) -> Option<Analysis> {
    let first = |names: &[&str]| names.iter().find_map(|name| object.get(*name));
    let (status, violations) = (first(&["status"]), first(&["violations", "problems", "findings"]));
    let corrections = first(&["suggested_corrections", "corrections", "suggestions", "fixes"]);
    if violations.is_none() && corrections.is_none() {
        return None;
    }
    Some(Analysis {
        status: texts(status).join(" "),
        violations: texts(violations),
        evidence: texts(first(&["evidence"])),
        suggested_corrections: texts(corrections),
    })
}

/// A list of lines: strings as they are, anything else as its JSON.
fn texts(value: Option<&Value>) -> Vec<String> {
    let line = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match value {
        None | Some(Value::Null) => vec![],
        Some(Value::Array(list)) => list.iter().map(line).collect(),
        Some(one) => vec![line(one)],
    }
}
