//! Fetching dependencies before anything is measured.

use std::collections::BTreeMap;
use std::time::Duration;

use perspt_core::effect::{Branch, TreeRef};
use perspt_core::event::Ended;
use perspt_core::path::RelPath;
use perspt_core::state::SessionState;
use perspt_core::tree::{EntryKind, Tree};
use perspt_lang::plugin::Files;
use perspt_sandbox::Cancel;

use crate::actor::{Actor, EffectError};
use crate::tree::Sources;

impl Actor {
    /// Brings what the lock files name onto the machine, without running any of it, or anything of the tree.
    pub(crate) async fn fetch(
        &self,
        state: &SessionState,
        tree: TreeRef,
        cancel: &Cancel,
    ) -> Result<Ended, EffectError> {
        let branch = Branch { base: tree, changes: None, tree: tree.id };
        let files = self.branch_files(&branch)?;
        let mut slot = self.slot().await?;
        let timeout = Duration::from_millis(state.settings().stage_timeout_ms);
        for root in self.roots(state, &files) {
            let fetch = self.plugin(&root.plugin).and_then(|plugin| plugin.fetch(&root, &files));
            let Some(fetch) = fetch else { continue };
            let (tree, sources) = with_replaced(files.tree(), self.sources(), fetch.instead);
            slot.lay(&tree, &sources)?;
            // What could not be fetched shows in the baseline, with the compiler's own words.
            slot.run("fetch", &fetch.step, timeout, cancel).await?;
            slot.recheck()?;
        }
        Ok(Ended::Fetched { runs: std::mem::take(&mut slot.runs) })
    }
}

/// A tree in which some files hold another text, or are left out.
pub(crate) fn with_replaced(
    tree: &Tree,
    mut sources: Sources,
    instead: BTreeMap<RelPath, Option<String>>,
) -> (Tree, Sources) {
    let mut tree = tree.clone();
    for (path, text) in instead {
        tree.entries.remove(&path);
        let entry = text.map(|text| sources.hold(EntryKind::File, text));
        tree.entries.extend(entry.map(|entry| (path, entry)));
    }
    (tree, sources)
}
