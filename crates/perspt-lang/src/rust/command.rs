//! Commands that an answer proposes, as far as they are cargo's.

use std::collections::BTreeSet;

use perspt_core::stage::{Profile, Root, Step};
use serde_json::Value;

use super::{fetch, manifest, stages};
use crate::plugin::{AddPackages, CommandKind, Fetch, Files};
use crate::shared::toml;

/// Subcommands that only build, test or check.
const REPEATS: [&str; 7] = ["test", "check", "build", "clippy", "doc", "nextest", "t"];

/// Options of `cargo add` that take nothing, and those that take a value.
const FLAGS: [&str; 5] = ["--dev", "--build", "--no-default-features", "--default-features", "--optional"];
const VALUES: [&str; 4] = ["--features", "-F", "-p", "--package"];

/// What a command is.
pub(crate) fn kind(argv: &[String], root: &Root, files: &dyn Files) -> CommandKind {
    let words: Vec<&str> = argv.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["cargo", "fmt", rest @ ..] if rest.contains(&"--check") => CommandKind::Repeats,
        ["cargo", "clippy", rest @ ..] if rest.contains(&"--fix") => CommandKind::Other,
        ["cargo", sub, rest @ ..] if REPEATS.contains(sub) && is_plain(rest) => CommandKind::Repeats,
        ["rustfmt", rest @ ..] if rest.contains(&"--check") => CommandKind::Repeats,
        ["cargo", "add", rest @ ..] => added(rest).map_or(CommandKind::Other, |names| {
            let mut arguments = vec!["add"];
            arguments.extend(rest);
            let step = Step { profile: Profile::Fetch, ..stages::in_build("add", &arguments, root) };
            let fetch = Fetch { step, instead: fetch::instead(files) };
            CommandKind::Adds(AddPackages { names, fetch })
        }),
        _ => CommandKind::Other,
    }
}

/// Whether no argument sends what is built, or the project, elsewhere.
fn is_plain(arguments: &[&str]) -> bool {
    const ELSEWHERE: [&str; 5] =
        ["--config", "--target-dir", "--artifact-dir", "--out-dir", "--manifest-path"];
    !arguments.iter().any(|word| ELSEWHERE.iter().any(|option| word.starts_with(option)))
}

/// The packages that `cargo add` names; `None` where an option could bring them from elsewhere.
fn added(arguments: &[&str]) -> Option<Vec<String>> {
    let mut names = Vec::new();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let long = word.split_once('=').map(|(option, _)| option);
        match word {
            word if VALUES.contains(word) => drop(words.next()?),
            _ if long.is_some_and(|option| VALUES.contains(&option)) => {}
            word if FLAGS.contains(word) => {}
            word if word.starts_with('-') => return None,
            word => names.push(package(word)?),
        }
    }
    (!names.is_empty()).then_some(names)
}

/// The name in `name` or `name@version`; `None` for a path.
fn package(word: &str) -> Option<String> {
    let name = word.split('@').next().unwrap_or(word);
    let is_name =
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || ['-', '_'].contains(&c));
    is_name.then(|| name.to_owned())
}

/// Every package that manifests and lock files name.
pub(crate) fn packages(files: &dyn Files) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for path in files.tree().entries.keys() {
        let read = || toml::parse(&files.text(path)?);
        match path.name() {
            "Cargo.toml" => {
                let Some(found) = read() else { continue };
                for (name, dependency) in manifest::dependencies(&found) {
                    names.insert(name.clone());
                    names.extend(dependency.get("package").and_then(Value::as_str).map(str::to_owned));
                }
                names.extend(
                    toml::at(&found, &["package", "name"]).and_then(Value::as_str).map(str::to_owned),
                );
            }
            "Cargo.lock" => {
                let found = read().unwrap_or_default();
                let locked = found.get("package").and_then(Value::as_array).into_iter().flatten();
                names.extend(locked.filter_map(|package| Some(package.get("name")?.as_str()?.to_owned())));
            }
            _ => {}
        }
    }
    names
}

/// Packages that manifests ask a registry for: neither those of the project's own folders nor those that a workspace
/// names elsewhere.
pub(crate) fn dependencies(files: &dyn Files) -> BTreeSet<String> {
    let manifests = files.tree().entries.keys().filter(|path| path.name() == "Cargo.toml");
    let mut names = BTreeSet::new();
    for found in manifests.filter_map(|path| toml::parse(&files.text(path)?)) {
        for (name, dependency) in manifest::dependencies(&found) {
            let is_own = ["path", "workspace"].iter().any(|key| dependency.get(*key).is_some());
            let called = dependency.get("package").and_then(Value::as_str).unwrap_or(name);
            names.extend((!is_own).then(|| called.to_owned()));
        }
    }
    names
}
