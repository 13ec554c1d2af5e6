//! Which files a file leads to by its imports, and whose a module is that cannot be found.

use std::collections::{BTreeMap, BTreeSet};

use perspt_core::path::RelPath;
use perspt_core::residual::{Class, Component};

use super::layout::TSX;
use super::manifest::{self, MANIFEST, Package};
use crate::plugin::Files;
use crate::syntax::parse;

/// What may be left out at the end of a path, in the order that tools try it.
const ENDINGS: [&str; 16] = [
    "",
    ".ts",
    ".tsx",
    ".js",
    ".jsx",
    ".mjs",
    ".cjs",
    ".mts",
    ".cts",
    ".json",
    "/index.ts",
    "/index.tsx",
    "/index.js",
    "/index.jsx",
    "/index.mjs",
    "/index.cjs",
];

/// What files of a tree lead to, each file read once.
pub(crate) struct Graph<'a> {
    files: &'a dyn Files,
    packages: BTreeMap<String, Package>,
    known: BTreeMap<RelPath, BTreeSet<RelPath>>,
}

impl<'a> Graph<'a> {
    /// Of a tree.
    pub(crate) fn of(files: &'a dyn Files) -> Graph<'a> {
        let manifests = files.tree().entries.keys().filter(|path| path.name() == MANIFEST);
        let packages = manifests.filter_map(|path| Package::of(files, &path.parent()?));
        let named = packages.filter_map(|package| Some((package.name()?.to_owned(), package)));
        Graph { files, packages: named.collect(), known: BTreeMap::new() }
    }

    /// The files that one leads to, itself among them.
    pub(crate) fn reached(&mut self, start: &RelPath) -> BTreeSet<RelPath> {
        let (mut found, mut open) = (BTreeSet::new(), vec![start.clone()]);
        while let Some(path) = open.pop() {
            if found.insert(path.clone()) {
                open.extend(self.imported(&path).iter().cloned());
            }
        }
        found
    }

    fn imported(&mut self, path: &RelPath) -> &BTreeSet<RelPath> {
        if !self.known.contains_key(path) {
            let text = self.files.text(path).filter(|_| super::is_source(path)).unwrap_or_default();
            let loads = parse(&TSX, &text).loads;
            let files = loads.iter().filter_map(|spot| self.resolve(&spot.text, path)).collect();
            self.known.insert(path.clone(), files);
        }
        self.known.entry(path.clone()).or_default()
    }

    /// The file of the tree that an import names.
    fn resolve(&self, module: &str, from: &RelPath) -> Option<RelPath> {
        if module.starts_with('.') {
            return self.there(&format!("{}/{module}", from.parent()?));
        }
        let parts = if module.starts_with('@') { 2 } else { 1 };
        let end = module.match_indices('/').nth(parts - 1).map_or(module.len(), |(at, _)| at);
        let package = self.packages.get(&module[..end])?;
        let dir = package.dir.as_str();
        match module[end..].trim_start_matches('/') {
            "" => {
                let entry = package.entry().and_then(|entry| self.there(&format!("{dir}/{entry}")));
                entry.or_else(|| {
                    ["", "/src"].iter().find_map(|folder| self.there(&format!("{dir}{folder}/index")))
                })
            }
            below => ["", "src/"].iter().find_map(|folder| self.there(&format!("{dir}/{folder}{below}"))),
        }
    }

    /// The file at a path, which may lack its ending, or have that of what it is compiled to.
    fn there(&self, path: &str) -> Option<RelPath> {
        let compiled =
            [(".js", ".ts"), (".js", ".tsx"), (".mjs", ".mts"), (".cjs", ".cts"), (".jsx", ".tsx")];
        let other = compiled.iter().filter_map(|(js, ts)| Some(format!("{}{ts}", path.strip_suffix(js)?)));
        let endings = ENDINGS.iter().map(|ending| format!("{path}{ending}"));
        let mut paths = endings.chain(other).filter_map(|path| normal(&path));
        paths.find(|path| self.files.tree().entries.contains_key(path))
    }
}

/// A path without `.` and `..`; `None` where it leads out of the workspace.
fn normal(path: &str) -> Option<RelPath> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    RelPath::parse(&parts.join("/")).ok()
}

/// What it means that a module cannot be found: a file or a package of the tree is the tree's own doing, any other package
/// is not installed.
pub(crate) fn class_of(module: &str, files: &dyn Files) -> (Component, Class) {
    let is_path = module.starts_with(['.', '/', '#']) || module.contains("://");
    let own = || manifest::own_names(files).iter().any(|name| is_of(module, name));
    if is_path || own() {
        (Component::Syn, Class::ImportError)
    } else {
        (Component::Boot, Class::ModuleMissing)
    }
}

/// The same for a file that Node could not load. By its name alone Node says only of a package that it found no folder of
/// it: packages of a workspace get theirs as a link, where the project's packages are installed.
pub(crate) fn class_at_load(
    module: &str,
    message: &str,
    test: Option<&RelPath>,
    files: &dyn Files,
) -> (Component, Class) {
    let is_unlinked = message.contains(&format!("Cannot find package '{module}'"));
    let own = test.and_then(|path| manifest::nearest(files, path));
    let is_itself = own.is_some_and(|own| own.name().is_some_and(|name| is_of(module, name)));
    match class_of(module, files) {
        (Component::Syn, Class::ImportError)
            if is_unlinked && !is_itself && !module.starts_with(['.', '/', '#']) =>
        {
            (Component::Boot, Class::ModuleMissing)
        }
        known => known,
    }
}

/// Whether a module belongs to a package.
fn is_of(module: &str, package: &str) -> bool {
    module.strip_prefix(package).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The module that a message says cannot be found.
pub(crate) fn missing_in(message: &str) -> Option<&str> {
    const SAYS: [&str; 7] = [
        "Cannot find module '",
        "Cannot find package '",
        "Failed to resolve import \"",
        "Failed to load url ",
        "Could not resolve \"",
        "Cannot find module \"",
        "Failed to resolve entry for package \"",
    ];
    let after = SAYS.iter().find_map(|says| Some(message.split_once(says)?.1))?;
    after.split(['\'', '"', ' ', '\n']).next().filter(|module| !module.is_empty())
}
