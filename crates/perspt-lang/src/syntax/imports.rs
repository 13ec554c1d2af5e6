//! What a source imports, wherever in it.

use perspt_core::path::RelPath;

use super::marked::{Marked, tree};
use super::outline::known;
use super::tokens::tokens;

/// Something that a source imports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// Its line, from 1.
    pub line: u32,
    /// Where it comes from, as the language writes it.
    pub from: String,
}

impl Imported {
    /// Whether this module, or something in it, is imported: its parts follow on each other there.
    pub fn is_of(&self, module: &str) -> bool {
        let (parts, wanted) = (parts(&self.from), parts(module));
        !wanted.is_empty() && parts.windows(wanted.len()).any(|window| window == wanted)
    }
}

/// The parts of a module's name that do not depend on who imports it.
fn parts(module: &str) -> Vec<&str> {
    let words = module.split(|c: char| !(c.is_alphanumeric() || ['_', '-', '@'].contains(&c)));
    words.filter(|word| !["", "crate", "self", "super"].contains(word)).collect()
}

/// What a source imports; `None` where its language is not known, or it cannot be read.
pub fn imports(path: &RelPath, text: &str) -> Option<Vec<Imported>> {
    let (language, _) = known(path)?;
    let (tree, query) = tree(language, text)?;
    let marked = Marked::of(&tree, query, text);
    let mut found = Vec::new();
    for node in marked.nodes("import") {
        let words = tokens(*node, text, &|_| false, None);
        let words: Vec<&str> = words.iter().map(|token| token.text.as_str()).collect();
        let line = u32::try_from(node.start_position().row).map_or(u32::MAX, |row| row.saturating_add(1));
        let mut from: Vec<String> = (language.bindings)(&words).into_iter().map(|(_, from)| from).collect();
        if from.is_empty() {
            // It binds no name of its own: everything of a module.
            from.push(words.join(" "));
        }
        found.extend(from.into_iter().map(|from| Imported { line, from }));
    }
    Some(found)
}
