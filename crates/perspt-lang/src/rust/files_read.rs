//! Which files cargo and the tests really read: from the dep-info files that the compiler leaves, joined over the path
//! dependencies between packages, for a test's own file names nothing of the crates it uses.

use std::collections::{BTreeMap, BTreeSet};

use perspt_core::path::RelPath;
use perspt_core::stage::StepOutput;
use serde_json::Value;

use super::manifest;
use super::messages::Artifact;
use crate::plugin::ReadContext;
use crate::shared::report::{self, in_tree};
use crate::shared::toml::at;

/// Every file of the tree that something was compiled from, with the manifests and lock files that cargo read.
pub(crate) fn compiled(
    artifacts: &[Artifact],
    output: &StepOutput,
    context: &ReadContext<'_>,
) -> BTreeSet<RelPath> {
    let built = artifacts.iter().filter(|artifact| artifact.package(context).is_some());
    let mut looked: BTreeSet<RelPath> =
        built.flat_map(|artifact| sources(artifact, output, context)).collect();
    looked.extend(manifests(context));
    looked
}

/// The files that were loaded by test programs in which a test passed. `passed` says so of a program by its file name,
/// and of a library's documentation by the crate's name.
pub(crate) fn loaded(
    artifacts: &[Artifact],
    output: &StepOutput,
    context: &ReadContext<'_>,
    passed: &BTreeSet<String>,
) -> BTreeSet<RelPath> {
    let mut libraries: BTreeMap<RelPath, BTreeSet<RelPath>> = BTreeMap::new();
    for artifact in artifacts.iter().filter(|artifact| artifact.is_library() && !artifact.profile.test) {
        let Some(package) = artifact.package(context) else { continue };
        libraries.entry(package).or_default().extend(sources(artifact, output, context));
    }
    let mut looked = BTreeSet::new();
    for artifact in artifacts {
        let Some(package) = artifact.package(context) else { continue };
        let program = artifact.executable.as_ref().and_then(|path| path.rsplit('/').next());
        let tested = artifact.profile.test && program.is_some_and(|program| passed.contains(program));
        let documented = artifact.is_library() && passed.contains(&artifact.target.name.replace('-', "_"));
        if !tested && !documented {
            continue;
        }
        looked.extend(sources(artifact, output, context));
        let linked = reachable(&package, context);
        looked.extend(linked.iter().filter_map(|package| libraries.get(package)).flatten().cloned());
    }
    if !looked.is_empty() {
        looked.extend(manifests(context));
    }
    looked
}

/// The packages of the tree that a package's tests are linked with, itself included.
fn reachable(package: &RelPath, context: &ReadContext<'_>) -> BTreeSet<RelPath> {
    let workspace = manifest::of(context.files, &context.root.dir).unwrap_or_default();
    let mut found = BTreeSet::new();
    let mut open = vec![package.clone()];
    while let Some(package) = open.pop() {
        if !found.insert(package.clone()) {
            continue;
        }
        let Some(manifest) = manifest::of(context.files, &package) else { continue };
        open.extend(manifest::path_dependencies(&manifest, &package));
        let inherited = manifest::dependencies(&manifest)
            .filter(|(_, dependency)| dependency.get("workspace") == Some(&Value::Bool(true)));
        let paths = inherited.filter_map(|(name, _)| {
            let path = at(&workspace, &["workspace", "dependencies", name, "path"])?.as_str()?;
            RelPath::parse(format!("{}/{path}", context.root.dir.as_str()).trim_start_matches('/')).ok()
        });
        open.extend(paths);
    }
    found
}

fn manifests(context: &ReadContext<'_>) -> impl Iterator<Item = RelPath> {
    let folders = context.root.packages.iter().chain([&context.root.dir]);
    let paths = folders.flat_map(|dir| ["Cargo.toml", "Cargo.lock"].map(|name| dir.join(name).ok()));
    paths.flatten().filter(|path| context.files.tree().entries.contains_key(path))
}

/// What an artifact was compiled from.
fn sources(artifact: &Artifact, output: &StepOutput, context: &ReadContext<'_>) -> BTreeSet<RelPath> {
    let mut found: BTreeSet<RelPath> = in_tree(context, &artifact.target.src_path).into_iter().collect();
    let Some(name) = artifact.dep_info() else { return found };
    let report = output.reports.get(&name).or_else(|| output.reports.get(&format!("{{build}}/{name}")));
    let text = report.map(|bytes| report::text(bytes)).unwrap_or_default();
    found.extend(prerequisites(&text).iter().filter_map(|path| in_tree(context, path)));
    found
}

/// The files on the right of the rules of a dep-info text; spaces in names are escaped.
fn prerequisites(text: &str) -> Vec<String> {
    let mut paths = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let Some((_, right)) = line.split_once(": ") else { continue };
        let mut path = String::new();
        let mut chars = right.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '\\' if chars.peek().is_some_and(|next| *next == ' ' || *next == '\\') => {
                    path.extend(chars.next())
                }
                ' ' => paths.push(std::mem::take(&mut path)),
                c => path.push(c),
            }
        }
        paths.push(path);
    }
    paths.retain(|path| !path.is_empty());
    paths
}
