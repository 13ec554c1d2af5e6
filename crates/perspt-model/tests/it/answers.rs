//! What makes an answer.

use perspt_model::{ModelError, StopReason, Usage};
use perspt_testkit::server::{self, Fault, Reply};

use crate::support::{raw, trial};

const TEXT: &str = "Grüße aus Łódź: 🦀 writes\n\"code\" \\ and \u{2028} more.";

#[tokio::test]
async fn a_streamed_answer_comes_whole_with_stop_reason_usage_and_model() {
    let usage = server::Usage { input: 120, output: 9, cached: 64 };
    let trial = trial(Reply::text(TEXT).chunk_chars(5).usage(usage)).await;
    assert_eq!(trial.chunks.concat(), TEXT);
    assert_eq!(trial.chunks.len(), TEXT.chars().count().div_ceil(5));
    let answer = trial.answer();
    assert_eq!(answer.text, TEXT);
    assert_eq!(answer.stop, StopReason::End);
    assert_eq!(answer.usage, Some(Usage { input: 120, output: 9, cached: 64 }));
    assert_eq!(answer.model, "some-model");
    assert!(answer.first_token <= answer.latency);
}

#[tokio::test]
async fn an_answer_is_the_same_however_the_stream_is_cut_into_pieces() {
    for bytes in [1, 2, 3, 7, 64] {
        let trial = trial(Reply::text(TEXT).chunk_chars(4).frame_bytes(bytes)).await;
        assert_eq!(trial.answer().text, TEXT, "pieces of {bytes} bytes");
    }
}

#[tokio::test]
async fn a_stop_reason_without_an_end_mark_makes_an_answer() {
    let answer = trial(Reply::text(TEXT).fault(Fault::NoDone)).await.answer();
    assert_eq!(answer.text, TEXT);
    assert!(answer.usage.is_some(), "what follows the stop reason is still read");
}

#[tokio::test]
async fn repeated_end_marks_are_ignored() {
    let answer = trial(Reply::text(TEXT).fault(Fault::EndTwice)).await.answer();
    assert_eq!((answer.text.as_str(), answer.stop), (TEXT, StopReason::End));
}

#[tokio::test]
async fn what_follows_the_end_mark_is_not_read() {
    let body = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\n\
                data: [DONE]\n\ndata: nonsense\n\ndata: {\"error\":\"late\"}";
    assert_eq!(trial(raw(body)).await.answer().text, "a");
}

#[tokio::test]
async fn a_server_that_does_not_stream_is_understood() {
    let trial = trial(Reply::text(TEXT).fault(Fault::NotStreamed)).await;
    assert_eq!(trial.chunks, [TEXT]);
    let answer = trial.answer();
    assert_eq!((answer.text.as_str(), answer.stop), (TEXT, StopReason::End));
    assert_eq!(answer.usage.map(|usage| usage.input), Some(100));
}

#[tokio::test]
async fn a_document_behind_white_space_and_a_byte_order_mark_is_understood() {
    let document = r#"{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}"#;
    for before in ["", " \n\n  ", "\u{feff}", "\n\u{feff}"] {
        let answer = trial(raw(format!("{before}{document}"))).await.answer();
        assert_eq!(answer.text, "hi", "{before:?}");
        assert_eq!(answer.model, "some-model", "a model that is not named is the one that was asked for");
    }
}

#[tokio::test]
async fn an_empty_text_with_a_stop_reason_is_an_answer_for_the_parser_to_judge() {
    let trial = trial(Reply::text("")).await;
    assert!(trial.chunks.is_empty());
    assert_eq!(trial.answer().text, "");
}

#[tokio::test]
async fn reasoning_is_not_part_of_the_text() {
    let trial = trial(Reply::text("done").reasoning("let me think")).await;
    assert_eq!(trial.chunks, ["done"]);
    assert_eq!(trial.answer().text, "done");
}

#[tokio::test]
async fn text_given_in_typed_parts_is_text_and_thinking_parts_are_not() {
    let body = concat!(
        "data: {\"choices\":[{\"delta\":{\"content\":[{\"type\":\"thinking\",\"thinking\":[]}]}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{\"content\":[{\"type\":\"text\",\"text\":\"a\"}]}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{\"content\":\"b\"},\"finish_reason\":\"stop\"}]}\n\n",
    );
    assert_eq!(trial(raw(body)).await.answer().text, "ab");
}

#[tokio::test]
async fn the_output_limit_makes_no_answer_and_tells_what_was_used() {
    for reason in ["length", "max_tokens", "LENGTH"] {
        let error = trial(Reply::text(TEXT).stop_reason(reason)).await.error();
        assert!(matches!(error, ModelError::OutputLimit { .. }), "{reason}: {error:?}");
        assert_eq!(error.usage().map(|usage| usage.input), Some(100));
        assert!(!error.is_transient());
    }
    let plain = Reply::text(TEXT).stop_reason("length").fault(Fault::NotStreamed);
    assert!(matches!(trial(plain).await.error(), ModelError::OutputLimit { .. }));
}

#[tokio::test]
async fn a_filtered_answer_is_told_as_such() {
    let error = trial(Reply::text(TEXT).stop_reason("content_filter")).await.error();
    assert!(matches!(error, ModelError::Filtered { .. }), "{error:?}");
    assert!(!error.is_transient());
}

#[tokio::test]
async fn tool_calls_without_text_are_no_answer_and_with_text_they_are_one() {
    let called = Reply::text("").tool_call("grep");
    for reply in [called.clone(), called.stop_reason("stop"), Reply::text("").stop_reason("tool_calls")] {
        for reply in [reply.clone(), reply.fault(Fault::NotStreamed)] {
            let error = trial(reply).await.error();
            assert!(matches!(error, ModelError::OnlyToolCalls { .. }), "{error:?}");
            assert!(!error.is_transient());
        }
    }
    let answer = trial(Reply::text("words").tool_call("grep")).await.answer();
    assert_eq!((answer.text.as_str(), answer.stop), ("words", StopReason::ToolCalls));
}

#[tokio::test]
async fn a_stop_reason_nobody_knows_makes_no_answer() {
    let error = trial(Reply::text(TEXT).stop_reason("bored")).await.error();
    assert!(matches!(&error, ModelError::UnknownStop { reason, .. } if reason == "bored"), "{error:?}");
}

#[tokio::test]
async fn trouble_told_as_a_stop_reason_is_transient() {
    let error = trial(Reply::text(TEXT).stop_reason("insufficient_system_resource")).await.error();
    assert!(matches!(&error, ModelError::InBand { code: Some(_), .. }), "{error:?}");
    assert!(error.is_transient());
}
