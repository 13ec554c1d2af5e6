//! What brings a root's dependencies onto the machine. This alone has a network, so nothing of the tree may choose a
//! program that it runs: cargo asks the compiler about itself even here, and a tree's own configuration can put
//! another program in the compiler's place, or in that of the toolchain.

use std::collections::BTreeMap;

use perspt_core::path::RelPath;
use perspt_core::stage::{Profile, Root, Step};
use perspt_core::tree::EntryKind;
use serde_json::{Map, Value};

use super::{manifest, stages};
use crate::plugin::{Cache, Fetch, Files, Host, Machine};
use crate::shared::toml;

/// Tables of a cargo configuration that say where packages come from, with those keys of theirs that name no program;
/// none where no key of the table does.
const PLACES: [(&str, &[&str]); 7] = [
    ("source", &[]),
    ("patch", &[]),
    ("paths", &[]),
    ("http", &[]),
    ("net", &["retry", "offline"]),
    ("registry", &["default"]),
    ("registries", &["index", "protocol"]),
];

/// The fetch of a root; `None` where its manifests and its lock file name nothing from outside. Not `--locked`: a root
/// may have no lock file yet.
pub(crate) fn fetch(root: &Root, files: &dyn Files) -> Option<Fetch> {
    let manifests = root.packages.iter().chain([&root.dir]);
    let asks =
        manifests.filter_map(|dir| manifest::of(files, dir)).any(|found| manifest::needs_fetch(&found));
    let lock = root.dir.join("Cargo.lock").ok().and_then(|path| files.text(&path));
    let locked = lock.is_some_and(|lock| lock.lines().any(|line| line.starts_with("source = ")));
    (asks || locked).then(|| Fetch {
        step: Step { profile: Profile::Fetch, ..stages::in_build("fetch", &["fetch"], root) },
        instead: instead(files),
    })
}

/// Cargo's and rustup's folders. Of cargo's, only what holds packages may be written: beside it are the user's programs,
/// settings and keys.
pub(crate) fn machine(host: &dyn Host) -> Machine {
    let cargo = host.tool_home("CARGO_HOME", ".cargo");
    let below = |name: &str| cargo.iter().map(|(_, home)| format!("{home}/{name}")).collect::<Vec<_>>();
    let folders = ["registry", "git"].into_iter().flat_map(below).map(Cache::Folder);
    let locks = [".package-cache", ".package-cache-mutate"].into_iter().flat_map(below).map(Cache::File);
    let caches = folders.chain(locks).collect();
    let rustup = host.tool_home("RUSTUP_HOME", ".rustup");
    Machine { env: cargo.iter().cloned().chain(rustup).collect(), caches, ..Machine::default() }
}

/// Files that choose programs: what the fetch sees in their place.
pub(crate) fn instead(files: &dyn Files) -> BTreeMap<RelPath, Option<String>> {
    let entries = files.tree().entries.iter();
    let chosen = entries.filter(|(path, _)| chooses(path)).map(|(path, entry)| {
        let text = if entry.kind == EntryKind::Symlink { None } else { files.text(path) };
        (path.clone(), text.and_then(|text| harmless(path, &text)))
    });
    chosen.collect()
}

fn chooses(path: &RelPath) -> bool {
    let in_configuration = path.parts().any(|part| part == ".cargo");
    in_configuration || ["rust-toolchain", "rust-toolchain.toml"].contains(&path.name())
}

/// What may stay of such a file's text.
fn harmless(path: &RelPath, text: &str) -> Option<String> {
    match path.name() {
        "rust-toolchain" | "rust-toolchain.toml" => names_installed(text).then(|| text.to_owned()),
        "config" | "config.toml" => places(&toml::parse(text)?),
        _ => None,
    }
}

/// Whether a toolchain file names one that is installed, and does not bring its own.
fn names_installed(text: &str) -> bool {
    match toml::parse(text) {
        Some(file) => toml::at(&file, &["toolchain", "path"]).is_none(),
        // The old form is the name alone.
        None => text.split_whitespace().count() == 1 && !text.contains(['/', '=']),
    }
}

/// A cargo configuration with nothing but the places that packages come from.
fn places(config: &Value) -> Option<String> {
    let mut kept = Map::new();
    for (table, keys) in PLACES {
        let Some(value) = config.get(table) else { continue };
        let value = match (table, value) {
            ("registries", Value::Object(registries)) => {
                let each = registries.iter().map(|(name, registry)| (name.clone(), only(registry, keys)));
                Value::Object(each.collect())
            }
            (_, value) if keys.is_empty() => value.clone(),
            (_, value) => only(value, keys),
        };
        kept.insert(table.to_owned(), value);
    }
    toml_edit::ser::to_string(&kept).ok()
}

fn only(table: &Value, keys: &[&str]) -> Value {
    let entries = table.as_object().into_iter().flatten().filter(|(key, _)| keys.contains(&key.as_str()));
    Value::Object(entries.map(|(key, value)| (key.clone(), value.clone())).collect())
}
