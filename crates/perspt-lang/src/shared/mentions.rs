//! Looking words up in a text.

/// Whether a text mentions one of these words. Letters, digits and underscores beside one make it part of another word.
pub fn mentions(text: &str, words: &[&str]) -> bool {
    let text = text.to_lowercase();
    words.iter().any(|word| has_word(&text, &word.to_lowercase()))
}

/// Whether a text has this word. Letters, digits and underscores beside it make it part of another.
pub(crate) fn has_word(text: &str, word: &str) -> bool {
    let part_of_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let joined = |a, b| part_of_word(a) && part_of_word(b);
    let (first, last) = (word.chars().next(), word.chars().next_back());
    let mut found = text.match_indices(word).filter(|_| !word.is_empty());
    found.any(|(at, _)| {
        let (before, after) = (text[..at].chars().next_back(), text[at + word.len()..].chars().next());
        !joined(before, first) && !joined(last, after)
    })
}
