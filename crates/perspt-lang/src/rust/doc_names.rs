//! Names of documentation tests: per item, without line numbers, so that a line added above keeps them.

use std::collections::BTreeMap;

use perspt_core::reading::TestName;

/// The full names of the documentation tests of one file.
pub(crate) type InFile<'a> = (BTreeMap<&'a str, TestName>, &'a str);

/// Full names by file. `src/area.rs - area::of (line 5)` becomes `doc::src::area::of`: an item has its path wherever its
/// module's file lies. Where it has several examples, the later ones are numbered.
pub(crate) fn full<'a>(announced: &[&'a str]) -> Vec<InFile<'a>> {
    let mut parsed: Vec<(&str, &str, u64, &'a str)> = announced
        .iter()
        .map(|&name| {
            let (before, line) = match name.strip_suffix(')').and_then(|rest| rest.rsplit_once(" (line ")) {
                Some((before, line)) => (before, line.parse().unwrap_or(0)),
                None => (name, 0),
            };
            let (file, item) = before.split_once(" - ").unwrap_or((before.trim_end_matches(" -"), ""));
            (file, item.trim(), line, name)
        })
        .collect();
    parsed.sort();
    let mut files: Vec<InFile<'a>> = Vec::new();
    let mut seen: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for (file, item, _, name) in parsed {
        let of = if item.is_empty() { file } else { sources_of(file) };
        let count = seen.entry((of, item)).or_default();
        *count += 1;
        let mut full = if item.is_empty() { format!("doc::{of}") } else { format!("doc::{of}::{item}") };
        if *count > 1 {
            full.push_str(&format!("#{count}"));
        }
        match files.last_mut().filter(|(_, last)| *last == file) {
            Some((names, _)) => {
                names.insert(name, TestName(full));
            }
            None => files.push((BTreeMap::from([(name, TestName(full))]), file)),
        }
    }
    files
}

/// The folder of a package's sources that a file lies in; the file itself where there is no such folder.
pub(crate) fn sources_of(file: &str) -> &str {
    match file.split_once("src/") {
        Some((before, _)) if before.is_empty() || before.ends_with('/') => {
            &file[..before.len() + "src".len()]
        }
        _ => file,
    }
}
