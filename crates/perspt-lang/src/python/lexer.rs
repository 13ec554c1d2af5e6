//! Python's logical lines, as far as comparing tests needs them. Total: a file that does not parse still
//! gives lines. Comments and blank lines are left out.

/// One statement's line: how far it is indented, its tokens, and where it starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    /// Columns before the first token; a tab counts as eight.
    pub indent: usize,
    /// The tokens.
    pub tokens: Vec<&'a str>,
    /// The physical line it starts on.
    pub number: u32,
}

impl Line<'_> {
    /// The token at a place; empty past the end.
    pub fn token(&self, at: usize) -> &str {
        self.tokens.get(at).copied().unwrap_or("")
    }
}

/// The logical lines of a text.
pub(crate) fn lines(text: &str) -> Vec<Line<'_>> {
    let mut lexer = Lexer { text, at: 0, number: 1, depth: 0 };
    let mut lines = Vec::new();
    while lexer.at < text.len() {
        let line = lexer.line();
        if !line.tokens.is_empty() {
            lines.push(line);
        }
    }
    lines
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    number: u32,
    depth: usize,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn advance(&mut self, length: usize) -> &'a str {
        let taken = &self.rest()[..length];
        self.number += taken.matches('\n').count() as u32;
        self.at += length;
        taken
    }

    /// The next logical line, its newline taken; brackets and backslashes carry it over physical ones.
    fn line(&mut self) -> Line<'a> {
        let blanks = self.rest().len() - self.rest().trim_start_matches([' ', '\t', '\u{c}']).len();
        let indent = self.advance(blanks).chars().map(|c| if c == '\t' { 8 } else { 1 }).sum();
        let mut line = Line { indent, tokens: Vec::new(), number: self.number };
        self.depth = 0;
        while let Some(first) = self.rest().chars().next() {
            let rest = self.rest();
            match first {
                '\n' if self.depth == 0 => {
                    self.advance(1);
                    break;
                }
                '#' => {
                    self.advance(rest.find('\n').unwrap_or(rest.len()));
                }
                '\\' if rest.starts_with("\\\n") => {
                    self.advance(2);
                }
                _ if first.is_whitespace() => {
                    self.advance(first.len_utf8());
                }
                _ => {
                    let length = token(rest, first);
                    match first {
                        '(' | '[' | '{' => self.depth += 1,
                        ')' | ']' | '}' => self.depth = self.depth.saturating_sub(1),
                        _ => {}
                    }
                    line.tokens.push(self.advance(length));
                }
            }
        }
        line
    }
}

fn token(rest: &str, first: char) -> usize {
    let name = rest.find(|c: char| c != '_' && !c.is_alphanumeric()).unwrap_or(rest.len());
    let prefix = &rest[..name];
    let is_prefix = name <= 2 && prefix.chars().all(|c| "rRbBuUfFtT".contains(c));
    if is_prefix && rest[name..].starts_with(['"', '\'']) {
        return name + string(&rest[name..]);
    }
    if name > 0 { name } else { first.len_utf8() }
}

/// The length of a string literal; one in single quotes ends at the line at the latest.
fn string(rest: &str) -> usize {
    let quote = &rest[..1];
    let triple = quote.repeat(3);
    let (open, close) = if rest.starts_with(&triple) { (3, triple.as_str()) } else { (1, quote) };
    let mut at = open;
    while let Some(c) = rest[at..].chars().next() {
        if rest[at..].starts_with(close) {
            return at + close.len();
        }
        match c {
            '\\' => at += 1 + rest[at + 1..].chars().next().map_or(0, char::len_utf8),
            '\n' if open == 1 => return at,
            _ => at += c.len_utf8(),
        }
    }
    rest.len()
}
