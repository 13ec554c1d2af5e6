//! Streams that end too early or say something else.

use perspt_model::{CallLimits, Cancel, Model, ModelError};
use perspt_testkit::server::{Ending, Fault, Gate, Point, Reply};

use crate::support::{SHORT, ample, model, prompt, raw, serve, trial, trial_within};

const TEXT: &str = "one two three four five six seven eight nine ten";

fn reply(fault: Fault) -> Reply {
    Reply::text(TEXT).chunk_chars(4).fault(fault)
}

#[tokio::test]
async fn a_clean_end_without_stop_reason_is_cut_off() {
    for point in [0, 3, 1000] {
        let trial = trial(reply(Fault::Cut(Point::AfterChunks(point), Ending::Terminated))).await;
        assert_eq!(trial.chunks.len(), point.min(TEXT.len() / 4), "what came was shown");
        let error = trial.error();
        assert!(matches!(error, ModelError::CutOff { bytes_received } if bytes_received > 0), "{error:?}");
        assert!(error.is_transient());
    }
}

#[tokio::test]
async fn a_connection_closed_within_the_message_is_cut_off() {
    for point in [0, 3, 1000] {
        let error = trial(reply(Fault::Cut(Point::AfterChunks(point), Ending::Torn))).await.error();
        assert!(matches!(error, ModelError::CutOff { bytes_received } if bytes_received > 0), "{error:?}");
    }
}

#[tokio::test]
async fn a_connection_closed_before_any_response_is_cut_off() {
    let error = trial(reply(Fault::Cut(Point::BeforeHead, Ending::Torn))).await.error();
    assert_eq!(error, ModelError::CutOff { bytes_received: 0 });
}

#[tokio::test]
async fn an_end_mark_without_stop_reason_is_cut_off() {
    let error = trial(reply(Fault::DoneWithoutStop)).await.error();
    assert!(matches!(error, ModelError::CutOff { .. }), "{error:?}");
}

#[tokio::test]
async fn a_reset_within_the_answer_is_a_reset() {
    let gate = Gate::new();
    let server = serve(reply(Fault::Reset(Point::AfterChunks(2))).gate(Point::AfterChunks(2), &gate));
    let mut seen = 0;
    // The reset comes when two chunks were read: one that overtakes data takes it away.
    let mut take = |_: &str| {
        seen += 1;
        if seen == 2 {
            gate.open();
        }
    };
    let error = model(&server).ask(&prompt(), &ample(), &mut take, &Cancel::new()).await.unwrap_err();
    assert!(matches!(error, ModelError::Reset { bytes_received } if bytes_received > 0), "{error:?}");
    assert!(error.is_transient());
    assert_eq!(seen, 2);
}

#[tokio::test]
async fn a_reset_before_any_response_is_a_reset() {
    let error = trial(reply(Fault::Reset(Point::BeforeHead))).await.error();
    assert_eq!(error, ModelError::Reset { bytes_received: 0 });
}

#[tokio::test]
async fn the_first_malformed_event_ends_it_though_the_stream_goes_on() {
    let trial = trial(reply(Fault::Garbage(Point::AfterChunks(2)))).await;
    assert_eq!(trial.chunks.len(), 2, "nothing after it is taken");
    let error = trial.error();
    assert!(
        matches!(&error, ModelError::MalformedEvent { excerpt } if excerpt.contains("delta")),
        "{error:?}"
    );
    assert!(error.is_transient());
}

#[tokio::test]
async fn an_error_object_in_the_stream_ends_it_with_message_and_code() {
    let fault = |code: Option<&str>| Fault::InBand {
        at: Point::AfterChunks(2),
        message: "the model is overloaded".to_owned(),
        code: code.map(str::to_owned),
    };
    let trial_ = trial(reply(fault(None))).await;
    assert_eq!(trial_.chunks.len(), 2);
    let error = trial_.error();
    let message = "the model is overloaded".to_owned();
    assert_eq!(error, ModelError::InBand { message, code: Some("server_error".to_owned()) });
    assert!(error.is_transient());
    for (code, transient) in [
        ("context_length_exceeded", false),
        ("insufficient_quota", false),
        ("400", false),
        ("429", true),
        ("502", true),
    ] {
        let error = trial(reply(fault(Some(code)))).await.error();
        assert!(matches!(&error, ModelError::InBand { code: Some(told), .. } if told == code), "{error:?}");
        assert_eq!(error.is_transient(), transient, "{code}");
    }
}

#[tokio::test]
async fn every_way_of_telling_an_error_within_a_good_response_is_found() {
    for body in [
        "data: {\"error\":\"no memory\"}\n\n",
        "data: {\"object\":\"error\",\"message\":\"no memory\",\"code\":500}\n\n",
        "event: error\ndata: no memory\n\n",
        "event: error\ndata: {\"error\":{\"message\":\"no memory\"}}\n\n",
        "{\"error\":{\"message\":\"no memory\"}}",
        "data: {\"error\":{\"message\":\"no memory\"}}",
    ] {
        let error = trial(raw(body)).await.error();
        assert!(
            matches!(&error, ModelError::InBand { message, .. } if message == "no memory"),
            "{body}: {error:?}"
        );
    }
}

#[tokio::test]
async fn a_connection_that_breaks_after_the_stop_reason_loses_only_the_token_count() {
    for ending in [Ending::Torn, Ending::Terminated] {
        let answer = trial(reply(Fault::Cut(Point::AfterStop, ending))).await.answer();
        assert_eq!((answer.text.as_str(), answer.usage), (TEXT, None), "{ending:?}");
    }
}

#[tokio::test]
async fn a_stream_that_stalls_after_the_stop_reason_is_an_answer() {
    // Text and stop reason are one event: the idle time cannot end between them.
    let whole = "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\n";
    let limits = CallLimits { idle: SHORT, ..ample() };
    let trial = trial_within(&limits, raw(whole).fault(Fault::Stall(Point::AfterChunks(1)))).await;
    assert_eq!(trial.answer().text, "hi");
}

#[tokio::test]
async fn an_error_after_the_stop_reason_is_still_an_error() {
    let error = trial(reply(Fault::Garbage(Point::AfterStop))).await.error();
    assert!(matches!(error, ModelError::MalformedEvent { .. }), "{error:?}");
    let late = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\n\
                data: {\"choices\":[{\"delta\":{\"content\":\"b\"}}]}\n\n";
    let error = trial(raw(late)).await.error();
    assert!(matches!(error, ModelError::MalformedEvent { .. }), "text after the end: {error:?}");
}

#[tokio::test]
async fn a_document_without_stop_reason_or_cut_short_is_cut_off() {
    let whole = r#"{"choices":[{"message":{"content":"hi"},"finish_reason":null}]}"#;
    for body in [whole, &whole[..40]] {
        let error = trial(raw(body)).await.error();
        assert_eq!(error, ModelError::CutOff { bytes_received: body.len() as u64 });
    }
}

#[tokio::test]
async fn a_torn_last_event_is_a_cut_and_a_whole_one_without_its_empty_line_counts() {
    let start = "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"}}]}\n\n";
    let end = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}";
    let torn = format!("{start}{}", &end[..30]);
    assert!(matches!(trial(raw(torn)).await.error(), ModelError::CutOff { .. }));
    for tail in ["", "\n", "\r\n"] {
        assert_eq!(trial(raw(format!("{start}{end}{tail}"))).await.answer().text, "hi");
    }
}

#[tokio::test]
async fn nothing_but_comments_is_cut_off() {
    let error = trial(raw(": ping\n\n: ping\n\n")).await.error();
    assert_eq!(error, ModelError::CutOff { bytes_received: 16 });
    assert_eq!(trial(raw("")).await.error(), ModelError::CutOff { bytes_received: 0 });
}
