//! The tokens of a declaration in any language, and the pieces of a text that promises several.

/// A token, and what stands before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub text: String,
    pub before: Gap,
}

/// What stands between a token and the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Gap {
    None,
    Space,
    Line,
}

impl Token {
    /// Whether it is a name or a word of the language.
    pub fn is_word(&self) -> bool {
        is_word(&self.text)
    }
}

/// Whether a token is a name or a word of the language.
pub(super) fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '$')
}

/// A part of a text that promises one thing.
pub(super) struct Piece {
    /// In one line.
    pub text: String,
    pub tokens: Vec<Token>,
}

const LONG: [&str; 9] = ["...", "..=", "->", "=>", "::", "**", "..", "==", "!="];

/// The tokens of a text, without comments and attributes.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut found: Vec<Token> = Vec::new();
    let (mut rest, mut gap) = (text, Gap::Line);
    while let Some(first) = rest.chars().next() {
        if first.is_whitespace() {
            gap = gap.max(if first == '\n' { Gap::Line } else { Gap::Space });
            rest = &rest[first.len_utf8()..];
            continue;
        }
        if let Some(length) = idle(rest, gap) {
            gap = gap.max(Gap::Space);
            rest = &rest[length..];
            continue;
        }
        let length = token(rest);
        let text = if first == '→' { "->" } else { &rest[..length] };
        found.push(Token { text: text.to_owned(), before: gap });
        (rest, gap) = (&rest[length..], Gap::None);
    }
    found
}

/// How long a comment or an attribute is that stands here.
fn idle(rest: &str, gap: Gap) -> Option<usize> {
    let to_line_end = || rest.find('\n').unwrap_or(rest.len());
    if rest.starts_with("/*") {
        return Some(rest.find("*/").map_or(rest.len(), |end| end + 2));
    }
    if rest.starts_with("#[") {
        let mut depth = 0usize;
        for (at, c) in rest.char_indices() {
            match c {
                '[' => depth += 1,
                ']' if depth == 1 => return Some(at + 1),
                ']' => depth -= 1,
                _ => {}
            }
        }
        return Some(rest.len());
    }
    (rest.starts_with("//") || (rest.starts_with('#') && gap != Gap::None)).then(to_line_end)
}

/// How long the token is that stands here.
fn token(rest: &str) -> usize {
    let first = rest.chars().next().unwrap_or_default();
    let run = |is_part: fn(char) -> bool| rest.find(|c: char| !is_part(c)).unwrap_or(rest.len());
    let is_part: fn(char) -> bool = |c| c.is_alphanumeric() || c == '_' || c == '$';
    if is_part(first) {
        return run(is_part);
    }
    if let '"' | '\'' | '`' = first {
        let body = &rest[1..];
        // A lifetime has no quote after it.
        let word = body.find(|c: char| !is_part(c)).unwrap_or(body.len());
        if first == '\'' && word > 0 && !body[word..].starts_with('\'') {
            return 1 + word;
        }
        return body.find(first).map_or(1, |end| end + 2);
    }
    LONG.iter().find(|long| rest.starts_with(**long)).map_or(first.len_utf8(), |long| long.len())
}

/// How a token changes the depth of brackets.
pub(super) fn depth(token: &str) -> i32 {
    match token {
        "(" | "[" | "{" | "<" => 1,
        ")" | "]" | "}" | ">" => -1,
        _ => 0,
    }
}

/// The tokens of one level, split at the tokens that are separators there.
pub(super) fn split(tokens: &[Token], is_separator: impl Fn(&Token) -> bool) -> Vec<&[Token]> {
    let (mut parts, mut level, mut start) = (Vec::new(), 0, 0);
    for (at, token) in tokens.iter().enumerate() {
        if level == 0 && is_separator(token) {
            parts.push(&tokens[start..at]);
            start = at + 1;
        }
        level = (level + depth(&token.text)).max(0);
    }
    parts.push(&tokens[start..]);
    parts.into_iter().filter(|part| !part.is_empty()).collect()
}

/// The place of the bracket that closes the one at the beginning.
pub(super) fn closing(tokens: &[Token]) -> Option<usize> {
    let mut level = 0;
    tokens.iter().position(|token| {
        level += depth(&token.text);
        level == 0
    })
}

/// The parts of a text that promise one thing each.
pub(super) fn pieces(text: &str) -> Vec<Piece> {
    let lines: Vec<String> = text.lines().filter_map(bare_line).collect();
    let all = tokens(&lines.join("\n"));
    let (mut found, mut current, mut level) = (Vec::new(), Vec::<Token>::new(), 0);
    for token in all {
        let goes_on = ["{", "->", ")", "where", ":", "=>"].contains(&token.text.as_str());
        let is_open = current.last().is_some_and(|last| ["where", "->", "="].contains(&last.text.as_str()));
        let is_new_line = token.before == Gap::Line && !goes_on && !is_open;
        let separates = [";", ",", "and", "&"].contains(&token.text.as_str());
        let is_list = token.text == ";" || current.len() == 1 || current.iter().any(|one| one.text == ")");
        if level == 0 && (is_new_line || (separates && is_list)) {
            found.push(std::mem::take(&mut current));
        }
        level = (level + depth(&token.text)).max(0);
        if !(current.is_empty() && separates) {
            current.push(token);
        }
    }
    found.push(current);
    let whole = |tokens: Vec<Token>| Piece { text: shown(&tokens), tokens };
    found.into_iter().filter(|tokens| !tokens.is_empty()).map(whole).collect()
}

/// Tokens as one line.
pub(super) fn shown(tokens: &[Token]) -> String {
    let mut line = String::new();
    for token in tokens {
        if token.before != Gap::None && !line.is_empty() {
            line.push(' ');
        }
        line.push_str(&token.text);
    }
    line
}

/// A line without what people put around code: fences, bullets, quotes, the file it is to stand in.
fn bare_line(line: &str) -> Option<String> {
    let mut line = line.trim();
    if line.starts_with("```") || line.is_empty() {
        return None;
    }
    for bullet in ["- ", "* ", "+ ", "• "] {
        line = line.strip_prefix(bullet).map_or(line, str::trim);
    }
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    if let Some(rest) = line[digits..].strip_prefix(['.', ')']).filter(|_| digits > 0) {
        line = rest.trim();
    }
    let line = without_file(line.trim());
    let quoted = line.strip_prefix('`').and_then(|rest| rest.strip_suffix('`'));
    Some(without_file(quoted.unwrap_or(line)).to_owned())
}

/// `src/lib.rs: fn f()` and `src/lib.rs::f` without the file.
fn without_file(line: &str) -> &str {
    let is_file = |label: &str| {
        let extension = label.rsplit_once('.').map_or("", |(_, extension)| extension);
        let is_short =
            (1..=4).contains(&extension.len()) && extension.bytes().all(|c| c.is_ascii_lowercase());
        !label.contains([' ', '(', '<']) && (label.contains('/') || is_short)
    };
    for mark in ["::", ": "] {
        if let Some((label, rest)) = line.split_once(mark)
            && is_file(label.trim_matches('`'))
        {
            return rest.trim();
        }
    }
    line
}
