//! SEARCH/REPLACE pairs.

use perspt_core::bundle::Artifact;

use super::lines::{Line, text_of};
use super::steps::count;

/// A line that parts a pair. All three have the same number of marks, so a pair whose text holds such a line can use more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    Search(usize),
    Divide(usize),
    Replace(usize),
}

fn mark(line: &Line<'_>) -> Option<Mark> {
    let first = line.text.chars().next().filter(|c| "<=>-+".contains(*c))?;
    let rest = line.text.trim_start_matches(first);
    let run = line.text.len() - rest.len();
    let word = rest.trim().trim_end_matches(':');
    let is_one = |names: &[&str]| names.iter().any(|name| word.eq_ignore_ascii_case(name));
    match first {
        _ if !(5..=20).contains(&run) => None,
        '<' | '-' if is_one(&["SEARCH", "ORIGINAL"]) => Some(Mark::Search(run)),
        '=' if word.is_empty() => Some(Mark::Divide(run)),
        '>' | '+' if is_one(&["REPLACE", "UPDATED"]) => Some(Mark::Replace(run)),
        _ => None,
    }
}

/// Whether a pair begins here.
pub(super) fn begins_pair(line: &Line<'_>) -> bool {
    matches!(mark(line), Some(Mark::Search(_)))
}

/// Whether a line opens or ends a pair.
pub(super) fn is_pair_mark(line: &Line<'_>) -> bool {
    matches!(mark(line), Some(Mark::Search(_) | Mark::Replace(_)))
}

/// Reads all pairs that begin at a line. Gives them with the line behind them.
pub(super) fn pairs(lines: &[Line<'_>], from: usize, path: &str) -> Result<(Vec<Artifact>, usize), String> {
    let (mut out, mut at) = (Vec::new(), from);
    while let Some(Mark::Search(run)) = lines.get(at).and_then(mark) {
        let divide = part(lines, at + 1, run, Mark::Divide(run), path)?;
        let close = part(lines, divide + 1, run, Mark::Replace(run), path)?;
        out.push(Artifact::Edit {
            path: path.to_owned(),
            find: text_of(&lines[at + 1..divide]),
            replace: text_of(&lines[divide + 1..close]),
        });
        at = close + 1;
        let blank = lines[at..].iter().take_while(|line| line.is_blank()).count();
        if lines.get(at + blank).is_some_and(begins_pair) {
            at += blank;
        }
    }
    Ok((out, at))
}

/// The next mark of a pair, which must be the one that is due.
fn part(lines: &[Line<'_>], from: usize, run: usize, due: Mark, path: &str) -> Result<usize, String> {
    let is_mark = |line: &Line<'_>| {
        mark(line)
            .filter(|mark| matches!(mark, Mark::Search(n) | Mark::Divide(n) | Mark::Replace(n) if *n == run))
    };
    let found = (from..lines.len()).find_map(|at| Some((at, is_mark(&lines[at])?)));
    count(found.map_or(lines.len(), |(at, _)| at) - from);
    match found {
        Some((at, mark)) if mark == due => Ok(at),
        Some((at, _)) => Err(format!(
            "the SEARCH/REPLACE of `{path}` has `{}` where another mark is due; where the text itself holds such a line, \
             use two more marks in all three lines",
            lines[at].text
        )),
        None => Err(format!(
            "the SEARCH/REPLACE of `{path}` is not complete: it has the lines <<<<<<< SEARCH, =======, >>>>>>> REPLACE"
        )),
    }
}
