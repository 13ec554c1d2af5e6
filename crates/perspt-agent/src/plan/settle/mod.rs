//! A plan is corrected before any node is built. Faults that make it impossible to carry out go back to the architect,
//! one sentence each. Everything else is corrected, with a note.

mod edges;
mod finish;
mod names;
mod owners;

use perspt_core::event::{RepoMode, RootRef};
use perspt_core::ids::NodeId;
use perspt_core::path::RelPath;
use perspt_core::plan::{Plan, PlanNode, TaskType};
use perspt_core::stage::Root;
use perspt_core::tree::Tree;
use perspt_lang::plugin::Plugin;
use perspt_policy::path_rules::PathRules;

/// The most nodes a plan may have.
const MAX_NODES: usize = 40;

/// What is known of the project that a plan is made for.
pub struct ProjectFacts<'a> {
    /// The tree it starts from.
    pub tree: &'a Tree,
    /// Which paths may be written.
    pub path_rules: &'a PathRules<'a>,
    /// Whether the project is empty.
    pub repo_mode: RepoMode,
    /// The roots, with their packages.
    pub roots: &'a [Root],
    /// The plugins of those roots.
    pub plugins: &'a [&'a dyn Plugin],
}

impl ProjectFacts<'_> {
    /// Every root by reference.
    pub fn root_refs(&self) -> Vec<RootRef> {
        self.roots.iter().map(|root| RootRef { dir: root.dir.clone(), plugin: root.plugin.clone() }).collect()
    }

    fn is_test_file(&self, file: &RelPath) -> bool {
        self.plugins.iter().any(|plugin| plugin.is_test_file(file))
    }
}

/// A plan that can be carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settled {
    /// The plan: every file has one owner, and there are no cycles.
    pub plan: Plan,
    /// Corrections, a line each.
    pub notes: Vec<String>,
}

/// Corrects a plan, or says why it cannot be carried out.
pub fn settle(plan: Plan, project: &ProjectFacts<'_>) -> Result<Settled, Vec<String>> {
    let mut work = Settling { project, plan, notes: Vec::new(), faults: Vec::new(), file_edges: Vec::new() };
    work.names();
    work.files();
    work.declarations();
    work.commands();
    work.count();
    work.dependencies();
    if !work.faults.is_empty() {
        return Err(work.faults);
    }
    work.file_edges();
    work.owners();
    work.contexts();
    work.tests();
    work.classes();
    work.scopes();
    work.sizes();
    if work.faults.is_empty() { Ok(Settled { plan: work.plan, notes: work.notes }) } else { Err(work.faults) }
}

struct Settling<'a> {
    project: &'a ProjectFacts<'a>,
    plan: Plan,
    notes: Vec<String>,
    faults: Vec<String>,
    /// Tasks that named a file where a task was asked for, with its owner.
    file_edges: Vec<(NodeId, NodeId)>,
}

impl Settling<'_> {
    /// Checks that paths may be written, and leaves folders out.
    fn files(&mut self) {
        let named: Vec<RelPath> = self.plan.nodes.iter().flat_map(files_of).cloned().collect();
        let in_tree = |path: &RelPath| self.project.tree.entries.contains_key(path);
        let is_folder = |path: &RelPath| {
            let below = |other: &RelPath| other != path && other.is_within(path);
            !in_tree(path) && (named.iter().any(below) || self.project.tree.entries.keys().any(below))
        };
        for node in &mut self.plan.nodes {
            let id = &node.id;
            for file in files_of(node).filter(|file| is_folder(file)) {
                self.notes.push(format!("task `{id}`: `{file}` is a folder and is left out"));
            }
            node.output_files.retain(|file| !is_folder(file));
            node.modifies.retain(|file| !is_folder(file));
            node.changes_tests.retain(|declared| !is_folder(&declared.path));
            for file in node.output_files.iter().filter(|file| node.modifies.contains(file)) {
                self.notes
                    .push(format!("task `{id}`: `{file}` is its own file, so it is left out of modifies"));
            }
            node.modifies.retain(|file| !node.output_files.contains(file));
            for file in files_of(node) {
                if let Err(refusal) = self.project.path_rules.check(file.as_str()) {
                    let fault = format!("task `{id}`: {refusal}");
                    if !self.faults.contains(&fault) {
                        self.faults.push(fault);
                    }
                }
            }
        }
    }

    /// Leaves out declarations of files that neither exist, nor are made by the plan, nor are tests.
    fn declarations(&mut self) {
        let made: Vec<RelPath> =
            self.plan.nodes.iter().flat_map(|node| &node.output_files).cloned().collect();
        let is_file = |path: &RelPath| {
            self.project.tree.entries.contains_key(path)
                || made.contains(path)
                || self.project.is_test_file(path)
        };
        for node in &mut self.plan.nodes {
            for declared in node.changes_tests.iter().filter(|declared| !is_file(&declared.path)) {
                let (id, path) = (&node.id, &declared.path);
                self.notes
                    .push(format!("task `{id}`: `{path}` in changes_tests names no file; it is left out"));
            }
            node.changes_tests.retain(|declared| is_file(&declared.path));
        }
    }

    /// Leaves out tasks that only run commands. Their dependents wait for their dependencies instead.
    fn commands(&mut self) {
        let is_bare =
            |node: &PlanNode| node.task_type == TaskType::Command && files_of(node).next().is_none();
        while let Some(at) = self.plan.nodes.iter().position(is_bare) {
            let gone = self.plan.nodes.remove(at);
            self.notes.push(format!("task `{}` only runs commands and is left out: none are run", gone.id));
            for node in &mut self.plan.nodes {
                if node.dependencies.contains(&gone.id) {
                    node.dependencies.retain(|id| *id != gone.id);
                    let inherited = gone.dependencies.iter().filter(|id| **id != node.id);
                    node.dependencies.extend(inherited.cloned());
                }
            }
        }
    }

    fn count(&mut self) {
        match self.plan.nodes.len() {
            0 => self.faults.push("the plan is empty: give at least one task that writes files".to_owned()),
            nodes if nodes > MAX_NODES => {
                self.faults.push(format!("the plan has {nodes} tasks; {MAX_NODES} is the most"));
            }
            _ => {}
        }
    }

    fn in_tree(&self, path: &RelPath) -> bool {
        self.project.tree.entries.contains_key(path)
    }
}

/// Every file a task says it writes.
pub(super) fn files_of(node: &PlanNode) -> impl Iterator<Item = &RelPath> {
    let declared = node.changes_tests.iter().map(|declared| &declared.path);
    node.output_files.iter().chain(&node.modifies).chain(declared)
}
