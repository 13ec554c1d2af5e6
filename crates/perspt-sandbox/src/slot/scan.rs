//! What lies in a slot's tree folder, against what should.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use perspt_core::path::RelPath;
use perspt_core::tree::Tree;

use super::error::{BadTarget, SlotError};
use super::names::{GIT, at, is_publish_temp};
use super::remove::make_usable;
use super::stamp::{FileStamp, FsTime};

/// A tree that can be laid out, and the folders it needs.
pub(super) struct Shape<'a> {
    pub(super) target: &'a Tree,
    pub(super) folders: BTreeSet<RelPath>,
}

impl<'a> Shape<'a> {
    /// Checks that `target` can be laid out, with `mounts` as empty folders in it.
    pub(super) fn of(target: &'a Tree, mounts: &[RelPath]) -> Result<Shape<'a>, SlotError> {
        let bad = |path: &RelPath, why| Err(SlotError::BadTarget { path: path.clone(), why });
        let mut folders = BTreeSet::new();
        for path in target.entries.keys() {
            if path.is_root() {
                return bad(path, BadTarget::Root);
            }
            if path.parts().any(|part| part == GIT) {
                return bad(path, BadTarget::Git);
            }
            if is_publish_temp(path.name()) {
                return bad(path, BadTarget::Reserved);
            }
            folders.extend(path.ancestors().filter(|folder| !folder.is_root()));
        }
        for mount in mounts.iter().filter(|mount| !mount.is_root()) {
            if std::iter::once(mount.clone())
                .chain(mount.ancestors())
                .any(|at| target.entries.contains_key(&at))
            {
                return bad(mount, BadTarget::MountPoint);
            }
            folders.insert(mount.clone());
            folders.extend(mount.ancestors().filter(|folder| !folder.is_root()));
        }
        match folders.iter().find(|folder| target.entries.contains_key(folder)) {
            Some(file) => {
                let below = target.entries.keys().find(|path| *path != file && path.is_within(file));
                bad(below.unwrap_or(file), BadTarget::BelowFile)
            }
            None => Ok(Shape { target, folders }),
        }
    }
}

/// Something that has no place in the tree. A folder stands for all that is in it.
pub(super) struct Stray {
    pub(super) place: PathBuf,
    /// Its path for people: replacement characters stand for what a path cannot hold.
    pub(super) shown: RelPath,
}

/// What lies in a tree folder.
pub(super) struct Scan {
    /// Files and links at paths where the tree has one, right or not.
    pub(super) found: BTreeMap<RelPath, FileStamp>,
    /// Everything else.
    pub(super) strays: Vec<Stray>,
    /// The latest modification that was seen.
    pub(super) latest: FsTime,
}

/// Looks at everything in `root`, without following links and without entering folders that have no place
/// there. Folders that have one are made usable again if a program took its owner's rights away.
pub(super) fn scan(root: &Path, shape: &Shape<'_>) -> Result<Scan, SlotError> {
    let mut scan = Scan { found: BTreeMap::new(), strays: Vec::new(), latest: FsTime::default() };
    let mut pending = vec![RelPath::root()];
    while let Some(folder) = pending.pop() {
        let place = at(root, &folder);
        let meta = fs::symlink_metadata(&place).map_err(SlotError::io("look at", &place))?;
        if !meta.is_dir() {
            // The tree folder itself was swapped: what lies behind a link is not ours to clear.
            return Err(SlotError::NotAFolder { path: place });
        }
        make_usable(&place, &meta).map_err(SlotError::io("open up", &place))?;
        for entry in fs::read_dir(&place).map_err(SlotError::io("list", &place))? {
            let entry = entry.map_err(SlotError::io("list", &place))?;
            let meta = entry.metadata().map_err(SlotError::io("look at", entry.path()))?;
            scan.latest = scan.latest.max(FsTime::modified(&meta));
            let path = entry.file_name().to_str().and_then(|name| folder.join(name).ok());
            match (path, FileStamp::of(&meta)) {
                (Some(path), Some(stamp)) if shape.target.entries.contains_key(&path) => {
                    scan.found.insert(path, stamp);
                }
                (Some(path), None) if meta.is_dir() && shape.folders.contains(&path) => pending.push(path),
                (_, _) => {
                    let shown = shown_name(&folder, &entry.file_name().to_string_lossy());
                    scan.strays.push(Stray { place: entry.path(), shown });
                }
            }
        }
    }
    scan.strays.sort_by(|a, b| a.place.cmp(&b.place));
    Ok(scan)
}

fn shown_name(folder: &RelPath, name: &str) -> RelPath {
    let plain: String =
        name.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect();
    folder.join(&plain).unwrap_or_else(|_| folder.clone())
}
