//! Taking a publication back. Whatever a user wrote since stays where they wrote it; what we put in comes out.

use perspt_core::path::RelPath;
use perspt_core::tree::Change;

use super::ground::Way;
use super::step::{Is, part_of};
use super::{Job, Kept, KeptAs, journal};
use crate::disk::Kind;
use crate::error::StoreError;
use crate::place::{Place, optional};

impl Job<'_> {
    /// Puts every change back, clears up and removes the journal.
    pub(super) fn take_back(&self) -> Result<Vec<Kept>, StoreError> {
        for (n, change) in self.changes().iter().enumerate().rev() {
            if let Way::Open(folder) = self.ground.way(&change.path)? {
                self.put_back(&folder, n, change)?;
            }
        }
        // Where two files changed places, what came back must be durable before the other one goes.
        self.ground.sync(&self.parents(|change| change.before.is_some() && change.after.is_some()))?;
        let kept = self.clear_temps()?;
        for folder in self.journal.made.iter().rev() {
            self.ground.remove_empty_one(folder)?;
        }
        self.ground.sync(&self.touched())?;
        journal::remove(self.home, &self.journal.publication.workspace)?;
        Ok(kept)
    }

    fn put_back(&self, folder: &Place, n: usize, change: &Change) -> Result<(), StoreError> {
        let (name, temp) = (change.path.name(), self.temp(n));
        let target = Is::new(self.ground.see(folder, name)?, change);
        let aside = Is::new(self.ground.see(folder, &temp)?, change);
        match (&change.before, target, aside) {
            // Ours is in the tree and the old one, or a user's, beside it.
            (Some(_), Is::After, Is::Before | Is::Other) => {
                let swapped = optional(folder.exchange(&temp, name))?.is_some();
                if swapped && Is::new(self.ground.see(folder, &temp)?, change) != Is::After {
                    // Not ours came out but something newer: it stays.
                    optional(folder.exchange(&temp, name))?;
                }
                Ok(())
            }
            // A file of ours that was not there before. With a temp still there, it is not ours.
            (None, Is::After, Is::Missing) => {
                optional(folder.rename_new(name, &temp))?;
                if Is::new(self.ground.see(folder, &temp)?, change) == Is::After {
                    return Ok(());
                }
                unless_taken(folder.rename_new(&temp, name))
            }
            // A user's file that an interrupted attempt to take ours back has moved away.
            (None, Is::Missing, Is::Other) => unless_taken(folder.rename_new(&temp, name)),
            // A deleted file.
            (Some(_), Is::Missing, Is::Before | Is::Other) if change.after.is_none() => {
                unless_taken(folder.rename_new(&temp, name))
            }
            // The rest is as the user left it, or as it was. Should a user's bytes be in the temp, we were killed
            // before we saw that they came out; by now it cannot be told which is newer, so they become a blob.
            (Some(_) | None, _, _) => Ok(()),
        }
    }

    /// Removes the temps. What is neither old nor new content goes into a blob first.
    pub(super) fn clear_temps(&self) -> Result<Vec<Kept>, StoreError> {
        let mut kept = Vec::new();
        for (n, change) in self.changes().iter().enumerate() {
            let Way::Open(folder) = self.ground.way(&change.path)? else { continue };
            let temp = self.temp(n);
            folder.clear(&part_of(&temp))?;
            match Is::new(self.ground.see(&folder, &temp)?, change) {
                Is::Missing => {}
                Is::Before | Is::After => folder.clear(&temp)?,
                Is::Other => kept.push(self.keep(&folder, &temp, &change.path)?),
            }
        }
        Ok(kept)
    }

    fn keep(&self, folder: &Place, temp: &str, path: &RelPath) -> Result<Kept, StoreError> {
        let bytes = match folder.look(temp)?.kind {
            Kind::File => folder.read(temp, u64::MAX)?,
            Kind::Link => folder.dir.read_link(temp).map_err(folder.fail("read", temp))?,
            Kind::Folder | Kind::Other => {
                let beside = path.parent().unwrap_or_else(RelPath::root).join(temp);
                let place =
                    KeptAs::Path(beside.unwrap_or_else(|_| unreachable!("BUG: a temp has a plain name")));
                return Ok(Kept { path: path.clone(), place });
            }
        };
        let blob = self.home.blobs(&self.journal.publication.session)?.put(&bytes)?;
        folder.clear(temp)?;
        Ok(Kept { path: path.clone(), place: KeptAs::Blob(blob) })
    }
}

/// Someone made a newer file meanwhile; it stays, and ours is cleared up or kept as a blob.
fn unless_taken(renamed: Result<(), StoreError>) -> Result<(), StoreError> {
    match renamed {
        Err(error) if error.is_taken() => Ok(()),
        other => optional(other).map(drop),
    }
}
