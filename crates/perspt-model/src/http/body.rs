//! The body of a good response: a stream of events or lines, or one JSON document where the server does not stream.

use serde_json::Value;

use super::lines::Lines;
use super::said::{Progress, Said};
use super::sse::{Decoder, SseEvent};
use crate::ask::{CallLimits, Chunks};
use crate::error::ModelError;
use crate::key::Censor;
use crate::protocol::{Framing, Protocol};

/// The shape is told by the first byte that is neither white space nor a byte order mark: servers are careless with
/// content types, and an event stream cannot usefully begin with `{` or `[`.
enum Shape {
    Unknown,
    Events(Decoder),
    Lines(Lines),
    Document,
}

/// Room for the JSON around a text.
const ENVELOPE: usize = 64 * 1024;

/// How much of the start is kept, to show what came where it was no answer.
const START: usize = 1024;

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// Takes a body as it comes.
pub(crate) struct Body {
    shape: Shape,
    /// Bytes not taken apart yet: all of a document, or what came before the shape was known.
    held: Vec<u8>,
    said: Said,
    framing: Framing,
    saw_event: bool,
    done: bool,
    bytes_received: u64,
    start: Vec<u8>,
    content_type: String,
    limit: usize,
    censor: Censor,
}

impl Body {
    pub(crate) fn new(protocol: Protocol, limits: &CallLimits, content_type: String, censor: Censor) -> Body {
        Body {
            shape: Shape::Unknown,
            held: Vec::new(),
            said: Said::new(protocol, limits.max_bytes, censor.clone()),
            framing: protocol.framing(),
            saw_event: false,
            done: false,
            bytes_received: 0,
            start: Vec::new(),
            content_type,
            limit: limits.max_bytes,
            censor,
        }
    }

    pub(crate) fn bytes_received(&self) -> u64 {
        self.bytes_received
    }

    /// Whether all is there that makes an answer.
    pub(crate) fn is_whole(&self) -> bool {
        self.said.is_whole()
    }

    /// Takes the next bytes.
    pub(crate) fn push(
        &mut self,
        bytes: &[u8],
        chunks: &mut (dyn Chunks + Send),
    ) -> Result<Progress, ModelError> {
        self.bytes_received += bytes.len() as u64;
        let room = START.saturating_sub(self.start.len());
        self.start.extend_from_slice(&bytes[..bytes.len().min(room)]);
        match self.shape {
            Shape::Events(_) | Shape::Lines(_) => self.decode(bytes, chunks),
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

    /// The body is over, or broke after all was there: is it an answer?
    pub(crate) fn finish(mut self, chunks: &mut (dyn Chunks + Send)) -> Result<Said, ModelError> {
        let cut_off = ModelError::CutOff { bytes_received: self.bytes_received };
        let last = match std::mem::replace(&mut self.shape, Shape::Unknown) {
            Shape::Unknown => return Err(cut_off),
            Shape::Document => {
                self.read_document(chunks)?;
                None
            }
            Shape::Lines(lines) => lines.finish(),
            Shape::Events(decoder) => {
                let last = decoder.finish();
                if !self.saw_event && last.is_none() && !self.looks_like_events() {
                    return Err(self.not_a_chat(&self.start));
                }
                last
            }
        };
        match last.map(|event| self.take(vec![event], chunks)) {
            // A torn last event is the mark of a cut, not of a server that writes nonsense.
            Some(Err(ModelError::MalformedEvent { .. })) | Some(Ok(_)) | None => {}
            Some(Err(error)) => return Err(error),
        }
        if self.said.is_whole() { Ok(self.said) } else { Err(cut_off) }
    }

    fn read_document(&mut self, chunks: &mut (dyn Chunks + Send)) -> Result<(), ModelError> {
        let document = std::mem::take(&mut self.held);
        let document = document.trim_ascii_start();
        let document = document.strip_prefix(BOM).unwrap_or(document);
        match serde_json::from_slice::<Value>(document) {
            Ok(value) => match self.said.document(&value, chunks) {
                Some(taken) => taken.map(|_| ()),
                None => Err(self.not_a_chat(&self.start)),
            },
            Err(error) if error.is_eof() => Err(ModelError::CutOff { bytes_received: self.bytes_received }),
            Err(_) => Err(self.not_a_chat(&self.start)),
        }
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
            Some(b'{') if self.framing == Framing::Lines => {
                self.shape = Shape::Lines(Lines::new(self.capacity()));
                self.decode_held(chunks)
            }
            Some(b'{' | b'[') => {
                self.shape = Shape::Document;
                self.check_held().map(|()| Progress::Content)
            }
            Some(_) => {
                self.shape = Shape::Events(Decoder::new(self.capacity()));
                self.decode_held(chunks)
            }
        }
    }

    fn decode_held(&mut self, chunks: &mut (dyn Chunks + Send)) -> Result<Progress, ModelError> {
        let held = std::mem::take(&mut self.held);
        // The mark is no part of a line; events skip it themselves.
        let held = held.trim_ascii_start();
        let bytes =
            if self.framing == Framing::Lines { held.strip_prefix(BOM).unwrap_or(held) } else { held };
        self.decode(bytes, chunks)
    }

    fn decode(&mut self, bytes: &[u8], chunks: &mut (dyn Chunks + Send)) -> Result<Progress, ModelError> {
        let mut events = Vec::new();
        let fits = match &mut self.shape {
            Shape::Events(decoder) => decoder.push(bytes, &mut events),
            Shape::Lines(lines) => lines.push(bytes, &mut events),
            Shape::Unknown | Shape::Document => unreachable!("BUG: the body is no stream"),
        };
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
            if self.done {
                break;
            }
            let first = !std::mem::replace(&mut self.saw_event, true);
            let taken = match self.said.event(&event, chunks) {
                Err(ModelError::MalformedEvent { .. }) if first && self.is_another_document(&event) => {
                    return Err(self.not_a_chat(&event.data));
                }
                taken => taken?,
            };
            match taken {
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

    /// Whether the first line is a JSON object, only not one of this protocol: then another service answers.
    fn is_another_document(&self, event: &SseEvent) -> bool {
        self.framing == Framing::Lines && serde_json::from_slice::<Value>(&event.data).is_ok()
    }

    /// Whether the body began as an event stream does, be it only with comments.
    fn looks_like_events(&self) -> bool {
        let start = self.start.trim_ascii_start();
        [&b":"[..], b"data", b"event", b"id", b"retry"].iter().any(|field| start.starts_with(field))
    }

    fn not_a_chat(&self, start: &[u8]) -> ModelError {
        let excerpt = self.censor.excerpt(&String::from_utf8_lossy(start));
        ModelError::NotAChat { content_type: self.content_type.clone(), excerpt }
    }
}
