//! Which paths a workspace's own ignore files leave out.

use std::path::Path;
use std::rc::Rc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// What a path is, as far as ignore rules ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    Folder,
    Other,
}

/// The rules in force in one folder: its own first, then those of the folders above it. The nearest rule
/// that matches decides. A folder that is left out is not entered, so nothing in it can be taken back in.
#[derive(Default)]
pub(super) struct Rules {
    own: Vec<Gitignore>,
    above: Option<Rc<Rules>>,
}

impl Rules {
    /// The rules of a folder below, given its rule sets, the strongest first.
    pub(super) fn below(above: &Rc<Rules>, own: Vec<Gitignore>) -> Rc<Rules> {
        let own: Vec<Gitignore> = own.into_iter().filter(|rules| !rules.is_empty()).collect();
        if own.is_empty() { Rc::clone(above) } else { Rc::new(Rules { own, above: Some(Rc::clone(above)) }) }
    }

    /// Whether `path` (with the walked folder's own prefix) is left out.
    pub(super) fn leave_out(&self, path: &Path, what: What) -> bool {
        let mut level = Some(self);
        while let Some(rules) = level {
            for set in &rules.own {
                match set.matched(path, what == What::Folder) {
                    Match::None => {}
                    Match::Ignore(_) => return true,
                    Match::Whitelist(_) => return false,
                }
            }
            level = rules.above.as_deref();
        }
        false
    }
}

/// Reads the text of one ignore file that applies to `folder`. Lines that cannot be understood are left out
/// and returned by number.
pub(super) fn parse(folder: &Path, text: &[u8]) -> (Gitignore, Vec<usize>) {
    let mut builder = GitignoreBuilder::new(folder);
    // In git a bracket that is never closed matches nothing.
    builder.allow_unclosed_class(false);
    let mut bad = Vec::new();
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    for (at, line) in text.split(|byte| *byte == b'\n').enumerate() {
        let added = std::str::from_utf8(line)
            .is_ok_and(|line| builder.add_line(None, &without_alternatives(trimmed(line))).is_ok());
        if !added {
            bad.push(at + 1);
        }
    }
    match builder.build() {
        Ok(rules) => (rules, bad),
        Err(_) => (Gitignore::empty(), vec![1]),
    }
}

/// Without the spaces at the end; one after a backslash is part of the name.
fn trimmed(line: &str) -> &str {
    let mut line = line.strip_suffix('\r').unwrap_or(line);
    while line.ends_with(' ') && !line.ends_with("\\ ") {
        line = &line[..line.len() - 1];
    }
    line
}

/// Escapes braces: the matcher reads `{a,b}` as a choice, git reads it as it stands.
fn without_alternatives(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut chars = line.chars();
    let mut in_class = false;
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                out.push(c);
                out.extend(chars.next());
                continue;
            }
            '[' => in_class = true,
            ']' => in_class = false,
            '{' | '}' if !in_class => out.push('\\'),
            _ => {}
        }
        out.push(c);
    }
    out
}
