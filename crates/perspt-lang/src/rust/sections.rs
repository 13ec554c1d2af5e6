//! The merged output of `cargo test`, cut into one section per target. Cargo writes a header before each;
//! a target that writes no newline at its end leaves the next header in the middle of a line.

use std::collections::{BTreeMap, BTreeSet};

/// Which target a section belongs to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Owner {
    /// A test program, by its file name, which carries a hash.
    Program(String),
    /// The documentation tests of a crate.
    Doc(String),
}

/// Cuts an output. Only headers of known programs and crates count, so that a test which prints another
/// cargo's output opens no section. Lines before the first header are left out.
pub(crate) fn cut(
    text: &str,
    programs: &BTreeSet<&str>,
    crates: &BTreeSet<&str>,
) -> BTreeMap<Owner, Vec<String>> {
    let mut sections: BTreeMap<Owner, Vec<String>> = BTreeMap::new();
    let mut current: Option<Owner> = None;
    for line in text.lines() {
        let (before, opened) = match header(line, programs, crates) {
            Some((at, owner)) => (&line[..at], Some(owner)),
            None => (line, None),
        };
        let lines = current.as_ref().and_then(|owner| sections.get_mut(owner));
        if let Some(lines) = lines.filter(|_| opened.is_none() || !before.is_empty()) {
            lines.push(before.to_owned());
        }
        if let Some(owner) = opened {
            sections.entry(owner.clone()).or_default();
            current = Some(owner);
        }
    }
    sections
}

/// A header in a line, and where it starts.
fn header(line: &str, programs: &BTreeSet<&str>, crates: &BTreeSet<&str>) -> Option<(usize, Owner)> {
    if let Some(at) = line.rfind("     Running ") {
        let program = line[at..].strip_suffix(')')?.rsplit(['/', '(']).next()?;
        return programs.contains(program).then(|| (at, Owner::Program(program.to_owned())));
    }
    let at = line.rfind("   Doc-tests ")?;
    let name = line[at..].trim_start().strip_prefix("Doc-tests ")?;
    crates.contains(name).then(|| (at, Owner::Doc(name.to_owned())))
}

/// The names a section of a listing announces, in its own words.
pub(crate) fn announced(lines: &[String]) -> Vec<&str> {
    let names =
        lines.iter().filter_map(|line| line.strip_suffix(": test").or(line.strip_suffix(": benchmark")));
    names.filter(|name| !name.is_empty()).collect()
}
