//! Opening a session: creating its log, or taking it up again after whatever happened to it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use perspt_core::event::{Ended, Event, SCHEMA, SessionResumed, SessionStarted};
use perspt_core::ids::{Millis, SessionId};
use perspt_core::outcome::NodeEnd;
use perspt_core::state::SessionState;
use perspt_core::view::History;
use perspt_store::publish::{self, KeptBytes, Publication, Published};
use perspt_store::{Home, LogWriter, Opened, StoreError, TailCut, WorkspaceLease};

use crate::AgentError;
use crate::commit::bytes_kept;
use crate::ports::{Appended, Unseen, View};
use crate::session::lost;

/// A session that can be run: its log, its state, and the right to work in its workspace.
pub struct Open {
    /// The log.
    pub writer: LogWriter,
    /// The fold of everything in it.
    pub state: SessionState,
    /// What the state does not keep.
    pub history: History,
    /// The workspace.
    pub workspace: PathBuf,
    /// The right to work there.
    pub lease: WorkspaceLease,
    /// A torn end that was cut off.
    pub cut: Option<TailCut>,
}

/// Begins a session. Whatever another session left half published in the workspace is finished first.
pub fn begin(
    home: &Home,
    at: Millis,
    started: SessionStarted,
    view: &mut dyn View,
) -> Result<Open, AgentError> {
    let workspace = PathBuf::from(&started.workspace);
    let lease =
        wait_for_dead_holder(|| Ok(WorkspaceLease::try_acquire(home, &workspace, &started.session)?))?;
    finish_of_another(home, &lease, at)?;
    let writer = LogWriter::create(home, &started.session)?;
    let (state, history) = (SessionState::default(), History::default());
    let mut log = OpenLog { writer, state, history, cut: None, at, view };
    log.append(&Event::SessionStarted(Box::new(started)))?;
    Ok(log.opened(workspace, lease))
}

/// Takes a session up again: effects that were begun and not ended are settled first, each by its kind.
pub fn resume(
    home: &Home,
    id: &SessionId,
    at: Millis,
    resumed: SessionResumed,
    view: &mut dyn View,
) -> Result<Open, AgentError> {
    let (mut log, workspace, lease) = take_up(home, id, at, view)?;
    if log.state.end.as_ref().is_some_and(|end| !end.reason.is_resumable()) {
        return Ok(log.opened(workspace, lease));
    }
    if let Some(cut) = &log.cut {
        let kept_as = cut.kept_as.file_name().unwrap_or_default().to_string_lossy().into_owned();
        log.append(&Event::TailCut { offset: cut.offset, bytes: cut.bytes, kept_as })?;
    }
    for event in lost(&log.state) {
        log.append(&event)?;
    }
    log.append(&Event::SessionResumed(resumed))?;
    Ok(log.opened(workspace, lease))
}

/// Ends a session for good whose process is gone or that could be resumed: abort from another terminal when nobody
/// is there to read it.
pub fn abort_dead(home: &Home, id: &SessionId, at: Millis, by: &str) -> Result<SessionState, AgentError> {
    let mut unseen = Unseen;
    let (mut log, _, _lease) = take_up(home, id, at, &mut unseen)?;
    if log.state.end.as_ref().is_some_and(|end| !end.reason.is_resumable()) {
        return Ok(log.state);
    }
    for event in lost(&log.state) {
        log.append(&event)?;
    }
    log.append(&Event::AbortAsked { by: by.to_owned() })?;
    while let Some(event) = log.state.due(at) {
        log.append(&event)?;
    }
    home.texts(id)?.release()?;
    Ok(log.state)
}

/// A log that is being opened: what is appended is folded and shown at once.
struct OpenLog<'v> {
    writer: LogWriter,
    state: SessionState,
    history: History,
    cut: Option<TailCut>,
    at: Millis,
    view: &'v mut dyn View,
}

impl<'v> OpenLog<'v> {
    fn open(
        home: &Home,
        id: &SessionId,
        at: Millis,
        view: &'v mut dyn View,
    ) -> Result<OpenLog<'v>, AgentError> {
        let (opened, state, history, released) = wait_for_dead_holder(|| read_for_writing(home, id))?;
        if released {
            // Whoever recorded that may have been killed before it was done.
            home.texts(id)?.release()?;
        }
        Ok(OpenLog { writer: opened.writer, state, history, cut: opened.cut, at, view })
    }

    fn append(&mut self, event: &Event) -> Result<(), AgentError> {
        let at = self.at.max(self.state.last_at);
        let stamp = self.writer.append(at, SCHEMA, event)?;
        self.state.apply(at, event);
        self.history.apply(event);
        let (stamp, state, history) = (&stamp, &self.state, &self.history);
        self.view.saw(Appended { stamp, at, event, state, history });
        Ok(())
    }

    /// Finishes the publication that a kill interrupted, records its outcome, then clears its journal.
    fn finish(
        &mut self,
        home: &Home,
        lease: &WorkspaceLease,
        publication: &Publication,
    ) -> Result<(), AgentError> {
        let in_flight = self.state.in_flight.contains_key(&publication.effect);
        if in_flight || !is_committed(&self.state, publication) {
            let outcome = match publish::finish(home, lease)? {
                Published::Done => {
                    serde_json::from_str::<Ended>(publication.record.get()).map_err(|error| {
                        AgentError::Blob { what: "a publication's record", why: error.to_string() }
                    })?
                }
                // Taken back: the next attempt finds out what moved.
                Published::BaseMoved { kept, .. } => {
                    self.record_kept(kept)?;
                    Ended::Lost
                }
            };
            // One that is not in flight broke, that was recorded, and it could not be taken back then. The next
            // attempt sees whether it is in the tree now.
            if in_flight {
                self.append(&self.state.effect_ended(publication.effect, outcome))?;
            }
        }
        let kept = publish::settle(home, lease)?;
        self.record_kept(kept)
    }

    fn record_kept(&mut self, kept: Vec<KeptBytes>) -> Result<(), AgentError> {
        kept.into_iter().try_for_each(|kept| self.append(&bytes_kept(kept)))
    }

    fn opened(self, workspace: PathBuf, lease: WorkspaceLease) -> Open {
        Open {
            writer: self.writer,
            state: self.state,
            history: self.history,
            workspace,
            lease,
            cut: self.cut,
        }
    }
}

/// Opens a log to go on with it: the fold of what is in it, and whether its texts were let go last.
fn read_for_writing(
    home: &Home,
    id: &SessionId,
) -> Result<(Opened, SessionState, History, bool), AgentError> {
    let (mut state, mut history) = (SessionState::default(), History::default());
    let mut failed = None;
    let mut released = false;
    let opened = LogWriter::open(home, id, &mut |record| {
        if failed.is_some() {
            return;
        }
        match record.decode() {
            Ok(event) => {
                state.apply(record.at, &event);
                history.apply(&event);
                released = state.releases_texts(&event) || (released && event.text().is_none());
            }
            Err(unknown) => failed = Some(AgentError::TooNew { seq: record.seq, unknown }),
        }
    })?;
    failed.map_or(Ok((opened, state, history, released)), Err)
}

/// Takes a lock. Where it is held for a process that is gone, its last children are about to let go of it.
fn wait_for_dead_holder<T>(take: impl Fn() -> Result<T, AgentError>) -> Result<T, AgentError> {
    const LOOK: Duration = Duration::from_millis(20);
    const LOOKS: u32 = 250;
    for _ in 0..LOOKS {
        match take() {
            Err(AgentError::Store(StoreError::Held { holder, .. })) if !holder.is_alive() => {
                std::thread::sleep(LOOK);
            }
            other => return other,
        }
    }
    take()
}

/// Opens the log and takes the workspace of a session that has begun, and finishes what was half published there.
fn take_up<'v>(
    home: &Home,
    id: &SessionId,
    at: Millis,
    view: &'v mut dyn View,
) -> Result<(OpenLog<'v>, PathBuf, WorkspaceLease), AgentError> {
    let mut log = OpenLog::open(home, id, at, view)?;
    let workspace = PathBuf::from(&log.state.meta.as_ref().ok_or(AgentError::NeverBegun)?.workspace);
    let lease = wait_for_dead_holder(|| Ok(WorkspaceLease::try_acquire(home, &workspace, id)?))?;
    match publish::pending(home, lease.workspace())? {
        Some(publication) if publication.session == *id => log.finish(home, &lease, &publication)?,
        Some(_) => finish_of_another(home, &lease, at)?,
        None => {}
    }
    Ok((log, workspace, lease))
}

/// Finishes what another session left half published, in that session's own log.
fn finish_of_another(home: &Home, lease: &WorkspaceLease, at: Millis) -> Result<(), AgentError> {
    let Some(publication) = publish::pending(home, lease.workspace())? else { return Ok(()) };
    // Its records are for whoever looks at that session.
    OpenLog::open(home, &publication.session, at, &mut Unseen)?.finish(home, lease, &publication)
}

/// Whether the commit that a publication was made for is in the log.
fn is_committed(state: &SessionState, publication: &Publication) -> bool {
    let Ok(Ended::Published { commit, .. }) = serde_json::from_str(publication.record.get()) else {
        return false;
    };
    state
        .nodes
        .get(&commit.node)
        .is_some_and(|node| node.end == Some(NodeEnd::Committed) && node.merkle == Some(commit.merkle))
}

/// Whether a folder may hold perspt's data for this workspace: not inside it, and not inside a cargo
/// project, where cargo would look upwards from a slot and find another workspace.
pub fn data_dir_refusal(data: &Path, workspace: &Path) -> Option<String> {
    if data.starts_with(workspace) {
        return Some(format!("the data directory {} lies inside the workspace", data.display()));
    }
    data.ancestors().find(|folder| folder.join("Cargo.toml").exists()).map(|folder| {
        format!("the data directory {} lies inside the cargo project {}", data.display(), folder.display())
    })
}
