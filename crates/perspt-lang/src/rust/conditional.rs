//! Code that is no test and does something else under test: what tests measure is then not what is built.

use std::collections::BTreeMap;

use perspt_core::path::RelPath;
use perspt_core::residual::Residual;

use super::items::{self, Found, group_end};
use super::lexer::{Kind, Token, lex};
use crate::plugin::{Files, Touch};
use crate::shared::touch::{more_than_before, test_only};

/// Counts how often code finds out in one way that it is under test.
type Count = fn(&[Token<'_>]) -> usize;

/// The ways, and the words by which a task asks for them: the test harness names each thread after its test.
const WAYS: [(Count, &[&str]); 2] =
    [(conditions, &["cfg", "cfg_attr", "conditional compilation"]), (thread_names, &["thread", "threads"])];

/// The charges for files with more of it than before. `is_test` tells files that exist only for tests.
pub(crate) fn new_conditions(
    touch: &Touch<'_>,
    sources: &[&RelPath],
    is_test: &dyn Fn(&dyn Files, &RelPath) -> bool,
) -> Vec<Residual> {
    let what = "code that is no test asks whether it runs under test, and does something else then";
    let mut residuals = Vec::new();
    for (way, asked) in WAYS {
        let of = |files: &dyn Files| -> BTreeMap<RelPath, usize> {
            let found = sources.iter().filter_map(|path| {
                let text = files.text(path).filter(|_| !is_test(files, path))?;
                Some(((*path).clone(), count(&text, way)))
            });
            found.collect()
        };
        let grown = more_than_before(&of(touch.base), &of(touch.candidate));
        residuals.extend(grown.iter().filter_map(|path| test_only(touch, path, asked, what)));
    }
    residuals
}

/// How often the code of a text, apart from its test items, depends on being under test.
fn count(text: &str, way: Count) -> usize {
    let Found { guarded, all_test, .. } = items::find(text);
    let in_tests: usize = guarded.iter().map(|item| way(&lex(&item.tokens.join(" ")))).sum();
    if all_test { 0 } else { way(&lex(text)).saturating_sub(in_tests) }
}

/// How often code asks for the name of its thread.
fn thread_names(tokens: &[Token<'_>]) -> usize {
    let asks = |at: &usize| {
        let texts: Vec<&str> = tokens[*at..].iter().take(6).map(|token| token.text).collect();
        texts == ["current", "(", ")", ".", "name", "("]
    };
    (0..tokens.len()).filter(asks).count()
}

fn conditions(tokens: &[Token<'_>]) -> usize {
    let mut in_bodies: Vec<bool> = Vec::new();
    let (mut head, mut found) = (0, 0);
    for (at, token) in tokens.iter().enumerate() {
        let inside = in_bodies.last() == Some(&true);
        found += usize::from(depends(&tokens[at..], inside));
        match token.text {
            "{" => {
                let is_function = tokens[head..at].iter().any(|token| token.text == "fn");
                in_bodies.push(inside || is_function);
            }
            "}" => {
                in_bodies.pop();
            }
            _ => {}
        }
        if ["{", "}", ";"].contains(&token.text) {
            head = at + 1;
        }
    }
    found
}

/// Whether a condition on tests starts here. `#[cfg(test)]` before an item makes a helper of tests; before a
/// statement it makes the function another one.
fn depends(tokens: &[Token<'_>], inside: bool) -> bool {
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text);
    let condition = |open: usize| &tokens[open.min(tokens.len())..group_end(tokens, open).min(tokens.len())];
    match (text(0), text(1), text(2)) {
        ("cfg", "!", "(") => test_in(condition(2)).is_some(),
        ("[", "cfg", "(") => match test_in(condition(2)) {
            Some(Said::Plain) => inside,
            Some(Said::Negated) => true,
            None => false,
        },
        ("[", "cfg_attr", "(") => match test_in(condition(2)) {
            Some(Said::Plain) => condition(2).iter().any(|token| token.text == "path"),
            Some(Said::Negated) => true,
            None => false,
        },
        _ => false,
    }
}

/// How a condition names `test`.
enum Said {
    /// Outside every `not(…)`.
    Plain,
    /// Inside one.
    Negated,
}

fn test_in(condition: &[Token<'_>]) -> Option<Said> {
    let is_test = |token: &Token<'_>| token.kind == Kind::Name && token.text == "test";
    let mut found = None;
    for (at, token) in condition.iter().enumerate() {
        if token.text == "not" && condition[at..group_end(condition, at + 1)].iter().any(is_test) {
            return Some(Said::Negated);
        }
        if is_test(token) {
            found = Some(Said::Plain);
        }
    }
    found
}
