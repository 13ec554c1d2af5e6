//! Which files of a tree a task is about, told by the words it uses.

use std::collections::BTreeSet;

use perspt_core::path::RelPath;
use perspt_lang::plugin::Files;

use super::focus::Focus;
use super::words::words;

/// The most files whose texts are looked into.
const FILES: usize = 500;
/// Larger files are ranked by their names alone.
const BYTES: u64 = 512 * 1024;

const NAMED_PATH: u64 = 100;
const NAMED_ITEM: u64 = 10;
const WORD_OF_PATH: u64 = 4;
const WORD_OF_TEXT: u64 = 1;

/// A file with how much the task seems to be about it; zero where nothing connects the two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ranked {
    /// The file.
    pub path: RelPath,
    /// Its size in bytes.
    pub bytes: u64,
    /// The score.
    pub score: u64,
}

/// Ranks files: the best first, of equal ones the smaller first, then by name.
pub fn rank(task: &str, focus: &Focus, files: &dyn Files, paths: &[RelPath]) -> Vec<Ranked> {
    let wanted: BTreeSet<&str> = focus.words.iter().map(String::as_str).collect();
    let mut ranked: Vec<Ranked> = paths
        .iter()
        .enumerate()
        .map(|(at, path)| {
            let bytes = files.tree().entries.get(path).map_or(0, |entry| entry.size);
            let reads = at < FILES && bytes <= BYTES;
            let text = if reads { files.text(path) } else { None };
            let score = score(task, focus, &wanted, path, text.as_deref().unwrap_or(""));
            Ranked { path: path.clone(), bytes, score }
        })
        .collect();
    ranked.sort_by(|a, b| b.score.cmp(&a.score).then(a.bytes.cmp(&b.bytes)).then(a.path.cmp(&b.path)));
    ranked
}

fn score(task: &str, focus: &Focus, wanted: &BTreeSet<&str>, path: &RelPath, text: &str) -> u64 {
    let count = |found: usize, weight: u64| weight.saturating_mul(found as u64);
    let shared = |text: &str| {
        let found: BTreeSet<String> = words(text).into_iter().collect();
        found.iter().filter(|word| wanted.contains(word.as_str())).count()
    };
    let named = focus.names.iter().filter(|name| holds_name(text, name)).count();
    count(usize::from(names(task, path)), NAMED_PATH)
        + count(named, NAMED_ITEM)
        + count(shared(path.as_str()), WORD_OF_PATH)
        + count(shared(text), WORD_OF_TEXT)
}

/// Whether a text's words name this file, by path or by file name.
pub fn names(text: &str, path: &RelPath) -> bool {
    text.contains(path.as_str()) || (path.name().contains('.') && text.contains(path.name()))
}

/// Whether a text holds a name as a whole word.
fn holds_name(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name)
        .any(|(at, _)| !text[..at].ends_with(is_part) && !text[at + name.len()..].starts_with(is_part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_only_as_a_whole_word() {
        assert!(holds_name("x = total(1)", "total"));
        assert!(!holds_name("x = subtotal(1)", "total"));
        assert!(!holds_name("x = totals", "total"));
        assert!(holds_name("subtotal, total", "total"));
    }
}
