//! Models that cannot do it: the tree stays byte for byte what it was, the outcome is a failure, and a certificate
//! says what is left.

use perspt_core::event::{Category, Certificate, EscalateReason};
use perspt_core::outcome::Outcome;

use crate::support::{PROJECT, THREE, World, bundle, plan, script, task, three, write};

/// A session whose model answers the node `one` like this, again and again.
fn hopeless_with(
    plan: String,
    answer: impl Fn(usize) -> String + Send + Sync + 'static,
) -> (World, Certificate) {
    let world = World::new(PROJECT, script(plan, answer));
    let before = world.place.picture();
    let state = world.begin();
    assert_eq!(world.place.picture(), before, "the tree is what it was");
    let end = state.end.as_ref().unwrap();
    assert_eq!((end.outcome, end.outcome.exit_code()), (Outcome::Failed, 4));
    let certificate = world.certificate("one");
    assert!(!certificate.residuals.is_empty() && !certificate.next.is_empty());
    (world, certificate)
}

fn hopeless(answer: impl Fn(usize) -> String + Send + Sync + 'static) -> (World, Certificate) {
    hopeless_with(plan(&[task("one", THREE, &[])]), answer)
}

#[test]
fn prose_is_not_an_answer() {
    let (world, certificate) = hopeless(|n| format!("Sure! Here is idea number {n}."));
    assert_eq!(certificate.reason, EscalateReason::Malformed);
    assert_eq!(certificate.category, Category::ModelCapability);
    assert_eq!((certificate.answers, world.server.asks()), (6, 7));
}

#[test]
fn unlabelled_code_is_not_an_answer() {
    let (_, certificate) =
        hopeless(|n| format!("```\nlet three = {n}\n```\n```\ntest three: three == 3\n```"));
    assert_eq!(certificate.reason, EscalateReason::Malformed);
}

#[test]
fn a_stub_ends_after_three_corrections() {
    let (world, certificate) = hopeless(|n| {
        let extra = (0..n).map(|line| format!("let pad{line} = {line}\n")).collect::<String>();
        bundle(&[
            write("lib/three.toy", &format!("let three = 0\n{extra}")),
            write("tests/three.toy", &format!("use lib/three\ntest three_{n}: three == 3\n")),
        ])
    });
    assert_eq!(certificate.reason, EscalateReason::RetriesExhausted);
    assert_eq!(certificate.category, Category::ImplementationError);
    assert_eq!((certificate.answers, certificate.corrections, world.server.asks()), (4, 3, 5));
    assert!(certificate.energy.is_some_and(|energy| energy.errors > 0));
}

#[test]
fn syntax_errors_end_in_a_certificate_that_names_them() {
    let (_, certificate) = hopeless(|n| {
        bundle(&[
            write("lib/three.toy", &format!("let three = = {n}\n")),
            write("tests/three.toy", "use lib/three\n"),
        ])
    });
    assert!(certificate.residuals.iter().any(|line| line.contains("lib/three.toy:1")), "{certificate:?}");
}

#[test]
fn the_same_answer_three_times_in_a_row_ends_the_node() {
    let (world, certificate) = hopeless(|_| three("4"));
    assert_eq!(certificate.reason, EscalateReason::Repeated);
    assert_eq!((certificate.answers, world.server.asks()), (3, 4));
    let bodies: Vec<String> = world.server.requests().into_iter().map(|request| request.body).collect();
    assert!(!bodies[2].contains("twice in a row"));
    assert!(bodies[3].contains("twice in a row"), "the second time the prompt says so");
}

#[test]
fn different_answers_with_the_same_findings_three_times_end_the_node() {
    let (world, certificate) = hopeless(|n| {
        bundle(&[
            write("lib/three.toy", &format!("let pad{n} = {n}\nlet three = 4\n")),
            write("tests/three.toy", "use lib/three\ntest three: three == 3\n"),
        ])
    });
    assert_eq!(certificate.reason, EscalateReason::Repeated);
    assert_eq!(world.server.asks(), 4);
}

#[test]
fn paths_that_lead_elsewhere_are_refused() {
    let paths =
        ["../outside.toy", "/etc/passwd", ".git/hooks/pre-commit", "lib/two.toy", "a\\b.toy", "lib/../../x"];
    let (world, certificate) = hopeless(move |n| {
        bundle(&[write(paths[(n - 1) % paths.len()], "x"), write("lib/three.toy", "let three = 3\n")])
    });
    assert_eq!(certificate.reason, EscalateReason::Malformed);
    assert_eq!(certificate.category, Category::ModelCapability);
    assert!(world.tags()[2..].iter().all(|tag| tag.starts_with("retarget one")), "{:?}", world.tags());
    assert!(!world.place.root().join("outside.toy").exists());
}

/// Where the project has no other test, nothing would be left that runs.
#[test]
fn the_only_test_of_a_project_cannot_be_skipped() {
    let files = ["lib/two.toy", "tests/two.toy"];
    let (_, certificate) = hopeless_with(plan(&[task("one", &files, &[])]), |n| {
        bundle(&[
            write("lib/two.toy", &format!("let two = {}\n", n + 2)),
            write("tests/two.toy", "use lib/two\nskip two_is_two: two == 2\n"),
        ])
    });
    assert!(certificate.residuals.iter().any(|line| line.contains("no test ran")), "{certificate:?}");
}

#[test]
fn a_file_of_the_plan_that_is_never_made_is_missed() {
    let half = |nth: usize| bundle(&[write("lib/three.toy", &format!("let three = 3 + {nth} - {nth}\n"))]);
    let (_, certificate) = hopeless(half);
    let missed = "`tests/three.toy` is to be made by this node, and it is not there";
    assert!(certificate.residuals.iter().any(|line| line.contains(missed)), "{:?}", certificate.residuals);
}

#[test]
fn an_answer_that_changes_nothing_is_not_a_success() {
    let (_, certificate) = hopeless_with(plan(&[task("one", &["lib/two.toy"], &[])]), |_| {
        bundle(&[write("lib/two.toy", "let two = 2\n")])
    });
    assert!(certificate.residuals.iter().any(|line| line.contains("changes nothing")), "{certificate:?}");
}

#[test]
fn a_node_that_waits_for_a_lost_one_is_blocked() {
    let two = plan(&[task("one", THREE, &[]), task("two", &["lib/four.toy"], &["one"])]);
    let (world, _) = hopeless_with(two, |n| format!("no {n}"));
    assert_eq!(world.server.asks(), 7, "the second node was never asked for");
}
