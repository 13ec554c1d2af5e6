//! What JavaScript files are to tests, and how the engine reads them.

use std::sync::OnceLock;

use perspt_core::path::RelPath;

use super::{decides_evidence, is_in_tests, is_source, is_test_name, roots};
use crate::plugin::{Files, Pair};
use crate::shared::compare::{FileRole, Layout};
use crate::shared::file_names::is_test_data;
use crate::syntax::{Item, Language, parse};

const fn language(grammar: fn() -> tree_sitter::Language) -> Language {
    Language {
        grammar,
        query: include_str!("../syntax/javascript.scm"),
        compiled: OnceLock::new(),
        layout: None,
        nothing: "",
        suites_are_tests: true,
        bindings,
    }
}

/// JavaScript, with JSX.
pub(crate) static JAVASCRIPT: Language = language(|| tree_sitter_javascript::LANGUAGE.into());
/// TypeScript, in which `<T>x` is a cast.
pub(crate) static TYPESCRIPT: Language = language(|| tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into());
/// TypeScript with JSX. It reads all of them well enough to compare tests.
pub(crate) static TSX: Language = language(|| tree_sitter_typescript::LANGUAGE_TSX.into());

/// A JavaScript tree beside another one.
pub(crate) struct JavaScriptLayout<'a> {
    pair: &'a Pair<'a>,
    /// The folders of the roots that have tests.
    tested: Vec<RelPath>,
}

impl<'a> JavaScriptLayout<'a> {
    /// Of a candidate.
    pub(crate) fn of(pair: &'a Pair<'a>) -> JavaScriptLayout<'a> {
        let roots = roots::find(pair.base).into_iter().chain(roots::find(pair.candidate));
        let tested = roots.filter(|root| root.has_tests).map(|root| root.dir).collect();
        JavaScriptLayout { pair, tested }
    }

    /// Whether a file has tests on either side.
    fn holds_tests(&self, path: &RelPath) -> bool {
        let holds = |files: &dyn Files| {
            files.text(path).is_some_and(|text| parse(&TSX, &text).tests().next().is_some())
        };
        holds(self.pair.base) || holds(self.pair.candidate)
    }
}

impl Layout for JavaScriptLayout<'_> {
    fn language(&self) -> &'static Language {
        &TSX
    }

    fn role(&self, path: &RelPath) -> FileRole {
        let in_tests = is_in_tests(path) || is_test_data(path, "js");
        match is_source(path) {
            false if in_tests && !decides_evidence(path) && path.extension() != Some("md") => {
                let is_ours = self.tested.iter().any(|dir| path.is_within(dir));
                if is_ours { FileRole::Data } else { FileRole::Other }
            }
            false => FileRole::Other,
            true if decides_evidence(path) => FileRole::Other,
            true if is_test_name(path) => FileRole::Tests,
            true if is_in_tests(path) && self.holds_tests(path) => FileRole::Tests,
            true if is_in_tests(path) => FileRole::Helper,
            true => FileRole::Other,
        }
    }

    fn runner(&self, path: &RelPath, name: &str) -> String {
        format!("{path}::{name}")
    }

    fn docs(&self, _files: &dyn Files, _path: &RelPath) -> Vec<Item> {
        Vec::new()
    }

    fn is_source(&self, path: &RelPath) -> bool {
        is_source(path)
    }
}

/// The names that an import's tokens bind, each with where it comes from: `import a, { b as c } from "x"`, or
/// `const { b: c } = require("x")`.
fn bindings(words: &[&str]) -> Vec<(String, String)> {
    let ends = words.iter().rposition(|word| ["from", "require"].contains(word)).unwrap_or(words.len());
    let module: String = words.get(ends + 1..).unwrap_or_default().concat();
    let module = module.trim_matches(['(', ')', '"', '\'', ';']);
    let marks = ["{", "}", "import", "const", "let", "var", "type", "="];
    let parts = words.get(..ends).unwrap_or_default().split(|word| [",", "{", "}"].contains(word));
    let bound = parts.filter_map(|part| {
        let part: Vec<&str> = part.iter().copied().filter(|word| !marks.contains(word)).collect();
        let (name, from) = match part.as_slice() {
            [name] => (*name, *name),
            ["*", "as", name] => (*name, "*"),
            [from, "as" | ":", name] => (*name, *from),
            _ => return None,
        };
        Some((name.to_owned(), format!("{module}.{from}")))
    });
    bound.collect()
}
