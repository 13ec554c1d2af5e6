//! Parameters, fields and variants.

use super::reader::Reader;
use super::tokens::{Gap, Token, closing, split};

/// A parameter, a field or a variant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Param {
    /// Its name, where it has one of its own.
    pub name: Option<String>,
    /// Its type, where one is said.
    pub of: Option<Vec<Token>>,
    /// Whether callers may leave it out.
    pub optional: bool,
    /// As it is written.
    pub text: String,
}

/// The parameters that stand in brackets.
pub(super) fn params(inner: &[Token]) -> Vec<Param> {
    split(inner, |token| token.text == ",").into_iter().filter_map(param).collect()
}

/// A parameter; none of marks that only say how those around them are given.
fn param(tokens: &[Token]) -> Option<Param> {
    let text = super::tokens::shown(tokens);
    let mut reader = Reader { rest: tokens };
    while reader.rest.len() > 1
        && reader.take(&[
            "pub",
            "mut",
            "ref",
            "public",
            "private",
            "protected",
            "readonly",
            "final",
            "val",
            "var",
            "crate",
        ])
    {
        reader.group("(");
    }
    let spread = reader.take(&["*", "**", "..."]) && !reader.rest.is_empty();
    if ["*", "/", "**"].contains(&text.as_str()) {
        return None;
    }
    let (head, default) = match split(reader.rest, |token| token.text == "=").as_slice() {
        [head, _, ..] => (*head, true),
        [head] => (*head, false),
        [] => return None,
    };
    let reader = Reader { rest: head };
    let name = reader.rest.first().filter(|token| token.is_word()).map(|token| token.text.clone());
    let after = reader.rest.get(1).map_or("", |token| token.text.as_str());
    let (name, of, asks) = match (name, after) {
        (Some(name), "") => (Some(name), None, false),
        (Some(name), ":") => (Some(name), Some(&head[2..]), false),
        (Some(name), "?") => (Some(name), head.get(3..), true),
        // `ctx context.Context`, `xs []int`, `s *Server`
        (Some(name), next)
            if (head[1].is_word() || ["*", "[", "..."].contains(&next)) && head[1].before != Gap::None =>
        {
            (Some(name), Some(&head[1..]), false)
        }
        // A pattern, or a type without a name.
        (_, _)
            if reader.peek() == "{"
                || (reader.peek() == "[" && head.iter().any(|token| token.text == ":")) =>
        {
            let inner = closing(head).map_or(0, |end| end + 1);
            (None, head.get(inner + 1..), false)
        }
        (_, _) => (None, Some(head), false),
    };
    let of = of.filter(|of| !of.is_empty()).map(<[Token]>::to_vec);
    Some(Param { name, of, optional: spread || default || asks, text })
}

/// Whether methods stand among fields, as pseudo code has them.
pub(super) fn has_methods(inner: &[Token]) -> bool {
    split(inner, |token| [",", ";"].contains(&token.text.as_str())).into_iter().any(|part| {
        let mut reader = Reader { rest: part };
        while reader.take(&["pub", "async", "static", "fn", "def", "func"]) {}
        reader.rest.first().is_some_and(Token::is_word)
            && reader.rest.get(1).is_some_and(|next| next.text == "(")
    })
}
