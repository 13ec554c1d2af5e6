//! A talk at a plain terminal: lines in, the answer as it comes.

use std::io::BufRead;
use std::path::Path;

use perspt_chat::{Effect, Ending, Leave, Save, Setup, Shown, Talk};
use perspt_core::outcome::Outcome;
use perspt_model::CallLimits;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::screen::{Reader, Screen};
use super::{Calls, interrupts};
use crate::fail::Failure;
use crate::wire;

/// The kernel keeps no more bytes of a typed line and drops the rest without a word.
const LINE_MAX: usize = 4095;

/// What came from the keyboard.
#[derive(Debug, PartialEq, Eq)]
enum Typed {
    Line(String),
    /// A line that cannot be used, and why.
    Bad(&'static str),
}

pub async fn talk(setup: Setup, limits: CallLimits) -> Result<u8, Failure> {
    let mut interrupt = interrupts()?;
    let (to, mut heard) = unbounded_channel();
    let mut calls = Calls::new(limits, to);
    let mut talk = Talk::new(setup);
    let mut screen = Screen::new();
    screen.note(&aside(&format!("{} listens; /help lists the commands, Ctrl-D leaves", talk.model())));
    let mut lines = Some(typed_lines());
    loop {
        if !talk.is_busy() {
            screen.prompt(if talk.is_composing() { "... " } else { "> " });
        }
        let effects = tokio::select! {
            // A signal is never behind a flood of text.
            biased;
            Some(()) = interrupt.recv() => {
                screen.key();
                talk.interrupted()
            }
            typed = next(&mut lines) => take(typed, &mut talk, &mut screen),
            Some(heard) = heard.recv() => talk.heard(heard),
        };
        for effect in effects {
            if let Some(code) = carry_out(effect, &mut calls, &mut screen)? {
                return Ok(code);
            }
        }
    }
}

/// The next line; the end of input is told once.
async fn next(lines: &mut Option<UnboundedReceiver<Typed>>) -> Option<Typed> {
    let Some(open) = lines else { return std::future::pending().await };
    let typed = open.recv().await;
    if typed.is_none() {
        *lines = None;
    }
    typed
}

fn take(typed: Option<Typed>, talk: &mut Talk, screen: &mut Screen) -> Vec<Effect> {
    match typed {
        Some(Typed::Line(line)) => {
            screen.typed();
            talk.typed(&line)
        }
        Some(Typed::Bad(why)) => {
            screen.typed();
            screen.note(&aside(why));
            Vec::new()
        }
        None => {
            screen.key();
            talk.closed()
        }
    }
}

/// Carries one effect out; gives the exit code where it was the last.
fn carry_out(effect: Effect, calls: &mut Calls, screen: &mut Screen) -> Result<Option<u8>, Failure> {
    match effect {
        Effect::Ask(ask) => calls.start(*ask),
        Effect::Cancel(call) => calls.cancel(call),
        Effect::Save(save) => screen.note(&aside(&saved(save))),
        Effect::Show(Shown::Waiting { model }) => screen.progress(&format!("waiting for {model}")),
        Effect::Show(Shown::Chunk(text)) => {
            if screen.answer(&text)? == Reader::Gone {
                return Ok(Some(Outcome::Success.exit_code()));
            }
        }
        Effect::Show(Shown::Ended(ending)) => {
            screen.end_answer()?;
            if ending == Ending::Whole {
                screen.gap();
            }
        }
        Effect::Show(Shown::Note(text)) => screen.note(&aside(&text)),
        Effect::Quit(Leave::Done) => return Ok(Some(Outcome::Success.exit_code())),
        Effect::Quit(Leave::Interrupted) => return Ok(Some(Outcome::Interrupted.exit_code())),
    }
    Ok(None)
}

/// A line of perspt's own, told apart from what the model says.
fn aside(text: &str) -> String {
    format!("-- {text}")
}

/// Writes the conversation, without the secrets that this machine knows; says what came of it.
fn saved(save: Save) -> String {
    let save = Save { text: wire::masks().masked(&save.text), ..save };
    match save.write(Path::new("")) {
        Ok(path) => format!("saved to {}", path.display()),
        Err(error) => format!("not saved: {error}"),
    }
}

/// Reads lines on a thread of its own, which nothing waits for: a read from a terminal cannot be called off.
fn typed_lines() -> UnboundedReceiver<Typed> {
    let (to, lines) = unbounded_channel();
    std::thread::spawn(move || {
        let mut input = std::io::stdin().lock();
        loop {
            let mut bytes = Vec::new();
            let whole = input.read_until(b'\n', &mut bytes).is_ok() && bytes.ends_with(b"\n");
            if (!bytes.is_empty() && to.send(read_line(bytes)).is_err()) || !whole {
                return;
            }
        }
    });
    lines
}

fn read_line(mut bytes: Vec<u8>) -> Typed {
    while bytes.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
        bytes.pop();
    }
    if bytes.len() >= LINE_MAX {
        return Typed::Bad(
            "not sent: the terminal cuts a line at 4095 bytes; break it up, or pipe it into `perspt simple-chat -`",
        );
    }
    match String::from_utf8(bytes) {
        Ok(line) => Typed::Line(line),
        Err(_) => Typed::Bad("not sent: the line is not text in UTF-8"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_comes_without_its_end() {
        assert_eq!(read_line(b"hi\r\n".to_vec()), Typed::Line("hi".to_owned()));
        assert_eq!(read_line(b"\n".to_vec()), Typed::Line(String::new()));
    }

    #[test]
    fn a_line_that_the_terminal_may_have_cut_is_not_sent() {
        assert!(matches!(read_line(vec![b'x'; 4095]), Typed::Bad(_)));
        assert!(matches!(read_line(vec![b'x'; 4094]), Typed::Line(_)));
        assert!(matches!(read_line(vec![0xff]), Typed::Bad(_)));
    }
}
