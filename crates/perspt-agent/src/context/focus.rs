//! What a prompt is about: by it the parts of large files are chosen.

use std::collections::BTreeSet;

use perspt_core::path::RelPath;

use super::words::words;

/// What matters in the files of a package.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Focus {
    /// Identifiers that the task, the plan or findings name, as code writes them.
    pub names: Vec<String>,
    /// Other words of the task, split and without endings: they rank items where no identifier is named.
    pub words: Vec<String>,
    /// Places of findings: the file and the line, from 1.
    pub lines: Vec<(RelPath, u32)>,
}

impl Focus {
    /// What the words of these texts are about: the task, a node's goal, findings. What looks like code is a name: it is
    /// quoted as code, called, or joined as only identifiers are. Every text gives words.
    pub fn of_texts<'a>(texts: impl IntoIterator<Item = &'a str>) -> Focus {
        let (mut names, mut found) = (BTreeSet::new(), BTreeSet::new());
        for text in texts {
            names.extend(quoted(text).flat_map(parts).map(str::to_owned));
            for token in text.split_whitespace() {
                let joined = parts(token).filter(|part| is_joined(part));
                names.extend(joined.map(str::to_owned));
                names.extend(called(token).map(str::to_owned));
            }
            found.extend(words(text));
        }
        Focus { names: names.into_iter().collect(), words: found.into_iter().collect(), lines: Vec::new() }
    }
}

/// What stands between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The identifiers in a text: those of `Cart::total(self)` are three.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let begins = |part: &&str| part.len() > 1 && part.starts_with(|c: char| c.is_alphabetic() || c == '_');
    text.split(move |c| !is_part(c)).filter(begins)
}

/// Whether a word is joined as only identifiers are: `member_rate`, `memberRate`, `HTTPServer2`, `__init__`.
fn is_joined(word: &str) -> bool {
    let letters: Vec<char> = word.chars().collect();
    let humps = letters.windows(2).any(|pair| pair[0].is_lowercase() && pair[1].is_uppercase());
    word.contains('_') || humps
}

/// The name before an opening bracket, or on both sides of `::`.
fn called(token: &str) -> impl Iterator<Item = &str> {
    let before = token.split_once('(').map(|(before, _)| before).unwrap_or_default();
    let path = if token.contains("::") { token } else { "" };
    parts(before).chain(parts(path))
}
