//! The tests that a candidate found, over the code that it made of the rest.

use std::collections::BTreeMap;

use perspt_core::path::RelPath;

use super::about::is_about;
use super::touch::{Test, TestItems, is_own};
use super::weigh::ends_with_name;
use crate::plugin::{Touch, Was};

/// What makes the tests of a candidate those of its base. `is_test` tells files that are tests as a whole, `inside`
/// gives a source with the tests it had.
pub(crate) fn as_before(
    touch: &Touch<'_>,
    is_test: impl Fn(&RelPath) -> bool,
    inside: impl Fn(&RelPath) -> Option<String>,
) -> BTreeMap<RelPath, Was> {
    let changes = touch.base.tree().changes_to(touch.candidate.tree());
    let changed = changes.into_iter().filter(|change| !is_own(touch, &change.path));
    let was = changed.filter_map(|change| {
        let was = match (is_test(&change.path), change.before) {
            (true, Some(_)) => Was::Base,
            (true, None) => Was::Absent,
            (false, _) => Was::Text(inside(&change.path)?),
        };
        Some((change.path, was))
    });
    was.collect()
}

/// Whether a task names what a test tests.
pub(crate) fn names_subject(task: &str, test: &str, items: &TestItems) -> bool {
    let function = test.split('[').next().unwrap_or(test);
    let last = function.rsplit("::").next().unwrap_or(function);
    is_about(task, last, named(test, items).map_or("", |item| &item.tokens))
}

/// Whether a test has the same text before and after.
pub(crate) fn has_same_text(test: &str, before: &TestItems, after: &TestItems) -> bool {
    let tokens = |items: &TestItems| named(test, items).map(|item| item.tokens.clone());
    tokens(before).is_some() && tokens(before) == tokens(after)
}

/// The test that a runner calls so: its name ends with the test's path in the file.
fn named<'a>(test: &str, items: &'a TestItems) -> Option<&'a Test> {
    let function = test.split('[').next().unwrap_or(test);
    items.iter().find(|(path, _)| ends_with_name(function, path)).map(|(_, item)| item)
}
