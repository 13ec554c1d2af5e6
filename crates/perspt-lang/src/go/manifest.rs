//! `go.mod` and `go.work`: lines of words, some of them in parentheses after one word for all.

use std::collections::BTreeSet;

use perspt_core::path::RelPath;

use crate::plugin::Files;

/// One directive: its words without quotes, the first being its name.
type Directive = Vec<String>;

/// What such a file says, as far as it can be read.
pub(crate) struct Manifest(Vec<Directive>);

impl Manifest {
    /// Of a text.
    pub(crate) fn parse(text: &str) -> Manifest {
        let mut directives = Vec::new();
        let mut block: Option<String> = None;
        for line in text.lines() {
            let (said, comment) = line.split_once("//").unwrap_or((line, ""));
            let mut words: Vec<String> =
                said.split_whitespace().map(|word| word.trim_matches(['"', '`']).to_owned()).collect();
            match (words.as_slice(), &block) {
                ([], _) => continue,
                ([close], Some(_)) if close == ")" => {
                    block = None;
                    continue;
                }
                ([name, open], None) if open == "(" => {
                    block = Some(name.clone());
                    continue;
                }
                (_, Some(name)) => words.insert(0, name.clone()),
                (_, None) => {}
            }
            words.extend(comment.trim().starts_with(INDIRECT).then(|| INDIRECT.to_owned()));
            directives.push(words);
        }
        Manifest(directives)
    }

    /// Of a file of the tree.
    pub(crate) fn of(files: &dyn Files, dir: &RelPath, name: &str) -> Option<Manifest> {
        Some(Manifest::parse(&files.text(&dir.join(name).ok()?)?))
    }

    fn named<'m>(&'m self, name: &'m str) -> impl Iterator<Item = &'m [String]> {
        self.0.iter().filter(move |words| words[0] == name).map(|words| &words[1..])
    }

    /// The module's path.
    pub(crate) fn module(&self) -> Option<&str> {
        self.named("module").find_map(|words| words.first()).map(String::as_str)
    }

    /// The folders that a workspace uses.
    pub(crate) fn uses(&self) -> impl Iterator<Item = &str> {
        self.named("use").filter_map(|words| words.first()).map(String::as_str)
    }

    /// The modules that are required, those that only others need included.
    pub(crate) fn requires(&self) -> impl Iterator<Item = &str> {
        self.named("require").filter_map(|words| words.first()).map(String::as_str)
    }

    /// The modules that the project itself asks for: neither those of others nor those that lie in a folder.
    pub(crate) fn direct(&self) -> BTreeSet<String> {
        let local: BTreeSet<&str> = self
            .named("replace")
            .filter(|words| words.last().is_some_and(|to| to.starts_with('.') || to.starts_with('/')))
            .filter_map(|words| words.first().map(String::as_str))
            .collect();
        let asked = self.named("require").filter(|words| words.last().is_none_or(|last| last != INDIRECT));
        let names = asked.filter_map(|words| words.first()).filter(|name| !local.contains(name.as_str()));
        names.cloned().collect()
    }

    /// What decides which code and which tools tests are built with, a line for each.
    pub(crate) fn evidence(&self) -> BTreeSet<String> {
        let decides =
            |words: &&Directive| ["replace", "toolchain", "exclude", "godebug"].contains(&words[0].as_str());
        self.0.iter().filter(decides).map(|words| words.join(" ")).collect()
    }
}

/// What stands behind a module that only others need.
const INDIRECT: &str = "indirect";
