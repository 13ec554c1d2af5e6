//! How tox starts pytest, where its settings say so plainly. tox itself is not run.

use std::collections::BTreeMap;

use perspt_core::path::RelPath;
use serde_json::Value;

use super::ini;
use crate::plugin::Files;
use crate::shared::step::in_tree;
use crate::shared::toml;

/// Options of pytest with a value that decide which tests run and how.
const VALUED: [&str; 7] = ["-m", "-k", "--ignore", "--deselect", "-p", "-o", "--import-mode"];

/// Options without one.
const PLAIN: [&str; 2] = ["--doctest-modules", "--strict-markers"];

/// What tox gives to pytest.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct TestCommand {
    /// Options that choose tests or settings.
    pub options: Vec<String>,
    /// The files and folders that it names.
    pub paths: Vec<String>,
    /// Variables, with `{tree}` in place of the folder that tox names in its own way.
    pub env: BTreeMap<String, String>,
}

impl TestCommand {
    /// That of a folder's own `tox.ini` or `pyproject.toml`. Nothing where there is no one plain command.
    pub fn of(files: &dyn Files, dir: &RelPath) -> TestCommand {
        let text = |name: &str| files.text(&dir.join(name).ok()?);
        let of_ini = |text: String| from_ini(&text);
        let found = text("tox.ini").and_then(of_ini);
        let found = found.or_else(|| from_pyproject(&text("pyproject.toml")?));
        found.map(|found| found.within(dir)).unwrap_or_default()
    }

    /// With the root's folder where tox names it. What stands for something else cannot be told from here.
    fn within(self, dir: &RelPath) -> TestCommand {
        let here = in_tree(dir);
        let filled = |text: &String| {
            let text = text.replace("{toxinidir}", &here).replace("{tox_root}", &here);
            (!text.replace("{tree}", "").contains(['{', '}'])).then_some(text)
        };
        let all =
            |words: &[String]| words.iter().map(filled).collect::<Option<Vec<String>>>().unwrap_or_default();
        let env = self.env.iter().filter_map(|(name, value)| Some((name.clone(), filled(value)?)));
        TestCommand { options: all(&self.options), paths: all(&self.paths), env: env.collect() }
    }
}

fn from_ini(text: &str) -> Option<TestCommand> {
    let section = ini::sections(text).remove("testenv")?;
    let commands = section.get("commands")?.replace("\\\n", " ");
    let mut found = from_lines(commands.lines())?;
    for line in section.get("setenv").or(section.get("set_env")).map_or("", String::as_str).lines() {
        if let Some((name, value)) = line.split_once('=') {
            found.env.insert(name.trim().to_owned(), value.trim().to_owned());
        }
    }
    found.env.retain(|name, _| is_for_the_code(name));
    Some(found)
}

/// tox 4 in TOML: commands are lists of words.
fn from_pyproject(text: &str) -> Option<TestCommand> {
    let document = toml::parse(text)?;
    if let Some(old) = toml::at(&document, &["tool", "tox", "legacy_tox_ini"]).and_then(Value::as_str) {
        return from_ini(old);
    }
    let base = toml::at(&document, &["tool", "tox", "env_run_base"])?;
    let words = |command: &Value| -> Option<Vec<String>> {
        // A table stands for what the user adds.
        let words = command.as_array()?.iter().filter(|word| !word.is_object());
        words.map(|word| word.as_str().map(str::to_owned)).collect()
    };
    let commands: Vec<Vec<String>> = base.get("commands")?.as_array()?.iter().filter_map(words).collect();
    let mut found = one_pytest(commands)?;
    for (name, value) in base.get("set_env").and_then(Value::as_object).into_iter().flatten() {
        found.env.extend(value.as_str().map(|value| (name.clone(), value.to_owned())));
    }
    found.env.retain(|name, _| is_for_the_code(name));
    Some(found)
}

fn from_lines<'a>(lines: impl Iterator<Item = &'a str>) -> Option<TestCommand> {
    let commands = lines.filter_map(|line| words(line.trim().trim_start_matches(['-', '!']).trim()));
    one_pytest(commands.collect())
}

/// The words of a command, quoted ones whole; `None` where a quote is open.
fn words(line: &str) -> Option<Vec<String>> {
    let (mut words, mut word, mut open) = (Vec::new(), None::<String>, None);
    for c in line.chars() {
        match (open, c) {
            (Some(quote), _) if c == quote => open = None,
            (None, '"' | '\'') => {
                open = Some(c);
                word.get_or_insert_default();
            }
            (None, _) if c.is_whitespace() => words.extend(word.take()),
            (Some(_) | None, _) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words.retain(|word| !word.starts_with("{posargs") && !word.starts_with("[]"));
    open.is_none().then_some(words)
}

/// What the one command that starts pytest says; `None` where none or several do.
fn one_pytest(commands: Vec<Vec<String>>) -> Option<TestCommand> {
    let of_pytest = |words: &Vec<String>| -> Option<Vec<String>> {
        let bare: Vec<&str> = words.iter().map(String::as_str).collect();
        let at = match bare.as_slice() {
            ["pytest" | "py.test", ..] => 1,
            [_, "-m", "pytest", ..] => 3,
            ["coverage", "run", ..] => bare.windows(2).position(|two| two == ["-m", "pytest"])? + 2,
            _ => return None,
        };
        Some(words[at..].to_vec())
    };
    let mut found = commands.iter().filter_map(of_pytest);
    let (first, more) = (found.next()?, found.next());
    more.is_none().then(|| kept(&first))
}

/// Options that choose tests or settings, and paths. Those about output, coverage and parallel runs are tox's own affair.
fn kept(words: &[String]) -> TestCommand {
    let mut kept = TestCommand::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let (name, joined) =
            word.split_once('=').map_or((word.as_str(), None), |(name, value)| (name, Some(value)));
        if VALUED.contains(&name) {
            let value = joined.map(str::to_owned).or_else(|| words.next().cloned());
            let Some(value) = value.filter(|value| leaves_ours(name, value)) else { continue };
            kept.options.extend(if name.starts_with("--") {
                vec![format!("{name}={value}")]
            } else {
                vec![name.to_owned(), value]
            });
        } else if PLAIN.contains(&name) {
            kept.options.push(word.clone());
        } else if is_path(word) {
            kept.paths.push(word.trim_end_matches('/').to_owned());
        }
    }
    kept
}

/// Whether a test that perspt adds is still found: only expressions that leave something out are taken over.
fn leaves_ours(name: &str, value: &str) -> bool {
    match name {
        "-m" | "-k" => value.starts_with("not ") && !value.contains(" or "),
        "-o" => !value.starts_with("junit") && !value.starts_with("addopts"),
        "-p" => value != "no:junitxml",
        _ => true,
    }
}

/// A word that names files or folders. After an option that is not known here a bare word may be its value, so it must
/// look like a path.
fn is_path(word: &str) -> bool {
    let looks = word.contains('/') || word.ends_with(".py") || ["tests", "test", "testing"].contains(&word);
    looks && !word.starts_with('-')
}

/// What the code may be told by its environment. tox's own, Python's and pytest's variables are not taken over, but for
/// the path of modules.
fn is_for_the_code(name: &str) -> bool {
    name == "PYTHONPATH"
        || !["PYTHON", "PYTEST", "PY_", "TOX", "COVERAGE", "PERSPT", "PATH", "LD_", "HOME"]
            .iter()
            .any(|prefix| name.starts_with(prefix))
}
