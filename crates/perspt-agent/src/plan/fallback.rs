//! The graph that is used when the architect gave no valid plan: the same for the same tree and task.

use perspt_core::event::RepoMode;
use perspt_core::ids::NodeId;
use perspt_core::path::RelPath;
use perspt_core::plan::{NodeClass, OpenScope, Plan, PlanNode, TaskType};
use perspt_core::stage::Root;

use super::validate::Ground;

/// Scaffold (in greenfield alone), implementation, tests, and integration where there are two or more
/// packages; once for each root.
pub fn fallback(task: &str, ground: &Ground<'_>) -> Plan {
    let many = ground.roots.len() > 1;
    let nodes = ground
        .roots
        .iter()
        .enumerate()
        .flat_map(|(index, root)| {
            let suffix = if many { format!("-{}", index + 1) } else { String::new() };
            chain(task, root, &suffix, ground)
        })
        .collect();
    Plan { nodes }
}

fn chain(task: &str, root: &Root, suffix: &str, ground: &Ground<'_>) -> Vec<PlanNode> {
    let goal = |text: &str| -> String {
        let task: String = task.chars().take(800).collect();
        format!("{text} {task}")
    };
    let node = |name: &str, text: &str, dependencies: Vec<NodeId>, scope: OpenScope| PlanNode {
        id: NodeId(format!("{name}{suffix}")),
        goal: goal(text),
        context_files: vec![],
        output_files: vec![],
        modifies: vec![],
        dependencies,
        task_type: TaskType::Code,
        node_class: NodeClass::Implementation,
        changes_tests: vec![],
        leaves_red: vec![],
        contract: Default::default(),
        scope,
    };
    let mut nodes: Vec<PlanNode> = Vec::new();
    if ground.repo_mode == RepoMode::Greenfield {
        let mut scaffold = node(
            "scaffold",
            "Set up an empty project that builds, for this task:",
            vec![],
            OpenScope::Sources,
        );
        scaffold.output_files = manifest_of(root, ground).into_iter().collect();
        nodes.push(scaffold);
    }
    let before =
        |nodes: &[PlanNode]| nodes.last().map(|node| node.id.clone()).into_iter().collect::<Vec<_>>();
    let first = before(&nodes);
    nodes.push(node("implementation", "Do this task, without touching tests:", first, OpenScope::Sources));
    let second = before(&nodes);
    let mut tests = node("tests", "Add tests for what this task asked for:", second, OpenScope::NewTests);
    tests.task_type = TaskType::UnitTest;
    nodes.push(tests);
    if root.packages.len() > 1 {
        let third = before(&nodes);
        let mut integration =
            node("integration", "Make the packages work together for this task:", third, OpenScope::Sources);
        integration.node_class = NodeClass::Integration;
        nodes.push(integration);
    }
    nodes
}

fn manifest_of(root: &Root, ground: &Ground<'_>) -> Option<RelPath> {
    const NAMES: &[&str] = &["Cargo.toml", "pyproject.toml"];
    let plugin = ground.plugins.iter().find(|plugin| plugin.name() == root.plugin.0)?;
    NAMES.iter().filter_map(|name| root.dir.join(name).ok()).find(|path| plugin.is_manifest(path))
}
