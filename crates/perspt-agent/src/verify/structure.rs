//! perspt's own look at a candidate.

use perspt_core::effect::Branch;
use perspt_core::event::RootRef;
use perspt_core::path::RelPath;
use perspt_core::reading::{Reading, StageId, Status};
use perspt_core::residual::{Class, Component, Residual};
use perspt_core::state::{Node, SessionState};
use perspt_lang::plugin::{Files, Touch};

use crate::actor::{Actor, Halt};
use crate::files::TreeFiles;

const SENSOR: &str = "structure";

/// Files that the plan wants of a node and that are not there. One that it removed was there before.
fn not_made(node: &Node, base: &TreeFiles, files: &TreeFiles) -> Vec<Residual> {
    let is_in = |files: &TreeFiles, path: &RelPath| files.tree().entries.contains_key(path);
    let missing = node.spec.output_files.iter().filter(|path| !is_in(base, path) && !is_in(files, path));
    let charge = |path: &RelPath| {
        let message = format!("`{path}` is to be made by this node, and it is not there");
        Residual::error(Component::Str, Class::OutputMissing, SENSOR, message).in_file(Some(path.clone()))
    };
    missing.map(charge).collect()
}

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
            residuals.push(Residual::error(Component::Str, Class::NothingChanged, SENSOR, message));
        }
        if let (Some(node), Some(plugin)) = (node, self.plugin(&stage.plugin)) {
            let base = TreeFiles::new(self.tree_of(branch.base)?, self.sources());
            let task = state.meta.as_ref().map_or("", |meta| meta.task.as_str());
            let touch =
                Touch { base: &base, candidate: files, node: &node.spec, task, authored: &state.authored };
            residuals.extend(plugin.structure(&touch));
            base.is_whole()?;
            residuals.extend(not_made(node, &base, files));
            if node.roots.first().is_some_and(|root| root.dir == stage.root && root.plugin == stage.plugin) {
                residuals.extend(self.unseen(state, branch)?);
            }
        }
        files.is_whole()?;
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

    /// Code of a language that this project has no root of: no tool would look at it.
    fn unseen(&self, state: &SessionState, branch: &Branch) -> Result<Vec<Residual>, Halt> {
        let roots = state.found.as_ref().map_or(&[][..], |found| found.roots.as_slice());
        let mut residuals = Vec::new();
        for change in self.changes_of(branch)?.into_iter().filter(|change| change.after.is_some()) {
            let languages = self.parts.plugins.iter().filter(|plugin| plugin.is_source(&change.path));
            for plugin in languages {
                let looked_at =
                    |root: &RootRef| root.plugin.0 == plugin.name() && change.path.is_within(&root.dir);
                if !roots.iter().any(looked_at) {
                    let message =
                        format!("there is no {} project here whose tools would look at it", plugin.name());
                    let residual = Residual::error(Component::Str, Class::UnmeasuredFile, SENSOR, message);
                    residuals.push(residual.in_file(Some(change.path.clone())));
                }
            }
        }
        Ok(residuals)
    }
}
