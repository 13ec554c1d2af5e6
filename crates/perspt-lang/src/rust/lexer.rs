//! Rust's tokens, as far as comparing items needs them. Total: a file that does not lex still gives
//! tokens, so that a half-written file can be compared with its base. Comments are left out.

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A name or keyword.
    Name,
    /// A literal or a lifetime.
    Literal,
    /// `(`, `[` or `{`.
    Open,
    /// `)`, `]` or `}`.
    Close,
    /// Any other character.
    Punct,
}

/// One token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    /// What it is.
    pub kind: Kind,
    /// Its text.
    pub text: &'a str,
    /// The line it starts on.
    pub line: u32,
}

/// Where documentation stands to what it documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Before it.
    Before,
    /// Inside it, at its start.
    Inside,
}

/// A piece of documentation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Doc {
    /// The token it stands before or begins with.
    pub start: usize,
    /// The token after it.
    pub end: usize,
    /// Where it stands.
    pub place: Place,
    /// Its lines and their numbers, without the signs of the comment.
    pub lines: Vec<(u32, String)>,
}

/// The tokens of a text.
pub(crate) fn lex(text: &str) -> Vec<Token<'_>> {
    lex_with_docs(text).0
}

/// The tokens of a text and its documentation comments.
pub(crate) fn lex_with_docs(text: &str) -> (Vec<Token<'_>>, Vec<Doc>) {
    let mut lexer = Lexer { text, at: 0, line: 1, comments: Vec::new() };
    let (mut tokens, mut docs) = (Vec::new(), Vec::new());
    loop {
        let token = lexer.next();
        let found = lexer.comments.drain(..).filter_map(|(line, text)| doc(tokens.len(), line, text));
        docs.extend(found);
        match token {
            Some(token) => tokens.push(token),
            None => return (tokens, docs),
        }
    }
}

/// A comment as documentation, if it is some.
fn doc(at: usize, line: u32, comment: &str) -> Option<Doc> {
    let plain = comment.starts_with("////") || comment.starts_with("/***") || comment == "/**/";
    let starts =
        [("///", Place::Before), ("//!", Place::Inside), ("/**", Place::Before), ("/*!", Place::Inside)];
    let (start, place) = starts.into_iter().find(|(start, _)| !plain && comment.starts_with(start))?;
    let mut body = &comment[start.len()..];
    let is_block = start.starts_with("/*");
    if is_block {
        body = body.strip_suffix("*/").unwrap_or(body);
    }
    let starred = is_block
        && body
            .lines()
            .skip(1)
            .all(|line| line.trim_start().is_empty() || line.trim_start().starts_with('*'));
    let text = |line: &str| match line.trim_start().strip_prefix('*').filter(|_| starred) {
        Some(rest) => rest.to_owned(),
        None => line.to_owned(),
    };
    let lines = body.lines().zip(line..).map(|(body, line)| (line, text(body))).collect();
    Some(Doc { start: at, end: at, place, lines })
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    line: u32,
    /// Comments before the next token, with the lines they start on.
    comments: Vec<(u32, &'a str)>,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn advance(&mut self, length: usize) -> &'a str {
        let taken = &self.rest()[..length];
        self.line += taken.matches('\n').count() as u32;
        self.at += length;
        taken
    }

    fn next(&mut self) -> Option<Token<'a>> {
        loop {
            let rest = self.rest();
            let first = rest.chars().next()?;
            let line = self.line;
            if first.is_whitespace() {
                self.advance(first.len_utf8());
            } else if rest.starts_with("//") || rest.starts_with("/*") {
                let comment = self.advance(comment(rest));
                self.comments.push((line, comment));
            } else {
                let (kind, length) = token(rest, first);
                return Some(Token { kind, text: self.advance(length), line });
            }
        }
    }
}

/// The length of a comment.
fn comment(rest: &str) -> usize {
    if rest.starts_with("/*") { block_comment(rest) } else { rest.find('\n').unwrap_or(rest.len()) }
}

/// The length of a block comment; they nest.
fn block_comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0usize, 0usize);
    let bytes = rest.as_bytes();
    while at + 1 < bytes.len() {
        match &bytes[at..at + 2] {
            b"/*" => (depth, at) = (depth + 1, at + 2),
            b"*/" => {
                (depth, at) = (depth - 1, at + 2);
                if depth == 0 {
                    return at;
                }
            }
            _ => at += 1,
        }
    }
    rest.len()
}

fn token(rest: &str, first: char) -> (Kind, usize) {
    if let Some(length) = string(rest) {
        return (Kind::Literal, length);
    }
    match first {
        '(' | '[' | '{' => (Kind::Open, 1),
        ')' | ']' | '}' => (Kind::Close, 1),
        '\'' => (Kind::Literal, quote(rest)),
        '0'..='9' => (Kind::Literal, name(rest)),
        _ if first == '_' || first.is_alphabetic() => (Kind::Name, raw_name(rest)),
        _ => (Kind::Punct, first.len_utf8()),
    }
}

/// The length of a string literal of any flavour, if one starts here.
fn string(rest: &str) -> Option<usize> {
    let after_prefix = ["br", "cr", "r", "b", "c", ""].iter().find_map(|prefix| {
        let after = rest.strip_prefix(prefix)?;
        let hashes = if prefix.contains('r') { after.bytes().take_while(|&b| b == b'#').count() } else { 0 };
        after[hashes..].starts_with('"').then_some((prefix.len() + hashes + 1, hashes, prefix.contains('r')))
    });
    let (start, hashes, raw) = after_prefix?;
    let body = &rest[start..];
    if raw {
        let end = format!("\"{}", "#".repeat(hashes));
        return Some(body.find(&end).map_or(rest.len(), |at| start + at + end.len()));
    }
    Some(start + closing(body, '"').unwrap_or(body.len()))
}

/// The length up to and with the closing quote, escapes passed over.
fn closing(body: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in body.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return Some(at + c.len_utf8()),
            _ => {}
        }
    }
    None
}

/// The length of a character literal or a lifetime.
fn quote(rest: &str) -> usize {
    let body = &rest[1..];
    let mut chars = body.chars();
    match (chars.next(), chars.next()) {
        (Some('\\'), _) => 1 + closing(body, '\'').unwrap_or(body.len()),
        (Some(c), Some('\'')) => 2 + c.len_utf8(),
        _ => 1 + name(body),
    }
}

/// The length of the letters, digits and underscores that start here.
fn name(rest: &str) -> usize {
    rest.find(|c: char| c != '_' && !c.is_alphanumeric()).unwrap_or(rest.len())
}

fn raw_name(rest: &str) -> usize {
    match rest.strip_prefix("r#") {
        Some(after) if name(after) > 0 => 2 + name(after),
        _ => name(rest),
    }
}
