//! What a source says, by its syntax tree: its tests, what they use, its imports. One engine for every language; what a
//! language calls these things is in its query file. A broken file gives what can still be read of it.
//!
//! | capture | what it marks |
//! |---|---|
//! | `item` | what is directly in a file, a module or a class |
//! | `scope`, `suite` | what holds items and gives them a longer name; one that may hold tests |
//! | `holder`, `holder.name` | a definition that others stand in; its name |
//! | `comment`, `import` | what no test is compared by |
//! | `attribute` | what comes before an item and belongs to it |
//! | `title` | the text that names a test or a suite, where a call makes it |
//! | `test`, `test.attribute`, `test.macro` | a test; what makes the item after it one; a macro that holds some |
//! | `guard` | an attribute by which something exists for tests alone |
//! | `mark` | what holds for every test of the scope it is on |
//! | `skip`, `assert` | what keeps a test from running; what can let it fail |
//! | `exact`, `vacuous` | a comparison with one value; a condition that always holds |
//! | `ambient` | what reaches tests that do not name it |
//! | `table`, `case` | a list of cases; one case |
//! | `doc` | documentation inside what it is about |
//! | `define`, `declares` | a name that is defined; a module in a file of its own |
//! | `binds`, `extends` | a name that a later one of its scope takes away; one that only adds to the one before |
//! | `loads` | the name of a file or package that is loaded |
//! | `judge`, `placeholder`, `asks` | a macro by which tests fail; code still to be written; a question whether tests run |

mod imports;
mod marked;
mod outline;
mod parse;
mod plain;
mod tokens;

use std::ops::Range;
use std::sync::OnceLock;

use tree_sitter::Query;

pub use imports::{Imported, imports};
pub(crate) use marked::first_error;
pub use outline::{OutlineItem, outline};
pub(crate) use parse::{code_names, parse};
pub(crate) use tokens::Token;

/// A language as the engine needs it.
pub(crate) struct Language {
    /// Its grammar.
    pub grammar: fn() -> tree_sitter::Language,
    /// Its query file.
    pub query: &'static str,
    /// The query, compiled once.
    pub compiled: OnceLock<Option<Query>>,
    /// The kind of node whose extent only layout shows.
    pub layout: Option<&'static str>,
    /// What replaces an item that is taken out.
    pub nothing: &'static str,
    /// Whether a suite holds tests and what they use, and nothing else.
    pub suites_are_tests: bool,
    /// The names that an import's tokens bind, each with where it comes from.
    pub bindings: fn(&[&str]) -> Vec<(String, String)>,
}

/// What an item is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A test.
    Test,
    /// The head of a scope, without what it holds.
    Head,
    /// Anything else.
    Other,
}

/// Something directly in a file, a module or a class.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    /// Its name inside the file: `tests::adds`, `TestA::test_b`.
    pub name: String,
    /// The name of what holds it; empty at the top of a file.
    pub scope: String,
    /// What it is.
    pub kind: Kind,
    /// Whether it exists for tests alone, by what the source says.
    pub guarded: bool,
    /// Whether it reaches tests that do not name it.
    pub ambient: bool,
    /// Its text, attributes and decorators included.
    pub range: Range<usize>,
    /// Its first and last line, from 1.
    pub lines: (u32, u32),
    /// Its tokens without comments, imports, cases, items inside it and, of a test, its name.
    pub tokens: Vec<Token>,
    /// The cases of its tables, each as one text.
    pub cases: Vec<String>,
    /// Of a test, what the scopes around it say of every test in them.
    pub context: Vec<String>,
    /// How many assertions it has.
    pub assertions: usize,
    /// How many comparisons with one value it has.
    pub exact: usize,
    /// How many conditions that always hold.
    pub vacuous: usize,
    /// How many marks keep it from running, those around it included.
    pub skips: usize,
}

impl Item {
    /// Whether nothing but additions to its cases tells it from another one.
    pub(crate) fn is_kept_in(&self, new: &Item) -> bool {
        self.tokens == new.tokens && self.context == new.context && self.lost_cases(new) == 0
    }

    /// How many of its cases another one does not have.
    pub(crate) fn lost_cases(&self, new: &Item) -> usize {
        let mut left = new.cases.clone();
        let mut lost = 0;
        for case in &self.cases {
            match left.iter().position(|other| other == case) {
                Some(at) => drop(left.swap_remove(at)),
                None => lost += 1,
            }
        }
        lost
    }

    /// The last part of its name.
    pub(crate) fn last(&self) -> &str {
        self.name.rsplit("::").next().unwrap_or(&self.name)
    }
}

/// An import.
#[derive(Debug, Clone)]
pub(crate) struct Import {
    /// Its text.
    pub range: Range<usize>,
    /// Its scope.
    pub scope: String,
    /// Whether it exists for tests alone.
    pub guarded: bool,
    /// The names it binds, each with where it comes from.
    pub binds: Vec<(String, String)>,
}

/// Something at a place, by its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Spot {
    /// Its text, for a definition the name.
    pub text: String,
    /// The names of the definitions around it, from the outermost.
    pub path: Vec<String>,
    /// Where it begins.
    pub start: usize,
    /// Its line, from 1.
    pub line: u32,
}

/// What a source says.
#[derive(Debug, Default)]
pub(crate) struct Source {
    /// Its items in order, heads of scopes before what they hold.
    pub items: Vec<Item>,
    /// Imports that stand beside items.
    pub imports: Vec<Import>,
    /// Modules in files of their own, and whether each exists for tests alone.
    pub declares: Vec<(String, bool)>,
    /// Whether the whole file exists for tests alone.
    pub guarded: bool,
    /// Names that are defined.
    pub defines: Vec<Spot>,
    /// Names whose last definition in a scope is the one that counts.
    pub binds: Vec<Spot>,
    /// Names of files and packages that are loaded.
    pub loads: Vec<Spot>,
    /// Documentation inside what it is about.
    pub docs: Vec<Spot>,
    /// Definitions of macros by which tests fail.
    pub judges: Vec<Spot>,
    /// Code still to be written.
    pub placeholders: Vec<Spot>,
    /// Questions whether tests run.
    pub asks: Vec<Spot>,
}

impl Source {
    /// The tests.
    pub(crate) fn tests(&self) -> impl Iterator<Item = &Item> {
        self.items.iter().filter(|item| item.kind == Kind::Test)
    }

    /// The item of a name.
    pub(crate) fn item(&self, name: &str) -> Option<&Item> {
        self.items.iter().find(|item| item.name == name)
    }

    /// What comes after an item and gives its name, or that of a scope around it, to something else.
    pub(crate) fn hiding(&self, item: &Item) -> Vec<Range<usize>> {
        let holds = |head: &&Item| {
            head.kind == Kind::Head
                && head.range.start <= item.range.start
                && item.range.end <= head.range.end
                && head.range != item.range
        };
        let around: Vec<&Item> = self.items.iter().filter(holds).collect();
        let mut found = Vec::new();
        for (depth, outer) in around.into_iter().chain([item]).enumerate() {
            let own = |spot: &&Spot| outer.range.contains(&spot.start) && spot.path.len() == depth;
            for own in self.binds.iter().filter(own) {
                let later = self.binds.iter().filter(|spot| spot.start >= outer.range.end);
                let same = later.filter(|spot| spot.text == own.text && spot.path == own.path);
                found.extend(same.map(|spot| self.statement(spot)));
                let imports = self
                    .imports
                    .iter()
                    .filter(|import| import.range.start >= outer.range.end && import.scope == outer.scope);
                let binding = imports.filter(|import| import.binds.iter().any(|(name, _)| *name == own.text));
                found.extend(binding.map(|import| import.range.clone()));
            }
        }
        found.sort_by_key(|range| range.start);
        found
    }

    fn statement(&self, spot: &Spot) -> Range<usize> {
        let item = self.items.iter().rfind(|item| item.range.contains(&spot.start));
        item.map_or(spot.start..spot.start + spot.text.len(), |item| item.range.clone())
    }

    /// Whether a place lies in a test or in what exists for tests alone.
    pub(crate) fn is_of_tests(&self, at: usize) -> bool {
        let holds = |item: &Item| (item.guarded || item.kind == Kind::Test) && item.range.contains(&at);
        self.guarded || self.items.iter().any(holds)
    }
}
