//! One change on its way into the tree. What it needs is read off two names alone, the file and the temp
//! beside it; so the first attempt and the one after a kill are the same code.

use std::io::ErrorKind;

use perspt_core::path::RelPath;
use perspt_core::tree::{Change, Entry, EntryKind};

use super::Job;
use super::ground::{Seen, Way};
use crate::disk::{File, Kind, Open, Stat};
use crate::error::StoreError;
use crate::place::{Place, optional};

/// What a change needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// It is in the tree.
    Nothing,
    /// Its content waits in the temp.
    Swap,
    /// The temp must be made ready first.
    Stage,
    /// Someone changed the path.
    Conflict,
}

/// What a name holds, as far as the change cares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Is {
    Before,
    After,
    Missing,
    Other,
}

impl Is {
    /// Where before and after are the same, it is `After`.
    pub fn new(seen: Seen, change: &Change) -> Is {
        match seen {
            Seen::Missing => Is::Missing,
            seen if change.after.is_some() && seen.is(change.after.as_ref()) => Is::After,
            seen if change.before.is_some() && seen.is(change.before.as_ref()) => Is::Before,
            Seen::Entry(..) | Seen::Other => Is::Other,
        }
    }
}

/// Reads off what a change needs. A temp is complete from the moment it has its name, so one that is neither
/// the old nor the new content is something a user wrote, and it came out of the tree.
pub(super) fn need(change: &Change, target: Is, temp: Is) -> Need {
    match (&change.before, &change.after) {
        (Some(_), Some(_)) => match (target, temp) {
            (_, Is::Other) | (Is::Missing | Is::Other, _) => Need::Conflict,
            (Is::After, Is::Before | Is::After | Is::Missing) => Need::Nothing,
            (Is::Before, Is::After) => Need::Swap,
            (Is::Before, Is::Before | Is::Missing) => Need::Stage,
        },
        (None, Some(_)) => match (target, temp) {
            (_, Is::Other | Is::Before) | (Is::Before | Is::Other, _) => Need::Conflict,
            (Is::After, Is::After | Is::Missing) => Need::Nothing,
            (Is::Missing, Is::After) => Need::Swap,
            (Is::Missing, Is::Missing) => Need::Stage,
        },
        (Some(_), None) => match (target, temp) {
            (_, Is::Other | Is::After) | (Is::After | Is::Other, _) => Need::Conflict,
            (Is::Missing, Is::Before | Is::Missing) => Need::Nothing,
            (Is::Before, Is::Missing) => Need::Swap,
            (Is::Before, Is::Before) => Need::Stage,
        },
        (None, None) => unreachable!("BUG: a change of nothing passed the refusals"),
    }
}

impl Job<'_> {
    /// Brings a change to where it only needs its swap, if it needs anything.
    pub(super) fn prepare(&self, n: usize, change: &Change) -> Result<Need, StoreError> {
        let folder = match self.ground.way(&change.path)? {
            Way::Open(folder) => folder,
            Way::Missing if change.after.is_none() => return Ok(Need::Nothing),
            Way::Missing => match self.make_folders(&change.path)? {
                Some(folder) => folder,
                None => return Ok(Need::Conflict),
            },
            Way::Link | Way::Blocked => return Ok(Need::Conflict),
        };
        let temp = self.temp(n);
        folder.clear(&part_of(&temp))?;
        let target = Is::new(self.ground.see(&folder, change.path.name())?, change);
        let need = need(change, target, Is::new(self.ground.see(&folder, &temp)?, change));
        if need != Need::Stage {
            return Ok(need);
        }
        // Only ever a copy of what is at the path itself.
        folder.clear(&temp)?;
        if let Some(after) = &change.after {
            self.stage(&folder, &temp, change, after)?;
        }
        Ok(Need::Swap)
    }

    /// Lets a change take its place, and looks at what came out.
    pub(super) fn swap(&self, n: usize, change: &Change) -> Result<Need, StoreError> {
        let Way::Open(folder) = self.ground.way(&change.path)? else { return Ok(Need::Conflict) };
        let (name, temp) = (change.path.name(), self.temp(n));
        let swapped = match (&change.before, &change.after) {
            (Some(_), Some(_)) => folder.exchange(&temp, name),
            (None, _) => folder.rename_new(&temp, name),
            (Some(_), None) => folder.rename_new(name, &temp),
        };
        match swapped {
            Ok(()) => {}
            Err(error) if error.is_missing() || error.is_taken() => return Ok(Need::Conflict),
            Err(error) => return Err(error),
        }
        let out = self.ground.see(&folder, &temp)?;
        Ok(if out.is(change.before.as_ref()) { Need::Nothing } else { Need::Conflict })
    }

    /// Makes the folders on the way to a path. `None` if one that was there is gone, or something is in the way.
    fn make_folders(&self, path: &RelPath) -> Result<Option<Place>, StoreError> {
        for folder in self.journal.made.iter().filter(|folder| path.is_within(folder)) {
            let Way::Open(above) = self.ground.way(folder)? else { return Ok(None) };
            match above.make_folder(folder.name(), 0o777) {
                Ok(()) => give_to_owner_of(&above, folder.name())?,
                Err(error) if error.is_taken() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(match self.ground.way(path)? {
            Way::Open(folder) => Some(folder),
            Way::Missing | Way::Link | Way::Blocked => None,
        })
    }

    /// Puts the new content into the temp. It is durable and complete before it has that name.
    fn stage(&self, folder: &Place, temp: &str, change: &Change, after: &Entry) -> Result<(), StoreError> {
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
        folder: &Place,
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

/// Owner first: changing it may clear permission bits. A file that we may not give away becomes ours, as with every program
/// that writes a file anew; whoever its group lets in then is let in no further than everybody.
fn keep_owner_and_mode(
    folder: &Place,
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

/// Gives a file that stays ours the group of the old one, where we may. The permission bits that it can have then.
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
fn give_to_owner_of(folder: &Place, name: &str) -> Result<(), StoreError> {
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
