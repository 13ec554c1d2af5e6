//! A block that is indented as a whole, as below an item of a list. What every line of it has more than its text is the
//! indentation of its fence; where a line has less, nothing says what belongs to the text.

use perspt_core::bundle::Artifact;

use super::diffs::{begins_diff, diffs};
use super::label::{Label, Verb};
use super::lines::{Fence, Line, text_of};
use super::opening::Made;
use super::pairs::{begins_pair, is_pair_mark, pairs};
use super::steps::count;
use super::wanted::Finder;

/// Reads the block that an indented fence opens, below a line that names its file.
pub(super) fn indented(
    lines: &[Line<'_>],
    at: usize,
    fence: &Fence<'_>,
    (line, label): (usize, Label),
) -> Result<Made, String> {
    let path = label.path;
    let wrong =
        || format!("the block of `{path}` is indented, and not all of its lines are; begin it at the margin");
    // The next fence must be its end: whether one inside of it belongs to the text could not be said.
    let length = lines[at + 1..].iter().position(|line| line.fence.is_some());
    count(length.unwrap_or(lines.len() - at));
    let length = length
        .filter(|length| lines[at + 1 + length].fence.is_some_and(|other| other.closes(fence)))
        .ok_or_else(|| {
            format!("the block of `{path}` is indented, and holds or lacks a fence; begin it at the margin")
        })?;
    let body = &lines[at + 1..at + 1 + length];
    let margin = " ".repeat(fence.indent);
    let plain: Option<Vec<Line<'_>>> = body.iter().map(|line| without(line, &margin)).collect();
    let plain = plain.ok_or_else(wrong)?;
    let mut notes = label.notes;
    notes.add("an indented block read without the indentation of its fence");
    let first = plain.iter().position(|line| !line.is_blank()).unwrap_or(0);
    let (artifacts, finder) = if plain.get(first).is_some_and(begins_pair) && label.verb != Verb::Write {
        let (found, after) = pairs(&plain, first, &path)?;
        if !plain[after..].iter().all(Line::is_blank) {
            return Err(format!("`{path}`: text stands behind its SEARCH/REPLACE"));
        }
        (found, Finder::LooseBlocks)
    } else if label.verb != Verb::Write
        && (begins_diff(&plain, first) || matches!(fence.info, "diff" | "patch"))
    {
        (diffs(&plain, Some(&path), &mut notes)?, Finder::UnifiedDiff)
    } else if matches!(label.verb, Verb::Write | Verb::Unsaid) && !plain.iter().any(is_pair_mark) {
        (vec![Artifact::Write { path, content: text_of(&plain) }], Finder::LooseBlocks)
    } else {
        return Err(format!("the block below `{}` is indented; begin it at the margin", lines[line].text));
    };
    Ok(Made { artifacts, finder, notes, next: at + length + 2, label: Some(line) })
}

/// A line without its margin. A blank line may have less of it.
fn without<'a>(line: &Line<'a>, margin: &str) -> Option<Line<'a>> {
    let raw = match line.raw.strip_prefix(margin) {
        Some(raw) => raw,
        None if line.is_blank() => line.raw.trim_start_matches(' '),
        None => return None,
    };
    Some(Line { start: line.end() - raw.len(), raw, text: raw.trim_end(), fence: None })
}
