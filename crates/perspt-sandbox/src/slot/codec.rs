//! Bytes on disk that are only ever a cache: a format name, the content, and a digest of both. Whatever does
//! not read back exactly is treated as absent.

use perspt_core::hash::Sha;

use super::stamp::FsTime;

/// Content with its format's name before and a digest behind.
pub(super) fn seal(format: &[u8; 8], content: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(format.len() + content.len() + 32);
    bytes.extend_from_slice(format);
    bytes.extend_from_slice(content);
    let digest = Sha::of(&bytes);
    bytes.extend_from_slice(&digest.0);
    bytes
}

/// The content of sealed bytes, if they are of that format and whole.
pub(super) fn unseal<'a>(format: &[u8; 8], bytes: &'a [u8]) -> Option<&'a [u8]> {
    let (sealed, digest) = bytes.split_at_checked(bytes.len().checked_sub(32)?)?;
    if Sha::of(sealed).0 != digest {
        return None;
    }
    sealed.strip_prefix(format)
}

/// Reads fields one after the other; `None` where the bytes end early.
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

impl<'a> Fields<'a> {
    pub(super) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(head)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        Some(self.array::<1>()?[0])
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }

    pub(super) fn time(&mut self) -> Option<FsTime> {
        let secs = self.array().map(i64::from_be_bytes)?;
        Some(FsTime { secs, nanos: self.u32()? })
    }

    /// A field that was preceded by its length.
    pub(super) fn sized(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.u32()?).ok()?;
        self.take(length)
    }
}

/// Appends a length and then the bytes. What does not fit a length of 32 bits is cut, and so will not read
/// back as a valid cache; no path or index gets near that.
pub(super) fn put_sized(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_be_bytes());
    out.extend_from_slice(bytes);
}

pub(super) fn put_time(out: &mut Vec<u8>, time: FsTime) {
    out.extend_from_slice(&time.secs.to_be_bytes());
    out.extend_from_slice(&time.nanos.to_be_bytes());
}
