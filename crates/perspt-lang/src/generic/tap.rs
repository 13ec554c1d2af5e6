//! Reports in the form of the Test Anything Protocol, versions 12 to 14. A run may print several, one a test program.

use perspt_core::reading::TestEnd;

use super::report::{OneTest, Report};

/// The most text that is kept below a failing test.
const TEXT_CAP: usize = 4000;

/// What a text holds of such reports; `None` where there is none in it.
pub(super) fn parse(text: &str) -> Option<Report> {
    let mut reader = Tap::default();
    for line in text.lines() {
        if reader.bailed {
            break;
        }
        reader.line(line);
    }
    reader.seen.then(|| reader.end())
}

/// One level of subtests, or the top.
#[derive(Default)]
struct Level {
    /// How many tests are announced.
    plan: Option<u64>,
    /// How many there were.
    points: u64,
    /// Whether anything of a report was there.
    open: bool,
    tests: Vec<OneTest>,
}

#[derive(Default)]
struct Tap {
    /// The top, and the subtests that are open below it.
    levels: Vec<Level>,
    report: Report,
    seen: bool,
    bailed: bool,
    /// The level whose last test failed: the lines below it say why.
    failing: Option<usize>,
}

/// A line that belongs to a report.
enum Line<'a> {
    Version,
    Plan(u64),
    Point { passed: bool, number: Option<u64>, rest: &'a str },
    BailOut(&'a str),
}

fn read(line: &str) -> Option<Line<'_>> {
    if let Some(why) = line.strip_prefix("Bail out!") {
        return Some(Line::BailOut(why.trim()));
    }
    if let Some(version) = line.strip_prefix("TAP version ") {
        return version.trim().parse::<u32>().ok().map(|_| Line::Version);
    }
    if let Some(plan) = line.strip_prefix("1..") {
        let number = plan.split('#').next().unwrap_or(plan).trim();
        return number.parse().ok().map(Line::Plan);
    }
    let (passed, rest) = match line.strip_prefix("not ok") {
        Some(rest) => (false, rest),
        None => (true, line.strip_prefix("ok")?),
    };
    if !rest.is_empty() && !rest.starts_with(' ') {
        return None;
    }
    let rest = rest.trim();
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let number = rest[..digits].parse().ok();
    Some(Line::Point { passed, number, rest: rest[digits..].trim() })
}

impl Tap {
    fn line(&mut self, line: &str) {
        let indent = line.len() - line.trim_start_matches(' ').len();
        let depth = indent / 4;
        let known = read(line.trim()).filter(|_| indent.is_multiple_of(4) && depth <= self.levels.len());
        // Without an announcement, only a numbered result is more than a word of the log.
        let begins = |line: &Line<'_>| !matches!(line, Line::Point { number: None, .. } | Line::BailOut(_));
        match known.filter(|line| depth > 0 || self.seen || begins(line)).filter(|_| depth == 0 || self.seen)
        {
            Some(known) => self.known(depth, known),
            None => self.other(line),
        }
    }

    fn other(&mut self, line: &str) {
        let test = self.failing.and_then(|depth| self.levels.get_mut(depth)?.tests.last_mut());
        if let Some(test) = test.filter(|test| test.text.len() < TEXT_CAP) {
            test.text.push_str(line);
            test.text.push('\n');
        }
    }

    fn known(&mut self, depth: usize, line: Line<'_>) {
        self.seen = true;
        self.failing = None;
        match line {
            Line::BailOut(why) => {
                self.bailed = true;
                self.report.faults.push(format!("the run bailed out: {why}"));
            }
            Line::Version => self.begin(depth),
            Line::Plan(count) => {
                if self.level(depth).plan.is_some() {
                    self.begin(depth);
                }
                self.level(depth).plan = Some(count);
            }
            Line::Point { passed, number, rest } => {
                let level = self.level(depth);
                let restarts = number == Some(1) && level.points > 0;
                let is_full = level.plan.is_some_and(|plan| level.points >= plan) && number == Some(1);
                if restarts || is_full {
                    self.begin(depth);
                }
                self.point(depth, passed, number, rest);
            }
        }
    }

    /// The level at a depth; those above it that are missing have announced nothing.
    fn level(&mut self, depth: usize) -> &mut Level {
        while self.levels.len() <= depth {
            self.levels.push(Level::default());
        }
        let level = &mut self.levels[depth];
        level.open = true;
        level
    }

    /// Another report begins where one may have been.
    fn begin(&mut self, depth: usize) {
        let tests = self.close(depth);
        match depth {
            0 => self.report.tests.extend(tests),
            // Two in a row below one test are both of that test.
            _ => self.level(depth).tests = tests,
        }
        self.level(depth);
    }

    fn point(&mut self, depth: usize, passed: bool, number: Option<u64>, rest: &str) {
        let below = self.close(depth + 1);
        let level = self.level(depth);
        level.points += 1;
        let (name, directive) = described(rest);
        let number = number.unwrap_or(level.points);
        let name = if name.is_empty() { format!("test {number}") } else { name };
        let word = directive.split_whitespace().next().unwrap_or_default().to_lowercase();
        let end = match (passed, word.as_str()) {
            (_, word) if word.starts_with("skip") => TestEnd::Skipped,
            // Expected to fail, and it did.
            (false, "todo") => TestEnd::Skipped,
            (true, _) => TestEnd::Passed,
            (false, _) => TestEnd::Failed,
        };
        for mut test in below {
            test.name = format!("{name}::{}", test.name);
            level.tests.push(test);
        }
        level.tests.push(OneTest { name, end, ..OneTest::default() });
        self.failing = (end == TestEnd::Failed).then_some(depth);
    }

    /// Takes the tests of a level and of all below it, and looks whether all that was announced was there.
    fn close(&mut self, depth: usize) -> Vec<OneTest> {
        let mut tests = Vec::new();
        for level in self.levels.drain(depth.min(self.levels.len())..).filter(|level| level.open) {
            let fault = match level.plan {
                Some(plan) if plan == level.points => None,
                Some(plan) => Some(format!("{plan} tests were announced, {} have a result", level.points)),
                None => Some("the report announces no number of tests".to_owned()),
            };
            self.report.faults.extend(fault);
            tests.extend(level.tests);
        }
        tests
    }

    fn end(mut self) -> Report {
        if self.bailed {
            // What is not there is said by that alone.
            self.levels.iter_mut().for_each(|level| level.plan = Some(level.points));
        }
        let tests = self.close(0);
        self.report.tests.extend(tests);
        self.report
    }
}

/// A test's description and its directive.
fn described(rest: &str) -> (String, &str) {
    let rest = rest.strip_prefix("- ").or_else(|| rest.strip_prefix('-')).unwrap_or(rest);
    let at = rest.match_indices('#').map(|(at, _)| at).find(|at| !rest[..*at].ends_with('\\'));
    let (name, directive) = at.map_or((rest, ""), |at| (&rest[..at], rest[at + 1..].trim()));
    // A `#` that begins no directive is part of the description.
    let word = directive.to_lowercase();
    let is_directive = word.starts_with("skip") || word.split_whitespace().next() == Some("todo");
    let (name, directive) = if is_directive { (name, directive) } else { (rest, "") };
    (name.trim().trim_end_matches('{').trim().replace("\\#", "#"), directive)
}
