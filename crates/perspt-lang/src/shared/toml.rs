//! TOML as plain values: what it says, not how it is written.

use serde_json::Value;

/// The document; `None` where it does not parse.
pub(crate) fn parse(text: &str) -> Option<Value> {
    toml_edit::de::from_str(text).ok()
}

/// The value at a path of keys.
pub(crate) fn at<'a>(value: &'a Value, keys: &[&str]) -> Option<&'a Value> {
    keys.iter().try_fold(value, |value, key| value.get(key))
}

/// The texts of an array at a path of keys; empty where there is none.
pub(crate) fn texts<'a>(value: &'a Value, keys: &[&str]) -> Vec<&'a str> {
    at(value, keys).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}
