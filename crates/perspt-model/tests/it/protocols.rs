//! Every protocol against everything that can come: one typed result for each cell.

use std::time::Duration;

use perspt_model::{Answer, CallLimits, Cancel, Model, ModelError, Protocol, Remote, StopReason, Usage};
use perspt_testkit::server::{self, Ending, Fault, Gate, Point, Reply};

use crate::support::{SHORT, ample, endpoint, prompt, serve, trial_in};

const TEXT: &str = "Grüße 🦀: one two three four five six seven";
const SECRET: &str = "sk-secret-0123456789";

type Outcome = Result<Answer, ModelError>;

fn reply() -> Reply {
    Reply::text(TEXT).chunk_chars(5)
}

fn faulty(fault: Fault) -> Reply {
    reply().fault(fault)
}

/// Asks every protocol the same and holds each result against the check.
async fn each(row: &str, limits: &CallLimits, reply: Reply, check: impl Fn(Protocol, &Outcome) -> bool) {
    for protocol in Protocol::ALL {
        let outcome = trial_in(protocol, limits, reply.clone()).await.result;
        assert!(check(protocol, &outcome), "{row}, {}: {outcome:?}", protocol.as_str());
    }
}

fn is_whole(outcome: &Outcome) -> bool {
    matches!(outcome, Ok(answer) if answer.text == TEXT && answer.stop == StopReason::End)
}

fn is_cut_off(outcome: &Outcome) -> bool {
    matches!(outcome, Err(ModelError::CutOff { bytes_received }) if *bytes_received > 0)
}

/// Where stop reason and end mark are two things, and both are needed.
fn has_own_end(protocol: Protocol) -> bool {
    match protocol {
        Protocol::Anthropic => true,
        Protocol::OpenAiChat | Protocol::OpenAiResponses | Protocol::Gemini | Protocol::Ollama => false,
    }
}

#[tokio::test]
async fn a_streamed_answer_comes_whole_with_tokens_and_model_in_every_protocol() {
    let usage = server::Usage { input: 120, output: 9, cached: 64 };
    for protocol in Protocol::ALL {
        let reply = reply().usage(usage).reasoning("let me think");
        let trial = trial_in(protocol, &ample(), reply).await;
        assert_eq!(trial.chunks.len(), TEXT.chars().count().div_ceil(5), "{protocol:?}");
        assert_eq!(trial.chunks.concat(), TEXT, "reasoning is no text: {protocol:?}");
        let answer = trial.answer();
        // Ollama does not tell what came from its cache.
        let cached = if protocol == Protocol::Ollama { 0 } else { 64 };
        assert_eq!(answer.usage, Some(Usage { input: 120, output: 9, cached }), "{protocol:?}");
        let name = if protocol == Protocol::Gemini { "scripted" } else { "some-model" };
        assert_eq!((answer.model.as_str(), answer.stop), (name, StopReason::End), "{protocol:?}");
    }
}

#[tokio::test]
async fn one_document_instead_of_a_stream_is_understood_in_every_protocol() {
    let usage = server::Usage { input: 120, output: 9, cached: 0 };
    let reply = faulty(Fault::NotStreamed).usage(usage);
    each("document", &ample(), reply, |_, outcome| {
        is_whole(outcome)
            && matches!(outcome, Ok(answer) if answer.usage == Some(Usage { input: 120, output: 9, cached: 0 }))
    })
    .await;
    let limit = faulty(Fault::NotStreamed).stop_reason("length");
    each("document at its limit", &ample(), limit, |_, outcome| {
        matches!(outcome, Err(ModelError::OutputLimit { usage: Some(_) }))
    })
    .await;
    let tool = Reply::text("").tool_call("grep").fault(Fault::NotStreamed);
    each("document with a tool", &ample(), tool, |_, outcome| {
        matches!(outcome, Err(ModelError::OnlyToolCalls { .. }))
    })
    .await;
}

#[tokio::test]
async fn a_cut_without_the_end_is_cut_off_in_every_protocol() {
    for ending in [Ending::Terminated, Ending::Torn] {
        for point in [2, 1000] {
            let fault = Fault::Cut(Point::AfterChunks(point), ending);
            each("cut", &ample(), faulty(fault), |_, outcome| is_cut_off(outcome)).await;
        }
    }
    each("end without stop", &ample(), faulty(Fault::DoneWithoutStop), |_, outcome| is_cut_off(outcome))
        .await;
}

#[tokio::test]
async fn what_is_missing_after_the_stop_reason_counts_only_where_the_protocol_has_an_end_of_its_own() {
    let check = |protocol, outcome: &Outcome| match has_own_end(protocol) {
        true => is_cut_off(outcome),
        false => is_whole(outcome),
    };
    each("no end mark", &ample(), faulty(Fault::NoDone), check).await;
    for ending in [Ending::Terminated, Ending::Torn] {
        let cut = faulty(Fault::Cut(Point::AfterStop, ending));
        each("cut after the stop reason", &ample(), cut, check).await;
    }
    each("end twice", &ample(), faulty(Fault::EndTwice), |_, outcome| is_whole(outcome)).await;
}

#[tokio::test]
async fn a_reset_is_a_reset_in_every_protocol() {
    for protocol in Protocol::ALL {
        let gate = Gate::new();
        let reset = faulty(Fault::Reset(Point::AfterChunks(2))).gate(Point::AfterChunks(2), &gate);
        let server = serve(reset);
        let model = Remote::new(endpoint(protocol, &server)).unwrap();
        let mut seen = 0;
        let mut take = |_: &str| {
            seen += 1;
            if seen == 2 {
                gate.open();
            }
        };
        let error = model.ask(&prompt(), &ample(), &mut take, &Cancel::new()).await.unwrap_err();
        assert!(matches!(error, ModelError::Reset { .. }), "{protocol:?}: {error:?}");
    }
}

#[tokio::test]
async fn a_malformed_event_ends_it_in_every_protocol_though_the_stream_goes_on() {
    each("garbage", &ample(), faulty(Fault::Garbage(Point::AfterChunks(2))), |_, outcome| {
        matches!(outcome, Err(ModelError::MalformedEvent { excerpt }) if excerpt.contains("delta"))
    })
    .await;
}

#[tokio::test]
async fn an_error_object_in_the_stream_ends_it_in_every_protocol() {
    for (code, transient) in [("503", true), ("400", false)] {
        let message = "the model is overloaded".to_owned();
        let fault = Fault::InBand { at: Point::AfterChunks(2), message, code: Some(code.to_owned()) };
        each("error object", &ample(), faulty(fault), |protocol, outcome| match outcome {
            // Ollama's errors have no code.
            Err(error @ ModelError::InBand { message, code: told }) => {
                message == "the model is overloaded"
                    && (protocol == Protocol::Ollama || told.as_deref() == Some(code))
                    && (protocol == Protocol::Ollama || error.is_transient() == transient)
            }
            _ => false,
        })
        .await;
    }
}

#[tokio::test]
async fn a_limit_a_filter_and_a_tool_are_told_apart_in_every_protocol() {
    each("output limit", &ample(), reply().stop_reason("length"), |_, outcome| {
        matches!(outcome, Err(error @ ModelError::OutputLimit { .. }) if error.usage().is_some())
    })
    .await;
    each("filter", &ample(), reply().stop_reason("content_filter"), |protocol, outcome| {
        // Ollama has no filter, so it has no word for one.
        match outcome {
            Err(ModelError::UnknownStop { .. }) => protocol == Protocol::Ollama,
            Err(ModelError::Filtered { .. }) => protocol != Protocol::Ollama,
            Ok(_) | Err(_) => false,
        }
    })
    .await;
    each(
        "unknown reason",
        &ample(),
        reply().stop_reason("bored"),
        |_, outcome| matches!(outcome, Err(ModelError::UnknownStop { reason, .. }) if reason == "bored"),
    )
    .await;
    each("tool alone", &ample(), Reply::text("").tool_call("grep"), |_, outcome| {
        matches!(outcome, Err(ModelError::OnlyToolCalls { .. }))
    })
    .await;
    each(
        "tool after text",
        &ample(),
        reply().tool_call("grep"),
        |_, outcome| matches!(outcome, Ok(answer) if answer.text == TEXT),
    )
    .await;
}

#[tokio::test]
async fn each_status_has_its_own_error_in_every_protocol() {
    type Check = fn(&ModelError) -> bool;
    let cases: [(u16, Check); 7] = [
        (400, |error| matches!(error, ModelError::BadRequest { .. })),
        (401, |error| matches!(error, ModelError::Unauthorised { status: 401, .. })),
        (403, |error| matches!(error, ModelError::Unauthorised { status: 403, .. })),
        (404, |error| matches!(error, ModelError::NotFound { .. })),
        (429, |error| matches!(error, ModelError::RateLimited { .. })),
        (500, |error| matches!(error, ModelError::Server { status: 500, .. })),
        (529, |error| matches!(error, ModelError::Server { status: 529, .. })),
    ];
    for (status, check) in cases {
        let reply = Reply::status(status, "words from the provider");
        each(&status.to_string(), &ample(), reply, |_, outcome| match outcome {
            Err(error) => check(error) && error.what().ends_with(": words from the provider"),
            Ok(_) => false,
        })
        .await;
    }
    let wait = Some(Duration::from_secs(7));
    each(
        "Retry-After",
        &ample(),
        Reply::retry_after(429, "7"),
        |_, outcome| matches!(outcome, Err(error) if error.retry_after() == wait),
    )
    .await;
}

#[tokio::test]
async fn the_three_timeouts_hold_in_every_protocol_and_pings_do_not_help() {
    let first = CallLimits { first_byte: SHORT, ..ample() };
    let is_first = |_, outcome: &Outcome| matches!(outcome, Err(ModelError::FirstByteTimeout { after }) if *after == SHORT);
    for fault in [Fault::Stall(Point::AfterChunks(0)), Fault::Pings(Point::AfterChunks(0))] {
        each("first byte", &first, faulty(fault), is_first).await;
    }
    let idle = CallLimits { idle: SHORT, ..ample() };
    let is_idle =
        |_, outcome: &Outcome| matches!(outcome, Err(ModelError::IdleTimeout { after }) if *after == SHORT);
    each("idle", &idle, faulty(Fault::Stall(Point::AfterChunks(3))), is_idle).await;
    let thinking = faulty(Fault::Stall(Point::AfterChunks(0))).reasoning("hm");
    each("reasoning is a first byte", &idle, thinking, is_idle).await;
    // Long against the pause between two pings, so that it is not such a pause that ends the call.
    let after = Duration::from_millis(200);
    let pinged = CallLimits { idle: after, ..ample() };
    each("pings", &pinged, faulty(Fault::Pings(Point::AfterChunks(3))), |_, outcome| {
        matches!(outcome, Err(ModelError::IdleTimeout { .. }))
    })
    .await;
    let total = CallLimits { total: SHORT, ..ample() };
    each("total", &total, faulty(Fault::Stall(Point::AfterChunks(3))), |_, outcome| {
        matches!(outcome, Err(ModelError::TotalTimeout { .. }))
    })
    .await;
}

#[tokio::test]
async fn a_cancelled_call_closes_its_connection_in_every_protocol() {
    for protocol in Protocol::ALL {
        let gate = Gate::new();
        let server = serve(reply().gate(Point::AfterChunks(2), &gate));
        let cancel = Cancel::new();
        let model = Remote::new(endpoint(protocol, &server)).unwrap();
        let (prompt, limits, mut quiet) = (prompt(), ample(), |_: &str| {});
        let (result, ()) = tokio::join!(model.ask(&prompt, &limits, &mut quiet, &cancel), async {
            gate.arrivals().reached(1).await;
            cancel.cancel();
        });
        assert_eq!(result.unwrap_err(), ModelError::Cancelled, "{protocol:?}");
        server.hang_ups().reached(1).await;
    }
}

#[tokio::test]
async fn an_answer_is_the_same_in_every_protocol_however_the_stream_is_cut() {
    for bytes in [1, 3, 64] {
        each("pieces", &ample(), reply().frame_bytes(bytes), |_, outcome| is_whole(outcome)).await;
    }
}

#[tokio::test]
async fn what_is_no_model_service_is_told_as_such_in_every_protocol() {
    let replies = [
        Reply::raw("text/html", ["<!doctype html><p>Please log in"]),
        Reply::raw("application/json", ["{\"status\":\"fine\"}"]),
        Reply::raw("text/plain", ["hello there"]),
    ];
    for reply in replies {
        each("another service", &ample(), reply, |_, outcome| {
            matches!(outcome, Err(error @ ModelError::NotAChat { .. }) if !error.what().contains("chat-comp"))
        })
        .await;
    }
}

#[tokio::test]
async fn a_key_repeated_by_the_server_is_in_no_error_of_any_protocol() {
    let said = format!("your key is {SECRET}, and your header Bearer {SECRET}");
    let in_band =
        Fault::InBand { at: Point::AfterChunks(1), message: said.clone(), code: Some(SECRET.to_owned()) };
    let replies = [
        Reply::status(400, &said),
        Reply::status(401, &said),
        Reply::status(429, &said),
        Reply::status(500, &said),
        reply().stop_reason(&said),
        faulty(in_band),
        Reply::raw("text/event-stream", [format!("data: {{\"wrong\": \"{said}\"}}\n\n")]),
        Reply::raw(
            "application/x-ndjson",
            [format!("{{\"message\": {{\"content\": {{\"a\": \"{said}\"}}}}}}\n")],
        ),
        Reply::raw(&format!("text/{SECRET}"), [said.clone()]),
    ];
    for reply in replies {
        each("a key", &ample(), reply, |_, outcome| match outcome {
            Err(error) => {
                let shown = format!("{error} {error:?} {}", error.what());
                !shown.contains("sk-") && !shown.contains("0123")
            }
            Ok(_) => false,
        })
        .await;
    }
}

/// What only one protocol can say.
#[tokio::test]
async fn the_peculiar_ways_of_single_protocols_are_understood() {
    type Check = fn(&Outcome) -> bool;
    let overloaded = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    let failed = "data: {\"type\":\"response.failed\",\"response\":{\"status\":\"failed\",\
                  \"error\":{\"code\":\"rate_limit_exceeded\",\"message\":\"slow down\"}}}\n\n";
    let blocked = "data: {\"promptFeedback\":{\"blockReason\":\"SAFETY\"},\"usageMetadata\":{\"promptTokenCount\":4}}\n\n";
    let untold = "data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"output\":[\
                  {\"type\":\"reasoning\",\"content\":[{\"type\":\"reasoning_text\",\"text\":\"hm\"}]},\
                  {\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"late\"}]}]}}\n\n";
    let list = "[{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\"}]}}]},\n\
                {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"b\"}]},\"finishReason\":\"STOP\"}]}]";
    let later = "event: content_block_start\ndata: {\"type\":\"shiny_new_event\"}\n\n\
                 data: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"a\"}}\n\n\
                 data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n\
                 data: {\"type\":\"message_stop\"}\n\n";
    let cases: [(Protocol, &str, Check); 8] = [
        (Protocol::Ollama, "{\"message\":{\"content\":\"a\"},\"done\":true}\n", |outcome| {
            matches!(outcome, Err(ModelError::CutOff { .. }))
        }),
        (Protocol::Anthropic, overloaded, |outcome| {
            matches!(outcome, Err(error @ ModelError::InBand { code: Some(code), .. })
                if code == "overloaded_error" && error.is_transient())
        }),
        (Protocol::OpenAiResponses, failed, |outcome| {
            matches!(outcome, Err(error @ ModelError::InBand { message, .. })
                if message == "slow down" && error.is_transient())
        }),
        (Protocol::Gemini, blocked, |outcome| matches!(outcome, Err(ModelError::Filtered { .. }))),
        (Protocol::OpenAiResponses, untold, |outcome| matches!(outcome, Ok(answer) if answer.text == "late")),
        (Protocol::Gemini, list, |outcome| matches!(outcome, Ok(answer) if answer.text == "ab")),
        (Protocol::Anthropic, later, |outcome| matches!(outcome, Ok(answer) if answer.text == "a")),
        (Protocol::Ollama, "{\"error\":\"model 'x' not found\"}\n", |outcome| {
            matches!(outcome, Err(ModelError::InBand { .. }))
        }),
    ];
    for (protocol, body, check) in cases {
        let outcome = trial_in(protocol, &ample(), Reply::raw("text/event-stream", [body])).await.result;
        assert!(check(&outcome), "{protocol:?}: {body}: {outcome:?}");
    }
}

#[tokio::test]
async fn gemini_tells_the_wait_and_a_wrong_key_in_the_body_of_its_refusal() {
    let delay = r#"{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED","details":[
        {"@type":"type.googleapis.com/google.rpc.QuotaFailure"},
        {"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.5s"}]}}"#;
    let wrong =
        r#"[{"error":{"code":400,"message":"API key not valid.","details":[{"reason":"API_KEY_INVALID"}]}}]"#;
    let error = |status: u16, body: &'static str| async move {
        trial_in(Protocol::Gemini, &ample(), Reply::status(status, "").body(body)).await.error()
    };
    let limited = error(429, delay).await;
    assert_eq!(limited.retry_after(), Some(Duration::from_millis(34_500)), "{limited:?}");
    let refused = error(400, wrong).await;
    assert!(matches!(refused, ModelError::Unauthorised { status: 400, .. }), "{refused:?}");
    assert!(refused.what().contains("API key not valid."), "{refused}");
}

#[tokio::test]
async fn thoughts_are_counted_as_written_and_cache_writes_as_read() {
    let beside = r#"{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":32,
        "completion_tokens":9,"total_tokens":135,"completion_tokens_details":{"reasoning_tokens":94}}}"#;
    let trial = trial_in(Protocol::OpenAiChat, &ample(), Reply::raw("application/json", [beside])).await;
    assert_eq!(trial.answer().usage, Some(Usage { input: 32, output: 103, cached: 0 }));
    let thought = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\"}]},\"finishReason\":\"STOP\"}],\
                   \"usageMetadata\":{\"promptTokenCount\":10,\"candidatesTokenCount\":2,\"thoughtsTokenCount\":30}}\n\n";
    let trial = trial_in(Protocol::Gemini, &ample(), Reply::raw("text/event-stream", [thought])).await;
    assert_eq!(trial.answer().usage, Some(Usage { input: 10, output: 32, cached: 0 }));
    let written = r#"{"type":"message","content":[],"stop_reason":"end_turn","usage":{"input_tokens":5,
        "cache_creation_input_tokens":100,"cache_read_input_tokens":20,"output_tokens":7}}"#;
    let trial = trial_in(Protocol::Anthropic, &ample(), Reply::raw("application/json", [written])).await;
    assert_eq!(trial.answer().usage, Some(Usage { input: 125, output: 7, cached: 20 }));
}
