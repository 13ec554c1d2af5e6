//! Opening a session: creating its log, or taking it up again after whatever happened to it.

use std::path::{Path, PathBuf};

use perspt_core::event::{Ended, Event, SCHEMA, SessionResumed, SessionStarted};
use perspt_core::ids::{Millis, SessionId};
use perspt_core::outcome::NodeEnd;
use perspt_core::state::SessionState;
use perspt_store::publish::{self, Publication, Published};
use perspt_store::{Home, LogReader, LogWriter, Record, TailCut, WorkspaceLease};

use crate::AgentError;
use crate::session::lost;

/// A session that can be run: its log, its state, and the right to work in its workspace.
pub struct Open {
    /// The log.
    pub writer: LogWriter,
    /// The fold of everything in it.
    pub state: SessionState,
    /// The workspace.
    pub workspace: PathBuf,
    /// The right to work there.
    pub lease: WorkspaceLease,
    /// A torn end that was cut off.
    pub cut: Option<TailCut>,
}

/// Begins a session. Whatever another session left half published in the workspace is finished first.
pub fn begin(home: &Home, at: Millis, started: SessionStarted) -> Result<Open, AgentError> {
    let workspace = PathBuf::from(&started.workspace);
    let lease = WorkspaceLease::try_acquire(home, &workspace, &started.session)?;
    finish_publication(home, &lease, at, None)?;
    let mut writer = LogWriter::create(home, &started.session)?;
    let mut state = SessionState::default();
    append(&mut writer, &mut state, at, &Event::SessionStarted(Box::new(started)))?;
    Ok(Open { writer, state, workspace, lease, cut: None })
}

/// Takes a session up again: effects that were begun and not ended are settled first, each by its kind.
pub fn resume(home: &Home, id: &SessionId, at: Millis, resumed: SessionResumed) -> Result<Open, AgentError> {
    let (mut writer, mut state, cut) = open_log(home, id)?;
    let workspace = PathBuf::from(&state.meta.as_ref().ok_or(AgentError::NeverBegun)?.workspace);
    let lease = WorkspaceLease::try_acquire(home, &workspace, id)?;
    finish_publication(home, &lease, at, Some((&mut writer, &mut state)))?;
    if state.end.as_ref().is_some_and(|end| !end.reason.is_resumable()) {
        return Ok(Open { writer, state, workspace, lease, cut });
    }
    if let Some(cut) = &cut {
        let kept_as = cut.kept_as.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let event = Event::TailCut { offset: cut.offset, bytes: cut.bytes, kept_as };
        append(&mut writer, &mut state, at, &event)?;
    }
    for event in lost(&state) {
        append(&mut writer, &mut state, at, &event)?;
    }
    append(&mut writer, &mut state, at, &Event::SessionResumed(resumed))?;
    Ok(Open { writer, state, workspace, lease, cut })
}

/// Ends a session whose process is gone: abort from another terminal when nobody is there to read it.
pub fn abort_dead(home: &Home, id: &SessionId, at: Millis, by: &str) -> Result<SessionState, AgentError> {
    let (mut writer, mut state, _) = open_log(home, id)?;
    let workspace = PathBuf::from(&state.meta.as_ref().ok_or(AgentError::NeverBegun)?.workspace);
    let lease = WorkspaceLease::try_acquire(home, &workspace, id)?;
    finish_publication(home, &lease, at, Some((&mut writer, &mut state)))?;
    if state.end.is_some() {
        return Ok(state);
    }
    for event in lost(&state) {
        append(&mut writer, &mut state, at, &event)?;
    }
    append(&mut writer, &mut state, at, &Event::AbortAsked { by: by.to_owned() })?;
    while let Some(event) = state.due(at) {
        append(&mut writer, &mut state, at, &event)?;
    }
    Ok(state)
}

/// Reads a session without a lock, as far as it goes. Records of a later schema are handed out undecoded.
pub fn read(
    home: &Home,
    id: &SessionId,
    each: &mut dyn FnMut(&Record, Option<&Event>, &SessionState),
) -> Result<SessionState, AgentError> {
    let mut reader = LogReader::open(home, id)?;
    let mut state = SessionState::default();
    while let Some(record) = reader.poll()? {
        match decode(&record) {
            Ok(event) => {
                state.apply(record.at, &event);
                each(&record, Some(&event), &state);
            }
            Err(AgentError::TooNew { .. }) => each(&record, None, &state),
            Err(error) => return Err(error),
        }
    }
    Ok(state)
}

/// The event of a record.
pub fn decode(record: &Record) -> Result<Event, AgentError> {
    if record.v > SCHEMA {
        return Err(AgentError::TooNew { seq: record.seq, found: record.v, known: SCHEMA });
    }
    serde_json::from_str(record.event.get())
        .map_err(|error| AgentError::BadEvent { seq: record.seq, why: error.to_string() })
}

fn append(
    writer: &mut LogWriter,
    state: &mut SessionState,
    at: Millis,
    event: &Event,
) -> Result<(), AgentError> {
    let at = at.max(state.last_at);
    writer.append(at, SCHEMA, event)?;
    state.apply(at, event);
    Ok(())
}

fn open_log(home: &Home, id: &SessionId) -> Result<(LogWriter, SessionState, Option<TailCut>), AgentError> {
    let mut state = SessionState::default();
    let mut failed = None;
    let opened = LogWriter::open(home, id, &mut |record| {
        if failed.is_some() {
            return;
        }
        match decode(&record) {
            Ok(event) => state.apply(record.at, &event),
            Err(error) => failed = Some(error),
        }
    })?;
    match failed {
        Some(error) => Err(error),
        None => Ok((opened.writer, state, opened.cut)),
    }
}

/// Finishes a publication that a kill interrupted: its outcome is recorded in the log of the session it
/// belongs to, then its journal is cleared. `ours` is that log where it is already open.
fn finish_publication(
    home: &Home,
    lease: &WorkspaceLease,
    at: Millis,
    ours: Option<(&mut LogWriter, &mut SessionState)>,
) -> Result<(), AgentError> {
    let Some(publication) = publish::pending(home, lease.workspace())? else { return Ok(()) };
    match ours {
        Some((writer, state)) if *writer.session() == publication.session => {
            finish_in(home, lease, at, writer, state, &publication)
        }
        Some(_) | None => {
            let (mut writer, mut state, _) = open_log(home, &publication.session)?;
            finish_in(home, lease, at, &mut writer, &mut state, &publication)
        }
    }
}

fn finish_in(
    home: &Home,
    lease: &WorkspaceLease,
    at: Millis,
    writer: &mut LogWriter,
    state: &mut SessionState,
    publication: &Publication,
) -> Result<(), AgentError> {
    if state.in_flight.contains_key(&publication.effect) {
        let outcome = match publish::finish(home, lease)? {
            Published::Done => serde_json::from_str::<Ended>(publication.record.get()).map_err(|error| {
                AgentError::Blob { what: "a publication's record", why: error.to_string() }
            })?,
            // Taken back: the next attempt finds out what moved.
            Published::BaseMoved { .. } => Ended::Lost,
        };
        append(writer, state, at, &Event::EffectEnded { id: publication.effect, outcome })?;
    } else if !is_committed(state, publication) {
        // It broke, that was recorded, and it could not be taken back then. What it left is part of a proved
        // change: it is made whole, or taken out where the user has been there, and the next attempt sees which.
        match publish::finish(home, lease)? {
            Published::Done | Published::BaseMoved { .. } => {}
        }
    }
    publish::settle(home, lease)?;
    Ok(())
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
