//! Commands that an answer proposes, as far as they are go's, and the packages that manifests name.

use std::collections::{BTreeMap, BTreeSet};

use perspt_core::path::RelPath;
use perspt_core::stage::Root;

use super::manifest::Manifest;
use super::{roots, stages};
use crate::plugin::{AddPackages, CommandKind, Fetch, Files};

/// Subcommands that only build, test or check, or bring up to date what verification does.
const REPEATS: [&str; 4] = ["build", "vet", "test", "list"];
const MODULES: [&str; 3] = ["tidy", "download", "verify"];

/// Options that send what is built elsewhere, or have another program run.
const ELSEWHERE: [&str; 8] = ["-o", "-C", "-exec", "-toolexec", "-vettool", "-modfile", "-overlay", "-mod"];

/// What a command is.
pub(crate) fn kind(argv: &[String], root: &Root, files: &dyn Files) -> CommandKind {
    let words: Vec<&str> = argv.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["go", sub, rest @ ..] if REPEATS.contains(sub) && is_plain(rest) => CommandKind::Repeats,
        ["go", "mod", sub, rest @ ..] if MODULES.contains(sub) && is_plain(rest) => CommandKind::Repeats,
        ["gofmt", rest @ ..] if !rest.contains(&"-w") => CommandKind::Repeats,
        ["go", "get", rest @ ..] => added(rest, root, files).map_or(CommandKind::Other, CommandKind::Adds),
        _ => CommandKind::Other,
    }
}

fn is_plain(arguments: &[&str]) -> bool {
    let name =
        |word: &str| format!("-{}", word.trim_start_matches('-').split('=').next().unwrap_or_default());
    !arguments.iter().any(|word| word.starts_with('-') && ELSEWHERE.contains(&name(word).as_str()))
}

/// What `go get` adds; `None` where it does something else, or where no module of its own is meant.
fn added(arguments: &[&str], root: &Root, files: &dyn Files) -> Option<AddPackages> {
    if roots::is_workspace(files, root) {
        return None;
    }
    let names: Option<Vec<String>> =
        arguments.iter().filter(|word| **word != "-t").map(|word| package(word)).collect();
    let names = names.filter(|names| !names.is_empty())?;
    let arguments: Vec<&str> = std::iter::once("get").chain(arguments.iter().copied()).collect();
    let step = stages::with_network(stages::go("get", &arguments, &root.dir));
    Some(AddPackages { names, fetch: Fetch { step, instead: BTreeMap::new() } })
}

/// The name in `name` or `name@version`; `None` for an option, a path or a removal.
fn package(word: &str) -> Option<String> {
    let (name, version) = word.split_once('@').unwrap_or((word, "latest"));
    let is_host = name.split('/').next().is_some_and(|host| host.contains('.') && !host.starts_with('.'));
    let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || "-_./~".contains(c));
    (is_host && is_name && version != "none" && !name.starts_with('-')).then(|| name.to_owned())
}

fn manifests(files: &dyn Files) -> impl Iterator<Item = Manifest> {
    let paths = files.tree().entries.keys().filter(|path| path.name() == "go.mod" && roots::is_seen(path));
    paths.filter_map(|path| Some(Manifest::parse(&files.text(path)?)))
}

/// Every module that manifests and lock files name, with the packages below them that sources import.
pub(crate) fn packages(files: &dyn Files) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for manifest in manifests(files) {
        names.extend(manifest.requires().chain(manifest.module()).map(str::to_owned));
    }
    let is_lock = |path: &&RelPath| path.name() == "go.sum" || path.name() == "go.work.sum";
    for text in files.tree().entries.keys().filter(is_lock).filter_map(|path| files.text(path)) {
        names.extend(text.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned));
    }
    names
}

/// Modules that manifests ask for: neither those of the project nor those that only others need.
pub(crate) fn dependencies(files: &dyn Files) -> BTreeSet<String> {
    let own: BTreeSet<String> = manifests(files).filter_map(|one| one.module().map(str::to_owned)).collect();
    manifests(files).flat_map(|manifest| manifest.direct()).filter(|name| !own.contains(name)).collect()
}
