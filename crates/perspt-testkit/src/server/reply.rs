//! What is replied, how fast, and what goes wrong on the way.

use super::gate::Gate;

/// A place in a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Point {
    /// Before the first byte of the response.
    BeforeHead,
    /// After the head and this many chunks of text; zero is before the first. A number beyond the last chunk is the
    /// place after it, still before the end marks.
    AfterChunks(usize),
    /// After the stop reason and before the token count and the end mark.
    AfterStop,
}

/// How a response that is cut ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// As HTTP wants it: only the protocol's own end is missing.
    Terminated,
    /// The connection closes in the middle of the HTTP message.
    Torn,
}

/// What goes wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// An HTTP status with headers and a body instead of a completion.
    Status {
        /// The status.
        code: u16,
        /// Headers such as `Retry-After`.
        headers: Vec<(String, String)>,
        /// The body.
        body: StatusBody,
    },
    /// A TCP reset. What the client has not read by then is lost too; hold the reply with a gate where that matters.
    Reset(Point),
    /// The stream ends without its end marks.
    Cut(Point, Ending),
    /// Nothing more comes until the client or the server goes away.
    Stall(Point),
    /// Nothing but pings (comments and empty pieces) from here on, until the client or the server goes away.
    Pings(Point),
    /// An event that is not JSON, after which the stream goes on as if nothing had happened.
    Garbage(Point),
    /// An error object in an event, after which the stream goes on as if nothing had happened.
    InBand {
        /// Where.
        at: Point,
        /// Its message.
        message: String,
        /// Its code.
        code: Option<String>,
    },
    /// The stop reason comes, the end mark does not. Nothing is missing where the two are one.
    NoDone,
    /// The end mark comes, the stop reason does not. Neither comes where the two are one.
    DoneWithoutStop,
    /// Stop reason and end mark come twice.
    EndTwice,
    /// One JSON document though a stream was asked for.
    NotStreamed,
}

/// What a refusal says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StatusBody {
    /// A message, in the error object of the protocol.
    Message(String),
    /// Exactly this.
    Exact(String),
}

/// A body written by hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Raw {
    pub(crate) content_type: String,
    pub(crate) pieces: Vec<Vec<u8>>,
}

/// Tokens to report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the prompt.
    pub input: u64,
    /// Tokens written.
    pub output: u64,
    /// Tokens of the prompt that came from a cache.
    pub cached: u64,
}

/// A scripted reply: a text and, where wanted, pace and a fault.
#[derive(Clone)]
pub struct Reply {
    pub(crate) text: String,
    pub(crate) reasoning: Option<String>,
    pub(crate) stop_reason: String,
    pub(crate) tool_call: Option<String>,
    pub(crate) usage: Usage,
    pub(crate) chunk_chars: usize,
    pub(crate) frame_bytes: Option<usize>,
    pub(crate) gates: Vec<(Point, Gate)>,
    pub(crate) fault: Option<Fault>,
    pub(crate) raw: Option<Raw>,
}

impl Reply {
    /// A text, sent whole and without trouble.
    pub fn text(text: impl Into<String>) -> Reply {
        let text = text.into();
        let usage = Usage { input: 100, output: text.len().div_ceil(4) as u64, cached: 0 };
        Reply {
            text,
            reasoning: None,
            stop_reason: "stop".to_owned(),
            tool_call: None,
            usage,
            chunk_chars: 16,
            frame_bytes: None,
            gates: Vec::new(),
            fault: None,
            raw: None,
        }
    }

    /// A body of these bytes, written piece by piece; a [`Point`] counts pieces here.
    pub fn raw<P: Into<Vec<u8>>>(content_type: &str, pieces: impl IntoIterator<Item = P>) -> Reply {
        let pieces = pieces.into_iter().map(Into::into).collect();
        Reply { raw: Some(Raw { content_type: content_type.to_owned(), pieces }), ..Reply::text("") }
    }

    /// A text of this many bytes.
    pub fn huge(bytes: usize) -> Reply {
        Reply { chunk_chars: 64 * 1024, ..Reply::text("x".repeat(bytes)) }
    }

    /// An HTTP status with a message in the protocol's error object.
    pub fn status(code: u16, message: &str) -> Reply {
        let body = StatusBody::Message(message.to_owned());
        Reply::text("").fault(Fault::Status { code, headers: Vec::new(), body })
    }

    /// An HTTP status with a `Retry-After` header.
    pub fn retry_after(code: u16, value: &str) -> Reply {
        Reply::status(code, "later").header("Retry-After", value)
    }

    /// Adds a header to a status; other replies are left as they are.
    pub fn header(mut self, name: &str, value: &str) -> Reply {
        if let Some(Fault::Status { headers, .. }) = &mut self.fault {
            headers.push((name.to_owned(), value.to_owned()));
        }
        self
    }

    /// Replaces the body of a status; other replies are left as they are.
    pub fn body(mut self, text: &str) -> Reply {
        if let Some(Fault::Status { body, .. }) = &mut self.fault {
            *body = StatusBody::Exact(text.to_owned());
        }
        self
    }

    /// How many characters make one event.
    pub fn chunk_chars(self, chunk_chars: usize) -> Reply {
        Reply { chunk_chars: chunk_chars.max(1), ..self }
    }

    /// Cuts the body into pieces of this many bytes, whatever stands at the cut.
    pub fn frame_bytes(self, bytes: usize) -> Reply {
        Reply { frame_bytes: Some(bytes.max(1)), ..self }
    }

    /// Sends this as reasoning before the text, as one event.
    pub fn reasoning(self, text: &str) -> Reply {
        Reply { reasoning: Some(text.to_owned()), ..self }
    }

    /// Asks for a tool after the text.
    pub fn tool_call(self, name: &str) -> Reply {
        Reply { tool_call: Some(name.to_owned()), stop_reason: "tool_calls".to_owned(), ..self }
    }

    /// Stops for this reason instead of `stop`. `length`, `content_filter` and `tool_calls` are said in the
    /// protocol's own word, others as they are.
    pub fn stop_reason(self, reason: &str) -> Reply {
        Reply { stop_reason: reason.to_owned(), ..self }
    }

    /// Reports these tokens.
    pub fn usage(self, usage: Usage) -> Reply {
        Reply { usage, ..self }
    }

    /// Waits at a point until the test opens the gate.
    pub fn gate(mut self, at: Point, gate: &Gate) -> Reply {
        self.gates.push((at, gate.clone()));
        self
    }

    /// The text's pieces, one for each event.
    pub(crate) fn pieces(&self) -> Vec<String> {
        let characters: Vec<char> = self.text.chars().collect();
        characters.chunks(self.chunk_chars).map(|piece| piece.iter().collect()).collect()
    }

    /// Lets something go wrong.
    pub fn fault(self, fault: Fault) -> Reply {
        Reply { fault: Some(fault), ..self }
    }
}
