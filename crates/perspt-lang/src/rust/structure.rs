//! perspt's own look at what a node did to Rust files: existing tests, and what decides how they run.

use std::collections::{BTreeMap, BTreeSet};

use perspt_core::path::RelPath;
use perspt_core::residual::{Class, Residual};
use perspt_core::tree::Change;

use super::items::{self, Found};
use super::stubs;
use super::{conditional, docs, guard, is_test_material, macros, manifest, old_tests};
use crate::plugin::{Files, Touch, Was};
use crate::shared::before::{Telling, as_before, text_of};
use crate::shared::examples;
use crate::shared::stubs::new_stubs;
use crate::shared::touch::{
    Deleted, HoldsTests, changed_test_file, compared, empty_tests, error, evidence_changed,
    forbidden_patterns, is_own, not_its_test, shown, vanished,
};

/// Words of a task that name what a whole file decides, by the file's name or a part of it.
const SUBJECTS: [(&str, &[&str]); 8] = [
    ("build.rs", &["build.rs", "build script", "build scripts", "build-script"]),
    ("rust-toolchain", &["rust-toolchain", "rust-toolchain.toml", "toolchain"]),
    ("tool-versions", &[".tool-versions", "toolchain", "rust version"]),
    ("mise.toml", &["mise.toml", ".mise.toml", "toolchain", "rust version"]),
    ("clippy", &["clippy", "clippy.toml"]),
    ("nextest", &["nextest", "nextest.toml"]),
    ("config", &[".cargo/config", ".cargo/config.toml", "cargo config", "cargo configuration"]),
    ("config.toml", &[".cargo/config", ".cargo/config.toml", "cargo config", "cargo configuration"]),
];

/// How far up declarations of modules are followed.
const MODULE_DEPTH: usize = 20;

/// Everything found between base and candidate.
pub(crate) fn structure(touch: &Touch<'_>) -> Vec<Residual> {
    let mut residuals = Vec::new();
    let (mut before, mut after) = (BTreeMap::new(), BTreeMap::new());
    let changes = touch.base.tree().changes_to(touch.candidate.tree());
    for change in &changes {
        let path = &change.path;
        if is_test_material(path) {
            let holds_tests = HoldsTests::of(&found(touch.base, path).tests);
            residuals.extend(changed_test_file(touch, change, "rs", holds_tests));
        }
        if path.extension() == Some("rs") {
            let old = found(touch.base, path);
            let new = found(touch.candidate, path);
            if !moved(touch, change, &old, &changes) {
                residuals.extend(source(touch, change, &old, &new));
            }
            before.insert(path.clone(), old.tests);
            after.insert(path.clone(), new.tests);
            residuals.extend(new_stubs(touch, path, stubs::find));
            if !is_test_material(path) {
                residuals.extend(new_stubs(touch, path, stubs::idle));
            }
        }
        residuals.extend(evidence(touch, change));
    }
    let sources: Vec<&RelPath> = before.keys().collect();
    residuals.extend(macros::new_judges(touch, &sources));
    let is_test = |files: &dyn Files, path: &RelPath| {
        is_test_material(path) || is_test_module(files, path, MODULE_DEPTH)
    };
    residuals.extend(conditional::new_conditions(touch, &sources, &is_test));
    residuals.extend(documentation(touch, &sources));
    residuals.extend(empty_tests(&before, &after));
    residuals.extend(vanished(touch, &before, &after));
    residuals.extend(forbidden_patterns(touch, |path| path.extension() != Some("py")));
    residuals
}

/// The candidate with its tests as they were: files of tests as a whole, and the test items of other sources.
pub(crate) fn tests_as_before(touch: &Touch<'_>) -> BTreeMap<RelPath, Was> {
    let is_test = |path: &RelPath| {
        let declared = |files: &dyn Files| is_test_module(files, path, MODULE_DEPTH);
        is_test_material(path) || declared(touch.base) || declared(touch.candidate)
    };
    let is_source = |path: &RelPath| path.extension() == Some("rs");
    let is_gone = |path: &RelPath| !touch.candidate.tree().entries.contains_key(path);
    let inside = |path: &RelPath| {
        let new = touch.candidate.text(path).filter(|_| is_source(path))?;
        let Some(old) = touch.base.text(path) else {
            // What a file brings that has moved with its tests is not new.
            let mut gone = touch.base.tree().entries.keys().filter(|path| is_source(path) && is_gone(path));
            let same =
                |path: &RelPath| touch.base.text(path).is_some_and(|old| old_tests::are_alike(&old, &new));
            return if gone.any(same) { None } else { old_tests::put_back("", &new) };
        };
        old_tests::put_back(&old, &new)
    };
    let telling = Telling { source: "rs", is_test: &is_test, inside: &inside, parts: &old_tests::parts };
    as_before(touch, &telling)
}

/// The tokens of the test that a runner calls so, where this file holds it.
pub(crate) fn test_text(files: &dyn Files, file: &RelPath, test: &str) -> Option<String> {
    text_of(test, &found(files, file).tests)
}

/// The examples that rustdoc tries out, in all changed sources.
fn documentation(touch: &Touch<'_>, sources: &[&RelPath]) -> Vec<Residual> {
    let of = |files: &dyn Files| -> Vec<_> {
        sources.iter().flat_map(|path| docs::examples(files, path)).collect()
    };
    examples::compare(touch, &of(touch.base), &of(touch.candidate))
}

fn found(files: &dyn Files, path: &RelPath) -> Found {
    files.text(path).map(|text| items::find(&text)).unwrap_or_default()
}

/// Whether a file is gone and a new one has all its test items as they were: the runner says whether they still
/// run under their names.
fn moved(touch: &Touch<'_>, change: &Change, old: &Found, changes: &[Change]) -> bool {
    let is_new = |other: &&Change| other.before.is_none() && other.path.extension() == Some("rs");
    change.after.is_none()
        && changes.iter().filter(is_new).any(|other| {
            let new = found(touch.candidate, &other.path);
            new.all_test == old.all_test
                && new.file_marks <= old.file_marks
                && guard::compare(&change.path, &old.guarded, &new.guarded).is_empty()
                && old.tests.iter().all(|(name, test)| {
                    new.tests
                        .get(name)
                        .is_some_and(|now| now.tokens == test.tokens && now.marks <= test.marks)
                })
        })
}

/// The tests inside a source file, and files that are test modules by their declaration.
fn source(touch: &Touch<'_>, change: &Change, old: &Found, new: &Found) -> Vec<Residual> {
    let path = &change.path;
    if change.before.is_none() {
        return Vec::new();
    }
    let mut residuals = compared(touch, path, &old.tests, &new.tests);
    let had_tests = !old.tests.is_empty() || !old.guarded.is_empty();
    if had_tests && change.after.is_some() && new.file_marks > old.file_marks {
        let message = "a new `#![cfg(…)]` can hide the tests of this file".to_owned();
        residuals.push(error(Class::TestWeakened, path, message));
    }
    let already = is_test_material(path);
    if touch.node.task_type.is_test() && stands_on_changed(touch, path, old, new) {
        residuals.push(shown(
            Class::TestChanged,
            path,
            "what existing tests of this file stand on was changed".to_owned(),
        ));
    }
    if already || touch.node.task_type.is_test() || is_own(touch, path) {
        return residuals;
    }
    let deleted = if change.after.is_none() { Deleted::Yes } else { Deleted::No };
    if old.all_test || is_test_module(touch.base, path, MODULE_DEPTH) {
        residuals.push(not_its_test(path, "an existing test module", deleted));
    } else {
        residuals.extend(guard::compare(path, &old.guarded, &new.guarded));
    }
    residuals
}

/// Whether something that the tests of a file stand on is not what it was.
fn stands_on_changed(touch: &Touch<'_>, path: &RelPath, old: &Found, new: &Found) -> bool {
    let of_tests = |files: &dyn Files| items::of_tests(&files.text(path).unwrap_or_default());
    let whole = is_test_material(path) || old.all_test || is_test_module(touch.base, path, MODULE_DEPTH);
    if whole {
        return guard::stands_on_changed(&of_tests(touch.base), &of_tests(touch.candidate), &old.tests);
    }
    guard::stands_on_changed(&old.guarded, &new.guarded, &old.tests)
}

/// Whether a source file is a module that exists only under `cfg(test)`, by the declarations above it.
fn is_test_module(files: &dyn Files, path: &RelPath, depth: usize) -> bool {
    let Some(folder) = path.parent() else { return false };
    let stem = path.name().trim_end_matches(".rs");
    let (name, dir) = match stem {
        "mod" => (folder.name().to_owned(), folder.parent()),
        "lib" | "main" => return false,
        stem => (stem.to_owned(), Some(folder)),
    };
    let Some(dir) = dir.filter(|_| depth > 0) else { return false };
    let inside = ["lib.rs", "main.rs", "mod.rs"].map(|name| dir.join(name).ok());
    let beside = RelPath::parse(&format!("{}.rs", dir.as_str())).ok();
    inside.into_iter().chain([beside]).flatten().filter(|parent| parent != path).any(|parent| {
        let found = found(files, &parent);
        found.test_modules.contains(&name)
            || (found.modules.contains(&name)
                && (found.all_test || is_test_module(files, &parent, depth - 1)))
    })
}

fn evidence(touch: &Touch<'_>, change: &Change) -> Vec<Residual> {
    let path = &change.path;
    if path.name() == "Cargo.toml" && !is_test_material(path) {
        return manifest_rules(touch, change);
    }
    if !super::decides_evidence(path) {
        return Vec::new();
    }
    let subjects = SUBJECTS
        .iter()
        .find(|(name, _)| path.name() == *name || path.name().trim_matches('.').starts_with(name));
    let what = match (change.before, change.after) {
        (None, _) => "is new",
        (_, None) => "is gone",
        (Some(_), Some(_)) => "was changed",
    };
    let what = format!("`{path}` decides how evidence is gathered, and it {what}");
    let subjects = subjects.map_or(&[][..], |(_, words)| words);
    evidence_changed(touch, path, subjects, what).into_iter().collect()
}

/// A manifest compared by what it says, not by its text. In a new one only what hides tests counts.
fn manifest_rules(touch: &Touch<'_>, change: &Change) -> Vec<Residual> {
    let path = &change.path;
    let read = |files: &dyn Files| path.parent().and_then(|dir| manifest::of(files, &dir));
    let (old, new) = (read(touch.base), read(touch.candidate));
    let Some(new) = new else { return Vec::new() };
    let is_new = change.before.is_none() || touch.authored.contains(path);
    let facts = manifest::evidence(&new);
    let before = old.as_ref().map(manifest::evidence).unwrap_or_default();
    let keys: BTreeSet<&String> = facts.keys().chain(before.keys()).collect();
    let changed = keys.into_iter().filter(|key| facts.get(*key) != before.get(*key));
    // Taking back what hid tests is no offence.
    let changed = changed.filter(|key| facts.contains_key(*key) || !manifest::is_trick(key));
    let mut residuals: Vec<Residual> = changed
        .filter(|key| !is_new || manifest::is_trick(key))
        .filter_map(|key| {
            let now = facts.get(key).map_or("gone".to_owned(), |value| format!("`{value}`"));
            let what =
                format!("`{key}` in this manifest decides how tests are built or run; it is now {now}");
            let mut residual = evidence_changed(touch, path, &subjects_of(key), what)?;
            residual.symbol = Some(key.clone());
            Some(residual)
        })
        .collect();
    let lost = old.as_ref().map(manifest::members).unwrap_or_default();
    residuals.extend(lost.difference(&manifest::members(&new)).filter_map(|member| {
        let what = format!("the workspace no longer names its member `{member}`");
        evidence_changed(touch, path, &[member, "workspace member", "workspace members"], what)
    }));
    residuals
}

/// Words of a task that name a fact of a manifest.
fn subjects_of(key: &str) -> Vec<&str> {
    match key {
        "package.build" => vec!["build.rs", "build script", "build-script"],
        "package.workspace" | "workspace.exclude" | "workspace.default-members" => vec!["workspace"],
        "patch" | "replace" => vec!["patch", "replace a dependency"],
        _ if key.starts_with("profile.") => vec!["profile", "profiles"],
        _ => key.rsplit('.').next().filter(|word| *word != "test").into_iter().collect(),
    }
}
