//! How much a Python test demands, by its form: what it asserts, and what keeps it from failing.

use super::lexer::Line;
use crate::shared::touch::Strength;

/// Exceptions that a failed assertion is, or is among.
const CATCHES_ALL: [&str; 3] = ["AssertionError", "Exception", "BaseException"];

/// Names behind which an exception is expected or swallowed.
const CATCHERS: [&str; 4] = ["raises", "assertRaises", "assertRaisesRegex", "suppress"];

/// Names behind which an exception is demanded.
const RAISES: [&str; 3] = ["raises", "assertRaises", "assertRaisesRegex"];

/// Functions that compare as `==` does.
const EQUAL: [&str; 6] = ["isclose", "allclose", "array_equal", "assertIs", "assertIsNone", "equals"];

/// Words of an expression that name nothing.
const NO_NAMES: [&str; 9] = ["True", "False", "None", "and", "or", "not", "is", "in", "self"];

/// What the lines of a test demand.
pub(crate) fn of(lines: &[&Line<'_>]) -> Strength {
    let mut strength = Strength::default();
    for line in lines {
        let named = |token: &&&str| token.starts_with("assert") || ["raises", "fail"].contains(*token);
        strength.assertions += line.tokens.iter().filter(named).count();
        strength.calls += calls(&line.tokens);
        // That something is raised is as exact as that something is equal.
        let raised = line.tokens.iter().filter(|token| RAISES.contains(token)).count();
        strength.comparisons += raised;
        strength.equalities += raised;
        strength.dead += usize::from(is_dead(line));
        strength.voids += usize::from(catches_assertions(line)) + usize::from(is_dead(line));
        if asserts(line) {
            compare(&line.tokens, &mut strength);
            strength.alternatives += line.tokens.iter().filter(|token| **token == "or").count();
            strength.voids += usize::from(is_always_true(line));
        }
    }
    strength.voids += ends_early(lines) + swallowed(lines);
    strength
}

/// How often something is called that is no assertion. A definition is no call.
fn calls(tokens: &[&str]) -> usize {
    let is_name = |token: &str| token.starts_with(|c: char| c == '_' || c.is_alphabetic());
    let called = |at: &usize| {
        let defined = *at > 0 && ["def", "class"].contains(&tokens[at - 1]);
        let (name, next) = (tokens[*at], tokens.get(at + 1));
        next == Some(&"(") && is_name(name) && !name.starts_with("assert") && !defined
    };
    (0..tokens.len()).filter(called).count()
}

fn asserts(line: &Line<'_>) -> bool {
    line.tokens.iter().any(|token| token.starts_with("assert"))
}

/// Counts what an assertion compares.
fn compare(tokens: &[&str], strength: &mut Strength) {
    let mut at = 0;
    let mut loops = tokens.iter().filter(|token| **token == "for").count();
    while at < tokens.len() {
        let next = tokens.get(at + 1).copied().unwrap_or("");
        let token = tokens[at];
        let is_equal = match (token, next) {
            ("=", "=") => Some(true),
            ("!", "=") | ("<" | ">", _) => Some(false),
            ("is", _) => Some(next != "not"),
            ("in", _) if loops > 0 => {
                loops -= 1;
                None
            }
            ("in", _) => Some(false),
            _ => by_name(token),
        };
        strength.comparisons += usize::from(is_equal.is_some());
        strength.equalities += usize::from(is_equal == Some(true));
        at += if next == "=" && ["=", "!", "<", ">", ":"].contains(&token) { 2 } else { 1 };
    }
}

/// Whether a function of this name compares, and if so, whether it wants both sides equal.
fn by_name(token: &str) -> Option<bool> {
    let negated = token.contains("Not") || token.contains("not_");
    let equal = token.contains("qual") || token.ends_with("_with");
    match token.strip_prefix("assert") {
        _ if EQUAL.contains(&token) => Some(true),
        None | Some("" | "True" | "False" | "_" | "ions" | "Raises" | "RaisesRegex") => None,
        Some(_) => Some(equal && !negated),
    }
}

/// Whether an assertion holds whatever the code does.
fn is_always_true(line: &Line<'_>) -> bool {
    let tokens = &line.tokens[..];
    let Some(at) = tokens.iter().position(|token| token.starts_with("assert")) else { return false };
    let rest = &tokens[at + 1..];
    if tokens[at] != "assert" {
        let arguments = parts(rest.get(1..group_end(rest).saturating_sub(1)).unwrap_or(&[]));
        let same = matches!(arguments[..], [a, b, ..] if a == b && !a.is_empty());
        let compares = by_name(tokens[at]).is_some();
        return names_nothing(arguments.concat().as_slice()) || or_true(rest) || (compares && same);
    }
    let expression = parts(rest).first().copied().unwrap_or(&[]);
    let is_tuple = rest.first() == Some(&"(")
        && group_end(rest) == expression.len()
        && parts(&expression[1..expression.len().saturating_sub(1).max(1)]).len() > 1;
    is_tuple || names_nothing(expression) || or_true(expression) || same_sides(expression)
}

/// One past the bracket that closes the one at the start.
fn group_end(tokens: &[&str]) -> usize {
    let mut depth = 0usize;
    for (at, token) in tokens.iter().enumerate() {
        match *token {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    tokens.len()
}

/// What commas outside brackets part.
fn parts<'t, 'a>(tokens: &'t [&'a str]) -> Vec<&'t [&'a str]> {
    let (mut parts, mut start, mut at) = (Vec::new(), 0, 0);
    while at < tokens.len() {
        if tokens[at] == "," {
            parts.push(&tokens[start..at]);
            start = at + 1;
        }
        at += if tokens[at] == "," { 1 } else { group_end(&tokens[at..]) };
    }
    parts.push(&tokens[start..]);
    parts
}

/// Whether an expression is made of literals alone.
fn names_nothing(tokens: &[&str]) -> bool {
    let is_name = |token: &&&str| {
        let starts = token.starts_with(|c: char| c == '_' || c.is_alphabetic());
        starts && !token.ends_with(['"', '\'']) && !NO_NAMES.contains(*token)
    };
    !tokens.is_empty() && !tokens.iter().any(|token| is_name(&token))
}

/// `… or True`, and other constants that hold.
fn or_true(tokens: &[&str]) -> bool {
    let holds = |token: &str| {
        token == "True"
            || token.starts_with(|c: char| ('1'..='9').contains(&c))
            || (token.len() > 2 && token.ends_with(['"', '\'']))
    };
    let ends = |at: usize| tokens.get(at).is_none_or(|token| [")", ",", "or"].contains(token));
    let behind = (1..tokens.len()).any(|at| tokens[at - 1] == "or" && holds(tokens[at]) && ends(at + 1));
    behind || tokens.windows(2).any(|pair| pair == ["True", "or"])
}

/// `assert x == x`.
fn same_sides(expression: &[&str]) -> bool {
    let at = expression.windows(2).position(|pair| pair == ["=", "="]);
    at.is_some_and(|at| expression[..at] == expression[at + 2..])
}

/// `pytest.raises(AssertionError)`, `suppress(Exception)`: a failing assertion inside is no failure.
fn catches_assertions(line: &Line<'_>) -> bool {
    let tokens = &line.tokens[..];
    (0..tokens.len()).any(|at| {
        let rest = &tokens[at + 1..];
        let called = CATCHERS.contains(&tokens[at]) && rest.first() == Some(&"(");
        called && rest[..group_end(rest)].iter().any(|token| CATCHES_ALL.contains(token))
    })
}

/// A block that never runs.
fn is_dead(line: &Line<'_>) -> bool {
    let tokens = line.tokens.as_slice();
    let never = matches!(
        tokens,
        [_, "False" | "0" | "None", ":", ..] | [_, "not", "True" | "1", ":", ..] if ["if", "while", "elif"].contains(&line.token(0))
    );
    never || matches!(tokens, ["for", .., "in", "(" | "[" | "{", ")" | "]" | "}", ":"])
}

/// How often the test itself ends before an assertion of its own. What functions inside it do is theirs.
fn ends_early(lines: &[&Line<'_>]) -> usize {
    let opens = |line: &Line<'_>| line.token(usize::from(line.token(0) == "async")) == "def";
    let Some(start) = lines.iter().position(|line| opens(line)) else { return 0 };
    let body = lines[start].indent;
    let (mut inner, mut pending, mut early) = (None::<usize>, 0, 0);
    for line in &lines[start..] {
        inner = inner.filter(|indent| line.indent > *indent);
        if inner.is_none() && opens(line) && line.indent > body {
            inner = Some(line.indent);
        }
        if asserts(line) {
            early += std::mem::take(&mut pending);
        }
        let ends = |token: &&&str| ["return", "yield"].contains(*token);
        pending += line.tokens.iter().filter(ends).filter(|_| inner.is_none()).count();
    }
    early
}

/// How many `except` blocks let a failed assertion pass.
fn swallowed(lines: &[&Line<'_>]) -> usize {
    let catches = |line: &Line<'_>| {
        line.token(0) == "except"
            && (line.token(1) == ":" || line.tokens.iter().any(|token| CATCHES_ALL.contains(token)))
    };
    let fails = |line: &&Line<'_>| {
        let by = |token: &&str| token.starts_with("assert") || ["raise", "fail"].contains(token);
        line.tokens.iter().any(by)
    };
    let found = lines.iter().enumerate().filter(|(_, line)| catches(line)).filter(|(at, line)| {
        let below = lines[at + 1..].iter().take_while(|next| next.indent > line.indent);
        !fails(line) && !below.copied().any(|line| fails(&line))
    });
    found.count()
}
