//! Macros of a project that take the names of those that let a test fail.

use std::collections::{BTreeMap, BTreeSet};

use perspt_core::path::RelPath;
use perspt_core::residual::{Place, Residual};

use super::items::group_end;
use super::lexer::{Kind, Token, lex};
use crate::plugin::{Files, Touch};
use crate::shared::touch::evidence_changed;

/// Macros of the standard library that tests fail by.
const JUDGES: [&str; 13] = [
    "assert",
    "assert_eq",
    "assert_ne",
    "assert_matches",
    "debug_assert",
    "debug_assert_eq",
    "debug_assert_ne",
    "debug_assert_matches",
    "panic",
    "unreachable",
    "unimplemented",
    "todo",
    "matches",
];

/// A definition: the macro's name and all its tokens.
type Definition = (String, String);

/// Definitions that are new in the changed files. One that only moved is not.
pub(crate) fn new_judges(touch: &Touch<'_>, changed: &[&RelPath]) -> Vec<Residual> {
    let of = |files: &dyn Files, path: &RelPath| files.text(path).map(|text| definitions(&text));
    let before: BTreeSet<Definition> =
        changed.iter().filter_map(|path| of(touch.base, path)).flat_map(BTreeMap::into_keys).collect();
    let mut residuals = Vec::new();
    for path in changed {
        let now = of(touch.candidate, path).unwrap_or_default();
        for ((name, _), line) in now.iter().filter(|(definition, _)| !before.contains(*definition)) {
            residuals.extend(charge(touch, path, name, *line));
        }
    }
    residuals
}

fn charge(touch: &Touch<'_>, path: &RelPath, name: &str, line: u32) -> Option<Residual> {
    let what = format!("a macro of this file takes the name of `{name}!`, by which tests fail");
    let subjects = [
        format!("{name} macro"),
        format!("{name}! macro"),
        format!("macro {name}"),
        format!("macro `{name}"),
    ];
    let subjects: Vec<&str> = subjects.iter().map(String::as_str).collect();
    let mut residual = evidence_changed(touch, path, &subjects, what)?;
    residual.symbol = Some(name.to_owned());
    residual.place = Some(Place { line, column: 0 });
    Some(residual)
}

/// The definitions of a text, wherever they stand, and their lines.
fn definitions(text: &str) -> BTreeMap<Definition, u32> {
    let tokens = lex(text);
    let starts = (0..tokens.len()).filter(|&at| tokens[at].text == "macro_rules");
    let found = starts.filter_map(|at| {
        let name = defined(&tokens[at..])?;
        let end = group_end(&tokens, at + 3);
        let words: Vec<&str> = tokens[at..end].iter().map(|token| token.text).collect();
        Some(((name.to_owned(), words.join("\u{1}")), tokens[at].line))
    });
    found.collect()
}

/// The name in `macro_rules! name …`, where it is one of those that matter.
fn defined<'a>(tokens: &[Token<'a>]) -> Option<&'a str> {
    let (bang, name) = (tokens.get(1)?, tokens.get(2)?);
    let plain = name.text.trim_start_matches("r#");
    (bang.text == "!" && name.kind == Kind::Name && JUDGES.contains(&plain)).then_some(plain)
}
