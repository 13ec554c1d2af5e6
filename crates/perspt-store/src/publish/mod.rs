//! Publishing: the only way files get into the user's tree.
//!
//! The journal is on disk before the first file changes, and holds everything needed to finish. Each new content is
//! written to a temp beside its file. Then the two names are exchanged in one step, and the temp holds the old content.
//! It is compared with what was expected there. It is removed once the caller's commit is in the log, and only if its
//! bytes are the known old or new ones. So a user who edits at any moment keeps their bytes, and after a kill at any
//! moment [`finish`] completes the publication or takes it back.
//!
//! Start reading at [`publish`]; `step` says what one path needs, `undo` how it is taken back.
//!
//! Limits: extended attributes and hard links of a replaced file are lost. The file system must be able to exchange two
//! names. A file cannot become a folder, or a folder a file, in one publication. A program that keeps a replaced file
//! open loses what it writes to it after [`settle`].

mod journal;
mod step;
mod undo;
mod workspace;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use perspt_core::event::KeptPlace;
use perspt_core::ids::{EffectId, SessionId};
use perspt_core::path::RelPath;
use perspt_core::tree::{Change, Entry};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::error::{PublishRefusal, StoreError};
use crate::home::{Home, LOG};
use crate::lock::WorkspaceLease;

use journal::Journal;
use step::NextStep;
use workspace::{EntryState, FolderLookup, WorkspaceTree};

/// A change of the user's tree that is to be carried out as a whole.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Publication {
    /// The session whose blobs hold the new contents.
    pub session: SessionId,
    /// The effect that publishes.
    pub effect: EffectId,
    /// The workspace, as an absolute path.
    pub workspace: PathBuf,
    /// What changes.
    pub changes: Vec<Change>,
    /// The caller's commit record; the store does not look inside.
    pub record: Box<RawValue>,
}

/// What came of a publication.
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Published {
    /// Every change is in the tree, durably. The journal stays until [`settle`].
    Done,
    /// Someone changed files meanwhile. Nothing of this publication is in the tree.
    BaseMoved {
        /// The paths whose content is not the expected one.
        paths: Vec<RelPath>,
        /// Bytes of the user that were saved elsewhere.
        kept: Vec<KeptBytes>,
    },
}

/// Bytes that someone wrote during the publication, and that are no longer at their path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptBytes {
    /// The path they were at.
    pub path: RelPath,
    /// Where they are now.
    pub place: KeptPlace,
}

struct Job<'a> {
    journal: &'a Journal,
    workspace: WorkspaceTree<'a>,
    home: &'a Home,
}

/// Carries out a publication. On [`Published::Done`] append the commit event, then call [`settle`].
///
/// After an error the tree is as it was, unless [`pending`] still finds the publication.
pub fn publish(
    home: &Home,
    lease: &WorkspaceLease,
    publication: &Publication,
) -> Result<Published, StoreError> {
    if lease.workspace() != publication.workspace {
        let (lease, publication) = (lease.workspace().to_owned(), publication.workspace.clone());
        return Err(StoreError::WrongLease { lease, publication });
    }
    refuse(&publication.changes)?;
    // The log may have been deleted meanwhile, and then nobody would find the commit.
    home.session(&publication.session)?.look(LOG)?;
    if journal::read(home, lease.workspace())?.is_some() {
        return Err(StoreError::PublishPending(lease.workspace().to_owned()));
    }
    let workspace = WorkspaceTree::new(lease);
    let moved = moved(&workspace, &publication.changes)?;
    if !moved.is_empty() {
        return Ok(Published::BaseMoved { paths: moved, kept: Vec::new() });
    }
    let made = missing_folders(&workspace, &publication.changes)?;
    let journal = Journal { publication: publication.clone(), made };
    journal::write(home, &journal)?;
    let job = Job { journal: &journal, workspace, home };
    job.run().or_else(|error| match job.take_back() {
        Ok(kept) if !kept.is_empty() => Ok(moved_by(kept)),
        // Where this failed too, the journal is still there for `finish`.
        Ok(_) | Err(_) => Err(error),
    })
}

/// Kept bytes mean that the user changed the base. That is reported before any other error.
fn moved_by(kept: Vec<KeptBytes>) -> Published {
    Published::BaseMoved { paths: kept.iter().map(|kept| kept.path.clone()).collect(), kept }
}

/// The publication into a workspace that a kill has interrupted. If its commit event is in the log call
/// [`settle`], else [`finish`].
pub fn pending(home: &Home, workspace: &Path) -> Result<Option<Publication>, StoreError> {
    Ok(journal::read(home, workspace)?.map(|journal| journal.publication))
}

/// Finishes the pending publication, or takes it back if the tree was changed meanwhile or its contents are
/// lost. May be killed and called again. Any other error leaves the journal for the next attempt.
pub fn finish(home: &Home, lease: &WorkspaceLease) -> Result<Published, StoreError> {
    let Some(journal) = journal::read(home, lease.workspace())? else {
        return Err(StoreError::NothingPending(lease.workspace().to_owned()));
    };
    // Its writer may have been killed before the sync.
    journal::sync(home, lease.workspace())?;
    let job = Job { journal: &journal, workspace: WorkspaceTree::new(lease), home };
    match job.run() {
        Err(error @ (StoreError::Damaged { .. } | StoreError::NoSession(_))) => {
            let kept = job.take_back()?;
            if kept.is_empty() { Err(error) } else { Ok(moved_by(kept)) }
        }
        result => result,
    }
}

/// Clears up after a publication whose commit event is in the log: removes the old files and folders that
/// became empty, then the journal. May be killed and called again. Hands back bytes that someone wrote to an
/// old file after it was replaced.
pub fn settle(home: &Home, lease: &WorkspaceLease) -> Result<Vec<KeptBytes>, StoreError> {
    let Some(journal) = journal::read(home, lease.workspace())? else { return Ok(Vec::new()) };
    let job = Job { journal: &journal, workspace: WorkspaceTree::new(lease), home };
    let kept = job.clear_temps()?;
    for change in &journal.publication.changes {
        if change.after.is_none() {
            job.workspace.remove_empty(change.path.parent())?;
        }
    }
    // A new file leaves no temp.
    job.workspace.sync(&job.parents(|change| change.before.is_some()))?;
    journal::remove(home, lease.workspace())?;
    Ok(kept)
}

impl Job<'_> {
    fn changes(&self) -> &[Change] {
        &self.journal.publication.changes
    }

    fn run(&self) -> Result<Published, StoreError> {
        let mut open = Vec::new();
        let mut moved = Vec::new();
        for (n, change) in self.changes().iter().enumerate() {
            match self.prepare(n, change)? {
                NextStep::Nothing => {}
                NextStep::Swap => open.push((n, change)),
                NextStep::Stage => unreachable!("BUG: a change is staged by preparing it"),
                NextStep::Conflict => moved.push(change.path.clone()),
            }
        }
        if moved.is_empty() {
            for (n, change) in open {
                if self.swap(n, change)? == NextStep::Conflict {
                    moved.push(change.path.clone());
                    break;
                }
            }
        }
        if moved.is_empty() {
            self.drop_unused()?;
            self.workspace.sync(&self.touched())?;
            return Ok(Published::Done);
        }
        let kept = self.take_back()?;
        Ok(Published::BaseMoved { paths: moved, kept })
    }

    /// Removes temps of new files that someone has made meanwhile with the same content.
    fn drop_unused(&self) -> Result<(), StoreError> {
        for (n, change) in self.changes().iter().enumerate() {
            if change.before.is_none()
                && let FolderLookup::Open(folder) = self.workspace.parent_of(&change.path)?
            {
                folder.clear(&self.temp(n))?;
            }
        }
        Ok(())
    }

    /// The folders in which an entry changes.
    fn touched(&self) -> BTreeSet<RelPath> {
        let made = self.journal.made.iter().filter_map(RelPath::parent);
        self.parents(|_| true).into_iter().chain(made).collect()
    }

    /// The folders of some of the changes.
    fn parents(&self, which: impl Fn(&Change) -> bool) -> BTreeSet<RelPath> {
        let some = self.changes().iter().filter(|change| which(change));
        some.filter_map(|change| change.path.parent()).collect()
    }

    /// The name beside a file under which its new content waits and its old content is kept.
    fn temp(&self, n: usize) -> String {
        format!("{PREFIX}{}-{n}", self.journal.publication.effect.short())
    }
}

const PREFIX: &str = ".perspt-";

/// Refuses changes that are never carried out, whatever is in the workspace.
fn refuse(changes: &[Change]) -> Result<(), StoreError> {
    let no = |change: &Change, why| Err(StoreError::Unpublishable { path: change.path.clone(), why });
    let mut paths = BTreeSet::new();
    for change in changes {
        let path = &change.path;
        let ours = path.is_root() || path.parts().any(|part| part == ".git" || part.starts_with(PREFIX));
        if ours {
            return no(change, PublishRefusal::Name);
        }
        if same(change.before.as_ref(), change.after.as_ref()) {
            return no(change, PublishRefusal::NoChange);
        }
        if !paths.insert(path) {
            return no(change, PublishRefusal::Twice);
        }
    }
    for change in changes {
        if change.path.ancestors().any(|above| paths.contains(&above)) {
            return no(change, PublishRefusal::FileAndFolder);
        }
    }
    Ok(())
}

fn same(one: Option<&Entry>, other: Option<&Entry>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one.kind == other.kind && one.hash == other.hash,
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    }
}

/// The paths that are not what the changes start from.
fn moved(workspace: &WorkspaceTree<'_>, changes: &[Change]) -> Result<Vec<RelPath>, StoreError> {
    let mut moved = Vec::new();
    for change in changes {
        let seen = match workspace.parent_of(&change.path)? {
            FolderLookup::Open(folder) => workspace.inspect(&folder, change.path.name())?,
            FolderLookup::Missing => EntryState::Missing,
            FolderLookup::Link if change.before.is_none() => {
                let why = PublishRefusal::ThroughLink;
                return Err(StoreError::Unpublishable { path: change.path.clone(), why });
            }
            FolderLookup::Link | FolderLookup::Blocked => EntryState::Other,
        };
        if !seen.matches(change.before.as_ref()) {
            moved.push(change.path.clone());
        }
    }
    Ok(moved)
}

/// The folders that the changes need and that are not there, outer ones first.
fn missing_folders(workspace: &WorkspaceTree<'_>, changes: &[Change]) -> Result<Vec<RelPath>, StoreError> {
    let mut missing = BTreeSet::new();
    for change in changes.iter().filter(|change| change.after.is_some()) {
        for folder in change.path.ancestors().filter(|folder| !folder.is_root()) {
            if missing.contains(&folder) || !matches!(workspace.folder(&folder)?, FolderLookup::Missing) {
                break;
            }
            missing.insert(folder);
        }
    }
    Ok(missing.into_iter().collect())
}
