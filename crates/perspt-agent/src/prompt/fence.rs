//! Fences that data cannot close.

use perspt_core::hash::Sha;

/// Wraps data in a fence whose mark is taken from the data's own hash: text cannot hold the hash of
/// itself, so no file or tool output can end its fence early.
pub fn fence(label: &str, data: &str) -> String {
    let mark = &Sha::of(data.as_bytes()).to_string()[..16];
    let end = if data.is_empty() || data.ends_with('\n') { "" } else { "\n" };
    format!("<<<DATA {mark} {label}\n{data}{end}DATA>>> {mark}")
}
