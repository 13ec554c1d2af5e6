//! A file in tags of its own for path and text, as tools are called in text:
//!
//! ```text
//! <write_to_file>
//! <path>src/app.py</path>
//! <content>
//! the whole text
//! </content>
//! </write_to_file>
//! ```

use perspt_core::bundle::Artifact;

use super::lines::{Line, text_of};
use super::notes::Notes;
use super::pairs::pairs;
use super::path::clean_path;
use super::steps::count;
use super::words::may_be_path;

const CALLS: [&str; 4] = ["write_to_file", "write_file", "create_file", "replace_in_file"];

/// The name of a call whose tag stands alone in a line.
fn call(line: &Line<'_>) -> Option<&'static str> {
    let inner = line.text.strip_prefix('<')?.strip_suffix('>')?;
    CALLS.into_iter().find(|name| *name == inner)
}

/// Whether a call begins at a line.
pub(super) fn begins_call(line: &Line<'_>) -> bool {
    call(line).is_some()
}

/// Whether a call may end at a line.
pub(super) fn ends_call(line: &Line<'_>) -> bool {
    let name = line.text.strip_prefix("</").and_then(|rest| rest.strip_suffix('>'));
    name.is_some_and(|name| CALLS.contains(&name))
}

/// Reads the call that begins at a line. Gives its artifacts with the line behind it.
pub(super) fn called(lines: &[Line<'_>], from: usize) -> Result<(Vec<Artifact>, usize), String> {
    let Some(name) = call(&lines[from]) else {
        return Err(format!("`{}` cannot be read", lines[from].text));
    };
    let wrong = || {
        let part = if name == "replace_in_file" { "diff" } else { "content" };
        format!(
            "<{name}> cannot be read: it has one line <path>...</path>, then one line <{part}>, the text, one line </{part}>, and \
             one line </{name}>"
        )
    };
    let next = lines[from + 1..].iter().position(begins_call).map_or(lines.len(), |length| from + 1 + length);
    count(next - from);
    let inner = &lines[from + 1..next];
    let path = inner.first().and_then(|line| between(line.text, "path")).ok_or_else(wrong)?;
    let path = clean_path(path, &mut Notes::default());
    let part = if name == "replace_in_file" { "diff" } else { "content" };
    let is_begun = inner.get(1).is_some_and(|line| line.text == format!("<{part}>"));
    if !is_begun || !may_be_path(&path) {
        return Err(wrong());
    }
    // A text that holds such a line itself cannot be told from its end.
    let close = only(inner, &format!("</{part}>")).ok_or_else(wrong)?;
    let end = only(inner, &format!("</{name}>")).filter(|end| *end > close).ok_or_else(wrong)?;
    let is_count = |line: &Line<'_>| line.is_blank() || between(line.text, "line_count").is_some();
    if !inner[close + 1..end].iter().all(is_count) {
        return Err(wrong());
    }
    let body = inner.get(2..close).ok_or_else(wrong)?;
    if body.iter().find(|line| !line.is_blank()).is_some_and(|line| line.fence.is_some()) {
        return Err(format!("`{path}`: its text in <{part}> begins with a fence; write the text alone"));
    }
    let artifacts = if part == "diff" {
        let (found, after) = pairs(body, 0, &path)?;
        if found.is_empty() || !body[after..].iter().all(Line::is_blank) {
            return Err(format!("`{path}`: <diff> holds SEARCH/REPLACE parts and nothing else"));
        }
        found
    } else {
        vec![Artifact::Write { path, content: text_of(body) }]
    };
    Ok((artifacts, from + 1 + end + 1))
}

/// What stands between `<name>` and `</name>` in one line.
fn between<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let inner = line.strip_prefix('<')?.strip_prefix(name)?.strip_prefix('>')?;
    Some(inner.strip_suffix('>')?.strip_suffix(name)?.strip_suffix("</")?.trim())
}

/// The one line that is a text.
fn only(lines: &[Line<'_>], text: &str) -> Option<usize> {
    let mut found = (0..lines.len()).filter(|at| lines[*at].text == text);
    found.next().filter(|_| found.next().is_none())
}
