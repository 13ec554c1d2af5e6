//! `perspt approve` and `perspt deny`: answer what a session asks, from another terminal.

use std::time::Duration;

use perspt_core::effect::Question;
use perspt_core::event::{CORRECTION_MAX, Decision};
use perspt_core::ids::{EffectId, SessionId};
use perspt_core::inbox::Message;
use perspt_core::state::SessionState;
use perspt_core::view::{Owner, allow_flags, session_word};
use perspt_store::{Home, asked};

use crate::args::{ApproveArgs, DenyArgs};
use crate::config::Config;
use crate::console::show_question;
use crate::fail::Failure;
use crate::pick::{SessionChoice, pick, state_of};
use crate::{out, wire};

const LOOK: Duration = Duration::from_millis(100);
/// After this many looks something is wrong with the session's process.
const LOOKS: u32 = 300;

/// Says yes.
pub fn approve(args: &ApproveArgs) -> Result<u8, Failure> {
    answer(args.session.as_deref(), Decision::Yes)
}

/// Says no, or what is to be done instead.
pub fn deny(args: &DenyArgs) -> Result<u8, Failure> {
    let decision = match args.instead.as_deref().map(str::trim) {
        None => Decision::No,
        Some(text) if text.is_empty() || text.chars().count() > CORRECTION_MAX => {
            return Err(Failure::usage(
                "`--instead` cannot be used",
                format!("it has {} characters; it needs 1 to {CORRECTION_MAX}", text.chars().count()),
                "say in a few sentences what is to be done instead",
            ));
        }
        Some(text) => Decision::Correct(text.to_owned()),
    };
    answer(args.session.as_deref(), decision)
}

fn answer(session: Option<&str>, decision: Decision) -> Result<u8, Failure> {
    let config = Config::load()?;
    let home = wire::open_home(&config)?;
    let id = pick(&home, &session.map_or(SessionChoice::LastHere, SessionChoice::Named))?;
    let state = state_of(&home, &id)?;
    let owner = home.owner(&id)?;
    let Some((effect, flight, question)) = state.open_question().filter(|_| owner == Owner::Alive) else {
        return Err(not_asked(&id, &state, owner));
    };
    if let (Question::Plan { .. }, Decision::Correct(_)) = (question, &decision) {
        return Err(Failure::usage(
            "a plan is approved or denied",
            "`--instead` corrects a node, and this session asks about its plan",
            "run `perspt deny` without it, and start again with another task",
        ));
    }
    show_question(&asked(&home.blobs(&id)?, &state, flight.key.node.clone(), question)?, &state);
    let (question, by) = (flight.effect.input(), format!("process {}", std::process::id()));
    home.inbox(&id)?.send(&Message::Answer { question, decision: decision.clone(), by: by.clone() })?;
    let after = wait(&home, &id, effect)?;
    let word = match decision {
        Decision::Yes => "approved",
        Decision::No => "denied",
        Decision::Correct(_) => "sent back",
    };
    match after.last_answer.as_ref().filter(|last| last.question == effect) {
        Some(last) if last.from.as_ref() == Some(&by) => {
            out::line(&format!("session {id}: {word}"));
            Ok(0)
        }
        _ => Err(Failure::refused(
            "the answer came too late",
            "the session was answered from elsewhere, or went on without an answer",
            "see `perspt status`",
        )),
    }
}

/// Why there is nothing to answer, and what can be done.
fn not_asked(id: &SessionId, state: &SessionState, owner: Owner) -> Failure {
    let over = state.end.as_ref().is_some_and(|end| !end.reason.is_resumable());
    let todo = match owner {
        _ if over => "it is over; begin another one with `perspt agent`".to_owned(),
        Owner::Alive => "see `perspt status`".to_owned(),
        Owner::Gone => format!("go on with it by `perspt resume {id}{}`", allow_flags(state)),
    };
    let why = format!("session {id} is {}", session_word(state, owner));
    Failure::usage("the session asks nothing", why, todo)
}

/// Waits until the question has ended.
fn wait(home: &Home, id: &SessionId, question: EffectId) -> Result<SessionState, Failure> {
    for _ in 0..LOOKS {
        let state = state_of(home, id)?;
        if !state.in_flight.contains_key(&question) || home.holder(id)?.is_none() {
            return Ok(state);
        }
        std::thread::sleep(LOOK);
    }
    Err(Failure::internal(
        "the session did not take the answer",
        format!("the process of session {id} does not answer; it may be stopped"),
        "let it continue (`fg`, or `kill -CONT`); it then takes the answer",
    ))
}
