//! Which folders cargo runs in, and which packages each of them holds.

use std::collections::{BTreeMap, BTreeSet};

use perspt_core::path::RelPath;
use perspt_core::reading::PluginName;
use perspt_core::stage::Root;
use serde_json::{Value, json};

use super::layout::RUST;
use super::{NAME, manifest};
use crate::plugin::Files;
use crate::shared::file_names::is_data_of;
use crate::shared::toml::{self, texts};
use crate::syntax::parse;

/// Folders whose manifests are data for tests or somebody else's, not projects of the workspace.
const NOT_PROJECTS: [&str; 6] = ["tests", "fixtures", "testdata", "target", "vendor", "node_modules"];

/// Every root of a tree, in path order.
pub(crate) fn find(files: &dyn Files) -> Vec<Root> {
    let manifests = manifests(files);
    let workspaces: BTreeMap<&RelPath, BTreeSet<RelPath>> = manifests
        .iter()
        .filter(|(_, manifest)| manifest::is_workspace(manifest))
        .map(|(dir, manifest)| (dir, members(dir, manifest, &manifests)))
        .collect();
    let mut roots = Vec::new();
    // A member may lie where it likes; what nobody names is data for the tests of the project above it.
    let is_data = |dir: &RelPath| manifests.keys().any(|above| is_data_of(dir, above));
    for (dir, own) in &manifests {
        let packages: Vec<RelPath> = match workspaces.get(dir) {
            Some(_) if is_data(dir) => continue,
            Some(members) => members.iter().cloned().collect(),
            None if workspaces.values().any(|members| members.contains(dir)) => continue,
            None if is_data(dir) => continue,
            None if manifest::is_package(own) => vec![dir.clone()],
            None => continue,
        };
        let has_tests = has_tests(files, &packages, &manifests);
        roots.push(Root { dir: dir.clone(), plugin: PluginName(NAME.to_owned()), packages, has_tests });
    }
    roots
}

/// The root a file belongs to: the nearest one above it.
pub(crate) fn of<'a>(roots: &'a [Root], file: &RelPath) -> Option<&'a Root> {
    let above = roots.iter().filter(|root| file.is_within(&root.dir));
    above.max_by_key(|root| root.dir.parts().count())
}

fn manifests(files: &dyn Files) -> BTreeMap<RelPath, Value> {
    let paths = files.tree().entries.keys().filter(|path| path.name() == "Cargo.toml");
    let projects = paths.filter(|path| !path.parts().any(|part| NOT_PROJECTS.contains(&part)));
    projects
        .filter_map(|path| {
            let dir = path.parent()?;
            // One that does not parse still makes a root: cargo is to say what is wrong with it.
            let manifest = manifest::of(files, &dir).unwrap_or_else(|| json!({ "package": {} }));
            Some((dir, manifest))
        })
        .collect()
}

/// The packages of a workspace: its own, those its patterns name, and path dependencies below its folder.
fn members(dir: &RelPath, workspace: &Value, manifests: &BTreeMap<RelPath, Value>) -> BTreeSet<RelPath> {
    let excluded = texts(workspace, &["workspace", "exclude"]);
    let is_excluded = |package: &RelPath| {
        excluded.iter().any(|path| dir.join(path).is_ok_and(|excluded| package.is_within(&excluded)))
    };
    let patterns = manifest::members(workspace);
    let named = |package: &RelPath| {
        package == dir
            || package
                .below(dir)
                .is_some_and(|below| patterns.iter().any(|pattern| manifest::matches(pattern, below)))
    };
    let packages = manifests.iter().filter(|(_, manifest)| manifest::is_package(manifest));
    let mut open: Vec<RelPath> =
        packages.map(|(package, _)| package).filter(|package| named(package)).cloned().collect();
    let mut members = BTreeSet::new();
    while let Some(package) = open.pop() {
        let Some(manifest) = manifests.get(&package) else { continue };
        let own_workspace = package != *dir && manifest::is_workspace(manifest);
        let by_name = named(&package);
        if !package.is_within(dir) || own_workspace || (!by_name && is_excluded(&package)) {
            continue;
        }
        if members.insert(package.clone()) {
            open.extend(manifest::path_dependencies(manifest, &package));
        }
    }
    members
}

/// Whether any test is to be seen: a file below `tests/`, or a test item in a source.
fn has_tests(files: &dyn Files, packages: &[RelPath], manifests: &BTreeMap<RelPath, Value>) -> bool {
    let sources = files.tree().entries.keys().filter(|path| path.extension() == Some("rs"));
    let nearest = |path: &RelPath| path.ancestors().find(|folder| manifests.contains_key(folder));
    let mut own = sources.filter(|path| nearest(path).is_some_and(|folder| packages.contains(&folder)));
    own.any(|path| {
        super::is_test_source(path)
            || files
                .text(path)
                .is_some_and(|text| text.contains("test") && parse(&RUST, &text).tests().next().is_some())
    })
}

/// Whether the manifest of a folder further up makes a folder a member of its workspace.
pub(crate) fn is_member(own: &str, above: &str, below: &RelPath) -> bool {
    let (Some(own), Some(above)) = (toml::parse(own), toml::parse(above)) else { return false };
    let excluded = toml::texts(&above, &["workspace", "exclude"]);
    let is_excluded = |path: &str| RelPath::parse(path).is_ok_and(|path| below.is_within(&path));
    own.get("workspace").is_none()
        && above.get("workspace").is_some()
        && !excluded.into_iter().any(is_excluded)
}
