//! `<file path="...">`: a file's text between two tags.

use perspt_core::bundle::Artifact;

use super::lines::{Line, text_of};
use super::notes::Notes;
use super::pairs::{begins_pair, pairs};
use super::path::clean_path;
use super::steps::count;
use super::words::may_be_path;

const TAGS: [&str; 5] = ["file", "write", "create", "edit", "delete"];

/// A tag with a path.
struct Tag<'a> {
    name: &'a str,
    path: String,
    is_whole: bool,
}

fn tag(line: &Line<'_>) -> Option<Tag<'static>> {
    let inner = line.text.strip_prefix('<')?.strip_suffix('>')?;
    let (inner, is_whole) = inner.strip_suffix('/').map_or((inner, false), |inner| (inner, true));
    let name =
        TAGS.into_iter().find(|name| inner.strip_prefix(name).is_some_and(|rest| rest.starts_with(' ')))?;
    let (key, value) = inner[name.len()..].trim().split_once('=')?;
    let path = clean_path(value, &mut Notes::default());
    let is_path = ["path", "name", "file", "filename", "src"].contains(&key.trim()) && may_be_path(&path);
    is_path.then_some(Tag { name, path, is_whole })
}

/// Whether a file in tags begins at a line.
pub(super) fn begins_tag(line: &Line<'_>) -> bool {
    tag(line).is_some()
}

/// Whether a file in tags may end at a line.
pub(super) fn ends_tag(line: &Line<'_>) -> bool {
    let name = line.text.strip_prefix("</").and_then(|rest| rest.strip_suffix('>'));
    name.is_some_and(|name| TAGS.contains(&name))
}

/// The text without one fence around all of it. No file of code begins with a fence; one of prose may.
fn unfenced<'a, 'b>(body: &'a [Line<'b>], path: &str) -> Option<&'a [Line<'b>]> {
    const PROSE: [&str; 7] = [".md", ".mdx", ".markdown", ".rst", ".txt", ".adoc", ".qmd"];
    let is_full = |line: &Line<'_>| !line.is_blank();
    let (Some(first), Some(last)) = (body.iter().position(is_full), body.iter().rposition(is_full)) else {
        return Some(body);
    };
    let Some(open) = body[first].fence else { return Some(body) };
    let inner = body.get(first + 1..last)?;
    let is_closed = body[last].fence.is_some_and(|fence| fence.closes(&open));
    let is_code =
        path.rsplit('/').next()?.contains('.') && !PROSE.iter().any(|ending| path.ends_with(ending));
    let is_one = inner.iter().all(|line| line.fence.is_none()) && open.indent == 0;
    (is_closed && is_code && is_one).then_some(inner)
}

/// Reads the file that begins at a line. Gives its artifacts with the line behind it.
pub(super) fn tagged(lines: &[Line<'_>], from: usize) -> Result<(Vec<Artifact>, usize), String> {
    let Some(Tag { name, path, is_whole }) = tag(&lines[from]) else {
        return Err(format!("`{}` cannot be read", lines[from].text));
    };
    if is_whole {
        return match name {
            "delete" => Ok((vec![Artifact::Delete { path }], from + 1)),
            _ => Err(format!("<{name} path=\"{path}\"/> holds no text")),
        };
    }
    let close = format!("</{name}>");
    let next = lines[from + 1..].iter().position(begins_tag).map_or(lines.len(), |length| from + 1 + length);
    count(next - from);
    let mut ends = (from + 1..next).filter(|at| lines[*at].text == close);
    let (Some(end), None) = (ends.next(), ends.next()) else {
        return Err(format!("`{path}`: one line {close} must end what <{name}> begins"));
    };
    let body = &lines[from + 1..end];
    let body = unfenced(body, &path)
        .ok_or_else(|| format!("`{path}`: its text in <{name}> begins with a fence; write the text alone"))?;
    let is_pair = body.first().is_some_and(begins_pair);
    let artifacts = match (name, is_pair) {
        ("delete", _) if body.iter().all(Line::is_blank) => vec![Artifact::Delete { path }],
        ("edit", true) => {
            let (found, after) = pairs(body, 0, &path)?;
            let is_rest_blank = body[after..].iter().all(Line::is_blank);
            if !is_rest_blank {
                return Err(format!("`{path}`: text stands behind its SEARCH/REPLACE"));
            }
            found
        }
        ("file" | "write" | "create", false) => vec![Artifact::Write { path, content: text_of(body) }],
        _ => return Err(format!("`{path}`: what stands in <{name}> does not say what is done to it")),
    };
    Ok((artifacts, end + 1))
}
