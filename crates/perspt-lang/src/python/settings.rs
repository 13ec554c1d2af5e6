//! pytest's settings as they hold for a folder.

use std::collections::BTreeMap;

use perspt_core::path::RelPath;
use serde_json::Value;

use super::tox::TestCommand;
use super::{ini, is_test_name};
use crate::plugin::Files;
use crate::shared::glob;
use crate::shared::toml;

/// Files with settings, in the order in which the first that has some wins.
const FILES: [&str; 7] =
    ["pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg"];

/// Settings by key, each as its words.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Settings {
    values: BTreeMap<String, Vec<String>>,
    /// Where tox lets pytest look, and no file of pytest's says it.
    pub testpaths_of_tox: Vec<String>,
}

impl Settings {
    /// Those of a folder: its own, or the nearest above it.
    pub(crate) fn of(files: &dyn Files, dir: &RelPath) -> Settings {
        let folders = std::iter::once(dir.clone()).chain(dir.ancestors());
        let paths = folders.flat_map(|folder| FILES.map(|name| (name, folder.join(name).ok())));
        let mut found = paths.filter_map(|(name, path)| values(name, &files.text(&path?)?));
        let mut values = found.next().unwrap_or_default();
        let of_tox =
            if values.contains_key("testpaths") { Vec::new() } else { TestCommand::of(files, dir).paths };
        if !of_tox.is_empty() {
            values.insert("testpaths".to_owned(), of_tox.clone());
        }
        Settings { values, testpaths_of_tox: of_tox }
    }

    /// The words of a setting; none where it is not set.
    pub(crate) fn words(&self, key: &str) -> &[String] {
        self.values.get(key).map_or(&[], Vec::as_slice)
    }

    /// Whether a file is one that holds tests, by its usual name or by the names these settings give.
    pub(crate) fn names_tests(&self, path: &RelPath) -> bool {
        let named = self.words("python_files").iter().map(|pattern| last(pattern));
        // A pattern for every file tells tests from nothing.
        let mut telling = named.filter(|pattern| !["*", "*.py"].contains(pattern));
        let mut by_setting = || telling.any(|pattern| glob::matches(pattern, path.name()));
        path.extension() == Some("py") && (is_test_name(path) || by_setting())
    }

    /// Whether pytest looks for tests in every file.
    pub(crate) fn collects_all(&self) -> bool {
        self.words("python_files").iter().any(|pattern| ["*", "*.py"].contains(&last(pattern)))
    }

    /// A name for a new test file that these settings let pytest find; `None` where the usual names do.
    pub(crate) fn test_file(&self, stem: &str) -> Option<String> {
        let named = self.words("python_files").iter().map(|pattern| last(pattern));
        let open = named.filter(|pattern| pattern.contains('*') && !pattern.contains(['?', '[']));
        let names: Vec<String> = open.map(|pattern| pattern.replace('*', stem)).collect();
        names.into_iter().find(|name| name.ends_with(".py"))
    }
}

/// The part of a pattern that speaks of a file's name.
fn last(pattern: &str) -> &str {
    pattern.rsplit('/').next().unwrap_or(pattern)
}

/// The settings in a file of this name; `None` where it has no place for any.
fn values(name: &str, text: &str) -> Option<BTreeMap<String, Vec<String>>> {
    let section = match name {
        "pyproject.toml" => {
            let document = toml::parse(text)?;
            let table = toml::at(&document, &["tool", "pytest"])?;
            return Some(of_table(table.get("ini_options").unwrap_or(table)));
        }
        "pytest.toml" | ".pytest.toml" => {
            return Some(toml::parse(text)?.get("pytest").map(of_table).unwrap_or_default());
        }
        "setup.cfg" => "tool:pytest",
        _ => "pytest",
    };
    let found = ini::sections(text).remove(section);
    // A file of pytest's own ends the search, whatever it holds.
    let found = found.or_else(|| name.ends_with("pytest.ini").then(BTreeMap::new))?;
    Some(found.into_iter().map(|(key, value)| (key, split(&value))).collect())
}

fn of_table(table: &Value) -> BTreeMap<String, Vec<String>> {
    let words = |value: &Value| match value {
        Value::String(text) => split(text),
        Value::Array(items) => items.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        other => vec![other.to_string()],
    };
    table.as_object().into_iter().flatten().map(|(key, value)| (key.clone(), words(value))).collect()
}

fn split(text: &str) -> Vec<String> {
    text.split_whitespace().map(|word| word.trim_matches(['"', '\'']).to_owned()).collect()
}
