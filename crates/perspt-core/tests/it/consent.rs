//! What only the user can permit: how it is said, and how far it reaches.

use perspt_core::consent::{
    ConsentKind, Consents, Declared, Extent, Grant, GrantedBy, Need, TestDeclaration, flags_for,
};

use crate::support::*;

use ConsentKind::{Command, Deps, Evidence, Red, Tests, Unmeasured};
use Declared::{InTime, Late, No};

fn is_covered(word: &str, need: &Need) -> bool {
    grant(word).covers(need)
}

fn flags(needs: &[Need]) -> Vec<String> {
    flags_for(needs)
}

#[test]
fn a_grant_is_read_as_a_kind_and_how_far_it_reaches() {
    let read = |word: &str| word.parse::<Grant>().map(|grant| (grant.kind, grant.extent));
    let of = |subject: &str| Extent::Subject(subject.to_owned());
    assert_eq!(read("tests"), Ok((Tests, Extent::Declared)));
    assert_eq!(read("red:any"), Ok((Red, Extent::Any)));
    assert_eq!(read("unmeasured:tools/run.sh"), Ok((Unmeasured, of("tools/run.sh"))));
    // The first colon splits, the others belong to the subject.
    assert_eq!(read("tests:tests/a.py::TestA::test_b"), Ok((Tests, of("tests/a.py::TestA::test_b"))));
    assert_eq!(read("command:make docs: all"), Ok((Command, of("make docs: all"))));
    assert_eq!(read(" deps : serde "), Ok((Deps, of("serde"))));
    assert_eq!("deps".parse::<Grant>().unwrap().by, GrantedBy::Flag);
}

#[test]
fn a_word_that_permits_nothing_is_refused_with_the_words_that_do() {
    for word in ["", "test", "Tests", "tests:", "tests: ", ":any", "all", "any", "command", "command:"] {
        let refused = word.parse::<Grant>().unwrap_err().to_string();
        assert!(refused.starts_with(&format!("`{word}` is no consent")), "{refused}");
        assert!(refused.contains("tests, evidence, red, deps, unmeasured, command"), "{refused}");
    }
    assert!("command:any".parse::<Grant>().is_ok());
}

#[test]
fn a_grant_is_written_as_it_is_read() {
    for word in ["tests", "evidence:any", "red:tests/a.py::test_b", "command:make docs"] {
        assert_eq!(grant(word).to_string(), word);
    }
}

#[test]
fn a_bare_word_covers_what_was_declared_in_time_and_of_what_nobody_declares_everything() {
    for kind in [Tests, Evidence, Red] {
        let covers = |declared| is_covered(kind.as_str(), &need(kind, "a", declared));
        assert_eq!([InTime, Late, No].map(covers), [true, false, false], "{kind}");
        let covers = |declared| is_covered(&format!("{kind}:any"), &need(kind, "a", declared));
        assert_eq!([InTime, Late, No].map(covers), [true, true, true], "{kind}");
    }
    for kind in [Deps, Unmeasured] {
        let covers = |declared| is_covered(kind.as_str(), &need(kind, "a", declared));
        assert_eq!([InTime, Late, No].map(covers), [true, true, true], "{kind}");
    }
}

#[test]
fn no_kind_covers_another() {
    for kind in ConsentKind::ALL {
        for other in ConsentKind::ALL {
            assert_eq!(is_covered(&format!("{kind}:any"), &need(other, "a", InTime)), kind == other);
        }
    }
}

#[test]
fn consent_to_a_file_is_consent_to_its_tests_and_not_the_other_way_round() {
    let test = need(Tests, "tests/a.py::TestA::test_b", No);
    assert!(is_covered("tests:tests/a.py", &test));
    assert!(is_covered("tests:tests/a.py::TestA", &test));
    assert!(is_covered("tests:tests/a.py::TestA::test_b", &test));
    assert!(!is_covered("tests:tests/a.py::TestA::test", &test));
    assert!(!is_covered("tests:tests", &test), "a folder is no subject");
    assert!(!is_covered("tests:a.py", &test));
    assert!(!is_covered("tests:tests/a.py::test_b", &need(Tests, "tests/a.py", No)));
    // A file's own name is all that counts of what decides how tests run.
    assert!(is_covered("evidence:conftest.py", &need(Evidence, "conftest.py", No)));
    assert!(!is_covered("evidence:conftest.py", &need(Evidence, "conftest.py::hook", No)));
}

#[test]
fn a_test_that_stays_red_is_named_by_the_end_of_its_name() {
    let red = need(Red, "tests/a.py::TestA::test_b[3-x]", No);
    for name in ["test_b", "TestA::test_b", "tests/a.py::TestA::test_b", "test_b[3-x]"] {
        assert!(is_covered(&format!("red:{name}"), &red), "{name}");
    }
    for name in ["b", "est_b", "TestA", "test_b[3-y]", "tests/a.py"] {
        assert!(!is_covered(&format!("red:{name}"), &red), "{name}");
    }
}

#[test]
fn a_command_is_covered_by_its_whole_text() {
    let command = need(Command, "make docs", No);
    assert!(is_covered("command:make docs", &command) && is_covered("command:any", &command));
    assert!(!is_covered("command:make", &command));
    assert!(!is_covered("deps:serde", &need(Deps, "serde_json", No)));
}

#[test]
fn a_plan_does_not_cover_what_turns_out_weaker() {
    let by_plan = |word: &str| Grant { by: GrantedBy::Plan, ..grant(word) };
    let same = need(Tests, "tests/a.py::test_b", InTime);
    let weaker = Need { weaker: vec!["3 assertions before, 1 now".to_owned()], ..same.clone() };
    assert!(by_plan("tests:tests/a.py::test_b").covers(&same));
    assert!(!by_plan("tests:tests/a.py::test_b").covers(&weaker));
    // It is covered as it was declared, and not where it was removed instead.
    assert!(!by_plan("tests:tests/a.py::test_b").covers(&Need { declared: No, ..same.clone() }));
    for by in [GrantedBy::Flag, GrantedBy::Config, GrantedBy::Answer] {
        assert!(Grant { by, ..grant("tests:tests/a.py::test_b") }.covers(&weaker));
    }
}

#[test]
fn what_no_grant_covers_is_missing_and_a_grant_is_kept_once() {
    let mut consents = Consents::default();
    ["tests", "tests", "red:any"].iter().for_each(|word| consents.add(grant(word)));
    assert_eq!(consents.grants.len(), 2);
    let needs = [need(Tests, "a", InTime), need(Tests, "b", Late), need(Red, "c", No), need(Deps, "d", No)];
    let missing: Vec<&str> = consents.missing(&needs).iter().map(|need| need.subject.as_str()).collect();
    assert_eq!(missing, ["b", "d"]);
    assert_eq!(consents.covering(&needs[2]), Some(&grant("red:any")));
    assert_eq!(consents.covering(&needs[3]), None);
}

#[test]
fn the_flags_that_are_named_cover_what_is_missing() {
    let all = [
        vec![need(Tests, "tests/a.py::test_b", InTime)],
        vec![need(Tests, "tests/a.py::test_b", Late), need(Tests, "tests/c.py", InTime)],
        vec![need(Command, "make docs", No), need(Deps, "serde", No), need(Unmeasured, "a.sh", No)],
        (0..9).map(|at| need(Red, &format!("test_{at}"), No)).collect(),
        vec![need(Evidence, "conftest.py", No), need(Red, "t", InTime), need(Tests, "x", Late)],
    ];
    for needs in all {
        let consents = Consents { grants: flags(&needs).iter().map(|word| grant(word)).collect() };
        assert!(consents.missing(&needs).is_empty(), "{:?}", flags(&needs));
    }
}

#[test]
fn the_flags_that_are_named_are_few_and_no_wider_than_they_must_be() {
    let in_time = [need(Tests, "a", InTime), need(Tests, "b", InTime)];
    assert_eq!(flags(&in_time), ["tests"]);
    let late = [need(Tests, "a", Late), need(Tests, "b", No), need(Tests, "c", InTime)];
    assert_eq!(flags(&late), ["tests:a", "tests:b", "tests"]);
    let many: Vec<Need> = (0..4).map(|at| need(Tests, &format!("t{at}"), Late)).collect();
    assert_eq!(flags(&many), ["tests:any"]);
    assert_eq!(flags(&[many, vec![need(Tests, "c", InTime)]].concat()), ["tests:any"]);
    let others = [need(Deps, "serde", No), need(Deps, "serde", No), need(Command, "make", No)];
    assert_eq!(flags(&others), ["deps", "command:make"]);
    assert!(flags(&[]).is_empty());
}

#[test]
fn a_declaration_names_a_test_or_every_test_of_its_file() {
    let file = declaration("tests/a.py");
    assert!(file.names("tests/a.py") && file.names("tests/a.py::TestA::test_b"));
    assert!(!file.names("tests/b.py") && !file.names("tests/a.pyx"));
    let test = TestDeclaration { test: Some("test_b".to_owned()), ..declaration("tests/a.py") };
    assert!(test.names("tests/a.py::test_b") && test.names("tests/a.py::TestA::test_b"));
    assert!(!test.names("tests/a.py") && !test.names("tests/a.py::test_bc"));
    assert_eq!((file.subject().as_str(), test.subject().as_str()), ("tests/a.py", "tests/a.py::test_b"));
}
