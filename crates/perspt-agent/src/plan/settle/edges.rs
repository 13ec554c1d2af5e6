//! Adding edges that the plan lacks.

use perspt_core::ids::NodeId;
use perspt_core::path::RelPath;
use perspt_core::plan::PlanNode;

use super::{Settling, files_of};
use crate::plan::graph::upstream;
use crate::plan::roots::roots_of;

/// The most context files of a node.
const MAX_CONTEXT: usize = 20;

/// What became of an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Link {
    /// It was there, directly or through other tasks.
    Had,
    /// It is new.
    Made,
    /// It would close a cycle.
    Cycle,
}

impl Settling<'_> {
    /// Makes a task wait for another one, unless that closes a cycle.
    pub(super) fn link(&mut self, from: usize, to: &NodeId) -> Link {
        let id = self.plan.nodes[from].id.clone();
        if id == *to || upstream(&self.plan, &id).contains(to) {
            return Link::Had;
        }
        if upstream(&self.plan, to).contains(&id) {
            return Link::Cycle;
        }
        self.plan.nodes[from].dependencies.push(to.clone());
        Link::Made
    }

    /// The same, with a note; `why` says how the two are related.
    pub(super) fn link_for(&mut self, from: usize, to: &NodeId, why: &str) -> Link {
        let linked = self.link(from, to);
        let id = &self.plan.nodes[from].id;
        match linked {
            Link::Had => {}
            Link::Made => self.notes.push(format!("task `{id}` waits for `{to}`: {why}")),
            Link::Cycle => self.notes.push(format!(
                "task `{id}` does not wait for `{to}`, though {why}: `{to}` already waits for it"
            )),
        }
        linked
    }

    /// Edges of dependencies that were files.
    pub(super) fn file_edges(&mut self) {
        for (from, to) in std::mem::take(&mut self.file_edges) {
            let at = self.plan.nodes.iter().position(|node| node.id == from);
            if let Some(at) = at
                && self.link(at, &to) == Link::Cycle
            {
                self.notes
                    .push(format!("task `{from}` does not wait for `{to}`: `{to}` already waits for it"));
            }
        }
    }

    /// A file that another task makes is read after it; one that nobody has is not read.
    pub(super) fn contexts(&mut self) {
        for at in 0..self.plan.nodes.len() {
            let id = self.plan.nodes[at].id.clone();
            let mut kept = Vec::new();
            for file in std::mem::take(&mut self.plan.nodes[at].context_files) {
                let owner = self.plan.owners().get(&file).map(|owner| (*owner).clone());
                let linked = owner
                    .as_ref()
                    .filter(|owner| **owner != id)
                    .map(|owner| self.link_for(at, owner, &format!("it reads `{file}`")));
                let comes = owner.is_some() && linked != Some(Link::Cycle);
                if comes || self.in_tree(&file) {
                    kept.push(file);
                } else if owner.is_none() {
                    self.notes.push(format!(
                        "task `{id}`: the context file `{file}` does not exist and is left out"
                    ));
                }
            }
            if kept.len() > MAX_CONTEXT {
                self.notes
                    .push(format!("task `{id}`: of {} context files {MAX_CONTEXT} are kept", kept.len()));
                kept.truncate(MAX_CONTEXT);
            }
            self.plan.nodes[at].context_files = kept;
        }
    }

    /// A task of tests alone waits for the tasks before it that write code of the same root.
    pub(super) fn tests(&mut self) {
        for at in 0..self.plan.nodes.len() {
            let node = &self.plan.nodes[at];
            if node.output_files.is_empty() || !files_of(node).all(|file| self.project.is_test_file(file)) {
                continue;
            }
            let tested: Vec<NodeId> = self.plan.nodes[..at]
                .iter()
                .filter(|other| self.writes_code_beside(other, node))
                .map(|other| other.id.clone())
                .collect();
            let made: Vec<String> = tested
                .iter()
                .filter(|other| self.link(at, other) == Link::Made)
                .map(|other| format!("`{other}`"))
                .collect();
            if !made.is_empty() {
                let id = &self.plan.nodes[at].id;
                self.notes.push(format!(
                    "task `{id}` waits for {}: it tests what comes before it",
                    made.join(", ")
                ));
            }
        }
    }

    fn writes_code_beside(&self, node: &PlanNode, tests: &PlanNode) -> bool {
        let roots = self.project.root_refs();
        let of = |files: &mut dyn Iterator<Item = &RelPath>| roots_of(files, &roots, self.project.plugins);
        let tested = of(&mut tests.output_files.iter());
        let is_code = |file: &&RelPath| {
            !self.project.is_test_file(file)
                && self.project.plugins.iter().any(|plugin| plugin.is_source(file))
        };
        node.output_files.iter().chain(&node.modifies).filter(is_code).any(|file| {
            let own = of(&mut std::iter::once(file));
            own.is_empty() || own.iter().any(|root| tested.contains(root))
        })
    }
}
