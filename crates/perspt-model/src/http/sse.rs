//! Server-sent events: bytes in, events out, however the bytes are cut.
//!
//! Lines end with LF, CRLF or CR; a byte order mark at the start is skipped; comments and unknown fields are
//! ignored. Only an event's name and data are kept. Bytes that are not UTF-8 stay visible to the reader as such: a
//! replaced character would be a change nobody sees.

/// One server-sent event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SseEvent {
    /// The `event` field; empty where there was none.
    pub name: String,
    /// The `data` lines, joined with line feeds.
    pub data: Vec<u8>,
}

/// One event grew beyond the decoder's limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventTooLarge;

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// Takes a stream apart. Memory is bounded by one event.
#[derive(Debug, Clone)]
pub struct Decoder {
    line: Vec<u8>,
    event: SseEvent,
    has_data: bool,
    after_cr: bool,
    first_line: bool,
    limit: usize,
}

impl Decoder {
    /// A decoder that takes events of up to `limit` bytes.
    pub fn new(limit: usize) -> Decoder {
        Decoder {
            line: Vec::new(),
            event: SseEvent::default(),
            has_data: false,
            after_cr: false,
            first_line: true,
            limit,
        }
    }

    /// Takes the next bytes; whole events are added to `events`. After an error the decoder is of no more use.
    pub fn push(&mut self, bytes: &[u8], events: &mut Vec<SseEvent>) -> Result<(), EventTooLarge> {
        let mut rest = bytes;
        while !rest.is_empty() {
            if std::mem::take(&mut self.after_cr) && rest[0] == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let (piece, tail) = rest.split_at(end.unwrap_or(rest.len()));
            self.line.extend_from_slice(piece);
            if self.line.len() + self.event.data.len() > self.limit {
                return Err(EventTooLarge);
            }
            let Some((&mark, tail)) = tail.split_first() else { break };
            self.after_cr = mark == b'\r';
            rest = tail;
            self.end_line(events);
        }
        Ok(())
    }

    /// The stream is over. What stands in the last, unfinished event is returned: the standard drops it, but some
    /// servers leave out the last empty line. It may be torn.
    pub fn finish(mut self) -> Option<SseEvent> {
        let mut events = Vec::new();
        if !self.line.is_empty() {
            self.end_line(&mut events);
        }
        self.end_line(&mut events);
        events.pop()
    }

    fn end_line(&mut self, events: &mut Vec<SseEvent>) {
        let mut line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.first_line) && line.starts_with(BOM) {
            line.drain(..BOM.len());
        }
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            if std::mem::take(&mut self.has_data) {
                events.push(event);
            }
            return;
        }
        let (field, value) = match line.iter().position(|byte| *byte == b':') {
            Some(at) => (&line[..at], &line[at + 1..]),
            None => (&line[..], &[][..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.event.data.push(b'\n');
                }
                self.event.data.extend_from_slice(value);
            }
            b"event" => self.event.name = String::from_utf8_lossy(value).into_owned(),
            _ => {}
        }
    }
}
