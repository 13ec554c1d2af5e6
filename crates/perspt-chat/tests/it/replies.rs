//! Replies that come in, end, end twice, are cut and fail.

use perspt_chat::{CallId, Ending, Leave};
use perspt_core::route::Route;
use perspt_model::{ModelError, Turn};

use crate::support::{
    answer, asks, cancelled, chunk, end, endings, left, notes, pending, sent, stalled, talk, talk_with, text,
};

#[test]
fn an_answer_streams_in_and_becomes_part_of_the_conversation() {
    let mut talk = talk();
    assert_eq!(sent(&talk.typed("hi")), ["hi"]);
    assert!(talk.is_busy());
    assert_eq!(text(&talk.heard(chunk(1, "Hel"))), "Hel");
    assert_eq!(talk.history(), [], "half an answer is none");
    let effects = talk.heard(end(1, answer("Hello")));
    assert_eq!((text(&effects).as_str(), endings(&effects)), ("lo", vec![&Ending::Whole]));
    assert_eq!(talk.history(), [Turn::user("hi"), Turn::assistant("Hello")]);
    let effects = talk.typed("more");
    let turns = &asks(&effects)[0].prompt.turns;
    assert_eq!(turns.iter().map(|turn| turn.text.as_str()).collect::<Vec<_>>(), ["hi", "Hello", "more"]);
}

#[test]
fn a_second_end_and_what_comes_after_the_end_change_nothing() {
    let mut talk = talk();
    talk.typed("hi");
    talk.heard(end(1, answer("Hello")));
    for late in [end(1, answer("Hello")), end(1, Err(stalled())), chunk(1, "!"), end(7, answer("x"))] {
        assert!(talk.heard(late).is_empty());
    }
    assert_eq!(talk.history().len(), 2);
    assert_eq!(talk.spending().models().next().unwrap().1.calls, 1);
}

#[test]
fn the_end_of_one_call_does_not_end_the_next() {
    let mut talk = talk();
    talk.typed("a");
    talk.typed("b");
    assert_eq!(sent(&talk.heard(end(1, answer("A")))), ["b"]);
    assert!(talk.heard(end(1, answer("A"))).is_empty());
    assert!(talk.is_busy());
}

#[test]
fn what_is_typed_meanwhile_is_sent_afterwards_in_order() {
    let mut talk = talk();
    talk.typed("a");
    for message in ["b", "c"] {
        let effects = talk.typed(message);
        assert!(asks(&effects).is_empty() && notes(&effects).contains("queued"), "{effects:?}");
    }
    assert_eq!(sent(&talk.heard(end(1, answer("A")))), ["b"]);
    assert_eq!(sent(&talk.heard(end(2, answer("B")))), ["c"]);
    assert!(sent(&talk.heard(end(3, answer("C")))).is_empty());
    assert_eq!(talk.history().len(), 6);
}

#[test]
fn a_reply_that_is_cut_is_no_answer_and_its_message_goes_along_with_the_next() {
    let mut talk = talk();
    talk.typed("explain");
    talk.heard(chunk(1, "It is "));
    let effects = talk.typed("/cancel");
    assert_eq!((cancelled(&effects), endings(&effects)), (vec![CallId(1)], vec![&Ending::Cut]));
    assert!(notes(&effects).contains("cut") && notes(&effects).contains("/retry"), "{}", notes(&effects));
    assert!(talk.heard(chunk(1, "late")).is_empty());
    assert!(talk.heard(end(1, Err(ModelError::Cancelled))).is_empty());
    assert!(talk.heard(end(1, answer("It is late"))).is_empty());
    assert_eq!((talk.history(), pending(&talk)), (vec![], vec!["explain".to_owned()]));
    assert_eq!(sent(&talk.typed("but shorter")), ["explain\n\nbut shorter"]);
    talk.heard(end(2, answer("So.")));
    assert_eq!(talk.history(), [Turn::user("explain\n\nbut shorter"), Turn::assistant("So.")]);
}

#[test]
fn a_failed_call_is_told_in_one_line_and_its_message_can_be_sent_again() {
    let mut talk = talk();
    talk.typed("hi");
    talk.heard(chunk(1, "Hel"));
    let effects = talk.heard(end(1, Err(stalled())));
    assert_eq!(endings(&effects), [&Ending::Failed(stalled())]);
    let told = notes(&effects);
    assert!(told.contains("stalled") && told.contains("`/retry` sends the message again"), "{told}");
    assert_eq!(told.lines().count(), 1);
    assert_eq!(talk.history(), []);
    assert_eq!(sent(&talk.typed("/retry")), ["hi"]);
    assert!(notes(&talk.typed("/retry")).contains("a reply is running"));
    talk.heard(end(2, answer("Hello")));
    assert_eq!(talk.history(), [Turn::user("hi"), Turn::assistant("Hello")]);
    let effects = talk.typed("/retry");
    assert!(asks(&effects).is_empty() && notes(&effects).contains("has its answer"));
}

#[test]
fn a_refused_key_is_told_with_what_to_do_about_the_key() {
    let mut talk = talk();
    talk.typed("hi");
    let refused = ModelError::Unauthorised { status: 401, excerpt: "no".to_owned() };
    let told = notes(&talk.heard(end(1, Err(refused))));
    assert!(told.contains("key") && told.contains("/model"), "{told}");
    assert_eq!(pending(&talk), ["hi"]);
}

#[test]
fn what_waits_behind_a_fault_is_held_until_the_user_goes_on() {
    let mut talk = talk();
    ["a", "b", "c"].iter().for_each(|message| drop(talk.typed(message)));
    let effects = talk.heard(end(1, Err(stalled())));
    assert!(asks(&effects).is_empty() && notes(&effects).contains("2 messages wait"), "{effects:?}");
    assert_eq!(sent(&talk.typed("/retry")), ["a"]);
    assert_eq!(sent(&talk.heard(end(2, answer("A")))), ["b"]);
    assert!(notes(&talk.typed("/send")).contains("after this reply"));
    // The same after a cut, and with a new message instead: nothing changes its place.
    talk.typed("/cancel");
    assert_eq!(sent(&talk.typed("d")), ["b\n\nc"]);
    assert_eq!(sent(&talk.heard(end(4, answer("BC")))), ["d"]);
}

#[test]
fn what_waits_behind_a_cut_reply_can_be_sent_with_it_as_one_message() {
    let mut talk = talk();
    assert!(notes(&talk.typed("/send")).contains("no message waits"));
    ["a", "but shorter", "c"].iter().for_each(|message| drop(talk.typed(message)));
    assert!(notes(&talk.interrupted()).contains("/send"));
    assert_eq!(sent(&talk.typed("/send")), ["a\n\nbut shorter\n\nc"]);
    assert!(sent(&talk.heard(end(2, answer("A")))).is_empty());
}

#[test]
fn an_answer_that_says_nothing_is_none() {
    let mut talk = talk();
    talk.typed("hi");
    let effects = talk.heard(end(1, answer(" \n")));
    assert_eq!(endings(&effects), [&Ending::Empty]);
    assert_eq!((talk.history(), pending(&talk)), (vec![], vec!["hi".to_owned()]));
    assert_eq!(sent(&talk.typed("/retry")), ["hi"]);
}

#[test]
fn an_interrupt_ends_the_reply_and_a_second_one_leaves() {
    let mut talk = talk();
    talk.typed("hi");
    let effects = talk.interrupted();
    assert_eq!((cancelled(&effects), left(&effects)), (vec![CallId(1)], None));
    assert_eq!(left(&talk.interrupted()), Some(Leave::Interrupted));
}

#[test]
fn an_interrupt_at_rest_warns_first_and_a_line_takes_the_warning_back() {
    let mut talk = talk();
    let effects = talk.interrupted();
    assert!(left(&effects).is_none() && notes(&effects).contains("again"));
    talk.typed("");
    assert_eq!(left(&talk.interrupted()), None);
    assert_eq!(left(&talk.interrupted()), Some(Leave::Interrupted));
}

#[test]
fn an_interrupt_ends_each_reply_and_never_leaves_while_one_runs() {
    let mut talk = talk();
    talk.typed("a");
    talk.interrupted();
    talk.typed("/retry");
    let effects = talk.interrupted();
    assert_eq!((cancelled(&effects), left(&effects)), (vec![CallId(2)], None));
}

#[test]
fn an_interrupt_forgets_a_message_that_was_begun() {
    let mut talk = talk();
    talk.typed("\"\"\"");
    assert!(talk.is_composing());
    assert!(notes(&talk.interrupted()).contains("forgotten"));
    assert!(!talk.is_composing());
    assert_eq!(sent(&talk.typed("x")), ["x"]);
}

#[test]
fn when_nothing_more_is_typed_what_runs_and_waits_is_still_answered() {
    let mut talk = talk();
    talk.typed("a");
    talk.typed("b");
    assert_eq!(left(&talk.closed()), None);
    assert_eq!(left(&talk.heard(end(1, answer("A")))), None);
    assert_eq!(left(&talk.heard(end(2, answer("B")))), Some(Leave::Done));
    let mut talk = crate::support::talk();
    assert_eq!(left(&talk.closed()), Some(Leave::Done));
}

#[test]
fn when_nothing_more_is_typed_a_fault_leaves() {
    let mut talk = talk();
    talk.typed("a");
    talk.closed();
    assert_eq!(left(&talk.heard(end(1, Err(stalled())))), Some(Leave::Done));
}

#[test]
fn what_no_longer_fits_the_window_is_left_out_and_told_once() {
    let mut talk = talk_with(Route { window: Some(600), output: Some(100), ..Route::plain("m-1", None) });
    let mut told = Vec::new();
    for call in 1..=6 {
        let effects = talk.typed(&format!("{call} {}", "x".repeat(300)));
        assert_eq!(asks(&effects)[0].output_tokens, 100);
        let turns = asks(&effects)[0].prompt.turns.len();
        told.push((turns, notes(&effects)));
        talk.heard(end(call, answer("short")));
    }
    assert_eq!(talk.history().len(), 12, "the conversation itself stays whole");
    let (turns, note) = &told[5];
    assert!(*turns < 11 && note.contains("are not sent"), "{told:?}");
    assert!(told[0].1.is_empty() && told[1].1.is_empty(), "{told:?}");
    for (turns, note) in &told {
        assert!(note.lines().count() <= 1 && turns % 2 == 1, "{told:?}");
    }
    // A retry leaves out the same and says nothing anew.
    talk.typed("short");
    talk.interrupted();
    assert_eq!(notes(&talk.typed("/retry")), "");
}
