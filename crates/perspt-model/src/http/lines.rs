//! One JSON object a line: bytes in, lines out, however the bytes are cut.

use super::sse::{EventTooLarge, SseEvent};

/// Takes a stream apart at its line feeds. Memory is bounded by one line.
pub(crate) struct Lines {
    line: Vec<u8>,
    limit: usize,
}

impl Lines {
    /// Takes lines of up to `limit` bytes.
    pub(crate) fn new(limit: usize) -> Lines {
        Lines { line: Vec::new(), limit }
    }

    /// Takes the next bytes; whole lines are added to `events`, blank ones left out.
    pub(crate) fn push(&mut self, bytes: &[u8], events: &mut Vec<SseEvent>) -> Result<(), EventTooLarge> {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(piece);
            if self.line.len() > self.limit {
                return Err(EventTooLarge);
            }
            if piece.ends_with(b"\n") {
                events.extend(self.end());
            }
        }
        Ok(())
    }

    /// The stream is over. A last line without its line feed may be torn.
    pub(crate) fn finish(mut self) -> Option<SseEvent> {
        self.end()
    }

    fn end(&mut self) -> Option<SseEvent> {
        let line = std::mem::take(&mut self.line);
        let data = line.trim_ascii();
        (!data.is_empty()).then(|| SseEvent { name: String::new(), data: data.to_vec() })
    }
}
