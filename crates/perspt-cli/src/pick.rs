//! Finding the session a command is about.

use std::io::ErrorKind;
use std::path::Path;

use perspt_agent::AgentError;
use perspt_agent::trouble::too_many_files;
use perspt_core::event::{Event, Purpose};
use perspt_core::ids::SessionId;
use perspt_core::state::SessionState;
use perspt_core::view::SessionView;
use perspt_store::{Follower, Home, LogReader, Record, SessionInfo, StoreError};

use crate::check_session::check_session;
use crate::fail::Failure;
use crate::workspace;

/// How a command names its session.
pub enum SessionChoice<'a> {
    /// The one whose id begins with this text.
    Named(&'a str),
    /// The last one that worked in the current folder.
    LastHere,
    /// The last one that had a task in the current folder.
    LastTaskHere,
    /// The last one of all that had a task.
    LastTask,
}

/// An ambiguous beginning lists at most this many sessions.
const FITTING: usize = 5;
/// A message lists at most this many folders of other sessions.
const FOLDERS: usize = 3;

/// The id of the session that a command is about.
pub fn pick(home: &Home, choice: &SessionChoice<'_>) -> Result<SessionId, Failure> {
    let sessions = home.sessions()?;
    match choice {
        SessionChoice::Named(begin) => {
            let mut fit =
                sessions.iter().map(|session| &session.id).filter(|id| id.as_str().starts_with(begin));
            match (fit.next(), fit.next()) {
                (Some(id), None) => Ok(id.clone()),
                (Some(first), Some(second)) => Err(ambiguous(begin, [first, second].into_iter().chain(fit))),
                (None, _) => Err(not_found(format!("no session begins with `{begin}`"), LIST.to_owned())),
            }
        }
        SessionChoice::LastTask => last_task(home, &sessions),
        SessionChoice::LastHere => last_here(home, &sessions, Sought::Any),
        SessionChoice::LastTaskHere => last_here(home, &sessions, Sought::Task),
    }
}

const LIST: &str = "`perspt status --all` lists the sessions";

fn not_found(why: String, todo: String) -> Failure {
    Failure::usage("the session was not found", why, todo)
}

/// Which sessions a choice is among.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sought {
    Any,
    /// Those that only verify are passed over.
    Task,
}

impl Sought {
    fn includes(self, purpose: &Purpose) -> bool {
        self == Sought::Any || *purpose == Purpose::Task
    }
}

fn last_task(home: &Home, sessions: &[SessionInfo]) -> Result<SessionId, Failure> {
    for session in sessions {
        match beginning(home, &session.id) {
            Beginning::In(_, purpose) if Sought::Task.includes(&purpose) => return Ok(session.id.clone()),
            Beginning::In(..) | Beginning::Never => {}
            Beginning::Unreadable(failure) => return Err(failure),
        }
    }
    Err(not_found("there is no session yet".to_owned(), LIST.to_owned()))
}

fn last_here(home: &Home, sessions: &[SessionInfo], sought: Sought) -> Result<SessionId, Failure> {
    let folder = workspace::resolve(None)?;
    let known_last = home.last_session_in(&folder)?;
    let mut others = Vec::new();
    let mut unreadable = None;
    for session in sessions {
        match beginning(home, &session.id) {
            Beginning::In(_, purpose) if !sought.includes(&purpose) => {}
            Beginning::In(workspace, _) if Path::new(&workspace) == folder => return Ok(session.id.clone()),
            Beginning::In(workspace, _) => {
                if others.len() < FOLDERS && !others.contains(&workspace) {
                    others.push(workspace);
                }
            }
            Beginning::Never => {}
            // An older one of this folder is not the last.
            Beginning::Unreadable(failure) if known_last.as_ref() == Some(&session.id) => {
                return Err(failure);
            }
            Beginning::Unreadable(failure) => {
                unreadable.get_or_insert(failure);
            }
        }
    }
    // It may be the wanted one: its workspace cannot be read.
    if let Some(failure) = unreadable {
        return Err(failure);
    }
    let todo = match others.as_slice() {
        [] => "start one with `perspt agent`".to_owned(),
        others => format!(
            "go to the session's folder (the last were {}), or name the session; {LIST}",
            others.join(", ")
        ),
    };
    let on = match sought {
        Sought::Any => "",
        Sought::Task => " on a task",
    };
    Err(not_found(format!("no session has worked in {}{on}", folder.display()), todo))
}

fn ambiguous<'a>(begin: &str, fit: impl Iterator<Item = &'a SessionId>) -> Failure {
    let all: Vec<&str> = fit.map(SessionId::as_str).collect();
    let more = all.len().saturating_sub(FITTING);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let named: Vec<&str> = all.into_iter().take(FITTING).collect();
    Failure::usage(
        format!("more than one session begins with `{begin}`"),
        format!("{}{more}", named.join(", ")),
        "give more of the session's id",
    )
}

/// How a session began, as far as its first record can be read.
enum Beginning {
    /// In this workspace, for this.
    In(String, Purpose),
    /// It has no first record: it was killed before, or is no session.
    Never,
    /// It began, but its first record cannot be read.
    Unreadable(Failure),
}

fn beginning(home: &Home, id: &SessionId) -> Beginning {
    let first = LogReader::open(home, id).and_then(|mut reader| reader.poll());
    match first {
        Ok(Some(record)) => match record.decode() {
            Ok(Event::SessionStarted(started)) => Beginning::In(started.workspace, started.purpose),
            Ok(_) => Beginning::Unreadable(damaged(id, "its first record does not start a session")),
            Err(unknown) => {
                let error = AgentError::TooNew { seq: record.seq, unknown };
                Beginning::Unreadable(unreadable(id, error))
            }
        },
        Ok(None) => damage_without_records(home, id).map_or(Beginning::Never, Beginning::Unreadable),
        Err(error) => Beginning::Unreadable(unreadable(id, error.into())),
    }
}

/// The damage of a session without a record, unless it was killed at its very beginning.
fn damage_without_records(home: &Home, id: &SessionId) -> Option<Failure> {
    check_session(home, id).err().map(|why| damaged(id, &why))
}

/// Why a session cannot be read. Errors that are not damage keep their own advice.
fn unreadable(id: &SessionId, error: AgentError) -> Failure {
    match &error {
        _ if too_many_files(&error).is_some() => error.into(),
        AgentError::Store(StoreError::Io { source, .. }) if source.kind() != ErrorKind::PermissionDenied => {
            damaged(id, &error.to_string())
        }
        AgentError::Store(StoreError::Integrity { .. }) => damaged(id, &error.to_string()),
        _ => error.into(),
    }
}

fn damaged(id: &SessionId, why: &str) -> Failure {
    Failure::internal(
        "the session's log is damaged",
        format!("session {id}: {why}"),
        "run `perspt ledger --verify` to see which sessions are damaged; start a new session, since this one cannot be continued; `perspt status --all` lists the others; if you do not need this one, remove its folder below `sessions` in the data directory (`perspt config --show` says where)",
    )
}

/// Reads a session without a lock, as far as it goes.
pub fn read_session(
    home: &Home,
    id: &SessionId,
    each: &mut dyn FnMut(&Record, Option<&Event>, &SessionState),
) -> Result<SessionState, Failure> {
    let mut records = 0u64;
    let state = Follower::read(home, id, &mut |record, event, state| {
        records += 1;
        each(record, event, state);
    });
    let state = state.map_err(|error| unreadable(id, error.into()))?;
    if records > 0 { Ok(state) } else { damage_without_records(home, id).map_or(Ok(state), Err) }
}

/// A session as people see it, read without a lock.
pub fn view_of(home: &Home, id: &SessionId) -> Result<SessionView, Failure> {
    let followed = || {
        let mut follower = Follower::open(home, id)?;
        while follower.poll()?.is_some() {}
        Ok(follower.view(home.owner(id)?))
    };
    let view: SessionView = followed().map_err(|error: StoreError| unreadable(id, error.into()))?;
    if view.records > 0 { Ok(view) } else { damage_without_records(home, id).map_or(Ok(view), Err) }
}

/// The state of a session, read without a lock.
pub fn state_of(home: &Home, id: &SessionId) -> Result<SessionState, Failure> {
    read_session(home, id, &mut |_, _, _| {})
}
