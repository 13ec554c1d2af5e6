//! Paths as models write them: with decorations.

use super::notes::Notes;
use super::words::is_path;

/// What one pair of brackets holds that stands around a whole path. `[slug].tsx` and `[id]` keep theirs.
fn in_brackets(path: &str) -> Option<&str> {
    let inner = [("[", "]"), ("(", ")")]
        .iter()
        .find_map(|(open, close)| path.strip_prefix(open)?.strip_suffix(close))?;
    (is_path(inner) && !inner.contains(['[', ']', '(', ')', ' ']) && !inner.starts_with('.')).then_some(inner)
}

/// A path without quotes, backticks, bold marks, brackets, a colon at its end or `./` before it.
pub(super) fn clean_path(words: &str, notes: &mut Notes) -> String {
    const PAIRS: [(&str, &str); 5] = [
        ("**", "in bold"),
        ("*", "in italics"),
        ("`", "in backticks"),
        ("\"", "in quotes"),
        ("'", "in quotes"),
    ];
    let mut path = words.trim();
    let mut seen = Vec::new();
    loop {
        let inner = PAIRS.iter().find_map(|(mark, name)| {
            let inner = path.strip_prefix(mark)?.strip_suffix(mark)?;
            (!inner.is_empty()).then_some((inner, *name))
        });
        let (next, name) = if let Some(found) = inner {
            found
        } else if let Some(rest) = path.strip_suffix(':').filter(|rest| !rest.is_empty()) {
            (rest, "followed by a colon")
        } else if let Some(inner) = in_brackets(path) {
            (inner, "in brackets")
        } else if let Some(rest) = path.strip_prefix("./").filter(|rest| !rest.is_empty()) {
            (rest, "begun with ./")
        } else {
            break;
        };
        path = next.trim();
        seen.push(name);
    }
    for name in seen {
        notes.add(format!("path \"{path}\" was {name}"));
    }
    path.to_owned()
}
