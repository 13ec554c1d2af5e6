//! What Rust files are to tests, and how cargo calls the tests in them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::OnceLock;

use perspt_core::path::RelPath;

use super::{docs, is_test_material};
use crate::plugin::{Files, Pair};
use crate::shared::compare::{FileRole, Layout};
use crate::syntax::{Item, Language, parse};

/// Rust, as the engine needs it.
pub(crate) static RUST: Language = Language {
    grammar: || tree_sitter_rust::LANGUAGE.into(),
    query: include_str!("../syntax/rust.scm"),
    compiled: OnceLock::new(),
    layout: None,
    // Documentation before an item must be of something.
    nothing: "const _: () = ();",
    suites_are_tests: false,
    bindings,
};

/// How far up declarations of modules are followed.
pub(crate) const MODULE_DEPTH: usize = 20;

/// A Rust tree beside another one.
pub(crate) struct RustLayout<'a> {
    pair: &'a Pair<'a>,
    /// Roles that were looked up: declarations are followed through other files.
    roles: RefCell<BTreeMap<RelPath, FileRole>>,
}

impl<'a> RustLayout<'a> {
    /// Of a candidate.
    pub(crate) fn of(pair: &'a Pair<'a>) -> RustLayout<'a> {
        RustLayout { pair, roles: RefCell::default() }
    }

    fn looked_up(&self, path: &RelPath) -> FileRole {
        let declared = |files: &dyn Files| is_test_module(files, path, MODULE_DEPTH);
        match (self.is_source(path), is_test_material(path)) {
            (true, true) => FileRole::Tests,
            (true, false) if declared(self.pair.base) || declared(self.pair.candidate) => FileRole::Tests,
            (true, false) => FileRole::Mixed,
            (false, true) if path.extension() != Some("md") && self.is_in_package(path) => FileRole::Data,
            (false, _) => FileRole::Other,
        }
    }

    /// Whether a file lies below a manifest: data of other languages' tests is theirs.
    fn is_in_package(&self, path: &RelPath) -> bool {
        let mut manifests = path.ancestors().filter_map(|folder| folder.join("Cargo.toml").ok());
        let sides = [self.pair.base, self.pair.candidate];
        manifests.any(|manifest| sides.iter().any(|files| files.tree().entries.contains_key(&manifest)))
    }
}

impl Layout for RustLayout<'_> {
    fn language(&self) -> &'static Language {
        &RUST
    }

    fn role(&self, path: &RelPath) -> FileRole {
        let known = self.roles.borrow().get(path).copied();
        known.unwrap_or_else(|| {
            let role = self.looked_up(path);
            self.roles.borrow_mut().insert(path.clone(), role);
            role
        })
    }

    fn runner(&self, path: &RelPath, name: &str) -> String {
        match name.strip_prefix("doc") {
            Some(rest) if rest.is_empty() || rest.starts_with(['#', ':']) => docs::runner(path, rest),
            _ => joined(&module_of(path), name),
        }
    }

    fn docs(&self, files: &dyn Files, path: &RelPath) -> Vec<Item> {
        if self.is_source(path) { docs::examples(files, path) } else { Vec::new() }
    }

    fn is_source(&self, path: &RelPath) -> bool {
        path.extension() == Some("rs")
    }
}

fn joined(module: &str, name: &str) -> String {
    if module.is_empty() { name.to_owned() } else { format!("{module}::{name}") }
}

/// The path of the module that a file makes, by its place: below `src` without the crate's name, below `tests` with
/// the target's.
pub(crate) fn module_of(path: &RelPath) -> String {
    let parts: Vec<&str> = path.parts().collect();
    let top = parts.iter().rposition(|part| ["src", "tests"].contains(part)).map_or(0, |at| at + 1);
    let below = parts.get(top..).unwrap_or_default();
    let mut names: Vec<&str> = below.iter().map(|part| part.strip_suffix(".rs").unwrap_or(part)).collect();
    if names.last().is_some_and(|last| ["mod", "lib", "main"].contains(last)) {
        names.pop();
    }
    names.join("::")
}

/// The file that holds a test of a target, by the path of its module; `None` where no file at that place names it.
pub(crate) fn file_of(files: &dyn Files, target: &RelPath, name: &str) -> Option<RelPath> {
    let folder = target.parent()?;
    let parts: Vec<&str> = name.split("::").collect();
    let (test, modules) = parts.split_last()?;
    let there = |path: &RelPath| files.tree().entries.contains_key(path);
    let at = |count: usize| {
        let below = modules[..count].join("/");
        let names = [format!("{below}.rs"), format!("{below}/mod.rs")];
        names.iter().filter_map(|name| folder.join(name).ok()).find(|path| there(path))
    };
    let file = (1..=modules.len()).rev().find_map(at).unwrap_or_else(|| target.clone());
    // One that a macro makes has its name in the call.
    files.text(&file).filter(|text| text.contains(*test)).map(|_| file)
}

/// Whether a source file is a module that exists only under `cfg(test)`, by the declarations above it.
fn is_test_module(files: &dyn Files, path: &RelPath, depth: usize) -> bool {
    if depth == 0 {
        return false;
    }
    declarations(files, path)
        .into_iter()
        .any(|(parent, guarded)| guarded || is_test_module(files, &parent, depth - 1))
}

/// The name that a source file has as a module, and the files at the places where it would be declared.
pub(crate) fn declared_in(path: &RelPath) -> (String, Vec<RelPath>) {
    let folder = path.parent().unwrap_or_else(RelPath::root);
    let (name, dir) = match path.name().trim_end_matches(".rs") {
        "mod" => (folder.name().to_owned(), folder.parent()),
        "lib" | "main" => return (String::new(), Vec::new()),
        stem => (stem.to_owned(), Some(folder)),
    };
    let Some(dir) = dir else { return (name, Vec::new()) };
    let inside = ["lib.rs", "main.rs", "mod.rs"].map(|name| dir.join(name).ok());
    let beside = RelPath::parse(&format!("{}.rs", dir.as_str())).ok();
    (name, inside.into_iter().chain([beside]).flatten().collect())
}

/// The files that declare a source file as a module, and whether only under `cfg(test)`.
fn declarations(files: &dyn Files, path: &RelPath) -> Vec<(RelPath, bool)> {
    let (name, parents) = declared_in(path);
    let parents = parents.into_iter().filter(|parent| parent != path);
    parents
        .filter_map(|parent| {
            let text = files.text(&parent).filter(|text| text.contains(&name))?;
            let source = parse(&RUST, &text);
            let guarded = source.declares.iter().find(|(declared, _)| *declared == name)?.1;
            Some((parent, guarded || source.guarded))
        })
        .collect()
}

/// The names that a `use` binds, each with its whole path.
fn bindings(words: &[&str]) -> Vec<(String, String)> {
    let start = words.iter().position(|word| ["use", "crate"].contains(word)).map_or(0, |at| at + 1);
    let mut found = Vec::new();
    let (mut stack, mut path, mut alias): (Vec<Vec<&str>>, Vec<&str>, Option<&str>) =
        (Vec::new(), Vec::new(), None);
    let mut open = true;
    let mut words = words[start.min(words.len())..].iter();
    while let Some(&word) = words.next() {
        match word {
            "{" => stack.push(path.clone()),
            "," | "}" | ";" => {
                let last = if path.last() == Some(&"self") { path.iter().rev().nth(1) } else { path.last() };
                let name = alias.or(last.copied()).filter(|name| open && *name != "*");
                found.extend(name.map(|name| (name.to_owned(), path.join("::"))));
                (alias, open) = (None, word == ",");
                if word == "}" {
                    stack.pop();
                }
                path = stack.last().cloned().unwrap_or_default();
            }
            "as" => alias = words.next().copied(),
            "::" => {}
            word => {
                open = true;
                path.push(word);
            }
        }
    }
    found
}
