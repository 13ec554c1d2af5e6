//! Unified diffs, of one file or of several.

use perspt_core::bundle::Artifact;

use super::lines::Line;
use super::notes::Notes;
use super::steps::count;

/// What stands on one side of a diff.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Side {
    Nothing,
    Path(String),
}

/// One file of a diff.
#[derive(Debug, Default)]
struct Part<'a> {
    sides: Option<(Side, Side)>,
    renamed: (Option<String>, Option<String>),
    /// From the first `@@` on.
    hunks: Vec<&'a str>,
}

/// Whether a diff's file begins at a line.
pub(super) fn begins_diff(lines: &[Line<'_>], at: usize) -> bool {
    let starts = |at: usize, mark: &str| lines.get(at).is_some_and(|line| line.text.starts_with(mark));
    starts(at, "diff --git ") || (starts(at, "--- ") && starts(at + 1, "+++ "))
}

/// Whether a line can be one of a diff. Used where no fence says how far it goes.
pub(super) fn is_diff_line(line: &Line<'_>) -> bool {
    const HEADS: [&str; 8] = [
        "diff --git ",
        "index ",
        "new file mode",
        "deleted file mode",
        "old mode",
        "new mode",
        "similarity ",
        "rename ",
    ];
    line.raw.starts_with(['+', '-', '@', ' ', '\\']) || HEADS.iter().any(|head| line.text.starts_with(head))
}

/// Reads the lines of a diff. A path that was stated before it must be its path.
pub(super) fn diffs(
    lines: &[Line<'_>],
    stated: Option<&str>,
    notes: &mut Notes,
) -> Result<Vec<Artifact>, String> {
    count(lines.len());
    let mut parts: Vec<Part<'_>> = vec![Part::default()];
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        let is_head = begins_diff(lines, at) && !line.text.starts_with("diff --git ");
        let last = parts.len() - 1;
        let part = &mut parts[last];
        let begins_next = line.text.starts_with("diff --git ") || (is_head && part.sides.is_some());
        if begins_next && (part.sides.is_some() || part.renamed.0.is_some() || !part.hunks.is_empty()) {
            parts.push(Part::default());
            continue;
        }
        if is_head {
            part.sides = Some((side(&line.text[4..]), side(&lines[at + 1].text[4..])));
            at += 2;
            continue;
        }
        if line.text.starts_with("@@") || !part.hunks.is_empty() {
            part.hunks.push(line.raw);
        } else if let Some(path) = line.text.strip_prefix("rename from ") {
            part.renamed.0 = Some(path.to_owned());
        } else if let Some(path) = line.text.strip_prefix("rename to ") {
            part.renamed.1 = Some(path.to_owned());
        } else if !line.is_blank() && line.raw.starts_with(['+', '-', ' ']) {
            return Err("a diff has changed lines before its first `@@` line".to_owned());
        }
        at += 1;
    }
    let mut out = Vec::new();
    for part in parts {
        out.extend(artifacts(part, stated, notes)?);
    }
    Ok(out)
}

/// The path of a `---` or `+++` line, without the time behind it.
fn side(text: &str) -> Side {
    let path = text.split('\t').next().unwrap_or("").trim();
    if path == "/dev/null" { Side::Nothing } else { Side::Path(path.to_owned()) }
}

fn artifacts(part: Part<'_>, stated: Option<&str>, notes: &mut Notes) -> Result<Vec<Artifact>, String> {
    let is_moved = part.renamed.0.is_some();
    let patch: String = part.hunks.concat();
    let path = match (&part.sides, part.renamed) {
        (None, (None, None)) => match stated {
            Some(path) => path.to_owned(),
            None => {
                return Err(
                    "a diff names no file: write `--- a/path` and `+++ b/path` before its `@@` lines"
                        .to_owned(),
                );
            }
        },
        (sides, (Some(from), Some(to))) => {
            notes.add(format!("`{from}` renamed by a diff"));
            let moved = Artifact::Move { from, to: to.clone() };
            let is_named = sides.as_ref().is_none_or(|(_, new)| {
                *new == Side::Path(format!("b/{to}")) || *new == Side::Path(to.clone())
            });
            return match (is_named, patch.is_empty()) {
                (false, _) => Err(format!("a diff that renames a file to `{to}` names another one")),
                (true, true) => Ok(vec![moved]),
                (true, false) => Ok(vec![moved, Artifact::Diff { path: to, patch }]),
            };
        }
        (Some((old, new)), (None, None)) => path_of(old, new)?,
        (_, (Some(_), None) | (None, Some(_))) => {
            return Err("a diff renames a file and names one side only".to_owned());
        }
    };
    if let Some(stated) = stated.filter(|stated| *stated != path) {
        return Err(format!("the block is said to be `{stated}`, and its diff is of `{path}`"));
    }
    match part.sides {
        Some((Side::Nothing, _)) => Ok(vec![Artifact::Write { content: added(&part.hunks, &path)?, path }]),
        Some((_, Side::Nothing)) => Ok(vec![Artifact::Delete { path }]),
        Some(_) | None if patch.is_empty() && !is_moved => {
            Err(format!("the diff of `{path}` has no hunk: a line `@@` and the changed lines below it"))
        }
        Some(_) | None => Ok(vec![Artifact::Diff { path, patch }]),
    }
}

/// The path both sides mean. `a/` and `b/` are git's marks where both have them.
fn path_of(old: &Side, new: &Side) -> Result<String, String> {
    let bare = |path: &str, mark: &str| path.strip_prefix(mark).unwrap_or(path).to_owned();
    match (old, new) {
        (Side::Nothing, Side::Nothing) => Err("a diff has /dev/null on both sides".to_owned()),
        (Side::Nothing, Side::Path(path)) => Ok(bare(path, "b/")),
        (Side::Path(path), Side::Nothing) => Ok(bare(path, "a/")),
        (Side::Path(old), Side::Path(new)) => match (old.strip_prefix("a/"), new.strip_prefix("b/")) {
            (Some(old), Some(new)) if old == new => Ok(new.to_owned()),
            _ if old == new => Ok(new.clone()),
            _ => Err(format!(
                "a diff has `{old}` on one side and `{new}` on the other; to rename a file, use `### move`"
            )),
        },
    }
}

/// The text of a new file: the added lines of its hunk.
fn added(hunks: &[&str], path: &str) -> Result<String, String> {
    let blank = hunks.iter().rev().take_while(|line| line.trim().is_empty()).count();
    let mut out = String::new();
    for line in &hunks[..hunks.len() - blank] {
        match line.chars().next() {
            Some('+') => out.push_str(&line[1..]),
            Some('@') => {}
            Some('\\') => drop(out.ends_with('\n').then(|| out.pop())),
            Some(_) | None => {
                return Err(format!("the diff of the new file `{path}` has a line that is not added"));
            }
        }
    }
    Ok(out)
}
