//! Every file gets one owner, and tasks that write the same file run one after another.

use std::collections::BTreeMap;

use perspt_core::ids::NodeId;
use perspt_core::path::RelPath;
use perspt_core::plan::NodeClass;

use super::edges::Link;
use super::{Settling, files_of};
use crate::plan::graph::order;

impl Settling<'_> {
    /// The first task in the order of work owns a file. Later ones change it after that.
    pub(super) fn owners(&mut self) {
        let mut owners: BTreeMap<RelPath, NodeId> = BTreeMap::new();
        for at in order(&self.plan) {
            let id = self.plan.nodes[at].id.clone();
            for file in std::mem::take(&mut self.plan.nodes[at].output_files) {
                match owners.get(&file).cloned() {
                    Some(owner) => self.share(at, &file, &owner),
                    None => {
                        owners.insert(file.clone(), id.clone());
                        self.plan.nodes[at].output_files.push(file);
                    }
                }
            }
        }
        self.foreign(&mut owners);
        self.declared(&mut owners);
        self.one_after_another();
    }

    /// A file of another owner, to be changed after that one made it.
    fn share(&mut self, at: usize, file: &RelPath, owner: &NodeId) {
        let node = &mut self.plan.nodes[at];
        node.node_class = NodeClass::Integration;
        if !node.modifies.contains(file) {
            node.modifies.push(file.clone());
        }
        let id = node.id.clone();
        let when = match self.link(at, owner) {
            Link::Had | Link::Made => "after it".to_owned(),
            Link::Cycle => format!("before it, for which `{owner}` waits"),
        };
        self.notes.push(format!(
            "`{file}` stands in two tasks: `{owner}` owns it, and the integration task `{id}` changes it {when}"
        ));
    }

    /// Files that a task changes for others: after their owner, or as its own where nobody has them.
    fn foreign(&mut self, owners: &mut BTreeMap<RelPath, NodeId>) {
        for at in order(&self.plan) {
            for file in self.plan.nodes[at].modifies.clone() {
                match owners.get(&file).cloned() {
                    Some(owner) => {
                        self.link_for(at, &owner, &format!("it changes `{file}`"));
                    }
                    None if self.in_tree(&file) => {}
                    None => {
                        self.plan.nodes[at].modifies.retain(|other| *other != file);
                        self.own(at, file, owners);
                    }
                }
            }
        }
    }

    /// Tests that a task says it changes: after the task that writes them; new files are simply its own.
    fn declared(&mut self, owners: &mut BTreeMap<RelPath, NodeId>) {
        for at in order(&self.plan) {
            let id = self.plan.nodes[at].id.clone();
            let declared = self.plan.nodes[at].changes_tests.iter().map(|declared| declared.path.clone());
            for file in declared.collect::<Vec<_>>() {
                match owners.get(&file).cloned() {
                    Some(owner) if owner != id && !self.plan.nodes[at].modifies.contains(&file) => {
                        self.share(at, &file, &owner);
                    }
                    Some(_) => {}
                    None if self.in_tree(&file) => {}
                    None => {
                        self.plan.nodes[at].changes_tests.retain(|declared| declared.path != file);
                        self.own(at, file, owners);
                    }
                }
            }
        }
    }

    /// A file that is not there yet and that no task owns.
    fn own(&mut self, at: usize, file: RelPath, owners: &mut BTreeMap<RelPath, NodeId>) {
        let node = &mut self.plan.nodes[at];
        self.notes.push(format!("`{file}` is not there yet: task `{}` writes it as its own", node.id));
        owners.insert(file.clone(), node.id.clone());
        node.output_files.push(file);
    }

    /// A task that writes a file waits for the task that writes it before.
    fn one_after_another(&mut self) {
        let mut last: BTreeMap<RelPath, NodeId> = BTreeMap::new();
        for at in order(&self.plan) {
            let id = self.plan.nodes[at].id.clone();
            for file in files_of(&self.plan.nodes[at]).cloned().collect::<Vec<_>>() {
                if let Some(before) = last.insert(file.clone(), id.clone()) {
                    self.link_for(at, &before, &format!("both write `{file}`"));
                }
            }
        }
    }
}
