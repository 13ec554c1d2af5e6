//! Timeouts, sizes and cancelling. A timeout is short only where the server never answers.

use std::time::Duration;

use perspt_model::{CallLimits, Cancel, Model, ModelError};
use perspt_testkit::server::{Fault, Gate, Point, Reply};

use crate::support::{SHORT, ample, model, prompt, raw, serve, trial_within};

const TEXT: &str = "one two three four five six seven eight nine ten";

fn reply(fault: Fault) -> Reply {
    Reply::text(TEXT).chunk_chars(4).fault(fault)
}

#[tokio::test]
async fn a_server_that_sends_no_response_is_a_first_byte_timeout() {
    let limits = CallLimits { first_byte: SHORT, ..ample() };
    let error = trial_within_any(&limits, reply(Fault::Stall(Point::BeforeHead))).await;
    assert_eq!(error, ModelError::FirstByteTimeout { after: SHORT });
    assert!(error.is_transient());
}

#[tokio::test]
async fn headers_and_empty_pieces_are_not_the_first_byte() {
    let limits = CallLimits { first_byte: SHORT, ..ample() };
    let error = trial_within_any(&limits, reply(Fault::Stall(Point::AfterChunks(0)))).await;
    assert_eq!(error, ModelError::FirstByteTimeout { after: SHORT });
    let error = trial_within_any(&limits, reply(Fault::Pings(Point::AfterChunks(0)))).await;
    assert_eq!(error, ModelError::FirstByteTimeout { after: SHORT }, "pings are not content");
}

#[tokio::test]
async fn a_stall_within_the_answer_is_an_idle_timeout() {
    let limits = CallLimits { idle: SHORT, ..ample() };
    let error = trial_within(&limits, reply(Fault::Stall(Point::AfterChunks(3)))).await.error();
    assert_eq!(error, ModelError::IdleTimeout { after: SHORT });
    assert!(error.is_transient());
}

#[tokio::test]
async fn pings_and_empty_pieces_do_not_reset_the_idle_time() {
    // Long against the pause between two pings, so that it is not such a pause that ends the call.
    let idle = Duration::from_millis(400);
    let limits = CallLimits { idle, ..ample() };
    let error = trial_within(&limits, reply(Fault::Pings(Point::AfterChunks(3)))).await.error();
    assert_eq!(error, ModelError::IdleTimeout { after: idle });
}

#[tokio::test]
async fn reasoning_counts_as_content() {
    let limits = CallLimits { idle: SHORT, ..ample() };
    let reply = reply(Fault::Stall(Point::AfterChunks(0))).reasoning("hm");
    let error = trial_within(&limits, reply).await.error();
    assert_eq!(error, ModelError::IdleTimeout { after: SHORT }, "the first byte was there");
}

#[tokio::test]
async fn an_answer_that_never_ends_is_a_total_timeout() {
    let limits = CallLimits { total: SHORT, ..ample() };
    for fault in [Fault::Stall(Point::BeforeHead), Fault::Stall(Point::AfterChunks(3))] {
        let error = trial_within_any(&limits, reply(fault)).await;
        assert_eq!(error, ModelError::TotalTimeout { after: SHORT });
        assert!(error.is_transient());
    }
}

#[tokio::test]
async fn a_document_that_stalls_is_an_idle_timeout() {
    let limits = CallLimits { idle: SHORT, ..ample() };
    let pieces = [r#"{"choices":[{"message":"#, "{}"];
    let reply = Reply::raw("application/json", pieces).fault(Fault::Stall(Point::AfterChunks(1)));
    assert_eq!(trial_within(&limits, reply).await.error(), ModelError::IdleTimeout { after: SHORT });
}

#[tokio::test]
async fn a_limit_beyond_every_clock_is_no_limit() {
    let limits =
        CallLimits { first_byte: Duration::MAX, idle: Duration::MAX, total: Duration::MAX, ..ample() };
    assert_eq!(trial_within(&limits, Reply::text(TEXT)).await.answer().text, TEXT);
}

#[tokio::test]
async fn an_answer_of_exactly_the_limit_is_taken_and_one_byte_more_is_too_large() {
    for fault in [None, Some(Fault::NotStreamed)] {
        let sized = |bytes: usize| {
            let reply = Reply::text("x".repeat(bytes));
            fault.clone().map_or(reply.clone(), |fault| reply.fault(fault))
        };
        let limits = CallLimits { max_bytes: 10_000, ..ample() };
        assert_eq!(trial_within(&limits, sized(10_000)).await.answer().text.len(), 10_000);
        let trial = trial_within(&limits, sized(10_001)).await;
        assert!(trial.chunks.concat().len() <= 10_000);
        let error = trial.error();
        assert_eq!(error, ModelError::TooLarge { limit: 10_000 });
        assert!(!error.is_transient());
    }
}

#[tokio::test]
async fn one_event_or_document_without_end_is_too_large() {
    let limits = CallLimits { max_bytes: 1000, ..ample() };
    for start in ["data: ", "{\"choices\": \"", "\n\n"] {
        let filler = if start == "\n\n" { "\n" } else { "x" };
        let body = format!("{start}{}", filler.repeat(200_000));
        let error = trial_within(&limits, raw(body)).await.error();
        assert_eq!(error, ModelError::TooLarge { limit: 1000 }, "{start:?}");
    }
}

#[tokio::test]
async fn eight_megabytes_fit_the_default_limit() {
    let limits = CallLimits { max_bytes: CallLimits::default().max_bytes, ..ample() };
    let answer = trial_within(&limits, Reply::huge(8 * 1024 * 1024)).await.answer();
    assert_eq!(answer.text.len(), 8 * 1024 * 1024);
}

#[tokio::test]
async fn a_call_cancelled_beforehand_sends_nothing() {
    let server = serve(Reply::text(TEXT));
    let cancel = Cancel::new();
    cancel.cancel();
    let error = model(&server).ask(&prompt(), &ample(), &mut |_: &str| {}, &cancel).await.unwrap_err();
    assert_eq!(error, ModelError::Cancelled);
    assert!(!error.is_transient());
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn a_cancelled_call_ends_at_once_and_closes_its_connection() {
    for point in [Point::BeforeHead, Point::AfterChunks(2)] {
        let gate = Gate::new();
        let server = serve(Reply::text(TEXT).chunk_chars(4).gate(point, &gate));
        let cancel = Cancel::new();
        let (prompt, limits, model) = (prompt(), ample(), model(&server));
        let mut quiet = |_: &str| {};
        let (result, ()) = tokio::join!(model.ask(&prompt, &limits, &mut quiet, &cancel), async {
            gate.arrivals().reached(1).await;
            cancel.cancel();
        });
        assert_eq!(result.unwrap_err(), ModelError::Cancelled);
        server.hang_ups().reached(1).await;
    }
}

/// As `trial_within`, for limits so short that the request may not even arrive.
async fn trial_within_any(limits: &CallLimits, reply: Reply) -> ModelError {
    let server = serve(reply);
    model(&server).ask(&prompt(), limits, &mut |_: &str| {}, &Cancel::new()).await.unwrap_err()
}
