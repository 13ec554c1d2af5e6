//! What Go files are to tests, and how go calls the tests in them.

use std::sync::OnceLock;

use perspt_core::path::RelPath;

use super::is_test_source;
use crate::plugin::{Files, Pair};
use crate::shared::compare::{FileRole, Layout};
use crate::shared::file_names::is_test_data;
use crate::syntax::{Item, Language};

/// Go, as the engine needs it.
pub(crate) static GO: Language = Language {
    grammar: || tree_sitter_go::LANGUAGE.into(),
    query: include_str!("../syntax/go.scm"),
    compiled: OnceLock::new(),
    layout: None,
    nothing: "",
    suites_are_tests: false,
    bindings,
};

/// A Go tree beside another one.
pub(crate) struct GoLayout<'a> {
    pair: &'a Pair<'a>,
}

impl<'a> GoLayout<'a> {
    /// Of a candidate.
    pub(crate) fn of(pair: &'a Pair<'a>) -> GoLayout<'a> {
        GoLayout { pair }
    }

    /// Whether a file lies below a module: data of other languages' tests is theirs.
    fn is_in_module(&self, path: &RelPath) -> bool {
        let mut manifests = path.ancestors().filter_map(|folder| folder.join("go.mod").ok());
        let sides = [self.pair.base, self.pair.candidate];
        manifests.any(|manifest| sides.iter().any(|files| files.tree().entries.contains_key(&manifest)))
    }
}

impl Layout for GoLayout<'_> {
    fn language(&self) -> &'static Language {
        &GO
    }

    fn role(&self, path: &RelPath) -> FileRole {
        let is_data = is_test_data(path, "go") && path.extension() != Some("md");
        match self.is_source(path) {
            _ if is_data && self.is_in_module(path) => FileRole::Data,
            true if is_test_source(path) => FileRole::Tests,
            _ => FileRole::Other,
        }
    }

    fn runner(&self, _path: &RelPath, name: &str) -> String {
        name.to_owned()
    }

    fn docs(&self, _files: &dyn Files, _path: &RelPath) -> Vec<Item> {
        Vec::new()
    }

    fn is_source(&self, path: &RelPath) -> bool {
        path.extension() == Some("go")
    }
}

/// The names that an import binds, each with where it comes from: the last part of a path, but for one that only tells
/// its version.
fn bindings(words: &[&str]) -> Vec<(String, String)> {
    let (mut found, mut alias, mut quoted) = (Vec::new(), None, false);
    for word in words {
        match *word {
            "\"" | "`" => quoted = !quoted,
            path if quoted => {
                let name = alias.take().unwrap_or_else(|| last_of(path));
                found.extend((!["_", "."].contains(&name)).then(|| (name.to_owned(), path.to_owned())));
            }
            "import" | "(" | ")" | ";" => {}
            name => alias = Some(name),
        }
    }
    found
}

fn last_of(path: &str) -> &str {
    let is_version =
        |part: &&str| part.strip_prefix('v').is_some_and(|number| number.chars().all(|c| c.is_ascii_digit()));
    path.rsplit('/').find(|part| !is_version(part)).unwrap_or(path)
}
