//! Reading a workspace into a tree: every file that is tracked by git or not ignored.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, SystemTime};

use perspt_core::path::RelPath;
use perspt_core::tree::{Entry, Tree};

use super::cache::StatCache;
use super::error::{IndexProblem, WalkError, WalkNote};
use super::names::{GIT, at, is_publish_temp};
use super::rules::{self, Rules, What};
use super::settle::{Settled, is_absent, present, read_hash, read_small, settle};
use super::stamp::{FileStamp, FsTime};
use super::tracked::git_folder;

/// How much a walk may take in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WalkLimits {
    /// The most files a tree may have.
    pub max_files: usize,
}

impl Default for WalkLimits {
    fn default() -> WalkLimits {
        WalkLimits { max_files: 200_000 }
    }
}

/// A workspace's tree, and what it took to read it.
#[derive(Debug, Clone)]
pub struct Walked {
    /// The files.
    pub tree: Tree,
    /// How many files' bytes (or links' texts) were read; the others were known from the cache.
    pub hashed: u64,
    /// How many folders were listed. Ignored folders are not.
    pub dirs_read: u64,
    /// What was passed over.
    pub notes: Vec<WalkNote>,
}

/// A change that follows a reading of the system clock has a change time of at least that reading less this.
/// It covers the ticks of common file systems (up to two seconds) and of the kernel's own clock. Limit: where
/// a server's clock lags behind by more, a second change within the same tick of that clock may be missed.
const MARGIN: Duration = Duration::from_secs(2);
/// Larger ignore files and pointers are no such thing.
pub(super) const MAX_TEXT: u64 = 1 << 20;

/// Reads the workspace at `workspace` (which must be resolved) into a tree.
///
/// In the tree are all files and links that are tracked by the git repository at the workspace, or by one
/// nested in it, or that are not ignored by the `.gitignore` files and `.git/info/exclude` inside the
/// workspace. Rules from outside (the user's, or of folders above) do not count, and without git the same
/// holds without tracked files. `.git` is never part of it, at any depth; nested repositories and
/// submodules are ordinary folders. Links are entries and are never followed. An ignored folder is not
/// entered; tracked files in it are looked up one by one.
///
/// Limits: where the workspace is a folder inside a repository, a file that is tracked *and* ignored is not
/// seen as tracked; and where `.git` is a pointer to a folder elsewhere, that folder's `info/exclude` is not
/// read. The files are read one after the other, so the tree is not an instant's picture; who acts on it
/// checks the hashes again.
///
/// `cache` is brought up to date, also by forgetting what is no longer there; after an error it is as before.
pub fn walk(workspace: &Path, cache: &mut StatCache, limits: &WalkLimits) -> Result<Walked, WalkError> {
    let mut walk = Walk {
        root: workspace,
        old: cache,
        new: StatCache::new(),
        floor: FsTime::of_system(SystemTime::now().checked_sub(MARGIN).unwrap_or(SystemTime::UNIX_EPOCH)),
        limits,
        out: Walked { tree: Tree::default(), hashed: 0, dirs_read: 0, notes: Vec::new() },
        repositories: Vec::new(),
    };
    let mut pending = vec![(RelPath::root(), Rc::new(Rules::default()))];
    while let Some((folder, above)) = pending.pop() {
        walk.folder(&folder, &above, &mut pending)?;
    }
    walk.tracked()?;
    let Walk { new, out, .. } = walk;
    *cache = new;
    Ok(out)
}

/// A walk under way.
pub(super) struct Walk<'a> {
    pub(super) root: &'a Path,
    old: &'a StatCache,
    new: StatCache,
    floor: FsTime,
    limits: &'a WalkLimits,
    pub(super) out: Walked,
    /// Folders that hold `.git`, and where the index of each is.
    pub(super) repositories: Vec<(RelPath, PathBuf)>,
}

type Pending = Vec<(RelPath, Rc<Rules>)>;

impl Walk<'_> {
    /// Takes in one folder; the folders in it that are not ignored are put on `pending`.
    fn folder(&mut self, rel: &RelPath, above: &Rc<Rules>, pending: &mut Pending) -> Result<(), WalkError> {
        let path = at(self.root, rel);
        let Some(names) = self.list(rel, &path)? else { return Ok(()) };
        let rules = Rules::below(above, self.own_rules(rel, &path, &names)?);
        for (name, kind) in names {
            if name == GIT {
                continue;
            }
            let what = if kind.is_dir() { What::Folder } else { What::Other };
            let below = path.join(&name);
            if rules.leave_out(&below, what) {
                continue;
            }
            let Some(name) = name.to_str() else {
                return Err(WalkError::NotUtf8 { shown: shown_below(rel, &name.to_string_lossy()) });
            };
            if what == What::Other && is_publish_temp(name) {
                continue;
            }
            let entry = rel.join(name).map_err(|_| WalkError::ControlCharacter {
                shown: shown_below(rel, &name.escape_debug().to_string()),
            })?;
            match what {
                What::Folder => pending.push((entry, Rc::clone(&rules))),
                What::Other => self.take(entry)?,
            }
        }
        Ok(())
    }

    /// The names in a folder; `None` if a folder below the workspace vanished meanwhile.
    fn list(
        &mut self,
        rel: &RelPath,
        path: &Path,
    ) -> Result<Option<Vec<(OsString, fs::FileType)>>, WalkError> {
        let listed = fs::read_dir(path).and_then(|entries| {
            entries.map(|entry| entry.and_then(|entry| Ok((entry.file_name(), entry.file_type()?)))).collect()
        });
        match listed {
            Ok(names) => {
                self.out.dirs_read += 1;
                Ok(Some(names))
            }
            Err(error) if is_absent(&error) && !rel.is_root() => Ok(None),
            Err(source) => Err(WalkError::Io { path: rel.clone(), source }),
        }
    }

    /// The rule sets that lie in a folder: its `.gitignore`, then its repository's own excludes, which are
    /// weaker. Notes the repository for [`Walk::tracked`].
    fn own_rules(
        &mut self,
        rel: &RelPath,
        path: &Path,
        names: &[(OsString, fs::FileType)],
    ) -> Result<Vec<ignore::gitignore::Gitignore>, WalkError> {
        let kind_of = |wanted: &str| names.iter().find(|(name, _)| name == wanted).map(|(_, kind)| *kind);
        let mut files = Vec::new();
        if kind_of(".gitignore").is_some() {
            files.push(".gitignore");
        }
        if let Some(kind) = kind_of(GIT) {
            if kind.is_dir() {
                files.push(".git/info/exclude");
            }
            match git_folder(path) {
                Ok(Some(folder)) => self.repositories.push((rel.clone(), folder.join("index"))),
                Ok(None) => {}
                Err(error) => self.note_index(rel, IndexProblem::Unreadable(error.kind())),
            }
        }
        let mut own = Vec::new();
        for file in files {
            let place = path.join(file);
            // What a link leads to does not lie in the workspace; git does not read such a `.gitignore` either.
            if !fs::symlink_metadata(&place).is_ok_and(|meta| meta.is_file()) {
                continue;
            }
            let text = read_small(&place, MAX_TEXT)
                .map_err(|source| WalkError::Io {
                    path: rel.join(file).unwrap_or_else(|_| rel.clone()),
                    source,
                })?
                .unwrap_or_default();
            let (rules, bad) = rules::parse(path, &text);
            own.push(rules);
            let note = |line| WalkNote::Rule { folder: rel.clone(), line };
            self.out.notes.extend(bad.into_iter().map(note));
        }
        Ok(own)
    }

    /// Takes one file or link into the tree, reading it only if the cache does not know it.
    pub(super) fn take(&mut self, path: RelPath) -> Result<(), WalkError> {
        let place = at(self.root, &path);
        let failed = |source| WalkError::Io { path: path.clone(), source };
        let stamp =
            present(fs::symlink_metadata(&place)).map_err(failed)?.and_then(|meta| FileStamp::of(&meta));
        let known = stamp.and_then(|stamp| Some((stamp, self.old.trusted(&path, &stamp)?)));
        let (stamp, hash) = match known {
            Some(known) => known,
            None => match settle(&place, &mut read_hash).map_err(failed)? {
                Settled::Is(stamp, hash) => {
                    self.out.hashed += 1;
                    (stamp, hash)
                }
                Settled::Gone | Settled::Folder => return Ok(()),
                Settled::Special => {
                    self.out.notes.push(WalkNote::Special { path });
                    return Ok(());
                }
                Settled::Changing => return Err(WalkError::Changing { path }),
            },
        };
        if self.out.tree.entries.len() >= self.limits.max_files {
            return Err(WalkError::TooManyFiles { limit: self.limits.max_files });
        }
        self.new.record(path.clone(), stamp, hash, self.floor);
        self.out.tree.entries.insert(path, Entry { kind: stamp.kind, hash, size: stamp.size });
        Ok(())
    }
}

pub(super) fn shown_below(folder: &RelPath, name: &str) -> String {
    if folder.is_root() { name.to_owned() } else { format!("{folder}/{name}") }
}
