//! Ids, goals and references.

use std::collections::{BTreeMap, BTreeSet};

use perspt_core::ids::NodeId;
use perspt_core::path::RelPath;

use super::Settling;
use crate::plan::graph::upstream;
use crate::plan::words::cut;

/// The most characters of an id, and of a goal.
const MAX_ID: usize = 64;
const MAX_GOAL: usize = 1000;

impl Settling<'_> {
    /// Ids become slugs, and references follow.
    pub(super) fn names(&mut self) {
        let mut names: BTreeMap<NodeId, NodeId> = BTreeMap::new();
        let mut seen = BTreeSet::new();
        for (at, node) in self.plan.nodes.iter_mut().enumerate() {
            let slug = Some(slug(node.id.as_str())).filter(|slug| !slug.is_empty());
            let slug = NodeId(slug.unwrap_or_else(|| format!("task-{}", at + 1)));
            let first = slug.clone();
            if slug != node.id {
                let id = cut(node.id.as_str(), MAX_ID);
                self.notes.push(format!("the task id `{id}` is written `{slug}`"));
            }
            let slug = free(slug, &seen);
            if slug != first {
                self.notes.push(format!("the task id `{first}` is used twice: the later one is `{slug}`"));
            }
            seen.insert(slug.clone());
            names.entry(std::mem::replace(&mut node.id, slug.clone())).or_insert(slug);
            if node.goal.chars().count() > MAX_GOAL {
                node.goal = cut(&node.goal, MAX_GOAL);
                self.notes.push(format!("task `{}`: its goal is cut after {MAX_GOAL} characters", node.id));
            }
        }
        for dependency in self.plan.nodes.iter_mut().flat_map(|node| &mut node.dependencies) {
            let slug = NodeId(slug(dependency.as_str()));
            if let Some(name) = names.get(dependency).or_else(|| seen.get(&slug)) {
                *dependency = name.clone();
            }
        }
    }

    /// Every dependency is a task of the plan; one that names a file means its owner. Edges are laid in the order of
    /// the plan, and one that would close a cycle is left out.
    pub(super) fn dependencies(&mut self) {
        let ids: Vec<NodeId> = self.plan.nodes.iter().map(|node| node.id.clone()).collect();
        let named: Vec<Vec<NodeId>> =
            self.plan.nodes.iter_mut().map(|node| std::mem::take(&mut node.dependencies)).collect();
        for ((at, id), named) in ids.iter().enumerate().zip(named) {
            for dependency in named {
                if dependency == *id {
                    self.notes.push(format!("task `{id}` waits for itself; that edge is left out"));
                } else if !ids.contains(&dependency) {
                    self.unknown(id, &dependency);
                } else if upstream(&self.plan, &dependency).contains(id) {
                    self.notes.push(format!(
                        "task `{id}` does not wait for `{dependency}`: `{dependency}` already waits for it"
                    ));
                } else if !self.plan.nodes[at].dependencies.contains(&dependency) {
                    self.plan.nodes[at].dependencies.push(dependency);
                }
            }
        }
    }

    fn unknown(&mut self, id: &NodeId, dependency: &NodeId) {
        let file = RelPath::parse(dependency.as_str()).ok();
        let owner = file.as_ref().and_then(|file| self.plan.owners().get(file).map(|id| (*id).clone()));
        let exists = |file: &RelPath| self.project.tree.entries.keys().any(|path| path.is_within(file));
        let shown = cut(dependency.as_str(), MAX_ID);
        match (file, owner) {
            (_, Some(owner)) if owner != *id => {
                self.notes.push(format!(
                    "task `{id}`: the dependency `{shown}` is a file; it waits for its owner `{owner}`"
                ));
                self.file_edges.push((id.clone(), owner));
            }
            (Some(file), owner) if owner.is_some() || exists(&file) => {
                self.notes.push(format!(
                    "task `{id}`: the dependency `{shown}` is a file, not a task; it is left out"
                ));
            }
            _ => {
                self.notes.push(format!(
                    "task `{id}`: the dependency `{shown}` is not in the plan; it is left out"
                ));
            }
        }
    }
}

/// This id, or the first free one with a number behind it.
fn free(id: NodeId, seen: &BTreeSet<NodeId>) -> NodeId {
    let numbered = |number: usize| NodeId(format!("{}-{number}", cut(id.as_str(), MAX_ID - 4)));
    let mut all = std::iter::once(id.clone()).chain((2..).map(numbered));
    all.find(|id| !seen.contains(id)).unwrap_or(id)
}

/// An id of lower-case letters, digits, `-`, `_` and `.`. It may be empty.
fn slug(id: &str) -> String {
    let mut out = String::new();
    for c in id.to_lowercase().chars() {
        if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') {
            out.push(c);
        } else if !out.ends_with('-') {
            out.push('-');
        }
    }
    let ends = ['-', '.'];
    cut(out.trim_matches(ends), MAX_ID).trim_end_matches(ends).to_owned()
}
