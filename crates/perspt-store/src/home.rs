//! The data folder: where things are in it, and how its folders are made.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use perspt_core::hash::Sha;
use perspt_core::ids::{Millis, SessionId};

use crate::blobs::{Blobs, Shelf};
use crate::disk::{Disk, Open};
use crate::error::StoreError;
use crate::folder::{FOLDER_MODE, Folder, optional};
use crate::inbox::Inbox;
use crate::lock::LOCK;
use crate::scan::{Scanned, Scanner};

const SESSIONS: &str = "sessions";
const WORKSPACES: &str = "workspaces";
pub(crate) const LOG: &str = "log.jsonl";

/// The data folder of one user. Opening it changes nothing; folders are made when something is written.
#[derive(Clone)]
pub struct Home {
    root: PathBuf,
    disk: Arc<dyn Disk>,
    /// Folders whose entry this process has made durable. A folder that is merely there may be the work of a
    /// process that was killed before its sync.
    durable: Arc<Mutex<BTreeSet<PathBuf>>>,
}

/// One session as a listing shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionInfo {
    /// Its id.
    pub id: SessionId,
    /// The time of its first record; `None` where there is none: the session is half-created, or its first
    /// record cannot be read.
    pub begun: Option<Millis>,
    /// When the log, or the folder where there is no log, last changed.
    pub touched: Millis,
    /// Length of the log.
    pub bytes: u64,
}

/// What a folder among the sessions holds of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Traces {
    /// Nothing: it is no session, whoever made the folder.
    Nothing,
    /// A lock or a log, and no blob: one that was killed at its very beginning looks like this.
    Begun,
    /// Blobs. They come after the first record, so there must be one.
    Blobs,
}

impl Home {
    /// The home at this absolute path.
    pub fn open(root: PathBuf, disk: Arc<dyn Disk>) -> Result<Home, StoreError> {
        if !root.is_absolute() {
            return Err(StoreError::NotAbsolute(root));
        }
        Ok(Home { root, disk, durable: Arc::default() })
    }

    /// The path of the home.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where slots live; the store does not look inside.
    pub fn slots_dir(&self) -> PathBuf {
        self.root.join("slots")
    }

    /// Folders that no command needs to read. The slots are not among them: commands work there.
    pub fn private_places(&self) -> Vec<PathBuf> {
        [SESSIONS, WORKSPACES].map(|name| self.root.join(name)).into()
    }

    /// Where a session lives.
    pub fn session_dir(&self, id: &SessionId) -> PathBuf {
        self.root.join(SESSIONS).join(id.as_str())
    }

    /// The blobs of a session that are kept for good.
    pub fn blobs(&self, id: &SessionId) -> Result<Blobs, StoreError> {
        self.shelf(id, Shelf::Permanent)
    }

    /// The blobs of a session that are kept until they are released: prompts and answers.
    pub fn texts(&self, id: &SessionId) -> Result<Blobs, StoreError> {
        self.shelf(id, Shelf::Temporary)
    }

    pub(crate) fn shelf(&self, id: &SessionId, shelf: Shelf) -> Result<Blobs, StoreError> {
        check_id(id)?;
        Ok(Blobs::new(self.clone(), id.clone(), shelf))
    }

    /// The inbox of a session.
    pub fn inbox(&self, id: &SessionId) -> Result<Inbox, StoreError> {
        check_id(id)?;
        Ok(Inbox::new(self.clone(), id.clone()))
    }

    /// Every session, the newest first. Reads one line of each log.
    pub fn sessions(&self) -> Result<Vec<SessionInfo>, StoreError> {
        let Some(sessions) = self.existing(&[SESSIONS])? else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for name in sessions.names()? {
            let id = SessionId(name);
            if check_id(&id).is_ok()
                && let Ok(folder) = sessions.folder(id.as_str())
            {
                found.push(session_info(id, &folder)?);
            }
        }
        let age = |info: &SessionInfo| (info.begun.unwrap_or(info.touched), info.id.clone());
        found.sort_by_key(|info| std::cmp::Reverse(age(info)));
        Ok(found)
    }

    /// What there is of a session.
    pub fn traces(&self, id: &SessionId) -> Result<Traces, StoreError> {
        let folder = self.session(id)?;
        for shelf in Shelf::ALL {
            let blobs = optional(folder.folder(shelf.folder()))?;
            if blobs.map(|blobs| blobs.names()).transpose()?.is_some_and(|names| !names.is_empty()) {
                return Ok(Traces::Blobs);
            }
        }
        for name in [LOG, LOCK] {
            if optional(folder.look(name))?.is_some() {
                return Ok(Traces::Begun);
            }
        }
        Ok(Traces::Nothing)
    }

    pub(crate) fn disk(&self) -> &dyn Disk {
        self.disk.as_ref()
    }

    /// A folder below the home, to read from; `None` if it is missing.
    fn existing(&self, parts: &[&str]) -> Result<Option<Folder>, StoreError> {
        let Some(mut folder) = optional(Folder::root(self.disk(), &self.root))? else { return Ok(None) };
        for part in parts {
            let Some(next) = optional(folder.folder(part))? else { return Ok(None) };
            folder = next;
        }
        Ok(Some(folder))
    }

    /// A folder below the home, made and made durable where needed.
    fn made(&self, parts: &[&str]) -> Result<Folder, StoreError> {
        let mut folder = self.make_root(&self.root)?;
        for part in parts {
            folder = self.ensure(&folder, part)?;
        }
        Ok(folder)
    }

    /// The folder of a session that exists.
    pub(crate) fn session(&self, id: &SessionId) -> Result<Folder, StoreError> {
        check_id(id)?;
        self.existing(&[SESSIONS, id.as_str()])?.ok_or_else(|| StoreError::NoSession(id.clone()))
    }

    /// The folder of a session, made where it is missing.
    pub(crate) fn make_session(&self, id: &SessionId) -> Result<Folder, StoreError> {
        check_id(id)?;
        self.made(&[SESSIONS, id.as_str()])
    }

    /// What the home holds about a workspace, to read from.
    pub(crate) fn workspace(&self, path: &Path) -> Result<Option<Folder>, StoreError> {
        self.existing(&[WORKSPACES, &workspace_key(path)])
    }

    /// What the home holds about a workspace, made where it is missing.
    pub(crate) fn make_workspace(&self, path: &Path) -> Result<Folder, StoreError> {
        self.made(&[WORKSPACES, &workspace_key(path)])
    }

    /// A folder below `parent`, whose entry is durable on return.
    pub(crate) fn ensure(&self, parent: &Folder, name: &str) -> Result<Folder, StoreError> {
        let (folder, made) = match optional(parent.folder(name))? {
            Some(folder) => (folder, false),
            None => {
                if let Err(error) = parent.make_folder(name, FOLDER_MODE)
                    && !error.is_taken()
                {
                    return Err(error);
                }
                (parent.folder(name)?, true)
            }
        };
        let mut durable = self.durable.lock().unwrap_or_else(PoisonError::into_inner);
        if made || !durable.contains(&folder.path) {
            parent.sync()?;
            durable.insert(folder.path.clone());
        }
        Ok(folder)
    }

    /// The home's own folder, made where it is missing, with those above it.
    fn make_root(&self, path: &Path) -> Result<Folder, StoreError> {
        if let Some(folder) = optional(Folder::root(self.disk(), path))? {
            self.sync_entry(&folder)?;
            return Ok(folder);
        }
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
            return Folder::root(self.disk(), path);
        };
        let above = self.make_root(above)?;
        let name = name.to_str().ok_or_else(|| StoreError::Encode {
            what: "the path of the home",
            why: format!("{} is not UTF-8", path.display()),
        })?;
        self.ensure(&above, name)
    }

    /// Makes the entry of a folder durable that was there before us. Only an empty one needs it: we put
    /// nothing into a folder before its entry is durable, so one with entries is not from a process that was
    /// killed in between. A parent that is closed to us was not ours to make an entry in.
    fn sync_entry(&self, folder: &Folder) -> Result<(), StoreError> {
        let mut durable = self.durable.lock().unwrap_or_else(PoisonError::into_inner);
        if !durable.insert(folder.path.clone()) || !folder.names()?.is_empty() {
            return Ok(());
        }
        let Some(above) = folder.path.parent() else { return Ok(()) };
        match Folder::root(self.disk(), above) {
            Ok(above) => above.sync(),
            Err(error) if error.io_kind() == Some(ErrorKind::PermissionDenied) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

fn session_info(id: SessionId, folder: &Folder) -> Result<SessionInfo, StoreError> {
    let Some(stat) = optional(folder.look(LOG))? else {
        let touched = folder.dir.stat().map_err(folder.fail("look at", ""))?.modified;
        return Ok(SessionInfo { id, begun: None, touched, bytes: 0 });
    };
    let mut begun = None;
    if let Ok(file) = folder.open(LOG, Open::Read)
        && let Ok(Scanned::Record(record)) = Scanner::new(file, folder.at(LOG)).next()
    {
        begun = Some(record.at);
    }
    Ok(SessionInfo { id, begun, touched: stat.modified, bytes: stat.size })
}

/// A session's id is a folder's name, so it must be a tame one.
pub(crate) fn check_id(id: &SessionId) -> Result<(), StoreError> {
    let text = id.as_str();
    let tame = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if text.is_empty() || text.len() > 100 || text.starts_with('.') || !text.chars().all(tame) {
        return Err(StoreError::BadSessionId(text.chars().take(120).collect()));
    }
    Ok(())
}

fn workspace_key(path: &Path) -> String {
    Sha::of(path.as_os_str().as_encoded_bytes()).to_string()
}
