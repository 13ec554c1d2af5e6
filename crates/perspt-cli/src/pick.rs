//! Finding the session a command is about.

use std::path::Path;

use perspt_agent::open::{decode, read};
use perspt_core::event::{Event, SessionStarted};
use perspt_core::ids::SessionId;
use perspt_core::state::SessionState;
use perspt_store::{Home, LogReader};

use crate::fail::Failure;
use crate::wire;

/// Which session.
pub enum Which<'a> {
    /// The one whose id begins so.
    Named(&'a str),
    /// The last one of the folder this process stands in.
    LastHere,
    /// The last one of all.
    Last,
}

/// How many sessions that fit a beginning are named.
const FITTING: usize = 5;
/// How many folders of other sessions are named.
const FOLDERS: usize = 3;

/// The session's id.
pub fn pick(home: &Home, which: &Which<'_>) -> Result<SessionId, Failure> {
    let sessions = home.sessions()?;
    let none = |why: String, todo: String| Failure::usage("the session was not found", why, todo);
    let list = || "`perspt status --all` lists the sessions".to_owned();
    match which {
        Which::Named(begin) => {
            let mut fit =
                sessions.iter().map(|session| &session.id).filter(|id| id.as_str().starts_with(begin));
            match (fit.next(), fit.next()) {
                (Some(id), None) => Ok(id.clone()),
                (Some(first), Some(second)) => Err(ambiguous(begin, [first, second].into_iter().chain(fit))),
                (None, _) => Err(none(format!("no session begins with `{begin}`"), list())),
            }
        }
        Which::Last => sessions
            .iter()
            .find(|session| session.begun.is_some())
            .map(|session| session.id.clone())
            .ok_or_else(|| none("there is no session yet".to_owned(), list())),
        Which::LastHere => {
            let folder = wire::folder(None)?;
            let mut others = Vec::new();
            for session in &sessions {
                let Some(workspace) = workspace_of(home, &session.id) else { continue };
                if Path::new(&workspace) == folder {
                    return Ok(session.id.clone());
                }
                if others.len() < FOLDERS && !others.contains(&workspace) {
                    others.push(workspace);
                }
            }
            let why = format!("no session has worked in {}", folder.display());
            let todo = match others.as_slice() {
                [] => "start one with `perspt agent`".to_owned(),
                others => format!(
                    "go to the session's folder (the last were {}), or name the session; {}",
                    others.join(", "),
                    list()
                ),
            };
            Err(none(why, todo))
        }
    }
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

/// The workspace of a session, from its first record.
fn workspace_of(home: &Home, id: &SessionId) -> Option<String> {
    let record = LogReader::open(home, id).ok()?.poll().ok()??;
    match decode(&record).ok()? {
        Event::SessionStarted(started) => Some(started.workspace),
        _ => None,
    }
}

/// The state of a session, read without a lock.
pub fn state_of(home: &Home, id: &SessionId) -> Result<SessionState, Failure> {
    Ok(read(home, id, &mut |_, _, _| {})?)
}

/// Refuses to go on with a session whose workspace is no longer where it was.
pub fn check_workspace(meta: &SessionStarted) -> Result<(), Failure> {
    if Path::new(&meta.workspace).is_dir() {
        return Ok(());
    }
    Err(Failure::usage(
        "the session's workspace is gone",
        format!("{} is not there, or is no folder", meta.workspace),
        "put it back where it was, or start anew with `perspt agent` where it is now",
    ))
}
