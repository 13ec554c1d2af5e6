//! Tests of a Python file: test functions, and test methods of classes.

use std::collections::BTreeMap;

use super::lexer::{Line, lines};
use super::strength;
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
    /// Whether the key is its own.
    defines: bool,
}

/// The tests of a text.
pub(crate) fn find(text: &str) -> Found {
    let lines = lines(text);
    let mut found = Found::default();
    let mut open: Vec<Open> = Vec::new();
    let mut decorators: Vec<&Line<'_>> = Vec::new();
    let mut of_keys: BTreeMap<String, Item<'_, '_>> = BTreeMap::new();
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
        let entry = of_keys.entry(key.unwrap_or_else(|| "module".to_owned())).or_default();
        let defined = usize::from(item.as_ref().is_some_and(|item| item.defines));
        entry.definitions += defined;
        entry.lines.extend(decorated);
        entry.lines.push(line);
        open.extend(item);
    }
    let bound = rebound(&of_keys);
    for (key, item) in of_keys {
        let mut test = item.test();
        if is_test(&key) {
            let twice = test.strength.voids;
            test.strength = strength::of(&item.lines);
            test.strength.voids += twice;
            found.tests.insert(key, test);
            continue;
        }
        test.strength.voids += if key == "module" { bound } else { 0 };
        found.around.insert(key, test);
    }
    found
}

/// The lines of a test, of a class outside its tests, or of the module.
#[derive(Default)]
struct Item<'l, 'a> {
    lines: Vec<&'l Line<'a>>,
    /// How often it is defined. Only the last definition counts for Python.
    definitions: usize,
}

impl Item<'_, '_> {
    fn test(&self) -> Test {
        let mut test = Test { line: self.lines.first().map_or(1, |line| line.number), ..Test::default() };
        for line in &self.lines {
            for token in &line.tokens {
                test.tokens.push_str(token);
                test.tokens.push('\u{1}');
                test.marks += usize::from(MARKS.contains(token));
            }
            test.tokens.push('\u{2}');
        }
        test.strength.voids = self.definitions.saturating_sub(1);
        test
    }
}

/// How many tests of the module get another value, or none, after their definition: `test_a = None`.
fn rebound(items: &BTreeMap<String, Item<'_, '_>>) -> usize {
    let module = items.get("module").map_or(&[][..], |item| &item.lines);
    let names = |line: &Line<'_>| match (line.token(0), line.token(1)) {
        ("del", name) | (name, "=") => is_test(name) && items.contains_key(name),
        _ => false,
    };
    module.iter().filter(|line| names(line)).count()
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
    let (key, defines) = match (is_class, in_classes) {
        (true, true) => (Some(format!("class {path}")), true),
        (false, true) if name.starts_with("test") => (Some(path), true),
        // What is inside a function belongs to it.
        _ => (open.iter().rev().find_map(|item| item.key.clone()), false),
    };
    if !is_class && in_classes && name.starts_with("test") {
        found.needs_pytest |= match open.last() {
            None => true,
            Some(class) => class.name.starts_with("Test") && !class.is_test_case,
        };
    }
    Some(Open { indent: line.indent, name, is_class, is_test_case: is_test_case || has_bases, key, defines })
}
