//! The lines of an answer, and which of them are fences.

use super::steps::count;

/// A line of three or more backticks or tildes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fence<'a> {
    pub mark: char,
    pub run: usize,
    pub indent: usize,
    /// What stands behind the marks.
    pub info: &'a str,
}

impl Fence<'_> {
    /// Whether it can close what another one opened. Models close with as many marks as they opened with.
    pub fn closes(&self, open: &Fence<'_>) -> bool {
        self.mark == open.mark && self.run == open.run && self.indent == open.indent && self.info.is_empty()
    }
}

/// One line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'a> {
    /// Where it begins in the answer.
    pub start: usize,
    /// The whole line, its end included.
    pub raw: &'a str,
    /// Without white space at its end.
    pub text: &'a str,
    pub fence: Option<Fence<'a>>,
}

impl Line<'_> {
    pub fn end(&self) -> usize {
        self.start + self.raw.len()
    }

    pub fn is_blank(&self) -> bool {
        self.text.is_empty()
    }
}

/// All lines of a text.
pub(super) fn lines(text: &str) -> Vec<Line<'_>> {
    count(text.len());
    let mut start = 0;
    text.split_inclusive('\n')
        .map(|raw| {
            let line = Line { start, raw, text: raw.trim_end(), fence: fence(raw.trim_end()) };
            start += raw.len();
            line
        })
        .collect()
}

fn fence(line: &str) -> Option<Fence<'_>> {
    let bare = line.trim_start_matches(' ');
    let indent = line.len() - bare.len();
    let mark = bare.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let run = bare.len() - bare.trim_start_matches(mark).len();
    let info = bare[run..].trim();
    (run >= 3 && !info.contains('`')).then_some(Fence { mark, run, indent, info })
}

/// The text of some lines.
pub(super) fn text_of(lines: &[Line<'_>]) -> String {
    lines.iter().map(|line| line.raw).collect()
}
