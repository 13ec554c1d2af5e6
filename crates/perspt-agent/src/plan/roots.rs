//! Which language roots a set of files is verified in.

use perspt_core::event::{RepoMode, RootRef};
use perspt_core::hash::Sha;
use perspt_core::path::RelPath;
use perspt_core::plan::{Plan, PlanNode};
use perspt_core::tree::{Entry, EntryKind, Tree};
use perspt_lang::plugin::{Files, Plugin};

use super::settle::{ProjectFacts, files_of};

/// A node with the roots it is verified in; none where no language knows the folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootedNode {
    /// The node.
    pub node: PlanNode,
    /// Its roots.
    pub roots: Vec<RootRef>,
}

/// The nodes of a plan, each with the roots of its files; a node that lists none has all of them.
pub fn assign_roots(plan: Plan, project: &ProjectFacts<'_>) -> Vec<RootedNode> {
    let roots = used_roots(&plan, project);
    let placed = plan.nodes.into_iter().map(|node| {
        let roots = roots_of(files_of(&node), &roots, project.plugins);
        RootedNode { node, roots }
    });
    placed.collect()
}

/// The roots in which changes of these files are verified, those that they make included.
pub fn roots_of_files(paths: &[RelPath], project: &ProjectFacts<'_>) -> Vec<RootRef> {
    let node = PlanNode::plain("task", paths.to_vec());
    let placed = assign_roots(Plan { nodes: vec![node] }, project);
    placed.into_iter().flat_map(|one| one.roots).collect()
}

/// The roots that the tree has, and those that the plan makes. In an empty folder, a language that the task names counts
/// only if the plan has a file of it.
fn used_roots(plan: &Plan, project: &ProjectFacts<'_>) -> Vec<RootRef> {
    let all = project.root_refs();
    let open = plan.nodes.iter().any(|node| node.scope.is_open());
    let made = |root: &RootRef| {
        let mut files = plan.nodes.iter().flat_map(files_of);
        files.any(|file| file.is_within(&root.dir) && is_of(file, root, project.plugins))
    };
    let kept = |root: &RootRef| project.repo_mode == RepoMode::Existing || open || made(root);
    let mut used: Vec<RootRef> = all.into_iter().filter(kept).collect();
    let new = new_roots(plan, project, &used);
    used.extend(new);
    used
}

/// Roots of the tree as it will be, outside those that are known.
fn new_roots(plan: &Plan, project: &ProjectFacts<'_>, known: &[RootRef]) -> Vec<RootRef> {
    let mut tree = project.tree.clone();
    let nothing = Entry { kind: EntryKind::File, hash: Sha::of(b""), size: 0 };
    let planned: Vec<&RelPath> = plan.nodes.iter().flat_map(files_of).collect();
    tree.entries.extend(planned.iter().map(|path| ((*path).clone(), nothing)));
    let files = Unwritten(tree);
    let found = project.plugins.iter().flat_map(|plugin| plugin.roots(&files));
    let refs = found.map(|root| RootRef { dir: root.dir, plugin: root.plugin });
    let is_known = |root: &RootRef| {
        known.iter().any(|known| known.plugin == root.plugin && root.dir.is_within(&known.dir))
    };
    let is_planned = |root: &RootRef| {
        planned.iter().any(|file| file.is_within(&root.dir) && is_of(file, root, project.plugins))
    };
    refs.filter(|root| !is_known(root) && is_planned(root)).collect()
}

/// The files of a tree that is only planned: their texts are not known.
struct Unwritten(Tree);

impl Files for Unwritten {
    fn tree(&self) -> &Tree {
        &self.0
    }

    fn text(&self, _: &RelPath) -> Option<String> {
        None
    }
}

/// The roots of some files: for each file the deepest root that holds it, by the plugin that knows the
/// file where several plugins share a folder. Files in no root are verified by every root.
pub fn roots_of<'a>(
    files: impl IntoIterator<Item = &'a RelPath>,
    roots: &[RootRef],
    plugins: &[&dyn Plugin],
) -> Vec<RootRef> {
    let mut found: Vec<RootRef> = Vec::new();
    for file in files {
        for root in roots_of_file(file, roots, plugins) {
            if !found.contains(&root) {
                found.push(root);
            }
        }
    }
    if found.is_empty() { roots.to_vec() } else { found }
}

fn roots_of_file(file: &RelPath, roots: &[RootRef], plugins: &[&dyn Plugin]) -> Vec<RootRef> {
    let holding: Vec<&RootRef> = roots.iter().filter(|root| file.is_within(&root.dir)).collect();
    let knowing: Vec<&RootRef> = holding.iter().filter(|root| is_of(file, root, plugins)).copied().collect();
    let candidates = if knowing.is_empty() { holding } else { knowing };
    let depth = candidates.iter().map(|root| root.dir.parts().count()).max().unwrap_or(0);
    candidates.into_iter().filter(|root| root.dir.parts().count() == depth).cloned().collect()
}

/// Whether a root's language knows a file.
fn is_of(file: &RelPath, root: &RootRef, plugins: &[&dyn Plugin]) -> bool {
    plugins.iter().filter(|plugin| plugin.name() == root.plugin.0).any(|plugin| {
        plugin.is_source(file)
            || plugin.is_manifest(file)
            || plugin.is_test_file(file)
            || plugin.is_support_file(file)
            || plugin.is_lockfile(file)
    })
}
