//! What a stage did to the tree it was given.

use std::collections::BTreeSet;

use perspt_core::hash::Sha;
use perspt_core::path::RelPath;

use super::error::SlotError;
use super::layout::{Standing, believable};
use super::place::{Slot, Trust};
use super::scan::{Shape, scan};
use super::stamp::FileStamp;

/// How many new names are told.
pub const NAMED_AT_MOST: usize = 50;

/// How a slot's tree differed from what was laid out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Drift {
    /// Listed files that hold other bytes, are of another kind or were replaced by something else.
    pub changed: Vec<RelPath>,
    /// Listed files that are not there.
    pub gone: Vec<RelPath>,
    /// What was not listed and has been removed: the first [`NAMED_AT_MOST`], a new folder by its own name.
    pub new: Vec<RelPath>,
    /// How many there were in all.
    pub new_count: u64,
    /// Listed files with the right bytes that had been touched, and so got the time of now.
    pub refreshed: u64,
    /// Files whose bytes were read to find out.
    pub hashed: u64,
}

impl Drift {
    /// Whether all listed files are as they were laid out.
    pub fn is_faithful(&self) -> bool {
        self.changed.is_empty() && self.gone.is_empty()
    }
}

impl Slot {
    /// Compares the tree folder with what was laid out last. New files and folders are removed; listed files
    /// that were changed or removed stay so until the next layout. Files that were not touched cost a look at
    /// their stamps only.
    ///
    /// To be called after each stage, when none of its processes is left: it also notes the time, so that a
    /// clock that is set back later is noticed.
    pub fn recheck(&mut self) -> Result<Drift, SlotError> {
        let Some(tree) = self.laid_tree() else {
            return Err(SlotError::NotLaidOut { dir: self.dir.clone() });
        };
        let shape = Shape::of(&tree, &self.mounts)?;
        let now = self.clock.now()?;
        let scan = scan(&self.tree(), &shape)?;
        let mut drift = Drift::default();
        let mut changed = BTreeSet::new();
        for stray in &scan.strays {
            self.trash.take(&stray.place)?;
            if tree.entries.contains_key(&stray.shown) {
                changed.insert(stray.shown.clone());
                continue;
            }
            drift.new_count += 1;
            if drift.new.len() < NAMED_AT_MOST {
                drift.new.push(stray.shown.clone());
            }
        }
        let mut touched = Vec::new();
        for (path, entry) in &tree.entries {
            let found = scan.found.get(path);
            match self.standing(path, entry, found, now, &mut drift.hashed)? {
                Standing::Right(_) => {}
                Standing::Touched => touched.push((path, entry)),
                Standing::Wrong if found.is_some() => {
                    changed.insert(path.clone());
                }
                Standing::Wrong if changed.contains(path) => {}
                Standing::Wrong => drift.gone.push(path.clone()),
            }
        }
        drift.changed = changed.into_iter().collect();
        drift.refreshed = touched.len() as u64;
        if !touched.is_empty() {
            self.clock.wait_past(now.max(believable(&scan, now)))?;
        }
        let mut fresh = Vec::new();
        for (path, entry) in touched {
            fresh.push((path.clone(), self.refresh(path, entry)?, entry.hash));
        }
        self.note_times(fresh, &drift)?;
        self.trash.empty()?;
        Ok(drift)
    }

    fn note_times(&mut self, fresh: Vec<(RelPath, FileStamp, Sha)>, drift: &Drift) -> Result<(), SlotError> {
        match &self.laid {
            // The record names files whose bytes were found wrong although their stamps are right: it must
            // not become one whose stamps are relied on. The next layout makes a new one.
            Some(laid) if laid.trust == Trust::Stamps || drift.is_faithful() => {
                let files = laid.files.clone();
                self.settle_stamps(files, fresh)
            }
            Some(_) | None => self.clock.now().and_then(|now| self.clock.save(now)),
        }
    }
}
