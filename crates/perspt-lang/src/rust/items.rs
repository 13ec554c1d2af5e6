//! Test items of a Rust file: functions that are tests, and items that exist only under `cfg(test)`.
//! Found by tokens, so a file that does not parse still has them. Macros that make tests are guarded as tests are; of what
//! they make only the results are seen.

use super::guard::Guarded;
use super::lexer::{Kind, Token, lex};
use super::strength;
use crate::shared::touch::{Test, TestItems};

/// Attributes whose last segment makes a function a test, besides `test` itself.
const TEST_ATTRIBUTES: [&str; 6] = ["test", "rstest", "test_case", "quickcheck", "proptest", "bench"];

/// Macros whose calls hold tests.
const TEST_MACROS: [&str; 2] = ["proptest", "quickcheck"];

/// Attributes that keep a test from running or turn its meaning round.
const MARKS: [&str; 4] = ["ignore", "should_panic", "cfg", "cfg_attr"];

/// What may stand before an item's keyword.
const QUALIFIERS: [&str; 9] = ["pub", "crate", "super", "self", "in", "unsafe", "async", "extern", "default"];

/// Modules inside modules deeper than this are not looked into, so that no input can exhaust the stack.
const DEEPEST: usize = 40;

/// What a file holds.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Items that exist only for tests, those inside test modules one by one: what a node that is not a
    /// test node must leave as it is.
    pub guarded: Vec<Guarded>,
    /// Every test function, also those inside guarded modules.
    pub tests: TestItems,
    /// Modules declared here that exist only under `cfg(test)` and live in files of their own.
    pub test_modules: Vec<String>,
    /// Modules declared here that live in files of their own.
    pub modules: Vec<String>,
    /// How many `#![cfg(…)]` the file carries.
    pub file_marks: usize,
    /// Whether the whole file exists only under `cfg(test)`.
    pub all_test: bool,
}

/// The test items of a text.
pub(crate) fn find(text: &str) -> Found {
    let tokens = lex(text);
    let mut found = Found::default();
    scan(&tokens, "", Guard::Open, &mut found);
    found
}

/// Every item of a file that is tests as a whole.
pub(crate) fn of_tests(text: &str) -> Vec<Guarded> {
    let mut found = Found::default();
    scan(&lex(text), "", Guard::Inside, &mut found);
    found.guarded
}

/// A test item that stands in no other one.
pub(crate) struct Outer {
    /// Its path in the file, with its keyword where it is no function or module.
    pub key: String,
    /// Where its text is, its attributes included.
    pub range: std::ops::Range<usize>,
}

/// The outermost test items of a text, in order.
pub(crate) fn outer_tests(text: &str) -> Vec<Outer> {
    let mut found = Vec::new();
    outer(text, &lex(text), "", &mut found);
    found
}

fn outer(text: &str, tokens: &[Token<'_>], prefix: &str, found: &mut Vec<Outer>) {
    let offset = |token: &Token<'_>| token.text.as_ptr() as usize - text.as_ptr() as usize;
    let mut at = 0;
    while at < tokens.len() {
        let start = at;
        let mut is_test = false;
        while let Some((attribute, inner, next)) = attribute(tokens, at) {
            is_test |= !inner && (is_cfg_test(&attribute) || is_test_attribute(attribute.last));
            at = next;
        }
        let end = item_end(tokens, at);
        if end == at {
            break;
        }
        let body = &tokens[at..end];
        let (keyword, name) = named(body);
        let path = joined(prefix, name);
        let open = body.iter().position(|token| token.text == "{");
        if is_test || (keyword == "macro" && TEST_MACROS.contains(&name)) || makes_tests(keyword, body) {
            let (first, last) = (&tokens[start], &tokens[end - 1]);
            let key = if keyword == "fn" || keyword == "mod" { path } else { format!("{keyword} {path}") };
            found.push(Outer { key, range: offset(first)..offset(last) + last.text.len() });
        } else if let Some(open) = open.filter(|_| keyword == "mod" && path.matches("::").count() < DEEPEST) {
            outer(text, &body[open + 1..body.len().saturating_sub(1).max(open + 1)], &path, found);
        }
        at = end;
    }
}

/// Whether an enclosing item is a test item already.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Guard {
    Open,
    Inside,
}

/// One attribute: its path's last segment and all its tokens.
struct Attribute<'t, 'a> {
    last: &'a str,
    tokens: &'t [Token<'a>],
}

fn scan<'a>(tokens: &[Token<'a>], prefix: &str, guard: Guard, found: &mut Found) {
    let mut at = 0;
    while at < tokens.len() {
        let mut start = at;
        let mut attributes: Vec<Attribute<'_, 'a>> = Vec::new();
        while let Some((attribute, inner, next)) = attribute(tokens, at) {
            if inner && guard == Guard::Open && prefix.is_empty() {
                found.file_marks += usize::from(MARKS[2..].contains(&attribute.last));
                found.all_test |= is_cfg_test(&attribute);
            }
            if !inner {
                attributes.push(attribute);
            } else if attributes.is_empty() {
                start = next;
            }
            at = next;
        }
        let end = item_end(tokens, at);
        if end == at {
            break;
        }
        item(&tokens[start..end], &tokens[at..end], &attributes, (prefix, guard), found);
        at = end;
    }
}

fn item<'a>(
    whole: &[Token<'a>],
    body: &[Token<'a>],
    attributes: &[Attribute<'_, 'a>],
    (prefix, guard): (&str, Guard),
    found: &mut Found,
) {
    let (keyword, name) = named(body);
    let path = joined(prefix, name);
    let only_in_tests = attributes.iter().any(is_cfg_test);
    let is_test = keyword == "fn" && attributes.iter().any(|attribute| is_test_attribute(attribute.last));
    let is_test = is_test || (keyword == "macro" && TEST_MACROS.contains(&name));
    let guard = if only_in_tests { Guard::Inside } else { guard };
    let open = body.iter().position(|token| token.text == "{");
    let looked_into = keyword == "mod" && path.matches("::").count() < DEEPEST;
    if guard == Guard::Inside || is_test || makes_tests(keyword, body) {
        let head = open.filter(|_| looked_into).map(|open| whole.len() - body.len() + head_end(body, open));
        let tokens = &whole[..head.unwrap_or(whole.len())];
        found.guarded.push(Guarded::of(tokens, (keyword, name), prefix));
    }
    if is_test {
        insert(&mut found.tests, path.clone(), test(whole, attributes));
    }
    if looked_into {
        match open {
            Some(open) => scan(&body[open + 1..body.len().saturating_sub(1)], &path, guard, found),
            None => {
                let inside = guard == Guard::Inside;
                let list = if inside { &mut found.test_modules } else { &mut found.modules };
                list.push(path.replace("::", "/"));
            }
        }
    }
}

/// Whether an item is a macro that tests are made by.
fn makes_tests(keyword: &str, body: &[Token<'_>]) -> bool {
    let is_test = |at: usize| {
        attribute(body, at)
            .is_some_and(|(attribute, _, _)| is_cfg_test(&attribute) || is_test_attribute(attribute.last))
    };
    keyword == "macro_rules" && (0..body.len()).any(is_test)
}

/// One past the head of a module with a body: its brace, and the attributes it carries inside.
fn head_end(body: &[Token<'_>], open: usize) -> usize {
    let mut at = open + 1;
    while let Some((_, true, next)) = attribute(body, at) {
        at = next;
    }
    at
}

/// A name with the module it stands in.
pub(crate) fn joined(scope: &str, name: &str) -> String {
    if scope.is_empty() { name.to_owned() } else { format!("{scope}::{name}") }
}

/// Two tests of one name, such as those of two `impl`s, are told apart by number.
fn insert(items: &mut TestItems, key: String, test: Test) {
    let mut unique = key.clone();
    let mut number = 2;
    while items.contains_key(&unique) {
        unique = format!("{key}#{number}");
        number += 1;
    }
    items.insert(unique, test);
}

fn test(tokens: &[Token<'_>], attributes: &[Attribute<'_, '_>]) -> Test {
    let words: Vec<&str> = tokens.iter().map(|token| token.text).collect();
    let mark = |attribute: &&Attribute<'_, '_>| MARKS.contains(&attribute.last) && !is_cfg_test(attribute);
    Test {
        tokens: words.join("\u{1}"),
        marks: attributes.iter().filter(mark).count(),
        strength: strength::of(tokens),
        line: tokens.first().map_or(1, |token| token.line),
    }
}

/// The name of the item that starts here, its attributes passed over.
pub(crate) fn name_after<'a>(tokens: &[Token<'a>], start: usize) -> &'a str {
    let mut at = start;
    while let Some((_, _, next)) = attribute(tokens, at) {
        at = next;
    }
    named(&tokens[at.min(tokens.len())..]).1
}

/// The attribute that starts here, whether it is an inner one, and where the next token is.
fn attribute<'t, 'a>(tokens: &'t [Token<'a>], at: usize) -> Option<(Attribute<'t, 'a>, bool, usize)> {
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text);
    if text(at) != "#" {
        return None;
    }
    let inner = text(at + 1) == "!";
    let open = at + 1 + usize::from(inner);
    if text(open) != "[" {
        return None;
    }
    let end = group_end(tokens, open);
    let inside = &tokens[(open + 1).min(end)..end.saturating_sub(1).max(open + 1).min(tokens.len())];
    let path = inside.iter().take_while(|token| token.kind == Kind::Name || token.text == ":");
    let last = path.filter(|token| token.kind == Kind::Name).last().map_or("", |token| token.text);
    // `#[unsafe(no_mangle)]` and the like name their attribute inside; none of those matters here.
    Some((Attribute { last, tokens: inside }, inner, end))
}

fn is_test_attribute(last: &str) -> bool {
    TEST_ATTRIBUTES.contains(&last) || last.ends_with("_test")
}

/// Whether a `cfg` attribute asks for `test` outside a `not(…)`.
fn is_cfg_test(attribute: &Attribute<'_, '_>) -> bool {
    if attribute.last != "cfg" {
        return false;
    }
    let mut nots: Vec<bool> = Vec::new();
    for (at, token) in attribute.tokens.iter().enumerate() {
        match token.kind {
            Kind::Open => {
                let negated = at > 0 && attribute.tokens[at - 1].text == "not";
                nots.push(negated);
            }
            Kind::Close => {
                nots.pop();
            }
            Kind::Name if token.text == "test" => {
                if nots.iter().filter(|&&negated| negated).count() % 2 == 0 {
                    return true;
                }
            }
            Kind::Name | Kind::Literal | Kind::Punct => {}
        }
    }
    false
}

/// One past the close of the group that opens at `open`.
pub(crate) fn group_end(tokens: &[Token<'_>], open: usize) -> usize {
    let mut depth = 0usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.kind {
            Kind::Open => depth += 1,
            Kind::Close => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1;
                }
            }
            Kind::Name | Kind::Literal | Kind::Punct => {}
        }
    }
    tokens.len()
}

/// One past the item that starts at `start`: its `;`, or the braces that close it.
fn item_end(tokens: &[Token<'_>], start: usize) -> usize {
    let word = |at: usize| tokens.get(at).map_or("", |token| token.text);
    let first = (start..tokens.len()).find(|&at| word(at) != "pub" && tokens[at].kind == Kind::Name);
    let ends_with_semicolon = first.is_some_and(|at| match word(at) {
        "use" | "static" | "type" => true,
        "const" => !["fn", "unsafe", "async", "extern"].contains(&word(at + 1)),
        _ => false,
    });
    let mut at = start;
    while at < tokens.len() {
        match tokens[at].kind {
            Kind::Open => {
                let brace = tokens[at].text == "{";
                at = group_end(tokens, at);
                if brace && !ends_with_semicolon {
                    return at;
                }
            }
            Kind::Punct if tokens[at].text == ";" => return at + 1,
            Kind::Close | Kind::Punct | Kind::Name | Kind::Literal => at += 1,
        }
    }
    tokens.len()
}

/// An item's keyword and name; a macro call's keyword is `macro` and its name the macro's.
fn named<'a>(body: &[Token<'a>]) -> (&'a str, &'a str) {
    const KEYWORDS: [&str; 12] = [
        "fn",
        "mod",
        "struct",
        "enum",
        "union",
        "trait",
        "impl",
        "use",
        "static",
        "type",
        "const",
        "macro_rules",
    ];
    let names: Vec<(usize, &Token<'a>)> =
        body.iter().enumerate().filter(|(_, token)| token.kind == Kind::Name).take(12).collect();
    for (position, (at, token)) in names.iter().enumerate() {
        let next = names.get(position + 1).map_or("", |(_, token)| token.text);
        if token.text == "const" && ["fn", "unsafe", "async", "extern"].contains(&next) {
            continue;
        }
        if KEYWORDS.contains(&token.text) {
            return (token.text, next);
        }
        if body.get(at + 1).is_some_and(|token| token.text == "!") {
            return ("macro", token.text);
        }
        let in_path = body.get(at + 1).is_some_and(|token| token.text == ":");
        if !in_path && !QUALIFIERS.contains(&token.text) {
            break;
        }
    }
    ("", names.first().map_or("", |(_, token)| token.text))
}
