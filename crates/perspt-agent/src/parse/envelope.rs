//! `*** Begin Patch`: a list of files to add, update or delete.

use perspt_core::bundle::Artifact;

use super::lines::{Line, text_of};
use super::steps::count;

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";

/// Whether an envelope begins at a line.
pub(super) fn begins_envelope(line: &Line<'_>) -> bool {
    line.text == BEGIN
}

/// Whether an envelope ends at a line.
pub(super) fn ends_envelope(line: &Line<'_>) -> bool {
    line.text == END
}

/// Reads an envelope. Gives its artifacts with the line behind it.
pub(super) fn envelope(lines: &[Line<'_>], from: usize) -> Result<(Vec<Artifact>, usize), String> {
    let rest = &lines[from + 1..];
    let length = rest.iter().position(|line| line.text == END || line.text == BEGIN);
    count(length.unwrap_or(rest.len()));
    let Some(length) = length.filter(|length| rest[*length].text == END) else {
        return Err(format!("`{BEGIN}` has no `{END}`: the answer may have been cut off"));
    };
    let body = &rest[..length];
    let (mut out, mut at) = (Vec::new(), 0);
    while let Some(line) = body.get(at) {
        at += 1;
        if line.is_blank() {
            continue;
        }
        let Some((action, path)) = line.text.strip_prefix("*** ").and_then(|rest| rest.split_once(": "))
        else {
            return Err(format!(
                "`{}` stands in a patch where a line `*** Update File: path` is due",
                line.text
            ));
        };
        let size = body[at..].iter().take_while(|line| !is_file_line(line.text)).count();
        let own = &body[at..at + size];
        at += size;
        let path = path.trim().to_owned();
        match action {
            "Add File" => out.push(Artifact::Write { content: added(own, &path)?, path }),
            "Delete File" if own.iter().all(Line::is_blank) => out.push(Artifact::Delete { path }),
            "Update File" => out.extend(updated(own, path)?),
            _ => return Err(format!("`{}` is no line of a patch that is understood", line.text)),
        }
    }
    Ok((out, from + length + 2))
}

fn is_file_line(text: &str) -> bool {
    ["*** Add File: ", "*** Delete File: ", "*** Update File: "].iter().any(|mark| text.starts_with(mark))
}

fn added(lines: &[Line<'_>], path: &str) -> Result<String, String> {
    let blank = lines.iter().rev().take_while(|line| line.is_blank()).count();
    let plain = lines[..lines.len() - blank].iter().map(|line| {
        line.raw
            .strip_prefix('+')
            .ok_or_else(|| format!("a line of the new file `{path}` does not begin with +"))
    });
    plain.collect()
}

fn updated(lines: &[Line<'_>], path: String) -> Result<Vec<Artifact>, String> {
    let to =
        lines.first().and_then(|line| line.text.strip_prefix("*** Move to: ")).map(|to| to.trim().to_owned());
    let lines = &lines[usize::from(to.is_some())..];
    let hunks: Vec<Line<'_>> = lines.iter().filter(|line| line.text != "*** End of File").copied().collect();
    let mut out = Vec::new();
    if let Some(first) = hunks.iter().find(|line| !line.is_blank()) {
        let head = if first.text.starts_with("@@") { "" } else { "@@\n" };
        out.push(Artifact::Diff { path: path.clone(), patch: format!("{head}{}", text_of(&hunks)) });
    } else if to.is_none() {
        return Err(format!("the patch of `{path}` has no hunk"));
    }
    out.extend(to.map(|to| Artifact::Move { from: path, to }));
    Ok(out)
}
