//! Finding a secret that is known in a text, without garbling the text where the secret looks like a word.

use std::ops::Range;

/// From this length on a secret is looked for inside words too.
const LONG: usize = 12;
/// What is shorter is no secret.
const SHORTEST: usize = 4;

/// Where a known secret stands in a text. A short one, or one of letters alone, is found only where it stands by
/// itself. A short word such as `local` or `none` is never found: it keeps nothing secret, and texts are full of it.
pub fn places(text: &str, secret: &str) -> Vec<Range<usize>> {
    let length = secret.chars().count();
    let is_word = secret.chars().all(char::is_alphabetic);
    if length < SHORTEST || (is_word && length < LONG) {
        return Vec::new();
    }
    let inside_words = length >= LONG && !is_word;
    let in_word = |near: Option<char>| near.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let stands_alone = |place: &Range<usize>| {
        !in_word(text[..place.start].chars().next_back()) && !in_word(text[place.end..].chars().next())
    };
    let found = text.match_indices(secret).map(|(at, _)| at..at + secret.len());
    found.filter(|place| inside_words || stands_alone(place)).collect()
}

/// The text with other text at these places, which are in order and do not overlap.
pub fn replaced<'a>(text: &str, places: impl IntoIterator<Item = (Range<usize>, &'a str)>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for (place, instead) in places {
        out.push_str(&text[from..place.start]);
        out.push_str(instead);
        from = place.end;
    }
    out.push_str(&text[from..]);
    out
}
