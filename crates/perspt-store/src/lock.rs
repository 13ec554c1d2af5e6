//! Who holds what. A lock is the kernel's: it is free as soon as its holder is gone, however that came.

use std::fmt;
use std::path::{Path, PathBuf};

use perspt_core::ids::SessionId;
use perspt_core::view::Owner;
use serde::{Deserialize, Serialize};

use crate::disk::{File, Locked, Open};
use crate::error::StoreError;
use crate::folder::{FILE_MODE, Folder};
use crate::home::Home;

pub(crate) const LOCK: &str = "lock";
const HOLDER: &str = "holder.json";
const HOLDER_MAX: u64 = 16 * 1024;

/// A process that holds a lock, as it wrote itself down. For people: the lock itself is what counts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// The session it holds, or holds the workspace for; `None` where it could not be read.
    pub session: Option<SessionId>,
    /// Its process id.
    pub pid: u32,
    /// When the process started, in the kernel's ticks since boot; with the pid it names one process.
    pub started: u64,
    /// The name of its program.
    pub command: String,
}

impl Holder {
    /// This process, on behalf of a session.
    pub fn this_process(session: &SessionId) -> Holder {
        let (command, started) = std::fs::read_to_string("/proc/self/stat")
            .ok()
            .and_then(|stat| name_and_start(&stat))
            .unwrap_or_default();
        Holder { session: Some(session.clone()), pid: std::process::id(), started, command }
    }

    /// Whether that very process is still there. One that is gone may leave its lock behind for a moment, in a
    /// child that it had just forked and that is not another program yet.
    pub fn is_alive(&self) -> bool {
        std::fs::read_to_string(format!("/proc/{}/stat", self.pid))
            .ok()
            .and_then(|stat| name_and_start(&stat))
            .is_some_and(|(_, started)| started == self.started)
    }

    fn line(&self) -> Result<Vec<u8>, StoreError> {
        let mut line = serde_json::to_vec(self)
            .map_err(|error| StoreError::Encode { what: "the holder of a lock", why: error.to_string() })?;
        line.push(b'\n');
        Ok(line)
    }

    /// Reads who holds a lock. The holder may be about to write itself down, so anything unreadable is an
    /// unknown holder.
    fn read(folder: &Folder, name: &str) -> Holder {
        folder
            .read(name, HOLDER_MAX)
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or_default()
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(session) = &self.session else { return f.write_str("an unknown process") };
        write!(f, "session {session} (process {}, {})", self.pid, self.command)
    }
}

/// The name and start time in a line of `/proc/<pid>/stat`. The name is in parentheses and may hold any
/// character, so the fields are counted from the last closing one.
fn name_and_start(stat: &str) -> Option<(String, u64)> {
    let (before, after) = stat.rsplit_once(')')?;
    let (_, name) = before.split_once('(')?;
    let started = after.split_whitespace().nth(19)?.parse().ok()?;
    Some((name.to_owned(), started))
}

/// The lock of a session, held until dropped.
pub(crate) struct SessionLock {
    _file: Box<dyn File>,
}

impl SessionLock {
    pub fn take(session: &Folder, id: &SessionId) -> Result<SessionLock, StoreError> {
        let file = session.open(LOCK, Open::Any(FILE_MODE))?;
        match file.try_lock().map_err(session.fail("lock", LOCK))? {
            Locked::Taken => {}
            Locked::Busy => {
                let holder = Box::new(Holder::read(session, LOCK));
                return Err(StoreError::Held { path: session.at(LOCK), holder });
            }
        }
        file.truncate(0).map_err(session.fail("cut", LOCK))?;
        session.fill(LOCK, file.as_ref(), &Holder::this_process(id).line()?)?;
        Ok(SessionLock { _file: file })
    }
}

impl Home {
    /// Whether the process that owns a session lives.
    pub fn owner(&self, id: &SessionId) -> Result<Owner, StoreError> {
        Ok(if self.holder(id)?.is_some() { Owner::Alive } else { Owner::Gone })
    }

    /// The process that works on a session now; `None` where nobody does. It is told by what the holder
    /// wrote down and whether that very process still lives: asking for the lock itself could make a
    /// process that is just starting believe it is taken.
    pub fn holder(&self, id: &SessionId) -> Result<Option<Holder>, StoreError> {
        let holder = Holder::read(&self.session(id)?, LOCK);
        Ok(holder.is_alive().then_some(holder))
    }

    /// The session that was the last to work in a workspace, as far as that was written down.
    pub fn last_session_in(&self, workspace: &Path) -> Result<Option<SessionId>, StoreError> {
        Ok(self.workspace(workspace)?.and_then(|folder| Holder::read(&folder, HOLDER).session))
    }
}

/// The right to work in a workspace: the lock on its folder, held until dropped.
#[must_use = "the lease ends when it is dropped"]
pub struct WorkspaceLease {
    workspace: PathBuf,
    folder: Folder,
}

impl WorkspaceLease {
    /// Takes the lease for a session, or says who has it. Does not wait.
    pub fn try_acquire(
        home: &Home,
        workspace: &Path,
        session: &SessionId,
    ) -> Result<WorkspaceLease, StoreError> {
        if !workspace.is_absolute() {
            return Err(StoreError::NotAbsolute(workspace.to_owned()));
        }
        let folder = Folder::root(home.disk(), workspace)?;
        match folder.dir.try_lock().map_err(folder.fail("lock", ""))? {
            Locked::Taken => {}
            Locked::Busy => {
                let known = home.workspace(workspace)?;
                let holder = known.map(|folder| Holder::read(&folder, HOLDER)).unwrap_or_default();
                return Err(StoreError::Held { path: workspace.to_owned(), holder: Box::new(holder) });
            }
        }
        // Not synced: after a crash nobody holds anything.
        let notes = home.make_workspace(workspace)?;
        let staged = format!("{HOLDER}.new");
        notes.clear(&staged)?;
        let file = notes.open(&staged, Open::New(FILE_MODE))?;
        notes.fill(&staged, file.as_ref(), &Holder::this_process(session).line()?)?;
        notes.rename(&staged, HOLDER)?;
        Ok(WorkspaceLease { workspace: workspace.to_owned(), folder })
    }

    /// The workspace it is for.
    pub fn workspace(&self) -> &Path {
        &self.workspace
    }

    pub(crate) fn folder(&self) -> &Folder {
        &self.folder
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_name_with_parentheses_does_not_shift_the_fields() {
        let stat = "77 (a) b (c)) S 1 77 77 0 -1 4194560 1 0 0 0 1 2 0 0 20 0 1 0 991 2433024 1";
        assert_eq!(name_and_start(stat), Some(("a) b (c)".to_owned(), 991)));
    }
}
