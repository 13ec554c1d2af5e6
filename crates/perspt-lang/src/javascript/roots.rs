//! Which folders JavaScript's tools run in, and whose a file is.

use std::collections::BTreeSet;

use perspt_core::grade::FileKind;
use perspt_core::path::RelPath;
use perspt_core::reading::PluginName;
use perspt_core::stage::Root;
use perspt_core::tree::EntryKind;

use super::manifest::{self, MANIFEST};
use super::{NAME, is_source, is_test_name, is_test_source};
use crate::plugin::Files;
use crate::shared::file_names::is_data_of;

/// Folders whose manifests are data for tests or somebody else's, not projects of the workspace.
const NOT_PROJECTS: [&str; 7] =
    ["tests", "test", "__tests__", "fixtures", "testdata", "vendor", "node_modules"];

/// Every root of a tree: each folder with a manifest that no workspace above it takes in, and the workspace's own
/// folder where there is JavaScript without any manifest.
pub(crate) fn find(files: &dyn Files) -> Vec<Root> {
    let manifests = files.tree().entries.keys().filter(|path| path.name() == MANIFEST);
    let projects = manifests.filter(|path| !path.parts().any(|part| NOT_PROJECTS.contains(&part)));
    let projects = projects.filter_map(RelPath::parent).filter(|dir| manifest::is_project(files, dir));
    let packages: BTreeSet<RelPath> = projects.collect();
    let packages: BTreeSet<RelPath> =
        packages.iter().filter(|dir| !packages.iter().any(|above| is_data_of(dir, above))).cloned().collect();
    let mut dirs: BTreeSet<RelPath> =
        packages.iter().filter(|dir| workspace_of(files, &packages, dir).is_none()).cloned().collect();
    let sources: Vec<&RelPath> = sources(files).collect();
    let loose: Vec<&&RelPath> =
        sources.iter().filter(|path| !dirs.iter().any(|dir| path.is_within(dir))).collect();
    if loose.iter().any(|path| is_test_name(path)) || (!loose.is_empty() && has_no_other_code(files)) {
        dirs.insert(RelPath::root());
    }
    let root = |dir: &RelPath| {
        let mut members: Vec<RelPath> = packages
            .iter()
            .filter(|package| workspace_of(files, &packages, package).as_ref() == Some(dir))
            .cloned()
            .collect();
        members.insert(0, dir.clone());
        Root {
            dir: dir.clone(),
            plugin: PluginName(NAME.to_owned()),
            packages: members,
            has_tests: sources.iter().any(|path| is_test_source(path) && nearest(&dirs, path) == Some(dir)),
        }
    };
    dirs.iter().map(root).collect()
}

/// The folder of the workspace that takes a package in.
fn workspace_of(files: &dyn Files, packages: &BTreeSet<RelPath>, package: &RelPath) -> Option<RelPath> {
    let above = packages.iter().filter(|above| *above != package && package.is_within(above));
    let takes = |above: &&RelPath| {
        let below = package.below(above).unwrap_or_default();
        manifest::takes_in(&manifest::workspaces(files, above), below)
    };
    above.into_iter().find(takes).cloned()
}

/// Whether all code of a tree is JavaScript: in another language's project, a script or two make no project of their own.
fn has_no_other_code(files: &dyn Files) -> bool {
    let code = files.tree().entries.keys().filter(|path| FileKind::of(path) == FileKind::Code);
    code.into_iter().all(|path| is_source(path) || path.name().starts_with('.'))
}

/// JavaScript files that a tool could look at.
pub(crate) fn sources(files: &dyn Files) -> impl Iterator<Item = &RelPath> {
    let entries = files.tree().entries.iter().filter(|(_, entry)| entry.kind != EntryKind::Symlink);
    let paths = entries.map(|(path, _)| path).filter(|path| is_source(path));
    paths.filter(|path| !path.parts().any(|part| part == "node_modules"))
}

/// The files of one root: below it and not below another root inside it.
pub(crate) fn own_sources(files: &dyn Files, root: &Root) -> Vec<RelPath> {
    let dirs: BTreeSet<RelPath> =
        find(files).into_iter().map(|root| root.dir).chain([root.dir.clone()]).collect();
    sources(files).filter(|path| nearest(&dirs, path) == Some(&root.dir)).cloned().collect()
}

/// The innermost of these folders that a file lies in.
pub(crate) fn nearest<'a>(
    dirs: impl IntoIterator<Item = &'a RelPath>,
    path: &RelPath,
) -> Option<&'a RelPath> {
    let around = dirs.into_iter().filter(|dir| path.is_within(dir));
    around.max_by_key(|dir| dir.parts().filter(|part| !part.is_empty()).count())
}

/// Roots inside this one, whose files are theirs.
pub(crate) fn inside(files: &dyn Files, root: &Root) -> Vec<RelPath> {
    let dirs = find(files).into_iter().map(|root| root.dir);
    dirs.filter(|dir| *dir != root.dir && dir.is_within(&root.dir)).collect()
}
