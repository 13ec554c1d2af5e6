//! Reading fields of a model's JSON with some tolerance.

use serde_json::{Map, Value};

/// The first of these fields that has a value.
pub(super) fn field<'a>(of: &'a Map<String, Value>, names: &[&str]) -> Option<&'a Value> {
    names.iter().filter_map(|name| of.get(*name)).find(|value| !value.is_null())
}

/// A word or a sentence; a number counts as one.
pub(super) fn text(value: Option<&Value>) -> Option<String> {
    let text = match value? {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    Some(text).filter(|text| !text.is_empty())
}

/// A list of words; a word alone is a list of one, and an object is what one of these fields of it says.
pub(super) fn texts(value: Option<&Value>, fields: &[&str]) -> Vec<String> {
    let one = |value: &Value| match value {
        Value::Object(object) => text(field(object, fields)),
        other => text(Some(other)),
    };
    match value {
        Some(Value::Array(values)) => values.iter().filter_map(one).collect(),
        Some(value) => one(value).into_iter().collect(),
        None => vec![],
    }
}

/// The first characters of a text.
pub(super) fn cut(text: &str, chars: usize) -> String {
    text.chars().take(chars).collect()
}
