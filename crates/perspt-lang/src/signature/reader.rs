//! Going through the tokens of a declaration.

use super::tokens::{Token, closing, split};

/// What is left of the tokens of a declaration.
pub(super) struct Reader<'t> {
    pub rest: &'t [Token],
}

impl<'t> Reader<'t> {
    pub fn peek(&self) -> &'t str {
        self.rest.first().map_or("", |token| token.text.as_str())
    }

    pub fn take(&mut self, texts: &[&str]) -> bool {
        let is_it = !self.rest.is_empty() && texts.contains(&self.peek());
        if is_it {
            self.rest = &self.rest[1..];
        }
        is_it
    }

    /// What stands in the brackets that begin here.
    pub fn group(&mut self, open: &str) -> Option<&'t [Token]> {
        if self.peek() != open {
            return None;
        }
        // A declaration that was cut has no end.
        let end = closing(self.rest).unwrap_or(self.rest.len());
        let inner = &self.rest[1..end];
        self.rest = self.rest.get(end + 1..).unwrap_or_default();
        Some(inner)
    }

    pub fn word(&mut self) -> Option<&'t str> {
        let first = self.rest.first().filter(|token| token.is_word())?;
        self.rest = &self.rest[1..];
        Some(first.text.as_str())
    }

    /// A name with what it stands in.
    pub fn path(&mut self) -> Option<Vec<String>> {
        let mut path = vec![self.word()?.to_owned()];
        while [".", "::"].contains(&self.peek()) && self.rest.get(1).is_some_and(Token::is_word) {
            self.rest = &self.rest[1..];
            path.push(self.word()?.to_owned());
        }
        Some(path)
    }

    /// Everything before one of these on this level.
    pub fn until(&mut self, ends: &[&str]) -> &'t [Token] {
        let found = split(self.rest, |token| ends.contains(&token.text.as_str()));
        let begins = self.rest.first().is_some_and(|token| ends.contains(&token.text.as_str()));
        let taken = if begins { &self.rest[..0] } else { found.first().copied().unwrap_or_default() };
        self.rest = &self.rest[taken.len()..];
        taken
    }
}
