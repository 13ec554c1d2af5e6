//! Lines that say which file a block is, and what is done to it.

use super::notes::Notes;
use super::path::clean_path;
use super::words::{is_path, may_be_path};

/// What a label says is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    Write,
    Edit,
    Diff,
    Delete,
    Move,
    /// New text, whole or in part: the block says which.
    Unsaid,
}

/// How a label is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Form {
    /// A bare path, which could also be the last line of a listing.
    Bare,
    /// Marked as a name: in bold, in backticks, after `File:`.
    Marked,
    /// A heading.
    Heading,
    /// As it is asked for.
    Asked,
}

/// A line that names a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Label {
    pub verb: Verb,
    pub path: String,
    /// The new name, of a move.
    pub to: Option<String>,
    pub form: Form,
    pub notes: Notes,
}

/// Reads a line as a label.
pub(super) fn label(line: &str) -> Option<Label> {
    // Labels are short; a long line is text.
    if line.len() > 400 {
        return None;
    }
    asked(line).or_else(|| loose(line))
}

/// `### write path`, as it is asked for.
fn asked(line: &str) -> Option<Label> {
    let (word, rest) = line.strip_prefix("### ")?.split_once(' ')?;
    let verb = match word {
        "write" => Verb::Write,
        "edit" => Verb::Edit,
        "delete" => Verb::Delete,
        "move" => Verb::Move,
        _ => return None,
    };
    let mut notes = Notes::default();
    let (path, to) = places(verb, rest, &mut notes)?;
    let fits = |path: &String| may_be_path(path) || (notes_quoted(rest) && !path.is_empty());
    let is_fine = fits(&path) && to.as_ref().is_none_or(fits);
    is_fine.then_some(Label { verb, path, to, form: Form::Asked, notes })
}

/// Whether the path stands in backticks or quotes, so that it may have spaces.
fn notes_quoted(rest: &str) -> bool {
    rest.trim().starts_with(['`', '"'])
}

fn places(verb: Verb, rest: &str, notes: &mut Notes) -> Option<(String, Option<String>)> {
    if verb != Verb::Move {
        return Some((clean_path(rest, notes), None));
    }
    let arrow = [" -> ", " → ", " => ", " to "].into_iter().find(|arrow| rest.contains(arrow))?;
    if arrow != " -> " {
        notes.add(format!("`{}` read as `->`", arrow.trim()));
    }
    let (from, to) = rest.split_once(arrow)?;
    Some((clean_path(from, notes), Some(clean_path(to, notes))))
}

fn loose(line: &str) -> Option<Label> {
    let mut notes = Notes::default();
    let (is_heading, rest) = without_heading(line.trim());
    let rest = without_bullet(rest);
    let plain = rest.replace("**", "");
    let (verb, says_file, rest) = words(plain.trim());
    let (path, to) = places(verb, without_remark(rest), &mut notes)?;
    let is_code = rest.starts_with('`');
    let is_marked =
        is_code || rest.len() < plain.trim().len() || plain.len() < line.trim().len() && line.contains("**");
    let says_so = says_file || (is_code && verb != Verb::Unsaid) || (is_marked && rest.contains('/'));
    let fits = |path: &String| is_path(path) || (may_be_path(path) && says_so);
    if !fits(&path) || !to.as_ref().is_none_or(fits) {
        return None;
    }
    // A single `#` is also how a comment begins.
    let is_comment = line.starts_with("# ") && verb == Verb::Unsaid;
    let form = if is_comment {
        Form::Bare
    } else if is_heading {
        Form::Heading
    } else if is_marked || says_file {
        Form::Marked
    } else {
        Form::Bare
    };
    notes.add(format!("path \"{path}\" was named as `{}`", shown(line)));
    Some(Label { verb, path, to, form, notes })
}

fn without_heading(line: &str) -> (bool, &str) {
    let rest = line.trim_start_matches('#');
    let hashes = line.len() - rest.len();
    let is_heading = (1..=6).contains(&hashes) && rest.starts_with(' ');
    if is_heading { (true, rest.trim()) } else { (false, line) }
}

/// The line without `- `, `1. ` and the like before it, or a picture.
fn without_bullet(line: &str) -> &str {
    let is_picture = |c: char| !c.is_ascii() && !c.is_alphanumeric() && !c.is_whitespace();
    if let Some(rest) =
        line.trim_start_matches(is_picture).strip_prefix(' ').filter(|_| line.starts_with(is_picture))
    {
        return rest.trim_start();
    }
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let behind = &line[digits..];
    let bullets: &[&str] = if digits > 0 { &[". ", ") "] } else { &["- ", "* ", "+ "] };
    bullets.iter().find_map(|bullet| behind.strip_prefix(bullet)).map_or(line, str::trim_start)
}

/// The verb before a path, whether something says that a file is meant, and the rest.
fn words(line: &str) -> (Verb, bool, &str) {
    const VERBS: [(&str, Verb); 15] = [
        ("write", Verb::Write),
        ("create", Verb::Write),
        ("add", Verb::Write),
        ("new", Verb::Write),
        ("overwrite", Verb::Write),
        ("update", Verb::Unsaid),
        ("modify", Verb::Unsaid),
        ("change", Verb::Unsaid),
        ("edit", Verb::Edit),
        ("diff", Verb::Diff),
        ("patch", Verb::Diff),
        ("delete", Verb::Delete),
        ("remove", Verb::Delete),
        ("move", Verb::Move),
        ("rename", Verb::Move),
    ];
    let (mut verb, mut says_file, mut rest) = (Verb::Unsaid, false, line);
    while let Some((word, behind)) = rest.split_once([' ', ':']).filter(|(word, _)| word.len() < 12) {
        let lower = word.to_lowercase();
        if let Some((_, known)) =
            VERBS.iter().find(|(name, _)| *name == lower).filter(|_| verb == Verb::Unsaid)
        {
            verb = *known;
        } else if matches!(lower.as_str(), "file" | "filename" | "filepath" | "path") {
            says_file = true;
        } else if !matches!(lower.as_str(), "" | "the" | "a" | "updated" | "modified" | "existing") {
            break;
        }
        rest = behind;
    }
    (verb, says_file, rest.trim())
}

/// The line without a remark in parentheses at its end: `src/a.py (new file)`.
fn without_remark(line: &str) -> &str {
    let bare = line.trim_end_matches(':').trim_end();
    match bare.strip_suffix(')').and_then(|open| open.rsplit_once(" (")) {
        Some((before, remark)) if !remark.contains('/') => before.trim_end(),
        Some(_) | None => line,
    }
}

/// A path in the words behind a fence's marks: `python src/a.py`, `src/a.py`, `python:src/a.py`, `python title="src/a.py"`.
pub(super) fn info_path(info: &str) -> Option<Label> {
    const KEYS: [&str; 6] = ["path", "file", "filename", "filepath", "title", "name"];
    let mut notes = Notes::default();
    let mut found: Option<String> = None;
    for word in info.split([' ', '\t']).filter(|word| !word.is_empty()) {
        let word = word.trim_matches(['{', '}', ',']);
        let path = match word.split_once('=') {
            Some((key, value)) if KEYS.contains(&key) => {
                Some(clean_path(value, &mut notes)).filter(|path| may_be_path(path))
            }
            Some(_) => None,
            None => {
                let word = word.split_once(':').map_or(word, |(_, behind)| behind);
                Some(clean_path(word, &mut notes)).filter(|path| is_path(path))
            }
        };
        match (&found, path) {
            (Some(before), Some(path)) if *before != path => return None,
            (_, Some(path)) => found = Some(path),
            (_, None) => {}
        }
    }
    let path = found?;
    notes.add(format!("path \"{path}\" stood behind the fence"));
    Some(Label { verb: Verb::Unsaid, path, to: None, form: Form::Marked, notes })
}

/// A path that is the whole of a comment: `# src/a.py`, `// File: src/a.py`, `<!-- src/a.md -->`.
pub(super) fn comment_path(line: &str) -> Option<Label> {
    let line = line.trim();
    let inner = if let Some(inner) = line.strip_prefix("<!--") {
        inner.strip_suffix("-->")?
    } else if let Some(inner) = line.strip_prefix("/*") {
        inner.strip_suffix("*/")?
    } else {
        ["# ", "// ", "-- ", ";; "].iter().find_map(|mark| line.strip_prefix(mark))?
    };
    let inner = inner.trim();
    let lower = inner.to_lowercase();
    let marker =
        ["file:", "filename:", "path:", "filepath:"].into_iter().find(|marker| lower.starts_with(marker));
    let path = inner[marker.map_or(0, str::len)..].trim();
    if !is_path(path) {
        return None;
    }
    let mut notes = Notes::default();
    let path = clean_path(path, &mut notes);
    notes.add(format!("path \"{path}\" stood in the first line of its block"));
    Some(Label { verb: Verb::Unsaid, path, to: None, form: Form::Marked, notes })
}

fn shown(line: &str) -> String {
    line.trim().chars().take(80).collect()
}
