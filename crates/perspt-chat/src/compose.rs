//! Typed lines become entries: one line, lines joined by a backslash, or a block.

/// Begins and ends a block.
const FENCE: &str = "\"\"\"";

/// What was typed as one thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// A single line; it may be a command.
    Line(String),
    /// Several lines, or a block: always a message, as it is.
    Text(String),
}

/// Puts lines together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Composer {
    open: Open,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum Open {
    #[default]
    Nothing,
    Continued(Vec<String>),
    Block(Vec<String>),
}

impl Composer {
    /// Takes a line without its end; gives the entry that it completes.
    pub fn push(&mut self, line: &str) -> Option<Entry> {
        let fence = line.trim() == FENCE;
        match std::mem::take(&mut self.open) {
            Open::Nothing if fence => self.open = Open::Block(Vec::new()),
            Open::Nothing => match line.strip_suffix('\\') {
                Some(line) => self.open = Open::Continued(vec![line.to_owned()]),
                None => return Some(Entry::Line(line.to_owned())),
            },
            Open::Continued(mut lines) => match line.strip_suffix('\\') {
                Some(line) => {
                    lines.push(line.to_owned());
                    self.open = Open::Continued(lines);
                }
                None => {
                    lines.push(line.to_owned());
                    return Some(Entry::Text(lines.join("\n")));
                }
            },
            Open::Block(lines) if fence => return Some(Entry::Text(lines.join("\n"))),
            Open::Block(mut lines) => {
                lines.push(line.to_owned());
                self.open = Open::Block(lines);
            }
        }
        None
    }

    /// Whether an entry has begun and is not complete.
    pub fn is_open(&self) -> bool {
        self.open != Open::Nothing
    }

    /// Forgets what has begun.
    pub fn reset(&mut self) {
        self.open = Open::Nothing;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(lines: &[&str]) -> Vec<Entry> {
        let mut composer = Composer::default();
        let entries = lines.iter().filter_map(|line| composer.push(line)).collect();
        assert!(!composer.is_open());
        entries
    }

    #[test]
    fn a_line_is_an_entry() {
        assert_eq!(entries(&["one", ""]), [Entry::Line("one".into()), Entry::Line("".into())]);
    }

    #[test]
    fn lines_that_end_with_a_backslash_go_on() {
        assert_eq!(
            entries(&["a\\", "/b\\", "c", "d"]),
            [Entry::Text("a\n/b\nc".into()), Entry::Line("d".into())]
        );
    }

    #[test]
    fn a_block_keeps_its_lines_as_they_are() {
        assert_eq!(
            entries(&[" \"\"\" ", "  fn a() {\\", "", "/quit", "\"\"\""]),
            [Entry::Text("  fn a() {\\\n\n/quit".into())]
        );
    }

    #[test]
    fn what_has_begun_can_be_forgotten() {
        let mut composer = Composer::default();
        assert_eq!(composer.push("\"\"\""), None);
        assert!(composer.is_open());
        composer.reset();
        assert_eq!(composer.push("x"), Some(Entry::Line("x".into())));
    }
}
