//! Commands as words: a command line becomes program and arguments, with no shell between.

/// Why a command line cannot be run as it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ArgvError {
    /// There is no word in it.
    #[error("it is empty")]
    Empty,
    /// A quote is opened and not closed.
    #[error("a quote is not closed")]
    OpenQuote,
    /// It needs a shell.
    #[error("it needs a shell (`{0}`): give one program with its arguments")]
    Shell(char),
}

/// The words of a command line. Quotes and backslashes work as in a shell; what only a shell could do is refused.
pub fn parse_argv(line: &str) -> Result<Vec<String>, ArgvError> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some('\''), c) => word.get_or_insert_default().push(c),
            (Some(_), '$' | '`') => return Err(ArgvError::Shell(c)),
            (_, '\\') => word.get_or_insert_default().extend(chars.next()),
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, '|' | '&' | ';' | '<' | '>' | '$' | '`' | '(' | ')' | '\n' | '*' | '?' | '{' | '}') => {
                return Err(ArgvError::Shell(c));
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    if quote.is_some() {
        return Err(ArgvError::OpenQuote);
    }
    words.extend(word);
    if words.is_empty() { Err(ArgvError::Empty) } else { Ok(words) }
}

#[cfg(test)]
mod tests {
    use super::{ArgvError, parse_argv};

    #[test]
    fn a_command_line_is_words_and_never_a_shell() {
        let words = |line: &str| parse_argv(line).map(|words| words.join("|"));
        assert_eq!(words("cargo add itoa  --features 'a b'"), Ok("cargo|add|itoa|--features|a b".to_owned()));
        assert_eq!(words("echo \"x \\\" y\" ''"), Ok("echo|x \" y|".to_owned()));
        assert_eq!(words("a;b"), Err(ArgvError::Shell(';')));
        assert_eq!(words("a | b"), Err(ArgvError::Shell('|')));
        assert_eq!(words("echo \"$HOME\""), Err(ArgvError::Shell('$')));
        assert_eq!(words("echo '$HOME'"), Ok("echo|$HOME".to_owned()));
        assert_eq!(words("  "), Err(ArgvError::Empty));
        assert_eq!(words("echo 'x"), Err(ArgvError::OpenQuote));
    }
}
