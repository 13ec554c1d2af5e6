//! How much a Rust test demands, by its form: what it asserts, and what keeps it from failing.

use super::items::group_end;
use super::lexer::{Kind, Token};
use crate::shared::touch::Strength;

/// Macros whose call compares as `==` does.
const EQUAL: [&str; 3] = ["matches", "assert_matches", "assert_eq"];

/// Functions that let a failed assertion pass.
const CATCHES: [&str; 1] = ["catch_unwind"];

/// What the tokens of a test demand.
pub(crate) fn of(tokens: &[Token<'_>]) -> Strength {
    let mut strength = Strength::default();
    let mut returns = 0;
    for (at, token) in tokens.iter().enumerate() {
        strength.dead += usize::from(is_dead(&tokens[at..]));
        strength.voids += usize::from(CATCHES.contains(&token.text) || is_dead(&tokens[at..]));
        // The test's own attributes stand before its name; these are inside it.
        let is_inside = tokens[..at].iter().any(|token| token.text == "fn");
        strength.voids += usize::from(is_inside && is_hidden(&tokens[at..]));
        returns += usize::from(token.text == "return");
        let is_defined = at > 0 && tokens[at - 1].text == "fn";
        strength.calls += usize::from(is_inside && !is_defined && is_call_of_something(&tokens[at..]));
        let is_call = tokens.get(at + 1).is_some_and(|next| next.text == "!");
        let fails = ["panic", "unreachable"].contains(&token.text);
        if !is_call || !(token.text.contains("assert") || fails) {
            continue;
        }
        strength.assertions += 1;
        strength.voids += std::mem::take(&mut returns);
        if !fails {
            let end = group_end(tokens, at + 2);
            let inside = tokens.get(at + 3..end.saturating_sub(1)).unwrap_or(&[]);
            compare(token.text, inside, &mut strength);
            strength.alternatives += alternatives(inside);
            strength.voids += usize::from(is_always_true(token.text, inside));
        }
    }
    strength
}

/// A function or method that is called, or a macro that is no assertion.
fn is_call_of_something(tokens: &[Token<'_>]) -> bool {
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text);
    let is_name = tokens.first().is_some_and(|token| token.kind == Kind::Name);
    let is_macro = text(1) == "!" && !text(0).contains("assert");
    is_name && (text(1) == "(" || is_macro)
}

/// Counts what an assertion compares.
fn compare(name: &str, inside: &[Token<'_>], strength: &mut Strength) {
    let mut add = |is_equal: bool| {
        strength.comparisons += 1;
        strength.equalities += usize::from(is_equal);
    };
    if !["assert", "debug_assert"].contains(&name) {
        let negated = name.contains("_ne");
        add(!negated);
        return;
    }
    let text = |at: usize| inside.get(at).map_or("", |token| token.text);
    let mut at = 0;
    while at < inside.len() {
        match (text(at), text(at + 1)) {
            ("=", "=") => add(true),
            ("!", "=") => add(false),
            // An arrow and a path's `::<…>` compare nothing.
            ("<" | ">", _) if at > 0 && !["-", "=", ":"].contains(&text(at - 1)) => add(false),
            (name, "!") if EQUAL.contains(&name) => add(true),
            ("is_err" | "is_none", "(") => add(true),
            ("is_ok" | "is_some", "(") => add(false),
            _ => {}
        }
        at += if text(at + 1) == "=" && ["=", "!", "<", ">"].contains(&text(at)) { 2 } else { 1 };
    }
}

/// How often `||` stands between two things; without any before it, it opens a closure.
fn alternatives(inside: &[Token<'_>]) -> usize {
    let is_or = |three: &&[Token<'_>]| {
        let value = !matches!(three[0].kind, Kind::Open) && ![",", "=", "|"].contains(&three[0].text);
        value && three[1].text == "|" && three[2].text == "|"
    };
    inside.windows(3).filter(is_or).count()
}

/// Whether an assertion holds whatever the code does.
fn is_always_true(name: &str, inside: &[Token<'_>]) -> bool {
    let parts = parts(inside);
    let first = parts.first().copied().unwrap_or(&[]);
    let constant = |part: &[Token<'_>]| {
        let named = |token: &Token<'_>| token.kind == Kind::Name && !["true", "false"].contains(&token.text);
        !part.is_empty() && !part.iter().any(named)
    };
    let words = |part: &[Token<'_>]| part.iter().map(|token| token.text.to_owned()).collect::<Vec<_>>();
    if ["assert", "debug_assert"].contains(&name) {
        let texts = words(first);
        let or_true =
            texts.windows(3).any(|three| three == ["|", "|", "true"] || three == ["true", "|", "|"]);
        let same = texts.windows(2).position(|pair| pair == ["=", "="]);
        return constant(first) || or_true || same.is_some_and(|at| texts[..at] == texts[at + 2..]);
    }
    match parts[..] {
        [a, b, ..] => (constant(a) && constant(b)) || (name.ends_with("_eq") && words(a) == words(b)),
        _ => false,
    }
}

/// What commas outside brackets part.
fn parts<'t, 'a>(tokens: &'t [Token<'a>]) -> Vec<&'t [Token<'a>]> {
    let (mut parts, mut start, mut at) = (Vec::new(), 0, 0);
    while at < tokens.len() {
        if tokens[at].text == "," {
            parts.push(&tokens[start..at]);
            start = at + 1;
        }
        at = if tokens[at].kind == Kind::Open { group_end(tokens, at) } else { at + 1 };
    }
    parts.push(&tokens[start..]);
    parts
}

/// A block that never runs.
fn is_dead(tokens: &[Token<'_>]) -> bool {
    matches!(tokens, [a, b, c, ..] if ["if", "while"].contains(&a.text) && b.text == "false" && c.text == "{")
}

/// `#[cfg(…)]` before a statement.
fn is_hidden(tokens: &[Token<'_>]) -> bool {
    matches!(tokens, [a, b, c, ..] if a.text == "#" && b.text == "[" && ["cfg", "cfg_attr"].contains(&c.text))
}
