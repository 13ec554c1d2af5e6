//! The edges of a plan.

use std::collections::BTreeSet;

use perspt_core::ids::NodeId;
use perspt_core::plan::Plan;

/// Every task that comes before this one.
pub(super) fn upstream<'a>(plan: &'a Plan, id: &NodeId) -> BTreeSet<&'a NodeId> {
    let mut seen = BTreeSet::new();
    let mut queue: Vec<&NodeId> = plan.node(id).into_iter().flat_map(|node| &node.dependencies).collect();
    while let Some(id) = queue.pop() {
        if seen.insert(id)
            && let Some(node) = plan.node(id)
        {
            queue.extend(&node.dependencies);
        }
    }
    seen
}

/// The tasks in the order they are worked on: the first in the plan whose dependencies are done.
pub(super) fn order(plan: &Plan) -> Vec<usize> {
    let mut order: Vec<usize> = Vec::new();
    let mut done: BTreeSet<&NodeId> = BTreeSet::new();
    let ready = |at: &usize, done: &BTreeSet<&NodeId>| {
        let node = &plan.nodes[*at];
        !done.contains(&node.id) && node.dependencies.iter().all(|id| done.contains(id))
    };
    while let Some(next) = (0..plan.nodes.len()).find(|at| ready(at, &done)) {
        done.insert(&plan.nodes[next].id);
        order.push(next);
    }
    order
}
