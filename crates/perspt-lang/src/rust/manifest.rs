//! Cargo manifests: which packages belong together, and what in a manifest decides how evidence is gathered.

use std::collections::{BTreeMap, BTreeSet};

use perspt_core::path::RelPath;
use serde_json::Value;

use crate::plugin::Files;
use crate::shared::glob;
use crate::shared::toml::{at, parse, texts};

/// The tables of targets whose tests are run. Benchmarks and examples are left out: a benchmark with a
/// harness of its own is the ordinary way to write one, and neither holds tests unless told so.
const TARGET_TABLES: [&str; 2] = ["bin", "test"];

/// Keys of a target that decide whether and how its tests run.
const TARGET_KEYS: [&str; 4] = ["test", "harness", "doctest", "required-features"];

/// Keys of `[package]` that hide targets or run code before the build.
const PACKAGE_KEYS: [&str; 3] = ["autotests", "build", "workspace"];

/// Profiles that tests are built with.
const PROFILES: [&str; 2] = ["test", "dev"];

/// The manifest of a folder.
pub(crate) fn of(files: &dyn Files, dir: &RelPath) -> Option<Value> {
    parse(&files.text(&dir.join("Cargo.toml").ok()?)?)
}

/// Whether it makes a package.
pub(crate) fn is_package(manifest: &Value) -> bool {
    manifest.get("package").is_some_and(Value::is_object)
}

/// Whether it makes a workspace.
pub(crate) fn is_workspace(manifest: &Value) -> bool {
    manifest.get("workspace").is_some_and(Value::is_object)
}

/// Every dependency table of a manifest, target-specific ones and the workspace's included.
pub(crate) fn dependencies(manifest: &Value) -> impl Iterator<Item = (&String, &Value)> {
    let kinds = ["dependencies", "dev-dependencies", "build-dependencies"];
    let targets =
        at(manifest, &["target"]).and_then(Value::as_object).into_iter().flat_map(|map| map.values());
    let owners = std::iter::once(manifest).chain(manifest.get("workspace")).chain(targets);
    owners
        .flat_map(move |owner| kinds.into_iter().filter_map(|kind| owner.get(kind)))
        .filter_map(Value::as_object)
        .flatten()
}

/// The folders of path dependencies, relative to the workspace.
pub(crate) fn path_dependencies(manifest: &Value, dir: &RelPath) -> Vec<RelPath> {
    let paths = dependencies(manifest).filter_map(|(_, dependency)| dependency.get("path")?.as_str());
    paths
        .filter_map(|path| RelPath::parse(format!("{}/{path}", dir.as_str()).trim_start_matches('/')).ok())
        .collect()
}

/// Whether it asks for anything that is not a path of the tree.
pub(crate) fn needs_fetch(manifest: &Value) -> bool {
    dependencies(manifest).any(|(_, dependency)| {
        dependency.get("path").is_none() && dependency.get("workspace") != Some(&Value::Bool(true))
    })
}

/// Whether a target is declared to bring its own harness.
pub(crate) fn has_own_harness(manifest: &Value, kind: &str, name: &str) -> bool {
    let table = if kind == "lib" { manifest.get("lib") } else { manifest.get(kind) };
    let entries = match table {
        Some(Value::Array(entries)) => entries.iter().collect(),
        Some(entry) => vec![entry],
        None => Vec::new(),
    };
    entries.into_iter().any(|entry| {
        let same = kind == "lib" || entry.get("name").and_then(Value::as_str) == Some(name);
        same && entry.get("harness") == Some(&Value::Bool(false))
    })
}

/// The root source files of a package: what its targets start from.
pub(crate) fn root_sources(files: &dyn Files, dir: &RelPath, manifest: &Value) -> Vec<RelPath> {
    let mut paths: BTreeSet<RelPath> = BTreeSet::new();
    let mut named = |path: Option<&str>| paths.extend(path.and_then(|path| dir.join(path).ok()));
    named(Some(lib_path(manifest)));
    named(Some("src/main.rs"));
    for bin in manifest.get("bin").and_then(Value::as_array).into_iter().flatten() {
        named(bin.get("path").and_then(Value::as_str));
    }
    let bins = dir.join("src/bin").ok();
    let direct = |path: &&RelPath| path.parent() == bins && path.extension() == Some("rs");
    paths.extend(files.tree().entries.keys().filter(direct).cloned());
    paths.into_iter().filter(|path| files.tree().entries.contains_key(path)).collect()
}

fn lib_path(manifest: &Value) -> &str {
    at(manifest, &["lib", "path"]).and_then(Value::as_str).unwrap_or("src/lib.rs")
}

/// The root source of a package's library, where it has one.
pub(crate) fn lib(files: &dyn Files, dir: &RelPath) -> Option<RelPath> {
    let manifest = of(files, dir)?;
    dir.join(lib_path(&manifest)).ok().filter(|path| files.tree().entries.contains_key(path))
}

/// Whether rustdoc tries out the examples of a source: it lies in a package with a library whose documentation
/// is tested, and is no target of another kind by its place.
pub(crate) fn is_documented(files: &dyn Files, path: &RelPath) -> bool {
    const OTHERS: [&str; 6] = ["tests/", "examples/", "benches/", "src/bin/", "src/main.rs", "build.rs"];
    let package = path.ancestors().find_map(|dir| Some((of(files, &dir).filter(is_package)?, dir)));
    package.is_some_and(|(manifest, dir)| {
        let tested = at(&manifest, &["lib", "doctest"]) != Some(&Value::Bool(false));
        let other = path.below(&dir).is_some_and(|below| OTHERS.iter().any(|other| below.starts_with(other)));
        tested && !other && lib(files, &dir).is_some()
    })
}

/// Sources of a package's benchmarks: below `benches`, or named by the manifest.
pub(crate) fn benches(files: &dyn Files, dir: &RelPath) -> BTreeSet<RelPath> {
    let manifest = of(files, dir).unwrap_or_default();
    let declared = manifest.get("bench").and_then(Value::as_array).into_iter().flatten();
    let named = declared.filter_map(|entry| dir.join(entry.get("path")?.as_str()?).ok());
    let folder = dir.join("benches").ok();
    let below = |path: &&RelPath| folder.as_ref().is_some_and(|folder| path.is_within(folder));
    let sources = files.tree().entries.keys().filter(|path| path.extension() == Some("rs"));
    named.chain(sources.filter(below).cloned()).collect()
}

/// The features that a target wants which starts from this file.
pub(crate) fn required_features(files: &dyn Files, file: &RelPath) -> Vec<String> {
    let Some((dir, manifest)) =
        file.ancestors().find_map(|dir| Some((dir.clone(), of(files, &dir).filter(is_package)?)))
    else {
        return Vec::new();
    };
    let places = [("bin", "src/bin"), ("example", "examples"), ("test", "tests"), ("bench", "benches")];
    for (table, folder) in places {
        for entry in manifest.get(table).and_then(Value::as_array).into_iter().flatten() {
            let name = entry.get("name").and_then(Value::as_str).unwrap_or_default();
            let usual = [format!("{folder}/{name}.rs"), format!("{folder}/{name}/main.rs")];
            let named = entry.get("path").and_then(Value::as_str);
            let mut starts =
                named.into_iter().chain(usual.iter().map(String::as_str).filter(|_| named.is_none()));
            if starts.any(|start| dir.join(start).is_ok_and(|start| start == *file)) {
                return texts(entry, &["required-features"]).into_iter().map(str::to_owned).collect();
            }
        }
    }
    Vec::new()
}

/// The names of a package's examples, those found by their place included.
pub(crate) fn examples(files: &dyn Files, dir: &RelPath) -> BTreeSet<String> {
    let manifest = of(files, dir).unwrap_or_default();
    let declared = manifest.get("example").and_then(Value::as_array).into_iter().flatten();
    let mut names: BTreeSet<String> =
        declared.filter_map(|entry| Some(entry.get("name")?.as_str()?.to_owned())).collect();
    let Ok(folder) = dir.join("examples") else { return names };
    for below in files.tree().entries.keys().filter_map(|path| path.below(&folder)) {
        match below.split('/').collect::<Vec<_>>()[..] {
            [name, "main.rs"] => names.insert(name.to_owned()),
            [file] => file.strip_suffix(".rs").is_some_and(|name| names.insert(name.to_owned())),
            _ => false,
        };
    }
    names
}

/// What in a manifest decides how evidence is gathered, by key; the same facts written differently are equal.
pub(crate) fn evidence(manifest: &Value) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    let mut add = |key: String, value: Option<&Value>| {
        if let Some(value) = value {
            facts.insert(key, value.to_string());
        }
    };
    for key in PACKAGE_KEYS {
        add(format!("package.{key}"), at(manifest, &["package", key]));
    }
    for key in TARGET_KEYS {
        add(format!("lib.{key}"), at(manifest, &["lib", key]));
    }
    for table in TARGET_TABLES {
        for entry in manifest.get(table).and_then(Value::as_array).into_iter().flatten() {
            let name = entry.get("name").and_then(Value::as_str).unwrap_or("?");
            for key in TARGET_KEYS {
                add(format!("{table}.{name}.{key}"), entry.get(key));
            }
        }
    }
    for profile in PROFILES {
        add(format!("profile.{profile}"), at(manifest, &["profile", profile]));
    }
    for key in ["exclude", "default-members"] {
        add(format!("workspace.{key}"), at(manifest, &["workspace", key]));
    }
    add("patch".to_owned(), manifest.get("patch"));
    add("replace".to_owned(), manifest.get("replace"));
    // Saying what holds anyway is no rule, and a program may well need a feature.
    facts.retain(|key, value| {
        let usual = if key == "package.build" { "false" } else { "true" };
        value != usual && !(key.starts_with("bin.") && key.ends_with("required-features"))
    });
    facts
}

/// Whether a fact hides tests or runs code wherever it is, also in a manifest that is new.
pub(crate) fn is_trick(fact: &str) -> bool {
    fact == "package.autotests"
        || fact == "package.build"
        || fact.starts_with("lib.")
        || TARGET_TABLES.iter().any(|table| fact.starts_with(&format!("{table}.")))
}

/// Members a workspace names.
pub(crate) fn members(manifest: &Value) -> BTreeSet<String> {
    texts(manifest, &["workspace", "members"]).into_iter().map(str::to_owned).collect()
}

/// Whether a path matches a member pattern: `*` and `?` within one part.
pub(crate) fn matches(pattern: &str, path: &str) -> bool {
    let clean = |text: &str| -> Vec<String> {
        text.split('/').filter(|part| !part.is_empty() && *part != ".").map(str::to_owned).collect()
    };
    let (pattern, path) = (clean(pattern), clean(path));
    pattern.len() == path.len()
        && pattern.iter().zip(&path).all(|(pattern, part)| glob::matches(pattern, part))
}
