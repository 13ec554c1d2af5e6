//! `perspt abort`: ends a session from another terminal, cleanly, and says what was kept.

use std::time::Duration;

use perspt_agent::open::abort_dead;
use perspt_agent::ports::{Clock, SystemClock};
use perspt_core::event::{Ended, Event};
use perspt_core::ids::SessionId;
use perspt_core::inbox::Message;
use perspt_core::outcome::NodeEnd;
use perspt_core::state::SessionState;
use perspt_core::view::{Owner, session_word};
use perspt_store::Home;

use crate::args::AbortArgs;
use crate::config::Config;
use crate::fail::Failure;
use crate::pick::{SessionChoice, pick, read_session, state_of};
use crate::view::kept_place;
use crate::{out, wire, workspace};

const LOOK: Duration = Duration::from_millis(100);
/// The owner ends its processes first; after this long something is wrong with it.
const LOOKS: u32 = 600;
/// After this many looks a note says what is waited for.
const QUIET_LOOKS: u32 = 20;

pub fn run(args: &AbortArgs) -> Result<u8, Failure> {
    let config = Config::load()?;
    let home = wire::open_home(&config)?;
    let id = pick(&home, &args.session.as_deref().map_or(SessionChoice::LastHere, SessionChoice::Named))?;
    let by = format!("process {}", std::process::id());
    let before = state_of(&home, &id)?;
    if before.end.as_ref().is_some_and(|end| !end.reason.is_resumable()) {
        print_result(&id, &before, "had already ended");
        return Ok(0);
    }
    let state = if home.holder(&id)?.is_some() {
        home.inbox(&id)?.send(&Message::Abort { by: by.clone() })?;
        wait(&home, &id, &by)?
    } else {
        before.meta.as_ref().map(workspace::check_present).transpose()?;
        end_dead(&home, &id, &before, &by)?
    };
    print_result(&id, &state, "was aborted");
    Ok(0)
}

/// Ends a session whose process is gone. Files that it was writing into the workspace are finished first, and the user
/// is told which.
fn end_dead(home: &Home, id: &SessionId, before: &SessionState, by: &str) -> Result<SessionState, Failure> {
    let after = abort_dead(home, id, SystemClock.now(), by)?;
    read_session(home, id, &mut |_, event, _| {
        if let Some(Event::EffectEnded { id, outcome: Ended::Published { commit, .. }, .. }) = event
            && before.in_flight.contains_key(id)
        {
            let files = match commit.artifacts.len() {
                1 => "file was".to_owned(),
                many => format!("{many} files were"),
            };
            out::line(&format!(
                "node {} was being written when perspt was killed; its {files} finished now",
                commit.node
            ));
        }
    })?;
    Ok(after)
}

/// Waits until the owner has ended the session, or is gone.
fn wait(home: &Home, id: &SessionId, by: &str) -> Result<SessionState, Failure> {
    let mut pid = 0;
    for look in 0..LOOKS {
        let state = state_of(home, id)?;
        if state.end.is_some() {
            return Ok(state);
        }
        let Some(holder) = home.holder(id)? else {
            return end_dead(home, id, &state_of(home, id)?, by);
        };
        pid = holder.pid;
        if look == QUIET_LOOKS {
            out::note(&format!("process {pid} was asked and has not ended the session yet; waiting for it"));
        }
        std::thread::sleep(LOOK);
    }
    Err(Failure::internal(
        "the session did not end",
        format!("process {pid} holds the session and does not answer; it may be stopped"),
        "let it continue (`fg`, or `kill -CONT`) or end it, then run `perspt abort` again",
    ))
}

fn print_result(id: &SessionId, state: &SessionState, what: &str) {
    let kept = |end: Option<NodeEnd>| end == Some(NodeEnd::Committed);
    let committed: Vec<&str> = state
        .order
        .iter()
        .filter(|id| state.nodes.get(id).is_some_and(|node| kept(node.end)))
        .map(|id| id.as_str())
        .collect();
    let list = if committed.is_empty() {
        "nothing was committed".to_owned()
    } else {
        format!("kept: {}", committed.join(", "))
    };
    out::line(&format!("session {id} {what} ({}); {list}", session_word(state, Owner::Gone)));
    for (path, place) in &state.kept {
        out::line(&format!("your version of {path} is in {}", kept_place(id, place)));
    }
}
