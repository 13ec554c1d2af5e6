//! Whether a task's words ask for a file or forbid it, seen by what a change of that file is charged with.

use perspt_core::plan::TaskType;
use perspt_lang::plugin;

use crate::support::{Map, charged, node, touched};

/// Whether a task allows to change `conftest.py`.
fn asks_for_conftest(task: &str) -> bool {
    let base = Map::of(&[("tests/conftest.py", "x = 1\n")]);
    let candidate = base.with("tests/conftest.py", "y = 1\n");
    let python = plugin("python").unwrap();
    charged(&touched(python, &base, &candidate, &node(TaskType::UnitTest, &[]), task)).is_empty()
}

#[test]
fn a_task_that_names_a_file_to_work_on_asks_for_it() {
    for task in [
        "add a conftest.py with a fixture",
        "Tidy the conftest",
        "Fix tests/conftest.py. Do not touch lib.py.",
        "fix conftest.py without breaking the tests",
        "fix conftest.py, it does not compile",
        "do not touch lib.py, it works; fix conftest.py",
        "do not touch lib.py but fix conftest.py",
        "fix conftest.py\ndo not touch lib.py",
        "do not touch lib.py\nfix conftest.py",
        "Do:\n- fix conftest.py\n- do not touch lib.py",
    ] {
        assert!(asks_for_conftest(task), "{task}");
    }
    assert!(!asks_for_conftest("fix add") && !asks_for_conftest(""));
}

#[test]
fn a_task_that_forbids_a_file_does_not_ask_for_it() {
    for task in [
        "fix add; do not touch conftest.py",
        "fix add; don't touch conftest.py",
        "fix add; don’t touch conftest.py",
        "Never change build.rs, pytest.ini or tests/conftest.py!",
        "Fix add without changing conftest.py",
        "fix add, no changes to conftest.py",
        "avoid conftest.py",
        "Leave conftest.py alone",
        "Keep conftest.py as it is",
        "change everything except conftest.py",
        "change all files but conftest.py",
        "change all files but for the conftest.py",
        "conftest.py must not be changed",
        "conftest.py mustn't be changed",
        "conftest.py stays UNCHANGED",
        "Fix what conftest.py needs. Do not touch conftest.py.",
        "do not touch config files, e.g. conftest.py",
        "please do not touch\nconftest.py",
        "Do not touch:\n- lib.py\n- conftest.py",
        "Do not touch:\n\n1. lib.py\n2. conftest.py",
    ] {
        assert!(!asks_for_conftest(task), "{task}");
    }
}

#[test]
fn a_task_that_only_names_a_file_does_not_ask_for_it() {
    for task in [
        "fix add in calc.py (we have no conftest.py on purpose)",
        "fix add in calc.py; conftest.py is none of your business",
        "fix add in calc.py, it fails as soon as conftest.py loads it",
        "fix add, conftest.py imports it",
        "fix add so that conftest.py loads",
        "fix add and conftest.py loads again",
        "fix add for conftest.py",
        "implement add for conftest.py",
        "fix add: conftest.py shows how it is called",
        "fix the bug that conftest.py works around",
        "make conftest.py load again by fixing add",
        "if conftest.py must be changed, tell me",
    ] {
        assert!(!asks_for_conftest(task), "{task}");
    }
    for task in [
        "add a fixture to conftest.py",
        "update conftest.py",
        "create a conftest.py that sets the path",
        "put the fixture into tests/conftest.py",
        "Please update `tests/conftest.py` and pytest.ini",
        "update pytest.ini, tests/conftest.py and tox.ini",
        "Change these files:\n- calc.py\n- conftest.py",
        "make a new conftest.py",
        "write the fixture for the tests into conftest.py",
        "conftest.py needs to be updated",
        "remove the hook from conftest.py",
        "you should move the fixture to conftest.py",
        "set the path for the conftest.py in tests",
    ] {
        assert!(asks_for_conftest(task), "{task}");
    }
}

/// Whether a task allows to rewrite this test of this file.
fn asks(task: &str, test: &str) -> bool {
    perspt_lang::asks_to_change(task, test, if test == "adds" { "lib.rs" } else { "test_calc.py" })
}

#[test]
fn to_want_more_of_a_test_is_not_to_want_another_text_of_it() {
    let rewrites = |task: &str| perspt_lang::asks_to_rewrite(task, "test_add", "test_calc.py");
    for task in ["add a case for zero to test_add", "extend the tests", "the tests should be extended"] {
        assert!(asks(task, "test_add") && !rewrites(task), "{task}");
    }
    for task in [
        "rewrite the tests with parametrize",
        "add sub and update the tests",
        "test_add is wrong",
        "turn test_add into a parametrized test with more cases",
    ] {
        assert!(rewrites(task), "{task}");
    }
    for task in ["turn the tests green", "turn test_add green"] {
        assert!(!asks(task, "test_add"), "{task}");
    }
}

#[test]
fn a_task_that_wants_tests_changed_or_calls_them_wrong_asks_for_it() {
    for task in [
        "add subtracts on purpose: the expectation in tests/test_calc.py is wrong",
        "test_add is wrong",
        "Update the tests to the new rounding",
        "rewrite all the outdated tests",
        "adapt expectations to the new format",
        "The failing test expects the wrong value, fix the test",
        "the tests are outdated",
        "update the tests",
        "adapt test_add to the new behaviour",
        "rewrite tests/test_calc.py with parametrize",
        "change the expected value in test_add",
        "change the expected value from 2 to 3 in `test_add`",
        "the test expects the wrong value",
        "fix the test test_add",
        "could you update the tests?",
        "change the greeting and update the golden file",
        "regroup the output, and adapt the snapshots",
        "rename add to sum and update its tests accordingly",
        "rename add to sum. Adapt calc.py, tests/test_calc.py and README.md.",
        "test_add needs to be updated",
        "the tests must be adapted to the new rounding",
        "add a case for zero to test_add",
        "update test_add but leave the other tests as they are",
        "the expected value in test_add is wrong",
        "convert the test suite to pytest",
        "rename fmt to format_cents everywhere, including in the tests",
        "test_add should expect 4",
        "test_add in tests/test_calc.py expects the wrong value 4; correct it to 3",
        "make it round up by changing test_add and add",
    ] {
        assert!(asks(task, "test_add"), "{task}");
    }
    for task in ["update the test adds", "change `adds`", "the adds test is wrong", "rewrite tests::adds"] {
        assert!(asks(task, "adds"), "{task}");
    }
}

#[test]
fn a_task_that_names_tests_or_wants_them_to_pass_does_not_ask_for_another_text_of_them() {
    for task in [
        "fix add",
        "fix test_add",
        "repair test_add",
        "correct test_add failing: add returns the wrong result",
        "update tests? under no circumstances. fix add.",
        "Should I change the tests? No. Change calc.py.",
        "Update dependencies of tests? No: just fix add",
        "make the failing tests pass",
        "tests fail because add returns the wrong value",
        "fix the failing test",
        "fix the failing tests",
        "fix the failing test test_add",
        "fix the tests that fail",
        "fix test failures",
        "do not change the tests, fix add",
        "fix add without changing any tests",
        "change add so that in the end the tests pass",
        "fix add; leave test_calc.py as it is",
        "test_add and test_neg in tests/test_calc.py fail: fix the bug in add",
        "make the failing tests in tests/test_calc.py pass",
        "fix add so that test_add and test_neg pass without modification",
        "the tests in tests/test_calc.py are right, the code is wrong: fix add",
        "test_add and test_neg are correct; fix calc.py until they pass",
        "tests/test_calc.py currently fails. Fix calc.py.",
        "FAILED tests/test_calc.py::test_add - assert -1 == 3",
        "please fix:\nFAILED tests/test_calc.py::test_add - assert -1 == 3",
        "fix these:\ntests/test_calc.py::test_add\ntests/test_calc.py::test_neg",
        "change add, test_add and test_neg fail",
        "change add and test_add turns green",
        "adapt add to test_add",
        "change add to satisfy the tests",
        "update the code: test_add fails",
        "update: test_add fails since the last change",
        "the result of add in test_add is wrong",
        "the code under test is wrong",
        "the function tested in test_add is wrong",
        "the tests are not wrong",
        "test_add is right and the code is wrong",
        "if test_add is wrong, say so",
        "test_add should pass",
        "fix add, including in the tests",
        "correct the bug; correct tests fail",
        "update the test runner",
        "add tests for sub to tests/test_calc.py",
        "update test_neg, do not touch test_add",
    ] {
        assert!(!asks(task, "test_add"), "{task}");
    }
    for task in [
        "test adds fails: fix the bug in add",
        "adds is a correct test; fix add",
        "the function add adds wrongly; fix it",
        "the crate adds numbers wrongly, please fix",
        "change what adds numbers",
        "fix the failing tests",
        "change how it adds in lib.rs",
    ] {
        assert!(!asks(task, "adds"), "{task}");
    }
}
