//! Functions and methods whose whole body is `pass`, `...`, its documentation or `raise NotImplementedError`, or that only
//! give a constant back beside a comment that says what is still to do. Methods that others are to write are left alone:
//! those of base classes and protocols, and those that let an inherited one do nothing.

use super::lexer::{Line, lines};

/// The stubs of a source text, by the function's name.
pub(crate) fn find(text: &str) -> Vec<String> {
    let lines = lines(text);
    let source: Vec<&str> = text.lines().collect();
    let classes = classes(&lines);
    let mut stubs = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(name) = defined(line, "def") else { continue };
        let end = end_of(&lines, at);
        let body = body(&lines[at..end]);
        let last = lines.get(end).map_or(source.len(), |next| next.number as usize - 1);
        let to_do = || source[line.number as usize - 1..last].iter().any(|line| says_to_do(line));
        let class = classes.iter().rfind(|class| class.start < at && at < class.end);
        let inside = lines[..at].iter().rfind(|outer| outer.indent < line.indent);
        let class = class.filter(|class| inside.is_some_and(|outer| outer.number == class.number));
        let is_stub = match body[..] {
            [] => !is_idle_by_design(name, class, &classes),
            [only] if is_pass(only) => !is_idle_by_design(name, class, &classes),
            [only] if raises_not_implemented(only) => !is_for_others(name, class, &classes),
            [only] if returns_constant(only) => to_do(),
            _ => false,
        };
        // A function inside another one is handed to somebody, who may well want nothing of it.
        let is_reached = line.indent == 0 || class.is_some();
        if is_stub && is_reached && !is_declared(&lines, at) {
            stubs.push(match class {
                Some(class) => format!("the body of `{}.{name}`", class.name),
                None => format!("the body of `{name}`"),
            });
        }
    }
    stubs
}

/// A class, from its own line to the one after its last.
struct Class<'a> {
    name: &'a str,
    bases: Vec<&'a str>,
    number: u32,
    start: usize,
    end: usize,
    methods: Vec<&'a str>,
}

/// What a line defines with this word.
fn defined<'a>(line: &Line<'a>, word: &str) -> Option<&'a str> {
    let at = usize::from(line.token(0) == "async");
    (line.token(at) == word).then(|| line.tokens.get(at + 1).copied()).flatten()
}

fn classes<'a>(lines: &[Line<'a>]) -> Vec<Class<'a>> {
    let found = lines.iter().enumerate().filter_map(|(at, line)| {
        let name = defined(line, "class")?;
        let end = end_of(lines, at);
        let is_name = |token: &&&str| token.starts_with(|c: char| c == '_' || c.is_alphabetic());
        let bases = line.tokens.iter().skip(2).filter(is_name).copied().collect();
        let methods = lines[at..end].iter().filter_map(|line| defined(line, "def")).collect();
        Some(Class { name, bases, number: line.number, start: at, end, methods })
    });
    found.collect()
}

/// One past the last line of the block that begins here.
fn end_of(lines: &[Line<'_>], at: usize) -> usize {
    let deeper = |line: &&Line<'_>| line.indent > lines[at].indent;
    at + 1 + lines[at + 1..].iter().take_while(deeper).count()
}

/// The statements of a function, without its documentation.
fn body<'l, 'a>(lines: &'l [Line<'a>]) -> Vec<&'l [&'a str]> {
    let mut depth = 0usize;
    let colon = lines[0].tokens.iter().position(|token| {
        match *token {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && *token == ":"
    });
    let beside = colon.map_or(&[][..], |at| &lines[0].tokens[at + 1..]);
    let below = lines[1..].iter().map(|line| &line.tokens[..]);
    let is_text = |tokens: &&[&str]| matches!(tokens, [only] if only.ends_with(['"', '\'']));
    [beside].into_iter().chain(below).filter(|tokens| !tokens.is_empty() && !is_text(tokens)).collect()
}

fn is_pass(tokens: &[&str]) -> bool {
    matches!(tokens, ["pass"] | [".", ".", "."])
}

fn raises_not_implemented(tokens: &[&str]) -> bool {
    matches!(tokens, ["raise", "NotImplementedError", ..])
}

fn returns_constant(tokens: &[&str]) -> bool {
    let constant = |token: &str| {
        ["None", "True", "False"].contains(&token)
            || token.starts_with(|c: char| c.is_ascii_digit())
            || token.ends_with(['"', '\''])
    };
    match tokens {
        ["return"] | ["return", "[", "]"] | ["return", "{", "}"] | ["return", "(", ")"] => true,
        ["return", only] => constant(only),
        _ => false,
    }
}

fn says_to_do(line: &str) -> bool {
    let comment = line.split_once('#').map_or("", |(_, comment)| comment);
    ["TODO", "FIXME", "not implemented", "not yet implemented"].iter().any(|words| comment.contains(words))
}

/// Whether a decorator says that this only declares something, or hands it to something that gives it a meaning. One
/// that only says how it is called does not.
fn is_declared(lines: &[Line<'_>], at: usize) -> bool {
    let decorators = lines[..at].iter().rev().take_while(|line| line.token(0) == "@");
    let only_how = |line: &Line<'_>| {
        let last = line.tokens.last().copied().unwrap_or_default();
        ["property", "staticmethod", "classmethod", "cached_property", "setter"].contains(&last)
    };
    decorators.into_iter().any(|line| !only_how(line))
}

/// Whether a function's name, or its class, says that to do nothing is what it is for.
fn is_idle_by_design(name: &str, class: Option<&Class<'_>>, classes: &[Class<'_>]) -> bool {
    let Some(class) = class else { return does_nothing(name) };
    let special = name.starts_with("__") && name.ends_with("__");
    let lets_be = class.bases.iter().any(|base| match classes.iter().find(|other| other.name == *base) {
        Some(known) => known.methods.contains(&name),
        None => *base != "object",
    });
    let named = ["Null", "Noop", "NoOp", "Dummy", "Silent", "Empty"];
    let idle_class = named.iter().any(|word| class.name.contains(word));
    special || lets_be || idle_class || does_nothing(name) || is_for_others(name, Some(class), classes)
}

/// Whether a method is for subclasses to write.
fn is_for_others(name: &str, class: Option<&Class<'_>>, classes: &[Class<'_>]) -> bool {
    let Some(class) = class else { return false };
    let abstracted = class.bases.iter().any(|base| ["ABC", "ABCMeta", "Protocol"].contains(base));
    let words = ["Base", "Abstract", "Interface", "Protocol", "Mixin"];
    let named = words.iter().any(|word| class.name.starts_with(word) || class.name.ends_with(word));
    let overridden = |other: &Class<'_>| other.bases.contains(&class.name) && other.methods.contains(&name);
    abstracted || named || classes.iter().any(overridden)
}

/// Whether a function's name says that to do nothing is what it is for: a default for a callback.
fn does_nothing(name: &str) -> bool {
    let name = name.trim_matches('_').to_lowercase();
    let whole = ["noop", "no_op", "do_nothing", "nothing", "ignore", "discard"];
    whole.contains(&name.as_str())
        || ["null_", "noop_"].iter().any(|start| name.starts_with(start))
        || ["_noop", "_no_op"].iter().any(|end| name.ends_with(end))
}
