//! From a text to what it says: the query marks nodes, and items are made of them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use tree_sitter::Node;

use super::marked::{Marked, tree};
use super::tokens::{Token, tokens};
use super::{Import, Item, Kind, Language, Source, Spot};

/// What a text of a language says.
pub(crate) fn parse(language: &Language, text: &str) -> Source {
    let Some((tree, query)) = tree(language, text) else { return Source::default() };
    Reader::of(language, text, Marked::of(&tree, query, text)).read()
}

/// Every name that code which is no test uses or defines.
pub(crate) fn code_names(language: &Language, text: &str) -> BTreeSet<String> {
    let Some((tree, query)) = tree(language, text) else { return BTreeSet::new() };
    let reader = Reader::of(language, text, Marked::of(&tree, query, text));
    let source = reader.read();
    let mut names = BTreeSet::new();
    for &node in reader.marked.nodes("item").filter(|node| !source.is_of_tests(node.start_byte())) {
        let is_left_out =
            |id| reader.comments.contains(&id) || (id != node.id() && reader.items.contains(&id));
        let found = tokens(node, text, &is_left_out, None);
        names.extend(found.into_iter().filter(|token| token.is_name).map(|token| token.text));
    }
    names
}

fn is_inside(inner: Node<'_>, outer: Node<'_>) -> bool {
    inner.id() != outer.id()
        && outer.start_byte() <= inner.start_byte()
        && inner.end_byte() <= outer.end_byte()
}

/// A scope that items stand in.
struct Scope {
    name: String,
    range: Range<usize>,
    is_suite: bool,
    is_guarded: bool,
    /// Marks on the scope itself.
    marks: Vec<Range<usize>>,
}

struct Reader<'a, 't> {
    language: &'a Language,
    text: &'a str,
    marked: Marked<'t>,
    comments: BTreeSet<usize>,
    items: BTreeSet<usize>,
    /// What is no part of an item's tokens: comments, imports, cases.
    aside: BTreeSet<usize>,
    /// Marks that are no attributes, each with the extent it holds for.
    marks: Vec<(Node<'t>, Range<usize>)>,
}

/// An item's node and the attributes before it.
struct ItemNode<'t> {
    node: Node<'t>,
    attributes: Vec<Node<'t>>,
}

impl<'t> ItemNode<'t> {
    fn first(&self) -> Node<'t> {
        self.attributes.first().copied().unwrap_or(self.node)
    }
}

impl<'a, 't> Reader<'a, 't> {
    fn of(language: &'a Language, text: &'a str, marked: Marked<'t>) -> Reader<'a, 't> {
        let marked_as = |names: &[&str]| names.iter().flat_map(|name| marked.ids(name).copied()).collect();
        let (comments, items) = (marked_as(&["comment"]), marked_as(&["item"]));
        let aside = marked_as(&["comment", "import", "case", "table"]);
        let others = marked.nodes("mark").filter(|mark| !marked.is("attribute", **mark));
        let marks = others.filter_map(|mark| Some((*mark, mark.parent()?.byte_range()))).collect();
        Reader { language, text, marked, comments, items, aside, marks }
    }

    fn read(&self) -> Source {
        let mut source = Source { guarded: self.is_file_guarded(), ..Source::default() };
        let mut open: Vec<Scope> = Vec::new();
        let mut attributes: Vec<Node<'t>> = Vec::new();
        for &node in self.marked.nodes("item") {
            open.retain(|scope| scope.range.contains(&node.start_byte()));
            if self.marked.is("attribute", node) {
                attributes.push(node);
                continue;
            }
            if self.marked.is("comment", node) || node.kind() == "inner_attribute_item" {
                continue;
            }
            let part = ItemNode { node, attributes: std::mem::take(&mut attributes) };
            if self.marked.is("import", node) {
                source.imports.push(self.import(&part, &open));
                continue;
            }
            if self.marked.is("declares", node) {
                let name = name_of(node).map(|name| self.text_of(name)).unwrap_or_default();
                source.declares.push((name, self.is_guarded(&part, &open)));
            }
            if self.marked.is("test.macro", node) || self.holds_macro(node) {
                let tests = self.inner_tests(&part, &open);
                if !tests.is_empty() {
                    source.items.extend(tests);
                    continue;
                }
            }
            let item = self.item(&part, &open);
            if let Some(scope) = self.scope(node) {
                open.push(Scope {
                    name: item.name.clone(),
                    range: node.byte_range(),
                    is_suite: self.marked.is("suite", scope),
                    is_guarded: item.guarded,
                    marks: self.marks_before(&part),
                });
            }
            source.items.push(item);
        }
        unique(&mut source.items);
        source.defines = self.spots("define");
        source.binds = self.spots("binds");
        let extends: BTreeSet<usize> = self.marked.nodes("extends").map(Node::start_byte).collect();
        source.binds.retain(|spot| spot.text != "_" && !extends.contains(&spot.start));
        source.loads = self.spots("loads");
        source.docs = self.spots("doc");
        source.judges = self.spots("judge");
        source.placeholders = self.spots("placeholder");
        source.asks = self.spots("asks");
        source
    }

    fn text_of(&self, node: Node<'_>) -> String {
        self.text.get(node.byte_range()).unwrap_or_default().to_owned()
    }

    /// The text by which a call names the test or the suite that it makes.
    fn title(&self, node: Node<'_>, is_named: bool) -> Option<Node<'t>> {
        self.marked.within("title", &node.byte_range()).next().copied().filter(|_| is_named)
    }

    /// A name, without the quotes where it is a text.
    fn name_text(&self, name: Node<'_>) -> String {
        let text = self.text_of(name);
        if !self.marked.is("title", name) {
            return text;
        }
        let inner = text.get(1..text.len().saturating_sub(1)).unwrap_or_default();
        inner.replace("\\'", "'").replace("\\\"", "\"").replace("\\`", "`")
    }

    fn spots(&self, name: &str) -> Vec<Spot> {
        let mut spots = Vec::new();
        let mut holders = self.marked.holders.iter().peekable();
        let mut open: Vec<&(Range<usize>, Range<usize>)> = Vec::new();
        for node in self.marked.nodes(name) {
            let start = node.start_byte();
            while let Some(holder) = holders.next_if(|(range, _)| range.start <= start) {
                open.retain(|(range, _)| range.end > holder.0.start);
                open.push(holder);
            }
            open.retain(|(range, _)| range.end > start);
            // What a holder is called by does not stand in it.
            let around = open.iter().filter(|(_, name)| name.start != start);
            let names = around.map(|(_, name)| self.text.get(name.clone()).unwrap_or_default());
            spots.push(Spot {
                text: self.text_of(*node),
                path: names.map(|name| name.split('<').next().unwrap_or_default().to_owned()).collect(),
                start,
                line: node.start_position().row as u32 + 1,
            });
        }
        spots
    }

    fn is_file_guarded(&self) -> bool {
        let at_top = |node: &&Node<'_>| node.parent().is_some_and(|parent| parent.parent().is_none());
        self.marked
            .nodes("guard")
            .filter(|node| node.kind() == "inner_attribute_item")
            .any(|node| at_top(&node))
    }

    fn has(&self, part: &ItemNode<'_>, capture: &str) -> bool {
        part.attributes.iter().any(|attribute| self.marked.is(capture, *attribute))
    }

    fn is_guarded(&self, part: &ItemNode<'_>, open: &[Scope]) -> bool {
        let around = open.iter().any(|scope| scope.is_guarded);
        around || self.has(part, "guard") || self.marked.is("guard", part.node)
    }

    fn marks_before(&self, part: &ItemNode<'_>) -> Vec<Range<usize>> {
        let marks = part.attributes.iter().filter(|attribute| self.marked.is("mark", **attribute));
        marks.map(Node::byte_range).collect()
    }

    /// The scope that an item is, or that it decorates.
    fn scope<'n>(&self, node: Node<'n>) -> Option<Node<'n>> {
        let inner = ["definition", "declaration"].iter().find_map(|field| node.child_by_field_name(field));
        std::iter::once(node).chain(inner).find(|node| self.marked.is("scope", *node))
    }

    fn holds_macro(&self, node: Node<'_>) -> bool {
        node.kind() == "expression_statement"
            && node.named_child(0).is_some_and(|inner| self.marked.is("test.macro", inner))
    }

    fn import(&self, part: &ItemNode<'_>, open: &[Scope]) -> Import {
        let found = tokens(part.node, self.text, &|id| self.comments.contains(&id), None);
        let words: Vec<&str> = found.iter().map(|token| token.text.as_str()).collect();
        Import {
            range: part.first().start_byte()..part.node.end_byte(),
            scope: open.last().map(|scope| scope.name.clone()).unwrap_or_default(),
            guarded: self.is_guarded(part, open),
            binds: (self.language.bindings)(&words),
        }
    }

    fn item(&self, part: &ItemNode<'_>, open: &[Scope]) -> Item {
        let node = part.node;
        let is_scope = self.scope(node).is_some();
        let in_suites = open.iter().all(|scope| scope.is_suite);
        let is_test =
            in_suites && !is_scope && (self.marked.is("test", node) || self.has(part, "test.attribute"));
        // What holds for every test around it is compared with them.
        let kind = match (is_scope || self.marked.is("mark", node), is_test) {
            (true, _) => Kind::Head,
            (false, true) => Kind::Test,
            (false, false) => Kind::Other,
        };
        let name = self.title(node, is_test || is_scope).or_else(|| name_of(node));
        let own_name = name.filter(|_| is_test).map(|name| name.id());
        let is_left_out = |id: usize| {
            self.aside.contains(&id) || Some(id) == own_name || (id != node.id() && self.items.contains(&id))
        };
        let before = part.attributes.iter().filter(|attribute| !self.aside.contains(&attribute.id()));
        let mut found: Vec<Token> = before
            .flat_map(|node| tokens(*node, self.text, &|id| self.comments.contains(&id), None))
            .collect();
        found.extend(tokens(node, self.text, &is_left_out, self.language.layout));
        let name = name.map(|name| self.name_text(name)).unwrap_or_else(|| format!("<{}>", node.kind()));
        self.finished((kind, &name), (part.first(), node), found, part, open)
    }

    fn finished(
        &self,
        (kind, name): (Kind, &str),
        (first, last): (Node<'_>, Node<'_>),
        tokens: Vec<Token>,
        part: &ItemNode<'_>,
        open: &[Scope],
    ) -> Item {
        let scope = open.last().map(|scope| scope.name.clone()).unwrap_or_default();
        let around = self.around(part.node, open);
        let words = |range: &Range<usize>| {
            self.text.get(range.clone()).unwrap_or_default().split_whitespace().collect()
        };
        let range = first.start_byte()..last.end_byte();
        let is_head = kind == Kind::Head;
        let mut counted = around.clone();
        counted.push(range.clone());
        Item {
            name: if scope.is_empty() { name.to_owned() } else { format!("{scope}::{name}") },
            scope,
            kind,
            guarded: self.is_guarded(part, open),
            ambient: self.marked.is("ambient", part.node),
            lines: (first.start_position().row as u32 + 1, last.end_position().row as u32 + 1),
            tokens,
            cases: if is_head { Vec::new() } else { self.cases(&range) },
            context: if kind == Kind::Test { around.iter().map(words).collect() } else { Vec::new() },
            assertions: self.marked.count("assert", std::slice::from_ref(&range)),
            exact: self.marked.count("exact", std::slice::from_ref(&range)),
            vacuous: self.marked.count("vacuous", std::slice::from_ref(&range)),
            skips: self.marked.count("skip", &counted),
            range,
        }
    }

    /// Marks that hold for an item by the scopes around it.
    fn around(&self, node: Node<'_>, open: &[Scope]) -> Vec<Range<usize>> {
        let on_scopes = open.iter().flat_map(|scope| scope.marks.iter().cloned());
        let inside = self.marks.iter().filter(|(mark, around)| {
            let covers = around.start <= node.start_byte() && node.end_byte() <= around.end;
            covers && !is_inside(*mark, node) && mark.id() != node.id()
        });
        on_scopes.chain(inside.map(|(mark, _)| mark.byte_range())).collect()
    }

    /// The cases of an item, each as the text of its tokens.
    fn cases(&self, range: &Range<usize>) -> Vec<String> {
        let one = |node: Node<'_>| -> String {
            let found = tokens(node, self.text, &|id| self.comments.contains(&id), self.language.layout);
            found.iter().map(|token| format!("{}\u{1}", token.text)).collect()
        };
        let single = self.marked.within("case", range).map(|node| one(*node));
        let mut cases: Vec<String> = single.collect();
        for table in self.marked.within("table", range) {
            let mut cursor = table.walk();
            let rows = table.named_children(&mut cursor).filter(|row| !self.comments.contains(&row.id()));
            cases.extend(rows.map(one));
        }
        cases
    }

    /// The tests in a macro call: from the attributes before each `fn` to the end of its block.
    fn inner_tests(&self, part: &ItemNode<'_>, open: &[Scope]) -> Vec<Item> {
        let call = part.node;
        let call = if call.kind() == "macro_invocation" { call } else { call.named_child(0).unwrap_or(call) };
        let Some(body) = call.named_child(call.named_child_count().saturating_sub(1) as u32) else {
            return Vec::new();
        };
        let mut cursor = body.walk();
        let children: Vec<Node<'_>> = body.children(&mut cursor).collect();
        let mut items = Vec::new();
        let (mut first, mut name) = (1, None);
        for (at, child) in children.iter().enumerate() {
            if child.kind() == "fn" {
                name = children.get(at + 1).filter(|next| next.kind() == "identifier");
            }
            let ends = self.text_of(*child).starts_with('{');
            let Some(named) = name.filter(|_| child.kind() == "token_tree" && ends) else { continue };
            let parts = children[first..=at].iter().filter(|part| part.id() != named.id());
            let found: Vec<Token> = parts
                .flat_map(|part| tokens(*part, self.text, &|id| self.comments.contains(&id), None))
                .collect();
            let ends = (children[first], *child);
            items.push(self.finished((Kind::Test, &self.text_of(*named)), ends, found, part, open));
            (first, name) = (at + 1, None);
        }
        items
    }
}

/// The node that names an item.
fn name_of(node: Node<'_>) -> Option<Node<'_>> {
    for field in ["definition", "declaration"] {
        if let Some(inner) = node.child_by_field_name(field) {
            return name_of(inner);
        }
    }
    let fields = ["name", "left", "macro", "type"];
    let own = fields.iter().find_map(|field| node.child_by_field_name(field));
    let holds_one = |kind: &str| kind == "expression_statement" || kind.ends_with("_declaration");
    let inner = || node.named_child(0).filter(|_| holds_one(node.kind()));
    own.or_else(|| {
        let inner = inner()?;
        // Several in parentheses are called by the first.
        let first = inner.named_child(0).filter(|_| inner.kind().ends_with("_spec_list"));
        let inner = first.unwrap_or(inner);
        fields.iter().find_map(|field| inner.child_by_field_name(field))
    })
}

/// Numbers items of the same name, so that each has one of its own.
fn unique(items: &mut [Item]) {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for item in items {
        let count = seen.entry(item.name.clone()).or_default();
        *count += 1;
        if *count > 1 {
            item.name = format!("{}#{count}", item.name);
        }
    }
}
