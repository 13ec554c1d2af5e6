//! What a plan says is to hold: as an object it is checked, as a sentence it is shown.

use perspt_core::contract::{Check, Rule};
use perspt_core::path::RelPath;
use serde_json::{Map, Value};

use super::words::{field, text};

type MakeRule = fn(String) -> Rule;

/// The field of each rule, and names that models give it.
const RULES: [(&[&str], MakeRule); 4] = [
    (&["must_contain", "contains"], Rule::MustContain),
    (&["must_not_contain", "not_contains", "forbidden"], Rule::MustNotContain),
    (&["must_not_import", "not_imports"], Rule::MustNotImport),
    (&["signature", "interface_signature"], Rule::Signature),
];

/// The statements that can be checked, and those that cannot, as they were written.
pub(super) fn read(value: Option<&Value>) -> (Vec<Check>, Vec<String>) {
    let (mut checks, mut prose) = (Vec::new(), Vec::new());
    let all = match value {
        Some(Value::Array(all)) => all.as_slice(),
        Some(one) => std::slice::from_ref(one),
        None => &[],
    };
    for one in all {
        match one {
            Value::Object(fields) => match check(fields) {
                Some(check) => checks.push(check),
                None => prose.push(one.to_string()),
            },
            other => prose.extend(text(Some(other))),
        }
    }
    (checks, prose)
}

/// One rule, about one place. What says more than that is not understood.
fn check(fields: &Map<String, Value>) -> Option<Check> {
    const PLACE: [&str; 3] = ["file", "path", "module"];
    let mut rules = RULES.iter().filter_map(|(names, make)| Some(make(text(field(fields, names))?)));
    let rule = rules.next().filter(|_| rules.next().is_none())?;
    let file = match field(fields, &PLACE) {
        Some(place) => Some(RelPath::parse(text(Some(place))?.trim_end_matches('/')).ok()?),
        None => None,
    };
    let notes = ["why", "reason", "description"];
    let known = |name: &String| {
        let name = name.as_str();
        RULES.iter().any(|(names, _)| names.contains(&name)) || PLACE.contains(&name) || notes.contains(&name)
    };
    fields.keys().all(known).then_some(Check { file, rule })
}
