//! `todo!`, `unimplemented!` and their likes, and functions that take something and do nothing with it.

use super::items::{group_end, outer_tests};
use super::lexer::{Kind, Token, lex};

/// Macros that stand in for code.
const MACROS: [&str; 2] = ["todo", "unimplemented"];

/// Macros that do where their text says so.
const SAYING: [&str; 2] = ["panic", "unreachable"];

/// What such a text says.
const SAID: [&str; 2] = ["not implemented", "not yet implemented"];

/// The stubs of a source text, each with the function it stands in. Texts and comments do not count.
pub(crate) fn find(text: &str) -> Vec<String> {
    let tokens = lex(text);
    let mut stubs = Vec::new();
    let mut function = "";
    for (at, token) in tokens.iter().enumerate() {
        let text = |next: usize| tokens.get(at + next).map_or("", |token| token.text);
        let is_macro = token.kind == Kind::Name && text(1) == "!";
        let says = || {
            let said = text(3).trim_matches('"').to_lowercase();
            said == "todo" || said.starts_with("todo:") || SAID.iter().any(|words| said.contains(words))
        };
        match token.text {
            "fn" => function = text(1),
            name if is_macro && (MACROS.contains(&name) || (SAYING.contains(&name) && says())) => {
                stubs.push(format!("`{name}!` in `{function}`"));
            }
            _ => {}
        }
    }
    stubs
}

/// Functions that take something besides themselves and have no body, those of tests and of traits aside: a trait may well
/// want less than it offers.
pub(crate) fn idle(text: &str) -> Vec<String> {
    let tokens = lex(text);
    let tests = outer_tests(text);
    let offset = |token: &Token<'_>| token.text.as_ptr() as usize - text.as_ptr() as usize;
    let mut stubs = Vec::new();
    // Of each open bracket, whether it belongs to a trait.
    let mut of_trait: Vec<bool> = Vec::new();
    let mut head = 0;
    for (at, token) in tokens.iter().enumerate() {
        let is_test = || tests.iter().any(|test| test.range.contains(&offset(token)));
        if token.text == "fn" && of_trait.last() != Some(&true) && !is_test() {
            stubs.extend(idle_function(&tokens[at..]).map(|name| format!("the empty body of `{name}`")));
        }
        match token.text {
            "{" => {
                let header: Vec<&str> = tokens[head..at].iter().map(|token| token.text).collect();
                let implements = header.contains(&"impl") && header.contains(&"for");
                of_trait.push(header.contains(&"trait") || implements);
            }
            "}" => {
                of_trait.pop();
            }
            _ => {}
        }
        if ["{", "}", ";"].contains(&token.text) {
            head = at + 1;
        }
    }
    stubs
}

/// The name of a function that begins here and does nothing with what it takes.
fn idle_function<'a>(tokens: &[Token<'a>]) -> Option<&'a str> {
    let name = tokens.get(1).filter(|token| token.kind == Kind::Name)?.text;
    let open = tokens.iter().position(|token| token.text == "(")?;
    let close = group_end(tokens, open);
    let taken = tokens.get(open + 1..close.saturating_sub(1))?;
    let takes = taken.iter().any(|token| token.text == ":");
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text);
    let says_so = ["noop", "no_op", "nothing", "ignore", "discard", "drop", "consume"];
    let meant = says_so.iter().any(|word| name.contains(word));
    (takes && !meant && text(close) == "{" && text(close + 1) == "}").then_some(name)
}
