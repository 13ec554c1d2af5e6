//! What is found of the promises of a contract, on a candidate beside its base.

use perspt_agent::plan::plan_of;
use perspt_agent::verify::measured_promises;
use perspt_core::contract::{Breach, PromiseFound};
use perspt_core::event::ParseState;
use perspt_core::plan::{Contract, PlanNode};
use perspt_lang::plugin::{Files, Pair};
use serde_json::{Value, json};

use crate::support::{Memory, path};

type Texts<'a> = &'a [(&'a str, &'a str)];

/// The contract as the architect's JSON is read.
fn contract(words: Value) -> Contract {
    let plan =
        json!({"tasks": [{"id": "a", "goal": "do it", "output_files": ["src/a.rs"], "contract": words}]});
    plan_of(plan, ParseState::StructuredOk).unwrap().plan.nodes.remove(0).contract
}

/// Each promise: `kept`, `broken` or `before` with its places, or `?` and why it is unmeasured.
fn found(words: Value, base: Texts<'_>, candidate: Texts<'_>) -> Vec<String> {
    let spec = PlanNode { contract: contract(words), ..PlanNode::plain("a", vec![path("src/a.rs")]) };
    let (base, candidate) = (Memory::new(base), Memory::new(candidate));
    let changes = base.tree().changes_to(candidate.tree());
    let place = |breach: &Breach| {
        let file = breach.file.as_ref().map(ToString::to_string).unwrap_or_default();
        breach.line.map_or(file.clone(), |line| format!("{file}:{line}"))
    };
    let places = |breaches: &[Breach]| breaches.iter().map(place).collect::<Vec<_>>().join(" ");
    let word = |found: &PromiseFound| match found {
        PromiseFound::Kept => "kept".to_owned(),
        PromiseFound::Broken { breaches } => format!("broken {}", places(breaches)),
        PromiseFound::BrokenBefore { breaches } => format!("before {}", places(breaches)),
        PromiseFound::Unmeasured { why } => format!("? {why}"),
    };
    let pair = Pair { base: &base, candidate: &candidate };
    measured_promises(&spec, &changes, &pair).iter().map(|one| word(&one.found)).collect()
}

const OLD: &str = "fn old() {\n    x.unwrap();\n}\n";

#[test]
fn a_signature_is_looked_for_in_the_nodes_files_and_then_in_all_others() {
    let signature = |text: &str| json!({"interface_signature": text});
    let now: Texts<'_> =
        &[("src/a.rs", "pub fn mul(a: i32, b: i32) -> i32 { a * b }\n"), ("src/b.rs", "fn add(a: u8) {}\n")];
    let base: Texts<'_> = &[("src/b.rs", "fn add(a: u8) {}\n")];
    for (text, is) in [
        ("fn mul(a: i32, b: i32) -> i32", "kept"),
        ("fn mul(a: i64, b: i32) -> i32", "broken src/a.rs:1"),
        ("fn div(a: i32)", "broken src/a.rs"),
        ("fn add(a: u8)", "kept"),
        ("A function that multiplies", "? it is not written as a signature"),
    ] {
        assert_eq!(found(signature(text), base, now), [is], "{text}");
    }
    let several = json!({"interface_signature": ["fn mul(a: i32, b: i32) -> i32", "fn div(a: i32)"]});
    assert_eq!(found(several, base, now), ["kept", "broken src/a.rs"]);
    let nothing_written: Texts<'_> = &[("README.md", "mul\n")];
    assert_eq!(found(signature("fn div(a: i32)"), &[], nothing_written), ["? no code was written"]);
}

#[test]
fn a_forbidden_pattern_counts_only_on_lines_that_the_node_wrote() {
    let forbidden = || json!({"forbidden_patterns": ["unwrap()"]});
    let base: Texts<'_> = &[("src/a.rs", OLD), ("src/b.rs", OLD)];
    let changed = |text: &str| found(forbidden(), base, &[("src/a.rs", text), ("src/b.rs", OLD)]);
    assert_eq!(changed(&format!("{OLD}fn new() {{}}\n")), ["kept"]);
    assert_eq!(
        changed(&format!("fn new() {{}}\nmod m {{\n    {}}}\n", OLD.replace('\n', "\n    "))),
        ["kept"]
    );
    assert_eq!(changed(&format!("{OLD}fn new() {{ y.unwrap() }}\n")), ["broken src/a.rs:4"]);
    assert_eq!(changed(&format!("{OLD}    x.unwrap();\n")), ["broken src/a.rs:4"], "written once more");
    assert_eq!(changed(&format!("{OLD}fn new() {{ y.unwrap_or(0) }}\n")), ["kept"]);
    let moved: Texts<'_> = &[("src/b.rs", OLD), ("src/c.rs", OLD)];
    assert_eq!(found(forbidden(), base, moved), ["kept"], "moved with its file");
    let prose: Texts<'_> = &[("src/a.rs", OLD), ("src/b.rs", OLD), ("README.md", "never unwrap()\n")];
    assert_eq!(found(forbidden(), base, prose), ["? no code was written"]);
}

#[test]
fn checks_say_whether_they_hold_and_what_was_there_before() {
    let base: Texts<'_> = &[("src/a.rs", OLD), ("src/net/b.rs", "use std::io;\n")];
    let now: Texts<'_> = &[
        ("src/a.rs", "fn old() {\n    x.unwrap();\n}\nfn limit() {}\n"),
        ("src/net/b.rs", "use std::io;\nuse crate::db::pool;\n"),
    ];
    for (check, is) in [
        (json!({"file": "src/a.rs", "must_contain": "fn limit()"}), "kept"),
        (json!({"must_contain": "fn  limit( )"}), "broken src/a.rs"),
        (json!({"file": "src/net", "must_contain": r"db::\w+"}), "kept"),
        (json!({"file": "src/c.rs", "must_contain": "x"}), "? not there: src/c.rs"),
        (json!({"file": "src/a.rs", "must_not_contain": "limit"}), "broken src/a.rs:4"),
        (json!({"file": "src/a.rs", "must_not_contain": "unwrap()"}), "before src/a.rs:2"),
        (json!({"must_not_contain": "panic!"}), "kept"),
        (json!({"module": "src/net", "must_not_import": "db"}), "broken src/net/b.rs:2"),
        (json!({"module": "net::b", "must_not_import": "crate::db"}), "broken src/net/b.rs:2"),
        (json!({"file": "src/net/b.rs", "must_not_import": "std::io"}), "before src/net/b.rs:1"),
        (json!({"file": "src/net/", "must_not_import": "http"}), "kept"),
        (json!({"file": "src/a.rs", "signature": "fn limit()"}), "kept"),
        (json!({"file": "src/net/b.rs", "signature": "fn gone()"}), "broken src/net/b.rs"),
    ] {
        assert_eq!(found(json!({"invariants": [check]}), base, now), [is], "{check}");
    }
}

#[test]
fn what_a_plan_says_in_prose_or_in_a_form_of_its_own_is_unmeasured_and_kept_in_words() {
    let words = json!({"invariants": [
        "0 stays 0",
        {"file": "src/a.rs", "must_contain": "a", "unless": "b"},
        {"file": "src/a.rs", "must_contain": "a", "must_not_contain": "b"},
        {"command": "cargo test"},
        {"file": "../a.rs", "must_contain": "a"},
        7,
    ]});
    let read = contract(words.clone());
    assert!(read.checks.is_empty());
    assert_eq!(read.invariants.len(), 6);
    assert_eq!(read.invariants[3], r#"{"command":"cargo test"}"#);
    let now: Texts<'_> = &[("src/a.rs", "a\n")];
    assert!(found(words, &[], now).iter().all(|line| line.starts_with("? it is prose")));
    assert!(found(json!({}), &[], now).is_empty());
}
