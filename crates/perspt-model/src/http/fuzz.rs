//! Bodies of every protocol, whole and broken, cut anywhere.

use proptest::prelude::*;

use super::body::Body;
use super::said::{Progress, Said};
use crate::ask::{CallLimits, StopReason, Usage};
use crate::error::ModelError;
use crate::key::Censor;
use crate::protocol::Protocol;

type Outcome = Result<(String, StopReason, Option<Usage>), ModelError>;

fn read<'a>(protocol: Protocol, pieces: impl Iterator<Item = &'a [u8]>) -> (Outcome, String) {
    let limits = CallLimits { max_bytes: 40, ..CallLimits::default() };
    let mut body = Body::new(protocol, &limits, String::new(), Censor::default());
    let mut shown = String::new();
    let mut take = |text: &str| shown.push_str(text);
    let mut outcome = Ok(Progress::Nothing);
    for piece in pieces {
        outcome = body.push(piece, &mut take);
        if matches!(outcome, Ok(Progress::Done) | Err(_)) {
            break;
        }
    }
    let said = outcome.and_then(|_| body.finish(&mut take)).and_then(Said::outcome);
    (said.map(|said| (said.text, said.stop, said.usage)), shown)
}

/// Parts of responses: text, reasoning or a tool, the stop reason, the end mark, a document.
fn parts(protocol: Protocol) -> &'static [&'static str] {
    match protocol {
        Protocol::OpenAiChat => &[
            r#"data: {"choices":[{"delta":{"content":"gün🦀"}}]}"#,
            r#"data: {"choices":[{"delta":{"reasoning":"hm"}}]}"#,
            r#"data: {"choices":[{"delta":{},"finish_reason":"stop"}]}"#,
            r#"data: {"usage":{"prompt_tokens":3}}"#,
            r#"{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}"#,
        ],
        Protocol::OpenAiResponses => &[
            r#"data: {"type":"response.created","response":{"model":"m"}}"#,
            r#"data: {"type":"response.output_text.delta","delta":"gün🦀"}"#,
            r#"data: {"type":"response.reasoning_summary_text.delta","delta":"hm"}"#,
            r#"data: {"type":"response.completed","response":{"status":"completed","output":[]}}"#,
            r#"data: {"type":"response.failed","response":{"status":"failed","error":{"message":"x"}}}"#,
            r#"{"object":"response","status":"completed","output":[{"type":"message","content":[{"text":"a"}]}]}"#,
        ],
        Protocol::Anthropic => &[
            r#"data: {"type":"message_start","message":{"usage":{"input_tokens":3}}}"#,
            r#"data: {"type":"content_block_delta","delta":{"type":"text_delta","text":"gün🦀"}}"#,
            r#"data: {"type":"content_block_delta","delta":{"type":"thinking_delta","thinking":"hm"}}"#,
            r#"data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}"#,
            "event: message_stop\ndata: {\"type\":\"message_stop\"}",
            r#"{"type":"message","content":[{"type":"text","text":"a"}],"stop_reason":"end_turn"}"#,
        ],
        Protocol::Gemini => &[
            r#"data: {"candidates":[{"content":{"parts":[{"text":"gün🦀"}]}}]}"#,
            r#"data: {"candidates":[{"content":{"parts":[{"text":"hm","thought":true}]}}]}"#,
            r#"data: {"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":3}}"#,
            r#"data: {"promptFeedback":{"blockReason":"SAFETY"}}"#,
            r#"[{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}]}]"#,
        ],
        Protocol::Ollama => &[
            r#"{"message":{"content":"gün🦀"},"done":false}"#,
            r#"{"message":{"thinking":"hm"},"done":false}"#,
            r#"{"done":true,"done_reason":"stop","prompt_eval_count":3}"#,
            r#"{"message":{"content":"a"},"done":true,"done_reason":"stop"}"#,
            r#"data: {"done":true,"done_reason":"stop"}"#,
        ],
    }
}

const ODD: [&str; 10] = [
    "data: {\"error\":\"x\"}",
    "{\"error\":\"x\"}",
    "data: [DONE]",
    ": ping",
    "<html>",
    "\u{feff}",
    "\r\n\r\n",
    "\n",
    "{",
    "data: {\"hello\":1}",
];

fn response() -> impl Strategy<Value = (Protocol, Vec<u8>)> {
    prop::sample::select(Protocol::ALL.to_vec()).prop_flat_map(|protocol| {
        let fragment =
            prop_oneof![3 => prop::sample::select(parts(protocol)), 1 => prop::sample::select(&ODD[..])];
        let end = prop_oneof![4 => Just("\n\n"), 1 => Just("\n"), 1 => Just("")];
        prop::collection::vec((fragment, end), 0..8).prop_map(move |parts| {
            let text: String = parts.into_iter().map(|(text, end)| format!("{text}{end}")).collect();
            (protocol, text.into_bytes())
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_body_means_the_same_however_it_is_cut((protocol, bytes) in response(), size in 1usize..50) {
        let (outcome, shown) = read(protocol, std::iter::once(&bytes[..]));
        if let Ok((text, ..)) = &outcome {
            prop_assert_eq!(text, &shown, "what was shown is what was answered");
        }
        let (cut, cut_shown) = read(protocol, bytes.chunks(size));
        prop_assert_eq!(without_count(cut), without_count(outcome));
        prop_assert_eq!(cut_shown, shown);
    }

    #[test]
    fn no_body_makes_it_panic(
        protocol in prop::sample::select(Protocol::ALL.to_vec()),
        bytes in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let _ = read(protocol, bytes.chunks(7));
    }
}

/// After an end mark the rest is not read, so the count of bytes depends on the cut.
fn without_count(outcome: Outcome) -> Outcome {
    outcome.map_err(|error| match error {
        ModelError::CutOff { .. } => ModelError::CutOff { bytes_received: 0 },
        other => other,
    })
}

/// Each protocol's own row of events is an answer; without its end it is none, wherever the row stops.
#[test]
fn a_row_of_events_is_an_answer_only_with_its_end() {
    let rows: [(Protocol, &[usize]); 5] = [
        (Protocol::OpenAiChat, &[1, 0, 2]),
        (Protocol::OpenAiResponses, &[0, 2, 1, 3]),
        (Protocol::Anthropic, &[0, 2, 1, 3, 4]),
        (Protocol::Gemini, &[1, 0, 2]),
        (Protocol::Ollama, &[1, 0, 2]),
    ];
    for (protocol, row) in rows {
        let text = |row: &[usize]| -> String {
            row.iter().map(|at| format!("{}\n\n", parts(protocol)[*at])).collect()
        };
        let (outcome, _) = read(protocol, std::iter::once(text(row).as_bytes()));
        let (said, stop, _) = outcome.unwrap();
        assert_eq!((said.as_str(), stop), ("gün🦀", StopReason::End), "{protocol:?}");
        for stop in 1..row.len() {
            let (outcome, _) = read(protocol, std::iter::once(text(&row[..stop]).as_bytes()));
            assert!(matches!(outcome, Err(ModelError::CutOff { .. })), "{protocol:?} {stop}: {outcome:?}");
        }
    }
}
