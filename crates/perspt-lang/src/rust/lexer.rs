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

/// The tokens of a text.
pub(crate) fn lex(text: &str) -> Vec<Token<'_>> {
    let mut lexer = Lexer { text, at: 0, line: 1 };
    let mut tokens = Vec::new();
    while let Some(token) = lexer.next() {
        tokens.push(token);
    }
    tokens
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    line: u32,
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
            let length = if first.is_whitespace() {
                first.len_utf8()
            } else if rest.starts_with("//") {
                rest.find('\n').unwrap_or(rest.len())
            } else if rest.starts_with("/*") {
                block_comment(rest)
            } else {
                let (kind, length) = token(rest, first);
                let line = self.line;
                return Some(Token { kind, text: self.advance(length), line });
            };
            self.advance(length);
        }
    }
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
