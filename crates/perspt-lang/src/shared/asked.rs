//! What a task's words name, and whether they ask for it or forbid it.

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

/// Words a line ends with whose sentence goes on in the next one.
const GOES_ON: [&str; 10] = ["or", "and", "nor", "the", "not", "never", "touch", "change", "edit", "modify"];

/// A line this long was broken for its length.
const WRAPPED: usize = 60;

/// Stems of words that ask for another text of a test.
const CHANGES: [&str; 10] =
    ["updat", "rewrit", "chang", "adapt", "adjust", "replac", "modif", "revis", "rework", "migrat"];

/// Words for what is not to stay as it is.
const WRONG: [&str; 6] = ["wrong", "incorrect", "outdated", "obsolete", "mistaken", "stale"];

/// Words for tests and what they expect.
const TESTS: [&str; 7] = ["test", "tests", "expectation", "expectations", "assertion", "assertions", "suite"];

/// Abbreviations whose full stop ends no sentence.
const ABBREVIATIONS: [&str; 4] = ["e.g", "i.e", "etc", "incl"];

/// Whether a text names one of these words.
pub(crate) fn names(text: &str, words: &[&str]) -> bool {
    let text = text.to_lowercase();
    words.iter().any(|word| places(&text, &word.to_lowercase()).next().is_some())
}

/// Whether a task asks for one of these subjects: it names one, and no clause of it forbids one.
pub(crate) fn asks_for(task: &str, subjects: &[&str]) -> bool {
    let task = task.to_lowercase().replace('’', "'");
    let subjects: Vec<String> = subjects.iter().map(|subject| subject.to_lowercase()).collect();
    let mut asked = false;
    for clause in clauses(&task) {
        for subject in &subjects {
            for at in places(&clause, subject) {
                if forbidden(&clause[..at], &clause[at + subject.len()..]) {
                    return false;
                }
                asked = true;
            }
        }
    }
    asked
}

/// Whether a task asks for this existing test to be changed: it names the test or its file, or it speaks of
/// changing tests. To mend what fails is not to change what is expected.
pub fn asks_to_change(task: &str, test: &str, file: &str) -> bool {
    let lower = task.to_lowercase().replace('’', "'");
    asks_for(task, &[test, file]) || clauses(&lower).iter().any(|clause| changes_tests(clause))
}

/// Whether a clause asks for another text of tests, or says that they are wrong.
fn changes_tests(clause: &str) -> bool {
    let words: Vec<&str> =
        clause.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let changing = |word: &str| CHANGES.iter().any(|stem| word.starts_with(stem));
    let named = words.iter().enumerate().filter(|(_, word)| changing(word)).any(|(at, _)| {
        // A few words may stand between: `update all the outdated tests`.
        words.iter().skip(at + 1).take(4).any(|word| TESTS.contains(word))
    });
    let wrong = words.iter().enumerate().filter(|(_, word)| TESTS.contains(word)).any(|(at, _)| {
        let said: Vec<&str> = words.iter().skip(at + 1).take(4).copied().collect();
        let of_it = ["is", "are", "expects", "expect"].contains(&said.first().copied().unwrap_or_default());
        of_it && said.iter().any(|word| WRONG.contains(word))
    });
    // What is said of the last such word tells whether it is asked for.
    let places = TESTS.iter().flat_map(|word| places(clause, word));
    (named || wrong) && places.max().is_some_and(|at| !forbidden(&clause[..at], &clause[at..]))
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
fn forbidden(before: &str, after: &str) -> bool {
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

/// The clauses of a text. Points of a list are read with the line that opens the list.
fn clauses(text: &str) -> Vec<String> {
    let mut clauses = Vec::new();
    let (mut open, mut heading) = (String::new(), String::new());
    for line in text.lines().map(str::trim) {
        let point =
            line.trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix(['-', '*', '•', '.', ')']);
        match point.filter(|rest| rest.starts_with(' ')) {
            Some(point) => {
                let above = std::mem::take(&mut open);
                if above.ends_with(':') {
                    heading.clone_from(&above);
                }
                push_parts(&above, &mut clauses);
                push_parts(&format!("{heading} {point}"), &mut clauses);
            }
            None if line.is_empty() && open.ends_with(':') => {}
            None => {
                if !goes_on(&open) || line.is_empty() {
                    push_parts(&std::mem::take(&mut open), &mut clauses);
                }
                open.push(' ');
                open.push_str(line);
                heading.clear();
            }
        }
    }
    push_parts(&open, &mut clauses);
    clauses
}

/// Whether the sentence that a line ends with goes on in the next line.
fn goes_on(line: &str) -> bool {
    let last = line.split_whitespace().next_back().unwrap_or("");
    let ended = line.ends_with(['.', ';', '!', '?']);
    line.ends_with([',', ':']) || GOES_ON.contains(&last) || (line.len() >= WRAPPED && !ended)
}

/// Cuts at the ends of sentences and before `but` and `and then`. A dot inside a word is a file's.
fn push_parts(text: &str, clauses: &mut Vec<String>) {
    let mut part = String::new();
    for word in text.split_whitespace() {
        let then = word == "then" && part.ends_with(" and");
        if word == "but" || then {
            clauses.push(std::mem::take(&mut part));
        }
        part.push_str(if part.is_empty() { "" } else { " " });
        part.push_str(word);
        let stops = word.trim_end_matches(['"', '\'', '`', ')']);
        let abbreviated = ABBREVIATIONS.iter().any(|short| stops.trim_end_matches('.').ends_with(short));
        if stops.ends_with([';', '!', '?']) || (stops.ends_with('.') && !abbreviated) {
            clauses.push(std::mem::take(&mut part));
        }
    }
    clauses.push(part);
}
