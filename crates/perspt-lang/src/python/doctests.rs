//! Examples in Python documentation that pytest tries out, where the project's settings tell it to. All examples
//! of one text share what they define, so a text is one test; examples added to it leave it as it was.

use perspt_core::path::RelPath;

use super::layout::PYTHON;
use super::settings::Settings;
use crate::plugin::Files;
use crate::shared::glob;
use crate::syntax::{Item, Kind, parse};

const PROMPT: &str = ">>>";

/// What keeps an example from being tried out.
const SKIP: &str = "+SKIP";

/// The examples of one file: of its docstrings where modules are asked for, of its text where its name is.
pub(crate) fn examples(files: &dyn Files, path: &RelPath, settings: &Settings) -> Vec<Item> {
    let in_docstrings = path.extension() == Some("py") && asks_for_modules(settings);
    let in_text = asked_texts(settings).any(|pattern| glob::matches(pattern, path.name()));
    let text = files.text(path).filter(|text| (in_docstrings || in_text) && text.contains(PROMPT));
    let Some(text) = text else { return Vec::new() };
    if !in_docstrings {
        return example("doc".to_owned(), 1, &text).into_iter().collect();
    }
    let docs = parse(&PYTHON, &text).docs;
    let named = docs.iter().map(|doc| {
        let path = std::iter::once("doc").chain(doc.path.iter().map(String::as_str));
        (path.collect::<Vec<_>>().join("::"), doc)
    });
    named.filter_map(|(name, doc)| example(name, doc.line, &doc.text)).collect()
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

/// The examples of a text, each from its prompt up to the next one or a blank line.
fn example(name: String, line: u32, text: &str) -> Option<Item> {
    let mut cases: Vec<String> = Vec::new();
    let mut inside = false;
    for line in text.lines().map(|line| line.trim().trim_end_matches(['"', '\''])) {
        let begins = line.starts_with(PROMPT);
        inside = begins || (inside && !line.is_empty());
        match cases.last_mut().filter(|_| inside && !begins) {
            Some(case) => case.push_str(&format!("\n{line}")),
            None if begins => cases.push(line.to_owned()),
            None => {}
        }
    }
    let count = |word: &str| cases.iter().filter(|case| case.contains(word)).count();
    let (assertions, skips) = (count("\n"), count(SKIP));
    (!cases.is_empty()).then(|| Item {
        name,
        scope: String::new(),
        kind: Kind::Test,
        guarded: false,
        ambient: false,
        range: 0..0,
        lines: (line, line + text.lines().count() as u32),
        tokens: Vec::new(),
        context: Vec::new(),
        // What an example shows may get shorter; that it shows something counts.
        assertions,
        skips,
        exact: 0,
        vacuous: 0,
        cases,
    })
}
