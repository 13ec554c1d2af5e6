//! Patterns of a contract. What people write is mostly the text itself (`unwrap()`, `import *`, `i++`), and much of that is also a
//! valid regular expression with another meaning. So a pattern is one only where it looks like one.

use regex::{Regex, RegexBuilder};

/// The most memory that one pattern may take. The engine's time is linear in the text.
const LARGEST: usize = 1 << 20;

/// A pattern of a contract, ready to be searched for.
pub(super) fn pattern(text: &str) -> Option<Regex> {
    let build = |text: &str| RegexBuilder::new(text).multi_line(true).size_limit(LARGEST).build().ok();
    let written = Some(text).filter(|text| looks_like_regex(text)).and_then(build);
    // What matches nothing at all matches everywhere.
    let useful = written.filter(|regex| !regex.is_match(""));
    useful.or_else(|| build(&literal(text)?))
}

/// Signs that people give a regular expression and no code.
fn looks_like_regex(text: &str) -> bool {
    const SIGNS: [&str; 14] =
        ["\\b", "\\s", "\\w", "\\d", "\\S", "\\W", "\\.", "\\(", "\\[", "\\{", ".*", ".+", "[^", "(?"];
    SIGNS.iter().any(|sign| text.contains(sign)) || text.starts_with('^') || is_choice(text)
}

/// `TODO|FIXME`. Two bars, or one among blanks or short names, are an operator.
fn is_choice(text: &str) -> bool {
    let is_word =
        |part: &str| part.len() > 2 && part.chars().all(|c| c.is_alphanumeric() || "_-.!:".contains(c));
    let inner = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).unwrap_or(text);
    inner.contains('|') && inner.split('|').all(is_word)
}

/// The text itself, whatever its blanks; where it begins or ends with a letter or digit, no part of a longer word.
fn literal(text: &str) -> Option<String> {
    let words: Vec<String> = text.split_whitespace().map(regex::escape).collect();
    let joins = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let (trimmed, edge) = (text.trim(), |is_edge: bool| if is_edge { "\\b" } else { "" });
    let (first, last) = (edge(joins(trimmed.chars().next())), edge(joins(trimmed.chars().next_back())));
    (!words.is_empty()).then(|| format!("{first}{}{last}", words.join("\\s+")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(wanted: &str, text: &str) -> bool {
        pattern(wanted).is_some_and(|pattern| pattern.is_match(text))
    }

    #[test]
    fn what_is_code_is_taken_as_it_is_written() {
        for (wanted, found, other) in [
            ("unwrap()", "x.unwrap()", "x.unwrap_or(0)"),
            ("eval(", "eval(text)", "retrieval(text)"),
            ("import *", "from x import *", "from x import y"),
            ("i++", "i++;", "i"),
            ("a || b", "a || b", "a"),
            ("except:", "except:", "except ValueError:"),
            ("print", "print(1)", "blueprint"),
            ("unsafe", "unsafe {", "unsafely"),
            ("os.system", "os.system(x)", "osXsystem"),
            ("a[0]", "a[0]", "a0"),
            ("if x  is None", "if x is None", "if x is not None"),
            ("(", "f(", "f"),
            ("$HOME", "$HOME", "HOME"),
        ] {
            assert!(matches(wanted, found), "{wanted} {found}");
            assert!(!matches(wanted, other), "{wanted} {other}");
        }
    }

    #[test]
    fn what_looks_like_a_regular_expression_is_one() {
        for (wanted, found, other) in [
            (r"\.unwrap\(\)", "x.unwrap()", "x.expect()"),
            ("TODO|FIXME", "// FIXME", "// done"),
            ("(todo!|unimplemented!)", "todo!()", "to do"),
            (r"print\s*\(", "print (x)", "printed"),
            ("^import os", "x\nimport os", "x import os"),
            (r"open\(.*mode", "open(f, mode", "open(f"),
        ] {
            assert!(matches(wanted, found), "{wanted} {found}");
            assert!(!matches(wanted, other), "{wanted} {other}");
        }
    }

    #[test]
    fn what_is_no_valid_regular_expression_or_matches_everything_is_taken_literally() {
        assert!(matches(r"f(\s", r"f(\s"));
        assert!(!matches(".*", "anything"));
        assert!(matches("foo.*(", "foo.*("));
        assert!(pattern("  ").is_none());
    }
}
