//! The API key, and keeping it out of sight.

use std::fmt;
use std::sync::Arc;

use perspt_core::secret;

/// An API key. Nothing that prints shows it; only this crate can read it.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(Arc<str>);

impl Key {
    /// A key without the white space around it. `None` where nothing is left, which is no key at all.
    pub fn new(text: &str) -> Option<Key> {
        let text = text.trim();
        (!text.is_empty()).then(|| Key(text.into()))
    }

    pub(crate) fn secret(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(hidden)")
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(hidden)")
    }
}

/// Turns text that came from the other side into something an error may carry: secrets replaced, one line,
/// no control characters, short.
#[derive(Clone, Default)]
pub(crate) struct Censor {
    secrets: Vec<Arc<str>>,
}

impl Censor {
    /// How many characters of foreign text an error carries.
    const MAX_CHARS: usize = 300;

    /// Hides the key, if there is one.
    pub(crate) fn of_key(key: Option<&Key>) -> Censor {
        Censor { secrets: key.map(|key| key.0.clone()).into_iter().collect() }
    }

    /// Hides this text too.
    pub(crate) fn add(&mut self, secret: &str) {
        if !secret.is_empty() {
            self.secrets.push(secret.into());
        }
    }

    /// Secrets go before the text is cut, or the cut could leave half of one.
    pub(crate) fn excerpt(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for known in &self.secrets {
            let found = secret::places(&text, known);
            text = secret::replaced(&text, found.into_iter().map(|place| (place, "(hidden)")));
        }
        let mut line = String::new();
        let mut used = 0;
        for word in text.split_whitespace() {
            if !line.is_empty() {
                line.push(' ');
                used += 1;
            }
            for character in word.chars() {
                if used == Self::MAX_CHARS {
                    line.push('…');
                    return line;
                }
                line.push(if is_plain(character) { character } else { '\u{fffd}' });
                used += 1;
            }
        }
        line
    }
}

/// Control characters would act on a terminal, and direction marks would reorder what a person reads.
fn is_plain(character: char) -> bool {
    !character.is_control()
        && !matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
