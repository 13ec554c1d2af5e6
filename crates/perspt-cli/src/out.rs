//! The only place that prints. Lines go to stdout, progress and errors to stderr. A closed pipe does not stop the
//! session. Control characters from models and tools are removed or escaped, so that they cannot steer the terminal.

use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::Once;

use crate::fail::Failure;

/// Prints one line on stdout.
pub fn line(text: &str) {
    if let Err(error) = write_whole(&format!("{text}\n")) {
        not_written(&error);
    }
}

/// Prints one line of JSON on stdout. At a terminal, control characters are printed as JSON escapes, which mean the
/// same. Elsewhere the bytes are those of the log, so that its hashes can be checked.
pub fn json_line(text: &str) {
    if !std::io::stdout().is_terminal() {
        return line(text);
    }
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if steers(c) {
            shown.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            shown.push(c);
        }
    }
    line(&shown);
}

/// Prints a piece of an answer on stdout. At a terminal, characters that steer it are left out; elsewhere the bytes are
/// those of the answer.
pub fn piece(text: &str) -> std::io::Result<()> {
    if !std::io::stdout().is_terminal() {
        return write_whole(text);
    }
    let shown: String = text.chars().filter(|c| matches!(c, '\n' | '\t') || !steers(*c)).collect();
    write_whole(&shown)
}

/// Writes to the descriptor itself. The standard library's stdout hides that a descriptor cannot be written.
fn write_whole(text: &str) -> std::io::Result<()> {
    let mut left = text.as_bytes();
    while !left.is_empty() {
        let taken = rustix::io::retry_on_intr(|| rustix::io::write(rustix::stdio::stdout(), left))?;
        if taken == 0 {
            return Err(ErrorKind::WriteZero.into());
        }
        left = left.get(taken..).unwrap_or_default();
    }
    Ok(())
}

/// Notes once that output is lost. Not for a closed pipe: its reader knows.
pub fn not_written(error: &std::io::Error) {
    static SAID: Once = Once::new();
    if error.kind() != ErrorKind::BrokenPipe {
        SAID.call_once(|| note(&format!("note: output is lost: stdout cannot be written: {error}")));
    }
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

/// Whether stderr is a terminal that can clear a line, so that progress may be drawn there. A dumb or unknown
/// terminal would show the control sequence itself.
pub fn progress_shown() -> bool {
    let can_clear = std::env::var_os("TERM").is_some_and(|term| !term.is_empty() && term != "dumb");
    can_clear && std::io::stderr().is_terminal()
}

/// Text without control characters, so that it stays on its line and moves no cursor.
pub fn plain(text: &str) -> String {
    text.chars().map(|c| if c == '\n' || c == '\t' { ' ' } else { c }).filter(|c| !steers(*c)).collect()
}

/// Whether a character moves a terminal's cursor or reorders what a person reads.
fn steers(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
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
