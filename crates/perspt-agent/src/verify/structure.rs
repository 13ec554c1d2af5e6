//! perspt's own check of a candidate: changed tests, placeholders instead of code, files that no tool reads.

use std::collections::BTreeSet;

use perspt_core::effect::{Branch, TreeRef};
use perspt_core::event::RootRef;
use perspt_core::grade::FileKind;
use perspt_core::inventory::{Inventory, TestId};
use perspt_core::judge::structure_stage;
use perspt_core::outcome::NodeEnd;
use perspt_core::path::RelPath;
use perspt_core::reading::{Reading, StageKind};
use perspt_core::residual::{Class, Component, Residual};
use perspt_core::state::{Node, SessionState};
use perspt_core::tree::{Change, Tree};
use perspt_lang::plugin::{Files, Pair, Plugin, Tools};

use crate::actor::Actor;
use crate::error::EffectError;
use crate::tree::{ComparedFiles, TreeFiles};
use crate::verify::extra_checks::parsed_data;
use crate::verify::own_commands::changed_scripts;
use crate::verify::promises::measured_promises;

const SENSOR: &str = "structure";

impl Actor {
    pub(super) fn structure(
        &self,
        state: &SessionState,
        node: Option<&Node>,
        branch: &Branch,
        files: &ComparedFiles,
    ) -> Result<Reading, EffectError> {
        let changes = self.changes_of(branch)?;
        let mut residuals = Vec::new();
        let mut inventory = Inventory::default();
        if branch.tree == branch.base.id {
            let message = "the answer changes nothing";
            residuals.push(Residual::error(Component::Str, Class::NothingChanged, SENSOR, message));
        }
        for plugin in &self.parts.plugins {
            let found = plugin.structure(&files.pair(), &self.tools_of(state, *plugin)?);
            residuals.extend(found.residuals);
            inventory.merge(self.of_the_user(state, *plugin, branch, found.inventory)?);
        }
        let mut scripts = changed_scripts(state, &changes);
        let known: BTreeSet<&RelPath> = inventory
            .support
            .iter()
            .map(|one| &one.path)
            .chain(inventory.evidence.iter().map(|one| &one.path))
            .collect();
        scripts.retain(|script| !state.authored.contains(&script.path) && !known.contains(&script.path));
        inventory.evidence.extend(scripts);
        let mut promises = Vec::new();
        if let Some(node) = node {
            residuals.extend(not_made(node, files));
            promises = measured_promises(&node.spec, &changes, &files.pair());
        }
        files.check_complete()?;
        let (looked, broken) = parsed_data(&changes, files);
        residuals.extend(broken);
        let readers = self.readers_of(state, &changes)?;
        let prose = |change: &Change| FileKind::of(&change.path) == FileKind::Prose;
        let only_prose = readers.is_empty() && !changes.is_empty() && changes.iter().all(prose);
        let own = |root: &RootRef| node.is_some_and(|node| node.roots.contains(root));
        Ok(Reading {
            residuals,
            inventory: Some(inventory),
            promises,
            looked,
            only_prose,
            other_roots: readers.into_iter().filter(|root| !own(root)).collect(),
            ..Reading::measured(branch.tree, structure_stage(), SENSOR)
        })
    }

    /// The roots whose tools have read a file that is changed now.
    fn readers_of(&self, state: &SessionState, changes: &[Change]) -> Result<BTreeSet<RootRef>, EffectError> {
        let known = state.baseline.readings.values().flatten().map(|reading| reading.blob);
        let known: BTreeSet<_> = known.chain(state.first_baseline.values().flatten().copied()).collect();
        let mut readers = BTreeSet::new();
        for blob in known {
            let Reading { stage, looked, .. } = self.load_blob("a reading", blob)?;
            if stage.kind != StageKind::Structure
                && changes.iter().any(|change| looked.contains(&change.path))
            {
                readers.insert(RootRef { dir: stage.root, plugin: stage.plugin });
            }
        }
        Ok(readers)
    }

    /// The inventory without tests and files that this session made: nodes may change those freely.
    fn of_the_user(
        &self,
        state: &SessionState,
        plugin: &'static dyn Plugin,
        branch: &Branch,
        mut inventory: Inventory,
    ) -> Result<Inventory, EffectError> {
        inventory.support.retain(|one| !state.authored.contains(&one.path));
        inventory.evidence.retain(|one| !state.authored.contains(&one.path));
        let first = state.found.as_ref().map(|found| found.base).filter(|first| first.id != branch.base.id);
        let Some(first) = first.filter(|_| !inventory.changed.is_empty()) else { return Ok(inventory) };
        let tree = TreeFiles::new(self.tree_of_the_user(state, first, branch)?, self.sources());
        let empty = TreeFiles::new(Tree::default(), self.sources());
        let all = plugin.structure(&Pair { base: &tree, candidate: &empty }, &Tools::new()).inventory;
        let known: BTreeSet<TestId> = all.changed.into_iter().map(|test| test.id).collect();
        inventory.changed.retain(|test| known.contains(&test.id));
        Ok(inventory)
    }

    /// The tree that the session began with, and what the user changed of it since: files that differ from it now and
    /// that no commit of the session touched last.
    pub(super) fn tree_of_the_user(
        &self,
        state: &SessionState,
        first: TreeRef,
        branch: &Branch,
    ) -> Result<Tree, EffectError> {
        let (mut tree, now) = (self.load_tree(first)?, self.load_tree(branch.base)?);
        let is_ours = |path: &RelPath| {
            let mut committed = state.nodes.values().filter(|node| node.end == Some(NodeEnd::Committed));
            committed.any(|node| {
                let touched = node.best.as_ref().is_some_and(|best| best.diff.touches(path));
                touched && !node.changed_since.contains(path)
            })
        };
        for change in tree.changes_to(&now).into_iter().filter(|change| !is_ours(&change.path)) {
            match change.after {
                Some(entry) => tree.entries.insert(change.path, entry),
                None => tree.entries.remove(&change.path),
            };
        }
        Ok(tree)
    }
}

/// Findings for planned files that the node did not make. A file that was there before may have been removed.
fn not_made(node: &Node, files: &ComparedFiles) -> Vec<Residual> {
    let is_in = |files: &TreeFiles, path: &RelPath| files.tree().entries.contains_key(path);
    let missing = node
        .spec
        .output_files
        .iter()
        .filter(|path| !is_in(&files.base, path) && !is_in(&files.candidate, path));
    let charge = |path: &RelPath| {
        let message = format!("`{path}` is to be made by this node, and it is not there");
        Residual::error(Component::Str, Class::OutputMissing, SENSOR, message).in_file(Some(path.clone()))
    };
    missing.map(charge).collect()
}
