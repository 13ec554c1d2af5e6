//! Every answer ends in exactly one state, and nothing is guessed.

use perspt_agent::parse::{Payload, Reading, Recovery, Rejection, Shape, Wanted, read};
use perspt_core::bundle::Bundle;
use perspt_core::consent::TestChange;
use perspt_core::event::ParseState;
use proptest::prelude::*;

fn read_bundle(text: &str) -> Result<Reading, Rejection> {
    read(text, &Wanted::one_of(&[Shape::Bundle, Shape::Replan]))
}

fn state_of(text: &str) -> ParseState {
    match read_bundle(text) {
        Ok(reading) => reading.state,
        Err(rejection) => rejection.state,
    }
}

fn bundle_of(text: &str) -> Bundle {
    match read_bundle(text) {
        Ok(Reading { payload: Payload::Bundle(bundle), .. }) => bundle,
        other => panic!("{other:?}"),
    }
}

const BUNDLE: &str = r#"{"artifacts":[{"operation":"write","path":"a.py","content":"x = 1\n"}]}"#;

#[test]
fn each_kind_of_answer_has_its_state() {
    assert_eq!(state_of(BUNDLE), ParseState::StructuredOk);
    assert_eq!(
        state_of(&format!("Here it is:\n```json\n{BUNDLE}\n```\nDone.")),
        ParseState::TolerantRecoveryOk
    );
    assert_eq!(state_of(&format!("~~~~\n{BUNDLE}\n~~~~")), ParseState::TolerantRecoveryOk);
    assert_eq!(state_of(""), ParseState::EmptyResponse);
    assert_eq!(state_of(" \n\t "), ParseState::EmptyResponse);
    assert_eq!(state_of("I have added the function."), ParseState::NoStructuredPayload);
    assert_eq!(state_of("```rust\nfn mul() {}\n```"), ParseState::NoStructuredPayload);
    assert_eq!(state_of("[1, 2]"), ParseState::SchemaInvalid);
    assert_eq!(state_of(&BUNDLE[..BUNDLE.len() - 4]), ParseState::SchemaInvalid);
    assert_eq!(state_of(&BUNDLE[..BUNDLE.len() - 3]), ParseState::TolerantRecoveryOk);
    assert_eq!(state_of(r#"{"artifacts":[]}"#), ParseState::SchemaInvalid);
    assert_eq!(state_of(r#"{"files":{"a.py":"x"}}"#), ParseState::SchemaInvalid);
    assert_eq!(state_of(r#"{"context_requests":[{"kind":"read","path":"a"}]}"#), ParseState::SchemaInvalid);
    assert_eq!(state_of(r#"{"requires_replan":{"reason":"too small"}}"#), ParseState::RequiresReplan);
}

#[test]
fn two_different_bundles_are_not_one_answer() {
    let other = BUNDLE.replace("x = 1", "x = 2");
    let two = format!("```json\n{BUNDLE}\n```\nor\n```json\n{other}\n```");
    assert_eq!(state_of(&two), ParseState::SchemaInvalid);
    let twice = format!("```json\n{BUNDLE}\n```\nonce more\n```json\n{BUNDLE}\n```");
    assert_eq!(bundle_of(&twice), bundle_of(BUNDLE));
}

#[test]
fn a_field_stated_twice_or_unknown_is_refused() {
    let doubled = r#"{"artifacts":[{"operation":"write","path":"a","path":"b","content":"x"}]}"#;
    assert_eq!(state_of(doubled), ParseState::SchemaInvalid);
    let unknown = r#"{"artifacts":[{"operation":"write","path":"a","content":"x","mode":"0777"}]}"#;
    assert_eq!(state_of(unknown), ParseState::SchemaInvalid);
}

#[test]
fn commands_and_declarations_are_read_and_permit_nothing() {
    let answer = r#"{"artifacts":[],"commands":["rm -rf /"],"leaves_red":["test_old"],
        "changes_tests":[{"path":"tests/a.py","test":"test_a"},{"path":"tests/b.py","change":"remove","why":"gone"}]}"#;
    assert_eq!(state_of(answer), ParseState::StructuredOk);
    let bundle = bundle_of(answer);
    assert_eq!(
        (bundle.commands, bundle.leaves_red),
        (vec!["rm -rf /".to_owned()], vec!["test_old".to_owned()])
    );
    let declared = bundle.changes_tests.iter().map(|one| (one.subject(), one.change));
    let wanted = [("tests/a.py::test_a", TestChange::Update), ("tests/b.py", TestChange::Remove)];
    assert!(declared.eq(wanted.map(|(subject, change)| (subject.to_owned(), change))));
}

#[test]
fn ten_commands_and_forty_declarations_are_the_most() {
    let of = |field: &str, entry: &str, count: usize| {
        let entries = vec![entry; count].join(",");
        state_of(&format!(
            "{{\"artifacts\":[{{\"operation\":\"delete\",\"path\":\"a\"}}],\"{field}\":[{entries}]}}"
        ))
    };
    for (field, entry, most) in
        [("commands", "\"x\"", 10), ("leaves_red", "\"x\"", 40), ("changes_tests", "{\"path\":\"t.py\"}", 40)]
    {
        assert_eq!(of(field, entry, most), ParseState::StructuredOk, "{field}");
        assert_eq!(of(field, entry, most + 1), ParseState::SchemaInvalid, "{field}");
    }
}

#[test]
fn deep_nesting_is_refused_without_a_crash() {
    assert_eq!(state_of(&"[".repeat(200_000)), ParseState::NoStructuredPayload);
    assert_eq!(state_of(&"{\"a\":".repeat(100_000)), ParseState::SchemaInvalid);
}

#[test]
fn strict_reading_takes_only_what_was_asked_for() {
    let wanted = Wanted::one_of(&[Shape::Bundle]).with(Recovery::Strict);
    let blocks = "### write a.py\n```python\nx = 1\n```\n";
    for asked in [BUNDLE, blocks] {
        assert_eq!(read(asked, &wanted).unwrap().state, ParseState::StructuredOk);
    }
    let fenced = format!("```json\n{BUNDLE}\n```");
    for odd in [fenced.as_str(), "**a.py**\n```python\nx = 1\n```\n", &format!("Here:\n{blocks}")] {
        let rejection = read(odd, &wanted).unwrap_err();
        assert_eq!(rejection.state, ParseState::SchemaInvalid);
        assert!(rejection.lines.len() > 1, "{:?}", rejection.lines);
    }
}

#[test]
fn an_answer_of_more_than_eight_megabytes_is_not_read() {
    let rejection = read_bundle(&"x".repeat(8 * 1024 * 1024 + 1)).unwrap_err();
    assert!(rejection.lines[0].contains("is the most"), "{:?}", rejection.lines);
}

proptest! {
    #[test]
    fn any_text_is_read_to_one_end(text in "\\PC{0,200}") {
        let _ = state_of(&text);
    }

    #[test]
    fn what_stands_around_a_fence_changes_nothing(before in "[a-zA-Z ]{0,40}", after in "[a-zA-Z ]{0,40}") {
        let text = format!("{before}\n```json\n{BUNDLE}\n```\n{after}");
        prop_assert_eq!(bundle_of(&text), bundle_of(BUNDLE));
    }
}
