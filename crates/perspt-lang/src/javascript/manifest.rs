//! What package.json says, and which packages make one workspace.

use std::collections::BTreeSet;

use perspt_core::path::RelPath;
use serde_json::Value;

use crate::plugin::Files;
use crate::shared::glob;

/// The manifest's name.
pub(crate) const MANIFEST: &str = "package.json";

/// Lists of a manifest in which packages stand by name.
const DEPENDENCIES: [&str; 4] =
    ["dependencies", "devDependencies", "peerDependencies", "optionalDependencies"];

/// A folder with a manifest.
#[derive(Debug, Clone)]
pub(crate) struct Package {
    /// The folder.
    pub dir: RelPath,
    json: Value,
}

impl Package {
    /// The package of a folder; `None` where it has no manifest that can be read.
    pub(crate) fn of(files: &dyn Files, dir: &RelPath) -> Option<Package> {
        let text = files.text(&dir.join(MANIFEST).ok()?)?;
        let json: Value = serde_json::from_str(&text).ok()?;
        Some(Package { dir: dir.clone(), json })
    }

    /// Its name.
    pub(crate) fn name(&self) -> Option<&str> {
        self.json.get("name")?.as_str()
    }

    /// A script of it.
    pub(crate) fn script(&self, name: &str) -> Option<&str> {
        self.json.get("scripts")?.get(name)?.as_str()
    }

    /// Whether its files are modules where their names do not say.
    pub(crate) fn is_module(&self) -> bool {
        self.json.get("type").and_then(Value::as_str) == Some("module")
    }

    /// Every package it asks for, with the version it asks for.
    pub(crate) fn dependencies(&self) -> impl Iterator<Item = (&str, &str)> {
        let lists = DEPENDENCIES.iter().filter_map(|list| self.json.get(list)?.as_object());
        lists.flatten().map(|(name, version)| (name.as_str(), version.as_str().unwrap_or_default()))
    }

    /// Whether it asks for this package.
    pub(crate) fn depends_on(&self, package: &str) -> bool {
        self.dependencies().any(|(name, _)| name == package)
    }

    /// The file that is loaded by its name alone.
    pub(crate) fn entry(&self) -> Option<&str> {
        let exported = self.json.get("exports").map(|exports| exports.get(".").unwrap_or(exports));
        let mut found = exported;
        while let Some(Value::Object(map)) = found {
            found = ["import", "default", "node", "require"].iter().find_map(|key| map.get(*key));
        }
        let fields = ["module", "main"].iter().filter_map(|key| self.json.get(key)?.as_str());
        found.and_then(Value::as_str).into_iter().chain(fields).next()
    }

    /// Whether it is more than a note on how the files beside it are read.
    fn is_project(&self) -> bool {
        let keys = ["name", "scripts", "workspaces"].iter().chain(&DEPENDENCIES);
        keys.into_iter().any(|key| self.json.get(key).is_some())
    }
}

/// The nearest package around a file.
pub(crate) fn nearest(files: &dyn Files, path: &RelPath) -> Option<Package> {
    path.ancestors().find_map(|dir| Package::of(files, &dir))
}

/// Whether a folder is a project of its own. A manifest that cannot be read makes one all the same: its tools say why.
pub(crate) fn is_project(files: &dyn Files, dir: &RelPath) -> bool {
    Package::of(files, dir).is_none_or(|package| package.is_project())
}

/// The patterns by which a folder's manifest takes other folders into one workspace.
pub(crate) fn workspaces(files: &dyn Files, dir: &RelPath) -> Vec<String> {
    let own = Package::of(files, dir).map(|package| of_manifest(&package.json)).unwrap_or_default();
    let pnpm = dir.join("pnpm-workspace.yaml").ok().and_then(|path| files.text(&path));
    own.into_iter().chain(pnpm.iter().flat_map(|text| of_pnpm(text))).collect()
}

/// The patterns in a manifest's text.
pub(crate) fn workspaces_in(manifest: &str) -> Vec<String> {
    of_manifest(&serde_json::from_str(manifest).unwrap_or_default())
}

fn of_manifest(json: &Value) -> Vec<String> {
    let list = json.get("workspaces").map(|listed| listed.get("packages").unwrap_or(listed));
    let texts = list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    texts.map(str::to_owned).collect()
}

/// The list under `packages:`.
fn of_pnpm(text: &str) -> Vec<String> {
    let below = text.lines().skip_while(|line| !line.starts_with("packages:")).skip(1);
    let items = below.take_while(|line| line.starts_with([' ', '-', '#']) || line.trim().is_empty());
    let item = |line: &str| {
        let word = line.trim().strip_prefix('-')?.trim().trim_matches(['\'', '"']);
        (!word.is_empty()).then(|| word.to_owned())
    };
    items.filter_map(item).collect()
}

/// Whether a workspace's patterns take in a folder, given its path below the workspace's own.
pub(crate) fn takes_in(patterns: &[String], below: &str) -> bool {
    let matches =
        |pattern: &str| glob::path_matches(pattern.trim_start_matches("./").trim_end_matches('/'), below);
    let refused = patterns.iter().filter_map(|pattern| pattern.strip_prefix('!'));
    patterns.iter().any(|pattern| matches(pattern)) && !refused.into_iter().any(matches)
}

/// The names that the packages of a tree give themselves.
pub(crate) fn own_names(files: &dyn Files) -> BTreeSet<String> {
    let manifests = files.tree().entries.keys().filter(|path| path.name() == MANIFEST);
    let packages = manifests.filter_map(|path| Package::of(files, &path.parent()?));
    packages.filter_map(|package| package.name().map(str::to_owned)).collect()
}

/// What brings the packages of a project onto the machine, in the words of its own package manager.
pub(crate) fn install(files: &dyn Files, dir: &RelPath) -> &'static str {
    let has = |name: &str| {
        std::iter::once(dir.clone()).chain(dir.ancestors()).any(|dir| is_there(files, &dir, name))
    };
    const MANAGERS: [(&str, &str); 5] = [
        ("pnpm-lock.yaml", "`pnpm install --frozen-lockfile`"),
        ("yarn.lock", "`yarn install --immutable`"),
        ("bun.lock", "`bun install --frozen-lockfile`"),
        ("package-lock.json", "`npm ci`"),
        ("npm-shrinkwrap.json", "`npm ci`"),
    ];
    MANAGERS.iter().find(|(lock, _)| has(lock)).map_or("`npm install`", |(_, command)| command)
}

fn is_there(files: &dyn Files, dir: &RelPath, name: &str) -> bool {
    dir.join(name).is_ok_and(|path| files.tree().entries.contains_key(&path))
}
