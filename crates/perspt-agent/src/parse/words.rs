//! Paths told apart from other words.

/// The longest text that is taken as a path.
const LONGEST: usize = 300;

/// Whether a word has the form of a file's path: one word whose last part has an ending. `and/or` and `v1.2` have not.
pub(super) fn is_path(word: &str) -> bool {
    let Some(name) = name_of(word) else { return false };
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    let is_dotfile =
        name.starts_with('.') && name.len() > 2 && name[1..].starts_with(|c: char| c.is_ascii_alphabetic());
    is_dotfile
        || ending.is_some_and(|ending| {
            let is_plain = ending.chars().all(|c| c.is_ascii_alphanumeric() || "_+-".contains(c));
            is_plain && (1..=12).contains(&ending.len()) && ending.contains(|c: char| c.is_ascii_alphabetic())
        })
}

/// Whether a word could be a path where something says that it is one: `Makefile`, `bin/run`.
pub(super) fn may_be_path(word: &str) -> bool {
    name_of(word).is_some()
}

/// The last part of a word that has only characters of paths.
fn name_of(word: &str) -> Option<&str> {
    let is_odd = |c: char| c.is_whitespace() || c.is_control() || "<>|*?\"'`{}=,;!$&^\\".contains(c);
    let is_call = word.contains('(') && !word.contains("/(");
    if word.is_empty() || word.len() > LONGEST || word.contains(is_odd) || word.contains("://") || is_call {
        return None;
    }
    let name = word.rsplit('/').next()?;
    let is_name = !name.is_empty() && !matches!(name, "." | "..") && !word.starts_with(['-', '@', '#']);
    (is_name && !name.ends_with(['.', ':'])).then_some(name)
}

/// A path that a sentence names by itself, if it names one: as a word, or as the whole of a code span.
pub(super) fn named_path(sentence: &str) -> Option<&str> {
    let spans = sentence.split('`').skip(1).step_by(2).map(str::trim).find(|span| is_path(span));
    let mut outside = sentence.split('`').step_by(2).flat_map(str::split_whitespace);
    let bare = |word: &'_ str| -> bool {
        is_path(
            word.trim_start_matches(['*', '"', '\'', '('])
                .trim_end_matches(['*', '"', '\'', ')', '.', ',', ':', ';']),
        )
    };
    spans.or_else(|| outside.find(|word| bare(word)))
}

/// The word of a line that is one word and nothing else: it may be a name such as `Makefile`. Words that stand above examples
/// are none.
pub(super) fn lone_word(line: &str) -> Option<&str> {
    const PROSE: &[&str] = &[
        "also",
        "and",
        "bash",
        "code",
        "example",
        "examples",
        "explanation",
        "install",
        "installation",
        "note",
        "notes",
        "output",
        "result",
        "run",
        "running",
        "shell",
        "test",
        "testing",
        "tests",
        "then",
        "usage",
    ];
    let word = line.trim_matches(|c: char| "#*`:- ".contains(c));
    let is_prose = PROSE.contains(&word.to_lowercase().as_str()) && !line.contains('`');
    (!word.is_empty() && !word.contains(char::is_whitespace) && !is_prose).then_some(word)
}
