//! What was forgiven while an answer was read.

/// The most lines that are kept; a form that is odd in a thousand places is odd in one way.
const MOST: usize = 24;

/// Short lines, each once, in the order they came.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Notes(Vec<String>);

impl Notes {
    pub fn add(&mut self, line: impl Into<String>) {
        let line = line.into();
        if self.0.len() < MOST && !self.0.contains(&line) {
            self.0.push(line);
        }
    }

    pub fn extend(&mut self, other: Notes) {
        other.0.into_iter().for_each(|line| self.add(line));
    }

    pub fn into_lines(self) -> Vec<String> {
        self.0
    }
}
