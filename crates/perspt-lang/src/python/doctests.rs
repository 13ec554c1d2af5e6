//! Examples in Python documentation that pytest tries out, where the project's settings tell it to. All examples
//! of one text share what they define, so a text is one test; examples added at its end leave it as it was.

use perspt_core::path::RelPath;

use super::lexer::lines;
use super::settings::Settings;
use crate::plugin::Files;
use crate::shared::examples::Example;
use crate::shared::glob;
use crate::shared::touch::{Strength, Test};

const PROMPT: &str = ">>>";
const CONTINUED: &str = "...";

/// What keeps an example from being tried out.
const SKIP: &str = "+SKIP";

/// The examples of one file: of its docstrings where modules are asked for, of its text where its name is.
pub(crate) fn examples(files: &dyn Files, path: &RelPath, settings: &Settings) -> Vec<Example> {
    let in_docstrings = path.extension() == Some("py") && asks_for_modules(settings);
    let in_text = asked_texts(settings).any(|pattern| glob::matches(pattern, path.name()));
    let Some(text) = files.text(path).filter(|_| in_docstrings || in_text) else { return Vec::new() };
    let texts = if in_docstrings { docstrings(&text) } else { vec![("doc".to_owned(), 1, text.as_str())] };
    texts.into_iter().filter_map(|(key, line, text)| example(path, key, line, text)).collect()
}

fn asks_for_modules(settings: &Settings) -> bool {
    settings.words("addopts").iter().any(|word| word == "--doctest-modules")
}

/// The patterns of text files, from `--doctest-glob=x` or `--doctest-glob x`.
fn asked_texts(settings: &Settings) -> impl Iterator<Item = &str> {
    let words = settings.words("addopts");
    let joined = words.iter().filter_map(|word| word.strip_prefix("--doctest-glob="));
    let apart = words.windows(2).filter(|pair| pair[0] == "--doctest-glob").map(|pair| pair[1].as_str());
    joined.chain(apart).map(|pattern| pattern.trim_matches(['"', '\'']))
}

/// The texts that stand alone in a line of code, by the function or class around them.
fn docstrings(text: &str) -> Vec<(String, u32, &str)> {
    let mut open: Vec<(usize, String)> = Vec::new();
    let mut found = Vec::new();
    for line in lines(text) {
        while open.last().is_some_and(|(indent, _)| line.indent <= *indent) {
            open.pop();
        }
        let at = usize::from(line.token(0) == "async");
        if ["class", "def"].contains(&line.token(at)) {
            open.push((line.indent, line.token(at + 1).to_owned()));
        } else if let [only] = line.tokens.as_slice() {
            let names = std::iter::once("doc").chain(open.iter().map(|(_, name)| name.as_str()));
            found.push((names.collect::<Vec<_>>().join("::"), line.number, *only));
        }
    }
    found
}

/// The examples of a text: lines from a prompt on, up to a blank one.
fn example(file: &RelPath, key: String, line: u32, text: &str) -> Option<Example> {
    let mut shown: Vec<&str> = Vec::new();
    let mut inside = false;
    for line in text.lines().map(|line| line.trim().trim_end_matches(['"', '\''])) {
        inside = line.starts_with(PROMPT) || (inside && !line.is_empty());
        if inside {
            shown.push(line);
        }
    }
    let is_expected = |line: &str| !line.starts_with(PROMPT) && !line.starts_with(CONTINUED);
    // What an example shows may get shorter; that it shows something counts.
    let answered = shown.windows(2).filter(|pair| !is_expected(pair[0]) && is_expected(pair[1])).count();
    let test = Test {
        tokens: shown.iter().map(|line| format!("{line}\u{1}")).collect(),
        marks: shown.iter().filter(|line| line.contains(SKIP)).count(),
        strength: Strength { assertions: answered, ..Strength::default() },
        line,
    };
    (!shown.is_empty()).then_some(Example { file: file.clone(), key, test, runs: true })
}

/// Takes back what was only added at the end of a text that was there.
pub(crate) fn without_growth(before: &[Example], after: Vec<Example>) -> Vec<Example> {
    let shrunk = |new: Example| {
        let grown = |old: &&Example| {
            old.file == new.file && old.key == new.key && new.test.tokens.starts_with(&old.test.tokens)
        };
        before.iter().find(grown).cloned().unwrap_or(new)
    };
    after.into_iter().map(shrunk).collect()
}
