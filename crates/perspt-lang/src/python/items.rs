//! Tests of a Python file: test functions, and test methods of classes.

use super::lexer::{Line, lines};
use crate::shared::touch::{Test, TestItems};

/// Names that keep a test from running or from failing.
const MARKS: [&str; 11] = [
    "skip",
    "skipif",
    "skipIf",
    "skipUnless",
    "xfail",
    "expectedFailure",
    "skipTest",
    "SkipTest",
    "importorskip",
    "__test__",
    "deselect",
];

/// What a file holds.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Every test, as `test_x` or `Class::test_x`.
    pub tests: TestItems,
    /// Classes and the module itself, as far as marks on them reach their tests.
    pub around: TestItems,
    /// Whether any of it is seen by pytest alone.
    pub needs_pytest: bool,
}

/// One class or function that is open while lines are walked.
struct Open {
    indent: usize,
    name: String,
    is_class: bool,
    /// Whether plain unittest would look for tests in it.
    is_test_case: bool,
    key: Option<String>,
}

/// The tests of a text.
pub(crate) fn find(text: &str) -> Found {
    let lines = lines(text);
    let mut found = Found::default();
    let mut open: Vec<Open> = Vec::new();
    let mut decorators: Vec<&Line<'_>> = Vec::new();
    for line in &lines {
        while open.last().is_some_and(|item| line.indent <= item.indent) {
            open.pop();
        }
        if line.token(0) == "@" {
            decorators.push(line);
            continue;
        }
        let decorated = std::mem::take(&mut decorators);
        if matches!((line.token(0), line.token(1)), ("import" | "from", "pytest")) {
            found.needs_pytest = true;
        }
        let item = opened(line, &open, &mut found);
        let key = match &item {
            Some(item) => item.key.clone(),
            None => open.iter().rev().find_map(|item| item.key.clone()),
        };
        let items =
            if key.as_ref().is_some_and(|key| is_test(key)) { &mut found.tests } else { &mut found.around };
        let key = key.unwrap_or_else(|| "module".to_owned());
        for line in decorated.iter().copied().chain([line]) {
            add(items, &key, line);
        }
        open.extend(item);
    }
    found
}

/// Whether a key is a test's and not a class's or the module's.
fn is_test(key: &str) -> bool {
    key.rsplit("::").next().is_some_and(|name| name.starts_with("test"))
}

/// The class or function a line opens.
fn opened(line: &Line<'_>, open: &[Open], found: &mut Found) -> Option<Open> {
    let at = usize::from(line.token(0) == "async");
    let is_class = match line.token(at) {
        "class" => true,
        "def" => false,
        _ => return None,
    };
    let name = line.token(at + 1).to_owned();
    let in_classes = open.iter().all(|item| item.is_class);
    let path: Vec<&str> = open.iter().map(|item| item.name.as_str()).chain([name.as_str()]).collect();
    let path = path.join("::");
    let is_test_case = line.tokens.iter().any(|token| token.ends_with("TestCase"));
    let has_bases = line.token(at + 2) == "(" && line.token(at + 3) != ")";
    let key = match (is_class, in_classes) {
        (true, true) => Some(format!("class {path}")),
        (false, true) if name.starts_with("test") => Some(path),
        // What is inside a function belongs to it.
        _ => open.iter().rev().find_map(|item| item.key.clone()),
    };
    if !is_class && in_classes && name.starts_with("test") {
        found.needs_pytest |= match open.last() {
            None => true,
            Some(class) => class.name.starts_with("Test") && !class.is_test_case,
        };
    }
    Some(Open { indent: line.indent, name, is_class, is_test_case: is_test_case || has_bases, key })
}

fn add(items: &mut TestItems, key: &str, line: &Line<'_>) {
    let test = items.entry(key.to_owned()).or_insert_with(|| Test {
        tokens: String::new(),
        marks: 0,
        assertions: 0,
        line: line.number,
    });
    for token in &line.tokens {
        test.tokens.push_str(token);
        test.tokens.push('\u{1}');
        test.marks += usize::from(MARKS.contains(token));
        let asserts = token.starts_with("assert") || ["raises", "fail"].contains(token);
        test.assertions += usize::from(asserts);
    }
    test.tokens.push('\u{2}');
}
