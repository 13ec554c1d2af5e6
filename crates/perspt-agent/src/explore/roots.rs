//! The language roots of a tree, and the plugin of each.

use perspt_core::event::RootRef;
use perspt_core::path::RelPath;
use perspt_core::reading::{PluginName, StageKind};
use perspt_core::stage::Root;
use perspt_core::state::SessionState;
use perspt_lang::plugin::{Files, Plugin};

use crate::actor::Actor;

impl Actor {
    /// The roots of a tree with their packages: as the plugins see them, or the empty root of a
    /// greenfield language.
    pub(crate) fn roots(&self, state: &SessionState, files: &dyn Files) -> Vec<Root> {
        let found = state.found.iter().flat_map(|found| &found.roots);
        let known: Vec<RootRef> = found.chain(&state.planned_roots).cloned().collect();
        // Tests that a macro or a configuration makes are only seen when they run.
        let ran = |root: &RootRef| {
            let runs = state.baseline_of(&root.stage(StageKind::Test));
            runs.iter().filter_map(|reading| reading.tests).any(|tests| tests.collected() > 0)
        };
        let seen: Vec<Root> = self.parts.plugins.iter().flat_map(|plugin| plugin.roots(files)).collect();
        known
            .iter()
            .map(|root| {
                seen.iter()
                    .find(|seen| seen.dir == root.dir && seen.plugin == root.plugin)
                    .cloned()
                    .unwrap_or(Root {
                        dir: root.dir.clone(),
                        plugin: root.plugin.clone(),
                        packages: vec![root.dir.clone()],
                        has_tests: false,
                    })
            })
            .zip(&known)
            .map(|(root, known)| Root { has_tests: root.has_tests || ran(known), ..root })
            .collect()
    }

    /// One root, with its packages as they are in this tree.
    pub(crate) fn root(&self, dir: &RelPath, plugin: &PluginName, files: &dyn Files) -> Root {
        let of_plugin = self.plugin(plugin).map(|plugin| plugin.roots(files)).unwrap_or_default();
        of_plugin.into_iter().find(|root| root.dir == *dir).unwrap_or_else(|| Root {
            dir: dir.clone(),
            plugin: plugin.clone(),
            packages: vec![dir.clone()],
            has_tests: false,
        })
    }

    /// A plugin by name.
    pub(crate) fn plugin(&self, name: &PluginName) -> Option<&'static dyn Plugin> {
        self.parts.plugins.iter().copied().find(|plugin| plugin.name() == name.0)
    }
}
