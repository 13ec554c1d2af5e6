//! The `plan_local` effect: a plan of one node, made with no model's help. The same tree and task give the same one.

use perspt_core::effect::Branch;
use perspt_core::event::{Ended, Event, PlanningPolicy};
use perspt_core::ids::EffectId;
use perspt_core::plan::{NodeClass, OpenScope, PlanNode};
use perspt_core::state::SessionState;

use super::words::cut;
use crate::actor::Actor;
use crate::error::EffectError;
use crate::ports::Acted;

/// The most characters of the task in a goal.
const TASK_CHARS: usize = 800;

impl Actor {
    /// One node that is the whole task. Its roots are all that there are until its answer says which files it changes.
    pub(crate) fn plan_local(
        &self,
        by: EffectId,
        state: &SessionState,
        branch: &Branch,
    ) -> Result<Acted, EffectError> {
        let task = state.meta.as_ref().map_or("", |meta| meta.task.as_str());
        let one_file = state.meta.as_ref().and_then(|meta| meta.planning) == Some(PlanningPolicy::SingleFile);
        let roots = self.with_project(state, branch, |project| project.root_refs())?;
        let node = PlanNode {
            goal: cut(task, TASK_CHARS).to_owned(),
            node_class: if roots.len() > 1 { NodeClass::Integration } else { NodeClass::Implementation },
            scope: if one_file { OpenScope::OneFile } else { OpenScope::Open },
            ..PlanNode::plain("task", vec![])
        };
        let proposed = Event::NodeProposed { by, node: Box::new(node), roots };
        Ok(Acted { facts: vec![proposed], outcome: Ended::PlannedLocally })
    }
}
