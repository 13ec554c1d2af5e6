//! Words of tasks and of code, made alike so that they can be compared.

/// Words that stand in every task and say nothing about where to look.
const IDLE: &[&str] = &[
    "about",
    "add",
    "after",
    "all",
    "also",
    "and",
    "any",
    "are",
    "because",
    "been",
    "before",
    "bug",
    "but",
    "can",
    "change",
    "code",
    "correct",
    "could",
    "def",
    "do",
    "does",
    "each",
    "else",
    "error",
    "every",
    "file",
    "fix",
    "fn",
    "for",
    "from",
    "get",
    "has",
    "have",
    "if",
    "implement",
    "in",
    "instead",
    "into",
    "is",
    "it",
    "its",
    "let",
    "line",
    "make",
    "more",
    "must",
    "mut",
    "new",
    "none",
    "not",
    "now",
    "of",
    "off",
    "on",
    "one",
    "only",
    "or",
    "other",
    "out",
    "pub",
    "return",
    "self",
    "should",
    "so",
    "some",
    "test",
    "than",
    "that",
    "the",
    "their",
    "them",
    "then",
    "there",
    "these",
    "they",
    "thi",
    "this",
    "to",
    "too",
    "true",
    "update",
    "use",
    "was",
    "when",
    "where",
    "which",
    "while",
    "will",
    "with",
    "without",
    "would",
    "wrong",
    "you",
    "your",
];

/// The words of a text: identifiers split at `_` and at humps, in small letters, without their usual endings.
pub(super) fn words(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for run in text.split(|c: char| !c.is_alphanumeric()) {
        let mut word = String::new();
        let letters: Vec<char> = run.chars().collect();
        for (at, letter) in letters.iter().enumerate() {
            let after_small = at > 0 && !letters[at - 1].is_uppercase();
            let before_small = letters.get(at + 1).is_some_and(|next| next.is_lowercase());
            if letter.is_uppercase() && at > 0 && (after_small || before_small) {
                found.extend(word_of(&std::mem::take(&mut word)));
            }
            word.extend(letter.to_lowercase());
        }
        found.extend(word_of(&word));
    }
    found
}

/// A word by its stem; none for what is too short or says nothing.
fn word_of(word: &str) -> Option<String> {
    let says_nothing = |word: &str| word.chars().count() < 2 || IDLE.binary_search(&word).is_ok();
    if says_nothing(word) || word.chars().all(|c| c.is_ascii_digit()) {
        return None;
    }
    let stem = stem(word);
    (!says_nothing(stem)).then(|| stem.to_owned())
}

/// The word without the endings by which a task and an identifier usually differ: `rounding` and `rounded` are `round`.
fn stem(word: &str) -> &str {
    const ENDINGS: &[&str] =
        &["ations", "ation", "ings", "ing", "ies", "ers", "ed", "er", "es", "s", "y", "e"];
    const SHORTEST: usize = 3;
    let cut = |ending: &&str| word.strip_suffix(*ending).filter(|stem| stem.chars().count() >= SHORTEST);
    let is_double = word.ends_with("ss");
    if is_double { word } else { ENDINGS.iter().find_map(cut).unwrap_or(word) }
}

#[cfg(test)]
mod tests {
    use super::{IDLE, words};

    #[test]
    fn idle_words_are_in_order_so_that_they_are_found() {
        assert!(IDLE.is_sorted());
    }

    #[test]
    fn identifiers_and_sentences_give_the_same_words() {
        assert_eq!(
            words("memberDiscounts"),
            words("the discount of a member").into_iter().rev().collect::<Vec<_>>()
        );
        assert_eq!(words("HTTPServer_rate"), ["http", "serv", "rat"]);
        assert_eq!(words("rounding"), words("ROUNDED"));
        assert_eq!(words("fix the 12 errors"), [""; 0]);
    }
}
