//! Findings of compilers in a text, by the forms that most of them share: `file:line:column: error: message`, the same
//! without a column, and rustc's two lines.

use perspt_core::path::RelPath;
use perspt_core::residual::{Class, Component, Residual};

use crate::plugin::ReadContext;
use crate::shared::report::{in_tree, place};

/// The most findings that are taken from one output.
const FINDINGS: usize = 20;

/// The errors that a text names with a file of the tree.
pub(super) fn errors(text: &str, tool: &str, context: &ReadContext<'_>) -> Vec<Residual> {
    let mut found: Vec<Residual> = Vec::new();
    // rustc says what first, and then where.
    let mut said: Option<&str> = None;
    for line in text.lines().map(str::trim) {
        let spot = match line.strip_prefix("--> ").zip(said.take()) {
            Some((spot, message)) => spotted(spot).map(|spot| (spot, message)),
            None => of_one_line(line),
        };
        said = line.starts_with("error").then(|| line.split_once(": ").map(|(_, message)| message)).flatten();
        let Some(((file, at, column), message)) = spot else { continue };
        let Some(file) = find(file, context) else { continue };
        let mut residual = Residual::error(Component::Syn, Class::CompileError, tool, message);
        residual.place = place(at, column);
        let residual = residual.in_file(Some(file)).with_evidence(line);
        if !found.contains(&residual) {
            found.push(residual);
        }
    }
    found.truncate(FINDINGS);
    found
}

type Spot<'a> = (&'a str, u64, u64);

/// `file:line:column: error: message`.
fn of_one_line(line: &str) -> Option<(Spot<'_>, &str)> {
    let (at, message) = ["fatal error: ", "error: ", "Error: "].iter().find_map(|word| {
        let at = line.find(&format!(": {word}"))?;
        Some((at, &line[at + 2 + word.len()..]))
    })?;
    Some((spotted(&line[..at])?, message.trim()))
}

/// `file:line` or `file:line:column`.
fn spotted(text: &str) -> Option<Spot<'_>> {
    let (before, last) = text.rsplit_once(':')?;
    let last = last.trim().parse().ok()?;
    match before.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse().ok()?))) {
        Some((file, line)) => Some((file, line, last)),
        None => Some((before, last, 0)),
    }
}

/// The first place in a text that names a file of the tree.
pub(super) fn first(text: &str, context: &ReadContext<'_>) -> Option<(RelPath, u64)> {
    let words = text.split(|c: char| c.is_whitespace() || "()[]'\"`,".contains(c));
    let spots = words.filter_map(|word| spotted(word.trim_end_matches(':')));
    spots.filter_map(|(file, line, _)| Some((find(file, context)?, line))).next()
}

/// The file of the tree that a tool means: as it stands, or the only one that ends like it. A command may have changed
/// its folder before it printed the name.
pub(super) fn find(printed: &str, context: &ReadContext<'_>) -> Option<RelPath> {
    let entries = &context.files.tree().entries;
    let printed = printed.trim_start_matches("./").trim_start_matches("../");
    let as_it_stands = in_tree(context, printed).into_iter().chain(RelPath::parse(printed));
    if let Some(path) = as_it_stands.into_iter().find(|path| entries.contains_key(path)) {
        return Some(path);
    }
    let end = format!("/{printed}");
    let mut like = entries.keys().filter(|path| !printed.starts_with('/') && path.as_str().ends_with(&end));
    like.next().filter(|_| like.next().is_none()).cloned()
}
