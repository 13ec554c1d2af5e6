//! Taking a publication back. Our changes are undone; what a user wrote meanwhile stays where they wrote it.

use perspt_core::event::KeptPlace;
use perspt_core::path::RelPath;
use perspt_core::tree::Change;

use super::step::{Content, part_of};
use super::workspace::FolderLookup;
use super::{Job, KeptBytes, journal};
use crate::disk::Kind;
use crate::error::StoreError;
use crate::folder::{Folder, optional};

impl Job<'_> {
    /// Puts every change back, clears up and removes the journal.
    pub(super) fn take_back(&self) -> Result<Vec<KeptBytes>, StoreError> {
        for (n, change) in self.changes().iter().enumerate().rev() {
            if let FolderLookup::Open(folder) = self.workspace.parent_of(&change.path)? {
                self.put_back(&folder, n, change)?;
            }
        }
        // Where two files changed places, what came back must be durable before the other one goes.
        self.workspace.sync(&self.parents(|change| change.before.is_some() && change.after.is_some()))?;
        let kept = self.clear_temps()?;
        for folder in self.journal.made.iter().rev() {
            self.workspace.remove_empty_one(folder)?;
        }
        self.workspace.sync(&self.touched())?;
        journal::remove(self.home, &self.journal.publication.workspace)?;
        Ok(kept)
    }

    fn put_back(&self, folder: &Folder, n: usize, change: &Change) -> Result<(), StoreError> {
        let (name, temp) = (change.path.name(), self.temp(n));
        let target = Content::of(self.workspace.inspect(folder, name)?, change);
        let aside = Content::of(self.workspace.inspect(folder, &temp)?, change);
        match (&change.before, target, aside) {
            // Ours is in the tree and the old one, or a user's, beside it.
            (Some(_), Content::After, Content::Before | Content::Other) => {
                let swapped = optional(folder.exchange(&temp, name))?.is_some();
                if swapped && Content::of(self.workspace.inspect(folder, &temp)?, change) != Content::After {
                    // The file was newer than ours: it goes back.
                    optional(folder.exchange(&temp, name))?;
                }
                Ok(())
            }
            // A file of ours that was not there before. With a temp still there, it is not ours.
            (None, Content::After, Content::Missing) => {
                optional(folder.rename_new(name, &temp))?;
                if Content::of(self.workspace.inspect(folder, &temp)?, change) == Content::After {
                    return Ok(());
                }
                unless_taken(folder.rename_new(&temp, name))
            }
            // A user's file that an interrupted attempt to take ours back has moved away.
            (None, Content::Missing, Content::Other) => unless_taken(folder.rename_new(&temp, name)),
            // A deleted file.
            (Some(_), Content::Missing, Content::Before | Content::Other) if change.after.is_none() => {
                unless_taken(folder.rename_new(&temp, name))
            }
            // The rest is as the user left it, or as it was. A user's bytes in the temp mean that we were killed before
            // we saw them. Nobody can tell now which are newer, so they become a blob.
            (Some(_) | None, _, _) => Ok(()),
        }
    }

    /// Removes the temps. What is neither old nor new content goes into a blob first.
    pub(super) fn clear_temps(&self) -> Result<Vec<KeptBytes>, StoreError> {
        let mut kept = Vec::new();
        for (n, change) in self.changes().iter().enumerate() {
            let FolderLookup::Open(folder) = self.workspace.parent_of(&change.path)? else { continue };
            let temp = self.temp(n);
            folder.clear(&part_of(&temp))?;
            match Content::of(self.workspace.inspect(&folder, &temp)?, change) {
                Content::Missing => {}
                Content::Before | Content::After => folder.clear(&temp)?,
                Content::Other => kept.push(self.keep_bytes(&folder, &temp, &change.path)?),
            }
        }
        Ok(kept)
    }

    fn keep_bytes(&self, folder: &Folder, temp: &str, path: &RelPath) -> Result<KeptBytes, StoreError> {
        let bytes = match folder.look(temp)?.kind {
            Kind::File => folder.read(temp, u64::MAX)?,
            Kind::Link => folder.dir.read_link(temp).map_err(folder.fail("read", temp))?,
            Kind::Folder | Kind::Other => {
                let beside = path.parent().unwrap_or_else(RelPath::root).join(temp);
                let place = KeptPlace::Beside(
                    beside.unwrap_or_else(|_| unreachable!("BUG: a temp has a plain name")),
                );
                return Ok(KeptBytes { path: path.clone(), place });
            }
        };
        let blob = self.home.blobs(&self.journal.publication.session)?.put(&bytes)?;
        folder.clear(temp)?;
        Ok(KeptBytes { path: path.clone(), place: KeptPlace::Blob(blob) })
    }
}

/// Someone made a newer file meanwhile; it stays, and ours is cleared up or kept as a blob.
fn unless_taken(renamed: Result<(), StoreError>) -> Result<(), StoreError> {
    match renamed {
        Err(error) if error.is_taken() => Ok(()),
        other => optional(other).map(drop),
    }
}
