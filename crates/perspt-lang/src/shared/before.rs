//! The tests that a candidate found, over the code that it made of the rest.

use std::collections::BTreeMap;

use perspt_core::path::RelPath;

use super::asked::names;
use super::touch::TestItems;
use super::weigh::ends_with_name;
use crate::plugin::{Touch, Was};

/// How a language tells tests from the rest.
pub(crate) struct Telling<'a> {
    /// The extension of its sources.
    pub source: &'a str,
    /// Whether a file is tests as a whole.
    pub is_test: &'a dyn Fn(&RelPath) -> bool,
    /// A source of the candidate with the tests it had; `None` where they are the same.
    pub inside: &'a dyn Fn(&RelPath) -> Option<String>,
    /// The code and the tests in the text of a source that is no test as a whole.
    pub parts: &'a dyn Fn(&str) -> (String, String),
}

/// What makes the tests of a candidate those of its base.
pub(crate) fn as_before(touch: &Touch<'_>, telling: &Telling<'_>) -> BTreeMap<RelPath, Was> {
    let changes = touch.base.tree().changes_to(touch.candidate.tree());
    let was = changes.into_iter().filter_map(|change| {
        let path = &change.path;
        let was = match ((telling.is_test)(path), change.before) {
            (true, Some(_)) => Was::Base,
            (true, None) => Was::Absent,
            (false, Some(_)) if is_data_of_tests(touch, path, telling) => Was::Base,
            (false, _) => Was::Text((telling.inside)(path)?),
        };
        Some((change.path, was))
    });
    was.collect()
}

/// Whether tests name a file that is no source, and nothing else does: neither the code nor the task.
fn is_data_of_tests(touch: &Touch<'_>, path: &RelPath, telling: &Telling<'_>) -> bool {
    let name = path.name();
    let is_source = |path: &RelPath| path.extension() == Some(telling.source);
    let manifest = ["toml", "cfg", "lock"].iter().any(|extension| path.extension() == Some(*extension));
    if is_source(path) || manifest || names(touch.task, &[name]) {
        return false;
    }
    let mut by_tests = false;
    for source in touch.base.tree().entries.keys().filter(|path| is_source(path)) {
        let Some(text) = touch.base.text(source).filter(|text| text.contains(name)) else { continue };
        let (code, tests) =
            if (telling.is_test)(source) { (String::new(), text) } else { (telling.parts)(&text) };
        if code.contains(name) {
            return false;
        }
        by_tests |= tests.contains(name);
    }
    by_tests
}

/// The tokens of the test that a runner calls so: its name ends with the test's path in the file.
pub(crate) fn text_of(test: &str, items: &TestItems) -> Option<String> {
    let function = test.split('[').next().unwrap_or(test);
    items.iter().find(|(path, _)| ends_with_name(function, path)).map(|(_, item)| item.tokens.clone())
}
