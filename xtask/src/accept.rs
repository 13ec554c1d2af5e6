//! The acceptance table: each sentence of the issue that can be seen from outside, and the test of the kept
//! run that shows it by driving the real program.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::kept::{Kept, Look};
use crate::place;
use crate::process::{Failed, at};
use crate::table::{quoted, rows};
use crate::testrun;

struct Line {
    sentence: String,
    tests: Vec<String>,
}

/// `cargo xtask accept [FILE]`.
pub fn by_hand(words: &[&str]) -> Result<(), Failed> {
    let lines = read()?;
    let packages: BTreeSet<&str> =
        lines.iter().flat_map(|line| &line.tests).filter_map(|test| Some(test.split_once("::")?.0)).collect();
    let packages: Vec<&str> = packages.into_iter().collect();
    check(&testrun::kept_or_run(words.first().copied(), &packages)?)
}

/// Prints one line a sentence; fails unless all are ok.
pub fn check(kept: &Kept) -> Result<(), Failed> {
    let lines = read()?;
    let (mut ok, mut bad, mut missing) = (0, 0, 0);
    for line in &lines {
        let names = line.tests.join(", ");
        match look(line, kept) {
            Look::Passed => {
                ok += 1;
                println!("ok      {} ({names})", line.sentence);
            }
            Look::Bad(why) => {
                bad += 1;
                println!("FAIL    {} ({why})", line.sentence);
            }
            Look::Absent => {
                missing += 1;
                println!("MISSING {} ({})", line.sentence, if names.is_empty() { "no test" } else { &names });
            }
        }
    }
    println!("accept: {ok} ok, {bad} FAIL, {missing} MISSING of {}", lines.len());
    if ok == lines.len() && ok > 0 {
        Ok(())
    } else {
        Err(Failed(format!("{} of {} lines are not ok", lines.len() - ok, lines.len())))
    }
}

/// A sentence holds where all its tests passed.
fn look(line: &Line, kept: &Kept) -> Look {
    let mut worst = if line.tests.is_empty() { Look::Absent } else { Look::Passed };
    for test in &line.tests {
        match kept.look(test) {
            Look::Passed => {}
            Look::Absent if worst == Look::Passed => worst = Look::Absent,
            Look::Absent => {}
            Look::Bad(why) => worst = Look::Bad(format!("{test}: {why}")),
        }
    }
    worst
}

/// Every table in `docs/accept/`, in the order of its files' names.
fn read() -> Result<Vec<Line>, Failed> {
    let folder = place::root()?.join("docs/accept");
    let mut pages: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(at(&folder))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path);
        }
    }
    pages.sort();
    let mut lines = Vec::new();
    for page in &pages {
        let text = std::fs::read_to_string(page).map_err(at(page))?;
        for row in rows(&text) {
            let [sentence, shown_by] = row.as_slice() else {
                return Err(Failed(format!("{}: a row must have two cells: {row:?}", page.display())));
            };
            let tests = quoted(shown_by).into_iter().map(str::to_owned).collect();
            lines.push(Line { sentence: sentence.clone(), tests });
        }
    }
    Ok(lines)
}
