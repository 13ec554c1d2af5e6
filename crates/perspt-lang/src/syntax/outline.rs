//! The outline of a source: its items with their signatures and lines. A broken file gives what can still be read of it,
//! and a file of no known language what its lines look like.

use perspt_core::path::RelPath;
use tree_sitter::{Node, TreeCursor};

use super::Language;
use super::marked::tree;
use super::plain;
use crate::go::layout::GO;
use crate::javascript::layout::{JAVASCRIPT, TSX, TYPESCRIPT};
use crate::python::layout::PYTHON;
use crate::rust::layout::RUST;

/// Signatures are cut after this many characters.
const LONGEST_SIGNATURE: usize = 160;

/// Something that has a name in a source: a function, a type, a module, a heading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutlineItem {
    /// Its own name. That of an `impl` is the name of its type.
    pub name: String,
    /// The names of the items around it, the outermost first.
    pub scope: Vec<String>,
    /// How it is declared, in one line, cut where it is long.
    pub signature: String,
    /// How it is declared, as it is written.
    pub declaration: String,
    /// The line on which that begins, from 1.
    pub declared_at: u32,
    /// Its first and last line, from 1; with what stands before it and belongs to it: comments, attributes, decorators.
    pub lines: (u32, u32),
}

impl OutlineItem {
    /// Its name with those of the items around it: `Cart::total`.
    pub fn path(&self) -> String {
        let around = self.scope.iter().map(String::as_str);
        around.chain([self.name.as_str()]).collect::<Vec<_>>().join("::")
    }

    /// Whether these lines are within it.
    pub fn holds(&self, lines: (u32, u32)) -> bool {
        self.lines.0 <= lines.0 && lines.1 <= self.lines.1
    }
}

/// The items of a source, in the order of their first lines.
pub fn outline(path: &RelPath, text: &str) -> Vec<OutlineItem> {
    let read = |(language, definition)| by_syntax(language, definition, text);
    known(path).and_then(read).unwrap_or_else(|| plain::outline(text))
}

/// The language of a file, and what an item is in it.
pub(super) fn known(path: &RelPath) -> Option<(&'static Language, Definition)> {
    match path.extension() {
        Some("rs") => Some((&RUST, rust_item as Definition)),
        Some("py" | "pyi") => Some((&PYTHON, python_item as Definition)),
        Some("go") => Some((&GO, go_item as Definition)),
        Some("js" | "mjs" | "cjs" | "jsx") => Some((&JAVASCRIPT, javascript_item as Definition)),
        Some("ts" | "mts" | "cts") => Some((&TYPESCRIPT, javascript_item as Definition)),
        Some("tsx") => Some((&TSX, javascript_item as Definition)),
        Some(_) | None => None,
    }
}

/// What an item is made of.
pub(super) struct Parts<'t> {
    name: Node<'t>,
    /// What its signature begins with.
    from: Node<'t>,
    /// What its signature ends before; to its own end where there is none.
    until: Option<Node<'t>>,
}

/// The parts of a node that is an item, given the kind of the node above it.
pub(super) type Definition = for<'t> fn(Node<'t>, &str) -> Option<Parts<'t>>;

fn by_syntax(language: &Language, definition: Definition, text: &str) -> Option<Vec<OutlineItem>> {
    let (tree, _) = tree(language, text)?;
    let mut reader = Reader { text, definition, items: Vec::new(), scope: Vec::new() };
    reader.children(&mut tree.walk());
    Some(reader.items)
}

struct Reader<'a> {
    text: &'a str,
    definition: Definition,
    items: Vec<OutlineItem>,
    scope: Vec<String>,
}

impl Reader<'_> {
    /// Reads what is below the cursor's node. The depth of a tree that is looked into is bounded, so this one's is too.
    fn children(&mut self, cursor: &mut TreeCursor<'_>) {
        let above = cursor.node().kind();
        if !cursor.goto_first_child() {
            return;
        }
        // Where the comments and attributes begin that belong to what comes next, and where the last node ended.
        let (mut lead, mut ended) = (None, None);
        loop {
            let node = cursor.node();
            let first = row(node.start_position().row);
            if leads(node) {
                let is_own_line = ended != Some(first);
                let goes_on = ended.is_some_and(|ended| first <= ended + 1);
                lead = if lead.is_some() && goes_on { lead } else { is_own_line.then_some(first) };
            } else {
                let begin = lead.take().filter(|_| ended.is_some_and(|ended| first <= ended + 1));
                self.node(cursor, above, begin.unwrap_or(first));
            }
            ended = Some(last_row(node));
            if !cursor.goto_next_sibling() {
                break;
            }
        }
        cursor.goto_parent();
    }

    fn node(&mut self, cursor: &mut TreeCursor<'_>, above: &str, first: u32) {
        let node = cursor.node();
        let Some(parts) = (self.definition)(node, above) else { return self.children(cursor) };
        let name = self.text.get(parts.name.byte_range()).unwrap_or_default();
        let name = name.split('<').next().unwrap_or_default().trim().to_owned();
        let declaration = self.declaration(node, &parts).to_owned();
        self.items.push(OutlineItem {
            name: name.clone(),
            scope: self.scope.clone(),
            signature: one_line(&declaration).trim_end_matches(['{', '=', ':', ';', ' ']).to_owned(),
            declaration,
            declared_at: row(parts.from.start_position().row),
            lines: (first, last_row(node)),
        });
        self.scope.push(name);
        self.children(cursor);
        self.scope.pop();
    }

    fn declaration(&self, node: Node<'_>, parts: &Parts<'_>) -> &str {
        let until = parts.until.map_or(node.end_byte(), |until| until.start_byte());
        self.text.get(parts.from.start_byte()..until).unwrap_or_default()
    }
}

/// A declaration as one line, without the comments and attributes in it.
pub(super) fn one_line(text: &str) -> String {
    let is_said = |line: &&str| !["//", "#[", "# "].iter().any(|mark| line.trim_start().starts_with(mark));
    let words: Vec<&str> = text.lines().filter(is_said).flat_map(str::split_whitespace).collect();
    let line = words.join(" ");
    match line.char_indices().nth(LONGEST_SIGNATURE) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// Whether a node stands before the item that it belongs to.
fn leads(node: Node<'_>) -> bool {
    ["attribute_item", "line_comment", "block_comment", "comment"].contains(&node.kind())
}

fn row(row: usize) -> u32 {
    u32::try_from(row).map_or(u32::MAX, |row| row.saturating_add(1))
}

/// The last line that a node has text on. The line break after a comment may belong to the comment.
fn last_row(node: Node<'_>) -> u32 {
    let end = node.end_position();
    if end.column == 0 && end.row > node.start_position().row { row(end.row - 1) } else { row(end.row) }
}

fn rust_item<'t>(node: Node<'t>, _above: &str) -> Option<Parts<'t>> {
    let (name, until) = match node.kind() {
        "function_item" | "trait_item" | "mod_item" => ("name", Some("body")),
        "impl_item" => ("type", Some("body")),
        "const_item" | "static_item" => ("name", Some("value")),
        // Who uses a type must know its parts.
        "struct_item" | "enum_item" | "union_item" | "type_item" | "function_signature_item" => {
            ("name", None)
        }
        "macro_definition" => {
            let name = node.child_by_field_name("name")?;
            return Some(Parts { name, from: node, until: name.next_sibling() });
        }
        _ => return None,
    };
    let until = until.and_then(|field| node.child_by_field_name(field));
    Some(Parts { name: node.child_by_field_name(name)?, from: node, until })
}

fn python_item<'t>(node: Node<'t>, above: &str) -> Option<Parts<'t>> {
    let from = match node.kind() {
        // With decorators it was seen already.
        "function_definition" | "class_definition" if above == "decorated_definition" => return None,
        "function_definition" | "class_definition" => node,
        "decorated_definition" => node.child_by_field_name("definition")?,
        "expression_statement" => {
            let is_top = above == "module";
            let assignment = node.named_child(0).filter(|inner| is_top && inner.kind() == "assignment")?;
            let name = assignment.child_by_field_name("left").filter(|left| left.kind() == "identifier")?;
            return Some(Parts { name, from: node, until: assignment.child_by_field_name("right") });
        }
        _ => return None,
    };
    let name = from.child_by_field_name("name")?;
    Some(Parts { name, from, until: from.child_by_field_name("body") })
}

fn go_item<'t>(node: Node<'t>, above: &str) -> Option<Parts<'t>> {
    let is_of = |spec: Node<'_>, kinds: &[&str]| kinds.contains(&spec.kind());
    match node.kind() {
        "function_declaration" | "method_declaration" => {
            let name = node.child_by_field_name("name")?;
            Some(Parts { name, from: node, until: node.child_by_field_name("body") })
        }
        // Comments stand before the whole declaration; those in parentheses have their own.
        "type_declaration" | "const_declaration" | "var_declaration" if above == "source_file" => {
            let spec = node
                .named_child(0)
                .filter(|spec| spec.child_by_field_name("name").is_some())
                .filter(|_| node.child(1).is_some_and(|open| open.kind() != "("))?;
            let name = spec.child_by_field_name("name")?;
            Some(Parts { name, from: node, until: spec.child_by_field_name("value") })
        }
        "type_spec" | "type_alias" | "const_spec" | "var_spec" => {
            let declaration = node.parent().filter(|parent| !is_of(*parent, &["var_spec_list"]));
            let declaration = declaration.or_else(|| node.parent()?.parent())?;
            let is_top = declaration.parent().is_some_and(|parent| is_of(parent, &["source_file"]));
            let opens = |at| declaration.child(at).is_some_and(|child| is_of(child, &["(", "var_spec_list"]));
            let name = node.child_by_field_name("name").filter(|_| is_top && opens(1))?;
            Some(Parts { name, from: node, until: node.child_by_field_name("value") })
        }
        _ => None,
    }
}

fn javascript_item<'t>(node: Node<'t>, above: &str) -> Option<Parts<'t>> {
    if node.kind() == "export_statement" {
        let inner = node.child_by_field_name("declaration")?;
        return Some(Parts { from: node, ..javascript_item(inner, "")? });
    }
    // With `export` before it, it was seen already.
    let until = match node.kind() {
        _ if above == "export_statement" => return None,
        "function_declaration"
        | "generator_function_declaration"
        | "method_definition"
        | "class_declaration"
        | "abstract_class_declaration" => node.child_by_field_name("body"),
        // Who uses a type must know its parts.
        "interface_declaration"
        | "type_alias_declaration"
        | "enum_declaration"
        | "function_signature"
        | "abstract_method_signature" => None,
        "lexical_declaration" | "variable_declaration" if ["program", ""].contains(&above) => {
            let variable = node.named_child(0)?;
            let name = variable.child_by_field_name("name").filter(|name| name.kind() == "identifier")?;
            let value = variable.child_by_field_name("value");
            let body = value.and_then(|value| value.child_by_field_name("body"));
            return Some(Parts { name, from: node, until: body.or(value) });
        }
        _ => return None,
    };
    Some(Parts { name: node.child_by_field_name("name")?, from: node, until })
}
