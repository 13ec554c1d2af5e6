//! A talk, and what comes out of it in short form.

use std::sync::Arc;
use std::time::Duration;

use perspt_chat::{Ask, CallEvent, CallId, Effect, Ending, Heard, Leave, Save, Setup, Shown, Speaker, Talk};
use perspt_core::event::Trouble;
use perspt_core::route::Route;
use perspt_model::{Answer, ModelError, Recorded, StopReason, Tag, Usage};

/// A model of this name; names that begin with `no` are not known.
pub fn find(name: &str) -> Result<Speaker, Trouble> {
    if name.starts_with("no") {
        let word = |text: &str| text.to_owned();
        return Err(Trouble {
            what: word("not known"),
            why: word("no such model"),
            todo: word("name another"),
        });
    }
    Ok(speaker(Route::plain(name, None)))
}

pub fn speaker(route: Route) -> Speaker {
    Speaker { route, model: Arc::new(Recorded::from_pairs(Vec::<(Tag, String)>::new())) }
}

pub fn talk() -> Talk {
    talk_with(Route::plain("m-1", None))
}

pub fn talk_with(route: Route) -> Talk {
    Talk::new(Setup { speaker: speaker(route), find: Box::new(find), output_tokens: 1000 })
}

pub fn answer(text: &str) -> Result<Answer, ModelError> {
    Ok(Answer {
        text: text.to_owned(),
        stop: StopReason::End,
        usage: Some(Usage { input: 10, output: 5, cached: 2 }),
        model: "m".to_owned(),
        first_token: Duration::ZERO,
        latency: Duration::ZERO,
    })
}

pub fn stalled() -> ModelError {
    ModelError::IdleTimeout { after: Duration::from_secs(60) }
}

pub fn chunk(call: u64, text: &str) -> Heard {
    Heard { call: CallId(call), event: CallEvent::Chunk(text.to_owned()) }
}

pub fn end(call: u64, end: Result<Answer, ModelError>) -> Heard {
    Heard { call: CallId(call), event: CallEvent::End(end) }
}

/// The calls that are to be made.
pub fn asks(effects: &[Effect]) -> Vec<&Ask> {
    effects
        .iter()
        .filter_map(|effect| if let Effect::Ask(ask) = effect { Some(ask.as_ref()) } else { None })
        .collect()
}

/// What is sent last in each call.
pub fn sent(effects: &[Effect]) -> Vec<String> {
    asks(effects).into_iter().map(|ask| ask.prompt.turns.last().unwrap().text.clone()).collect()
}

pub fn cancelled(effects: &[Effect]) -> Vec<CallId> {
    effects
        .iter()
        .filter_map(|effect| if let Effect::Cancel(call) = effect { Some(*call) } else { None })
        .collect()
}

pub fn saves(effects: &[Effect]) -> Vec<&Save> {
    effects
        .iter()
        .filter_map(|effect| if let Effect::Save(save) = effect { Some(save) } else { None })
        .collect()
}

pub fn left(effects: &[Effect]) -> Option<Leave> {
    effects.iter().find_map(|effect| if let Effect::Quit(leave) = effect { Some(*leave) } else { None })
}

fn shown(effects: &[Effect]) -> impl Iterator<Item = &Shown> {
    effects.iter().filter_map(|effect| if let Effect::Show(shown) = effect { Some(shown) } else { None })
}

pub fn notes(effects: &[Effect]) -> String {
    let notes = shown(effects)
        .filter_map(|shown| if let Shown::Note(note) = shown { Some(note.as_str()) } else { None });
    notes.collect::<Vec<_>>().join("\n")
}

pub fn text(effects: &[Effect]) -> String {
    shown(effects)
        .filter_map(|shown| if let Shown::Chunk(text) = shown { Some(text.as_str()) } else { None })
        .collect()
}

pub fn endings(effects: &[Effect]) -> Vec<&Ending> {
    shown(effects)
        .filter_map(|shown| if let Shown::Ended(ending) = shown { Some(ending) } else { None })
        .collect()
}

pub fn pending(talk: &Talk) -> Vec<String> {
    talk.pending().map(str::to_owned).collect()
}
