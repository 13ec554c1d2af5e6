//! Commands that an answer proposes, as far as they are JavaScript's, and the packages that manifests name.

use std::collections::BTreeSet;

use perspt_core::path::RelPath;
use serde_json::Value;

use super::manifest::{self, MANIFEST, Package};
use crate::plugin::{CommandKind, Files};

/// Programs that only test or check.
const REPEATS: [&str; 5] = ["vitest", "jest", "mocha", "tsc", "eslint"];

/// Scripts that only test, build or check.
const SCRIPTS: [&str; 6] = ["test", "t", "build", "lint", "typecheck", "check"];

/// What a command is.
pub(crate) fn kind(argv: &[String]) -> CommandKind {
    let words: Vec<&str> = argv.iter().map(String::as_str).collect();
    let asked = match words.as_slice() {
        ["npx" | "bunx", rest @ ..] | ["pnpm" | "yarn", "exec", rest @ ..] => rest,
        ["npm" | "pnpm" | "yarn" | "bun", "run", rest @ ..]
        | ["npm" | "pnpm" | "yarn" | "bun", rest @ ..] => {
            let is_script =
                rest.first().is_some_and(|name| SCRIPTS.contains(&name.split(':').next().unwrap_or(name)));
            return if is_script { CommandKind::Repeats } else { CommandKind::Other };
        }
        words => words,
    };
    match asked {
        ["node", rest @ ..] if rest.contains(&"--test") || rest.contains(&"--check") => CommandKind::Repeats,
        [tool, rest @ ..] if REPEATS.contains(tool) && !rest.contains(&"--fix") && !rest.contains(&"-u") => {
            CommandKind::Repeats
        }
        ["prettier", rest @ ..] if rest.contains(&"--check") || rest.contains(&"-c") => CommandKind::Repeats,
        _ => CommandKind::Other,
    }
}

/// Every package that manifests and lock files name.
pub(crate) fn packages(files: &dyn Files) -> BTreeSet<String> {
    let mut names = manifest::own_names(files);
    names.extend(dependencies(files));
    for path in files.tree().entries.keys() {
        let text = || files.text(path).unwrap_or_default();
        match path.name() {
            "package-lock.json" | "npm-shrinkwrap.json" => {
                let lock: Value = serde_json::from_str(&text()).unwrap_or_default();
                let listed = lock.get("packages").and_then(Value::as_object).into_iter().flatten();
                let installed = listed.filter_map(|(place, _)| place.rsplit_once("node_modules/"));
                names.extend(installed.map(|(_, name)| name.to_owned()));
            }
            // Each begins a line with its name and a version: `name@1.2.3:`, `"@scope/name@^1":`, `/name/1.2.3:`.
            "yarn.lock" | "pnpm-lock.yaml" => names.extend(text().lines().filter_map(locked)),
            _ => {}
        }
    }
    names
}

fn locked(line: &str) -> Option<String> {
    let word = line.trim().trim_start_matches(['\'', '"', '/']);
    let at = word.get(1..)?.find('@')? + 1;
    let name = &word[..at];
    let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || ['@', '/', '-', '_', '.'].contains(&c));
    (is_name && line.trim_end().ends_with(':')).then(|| name.to_owned())
}

/// Packages that manifests ask a registry for: neither the project's own nor what lies in a folder.
pub(crate) fn dependencies(files: &dyn Files) -> BTreeSet<String> {
    let manifests = files.tree().entries.keys().filter(|path: &&RelPath| path.name() == MANIFEST);
    let mut names = BTreeSet::new();
    for package in manifests.filter_map(|path| Package::of(files, &path.parent()?)) {
        let elsewhere = ["file:", "link:", "workspace:", "portal:"];
        let asked = package
            .dependencies()
            .filter(|(_, version)| !elsewhere.iter().any(|kind| version.starts_with(kind)));
        names.extend(asked.map(|(name, _)| name.to_owned()));
    }
    let own = manifest::own_names(files);
    names.retain(|name| !own.contains(name));
    names
}
