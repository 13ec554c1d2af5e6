//! perspt's own look at a candidate.

use perspt_core::effect::Branch;
use perspt_core::reading::{Reading, StageId, Status};
use perspt_core::residual::{Component, Residual};
use perspt_core::state::{Node, SessionState};
use perspt_lang::plugin::Touch;

use crate::actor::{Actor, Halt};
use crate::files::TreeFiles;

const SENSOR: &str = "structure";

impl Actor {
    pub(super) fn structure(
        &self,
        state: &SessionState,
        node: Option<&Node>,
        branch: &Branch,
        stage: &StageId,
        files: &TreeFiles,
    ) -> Result<Reading, Halt> {
        let mut residuals = Vec::new();
        if branch.tree == branch.base.id {
            let message = "the answer changes nothing";
            residuals.push(Residual::error(Component::Str, "nothing-changed", SENSOR, message));
        }
        if let (Some(node), Some(plugin)) = (node, self.plugin(&stage.plugin)) {
            let base = TreeFiles::new(self.tree_of(branch.base)?, self.sources());
            let task = state.meta.as_ref().map_or("", |meta| meta.task.as_str());
            let touch =
                Touch { base: &base, candidate: files, node: &node.spec, task, authored: &state.authored };
            residuals.extend(plugin.structure(&touch));
        }
        Ok(Reading {
            tree: branch.tree,
            stage: stage.clone(),
            tool: SENSOR.to_owned(),
            status: Status::Measured,
            residuals,
            tests: None,
            notes: vec![],
        })
    }
}
