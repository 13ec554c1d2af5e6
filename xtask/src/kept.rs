//! The kept output of a test run: which test of which package ended how.

use std::collections::BTreeMap;
use std::path::Path;

use crate::process::{Failed, at};

/// How a test ended; the later in this list the worse, and the worst counts where a name comes twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// It passed.
    Passed,
    /// It was not run.
    Ignored,
    /// It failed.
    Failed,
}

/// What is known of a test that a page names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Look {
    /// It ran and passed.
    Passed,
    /// It ran and failed, or was ignored, or the name fits several tests.
    Bad(String),
    /// No such test was run.
    Absent,
}

/// One test run.
#[derive(Debug, Default)]
pub struct Kept {
    tests: BTreeMap<(String, String), End>,
    /// Seconds that tests took, where the run says so.
    took: Vec<(String, f64)>,
    /// What is wrong with the output itself.
    pub faults: Vec<String>,
}

/// The line by which a kept output says whose tests follow.
pub const PACKAGE: &str = "     Package ";

struct Section {
    what: String,
    package: Option<String>,
    ends: Vec<(String, End, Option<f64>)>,
    /// A test whose end stands on a later line.
    open: Option<String>,
}

impl Kept {
    /// Reads a kept output.
    pub fn read(path: &Path) -> Result<Kept, Failed> {
        Ok(Kept::of(&String::from_utf8_lossy(&std::fs::read(path).map_err(at(path))?)))
    }

    /// Reads the text of one.
    pub fn of(text: &str) -> Kept {
        let mut kept = Kept::default();
        let mut section: Option<Section> = None;
        for line in text.lines() {
            if let Some(next) = heading(line) {
                kept.close(section.replace(next));
            } else if let (Some(package), Some(section)) = (line.strip_prefix(PACKAGE), &mut section) {
                section.package = Some(package.trim().to_owned());
            } else if let Some(rest) = line.strip_prefix("test result: ") {
                kept.sum_up(section.take(), rest);
            } else if let Some(section) = &mut section {
                section.line(line);
            }
        }
        kept.close(section);
        kept
    }

    /// A section that ended without a summary: its process died.
    fn close(&mut self, section: Option<Section>) {
        if let Some(section) = section {
            self.faults.push(format!("{} ended without a result line", section.what));
            self.add(section);
        }
    }

    /// The result line must count what the lines above it say: output of a test that looks like a result
    /// would otherwise pass for one.
    fn sum_up(&mut self, section: Option<Section>, rest: &str) {
        let Some(section) = section else {
            self.faults.push(format!("a result line that belongs to nothing: {rest}"));
            return;
        };
        let told = |word: &str| -> Option<usize> {
            let before = rest.split(word).next()?.trim_end();
            before.rsplit([' ', ';']).next()?.parse().ok()
        };
        for (word, end) in [(" passed", End::Passed), (" failed", End::Failed), (" ignored", End::Ignored)] {
            let seen = section.ends.iter().filter(|(_, found, _)| *found == end).count();
            if told(word) != Some(seen) {
                let what = &section.what;
                self.faults
                    .push(format!("{what}: {seen} tests are shown as{word}, its result line says: {rest}"));
            }
        }
        self.add(section);
    }

    fn add(&mut self, section: Section) {
        let Some(package) = section.package else {
            // A binary without tests is nobody's business.
            if !section.ends.is_empty() {
                self.faults.push(format!("nobody knows whose tests {} holds", section.what));
            }
            return;
        };
        for (name, end, took) in section.ends {
            self.took.extend(took.map(|took| (format!("{package}::{name}"), took)));
            let known = self.tests.entry((package.clone(), name)).or_insert(end);
            *known = (*known).max(end);
        }
    }

    /// How many tests ended so.
    pub fn count(&self, end: End) -> usize {
        self.tests.values().filter(|found| **found == end).count()
    }

    /// The names of the tests that ended so, with their packages.
    pub fn names(&self, end: End) -> impl Iterator<Item = String> {
        let fitting = self.tests.iter().filter(move |(_, found)| **found == end);
        fitting.map(|((package, name), _)| format!("{package}::{name}"))
    }

    /// The tests that took longest, with their seconds.
    pub fn slowest(&self, count: usize) -> Vec<(String, f64)> {
        let mut took = self.took.clone();
        took.sort_by(|one, other| other.1.total_cmp(&one.1));
        took.truncate(count);
        took
    }

    /// What became of `package::test`, where the test may be named by the end of its path.
    pub fn look(&self, name: &str) -> Look {
        let Some((package, test)) = name.split_once("::") else { return Look::Absent };
        let tail = format!("::{test}");
        let of_package = |(key, _): &(&(String, String), &End)| key.0 == package;
        let exact = self.tests.get(&(package.to_owned(), test.to_owned()));
        let mut fits = self.tests.iter().filter(of_package).filter(|(key, _)| key.1.ends_with(&tail));
        let end = match (exact, fits.next(), fits.next()) {
            (Some(end), _, _) | (None, Some((_, end)), None) => *end,
            (None, Some(_), Some(_)) => return Look::Bad("the name fits several tests".to_owned()),
            (None, None, _) => return Look::Absent,
        };
        match end {
            End::Passed => Look::Passed,
            End::Ignored => Look::Bad("it is ignored".to_owned()),
            End::Failed => Look::Bad("it failed".to_owned()),
        }
    }
}

fn heading(line: &str) -> Option<Section> {
    let bare = line.trim_start();
    let section = |what: &str, package: Option<String>| Section {
        what: what.to_owned(),
        package,
        ends: Vec::new(),
        open: None,
    };
    if line.starts_with("     Running ") {
        return Some(section(bare, None));
    }
    let crate_name = line.strip_prefix("   Doc-tests ")?;
    Some(section(bare, Some(crate_name.trim().replace('_', "-"))))
}

impl Section {
    fn line(&mut self, line: &str) {
        if let Some(rest) = line.strip_prefix("test ")
            && let Some((name, end)) = rest.split_once(" ... ")
        {
            let name = name.strip_suffix(" - should panic").unwrap_or(name).to_owned();
            match read_end(end) {
                Some((end, took)) => self.ends.push((name, end, took)),
                // With one thread the name is written first; what the test prints comes in between.
                None => self.open = Some(name),
            }
        } else if let Some((end, took)) = read_end(line)
            && let Some(name) = self.open.take()
        {
            self.ends.push((name, end, took));
        }
    }
}

/// How a test ended, and the seconds it took where they are told: `ok <0.012s>`.
fn read_end(text: &str) -> Option<(End, Option<f64>)> {
    let text = text.trim_end();
    let timed = text.strip_suffix("s>").and_then(|text| text.rsplit_once(" <"));
    let (word, took) = match timed {
        Some((word, seconds)) => (word, Some(seconds.parse().ok()?)),
        None => (text, None),
    };
    let end = match word {
        "ok" => End::Passed,
        "FAILED" => End::Failed,
        word if word == "ignored" || word.starts_with("ignored, ") => End::Ignored,
        _ => return None,
    };
    Some((end, took))
}

#[cfg(test)]
mod tests {
    use super::{End, Kept, Look};

    const OUTPUT: &str = "\
    Finished
     Running unittests src/lib.rs (target/debug/deps/perspt_a-1)
     Package perspt-a

running 2 tests
test one::holds ... ok <1.500s>
test two::holds ... FAILED

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

     Running tests/it/main.rs (target/debug/deps/it-2)
     Package perspt-b
test slow ... ignored, takes an hour
test spoken ... a line that the test printed
ok
test panics - should panic ... ok <2.250s>

test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s

   Doc-tests perspt_b
test crates/b/src/lib.rs - f (line 3) ... ok

test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
";

    #[test]
    fn every_test_is_found_with_its_package_and_its_end() {
        let kept = Kept::of(OUTPUT);
        assert_eq!(kept.faults, Vec::<String>::new());
        let counts = [End::Passed, End::Failed, End::Ignored].map(|end| kept.count(end));
        assert_eq!(counts, [4, 1, 1]);
        assert_eq!(kept.look("perspt-a::one::holds"), Look::Passed);
        assert_eq!(kept.slowest(1), [("perspt-b::panics".to_owned(), 2.25)]);
        assert_eq!(kept.slowest(9).len(), 2);
        assert_eq!(kept.look("perspt-a::two::holds"), Look::Bad("it failed".to_owned()));
        assert_eq!(kept.look("perspt-a::holds"), Look::Bad("the name fits several tests".to_owned()));
        assert_eq!(kept.look("perspt-b::slow"), Look::Bad("it is ignored".to_owned()));
        assert_eq!(kept.look("perspt-b::spoken"), Look::Passed);
        assert_eq!(kept.look("perspt-b::panics"), Look::Passed);
        assert_eq!(kept.look("perspt-b::holds"), Look::Absent);
        assert_eq!(kept.look("perspt-c::holds"), Look::Absent);
    }

    #[test]
    fn a_printed_line_that_looks_like_a_result_is_found_out() {
        let forged = OUTPUT.replace("running 2 tests", "test three ... ok");
        assert_eq!(Kept::of(&forged).faults.len(), 1);
    }

    #[test]
    fn only_a_binary_without_tests_may_be_nobodys() {
        let nobodys = "\n     Running unittests src/bin/c.rs (target/debug/deps/c-3)\n\nrunning 0 tests\n\n";
        let none =
            "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n";
        assert_eq!(Kept::of(&format!("{OUTPUT}{nobodys}{none}")).faults, Kept::of(OUTPUT).faults);
        let one = format!("test three ... ok\n\n{}", none.replace("0 passed", "1 passed"));
        assert!(!Kept::of(&format!("{OUTPUT}{nobodys}{one}")).faults.is_empty());
    }

    #[test]
    fn a_test_binary_that_died_is_a_fault() {
        let cut = OUTPUT.replace("test result: FAILED. 1 passed; 1 failed", "nothing");
        assert_eq!(Kept::of(&cut).faults.len(), 1);
        let end = OUTPUT.find("\ntest result: ok. 1 passed").unwrap();
        assert_eq!(Kept::of(&OUTPUT[..end]).faults.len(), 1);
    }
}
