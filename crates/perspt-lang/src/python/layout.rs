//! What Python files are to tests, and how runners call the tests in them.

use std::sync::OnceLock;

use perspt_core::path::RelPath;

use super::settings::Settings;
use super::{decides_evidence, doctests, is_test_material, is_test_source, roots};
use crate::plugin::{Files, Pair};
use crate::shared::compare::{FileRole, Layout};
use crate::syntax::{Item, Language};

/// Python, as the engine needs it.
pub(crate) static PYTHON: Language = Language {
    grammar: || tree_sitter_python::LANGUAGE.into(),
    query: include_str!("../syntax/python.scm"),
    compiled: OnceLock::new(),
    layout: Some("block"),
    nothing: "pass",
    suites_are_tests: true,
    bindings,
};

/// A Python tree beside another one.
pub(crate) struct PythonLayout<'a> {
    pair: &'a Pair<'a>,
    /// The folders of the roots of both sides, with pytest's settings there; the base's first.
    settings: Vec<(RelPath, Settings)>,
    /// The folders of the roots that have tests.
    tested: Vec<RelPath>,
}

impl<'a> PythonLayout<'a> {
    /// Of a candidate.
    pub(crate) fn of(pair: &'a Pair<'a>) -> PythonLayout<'a> {
        let of = |files: &dyn Files| -> Vec<(RelPath, Settings)> {
            let roots = roots::find(files).into_iter();
            roots.map(|root| (root.dir.clone(), Settings::of(files, &root.dir))).collect()
        };
        let settings = of(pair.base).into_iter().chain(of(pair.candidate)).collect();
        let roots = roots::find(pair.base).into_iter().chain(roots::find(pair.candidate));
        let tested = roots.filter(|root| root.has_tests).map(|root| root.dir).collect();
        PythonLayout { pair, settings, tested }
    }

    /// The settings that hold for a file, on each side.
    fn settings(&self, path: &RelPath) -> impl Iterator<Item = &Settings> {
        let deepest = self
            .settings
            .iter()
            .filter(|(dir, _)| path.is_within(dir))
            .map(|(dir, _)| dir.parts().count())
            .max();
        let near = move |dir: &RelPath| Some(dir.parts().count()) == deepest;
        self.settings
            .iter()
            .filter(move |(dir, _)| path.is_within(dir) && near(dir))
            .map(|(_, settings)| settings)
    }

    /// Whether tests of a root read this file. One root alone need not have it: another language's may, too.
    fn is_data(&self, path: &RelPath) -> bool {
        let is_material = is_test_material(path) && !decides_evidence(path) && path.extension() != Some("md");
        is_material && self.tested.iter().any(|dir| path.is_within(dir))
    }

    /// The name a file is imported by.
    fn module(&self, path: &RelPath) -> String {
        let there = |folder: &RelPath| {
            let init = folder.join("__init__.py");
            init.is_ok_and(|init| {
                [self.pair.base, self.pair.candidate]
                    .iter()
                    .any(|files| files.tree().entries.contains_key(&init))
            })
        };
        let packages = path.ancestors().take_while(|folder| there(folder));
        let mut names: Vec<String> = packages.map(|folder| folder.name().to_owned()).collect();
        names.reverse();
        names.extend(Some(path.name().trim_end_matches(".py").to_owned()).filter(|name| name != "__init__"));
        names.join(".")
    }
}

impl Layout for PythonLayout<'_> {
    fn language(&self) -> &'static Language {
        &PYTHON
    }

    fn role(&self, path: &RelPath) -> FileRole {
        let named = self.settings(path).any(|settings| settings.names_tests(path));
        match self.is_source(path) {
            false if self.is_data(path) => FileRole::Data,
            true if path.name() == "conftest.py" => FileRole::Helper,
            _ if decides_evidence(path) => FileRole::Other,
            true if named => FileRole::Tests,
            true if is_test_source(path) => FileRole::Helper,
            true if self.settings(path).any(|settings| settings.collects_all()) => FileRole::Mixed,
            _ => FileRole::Other,
        }
    }

    fn runner(&self, path: &RelPath, name: &str) -> String {
        let Some(rest) = name.strip_prefix("doc").filter(|rest| rest.is_empty() || rest.starts_with("::"))
        else {
            return name.to_owned();
        };
        match self.is_source(path) {
            true => format!("{}::{}{}", path.name(), self.module(path), rest.replace("::", ".")),
            false => format!("{}::{}", path.name(), path.name()),
        }
    }

    fn docs(&self, files: &dyn Files, path: &RelPath) -> Vec<Item> {
        self.settings(path)
            .next()
            .map(|settings| doctests::examples(files, path, settings))
            .unwrap_or_default()
    }

    fn is_source(&self, path: &RelPath) -> bool {
        path.extension() == Some("py")
    }
}

/// The names that an import binds, each with where it comes from.
fn bindings(words: &[&str]) -> Vec<(String, String)> {
    let at = words.iter().position(|word| *word == "import").unwrap_or(words.len());
    let module = words.get(1..at).unwrap_or_default().concat();
    let names = words.get(at + 1..).unwrap_or_default();
    let parts = names.split(|word| *word == ",");
    let bound = parts.filter_map(|part| {
        let part: Vec<&str> = part.iter().copied().filter(|word| !["(", ")"].contains(word)).collect();
        let (path, alias) = match part.iter().position(|word| *word == "as") {
            Some(at) => (&part[..at], part.get(at + 1).copied()),
            None => (&part[..], None),
        };
        let name = alias.or(path.first().copied())?;
        let origin = if module.is_empty() && alias.is_none() { name.to_owned() } else { path.concat() };
        let origin = if module.is_empty() { origin } else { format!("{module}.{origin}") };
        (name != "*").then(|| (name.to_owned(), origin))
    });
    bound.collect()
}
