//! What a task's words name, and whether they ask for it or forbid it. `clauses` cuts the text, `object` reads what
//! a clause wants of the thing it names.

use super::clauses::clauses;
use super::object::{self, Kind, Place, Work};

/// Words that forbid what comes after them in their clause.
const FORBIDS_AFTER: [&str; 29] = [
    "not",
    "cannot",
    "dont",
    "never",
    "neither",
    "nor",
    "no change",
    "no changes",
    "no edit",
    "no edits",
    "avoid",
    "without",
    "except",
    "excluding",
    "keep",
    "keeping",
    "leave",
    "leaving",
    "protect",
    "preserve",
    "refrain",
    "forbidden",
    "hands off",
    "other than",
    "apart from",
    "rather than",
    "instead of",
    "stay away",
    "ignore",
];

/// Words that protect what comes before them in their clause.
const FORBIDS_BEFORE: [&str; 17] = [
    "never",
    "untouched",
    "unchanged",
    "unmodified",
    "unaltered",
    "intact",
    "alone",
    "as is",
    "as it is",
    "as they are",
    "no change",
    "no changes",
    "no edits",
    "forbidden",
    "off limits",
    "off-limits",
    "read-only",
];

/// What a negation must speak of to protect what comes before it: `build.rs does not compile` protects nothing.
const CHANGING: [&str; 13] = [
    "touch", "chang", "edit", "modif", "alter", "rewrit", "remov", "delet", "replac", "updat", "add",
    "creat", "be ",
];

/// Words for tests, and for what they expect and compare with.
const TESTS: [&str; 12] = [
    "test",
    "tests",
    "expectation",
    "expectations",
    "assertion",
    "assertions",
    "suite",
    "testcase",
    "golden",
    "goldens",
    "snapshot",
    "snapshots",
];

/// What may follow the word `test` where tests themselves are meant: a `test runner` is none.
const OF_TESTS: [&str; 22] = [
    "file",
    "files",
    "case",
    "cases",
    "suite",
    "suites",
    "function",
    "functions",
    "code",
    "expectation",
    "expectations",
    "assertion",
    "assertions",
    "value",
    "values",
    "in",
    "to",
    "for",
    "of",
    "and",
    "or",
    "so",
];

/// Whether a text names one of these words.
pub(crate) fn names(text: &str, words: &[&str]) -> bool {
    let text = text.to_lowercase();
    words.iter().any(|word| places(&text, &word.to_lowercase()).next().is_some())
}

/// Whether a task speaks of one of these subjects: it names one, and no clause of it forbids one.
pub(crate) fn speaks_of(task: &str, subjects: &[&str]) -> bool {
    let mut found = false;
    let free = every_place(task, subjects, |_| found = true);
    free && found
}

/// Whether a task asks for one of these subjects to be worked on: a clause makes one the object of a verb that
/// changes or makes it, and no clause forbids one. To name it is not enough: `it fails when conftest.py loads it`.
pub(crate) fn asks_for(task: &str, subjects: &[&str]) -> bool {
    let mut asked = false;
    let free =
        every_place(task, subjects, |place| asked |= object::is_worked_on(&place, Kind::Rule, Work::Any));
    free && asked
}

/// Whether a task asks for this existing test to be changed: the test, its file or tests as such are what a clause
/// wants changed, or what it calls wrong. To name a test is not enough, and to mend what fails is not to change what
/// is expected.
pub fn asks_to_change(task: &str, test: &str, file: &str) -> bool {
    asks_for_tests(task, test, file, Work::Any)
}

/// Whether a task asks for what this existing test demands already to be written in another way, not only for more of
/// it: `add a case to test_add` lets every line of it be.
pub fn asks_to_rewrite(task: &str, test: &str, file: &str) -> bool {
    asks_for_tests(task, test, file, Work::Rewrite)
}

fn asks_for_tests(task: &str, test: &str, file: &str, work: Work) -> bool {
    let named = named(task, test, file, work);
    let mut asked = named == Named::Asked;
    let _ = every_place(task, &TESTS, |place| {
        asked |= place.is_word() && means_tests(&place, test) && asks_about(&place, Kind::Tests, work);
    });
    named != Named::Forbidden && asked
}

/// Whether a task asks for just this existing test, or its file, to be written in another way.
pub(crate) fn asks_by_name(task: &str, test: &str, file: &str) -> bool {
    named(task, test, file, Work::Rewrite) == Named::Asked
}

/// What a task says of a test or its file by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Named {
    Asked,
    Forbidden,
    Nothing,
}

fn named(task: &str, test: &str, file: &str, work: Work) -> Named {
    let mut asked = false;
    let free = every_place(task, &[test], |place| {
        // A test may be called like a word of everyday: `the crate adds numbers wrongly`.
        let meant = !is_plain(test) || place.is_marked() || beside_test(&place);
        asked |= meant && asks_about(&place, Kind::TestName, work);
    });
    let free = every_place(task, &[file], |place| asked |= asks_about(&place, Kind::TestFile, work)) && free;
    match (free, asked) {
        (false, _) => Named::Forbidden,
        (true, true) => Named::Asked,
        (true, false) => Named::Nothing,
    }
}

fn asks_about(place: &Place<'_>, kind: Kind, work: Work) -> bool {
    object::is_worked_on(place, kind, work) || object::is_called_wrong(place)
}

/// A name without anything that a word of everyday could not have.
fn is_plain(name: &str) -> bool {
    name.chars().all(char::is_alphabetic)
}

fn beside_test(place: &Place<'_>) -> bool {
    let is_test = |word: Option<&&str>| word.is_some_and(|word| ["test", "tests"].contains(word));
    is_test(place.before().last()) || is_test(place.after().first())
}

/// Whether the word for tests at this place means them, and not something that belongs to them.
fn means_tests(place: &Place<'_>, test: &str) -> bool {
    let after = place.after();
    let next = after.first().copied().unwrap_or_default();
    let named = next.starts_with("test") || next == test.to_lowercase();
    let open = next.is_empty() || !next.chars().all(char::is_alphabetic) || named;
    !place.subject.eq("test") || open || OF_TESTS.contains(&next) || object::says_of(next)
}

/// Looks at every place where a task names one of these subjects and does not forbid it; whether none is forbidden.
fn every_place(task: &str, subjects: &[&str], mut look: impl FnMut(Place<'_>)) -> bool {
    let task = task.to_lowercase().replace('’', "'");
    let mut free = true;
    for clause in clauses(&task) {
        for subject in subjects.iter().map(|subject| subject.to_lowercase()) {
            for at in places(&clause, &subject) {
                match forbidden(&clause[..at], &clause[at + subject.len()..]) {
                    true => free = false,
                    false if is_question(&clause) => {}
                    false => look(Place { clause: &clause, at, subject: &subject }),
                }
            }
        }
    }
    free
}

/// Whether a clause only asks itself something; `could you …?` asks for it.
fn is_question(clause: &str) -> bool {
    let first = clause.split_whitespace().next().unwrap_or_default();
    let polite = ["can", "could", "would", "will", "please", "may", "might"];
    clause.trim_end().ends_with('?') && !polite.contains(&first)
}

/// Where a word stands in a text; letters, digits and underscores beside it make it part of another word.
fn places<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let part_of_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let joined = move |a, b| part_of_word(a) && part_of_word(b);
    let (first, last) = (word.chars().next(), word.chars().next_back());
    let found = text.match_indices(word).filter(move |_| !word.is_empty()).map(|(at, _)| at);
    found.filter(move |&at| {
        let (before, after) = (text[..at].chars().next_back(), text[at + word.len()..].chars().next());
        !joined(before, first) && !joined(last, after)
    })
}

/// Whether what stands before or after a subject in its clause forbids it.
pub(super) fn forbidden(before: &str, after: &str) -> bool {
    let holds = |text: &str, words: &[&str]| words.iter().any(|word| places(text, word).next().is_some());
    let all_but = before.trim_end().trim_end_matches(" the").trim_end_matches(" for").trim() == "but";
    all_but
        || before.contains("n't")
        || holds(before, &FORBIDS_AFTER)
        || holds(after, &FORBIDS_BEFORE)
        || negations(after).any(|at| CHANGING.iter().any(|stem| after[at..].contains(stem)))
}

fn negations(text: &str) -> impl Iterator<Item = usize> {
    let words = ["not", "cannot", "avoid"].into_iter().flat_map(|word| places(text, word));
    words.chain(text.match_indices("n't").map(|(at, _)| at))
}
