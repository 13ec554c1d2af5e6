//! A source with the test items it had before, and its code as it is now.

use std::ops::Range;

use super::items::{self, Outer};

/// What stands in place of an item that was not there before: documentation before it must be of something.
const NOTHING: &str = "const _: () = ();";

/// The new text with the test items of the old one; `None` where they are the same, or where one cannot be put back.
pub(crate) fn put_back(old: &str, new: &str) -> Option<String> {
    if are_alike(old, new) {
        return None;
    }
    let (before, after) = (items::outer_tests(old), items::outer_tests(new));
    let text = |source: &str, item: &Outer| source[item.range.clone()].to_owned();
    let mut left: Vec<&Outer> = before.iter().collect();
    let mut out = new.to_owned();
    let mut places: Vec<(Range<usize>, String)> = Vec::new();
    for item in &after {
        let was = left.iter().position(|old| old.key == item.key).map(|at| left.remove(at));
        places.push((item.range.clone(), was.map_or(NOTHING.to_owned(), |was| text(old, was))));
    }
    for (range, text) in places.into_iter().rev() {
        out.replace_range(range, &text);
    }
    for item in left {
        if item.key.contains("::") {
            return None;
        }
        out.push('\n');
        out.push_str(&text(old, item));
        out.push('\n');
    }
    Some(out)
}

/// Whether two sources have the same test items.
pub(crate) fn are_alike(one: &str, other: &str) -> bool {
    let of = |source: &str| -> Vec<(String, String)> {
        let found = items::outer_tests(source).into_iter();
        found.map(|item| (item.key.clone(), source[item.range].to_owned())).collect()
    };
    of(one) == of(other)
}

/// The code of a source, and its test items.
pub(crate) fn parts(text: &str) -> (String, String) {
    let (mut code, mut tests) = (text.to_owned(), String::new());
    for item in items::outer_tests(text).into_iter().rev() {
        tests.push_str(&text[item.range.clone()]);
        code.replace_range(item.range, "");
    }
    (code, tests)
}
