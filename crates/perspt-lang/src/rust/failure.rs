//! What a failed test printed: where it panicked and what it said.

use crate::shared::report::{first_line, shortened};

/// The text without thread numbers, which differ from run to run.
pub(crate) fn settled(printed: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in printed.trim().lines() {
        let number = line.starts_with("thread '").then(|| line.find("' (")).flatten().and_then(|at| {
            let end = at + 3 + line[at + 3..].find(')')?;
            line[at + 3..end].bytes().all(|byte| byte.is_ascii_digit()).then_some((at + 1, end + 1))
        });
        lines.push(match number {
            Some((from, to)) => format!("{}{}", &line[..from], &line[to..]),
            None => line.to_owned(),
        });
    }
    lines.join("\n")
}

/// What it said: the panic's own words where there is one, else all of it, shortened.
pub(crate) fn message(printed: &str) -> String {
    let mut lines = printed.lines().skip_while(|line| !is_panic(line)).skip(1).peekable();
    if lines.peek().is_none() {
        return shortened(printed);
    }
    let words: Vec<&str> = lines
        .take_while(|line| {
            !line.trim().is_empty() && !line.starts_with("note: ") && !line.starts_with("stack backtrace")
        })
        .collect();
    shortened(&words.join("\n"))
}

/// What was panicked with, in one line: the first, and the two sides of a comparison.
pub(crate) fn in_one_line(message: &str) -> String {
    let sides = message
        .lines()
        .map(str::trim)
        .filter(|line| line.starts_with("left: ") || line.starts_with("right: "));
    let sides: Vec<&str> = sides.collect();
    let first = first_line(message);
    if sides.is_empty() { first.to_owned() } else { format!("{first} ({})", sides.join(", ")) }
}

/// Where it panicked: path, line and column.
pub(crate) fn place(printed: &str) -> Option<(&str, u64, u64)> {
    let line = printed.lines().find(|line| is_panic(line))?;
    let (_, spot) = line.split_once("panicked at ")?;
    let mut parts = spot.trim_end_matches(':').rsplitn(3, ':');
    let column = parts.next()?.parse().ok()?;
    let line = parts.next()?.parse().ok()?;
    Some((parts.next()?, line, column))
}

fn is_panic(line: &str) -> bool {
    line.starts_with("thread '") && line.contains("panicked at ")
}
