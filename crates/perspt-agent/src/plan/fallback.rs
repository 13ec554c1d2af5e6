//! The graph that is used when the architect gave no plan: the same for the same tree and task.

use perspt_core::event::{RepoMode, RootRef};
use perspt_core::ids::NodeId;
use perspt_core::path::RelPath;
use perspt_core::plan::{NodeClass, OpenScope, PlanNode, TaskType};
use perspt_core::stage::Root;

use super::roots::Placed;
use super::settle::Ground;
use super::words::cut;

/// The most characters of the task in a goal.
const TASK_CHARS: usize = 800;

/// Scaffold (in greenfield alone), implementation, tests, and integration where there are two or more packages; a
/// chain for each root. A folder of no known language has one chain without a root: the work itself, since no tests
/// can be run there.
pub fn fallback(task: &str, ground: &Ground<'_>) -> Vec<Placed> {
    match ground.roots {
        [] => {
            let nodes = vec![node("implementation", "Do this task:", task)];
            chained(nodes, "", &[])
        }
        [root] => chained(chain(task, root, ground), "", std::slice::from_ref(root)),
        roots => {
            let of_root = |(index, root): (usize, &Root)| {
                chained(chain(task, root, ground), &format!("-{}", index + 1), std::slice::from_ref(root))
            };
            roots.iter().enumerate().flat_map(of_root).collect()
        }
    }
}

fn chain(task: &str, root: &Root, ground: &Ground<'_>) -> Vec<PlanNode> {
    let mut nodes = Vec::new();
    if ground.repo_mode == RepoMode::Greenfield {
        let mut scaffold = node("scaffold", "Set up an empty project that builds, for this task:", task);
        scaffold.output_files = manifest_of(root, ground).into_iter().collect();
        nodes.push(scaffold);
    }
    nodes.push(node("implementation", "Do this task; code and new tests may come together:", task));
    let mut tests =
        node("tests", "Add new tests for what this task asked for, and mend the code they find wrong:", task);
    tests.task_type = TaskType::UnitTest;
    nodes.push(tests);
    if root.packages.len() > 1 {
        let mut integration = node("integration", "Make the packages work together for this task:", task);
        integration.node_class = NodeClass::Integration;
        nodes.push(integration);
    }
    nodes
}

/// Each node after the one before it, in these roots, with this ending to its name.
fn chained(nodes: Vec<PlanNode>, suffix: &str, roots: &[Root]) -> Vec<Placed> {
    let roots: Vec<RootRef> =
        roots.iter().map(|root| RootRef { dir: root.dir.clone(), plugin: root.plugin.clone() }).collect();
    let mut before: Option<NodeId> = None;
    let mut placed = Vec::new();
    for mut node in nodes {
        node.id = NodeId(format!("{}{suffix}", node.id));
        node.dependencies = before.replace(node.id.clone()).into_iter().collect();
        placed.push(Placed { node, roots: roots.clone() });
    }
    placed
}

fn node(name: &str, goal: &str, task: &str) -> PlanNode {
    PlanNode {
        id: NodeId(name.to_owned()),
        goal: format!("{goal} {}", cut(task, TASK_CHARS)),
        context_files: vec![],
        output_files: vec![],
        modifies: vec![],
        dependencies: vec![],
        task_type: TaskType::Code,
        node_class: NodeClass::Implementation,
        changes_tests: vec![],
        leaves_red: vec![],
        contract: Default::default(),
        scope: OpenScope::Open,
    }
}

fn manifest_of(root: &Root, ground: &Ground<'_>) -> Option<RelPath> {
    let plugin = ground.plugins.iter().find(|plugin| plugin.name() == root.plugin.0)?;
    root.dir.join(plugin.manifest_name()).ok()
}
