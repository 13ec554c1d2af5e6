//! What must hold of a plan before any node is built. Each failure is a sentence the architect can act on.

use std::collections::{BTreeMap, BTreeSet};

use perspt_core::event::{RepoMode, RootRef};
use perspt_core::ids::NodeId;
use perspt_core::path::RelPath;
use perspt_core::plan::{NodeClass, Plan, PlanNode, TaskType};
use perspt_core::stage::Root;
use perspt_core::tree::Tree;
use perspt_lang::plugin::Plugin;
use perspt_policy::bounds::Bounds;

/// The most nodes a plan may have.
const MAX_NODES: usize = 40;
/// The most files a node may own or modify.
const MAX_FILES: usize = 20;
/// The most bytes of a node in the log, where its roots need room beside it.
const MAX_NODE: usize = 8000;
/// The most characters of a goal.
const MAX_GOAL: usize = 1000;

/// What a plan stands on.
pub struct Ground<'a> {
    /// The tree it starts from.
    pub tree: &'a Tree,
    /// Its bounds.
    pub bounds: &'a Bounds<'a>,
    /// Empty or not.
    pub repo_mode: RepoMode,
    /// The roots, with their packages.
    pub roots: &'a [Root],
    /// The plugins of those roots.
    pub plugins: &'a [&'a dyn Plugin],
}

/// Every reason why the plan cannot be used; none where it can.
pub fn validate(plan: &Plan, ground: &Ground<'_>) -> Vec<String> {
    if plan.nodes.is_empty() {
        return vec!["the plan is empty: give at least one task".to_owned()];
    }
    let mut faults = Vec::new();
    if plan.nodes.len() > MAX_NODES {
        faults.push(format!("the plan has {} tasks; {MAX_NODES} is the most", plan.nodes.len()));
    }
    shape(plan, ground, &mut faults);
    ownership(plan, &mut faults);
    edges(plan, ground, &mut faults);
    for node in &plan.nodes {
        domains(node, ground, &mut faults);
    }
    tests(plan, ground, &mut faults);
    greenfield(plan, ground, &mut faults);
    faults
}

fn shape(plan: &Plan, ground: &Ground<'_>, faults: &mut Vec<String>) {
    let mut seen = BTreeSet::new();
    for node in &plan.nodes {
        let id = &node.id;
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if id.as_str().is_empty()
            || id.as_str().len() > 64
            || !id.as_str().chars().all(plain)
            || id.as_str() == "-"
        {
            faults.push(format!("task id `{id}` must be 1 to 64 letters, digits, `-`, `_` or `.`"));
        }
        if !seen.insert(id) {
            faults.push(format!("task id `{id}` is used twice"));
        }
        if node.goal.is_empty() || node.goal.chars().count() > MAX_GOAL {
            faults.push(format!("task `{id}`: the goal must have 1 to {MAX_GOAL} characters"));
        }
        let bytes = serde_json::to_vec(node).map_or(usize::MAX, |json| json.len());
        if bytes > MAX_NODE {
            faults.push(format!(
                "task `{id}` takes {bytes} bytes; {MAX_NODE} is the most: shorten its contract"
            ));
        }
        if node.task_type == TaskType::Command {
            faults.push(format!(
                "task `{id}`: task_type `command` is not supported; describe the files to write"
            ));
        }
        if node.output_files.is_empty() && node.modifies.is_empty() {
            faults.push(format!("task `{id}`: list the files it will write in output_files"));
        }
        if node.output_files.len() + node.modifies.len() > MAX_FILES {
            faults.push(format!("task `{id}`: it touches more than {MAX_FILES} files; split it"));
        }
        if node.context_files.len() > MAX_FILES {
            faults.push(format!("task `{id}`: it lists more than {MAX_FILES} context files"));
        }
        if !node.modifies.is_empty() && node.node_class != NodeClass::Integration {
            faults.push(format!("task `{id}`: only a task of class `integration` may list `modifies`"));
        }
        for file in node.output_files.iter().chain(&node.modifies) {
            if let Err(refusal) = ground.bounds.check(file.as_str()) {
                faults.push(format!("task `{id}`: {refusal}"));
            }
        }
    }
}

fn ownership(plan: &Plan, faults: &mut Vec<String>) {
    let mut owners: BTreeMap<&RelPath, &NodeId> = BTreeMap::new();
    for node in &plan.nodes {
        for file in &node.output_files {
            if let Some(other) = owners.insert(file, &node.id) {
                faults.push(format!(
                    "`{file}` is an output of both `{other}` and `{}`; one task owns a file",
                    node.id
                ));
            }
        }
    }
}

fn edges(plan: &Plan, ground: &Ground<'_>, faults: &mut Vec<String>) {
    for node in &plan.nodes {
        for dependency in &node.dependencies {
            if plan.node(dependency).is_none() {
                faults
                    .push(format!("task `{}` depends on `{dependency}`, which is not in the plan", node.id));
            }
        }
    }
    if let Some(cycle) = cycle(plan) {
        let path: Vec<&str> = cycle.iter().map(|id| id.as_str()).collect();
        faults.push(format!("the dependencies form a cycle: {}", path.join(" -> ")));
        return;
    }
    let owners = plan.owners();
    for node in &plan.nodes {
        let before = upstream(plan, node);
        for file in &node.context_files {
            match owners.get(file) {
                Some(owner) if **owner != node.id && !before.contains(*owner) => faults.push(format!(
                    "task `{}` reads `{file}`, which `{owner}` makes: add `{owner}` to its dependencies",
                    node.id
                )),
                Some(_) => {}
                None if ground.tree.entries.contains_key(file) => {}
                None => faults.push(format!("task `{}`: context file `{file}` does not exist", node.id)),
            }
        }
    }
}

/// Every task that comes before this one.
fn upstream<'a>(plan: &'a Plan, node: &'a PlanNode) -> BTreeSet<&'a NodeId> {
    let mut seen = BTreeSet::new();
    let mut queue: Vec<&NodeId> = node.dependencies.iter().collect();
    while let Some(id) = queue.pop() {
        if seen.insert(id)
            && let Some(node) = plan.node(id)
        {
            queue.extend(&node.dependencies);
        }
    }
    seen
}

/// A cycle, as the path that leads back to its start.
fn cycle(plan: &Plan) -> Option<Vec<&NodeId>> {
    let mut done: BTreeSet<&NodeId> = BTreeSet::new();
    for start in &plan.nodes {
        let mut path: Vec<(&PlanNode, usize)> = vec![(start, 0)];
        while let Some((node, next)) = path.last_mut() {
            let node = *node;
            if done.contains(&node.id) || *next >= node.dependencies.len() {
                done.insert(&node.id);
                path.pop();
                continue;
            }
            let dependency = &node.dependencies[*next];
            *next += 1;
            if let Some(at) = path.iter().position(|(on_path, _)| on_path.id == *dependency) {
                let mut cycle: Vec<&NodeId> = path[at..].iter().map(|(node, _)| &node.id).collect();
                cycle.push(&path[at].0.id);
                return Some(cycle);
            }
            if let Some(next) = plan.node(dependency) {
                path.push((next, 0));
            }
        }
    }
    None
}

/// A node's code lies in one package of one language, unless it is an integration node.
fn domains(node: &PlanNode, ground: &Ground<'_>, faults: &mut Vec<String>) {
    if node.node_class == NodeClass::Integration {
        return;
    }
    let domains: BTreeSet<(String, &str)> =
        node.output_files.iter().filter_map(|file| domain(file, ground)).collect();
    if domains.len() > 1 {
        let named: Vec<String> =
            domains.iter().map(|(package, plugin)| format!("{plugin} in `{package}`")).collect();
        faults.push(format!(
            "task `{}` writes code of {}: split it, or make it an integration task",
            node.id,
            named.join(" and ")
        ));
    }
}

fn domain<'a>(file: &RelPath, ground: &'a Ground<'_>) -> Option<(String, &'a str)> {
    let plugin = ground.plugins.iter().find(|plugin| plugin.is_source(file) || plugin.is_manifest(file))?;
    let package = ground
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

fn tests(plan: &Plan, ground: &Ground<'_>, faults: &mut Vec<String>) {
    let is_code = |file: &RelPath| {
        ground.plugins.iter().any(|plugin| plugin.is_source(file) && !plugin.is_test_file(file))
    };
    let has_test_task = plan.nodes.iter().any(|node| node.task_type.is_test());
    for node in plan.nodes.iter().filter(|node| node.task_type.is_test()) {
        let before = upstream(plan, node);
        let made = plan.nodes.iter().filter(|other| before.contains(&other.id) || other.id == node.id);
        let has_code = made.flat_map(|other| &other.output_files).any(is_code)
            || ground.tree.entries.keys().any(is_code);
        if !has_code {
            faults.push(format!(
                "test task `{}` has no code to test: depend on the task that makes it, or list the code too",
                node.id
            ));
        }
    }
    let without_tests = ground.roots.iter().find(|root| {
        let touched = plan.nodes.iter().flat_map(|node| &node.output_files);
        !root.has_tests && touched.filter(|file| is_code(file)).any(|file| file.is_within(&root.dir))
    });
    if let (Some(root), false) = (without_tests, has_test_task) {
        faults.push(format!(
            "there are no tests in `{}` and the plan adds none: add a task of type `unit_test`",
            root.dir
        ));
    }
}

fn greenfield(plan: &Plan, ground: &Ground<'_>, faults: &mut Vec<String>) {
    if ground.repo_mode != RepoMode::Greenfield {
        return;
    }
    let at_root = |file: &&RelPath| file.parent().is_some_and(|folder| folder.is_root());
    let manifest = |file: &RelPath| ground.plugins.iter().any(|plugin| plugin.is_manifest(file));
    if !plan.nodes.iter().flat_map(|node| &node.output_files).filter(at_root).any(manifest) {
        faults.push("no task owns the root manifest (such as `Cargo.toml` or `pyproject.toml`)".to_owned());
    }
}

/// The roots as the log names them.
impl Ground<'_> {
    /// Every root by reference.
    pub fn root_refs(&self) -> Vec<RootRef> {
        self.roots.iter().map(|root| RootRef { dir: root.dir.clone(), plugin: root.plugin.clone() }).collect()
    }
}
