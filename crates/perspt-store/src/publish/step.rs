//! One change on its way into the workspace. What it needs next depends only on what the file and the temp beside it
//! hold. So the first attempt and the one after a kill are the same code.

use std::io::ErrorKind;

use perspt_core::path::RelPath;
use perspt_core::tree::{Change, Entry, EntryKind};

use super::Job;
use super::workspace::{EntryState, FolderLookup};
use crate::disk::{File, Kind, Open, Stat};
use crate::error::StoreError;
use crate::folder::{Folder, optional};

/// What a change needs next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NextStep {
    /// It is in the tree.
    Nothing,
    /// Its content waits in the temp.
    Swap,
    /// The temp must be made ready first.
    Stage,
    /// Someone changed the path.
    Conflict,
}

/// Which of the change's contents a name holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    Before,
    After,
    Missing,
    Other,
}

impl Content {
    /// Where before and after are the same, it is `After`.
    pub fn of(seen: EntryState, change: &Change) -> Content {
        match seen {
            EntryState::Missing => Content::Missing,
            seen if change.after.is_some() && seen.matches(change.after.as_ref()) => Content::After,
            seen if change.before.is_some() && seen.matches(change.before.as_ref()) => Content::Before,
            EntryState::Entry(..) | EntryState::Other => Content::Other,
        }
    }
}

/// What a change needs next. A temp gets its name when it is complete. So one that holds neither the old nor the new
/// content holds what a user wrote to the file.
pub(super) fn next_step(change: &Change, target: Content, temp: Content) -> NextStep {
    match (&change.before, &change.after) {
        (Some(_), Some(_)) => match (target, temp) {
            (_, Content::Other) | (Content::Missing | Content::Other, _) => NextStep::Conflict,
            (Content::After, Content::Before | Content::After | Content::Missing) => NextStep::Nothing,
            (Content::Before, Content::After) => NextStep::Swap,
            (Content::Before, Content::Before | Content::Missing) => NextStep::Stage,
        },
        (None, Some(_)) => match (target, temp) {
            (_, Content::Other | Content::Before) | (Content::Before | Content::Other, _) => {
                NextStep::Conflict
            }
            (Content::After, Content::After | Content::Missing) => NextStep::Nothing,
            (Content::Missing, Content::After) => NextStep::Swap,
            (Content::Missing, Content::Missing) => NextStep::Stage,
        },
        (Some(_), None) => match (target, temp) {
            (_, Content::Other | Content::After) | (Content::After | Content::Other, _) => NextStep::Conflict,
            (Content::Missing, Content::Before | Content::Missing) => NextStep::Nothing,
            (Content::Before, Content::Missing) => NextStep::Swap,
            (Content::Before, Content::Before) => NextStep::Stage,
        },
        (None, None) => unreachable!("BUG: a change of nothing passed the refusals"),
    }
}

impl Job<'_> {
    /// Makes a change ready for its swap, unless it is done already.
    pub(super) fn prepare(&self, n: usize, change: &Change) -> Result<NextStep, StoreError> {
        let folder = match self.workspace.parent_of(&change.path)? {
            FolderLookup::Open(folder) => folder,
            FolderLookup::Missing if change.after.is_none() => return Ok(NextStep::Nothing),
            FolderLookup::Missing => match self.make_folders(&change.path)? {
                Some(folder) => folder,
                None => return Ok(NextStep::Conflict),
            },
            FolderLookup::Link | FolderLookup::Blocked => return Ok(NextStep::Conflict),
        };
        let temp = self.temp(n);
        folder.clear(&part_of(&temp))?;
        let target = Content::of(self.workspace.inspect(&folder, change.path.name())?, change);
        let next = next_step(change, target, Content::of(self.workspace.inspect(&folder, &temp)?, change));
        if next != NextStep::Stage {
            return Ok(next);
        }
        // It can only be a copy of the file at the path.
        folder.clear(&temp)?;
        if let Some(after) = &change.after {
            self.stage(&folder, &temp, change, after)?;
        }
        Ok(NextStep::Swap)
    }

    /// Swaps a change into place, and checks that the old content is the expected one.
    pub(super) fn swap(&self, n: usize, change: &Change) -> Result<NextStep, StoreError> {
        let FolderLookup::Open(folder) = self.workspace.parent_of(&change.path)? else {
            return Ok(NextStep::Conflict);
        };
        let (name, temp) = (change.path.name(), self.temp(n));
        let swapped = match (&change.before, &change.after) {
            (Some(_), Some(_)) => folder.exchange(&temp, name),
            (None, _) => folder.rename_new(&temp, name),
            (Some(_), None) => folder.rename_new(name, &temp),
        };
        match swapped {
            Ok(()) => {}
            Err(error) if error.is_missing() || error.is_taken() => return Ok(NextStep::Conflict),
            Err(error) => return Err(error),
        }
        let out = self.workspace.inspect(&folder, &temp)?;
        Ok(if out.matches(change.before.as_ref()) { NextStep::Nothing } else { NextStep::Conflict })
    }

    /// Makes the missing folders above a path. `None` if another folder is gone, or something is in the way.
    fn make_folders(&self, path: &RelPath) -> Result<Option<Folder>, StoreError> {
        for folder in self.journal.made.iter().filter(|folder| path.is_within(folder)) {
            let FolderLookup::Open(above) = self.workspace.parent_of(folder)? else { return Ok(None) };
            match above.make_folder(folder.name(), 0o777) {
                Ok(()) => give_to_owner_of(&above, folder.name())?,
                Err(error) if error.is_taken() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(match self.workspace.parent_of(path)? {
            FolderLookup::Open(folder) => Some(folder),
            FolderLookup::Missing | FolderLookup::Link | FolderLookup::Blocked => None,
        })
    }

    /// Puts the new content into the temp. It is durable and complete before it has that name.
    fn stage(&self, folder: &Folder, temp: &str, change: &Change, after: &Entry) -> Result<(), StoreError> {
        let part = part_of(temp);
        let blobs = self.home.blobs(&self.journal.publication.session)?;
        let bytes = blobs.get(perspt_core::ids::BlobId(after.hash)).map_err(|error| {
            let lost = |file| StoreError::Damaged { file, why: "the content to publish is gone".to_owned() };
            match error {
                StoreError::Io { path, source, .. } if source.kind() == ErrorKind::NotFound => lost(path),
                error => error,
            }
        })?;
        match after.kind {
            EntryKind::Symlink => {
                folder.dir.make_link(&part, &bytes).map_err(folder.fail("make the link", &part))?;
                give_to_owner_of(folder, &part)?;
            }
            EntryKind::File | EntryKind::Exec => {
                self.stage_file(folder, &part, change, after.kind, &bytes)?
            }
        }
        folder.rename_new(&part, temp)
    }

    fn stage_file(
        &self,
        folder: &Folder,
        part: &str,
        change: &Change,
        kind: EntryKind,
        bytes: &[u8],
    ) -> Result<(), StoreError> {
        let old = optional(folder.look(change.path.name()))?.filter(|old| old.kind == Kind::File);
        let file = match (&old, kind) {
            (Some(_), _) => folder.open(part, Open::New(0o600))?,
            (None, EntryKind::Exec) => folder.open(part, Open::New(0o777))?,
            (None, EntryKind::File | EntryKind::Symlink) => folder.open(part, Open::New(0o666))?,
        };
        folder.fill(part, file.as_ref(), bytes)?;
        match old {
            Some(old) => keep_owner_and_mode(folder, part, file.as_ref(), old, kind)?,
            None => give_to_owner_of(folder, part)?,
        }
        file.sync_all().map_err(folder.fail("sync", part))
    }
}

/// The name of a temp that is not complete yet.
pub(super) fn part_of(temp: &str) -> String {
    format!("{temp}.part")
}

/// The owner is set first, because that may clear permission bits. Where we may not give the file away it becomes ours, as
/// with any program that replaces a file. If the group cannot be kept either, its members get the rights of others.
fn keep_owner_and_mode(
    folder: &Folder,
    part: &str,
    file: &dyn File,
    old: Stat,
    kind: EntryKind,
) -> Result<(), StoreError> {
    let now = file.stat().map_err(folder.fail("look at", part))?;
    let refused = |error: &std::io::Error| error.kind() == ErrorKind::PermissionDenied;
    let mut old = old;
    if (now.uid, now.gid) != (old.uid, old.gid) {
        match file.set_owner(old.uid, old.gid) {
            Err(error) if refused(&error) => {
                old.mode = keep_group(file, now, old).map_err(folder.fail("keep the group of", part))?
            }
            given => given.map_err(folder.fail("keep the owner of", part))?,
        }
    }
    let mode = match kind {
        // Whoever may read it may execute it; its owner always.
        EntryKind::Exec => old.mode | 0o100 | ((old.mode & 0o444) >> 2),
        EntryKind::File | EntryKind::Symlink => old.mode & !0o111,
    };
    // One that is executable stays as executable as it was.
    let mode = if kind == EntryKind::Exec && old.mode & 0o100 != 0 { old.mode } else { mode };
    file.set_mode(mode).map_err(folder.fail("keep the permissions of", part))
}

/// Gives our file the old file's group, where we may. Returns the permission bits that then fit.
fn keep_group(file: &dyn File, now: Stat, old: Stat) -> std::io::Result<u32> {
    let mode = old.mode & 0o777;
    match file.set_owner(now.uid, old.gid) {
        Ok(()) => Ok(mode),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            Ok((mode & !0o070) | ((mode & 0o007) << 3))
        }
        Err(error) => Err(error),
    }
}

/// A new entry in somebody else's folder becomes theirs, where we may give it away.
fn give_to_owner_of(folder: &Folder, name: &str) -> Result<(), StoreError> {
    let theirs = folder.dir.stat().map_err(folder.fail("look at", ""))?;
    if folder.look(name)?.uid == theirs.uid {
        return Ok(());
    }
    match folder.dir.set_owner(name, theirs.uid, theirs.gid) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Ok(()),
        Err(error) => Err(folder.fail("give away", name)(error)),
    }
}
