//! Functions of a module whose whole body is `pass`, `...` or `raise NotImplementedError`. Methods are left alone:
//! base classes and protocols are written that way.

/// The stubs of a source text, by the function's name.
pub(crate) fn find(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let mut stubs = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(after) = line.strip_prefix("def ").or_else(|| line.strip_prefix("async def ")) else {
            continue;
        };
        let name: String = after.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        let overload = at > 0 && lines[at - 1].trim_start().starts_with('@');
        let body = body(&lines[at..]);
        if !overload && is_empty(&body) && !(does_nothing(&name) && is_idle(&body)) {
            stubs.push(format!("the body of `{name}`"));
        }
    }
    stubs
}

/// The statements of the function that begins these lines, without comments and documentation.
fn body<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let signature = lines.iter().position(|line| ends_signature(line)).unwrap_or(0);
    let beside = lines[signature].rsplit_once("):").or_else(|| lines[signature].rsplit_once(": "));
    let beside = beside.map(|(_, rest)| rest.trim()).filter(|rest| !rest.is_empty() && !rest.ends_with(':'));
    if let Some(statement) = beside {
        return vec![statement];
    }
    let below =
        lines[signature + 1..].iter().take_while(|line| line.is_empty() || line.starts_with([' ', '\t']));
    let mut statements = Vec::new();
    let mut quote = None;
    for line in below.map(|line| line.trim()).filter(|line| !line.is_empty()) {
        let marks = ["\"\"\"", "'''"];
        match quote {
            Some(mark) if line.contains(mark) => quote = None,
            Some(_) => {}
            None if line.starts_with('#') => {}
            None => match marks.into_iter().find(|mark| line.starts_with(mark)) {
                Some(mark) if line.len() > 3 && line[3..].contains(mark) => {}
                Some(mark) => quote = Some(mark),
                None if line.starts_with('"') || line.starts_with('\'') => {}
                None => statements.push(line),
            },
        }
    }
    statements
}

fn ends_signature(line: &str) -> bool {
    let code = line.split('#').next().unwrap_or_default().trim_end();
    code.ends_with(':') || code.contains("): ") || code.contains(") -> ") && code.contains(": ")
}

fn is_empty(statements: &[&str]) -> bool {
    is_idle(statements) || matches!(statements, [only] if only.starts_with("raise NotImplementedError"))
}

fn is_idle(statements: &[&str]) -> bool {
    matches!(statements, ["pass" | "..."])
}

/// Whether a function's name says that to do nothing is what it is for: a default for a callback.
fn does_nothing(name: &str) -> bool {
    let name = name.trim_matches('_').to_lowercase();
    let whole = ["noop", "no_op", "do_nothing", "nothing", "ignore", "discard"];
    whole.contains(&name.as_str())
        || ["null_", "noop_"].iter().any(|start| name.starts_with(start))
        || ["_noop", "_no_op"].iter().any(|end| name.ends_with(end))
}
