//! The body of a good response: a stream of events, or one JSON document where the server does not stream.

use super::chat::{Chat, Progress};
use crate::ask::{CallLimits, Chunks};
use crate::error::ModelError;
use crate::key::Censor;
use crate::sse::{Decoder, SseEvent};

/// The shape is told by the first byte that is neither white space nor a byte order mark: servers are careless with
/// content types, and an event stream cannot usefully begin with `{`.
enum Shape {
    Unknown,
    Events(Decoder),
    Document,
}

/// Room for the JSON around a text.
const ENVELOPE: usize = 64 * 1024;

/// How much of the start is kept, to show what came where it was no answer.
const START: usize = 1024;

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// Takes a body as it comes.
pub(super) struct Body {
    shape: Shape,
    /// Bytes not taken apart yet: all of a document, or what came before the shape was known.
    held: Vec<u8>,
    chat: Chat,
    saw_event: bool,
    done: bool,
    bytes_received: u64,
    start: Vec<u8>,
    content_type: String,
    limit: usize,
    censor: Censor,
}

impl Body {
    pub(super) fn new(limits: &CallLimits, content_type: String, censor: Censor) -> Body {
        Body {
            shape: Shape::Unknown,
            held: Vec::new(),
            chat: Chat::new(limits.max_bytes, censor.clone()),
            saw_event: false,
            done: false,
            bytes_received: 0,
            start: Vec::new(),
            content_type,
            limit: limits.max_bytes,
            censor,
        }
    }

    pub(super) fn bytes_received(&self) -> u64 {
        self.bytes_received
    }

    /// Whether the stop reason is there.
    pub(super) fn has_stopped(&self) -> bool {
        self.chat.has_stopped()
    }

    /// Takes the next bytes.
    pub(super) fn push(
        &mut self,
        bytes: &[u8],
        chunks: &mut (dyn Chunks + Send),
    ) -> Result<Progress, ModelError> {
        self.bytes_received += bytes.len() as u64;
        let room = START.saturating_sub(self.start.len());
        self.start.extend_from_slice(&bytes[..bytes.len().min(room)]);
        match self.shape {
            Shape::Events(_) => self.decode(bytes, chunks),
            Shape::Document => {
                self.held.extend_from_slice(bytes);
                self.check_held()?;
                // Some servers keep a connection alive with white space.
                let blank = bytes.iter().all(u8::is_ascii_whitespace);
                Ok(if blank { Progress::Nothing } else { Progress::Content })
            }
            Shape::Unknown => {
                self.held.extend_from_slice(bytes);
                self.settle_shape(chunks)
            }
        }
    }

    /// The body is over, or cut short after its stop reason: is it an answer?
    pub(super) fn finish(mut self, chunks: &mut (dyn Chunks + Send)) -> Result<Chat, ModelError> {
        let cut_off = ModelError::CutOff { bytes_received: self.bytes_received };
        match self.shape {
            Shape::Unknown => return Err(cut_off),
            Shape::Document => {
                let document = std::mem::take(&mut self.held);
                let document = document.trim_ascii_start();
                let document = document.strip_prefix(BOM).unwrap_or(document);
                match serde_json::from_slice(document) {
                    Ok(value) if Chat::is_document(&value) => self.chat.document(&value, chunks)?,
                    Ok(_) => return Err(self.not_a_chat()),
                    Err(error) if error.is_eof() => return Err(cut_off),
                    Err(_) => return Err(self.not_a_chat()),
                }
            }
            Shape::Events(decoder) => {
                self.shape = Shape::Unknown;
                match decoder.finish().map(|event| self.take(vec![event], chunks)) {
                    // A torn last event is the mark of a cut, not of a server that writes nonsense.
                    Some(Err(ModelError::MalformedEvent { .. })) | Some(Ok(_)) | None => {}
                    Some(Err(error)) => return Err(error),
                }
                if !self.saw_event && !self.looks_like_events() {
                    return Err(self.not_a_chat());
                }
            }
        }
        if self.chat.has_stopped() { Ok(self.chat) } else { Err(cut_off) }
    }

    fn check_held(&self) -> Result<(), ModelError> {
        if self.held.len() > self.capacity() {
            return Err(ModelError::TooLarge { limit: self.limit });
        }
        Ok(())
    }

    /// Escapes may double a text.
    fn capacity(&self) -> usize {
        self.limit.saturating_mul(2).saturating_add(ENVELOPE)
    }

    fn settle_shape(&mut self, chunks: &mut (dyn Chunks + Send)) -> Result<Progress, ModelError> {
        let text = self.held.trim_ascii_start();
        let significant = match text {
            [0xEF] | [0xEF, 0xBB] => None,
            text => text.strip_prefix(BOM).unwrap_or(text).trim_ascii_start().first(),
        };
        match significant {
            None => self.check_held().map(|()| Progress::Nothing),
            Some(b'{') => {
                self.shape = Shape::Document;
                self.check_held().map(|()| Progress::Content)
            }
            Some(_) => {
                self.shape = Shape::Events(Decoder::new(self.capacity()));
                let held = std::mem::take(&mut self.held);
                self.decode(&held, chunks)
            }
        }
    }

    fn decode(&mut self, bytes: &[u8], chunks: &mut (dyn Chunks + Send)) -> Result<Progress, ModelError> {
        let Shape::Events(decoder) = &mut self.shape else {
            unreachable!("BUG: the body is no event stream")
        };
        let mut events = Vec::new();
        let fits = decoder.push(bytes, &mut events);
        // What came before an event without end counts, an end mark most of all.
        let progress = self.take(events, chunks)?;
        match fits {
            Err(_) if progress != Progress::Done => Err(ModelError::TooLarge { limit: self.limit }),
            Ok(()) | Err(_) => Ok(progress),
        }
    }

    fn take(
        &mut self,
        events: Vec<SseEvent>,
        chunks: &mut (dyn Chunks + Send),
    ) -> Result<Progress, ModelError> {
        let mut progress = Progress::Nothing;
        for event in events {
            self.saw_event = true;
            if self.done {
                break;
            }
            match self.chat.event(&event, chunks)? {
                Progress::Done => {
                    self.done = true;
                    progress = Progress::Done;
                }
                Progress::Content => progress = Progress::Content,
                Progress::Nothing => {}
            }
        }
        Ok(progress)
    }

    /// Whether the body began as an event stream does, be it only with comments.
    fn looks_like_events(&self) -> bool {
        let start = self.start.trim_ascii_start();
        [&b":"[..], b"data", b"event", b"id", b"retry"].iter().any(|field| start.starts_with(field))
    }

    fn not_a_chat(&self) -> ModelError {
        let excerpt = self.censor.excerpt(&String::from_utf8_lossy(&self.start));
        ModelError::NotAChat { content_type: self.content_type.clone(), excerpt }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ask::{StopReason, Usage};

    type Outcome = Result<(String, StopReason, Option<Usage>), ModelError>;

    fn read<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> (Outcome, String) {
        let limits = CallLimits { max_bytes: 40, ..CallLimits::default() };
        let mut body = Body::new(&limits, String::new(), Censor::default());
        let mut shown = String::new();
        let mut take = |text: &str| shown.push_str(text);
        let mut outcome = Ok(Progress::Nothing);
        for piece in pieces {
            outcome = body.push(piece, &mut take);
            if matches!(outcome, Ok(Progress::Done) | Err(_)) {
                break;
            }
        }
        let said = outcome.and_then(|_| body.finish(&mut take)).and_then(Chat::outcome);
        (said.map(|said| (said.text, said.stop, said.usage)), shown)
    }

    /// Pieces of responses, whole and broken, in any order.
    fn response() -> impl Strategy<Value = Vec<u8>> {
        let fragment = prop_oneof![
            Just("data: {\"choices\":[{\"delta\":{\"content\":\"g\u{fc}n🦀\"}}]}"),
            Just("data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}"),
            Just("data: {\"usage\":{\"prompt_tokens\":3}}"),
            Just("data: {\"error\":\"x\"}"),
            Just("data: [DONE]"),
            Just("{\"choices\":[{\"message\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}"),
            Just(": ping"),
            Just("<html>"),
            Just("\u{feff}"),
            Just("\n\n"),
            Just("\r\n\r\n"),
            Just("\n"),
            Just("{"),
        ];
        prop::collection::vec((fragment, prop_oneof![4 => Just("\n\n"), 1 => Just("")]), 0..8).prop_map(
            |parts| {
                parts.into_iter().map(|(text, end)| format!("{text}{end}")).collect::<String>().into_bytes()
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_body_means_the_same_however_it_is_cut(bytes in response(), size in 1usize..50) {
            let (outcome, shown) = read(std::iter::once(&bytes[..]));
            if let Ok((text, ..)) = &outcome {
                prop_assert_eq!(text, &shown, "what was shown is what was answered");
            }
            let (cut, cut_shown) = read(bytes.chunks(size));
            prop_assert_eq!(without_count(cut), without_count(outcome));
            prop_assert_eq!(cut_shown, shown);
        }

        #[test]
        fn no_body_makes_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = read(bytes.chunks(7));
        }
    }

    /// After an end mark the rest is not read, so the count of bytes depends on the cut.
    fn without_count(outcome: Outcome) -> Outcome {
        outcome.map_err(|error| match error {
            ModelError::CutOff { .. } => ModelError::CutOff { bytes_received: 0 },
            other => other,
        })
    }
}
