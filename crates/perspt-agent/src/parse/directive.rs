//! Lines of their own beside blocks: `TESTS`, `RED` and `RUN`.

use perspt_core::bundle::Bundle;
use perspt_core::consent::{TestChange, TestDeclaration};
use perspt_core::path::RelPath;

use super::notes::Notes;

/// Whether a line is a directive, with or without decoration.
pub(super) fn is_directive(line: &str) -> bool {
    word_of(line).is_some()
}

/// The word and what follows it, and whether something stood around them.
fn word_of(line: &str) -> Option<(&'static str, &str, bool)> {
    let bare = line.trim_start_matches(['#', '-', '*', '`', ' ']);
    let (word, rest) = bare.split_once(' ')?;
    let word =
        ["TESTS", "RED", "RUN"].into_iter().find(|known| word.trim_end_matches([':', '*', '`']) == *known)?;
    let is_plain = bare.len() == line.len() && bare.starts_with(word) && bare[word.len()..].starts_with(' ');
    let rest = rest.trim();
    let inner = rest.strip_prefix('`').and_then(|rest| rest.strip_suffix('`'));
    let is_spanned = !is_plain && inner.is_none();
    let rest = if is_spanned { rest.trim_end_matches('`') } else { inner.unwrap_or(rest) };
    Some((word, rest.trim(), is_plain && inner.is_none()))
}

/// Takes a directive into a bundle. The error is a line for the model.
pub(super) fn take(line: &str, bundle: &mut Bundle, notes: &mut Notes) -> Result<(), String> {
    let Some((word, rest, is_plain)) = word_of(line) else { return Ok(()) };
    if !is_plain {
        notes.add(format!("marks around `{word}` removed"));
    }
    if rest.is_empty() {
        return Err(format!("`{word}` stands alone"));
    }
    // The form is listed in the prompt, and some fill in every line of it.
    if ["none", "n/a", "(none)", "nothing"].contains(&rest.trim_end_matches('.').to_lowercase().as_str()) {
        notes.add(format!("`{word} {rest}` left out"));
        return Ok(());
    }
    match word {
        "RUN" => bundle.commands.push(rest.to_owned()),
        "RED" => bundle.leaves_red.push(split_why(rest).0.to_owned()),
        _ => bundle.changes_tests.push(declaration(rest)?),
    }
    Ok(())
}

/// What stands before the reason, and the reason. Names of tests hold `::` but no `: `.
fn split_why(rest: &str) -> (&str, &str) {
    let (before, why) = rest.split_once(": ").unwrap_or((rest.strip_suffix(':').unwrap_or(rest), ""));
    (before.trim(), why.trim())
}

/// `tests/test_a.py::test_x update: why`.
fn declaration(rest: &str) -> Result<TestDeclaration, String> {
    let (what, why) = split_why(rest);
    let wrong =
        || format!("`TESTS {rest}` cannot be read; it is `TESTS tests/test_a.py::test_x update: why`");
    let mut words = what.split_whitespace();
    let subject = words.next().ok_or_else(wrong)?;
    let change = match words.next() {
        Some("update") | None => TestChange::Update,
        Some("remove") => TestChange::Remove,
        Some("rename") => TestChange::Rename,
        Some("move") => TestChange::Move,
        Some(_) => return Err(wrong()),
    };
    let to = words.find(|word| !matches!(*word, "->" | "to")).map(str::to_owned);
    let needs_name = matches!(change, TestChange::Rename | TestChange::Move);
    if words.next().is_some() || needs_name != to.is_some() {
        return Err(wrong());
    }
    let (path, test) =
        subject.split_once("::").map_or((subject, None), |(path, test)| (path, Some(test.to_owned())));
    let path = RelPath::parse(path).map_err(|error| format!("`TESTS {rest}`: {error}"))?;
    Ok(TestDeclaration { path, test, change, to, why: why.to_owned() })
}
