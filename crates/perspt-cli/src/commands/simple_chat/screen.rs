//! Where answers, notes and the prompt go. Answers alone go to stdout.

use std::io::{ErrorKind, IsTerminal};

use crate::fail::Failure;
use crate::out;

/// What stands on the last line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LastLine {
    /// Nothing.
    Empty,
    /// A sign that something is awaited; it is wiped away.
    Progress,
    /// Part of an answer.
    Answer,
    /// The prompt.
    Prompt,
}

/// Whether anybody still reads the answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    There,
    /// The pipe is closed, as `head` does it. That is no fault.
    Gone,
}

/// Where answers are seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answers {
    /// On the same terminal as all else.
    Here,
    /// In a file or a pipe.
    Elsewhere,
}

pub struct Screen {
    last: LastLine,
    answers: Answers,
    /// Whether the answer's last line has its end.
    line_ended: bool,
}

impl Screen {
    pub fn new() -> Screen {
        let here = std::io::stdout().is_terminal();
        let answers = if here { Answers::Here } else { Answers::Elsewhere };
        Screen { last: LastLine::Empty, answers, line_ended: true }
    }

    /// Shows what is awaited, where that can be wiped away again.
    pub fn progress(&mut self, text: &str) {
        self.wipe();
        if out::progress_shown() {
            out::prompt(&format!("… {}", out::plain(text)));
            self.last = LastLine::Progress;
        }
    }

    /// Prints a piece of an answer.
    pub fn answer(&mut self, text: &str) -> Result<Reader, Failure> {
        self.wipe();
        self.line_ended = text.ends_with('\n');
        self.last = if self.line_ended { LastLine::Empty } else { LastLine::Answer };
        match out::piece(text) {
            Ok(()) => Ok(Reader::There),
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(Reader::Gone),
            Err(error) => Err(Failure::internal(
                "the answer cannot be written",
                format!("stdout: {error}"),
                "check free space and where the output goes",
            )),
        }
    }

    /// The answer is over, or what came of it: its last line gets an end.
    pub fn end_answer(&mut self) -> Result<Reader, Failure> {
        if self.line_ended {
            self.wipe();
            return Ok(Reader::There);
        }
        self.answer("\n")
    }

    /// Prints one line that is no answer.
    pub fn note(&mut self, text: &str) {
        self.wipe();
        self.break_line();
        out::note(&out::plain(text));
    }

    /// Shows a prompt, unless it stands there.
    pub fn prompt(&mut self, text: &str) {
        self.wipe();
        if self.last != LastLine::Prompt {
            out::prompt(text);
            self.last = LastLine::Prompt;
        }
    }

    /// An empty line, to set apart what follows.
    pub fn gap(&mut self) {
        self.wipe();
        if self.answers == Answers::Here {
            out::note("");
        }
    }

    /// Something was typed with its line's end, so the cursor is at the start of a line.
    pub fn typed(&mut self) {
        // What was typed before progress was shown left the cursor behind it.
        self.wipe();
        self.last = LastLine::Empty;
        self.line_ended |= self.answers == Answers::Here;
    }

    /// A key was typed that has no line's end.
    pub fn key(&mut self) {
        self.wipe();
        self.break_line();
    }

    /// Goes to the start of a line. Where answers go elsewhere, their lines are not broken.
    fn break_line(&mut self) {
        let broken = match self.last {
            LastLine::Answer => self.answers == Answers::Here,
            LastLine::Prompt => true,
            LastLine::Empty | LastLine::Progress => false,
        };
        if broken {
            out::note("");
        }
        self.typed();
    }

    fn wipe(&mut self) {
        if self.last == LastLine::Progress {
            out::prompt("\r\x1b[K");
            self.last = LastLine::Empty;
        }
    }
}
