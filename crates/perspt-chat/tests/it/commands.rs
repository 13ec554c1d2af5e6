//! Commands inside a talk.

use perspt_chat::{CallId, Existing, Leave};
use perspt_core::route::{Price, Route};

use crate::support::{
    answer, asks, cancelled, end, left, notes, pending, saves, sent, stalled, talk, talk_with,
};

#[test]
fn another_model_is_asked_and_knows_what_was_said() {
    let mut talk = talk();
    talk.typed("hi");
    talk.heard(end(1, answer("Hello")));
    assert!(notes(&talk.typed("/model m-2")).contains("m-2"));
    let effects = talk.typed("more");
    let ask = asks(&effects)[0];
    assert_eq!((ask.speaker.route.model.as_str(), ask.prompt.turns.len()), ("m-2", 3));
    assert!(notes(&talk.typed("/model m-3")).contains("after this reply"));
    talk.heard(end(2, answer("More")));
    let models: Vec<&str> = talk.spending().models().map(|(model, _)| model).collect();
    assert_eq!((models, talk.model()), (vec!["m-1", "m-2"], "m-3"));
}

#[test]
fn a_model_that_cannot_be_asked_is_told_and_the_old_one_stays() {
    let mut talk = talk();
    let told = notes(&talk.typed("/model none"));
    assert!(told.contains("no such model") && told.contains("still m-1"), "{told}");
    assert_eq!(talk.model(), "m-1");
    assert!(notes(&talk.typed("/model")).contains("m-1"));
}

#[test]
fn a_wrong_command_is_told_and_not_sent() {
    let mut talk = talk();
    let effects = talk.typed("/hlep");
    assert!(asks(&effects).is_empty() && notes(&effects).contains("/help"));
    assert_eq!(sent(&talk.typed("//hlep")), ["/hlep"]);
}

#[test]
fn the_conversation_is_saved_with_what_has_no_answer() {
    let mut talk = talk();
    assert!(notes(&talk.typed("/save")).contains("nothing to save"));
    talk.typed("hi");
    talk.heard(end(1, answer("Hello")));
    talk.typed("and?");
    let effects = talk.typed("/save! talk.md");
    let save = saves(&effects)[0];
    assert_eq!(save.existing, Existing::Replace);
    assert_eq!(save.text, "# Chat\n\n## You\n\nhi\n\n## m-1\n\nHello\n\n## You (no answer)\n\nand?\n");
    assert!(talk.is_busy(), "saving does not end the reply");
}

#[test]
fn clearing_ends_the_reply_and_forgets_everything_but_the_cost() {
    let mut talk = talk();
    talk.typed("a");
    talk.heard(end(1, answer("A")));
    talk.typed("b");
    talk.typed("c");
    assert_eq!(cancelled(&talk.typed("/clear")), [CallId(2)]);
    assert_eq!((talk.history(), pending(&talk)), (vec![], vec![]));
    assert!(talk.heard(end(2, answer("B"))).is_empty());
    assert!(notes(&talk.typed("/cost")).starts_with("m-1: 2 calls (1 without a count of tokens)"));
    let effects = talk.typed("d");
    assert_eq!(asks(&effects)[0].prompt.turns.len(), 1);
}

#[test]
fn messages_without_an_answer_can_be_forgotten() {
    let mut talk = talk();
    ["a", "b"].iter().for_each(|message| drop(talk.typed(message)));
    talk.heard(end(1, Err(stalled())));
    assert!(notes(&talk.typed("/drop")).contains("2 messages"));
    assert!(notes(&talk.typed("/drop")).contains("no message waits"));
    assert_eq!(sent(&talk.typed("c")), ["c"]);
    talk.typed("d");
    assert!(notes(&talk.typed("/drop")).contains("1 message"));
    assert_eq!(pending(&talk), ["c"], "the running reply goes on");
}

#[test]
fn the_cost_is_told_where_the_price_is_known() {
    let price = Price { input: 1_000_000, cached: 500_000, output: 2_000_000 };
    let mut talk = talk_with(Route { price: Some(price), ..Route::plain("m-1", None) });
    assert_eq!(notes(&talk.typed("/cost")), "nothing was asked yet");
    talk.typed("hi");
    talk.heard(end(1, answer("Hello")));
    assert_eq!(
        notes(&talk.typed("/cost")),
        "m-1: 1 call, tokens in 10, of these cached 2, out 5, cost $0.000019"
    );
}

#[test]
fn leaving_ends_the_reply() {
    let mut talk = talk();
    talk.typed("hi");
    let effects = talk.typed("/quit");
    assert_eq!((cancelled(&effects), left(&effects)), (vec![CallId(1)], Some(Leave::Done)));
}

#[test]
fn cancelling_without_a_reply_is_told() {
    assert!(notes(&talk().typed("/cancel")).contains("no reply"));
}

#[test]
fn several_lines_are_one_message() {
    let mut talk = talk();
    let lines = ["\"\"\"", "/quit", "", "  x\\", "\"\"\""];
    let effects: Vec<_> = lines.iter().flat_map(|line| talk.typed(line)).collect();
    assert_eq!(sent(&effects), ["/quit\n\n  x\\"]);
}
