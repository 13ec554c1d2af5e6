//! Commands that an answer proposes, as far as they are Python's.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::plugin::{CommandKind, Files};
use crate::shared::toml;

/// Programs, or modules started with `-m`, that only test or check.
const REPEATS: [&str; 11] = [
    "pytest",
    "py.test",
    "unittest",
    "py_compile",
    "compileall",
    "tox",
    "nox",
    "mypy",
    "pyright",
    "flake8",
    "pylint",
];

/// What a command is.
pub(crate) fn kind(argv: &[String]) -> CommandKind {
    let words: Vec<&str> = argv.iter().map(String::as_str).collect();
    let asked = match words.as_slice() {
        [python, "-m", rest @ ..] if is_python(python) => rest,
        ["uv" | "poetry" | "pipenv" | "hatch", "run", rest @ ..] => rest,
        words => words,
    };
    match asked {
        ["ruff", "check", rest @ ..] if !rest.contains(&"--fix") => CommandKind::Repeats,
        ["ruff", "format", rest @ ..] | ["black" | "isort", rest @ ..]
            if rest.iter().any(|word| ["--check", "--check-only"].contains(word)) =>
        {
            CommandKind::Repeats
        }
        [tool, ..] if REPEATS.contains(tool) => CommandKind::Repeats,
        _ => CommandKind::Other,
    }
}

fn is_python(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or(program);
    name.strip_prefix("python").is_some_and(|version| version.chars().all(|c| c.is_ascii_digit() || c == '.'))
}

/// Every package that manifests, requirement files and lock files name.
pub(crate) fn packages(files: &dyn Files) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for path in files.tree().entries.keys() {
        let is_requirements = path.name().starts_with("requirements") && path.extension() == Some("txt");
        let is_toml = ["pyproject.toml", "poetry.lock", "uv.lock", "pdm.lock"].contains(&path.name());
        if !(is_requirements || is_toml || ["setup.cfg", "setup.py"].contains(&path.name())) {
            continue;
        }
        let text = files.text(path).unwrap_or_default();
        match is_toml {
            true => of_toml(&toml::parse(&text).unwrap_or_default(), &mut names),
            // Of a program every text counts: one name too many is only a question less.
            false => names.extend(text.split(['\n', '"', '\'', ',']).filter_map(package)),
        }
    }
    names
}

/// The names in tables and lists of dependencies, and of locked packages.
fn of_toml(document: &Value, names: &mut BTreeSet<String>) {
    let mut open: Vec<(&str, &Value)> = vec![("", document)];
    while let Some((key, value)) = open.pop() {
        let is_list = key.contains("dependencies") || key == "requires" || key == "dependency-groups";
        match value {
            Value::Object(table) => {
                if is_list {
                    names.extend(table.keys().filter_map(|name| package(name)));
                }
                if key == "package" || key == "project" {
                    names.extend(table.get("name").and_then(Value::as_str).and_then(package));
                }
                // A group of dependencies has a name of its own.
                open.extend(
                    table
                        .iter()
                        .map(|(name, value)| (if is_list && !value.is_string() { key } else { name }, value)),
                );
            }
            Value::Array(items) if is_list => {
                names.extend(items.iter().filter_map(Value::as_str).filter_map(package))
            }
            Value::Array(items) => open.extend(items.iter().map(|item| (key, item))),
            _ => {}
        }
    }
}

/// The name at the start of a requirement, in the one form that all ways to write it share.
fn package(requirement: &str) -> Option<String> {
    let name: String = requirement
        .trim()
        .chars()
        .take_while(|c| c.is_ascii_alphanumeric() || ['-', '_', '.'].contains(c))
        .collect();
    let starts = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    starts.then(|| name.to_lowercase().replace(['_', '.'], "-"))
}
