//! The plan that is used when the architect gave none. The same tree and task give the same one.

use perspt_core::event::RepoMode;
use perspt_core::ids::NodeId;
use perspt_core::path::RelPath;
use perspt_core::plan::{NodeClass, OpenScope, PlanNode, TaskType};
use perspt_core::stage::Root;

use super::roots::RootedNode;
use super::settle::ProjectFacts;
use super::words::cut;

/// The most characters of the task in a goal.
const TASK_CHARS: usize = 800;

/// One node that may write code and tests in every root, and the manifests of a new project. A second node would have
/// nothing left to do.
pub fn fallback(task: &str, project: &ProjectFacts<'_>) -> Vec<RootedNode> {
    let manifests = project.roots.iter().filter_map(|root| manifest_of(root, project));
    let node = PlanNode {
        id: NodeId("implementation".to_owned()),
        goal: format!("Do this task; code and new tests may come together: {}", cut(task, TASK_CHARS)),
        context_files: vec![],
        output_files: match project.repo_mode {
            RepoMode::Greenfield => manifests.collect(),
            RepoMode::Existing => vec![],
        },
        modifies: vec![],
        dependencies: vec![],
        task_type: TaskType::Code,
        node_class: if project.roots.len() > 1 { NodeClass::Integration } else { NodeClass::Implementation },
        changes_tests: vec![],
        leaves_red: vec![],
        contract: Default::default(),
        scope: OpenScope::Open,
    };
    vec![RootedNode { node, roots: project.root_refs() }]
}

fn manifest_of(root: &Root, project: &ProjectFacts<'_>) -> Option<RelPath> {
    let plugin = project.plugins.iter().find(|plugin| plugin.name() == root.plugin.0)?;
    root.dir.join(plugin.manifest_name()).ok()
}
