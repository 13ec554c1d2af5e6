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
fn a_task_that_speaks_of_changing_tests_asks_for_it_and_one_that_wants_them_to_pass_does_not() {
    let asks = |task: &str| perspt_lang::asks_to_change(task, "test_add", "test_calc.py");
    for task in [
        "add subtracts on purpose: the expectation in tests/test_calc.py is wrong",
        "test_add is wrong",
        "Update the tests to the new rounding",
        "rewrite all the outdated tests",
        "adapt expectations to the new format",
        "The failing test expects the wrong value, fix the test",
        "the tests are outdated",
    ] {
        assert!(asks(task), "{task}");
    }
    for task in [
        "fix add",
        "make the failing tests pass",
        "tests fail because add returns the wrong value",
        "fix the failing test",
        "do not change the tests, fix add",
        "fix add without changing any tests",
        "change add so that in the end the tests pass",
        "fix add; leave test_calc.py as it is",
    ] {
        assert!(!asks(task), "{task}");
    }
}
