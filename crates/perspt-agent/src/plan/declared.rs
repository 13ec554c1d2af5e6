//! What a task says it does to existing tests.

use perspt_core::consent::{TestChange, TestDeclaration};
use perspt_core::path::RelPath;
use serde_json::{Map, Value};

use super::words::{cut, field, text, texts};

/// The most characters of a reason, and of a test's name.
const WHY: usize = 300;
const NAME: usize = 200;

/// Reads `changes_tests` of a task: objects, or bare words such as `tests/test_x.py::test_y`.
pub(super) fn changes_tests(
    task: &str,
    value: Option<&Value>,
    notes: &mut Vec<String>,
) -> Vec<TestDeclaration> {
    let entries: &[Value] = match value {
        None => &[],
        Some(Value::Array(entries)) => entries,
        Some(one) => std::slice::from_ref(one),
    };
    let mut out: Vec<TestDeclaration> = Vec::new();
    for entry in entries.iter().filter(|entry| !entry.is_null()) {
        let fields = match entry {
            Value::Object(object) => object.clone(),
            other => Map::from_iter(text(Some(other)).map(|word| ("path".to_owned(), Value::String(word)))),
        };
        match declaration(task, &fields, notes) {
            Some(declared) => out.extend(declared),
            None => {
                notes.push(format!("task `{task}`: an entry of changes_tests names no file; it is left out"))
            }
        }
    }
    out
}

fn declaration(
    task: &str,
    fields: &Map<String, Value>,
    notes: &mut Vec<String>,
) -> Option<Vec<TestDeclaration>> {
    let mut tests = texts(field(fields, &["test", "tests", "name"]), &["name"]);
    let mut file = match text(field(fields, &["path", "file"])) {
        Some(file) => file,
        // A test may be named with its file.
        None => tests.pop().filter(|test| test.contains("::"))?,
    };
    if let Some((path, test)) = file.clone().split_once("::") {
        file = path.to_owned();
        if tests.is_empty() {
            tests.push(test.to_owned());
        }
    }
    if file.ends_with('/') {
        return None;
    }
    let path = RelPath::parse(&file).ok()?;
    let word = text(field(fields, &["change"]));
    let change = word.as_deref().map_or(Some(TestChange::Update), change);
    if change.is_none() {
        let word = cut(&word.unwrap_or_default(), NAME);
        notes.push(format!("task `{task}`: the change `{word}` of `{path}` counts as `update`"));
    }
    let one = |test: Option<String>| TestDeclaration {
        path: path.clone(),
        test: test.map(|test| cut(&test, NAME)),
        change: change.unwrap_or_default(),
        to: text(field(fields, &["to"])).map(|to| cut(&to, NAME)),
        why: cut(&text(field(fields, &["why", "reason"])).unwrap_or_default(), WHY),
    };
    Some(if tests.is_empty() {
        vec![one(None)]
    } else {
        tests.into_iter().map(|test| one(Some(test))).collect()
    })
}

fn change(word: &str) -> Option<TestChange> {
    match word.to_lowercase().as_str() {
        "update" => Some(TestChange::Update),
        "remove" => Some(TestChange::Remove),
        "rename" => Some(TestChange::Rename),
        "move" => Some(TestChange::Move),
        _ => None,
    }
}

/// Reads `leaves_red`: names of tests.
pub(super) fn leaves_red(value: Option<&Value>) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for name in texts(value, &["test", "name"]).iter().map(|name| cut(name, NAME)) {
        if !out.contains(&name) {
            out.push(name);
        }
    }
    out
}
