//! Classes, scopes and sizes.

use std::collections::BTreeSet;

use perspt_core::path::RelPath;
use perspt_core::plan::{Contract, NodeClass, OpenScope, PlanNode};

use super::{ProjectFacts, Settling, files_of};

/// The most files a node may write.
const MAX_FILES: usize = 20;
/// The most bytes of a node in the log, where its roots need room beside it.
const MAX_NODE: usize = 8000;

impl Settling<'_> {
    /// A task that changes files of others, or writes in two packages or languages, is an integration task.
    pub(super) fn classes(&mut self) {
        for node in self.plan.nodes.iter_mut().filter(|node| node.node_class != NodeClass::Integration) {
            let domains: BTreeSet<_> =
                node.output_files.iter().filter_map(|file| domain(file, self.project)).collect();
            let why = if !node.modifies.is_empty() {
                "it changes files under modifies".to_owned()
            } else if domains.len() > 1 {
                let named: Vec<String> =
                    domains.iter().map(|(package, plugin)| format!("{plugin} in `{package}`")).collect();
                format!("it writes {}", named.join(" and "))
            } else {
                continue;
            };
            node.node_class = NodeClass::Integration;
            self.notes.push(format!("task `{}` is an integration task: {why}", node.id));
        }
    }

    /// A task that lists no file may write what its goal asks for.
    pub(super) fn scopes(&mut self) {
        for node in self.plan.nodes.iter_mut().filter(|node| files_of(node).next().is_none()) {
            node.scope = OpenScope::Open;
            self.notes.push(format!(
                "task `{}` lists no file: it may write sources, new tests and prose of the project",
                node.id
            ));
        }
    }

    /// A node fits into the log, and into one answer.
    pub(super) fn sizes(&mut self) {
        for node in &mut self.plan.nodes {
            let files = files_of(node).collect::<BTreeSet<_>>().len();
            if files > MAX_FILES {
                self.faults.push(format!(
                    "task `{}` touches {files} files; {MAX_FILES} is the most: split it",
                    node.id
                ));
            }
            if bytes(node) > MAX_NODE && node.contract != Contract::default() {
                node.contract = Contract::default();
                self.notes.push(format!("task `{}`: its contract is too long and is left out", node.id));
            }
            if bytes(node) > MAX_NODE {
                self.faults.push(format!(
                    "task `{}` takes {} bytes; {MAX_NODE} is the most: split it",
                    node.id,
                    bytes(node)
                ));
            }
        }
    }
}

fn bytes(node: &PlanNode) -> usize {
    serde_json::to_vec(node).map_or(usize::MAX, |json| json.len())
}

/// The package and language a file belongs to.
fn domain<'a>(file: &RelPath, project: &'a ProjectFacts<'_>) -> Option<(String, &'a str)> {
    let plugin = project.plugins.iter().find(|plugin| plugin.is_source(file) || plugin.is_manifest(file))?;
    let package = project
        .roots
        .iter()
        .filter(|root| root.plugin.0 == plugin.name())
        .flat_map(|root| &root.packages)
        .filter(|package| file.is_within(package))
        .max_by_key(|package| package.as_str().len());
    // The manifest of a workspace that is no package itself belongs to whoever works in it.
    if package.is_none() && !plugin.is_source(file) {
        return None;
    }
    Some((package.map_or(".", |package| package.shown()).to_owned(), plugin.name()))
}
