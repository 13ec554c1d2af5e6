//! `__init__.py` of packages of tests: it runs before every test below it, as a conftest does.

use perspt_core::path::RelPath;

use super::is_in_tests;
use super::lexer::{Line, lines};
use crate::plugin::{Files, Touch};

/// Whether a change of this file changes what runs before tests: it belongs to a package of tests, and what it
/// does is not what it did.
pub(crate) fn runs_otherwise(touch: &Touch<'_>, path: &RelPath, is_test: &dyn Fn(&RelPath) -> bool) -> bool {
    path.name() == "__init__.py"
        && [touch.base, touch.candidate].iter().any(|files| holds_tests(*files, path, is_test))
        && statements(touch.base, path) != statements(touch.candidate, path)
}

/// Whether tests lie in its folder. Outside folders of tests that folder must hold nothing else: a package of
/// the project may have tests beside its code.
fn holds_tests(files: &dyn Files, path: &RelPath, is_test: &dyn Fn(&RelPath) -> bool) -> bool {
    let Some(folder) = path.parent() else { return false };
    let no_module = |path: &RelPath| ["__init__.py", "conftest.py"].contains(&path.name());
    let sources = files.tree().entries.keys().filter(|path| path.extension() == Some("py"));
    let mut below = sources.filter(|path| path.is_within(&folder) && !no_module(path)).peekable();
    match is_in_tests(path) {
        true => below.any(is_test),
        false => below.peek().is_some() && below.all(is_test),
    }
}

/// What the file does: its lines without texts and the list of its names.
fn statements(files: &dyn Files, path: &RelPath) -> Vec<Vec<String>> {
    let text = files.text(path).unwrap_or_default();
    let real = lines(&text).into_iter().filter(|line| !is_idle(line));
    real.map(|line| line.tokens.iter().map(|&token| token.to_owned()).collect()).collect()
}

/// A docstring, or `__all__` with nothing but names.
fn is_idle(line: &Line<'_>) -> bool {
    let listed = |token: &&str| is_text(token) || ["=", "[", "]", "(", ")", ",", "+"].contains(token);
    match line.tokens.as_slice() {
        [only] => is_text(only),
        ["__all__", rest @ ..] => rest.iter().all(listed),
        _ => false,
    }
}

/// A string that computes nothing.
fn is_text(token: &str) -> bool {
    token.trim_start_matches(['r', 'R', 'u', 'U', 'b', 'B']).starts_with(['"', '\''])
}
