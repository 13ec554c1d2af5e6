//! Fetching dependencies before anything is measured.

use perspt_core::effect::{Branch, TreeRef};
use perspt_core::event::Ended;
use perspt_core::state::SessionState;
use perspt_sandbox::Cancel;

use crate::actor::Actor;
use crate::error::EffectError;
use crate::slot::stage_timeout;

impl Actor {
    /// Downloads the packages that the lock files name. Nothing of them or of the tree is run.
    pub(crate) async fn fetch(
        &self,
        state: &SessionState,
        tree: TreeRef,
        cancel: &Cancel,
    ) -> Result<Ended, EffectError> {
        let branch = Branch { base: tree, changes: None, tree: tree.id };
        let files = self.branch_files(&branch)?;
        let mut slot = self.take_slot().await?;
        let timeout = stage_timeout(state);
        for root in self.roots(state, &files) {
            let fetch = self.plugin(&root.plugin).and_then(|plugin| plugin.fetch(&root, &files));
            let Some(fetch) = fetch else { continue };
            slot.lay_out(&files.with_replaced(fetch.instead))?;
            // A package that cannot be fetched shows in the baseline, in the compiler's own words.
            slot.run("fetch", &fetch.step, timeout, cancel).await?;
            slot.recheck()?;
        }
        Ok(Ended::Fetched { runs: slot.take_runs() })
    }
}
