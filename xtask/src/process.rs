//! Starting processes, and saying what failed.

use std::fmt::Display;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// What stopped a task, in one line.
#[derive(Debug)]
pub struct Failed(pub String);

impl Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<std::io::Error> for Failed {
    fn from(error: std::io::Error) -> Failed {
        Failed(error.to_string())
    }
}

/// Says which file an error is about.
pub fn at(path: &Path) -> impl FnOnce(std::io::Error) -> Failed + '_ {
    move |error| Failed(format!("{}: {error}", path.display()))
}

/// The cargo that started us. What `cargo run` says about this very package is not handed on, and colours
/// are off because output is read.
pub fn cargo() -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let ours = ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|prefix| text.starts_with(prefix));
        if ours || matches!(&*text, "CARGO_BIN_NAME" | "CARGO_CRATE_NAME" | "CARGO_PRIMARY_PACKAGE") {
            command.env_remove(name);
        }
    }
    command.env("CARGO_TERM_COLOR", "never");
    command
}

/// The command as a person would type it.
pub fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

/// Runs a command to its end; its output goes where ours goes.
pub fn run(mut command: Command) -> Result<(), Failed> {
    let name = shown(&command);
    let status = command.stdin(Stdio::null()).status();
    let status = status.map_err(|error| Failed(format!("`{name}` did not start: {error}")))?;
    if status.success() { Ok(()) } else { Err(Failed(format!("`{name}` ended with {status}"))) }
}

/// Whether a command starts and ends well; its output is thrown away.
pub fn works(mut command: Command) -> bool {
    let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// What a command prints on standard output.
pub fn output(mut command: Command) -> Result<String, Failed> {
    let name = shown(&command);
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| Failed(format!("`{name}` did not start: {error}")))?;
    if !output.status.success() {
        return Err(Failed(format!("`{name}` ended with {}", output.status)));
    }
    String::from_utf8(output.stdout).map_err(|_| Failed(format!("`{name}` printed what is not UTF-8")))
}

/// Runs a command and hands every line of both streams, in the order written, to `each`, which says what is
/// kept of it. All of it is also shown. Gives whether the command ended well.
pub fn tee(
    mut command: Command,
    keep: &mut dyn Write,
    each: &mut dyn FnMut(&str) -> Option<String>,
) -> Result<bool, Failed> {
    let name = shown(&command);
    let (reader, writer) = std::io::pipe()?;
    command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
    let child = command.spawn();
    // The command holds our ends of the pipe; they must be gone for its end to be seen.
    drop(command);
    let mut child = child.map_err(|error| Failed(format!("`{name}` did not start: {error}")))?;
    let mut reader = BufReader::new(reader);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        let text = String::from_utf8_lossy(&line);
        print!("{text}");
        keep.write_all(text.as_bytes())?;
        if let Some(more) = each(text.trim_end_matches('\n')) {
            keep.write_all(format!("{more}\n").as_bytes())?;
        }
        line.clear();
    }
    Ok(child.wait()?.success())
}
