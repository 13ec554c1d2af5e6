//! What kind of work a task is, by the verbs that ask for it: to make something wrong right, with a test that shows it, or
//! only to give something another name.

use super::about::{ADDING, ASKING, FIXING, Word, words_in};
use super::asked::names;
use super::clauses::clauses;
use super::object::among;

/// Words that end what a verb has for its object.
const ENDS: &str = "with and so because since when which that";

/// Whether a task asks for something to be mended that is no test. What is told before may be a test: `test_add is slow.
/// Fix it.`
pub fn mends(task: &str) -> bool {
    let of_test = |word: &Word<'_>| word.bare.contains("test");
    let mut told = false;
    for clause in clauses(task) {
        let words = words_in(&clause);
        for at in 0..words.len() {
            let object = words[at + 1..].iter().take_while(|word| !asks(word) && !among(ENDS, &word.bare));
            let is_fix = words[at].leads && among(FIXING, &words[at].bare);
            if is_fix && !told && !object.into_iter().any(of_test) {
                return true;
            }
            told |= of_test(&words[at]);
        }
    }
    false
}

/// Whether a task that mends something asks for a new test that shows it.
pub fn adds_regression_test(task: &str) -> bool {
    let is_test = |word: &Word<'_>| ["test", "tests"].contains(&word.bare.as_str());
    let wanted = |clause: &String| {
        let words = words_in(clause);
        let Some(at) = words.windows(2).position(|pair| pair[0].bare == "regression" && is_test(&pair[1]))
        else {
            return false;
        };
        let verb = words[..at].iter().rfind(|word| asks(word));
        let beside = words[..at].iter().rfind(|word| !among("a an one some new the", &word.bare));
        verb.is_some_and(|verb| among(ADDING, &verb.bare))
            || beside.is_some_and(|word| among("with plus including", &word.bare))
    };
    mends(task) && clauses(task).iter().any(wanted)
}

/// Verbs of a task that gives names, and those by which it says what is to follow them.
const NAMING: &str = "rename move";
const FOLLOWING: &str = "rename move use update adapt adjust run";

/// Whether a task only gives other names, so that every test has the same values in it afterwards.
pub fn only_renames(task: &str) -> bool {
    let clauses = clauses(task);
    let words = clauses.iter().flat_map(|clause| words_in(clause)).filter(|word| word.leads);
    let is_verb = |verbs: &str, word: &Word<'_>| among(verbs, &word.bare);
    let verbs: Vec<Word<'_>> = words.filter(|word| asks(word) || is_verb(FOLLOWING, word)).collect();
    verbs.iter().any(|verb| is_verb(NAMING, verb)) && verbs.iter().all(|verb| is_verb(FOLLOWING, verb))
}

/// Whether the tokens of a text are those of before but for names, and the task speaks of both names of each.
pub(crate) fn renamed_as_asked(task: &str, before: &[&str], after: &[&str]) -> bool {
    let named = |token: &str| names(task, &[token]);
    let same = |(old, new): (&&str, &&str)| old == new || (named(old) && named(new));
    only_renames(task) && before.len() == after.len() && before.iter().zip(after).all(same)
}

/// Whether a word asks for something.
fn asks(word: &Word<'_>) -> bool {
    word.leads && [ASKING, FIXING, ADDING].iter().any(|verbs| among(verbs, &word.bare))
}

#[cfg(test)]
mod tests {
    use super::{adds_regression_test, mends, only_renames};

    #[test]
    fn a_task_may_only_give_names() {
        for task in ["rename mul to times", "Move mul to calc.py and update the tests", "please rename mul"] {
            assert!(only_renames(task), "{task}");
        }
        for task in ["rename mul to times and let it raise", "add times", "rename mul. Fix add."] {
            assert!(!only_renames(task), "{task}");
        }
    }

    #[test]
    fn a_task_mends_what_is_no_test() {
        for task in
            ["fix total", "total skips the first price. Fix it", "please repair the parser and run the tests"]
        {
            assert!(mends(task), "{task}");
        }
        for task in [
            "fix the tests of total",
            "add a function fix",
            "refactor total",
            "fix a typo in test_total",
            "test_add is slow. Fix it.",
            "fix the warning in conftest.py",
        ] {
            assert!(!mends(task), "{task}");
        }
    }

    #[test]
    fn a_mend_may_be_wanted_with_its_test() {
        for task in [
            "fix total and add a regression test",
            "total skips zeros. Fix it, and write regression tests for it",
            "repair total, with a regression test",
        ] {
            assert!(adds_regression_test(task), "{task}");
        }
        for task in [
            "add regression tests for total",
            "fix total and run the regression tests",
            "fix total; no regression test is needed",
            "fix total so that the regression tests pass",
        ] {
            assert!(!adds_regression_test(task), "{task}");
        }
    }
}
