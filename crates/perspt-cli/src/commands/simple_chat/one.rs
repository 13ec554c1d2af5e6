//! One message, one answer: for pipes and scripts. The answer goes to stdout and nothing else does.

use std::io::{IsTerminal, Read};

use perspt_chat::{Effect, Ending, Entry, Remedy, Setup, Shown, Talk};
use perspt_core::outcome::Outcome;
use perspt_model::CallLimits;
use tokio::sync::mpsc::unbounded_channel;

use super::screen::{Reader, Screen};
use super::{Calls, interrupts};
use crate::fail::Failure;
use crate::out;

/// Endless input is an error and not a full memory. The number is a choice, far above what a person pipes in.
const INPUT_MAX: u64 = 16 * 1024 * 1024;

pub async fn ask(setup: Setup, limits: CallLimits, message: Option<&str>) -> Result<u8, Failure> {
    leave_on_interrupt()?;
    let mut screen = Screen::new();
    let message = whole_message(message, &mut screen)?;
    let (to, mut heard) = unbounded_channel();
    let mut calls = Calls::new(limits, to);
    let mut talk = Talk::new(setup);
    let mut effects = talk.entered(&Entry::Text(message));
    loop {
        for effect in effects {
            if let Some(code) = carry_out(effect, &mut calls, &mut screen)? {
                return Ok(code);
            }
        }
        effects = match heard.recv().await {
            Some(heard) => talk.heard(heard),
            // Cannot be: `calls` holds the other side.
            None => return Ok(Outcome::InternalError.exit_code()),
        };
    }
}

/// Carries one effect out; gives the exit code where it was the last.
fn carry_out(effect: Effect, calls: &mut Calls, screen: &mut Screen) -> Result<Option<u8>, Failure> {
    let success = Outcome::Success.exit_code();
    match effect {
        Effect::Ask(ask) => calls.start(*ask),
        Effect::Cancel(call) => calls.cancel(call),
        Effect::Show(Shown::Waiting { model }) => screen.progress(&format!("waiting for {model}")),
        Effect::Show(Shown::Chunk(text)) => {
            if screen.answer(&text)? == Reader::Gone {
                return Ok(Some(success));
            }
        }
        Effect::Show(Shown::Ended(ending)) => {
            screen.end_answer()?;
            return ended(ending).map(Some);
        }
        Effect::Show(Shown::Note(text)) => screen.note(&format!("note: {text}")),
        // A text is no command: it neither saves nor leaves.
        Effect::Save(_) | Effect::Quit(_) => {}
    }
    Ok(None)
}

fn ended(ending: Ending) -> Result<u8, Failure> {
    let failed = |why: String, remedy: Remedy| Failure {
        code: Outcome::ProviderUnusable.exit_code(),
        ..Failure::usage("the model gave no answer", why, remedy.at_shell())
    };
    match ending {
        Ending::Whole => Ok(Outcome::Success.exit_code()),
        Ending::Cut => Ok(Outcome::Interrupted.exit_code()),
        Ending::Empty => Err(failed("it ended its answer without a word".to_owned(), Remedy::Again)),
        Ending::Failed(error) => Err(failed(error.what(), Remedy::of(&error))),
    }
}

/// Ends the program at Ctrl-C, whatever it waits for: input, the model, or whoever reads the answer. Nothing has to be
/// put in order.
fn leave_on_interrupt() -> Result<(), Failure> {
    let mut interrupt = interrupts()?;
    tokio::spawn(async move {
        interrupt.recv().await;
        if out::progress_shown() {
            out::note("");
        }
        std::process::exit(i32::from(Outcome::Interrupted.exit_code()));
    });
    Ok(())
}

/// The message: the words of the command line, and standard input below them if it is no terminal.
fn whole_message(words: Option<&str>, screen: &mut Screen) -> Result<String, Failure> {
    let words = words.filter(|words| *words != "-");
    let mut message = words.unwrap_or_default().to_owned();
    if words.is_none() || !std::io::stdin().is_terminal() {
        screen.progress("reading standard input");
        let input = standard_input()?;
        if !message.is_empty() && !input.trim().is_empty() {
            message.push_str("\n\n");
        }
        message.push_str(&input);
    }
    if message.trim().is_empty() {
        return Err(Failure::usage(
            "there is no message",
            "neither the command line nor standard input holds one",
            "name it in quotes, or pipe it in",
        ));
    }
    Ok(message)
}

fn standard_input() -> Result<String, Failure> {
    let bad = |why: String, todo: &str| Failure::usage("standard input cannot be used", why, todo);
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(INPUT_MAX + 1).read_to_end(&mut bytes);
    read.map_err(|error| bad(error.to_string(), "pipe the message in, or name it in quotes"))?;
    if bytes.len() as u64 > INPUT_MAX {
        return Err(bad(format!("it is larger than {INPUT_MAX} bytes"), "send less"));
    }
    String::from_utf8(bytes).map_err(|_| bad("it is not text in UTF-8".to_owned(), "convert it first"))
}
