//! The syntax tree of a text, and the nodes that a language's query marks in it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use tree_sitter::{Node, Parser, Query, QueryCursor, StreamingIterator, Tree};

use super::Language;

/// Texts longer or deeper than this are not looked into: no source is, and reading them would not end.
const LONGEST: usize = 4 << 20;
const DEEPEST: usize = 400;

/// The same for what could not be read and has more parts than this.
const WIDEST_ERROR: usize = 2000;

/// The syntax tree of a text, with the query of its language; `None` where it is not looked into.
pub(super) fn tree<'l>(language: &'l Language, text: &str) -> Option<(Tree, &'l Query)> {
    let grammar = (language.grammar)();
    let query = language.compiled.get_or_init(|| Query::new(&grammar, language.query).ok()).as_ref()?;
    let mut parser = Parser::new();
    parser.set_language(&grammar).ok()?;
    let tree = (text.len() <= LONGEST).then(|| parser.parse(text, None)).flatten()?;
    is_readable(&tree).then_some((tree, query))
}

/// Where a text does not parse, by its line and column from 1: the first place that the grammar knows nothing for.
/// `None` also where the text is not looked into.
pub(crate) fn first_error(language: &Language, text: &str) -> Option<(u32, u32)> {
    let mut parser = Parser::new();
    parser.set_language(&(language.grammar)()).ok()?;
    let tree = (text.len() <= LONGEST).then(|| parser.parse(text, None)).flatten()?;
    let mut cursor = tree.walk();
    while cursor.node().has_error() {
        let node = cursor.node();
        let broken = |node: &Node<'_>| node.has_error() || node.is_missing();
        let is_last = node.is_error() || node.is_missing() || !cursor.goto_first_child();
        if is_last {
            let place = node.start_position();
            let number = |at: usize| u32::try_from(at).map_or(u32::MAX, |at| at.saturating_add(1));
            return Some((number(place.row), number(place.column)));
        }
        while !broken(&cursor.node()) {
            if !cursor.goto_next_sibling() {
                break;
            }
        }
    }
    None
}

fn is_readable(tree: &Tree) -> bool {
    let mut cursor = tree.walk();
    let mut depth = 0;
    loop {
        if cursor.node().is_error() && cursor.node().child_count() as usize > WIDEST_ERROR {
            return false;
        }
        if cursor.goto_first_child() {
            depth += 1;
            if depth > DEEPEST {
                return false;
            }
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return true;
            }
            depth -= 1;
        }
    }
}

/// The nodes a query marked, by what it calls them, in order.
pub(super) struct Marked<'t> {
    by_name: BTreeMap<String, Vec<Node<'t>>>,
    ids: BTreeMap<String, BTreeSet<usize>>,
    /// What gives a longer name to what it holds: its extent and its name.
    pub(super) holders: Vec<(Range<usize>, Range<usize>)>,
}

impl<'t> Marked<'t> {
    pub(super) fn of(tree: &'t Tree, query: &Query, text: &str) -> Marked<'t> {
        let mut marked = Marked { by_name: BTreeMap::new(), ids: BTreeMap::new(), holders: Vec::new() };
        let names = query.capture_names();
        let mut cursor = QueryCursor::new();
        let mut matches = cursor.matches(query, tree.root_node(), text.as_bytes());
        while let Some(found) = matches.next() {
            let called = |name: &str| {
                let mut captures = found.captures().iter();
                let one = captures.find(|capture| names.get(capture.index as usize) == Some(&name));
                one.map(|capture| capture.node.byte_range())
            };
            marked.holders.extend(called("holder").zip(called("holder.name")));
            for capture in found.captures() {
                let name = names.get(capture.index as usize).copied().unwrap_or_default();
                if name.starts_with('_')
                    || !marked.ids.entry(name.to_owned()).or_default().insert(capture.node.id())
                {
                    continue;
                }
                marked.by_name.entry(name.to_owned()).or_default().push(capture.node);
            }
        }
        marked.holders.sort_by_key(|(range, _)| (range.start, std::cmp::Reverse(range.end)));
        for nodes in marked.by_name.values_mut() {
            nodes.sort_by_key(|node| (node.start_byte(), std::cmp::Reverse(node.end_byte())));
        }
        marked
    }

    pub(super) fn nodes(&self, name: &str) -> impl Iterator<Item = &Node<'t>> {
        self.by_name.get(name).into_iter().flatten()
    }

    pub(super) fn ids(&self, name: &str) -> impl Iterator<Item = &usize> {
        self.ids.get(name).into_iter().flatten()
    }

    pub(super) fn is(&self, name: &str, node: Node<'_>) -> bool {
        self.ids.get(name).is_some_and(|ids| ids.contains(&node.id()))
    }

    /// The marked nodes of a name that begin and end in a range.
    pub(super) fn within(&self, name: &str, range: &Range<usize>) -> impl Iterator<Item = &Node<'t>> {
        let nodes = self.by_name.get(name).map_or(&[][..], Vec::as_slice);
        let first = nodes.partition_point(|node| node.start_byte() < range.start);
        let end = range.end;
        let near = nodes[first..].iter().take_while(move |node| node.start_byte() < end);
        near.filter(move |node| node.end_byte() <= end)
    }

    /// How many marked nodes of a name lie in one of these ranges; one inside another counts once.
    pub(super) fn count(&self, name: &str, ranges: &[Range<usize>]) -> usize {
        let mut count = 0;
        for range in ranges {
            let mut end = 0;
            for node in self.within(name, range) {
                if node.start_byte() >= end {
                    count += 1;
                    end = node.end_byte();
                }
            }
        }
        count
    }
}
