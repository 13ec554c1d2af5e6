//! The only place that prints. Lines go to stdout, everything about progress and errors to stderr. A
//! reader that goes away is no reason to stop, and text from models and tools cannot steer the terminal.

use std::io::{IsTerminal, Write};

use crate::fail::Failure;

/// Prints one line on stdout.
pub fn line(text: &str) {
    let mut stdout = std::io::stdout().lock();
    let _ = writeln!(stdout, "{text}");
    let _ = stdout.flush();
}

/// Prints one line on stderr.
pub fn note(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Prints without a line end on stderr.
pub fn prompt(text: &str) {
    let mut stderr = std::io::stderr().lock();
    let _ = write!(stderr, "{text}");
    let _ = stderr.flush();
}

/// Prints a failure: what happened, why, what to do.
pub fn error(failure: &Failure) {
    let trouble = &failure.trouble;
    note(&format!("error: {}", plain(&trouble.what)));
    if !trouble.why.is_empty() {
        note(&format!("  why: {}", plain(&trouble.why)));
    }
    if !trouble.todo.is_empty() {
        note(&format!("  do:  {}", plain(&trouble.todo)));
    }
}

/// Whether stderr is a terminal, so that progress may be drawn there.
pub fn progress_shown() -> bool {
    std::io::stderr().is_terminal()
}

/// Text without control characters, so that it stays on its line and moves no cursor.
pub fn plain(text: &str) -> String {
    text.chars()
        .map(|c| if c == '\n' || c == '\t' { ' ' } else { c })
        .filter(|c| !c.is_control() && !matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'))
        .collect()
}

/// A value of a `key=value` field: quoted where it holds anything but plain characters.
pub fn value(text: &str) -> String {
    let text = plain(text);
    let bare =
        |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | ',' | ':' | '+' | '>' | '@');
    if !text.is_empty() && text.chars().all(bare) {
        text
    } else {
        format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
    }
}
