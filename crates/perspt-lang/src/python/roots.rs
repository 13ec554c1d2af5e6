//! Which folders Python's tools run in, and from where their modules are imported.

use std::collections::BTreeSet;

use perspt_core::path::RelPath;
use perspt_core::reading::PluginName;
use perspt_core::stage::Root;

use super::settings::Settings;
use super::{NAME, is_manifest, package_dirs};
use crate::plugin::Files;
use crate::shared::file_names::is_data_of;

/// Folders whose manifests are data for tests or somebody else's, not projects of the workspace.
const NOT_PROJECTS: [&str; 7] =
    ["tests", "test", "fixtures", "testdata", "vendor", "node_modules", "site-packages"];

/// Folders no tool looks into.
const NEVER: [&str; 4] = [".git", "node_modules", "__pycache__", "site-packages"];

/// Every root of a tree: each folder with a manifest, and the workspace itself where Python files lie
/// outside all of them.
pub(crate) fn find(files: &dyn Files) -> Vec<Root> {
    let manifests = files.tree().entries.keys().filter(|path| is_manifest(path));
    let projects = manifests.filter(|path| !path.parts().any(|part| NOT_PROJECTS.contains(&part)));
    let mut dirs: BTreeSet<RelPath> = projects.filter_map(RelPath::parent).collect();
    let sources: Vec<&RelPath> = sources(files).collect();
    if sources.iter().any(|path| !dirs.iter().any(|dir| path.is_within(dir))) {
        dirs.insert(RelPath::root());
    }
    let all = dirs.clone();
    dirs.retain(|dir| !all.iter().any(|above| is_data_of(dir, above)));
    let root = |dir: &RelPath| {
        let settings = Settings::of(files, dir);
        let is_test = |path: &&RelPath| settings.names_tests(path) && nearest(&dirs, path) == Some(dir);
        Root {
            dir: dir.clone(),
            plugin: PluginName(NAME.to_owned()),
            packages: vec![dir.clone()],
            has_tests: sources.iter().any(is_test),
        }
    };
    dirs.iter().map(root).collect()
}

/// Python files that a tool could look at.
pub(crate) fn sources(files: &dyn Files) -> impl Iterator<Item = &RelPath> {
    let entries = &files.tree().entries;
    let environments: BTreeSet<RelPath> =
        entries.keys().filter(|path| path.name() == "pyvenv.cfg").filter_map(RelPath::parent).collect();
    entries
        .iter()
        .filter(|(_, entry)| entry.kind != perspt_core::tree::EntryKind::Symlink)
        .map(|(path, _)| path)
        .filter(|path| path.extension() == Some("py") && !path.parts().any(|part| NEVER.contains(&part)))
        .filter(move |path| !path.ancestors().any(|folder| environments.contains(&folder)))
}

/// The files of one root: below it and not below another root inside it.
pub(crate) fn own_sources(files: &dyn Files, root: &Root) -> Vec<RelPath> {
    let dirs: BTreeSet<RelPath> =
        find(files).into_iter().map(|root| root.dir).chain([root.dir.clone()]).collect();
    sources(files).filter(|path| nearest(&dirs, path) == Some(&root.dir)).cloned().collect()
}

fn nearest<'a>(dirs: &'a BTreeSet<RelPath>, path: &RelPath) -> Option<&'a RelPath> {
    dirs.iter().filter(|dir| path.is_within(dir)).max_by_key(|dir| dir.parts().count())
}

/// Roots inside this one, whose files are theirs.
pub(crate) fn inside(files: &dyn Files, root: &Root) -> Vec<RelPath> {
    let dirs = find(files).into_iter().map(|root| root.dir);
    dirs.filter(|dir| *dir != root.dir && dir.is_within(&root.dir)).collect()
}

/// Where a root's modules are imported from: its folder, `src`, and what its build settings name, where it exists.
pub(crate) fn import_roots(files: &dyn Files, root: &Root) -> Vec<RelPath> {
    let exists = |dir: &RelPath| files.tree().entries.keys().any(|path| path.is_within(dir));
    let src = root.dir.join("src").ok();
    let mut found = vec![root.dir.clone()];
    for dir in src.into_iter().chain(package_dirs::named(files, &root.dir)) {
        if !found.contains(&dir) && exists(&dir) {
            found.push(dir);
        }
    }
    found
}
