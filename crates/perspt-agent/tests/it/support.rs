//! A tree in memory.

use std::collections::BTreeMap;

use perspt_core::hash::Sha;
use perspt_core::path::RelPath;
use perspt_core::tree::{Entry, EntryKind, Tree};
use perspt_lang::plugin::Files;

pub struct Memory {
    tree: Tree,
    texts: BTreeMap<RelPath, String>,
}

impl Memory {
    pub fn new(files: &[(&str, &str)]) -> Memory {
        let texts: BTreeMap<RelPath, String> =
            files.iter().map(|(path, text)| (RelPath::parse(path).unwrap(), (*text).to_owned())).collect();
        let entry = |text: &String| Entry {
            kind: EntryKind::File,
            hash: Sha::of(text.as_bytes()),
            size: text.len() as u64,
        };
        let entries = texts.iter().map(|(path, text)| (path.clone(), entry(text))).collect();
        Memory { tree: Tree { entries }, texts }
    }
}

impl Files for Memory {
    fn tree(&self) -> &Tree {
        &self.tree
    }

    fn text(&self, path: &RelPath) -> Option<String> {
        self.texts.get(path).cloned()
    }
}

pub fn path(text: &str) -> RelPath {
    RelPath::parse(text).unwrap()
}
