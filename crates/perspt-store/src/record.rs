//! One line of the log, and the chain that ties it to the line before. Pure.
//!
//! A line is `{"seq":1,"at":2,"v":1,"event":{…},"hash":"…"}`, with the fields in this order and nothing else.
//! Its hash covers the predecessor's hash in hexadecimal and the bytes of the line before `,"hash":"`.
//! Reading checks the bytes as they are written; nothing is serialised again.

use std::borrow::Cow;

use perspt_core::event::{Event, Unknown};
use perspt_core::hash::{Sha, ShaBuilder};
use perspt_core::ids::Millis;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::error::StoreError;

/// How long the JSON of one event may be.
pub const EVENT_MAX: usize = 16 * 1024;
/// No line is longer: an event, three numbers, a hash and the names of the fields.
pub(crate) const LINE_MAX: usize = EVENT_MAX + 256;

const HASH_FIELD: &[u8] = b",\"hash\":\"";
const END: &[u8] = b"\"}";
const TAIL: usize = HASH_FIELD.len() + 64 + END.len();

/// One record as it stands in the log. Whether the event is understood is the caller's affair.
#[derive(Debug, Clone)]
pub struct Record {
    /// Its place in the log, from one.
    pub seq: u64,
    /// When it was appended; never before its predecessor.
    pub at: Millis,
    /// The schema version of its event.
    pub v: u32,
    /// Its link in the chain.
    pub hash: Sha,
    /// The event as it was written.
    pub event: Box<RawValue>,
}

impl Record {
    /// The event, where this program knows it.
    pub fn decode(&self) -> Result<Event, Unknown> {
        perspt_core::event::decode(self.v, self.event.get())
    }

    /// The `kind` of the event, also of one that this program does not know.
    pub fn kind(&self) -> Option<String> {
        kind_of(&self.event)
    }
}

/// The `kind` field of an event.
pub fn kind_of(event: &RawValue) -> Option<String> {
    #[derive(Deserialize)]
    struct Tagged<'a> {
        #[serde(borrow)]
        kind: Cow<'a, str>,
    }
    serde_json::from_str::<Tagged<'_>>(event.get()).ok().map(|tagged| tagged.kind.into_owned())
}

/// The place and link that an append was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// The record's place in the log, from one.
    pub seq: u64,
    /// The record's link in the chain.
    pub hash: Sha,
}

/// Where a log stands after its last record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chain {
    /// How many records there are.
    pub seq: u64,
    /// When the last one was appended.
    pub at: Millis,
    /// The last link.
    pub head: Sha,
}

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// It does not carry the hash of its bytes: a write that did not finish, or bytes that changed.
    Unsealed(&'static str),
    /// It does carry it, yet is not what perspt writes next: no unfinished write looks like that.
    Foreign(String),
}

impl Default for Chain {
    fn default() -> Chain {
        Chain { seq: 0, at: Millis(0), head: Sha::ZERO }
    }
}

impl Chain {
    /// Puts the next record's line, with its newline, at the end of `out` and moves the chain on.
    pub fn seal(
        &mut self,
        at: Millis,
        v: u32,
        event: &impl Serialize,
        out: &mut Vec<u8>,
    ) -> Result<Stamp, StoreError> {
        let bad = |why: String| StoreError::Encode { what: "an event", why };
        let event = serde_json::to_vec(event).map_err(|error| bad(error.to_string()))?;
        if event.len() > EVENT_MAX {
            return Err(StoreError::EventTooLong { bytes: event.len(), limit: EVENT_MAX });
        }
        if event.contains(&b'\n') {
            return Err(bad("it holds raw JSON with a line break".to_owned()));
        }
        let (seq, at) = (self.seq + 1, at.max(self.at));
        let start = out.len();
        out.extend_from_slice(format!("{{\"seq\":{seq},\"at\":{},\"v\":{v},\"event\":", at.0).as_bytes());
        out.extend_from_slice(&event);
        let hash = link(self.head, &out[start..]);
        out.extend_from_slice(HASH_FIELD);
        out.extend_from_slice(hash.to_string().as_bytes());
        out.extend_from_slice(END);
        out.push(b'\n');
        *self = Chain { seq, at, head: hash };
        Ok(Stamp { seq, hash })
    }

    /// Checks a line, without its newline, and moves the chain on if it is the next record.
    pub(crate) fn check(&mut self, line: &[u8]) -> Result<Record, Flaw> {
        let Some(head) = line.len().checked_sub(TAIL).map(|end| &line[..end]) else {
            return Err(Flaw::Unsealed("it is too short for a record"));
        };
        let hash = line[head.len()..].strip_prefix(HASH_FIELD).and_then(|rest| rest.strip_suffix(END));
        let hash: Option<Sha> = hash.and_then(|hex| std::str::from_utf8(hex).ok()?.parse().ok());
        let hash = hash.ok_or(Flaw::Unsealed("it does not end with a hash"))?;
        if link(self.head, head) != hash {
            return Err(Flaw::Unsealed("its hash does not match its bytes and its predecessor"));
        }
        let foreign = |why: &str| Flaw::Foreign(why.to_owned());
        let (seq, at, v, event) = split(head).ok_or_else(|| foreign("it is not laid out as a record"))?;
        if seq != self.seq + 1 {
            return Err(Flaw::Foreign(format!("it is numbered {seq}")));
        }
        let v = u32::try_from(v).map_err(|_| foreign("its version is out of range"))?;
        let event = String::from_utf8(event.to_vec()).map_err(|_| foreign("it is not UTF-8"))?;
        let event = RawValue::from_string(event).map_err(|_| foreign("its event is not JSON"))?;
        *self = Chain { seq, at: self.at.max(Millis(at)), head: hash };
        Ok(Record { seq, at: Millis(at), v, hash, event })
    }

    /// Whether the next record stands whole at the start of these bytes, without a newline and with more
    /// behind it. No unfinished write looks like that: an acknowledged record has lost its newline. A
    /// single byte, or a block of zeros, may still be what a crash made of the newline.
    pub(crate) fn runs_on(&self, bytes: &[u8]) -> bool {
        let starts = bytes.windows(HASH_FIELD.len()).enumerate().filter(|(_, part)| *part == HASH_FIELD);
        let mut ends = starts.map(|(start, _)| start + TAIL).filter(|&end| end + 1 < bytes.len());
        ends.any(|end| {
            bytes[end..].iter().any(|&byte| byte != 0) && Chain::clone(self).check(&bytes[..end]).is_ok()
        })
    }
}

fn link(before: Sha, head: &[u8]) -> Sha {
    let mut builder = ShaBuilder::default();
    builder.update(before.to_string().as_bytes());
    builder.update(head);
    builder.finish()
}

fn split(head: &[u8]) -> Option<(u64, u64, u64, &[u8])> {
    let (seq, rest) = number(head.strip_prefix(b"{\"seq\":")?)?;
    let (at, rest) = number(rest.strip_prefix(b",\"at\":")?)?;
    let (v, rest) = number(rest.strip_prefix(b",\"v\":")?)?;
    Some((seq, at, v, rest.strip_prefix(b",\"event\":")?))
}

fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let end = bytes.iter().position(|byte| !byte.is_ascii_digit())?;
    let (digits, rest) = bytes.split_at(end);
    if digits.len() > 1 && digits[0] == b'0' {
        return None;
    }
    Some((std::str::from_utf8(digits).ok()?.parse().ok()?, rest))
}
