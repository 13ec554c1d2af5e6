//! New files that stand before a module of the project where tests import from: pytest puts the folder of a test file
//! before everything else on the path.

use std::collections::BTreeSet;

use perspt_core::path::RelPath;
use perspt_core::residual::Residual;
use perspt_core::stage::Root;

use super::{is_manifest, is_test_name, roots};
use crate::plugin::{Files, Touch};
use crate::shared::touch::evidence_changed;

/// The charges for new files that hide a module which is still there.
pub(crate) fn new_modules(touch: &Touch<'_>) -> Vec<Residual> {
    let mut residuals = Vec::new();
    let changes = touch.base.tree().changes_to(touch.candidate.tree());
    let new: Vec<&RelPath> =
        changes.iter().filter(|change| change.before.is_none()).map(|change| &change.path).collect();
    if !new.iter().any(|path| path.extension() == Some("py")) {
        return residuals;
    }
    for root in roots::find(touch.candidate) {
        let folders = on_the_path(touch.candidate, &root);
        for path in &new {
            let Some((folder, name)) = module(path).filter(|(folder, _)| folders.contains(folder)) else {
                continue;
            };
            let Some(hidden) = hidden(touch, &folders, (path, &folder, &name)) else { continue };
            residuals.extend(charge(touch, path, &hidden));
        }
    }
    residuals.dedup();
    residuals
}

fn charge(touch: &Touch<'_>, path: &RelPath, hidden: &RelPath) -> Option<Residual> {
    let what = format!("`{path}` stands before the project's own `{hidden}` where tests import from");
    // A path that ends another one would be read in that one too.
    let near = hidden.as_str().ends_with(path.as_str());
    let subject = if near { format!("./{path}") } else { path.to_string() };
    evidence_changed(touch, path, &[&subject], what)
}

/// The folder a file is imported from, and the module's name; `None` where it makes no module of the top.
fn module(path: &RelPath) -> Option<(RelPath, String)> {
    let folder = path.parent()?;
    let no_module = is_test_name(path) || is_manifest(path) || path.name() == "conftest.py";
    match path.name() {
        _ if path.extension() != Some("py") || no_module => None,
        "__main__.py" => None,
        "__init__.py" => Some((folder.parent()?, folder.name().to_owned())),
        name => Some((folder, name.strip_suffix(".py")?.to_owned())),
    }
}

/// The module of this name that was there before, still is, and is now behind the new one.
fn hidden(
    touch: &Touch<'_>,
    folders: &BTreeSet<RelPath>,
    new: (&RelPath, &RelPath, &str),
) -> Option<RelPath> {
    let (path, folder, name) = new;
    let there = |path: &RelPath| {
        touch.base.tree().entries.contains_key(path) && touch.candidate.tree().entries.contains_key(path)
    };
    // In one folder a package goes before a module, and never the other way round.
    let is_package = path.name() == "__init__.py";
    folders.iter().filter(|other| *other != folder || is_package).find_map(|other| {
        let file = other.join(&format!("{name}.py")).ok().filter(|file| there(file));
        let package = || {
            let package = other.join(name).ok().filter(|_| other != folder)?;
            let mut sources = touch.base.tree().entries.keys().filter(|path| path.extension() == Some("py"));
            sources.find(|path| path.is_within(&package) && there(path)).cloned()
        };
        file.or_else(package).filter(|found| found != path)
    })
}

/// Folders from which the tests of a root import: its own, `src`, and for every test file the first folder above it
/// that is no package.
fn on_the_path(files: &dyn Files, root: &Root) -> BTreeSet<RelPath> {
    let entries = &files.tree().entries;
    let is_package =
        |folder: &RelPath| folder.join("__init__.py").is_ok_and(|init| entries.contains_key(&init));
    let inside = roots::inside(files, root);
    let own = |path: &RelPath| path.is_within(&root.dir) && !inside.iter().any(|other| path.is_within(other));
    let loaded = |path: &&RelPath| is_test_name(path) || path.name() == "conftest.py";
    let of_tests = entries.keys().filter(loaded);
    let bases = of_tests.filter_map(|path| path.ancestors().find(|folder| !is_package(folder)));
    bases.filter(own).chain([root.dir.clone()]).chain(root.dir.join("src").ok()).collect()
}
