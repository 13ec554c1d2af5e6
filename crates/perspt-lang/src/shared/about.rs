//! Whether a task is about what an existing test tests: it names something that the test names too.

use std::collections::BTreeSet;

use super::asked::{forbidden, names};
use super::clauses::clauses;
use super::object::among;

/// Words of a task that ask for something where they lead a clause: `add a function`, not `mend add`.
pub(super) const ASKING: &str = "add fix make change update remove rename write create use get set run test implement support \
    handle return raise let allow extend improve refactor replace move delete mend repair introduce give";

/// Verbs whose work changes nothing of what code does, where they lead a clause.
const KEEPING: &str = "refactor restructure reorganise reorganize optimise optimize speed simplify clean tidy extract \
    reformat document";

/// Verbs that ask for what is wrong to be right. What passes its tests is not wrong.
pub(super) const FIXING: &str = "fix mend repair correct debug solve resolve";

/// What such a verb has for its object where something else was told before.
const TOLD: [&str; 8] =
    ["it", "this", "that", "the bug", "this bug", "the issue", "the problem", "the error"];

/// Verbs that ask for something beside what is there.
pub(super) const ADDING: &str = "add implement introduce write create";

/// Beginnings of words for what code does: what stays the same where a clause says so of one of them.
const DOES: [&str; 8] =
    ["what ", "behavio", "result", "output", "semantic", "functionality", "return", "answer"];

/// Words before what is not to change.
const WITHOUT: [&str; 3] = ["without changing ", "without altering ", "without affecting "];

/// Words that say of what code does that it stays.
const SAME: [&str; 9] = [
    "unchanged",
    "as before",
    "stay the same",
    "stays the same",
    "remain the same",
    "remains the same",
    "must not change",
    "should not change",
    "same behavio",
];

/// Words before the name that a line defines.
const DEFINING: &str = "pub crate const static let mut self";

/// Words for all but what a task is about.
const ELSEWHERE: &str = "other others rest else elsewhere otherwise";

/// Words after which a verb leads.
const LEADS: &str = "and then to please also should must can could";

/// Words that say nothing of what a test is about.
const EMPTY: &str = "test tests testing assert asserts def function functions func method the and for with that this \
    into from not none true false self expected expect result results value values return returns fails fail \
    passes pass case cases should must when where code file files new all any one two use using mut let";

/// Words that begin with as many letters alike are forms of one: `multiplies` and `multiplying`.
const STEM: usize = 5;

/// Whether a task speaks of something that a test names: in its own name, or in its tokens, which `\u{1}` parts.
pub fn is_about(task: &str, name: &str, tokens: &str) -> bool {
    speaks_of(&clauses(task), &of_test(name, tokens), &|_| true)
}

/// Whether a task speaks so of something that a test names that it may do something else: not to mend it, to make it
/// faster or to add something to it, and not where what the code does is to stay the same.
pub fn is_about_behaviour(task: &str, name: &str, tokens: &str) -> bool {
    speaks_of(&of_behaviour(task), &of_test(name, tokens), &may_differ)
}

/// Whether a test came to speak of something that the task wants and that it did not speak of: a field of a value that it
/// compares as a whole.
pub fn is_about_gain(task: &str, before: &str, after: &str) -> bool {
    let words = |text: &str| -> BTreeSet<String> { words_of(text).into_iter().collect() };
    let gained: Vec<String> = words(after).difference(&words(before)).cloned().collect();
    speaks_of(&of_behaviour(task), &gained, &|_| true)
}

/// Whether every line from the first to the last in which two texts differ says what something is that the task speaks
/// of so that it may be something else: `raise MAX_RETRIES to 5` and the line `MAX_RETRIES = 3`.
pub fn is_about_each_line(task: &str, before: &str, after: &str) -> bool {
    let clauses = of_behaviour(task);
    let (before, after): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let alike = |pair: &(&&str, &&str)| pair.0 == pair.1;
    let first = before.iter().zip(&after).take_while(alike).count();
    let last = before[first..].iter().rev().zip(after[first..].iter().rev()).take_while(alike).count();
    let differing = [&before[first..before.len() - last], &after[first..after.len() - last]].concat();
    let defined = |line: &str| {
        let mut names = line.split(|c: char| c != '_' && !c.is_alphanumeric());
        names.find(|name| !name.is_empty() && !among(DEFINING, name)).map(parts).unwrap_or_default()
    };
    !differing.is_empty() && differing.iter().all(|line| speaks_of(&clauses, &defined(line), &may_differ))
}

/// The clauses of a task that may want something else of the code than it does.
fn of_behaviour(task: &str) -> Vec<String> {
    let clauses = clauses(task);
    let keeps = |clause: &String| keeps_behaviour(&clause.to_lowercase()) || mends_what_is_told(clause);
    if clauses.iter().any(keeps) {
        return Vec::new();
    }
    clauses.into_iter().filter(|clause| !makes_faster(clause)).collect()
}

/// Whether a clause asks for something to be made faster.
fn makes_faster(clause: &str) -> bool {
    let clause = clause.to_lowercase();
    clause.contains("make ") && clause.split(|c: char| !c.is_alphanumeric()).any(|word| word == "faster")
}

/// Whether a clause asks for something to be mended that is told elsewhere: `fix it`.
fn mends_what_is_told(clause: &str) -> bool {
    let phrases = FIXING.split_whitespace().flat_map(|verb| TOLD.map(|told| format!("{verb} {told}")));
    phrases.into_iter().any(|phrase| names(clause, &[&phrase]))
}

/// Whether what follows in a clause may come to do something else: the verb that governs it does not only mend, add or
/// tidy.
fn may_differ(before: &str) -> bool {
    let is_one_of = |verb: &str, lists: &[&str]| lists.iter().any(|list| among(list, verb));
    let is_verb = |word: &Word<'_>| word.leads && is_one_of(&word.bare, &[ASKING, KEEPING, FIXING, ADDING]);
    let verb = words_in(before).into_iter().rfind(is_verb);
    verb.is_none_or(|verb| !is_one_of(&verb.bare, &[KEEPING, FIXING, ADDING]))
}

/// Whether a clause says that what code does stays the same: `without changing what it returns`. What else it does may
/// stay the same where something of it changes.
fn keeps_behaviour(clause: &str) -> bool {
    let does = |text: &str| DOES.iter().any(|stem| text.contains(stem));
    let without = WITHOUT.iter().any(|lead| clause.split_once(lead).is_some_and(|(_, rest)| does(rest)));
    let stays = does(clause) && SAME.iter().any(|words| clause.contains(words));
    let elsewhere = clause.split(|c: char| !c.is_alphanumeric()).any(|word| among(ELSEWHERE, word));
    (without || stays) && !elsewhere
}

/// Whether clauses speak of one of these words, after words that `follows` takes, and not only to protect it: `… next
/// to mul, which must stay as it is`.
fn speaks_of(clauses: &[String], words: &[String], follows: &dyn Fn(&str) -> bool) -> bool {
    let shared = |a: &str, b: &str| a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let same = |a: &str, b: &str| stem(a) == stem(b) || shared(a, b) >= STEM;
    let named = |raw: &str| parts(raw).iter().any(|part| words.iter().any(|word| same(word, part)));
    clauses.iter().any(|clause| {
        subjects(clause).into_iter().filter(|(_, raw)| named(raw)).any(|(at, raw)| {
            let (before, after) = (clause[..at].to_lowercase(), clause[at + raw.len()..].to_lowercase());
            // What something else comes instead of is what is changed.
            let before = before.replace("instead of", "").replace("rather than", "");
            !forbidden(&before, &after) && follows(&before)
        })
    })
}

/// Whether a task speaks of something that a text named and does not name any more. What is new says nothing: whoever
/// wrote it knew the task.
pub fn is_about_change(task: &str, before: &str, after: &str) -> bool {
    let words = |text: &str| -> BTreeSet<String> { words_of(text).into_iter().collect() };
    let (before, after) = (words(before), words(after));
    let gone: Vec<String> = before.difference(&after).cloned().collect();
    speaks_of(&clauses(task), &gone, &|_| true)
}

/// The words of all names of a text.
fn words_of(text: &str) -> Vec<String> {
    text.split(|c: char| c != '_' && !c.is_alphanumeric()).flat_map(parts).collect()
}

/// A word without the ending of its form.
fn stem(word: &str) -> &str {
    let endings = ["ing", "es", "ed", "s"];
    let bare = endings.iter().find_map(|ending| word.strip_suffix(ending));
    bare.filter(|bare| bare.len() >= 3).unwrap_or(word)
}

/// A word of a clause.
pub(super) struct Word<'a> {
    at: usize,
    raw: &'a str,
    /// Without the marks around it, in small letters.
    pub bare: String,
    /// Whether it stands where a verb may ask for something, and is not marked as a name.
    pub leads: bool,
}

/// The words of a clause.
pub(super) fn words_in(clause: &str) -> Vec<Word<'_>> {
    let mut found = Vec::new();
    let (mut leads, mut at) = (true, 0);
    for raw in clause.split_whitespace() {
        at += clause[at..].find(raw).unwrap_or_default();
        let bare = raw.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        let next_leads = among(LEADS, &bare) || raw.ends_with([',', ':']);
        found.push(Word { at, raw, bare, leads: leads && !raw.contains(['`', '(', '"']) });
        leads = next_leads;
        at += raw.len();
    }
    found
}

/// The words of a clause with their places, those aside that ask for something.
fn subjects(clause: &str) -> Vec<(usize, &str)> {
    let asks = |word: &Word<'_>| word.leads && among(ASKING, &word.bare);
    words_in(clause).into_iter().filter(|word| !asks(word)).map(|word| (word.at, word.raw)).collect()
}

/// The words of a test, those aside that only say where something comes from: `calc` in `calc.mul(2, 3)`. A type says
/// what it is, `Error::Bad`, and so does a name of several words: `json.loads(to_json(x))` is about JSON.
fn of_test(name: &str, tokens: &str) -> Vec<String> {
    let tokens: Vec<&str> = tokens.split(['\u{1}', '\u{2}']).collect();
    // Texts count too: they name files, fields and messages.
    let is_name = |token: &str| token.starts_with(|c: char| "_\"'".contains(c) || c.is_alphabetic());
    let is_type = |token: &str| token.starts_with(char::is_uppercase);
    let leads_on = |at: usize| matches!(tokens.get(at + 1), Some(&("." | ":"))) && !is_type(tokens[at]);
    let places = (0..tokens.len()).filter(|at| is_name(tokens[*at]));
    let (qualifiers, named): (Vec<usize>, Vec<usize>) = places.partition(|at| leads_on(*at));
    let qualifiers: Vec<String> = qualifiers.into_iter().flat_map(|at| parts(tokens[at])).collect();
    let is_compound = |token: &str| token.contains('_') && !name.ends_with(token);
    let (compound, plain): (Vec<&str>, Vec<&str>) =
        named.into_iter().map(|at| tokens[at]).partition(|token| is_compound(token));
    let plain = parts(name).into_iter().chain(plain.into_iter().flat_map(parts));
    plain.filter(|word| !qualifiers.contains(word)).chain(compound.into_iter().flat_map(parts)).collect()
}

/// The words that a name is made of: `parse_httpUrl` is parse, http, url.
fn parts(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for c in name.chars() {
        let starts = c.is_uppercase() && before.is_lowercase();
        if starts || !c.is_alphanumeric() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
        before = c;
    }
    words.retain(|word| word.len() >= 3 && !among(EMPTY, word) && !word.chars().all(|c| c.is_ascii_digit()));
    words
}

#[cfg(test)]
mod tests {
    use super::{is_about, is_about_behaviour, is_about_change, is_about_each_line, is_about_gain};

    fn tokens(text: &str) -> String {
        text.split(' ').collect::<Vec<_>>().join("\u{1}")
    }

    #[test]
    fn a_task_is_about_a_test_that_names_the_same_thing() {
        let mul = tokens("def test_mul ( ) : assert calc . mul ( 2 , 3 ) == 6");
        for task in ["mul should raise ValueError for zero", "change `mul`", "rename mul to times"] {
            assert!(is_about(task, "test_mul", &mul), "{task}");
        }
        assert!(is_about("multiplying must round", "tests::multiplies", ""));
        assert!(is_about("return 404 for missing users", "test_get_missing_user", ""));
        assert!(is_about("fix add so that it adds", "test_add", ""));
        assert!(is_about("slugs are to be joined with underscores", "test_slug", ""));
        assert!(is_about(
            "part the report by semicolons",
            "test_golden",
            &tokens("read ( \"golden/report.txt\" )")
        ));
        assert!(is_about("let parseUrl take a port", "t", &tokens("assert parse_url ( x )")));
        assert!(is_about("greet with \"Hi\" instead of \"Hello\"", "t", &tokens("== \"Hello\"")));
        assert!(is_about(
            "include a version in the JSON output",
            "t",
            &tokens("json . loads ( to_json ( x ) )")
        ));
        assert!(is_about("errors should carry the input", "t", &tokens("Err ( Error : : Bad )")));
    }

    #[test]
    fn a_task_that_lets_behaviour_be_is_about_none() {
        let of_total = |task: &str| is_about_behaviour(task, "test_total", "");
        for task in [
            "speed up total without changing what it returns",
            "please refactor total",
            "make total faster",
            "let total take an iterator; its behaviour must stay the same",
            "Optimize total. The results should not change.",
            "add a function mean, and tidy total",
            "add a parameter start to total",
            "total(\"a\") gives 1 instead of 0. Fix it and add a regression test.",
            "fix total",
        ] {
            assert!(is_about(task, "test_total", "") && !of_total(task), "{task}");
        }
        for task in [
            "total should skip zeros",
            "total should skip zeros, all other behaviour stays the same",
            "make total skip zeros",
            "total returns the wrong result for zeros",
            "refactor the loop, and then let total skip zeros",
            "fix the typo, and let total skip zeros",
            "add a function mean, and change total so that it skips zeros",
        ] {
            assert!(of_total(task), "{task}");
        }
    }

    #[test]
    fn a_task_is_about_a_change_whose_lines_name_the_same_thing() {
        let (before, after) = ("from calc import mul\nx()\n", "from calc import times\nx()\n");
        assert!(is_about_change("rename mul to times", before, after));
        assert!(!is_about_change("let x be faster in calc", before, after));
        assert!(!is_about_change("add a function times", before, after));
        assert!(is_about_change(
            "move core into geometry",
            "use pkg::core::area;\n",
            "use pkg::geometry::area;\n"
        ));
    }

    #[test]
    fn a_test_gains_what_a_task_adds() {
        let (before, after) =
            ("assert asdict(item) == {'name': 1}", "assert asdict(item) == {'name': 1, 'qty': 2}");
        assert!(is_about_gain("add a field qty to Item", before, after));
        assert!(!is_about_gain("add a field price to Item", before, after));
        assert!(!is_about_gain("add qty without changing what asdict returns", before, after));
    }

    #[test]
    fn a_task_is_about_each_line_that_names_what_it_wants_changed() {
        let task = "Raise MAX_RETRIES to 5";
        let before = "MAX_RETRIES = 3\nTIMEOUT = 10\n";
        assert!(is_about_each_line(task, before, "MAX_RETRIES = 5\nTIMEOUT = 10\n"));
        assert!(!is_about_each_line(task, before, "TIMEOUT = 10\nMAX_RETRIES = 3\n"));
        assert!(!is_about_each_line(task, before, before));
        let rust = ["pub const MAX_RETRIES: u32 = 3;\n", "pub const MAX_RETRIES: u32 = 5;\n"];
        assert!(is_about_each_line(task, rust[0], rust[1]));
        assert!(!is_about_each_line(task, "return MAX_RETRIES\n", "return MAX_RETRIES + 1\n"));
        assert!(!is_about_each_line(task, before, "MAX_RETRIES = 5\nTIMEOUT = 11\n"));
        let keeping = "rename MAX_RETRIES to RETRIES, the behaviour must not change";
        assert!(!is_about_each_line(keeping, before, "RETRIES = 3\nTIMEOUT = 10\n"));
    }

    #[test]
    fn what_asks_and_where_something_comes_from_is_no_subject() {
        let mul = tokens("def test_calc_mul ( ) : assert calc . mul ( 2 , 3 ) == 6");
        assert!(!is_about("add a function sub to calc, with tests", "test_calc_mul", &mul));
        assert!(!is_about(
            "add a function sub, and update the tests",
            "test_add",
            &tokens("assert add ( 1 ) == 1")
        ));
        assert!(!is_about("add sub next to mul, which must stay as it is", "test_mul", &mul));
        assert!(!is_about("add sub; do not touch mul", "test_mul", &mul));
        assert!(!is_about("please add sub and then run all tests", "test_add_all", ""));
    }
}
