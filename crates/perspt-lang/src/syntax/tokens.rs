//! The tokens of a part of a tree, as far as layout and comments do not matter.

use tree_sitter::Node;

/// A token.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Token {
    /// Its text.
    pub text: String,
    /// Whether it is a name.
    pub is_name: bool,
}

/// The tokens below a node, those below nodes that are left out aside; `layout` is the kind of node that only layout
/// shows.
pub(crate) fn tokens(
    node: Node<'_>,
    text: &str,
    is_left_out: &dyn Fn(usize) -> bool,
    layout: Option<&str>,
) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut cursor = node.walk();
    let mark = |tokens: &mut Vec<Token>, node: Node<'_>, text: &str| {
        if layout == Some(node.kind()) {
            tokens.push(Token { text: text.to_owned(), is_name: false });
        }
    };
    loop {
        let node = cursor.node();
        let skipped = is_left_out(node.id());
        if !skipped {
            mark(&mut tokens, node, "{");
        }
        if !skipped && cursor.goto_first_child() {
            continue;
        }
        if !skipped {
            tokens.extend(token(node, text));
            mark(&mut tokens, node, "}");
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return tokens;
            }
            mark(&mut tokens, cursor.node(), "}");
        }
    }
}

/// The token of a leaf; none of what formatters add and take away.
fn token(leaf: Node<'_>, text: &str) -> Option<Token> {
    let token = text.get(leaf.byte_range())?;
    let is_idle = token.trim().is_empty() || (token == "," && is_last_comma(leaf));
    (!is_idle).then(|| Token {
        text: if is_plain_quote(leaf, text) { token.replace('\'', "\"") } else { token.to_owned() },
        is_name: leaf.kind().ends_with("identifier"),
    })
}

/// A comma after the last of several things, or after the only one where it does not make a tuple of it.
fn is_last_comma(comma: Node<'_>) -> bool {
    let Some(parent) = comma.parent() else { return false };
    let closes = comma.next_sibling().is_some_and(|next| [")", "]", "}"].contains(&next.kind()));
    let makes_tuple = parent.kind().starts_with("tuple") || parent.kind() == "subscript";
    closes && (!makes_tuple || parent.named_child_count() > 1)
}

/// A quote of a string that could as well be written with the other kind.
fn is_plain_quote(leaf: Node<'_>, text: &str) -> bool {
    let in_string = || leaf.parent().is_some_and(|string| string.kind() == "string");
    let is_quote = ["string_start", "string_end"].contains(&leaf.kind())
        || (["'", "\""].contains(&leaf.kind()) && in_string());
    let whole = || leaf.parent().and_then(|string| text.get(string.byte_range()));
    is_quote && whole().is_some_and(|whole| !whole.contains(['"', '\\']))
}
