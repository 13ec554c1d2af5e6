//! Ids, goals and references.

use std::collections::{BTreeMap, BTreeSet};

use perspt_core::ids::NodeId;
use perspt_core::path::RelPath;

use super::Settling;
use crate::plan::graph::cycle;
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
            if slug != node.id {
                let id = cut(node.id.as_str(), MAX_ID);
                self.notes.push(format!("the task id `{id}` is written `{slug}`"));
            }
            if !seen.insert(slug.clone()) {
                self.faults.push(format!("task id `{slug}` is used twice: give each task its own"));
            }
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

    /// Every dependency is a task of the plan; one that names a file means its owner. No cycle is left.
    pub(super) fn dependencies(&mut self) {
        let ids: Vec<NodeId> = self.plan.nodes.iter().map(|node| node.id.clone()).collect();
        for (at, id) in ids.iter().enumerate() {
            let mut kept: Vec<NodeId> = Vec::new();
            for dependency in std::mem::take(&mut self.plan.nodes[at].dependencies) {
                if dependency == *id {
                    self.notes.push(format!("task `{id}` waits for itself; that edge is left out"));
                } else if !ids.contains(&dependency) {
                    self.unknown(id, &dependency, &ids);
                } else if !kept.contains(&dependency) {
                    kept.push(dependency);
                }
            }
            self.plan.nodes[at].dependencies = kept;
        }
        if let Some(cycle) = cycle(&self.plan) {
            let path: Vec<&str> = cycle.iter().map(|id| id.as_str()).collect();
            self.faults
                .push(format!("the dependencies form a cycle: {}; take one of them out", path.join(" -> ")));
        }
    }

    fn unknown(&mut self, id: &NodeId, dependency: &NodeId, ids: &[NodeId]) {
        let file = RelPath::parse(dependency.as_str()).ok();
        let owner = file.as_ref().and_then(|file| self.plan.owners().get(file).map(|id| (*id).clone()));
        let exists = |file: &RelPath| self.ground.tree.entries.keys().any(|path| path.is_within(file));
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
                let others: Vec<String> =
                    ids.iter().filter(|other| *other != id).map(|other| format!("`{other}`")).collect();
                let names = match others.as_slice() {
                    [] => "leave its dependencies empty".to_owned(),
                    others => format!("it may depend on {}", others.join(", ")),
                };
                self.faults
                    .push(format!("task `{id}` depends on `{shown}`, which is not in the plan: {names}"));
            }
        }
    }
}

/// An id of small letters, digits, `-`, `_` and `.`; empty where nothing of it is left.
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
