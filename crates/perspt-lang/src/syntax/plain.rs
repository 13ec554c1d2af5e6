//! The outline of a file of no known language, by what its lines look like: headings, sections, and lines that begin as
//! declarations do in most languages. Limit: it reads lines, so a declaration inside a string counts.

use super::outline::{OutlineItem, one_line};

/// Words that a declaration may begin with, before the word that says what it is.
const BEFORE: &[&str] = &[
    "abstract",
    "async",
    "default",
    "export",
    "final",
    "internal",
    "open",
    "override",
    "private",
    "protected",
    "public",
    "sealed",
    "static",
    "virtual",
];
/// Words after which the name of what is declared stands.
const DECLARES: &[&str] = &[
    "class",
    "def",
    "enum",
    "fn",
    "fun",
    "func",
    "function",
    "interface",
    "module",
    "namespace",
    "object",
    "package",
    "procedure",
    "struct",
    "sub",
    "trait",
    "type",
];

/// The items of a text, in order. Each reaches to the next one that is not deeper.
pub(super) fn outline(text: &str) -> Vec<OutlineItem> {
    let mut found: Vec<(usize, OutlineItem)> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut last = 0;
    for (at, line) in text.lines().enumerate() {
        let number = u32::try_from(at).map_or(u32::MAX, |at| at.saturating_add(1));
        last = number;
        let Some((depth, name)) = declared(line) else { continue };
        while let Some(&item) = open.last().filter(|&&item| found[item].0 >= depth) {
            found[item].1.lines.1 = number - 1;
            open.pop();
        }
        let scope = open.iter().map(|&item| found[item].1.name.clone()).collect();
        open.push(found.len());
        found.push((
            depth,
            OutlineItem {
                name,
                scope,
                signature: one_line(line.trim_start_matches('#')),
                declaration: line.to_owned(),
                declared_at: number,
                lines: (number, number),
            },
        ));
    }
    for item in open {
        found[item].1.lines.1 = last;
    }
    found.into_iter().map(|(_, item)| item).collect()
}

/// How deep a line's declaration stands, and its name.
fn declared(line: &str) -> Option<(usize, String)> {
    let trimmed = line.trim_start();
    let hashes = trimmed.bytes().take_while(|&byte| byte == b'#').count();
    if (1..=6).contains(&hashes)
        && trimmed.as_bytes().get(hashes) == Some(&b' ')
        && trimmed.len() == line.len()
    {
        return Some((hashes, trimmed[hashes..].trim().to_owned()));
    }
    if let Some(section) = line.strip_prefix('[').and_then(|rest| rest.trim_end().strip_suffix(']')) {
        return Some((1, section.trim_matches(['[', ']']).to_owned()));
    }
    let mut words = trimmed.split_whitespace().skip_while(|word| BEFORE.contains(word));
    words.next().filter(|word| DECLARES.contains(word))?;
    let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let name = words.next()?.split(|c| !is_name(c)).next().filter(|name| !name.is_empty())?;
    Some((line.len() - trimmed.len() + 1, name.to_owned()))
}
