//! Which folders go runs in: a workspace with its modules, or a module by itself.

use std::collections::{BTreeMap, BTreeSet};

use perspt_core::path::RelPath;
use perspt_core::reading::PluginName;
use perspt_core::stage::Root;

use super::manifest::Manifest;
use super::{NAME, is_test_source};
use crate::plugin::Files;

/// Whether go passes over a folder, and all below it, when it looks for packages.
fn is_passed_over(folder: &str) -> bool {
    folder == "testdata" || folder == "vendor" || folder.starts_with(['_', '.'])
}

/// Whether a file lies where go looks for packages.
pub(crate) fn is_seen(path: &RelPath) -> bool {
    let folders = path.parent().unwrap_or_else(RelPath::root);
    !folders.parts().any(is_passed_over)
}

/// Every root of a tree, in path order.
pub(crate) fn find(files: &dyn Files) -> Vec<Root> {
    let modules = folders_with(files, "go.mod");
    let workspaces: BTreeMap<RelPath, BTreeSet<RelPath>> = folders_with(files, "go.work")
        .into_iter()
        .map(|dir| {
            let used = used_by(files, &dir, &modules);
            (dir, used)
        })
        .filter(|(_, used)| !used.is_empty())
        .collect();
    let alone = |dir: &&RelPath| !workspaces.values().any(|used| used.contains(*dir));
    let own = modules.iter().filter(alone).map(|dir| (dir.clone(), BTreeSet::from([dir.clone()])));
    let mut all: BTreeMap<RelPath, BTreeSet<RelPath>> = own.collect();
    all.extend(workspaces.clone());
    all.into_iter().map(|(dir, own)| root(files, dir, &own, &modules)).collect()
}

fn root(files: &dyn Files, dir: RelPath, own: &BTreeSet<RelPath>, modules: &BTreeSet<RelPath>) -> Root {
    let sources: Vec<&RelPath> = sources(files, own, modules).collect();
    let has_tests = sources.iter().any(|path| is_test_source(path));
    // A package is a folder.
    let folders = sources.iter().filter_map(|path| path.parent());
    let packages: BTreeSet<RelPath> = folders.chain(own.iter().cloned()).collect();
    let packages = packages.into_iter().collect();
    Root { dir, plugin: PluginName(NAME.to_owned()), packages, has_tests }
}

/// The Go files of these modules.
fn sources<'f>(
    files: &'f dyn Files,
    own: &BTreeSet<RelPath>,
    modules: &BTreeSet<RelPath>,
) -> impl Iterator<Item = &'f RelPath> {
    let seen = files.tree().entries.keys().filter(|path| path.extension() == Some("go") && is_seen(path));
    seen.filter(move |path| {
        path.ancestors().find(|folder| modules.contains(folder)).is_some_and(|module| own.contains(&module))
    })
}

/// The Go files of a root that go looks at, by their places.
pub(crate) fn own_sources<'f>(files: &'f dyn Files, root: &Root) -> Vec<&'f RelPath> {
    sources(files, &modules(files, root), &folders_with(files, "go.mod")).collect()
}

/// The modules of a root.
pub(crate) fn modules(files: &dyn Files, root: &Root) -> BTreeSet<RelPath> {
    let all = folders_with(files, "go.mod");
    let used = used_by(files, &root.dir, &all);
    if used.is_empty() { BTreeSet::from([root.dir.clone()]) } else { used }
}

/// Whether a root is a workspace.
pub(crate) fn is_workspace(files: &dyn Files, root: &Root) -> bool {
    !used_by(files, &root.dir, &folders_with(files, "go.mod")).is_empty()
}

fn folders_with(files: &dyn Files, name: &str) -> BTreeSet<RelPath> {
    let manifests = files.tree().entries.keys().filter(|path| path.name() == name && is_seen(path));
    manifests.map(|path| path.parent().unwrap_or_else(RelPath::root)).collect()
}

fn used_by(files: &dyn Files, dir: &RelPath, modules: &BTreeSet<RelPath>) -> BTreeSet<RelPath> {
    let Some(work) = Manifest::of(files, dir, "go.work") else { return BTreeSet::new() };
    let folder = |used: &str| {
        let path = format!("{}/{used}", dir.as_str());
        let path = path.trim_start_matches('/');
        if path.trim_matches(['.', '/']).is_empty() {
            Some(RelPath::root())
        } else {
            RelPath::parse(path).ok()
        }
    };
    work.uses().filter_map(folder).filter(|path| modules.contains(path)).collect()
}

/// The paths of a root's modules, by which packages are imported.
pub(crate) fn module_paths(files: &dyn Files, root: &Root) -> Vec<String> {
    let manifests = modules(files, root).into_iter().filter_map(|dir| Manifest::of(files, &dir, "go.mod"));
    manifests.filter_map(|manifest| manifest.module().map(str::to_owned)).collect()
}
