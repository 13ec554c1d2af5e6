//! Finding the session a command is about.

use std::path::Path;

use perspt_agent::open::{decode, read};
use perspt_core::event::Event;
use perspt_core::ids::SessionId;
use perspt_core::state::SessionState;
use perspt_store::{Home, LogReader};

use crate::fail::Failure;

/// Which session.
pub enum Which<'a> {
    /// The one whose id begins so.
    Named(&'a str),
    /// The last one of this folder.
    LastOf(&'a Path),
    /// The last one of all.
    Last,
}

/// The session's id.
pub fn pick(home: &Home, which: &Which<'_>) -> Result<SessionId, Failure> {
    let sessions = home.sessions()?;
    match which {
        Which::Named(begin) => {
            let mut fit = sessions.iter().filter(|session| session.id.as_str().starts_with(begin));
            match (fit.next(), fit.next()) {
                (Some(session), None) => Ok(session.id.clone()),
                (Some(_), Some(_)) => Err(none(&format!("more than one session begins with `{begin}`"))),
                (None, _) => Err(none(&format!("no session begins with `{begin}`"))),
            }
        }
        Which::Last => sessions
            .iter()
            .find(|session| session.begun.is_some())
            .map(|session| session.id.clone())
            .ok_or_else(|| none("there is no session yet")),
        Which::LastOf(folder) => sessions
            .iter()
            .find(|session| {
                workspace_of(home, &session.id).is_some_and(|workspace| Path::new(&workspace) == *folder)
            })
            .map(|session| session.id.clone())
            .ok_or_else(|| none(&format!("no session has worked in {}", folder.display()))),
    }
}

fn none(why: &str) -> Failure {
    Failure::usage("the session was not found", why, "`perspt status --all` lists the sessions")
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
