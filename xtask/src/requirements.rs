//! The requirements map: every id has a line that says what shows it, and every test it names passed.

use std::collections::{BTreeMap, BTreeSet};

use crate::kept::{Kept, Look};
use crate::place;
use crate::process::{Failed, at};
use crate::table::{quoted, rows};
use crate::testrun;

/// `cargo xtask requirements [FILE]`.
pub fn by_hand(words: &[&str]) -> Result<(), Failed> {
    let (_, page) = pages()?;
    let named = rows(&page);
    let packages: BTreeSet<&str> = named
        .iter()
        .filter_map(|row| row.get(2))
        .flat_map(|cell| quoted(cell))
        .filter(|name| is_test(name))
        .filter_map(|name| Some(name.split_once("::")?.0))
        .collect();
    let packages: Vec<&str> = packages.into_iter().collect();
    check(&testrun::kept_or_run(words.first().copied(), &packages)?)
}

/// Holds the map against its ids and a test run.
pub fn check(kept: &Kept) -> Result<(), Failed> {
    let (ids, page) = pages()?;
    let (counts, faults) = faults(&ids, &page, kept);
    faults.iter().for_each(|fault| println!("fault: {fault}"));
    let counts: Vec<String> = counts.iter().map(|(state, count)| format!("{count} {state}")).collect();
    println!("requirements: {} of {} ids", counts.join(", "), ids.lines().count());
    if faults.is_empty() { Ok(()) } else { Err(Failed(format!("{} faults in the map", faults.len()))) }
}

fn pages() -> Result<(String, String), Failed> {
    let docs = place::root()?.join("docs");
    let read = |name: &str| {
        let path = docs.join(name);
        std::fs::read_to_string(&path).map_err(at(&path))
    };
    Ok((read("requirements-ids.txt")?, read("requirements.md")?))
}

/// A test is named as `package::path`; anything else in backticks is a command or a place.
fn is_test(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ':');
    name.contains("::") && name.chars().all(plain)
}

fn faults(ids: &str, page: &str, kept: &Kept) -> (BTreeMap<&'static str, usize>, Vec<String>) {
    let mut faults = Vec::new();
    let mut counts = BTreeMap::new();
    let mut seen = BTreeSet::new();
    let wanted: BTreeSet<&str> = ids.lines().map(str::trim).filter(|id| !id.is_empty()).collect();
    let rows = rows(page);
    for row in &rows {
        let [id, state, shown_by] = row.as_slice() else {
            faults.push(format!("a row must have three cells: {row:?}"));
            continue;
        };
        if !seen.insert(id.as_str()) {
            faults.push(format!("{id} has two lines"));
        }
        if !wanted.contains(id.as_str()) {
            faults.push(format!("{id} is not an id"));
        }
        let state_word = match state.as_str() {
            "shown" => "shown",
            "open" => "open",
            text if text.starts_with("part: ") => "part",
            other => {
                faults.push(format!("{id}: `{other}` is neither `shown`, `part: …` nor `open`"));
                continue;
            }
        };
        *counts.entry(state_word).or_insert(0) += 1;
        let names = quoted(shown_by);
        match (state_word, names.is_empty()) {
            ("shown", true) => faults.push(format!("{id} is called shown and names nothing that shows it")),
            ("open", false) => faults.push(format!("{id} is called open and names something that shows it")),
            _ => {}
        }
        for name in names.into_iter().filter(|name| is_test(name)) {
            match kept.look(name) {
                Look::Passed => {}
                Look::Bad(why) => faults.push(format!("{id}: {name}: {why}")),
                Look::Absent => faults.push(format!("{id}: {name}: no such test was run")),
            }
        }
    }
    faults.extend(wanted.difference(&seen).map(|id| format!("{id} has no line")));
    (counts, faults)
}

#[cfg(test)]
mod tests {
    use super::faults;
    use crate::kept::Kept;

    const IDS: &str = "A-1\nA-2\nA-3\n";
    const RUN: &str = "\
    Finished
     Running tests/it/main.rs (target/debug/deps/it-2)
     Package p
test holds ... ok
test slow ... ignored
test result: ok. 1 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out
";

    fn of(rows: &str) -> Vec<String> {
        faults(IDS, &format!("| id | state | shown by |\n|---|---|---|\n{rows}"), &Kept::of(RUN)).1
    }

    #[test]
    fn a_map_with_every_id_and_passing_tests_is_clean() {
        let rows =
            "| A-1 | shown | `p::holds` |\n| A-2 | part: a; not b | `cargo xtask ci` |\n| A-3 | open | |\n";
        assert_eq!(of(rows), Vec::<String>::new());
    }

    #[test]
    fn every_way_to_be_wrong_is_named() {
        let good = "| A-1 | shown | `p::holds` |\n| A-2 | open | |\n";
        for (row, fault) in [
            ("", "A-3 has no line"),
            ("| A-3 | open | |\n| A-3 | open | |", "A-3 has two lines"),
            ("| A-3 | open | |\n| B-1 | open | |", "B-1 is not an id"),
            ("| A-3 | done | |", "A-3: `done` is neither `shown`, `part: …` nor `open`"),
            ("| A-3 | shown | soon |", "A-3 is called shown and names nothing that shows it"),
            ("| A-3 | open | `p::holds` |", "A-3 is called open and names something that shows it"),
            ("| A-3 | shown | `p::slow` |", "A-3: p::slow: it is ignored"),
            ("| A-3 | shown | `p::gone` |", "A-3: p::gone: no such test was run"),
            ("| A-3 | shown |", "a row must have three cells"),
        ] {
            let found = of(&format!("{good}{row}\n"));
            assert!(found.iter().any(|found| found.starts_with(fault)), "{row}: {found:?}");
        }
    }
}
