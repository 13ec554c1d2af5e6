//! The paths in a git index, versions 2 to 4. Only paths are wanted; git itself is never started, because on
//! a hostile clone it would obey the clone's configuration.

use super::codec::Fields;
use super::error::IndexProblem;

/// Whether a reading gave all tracked paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IndexExtent {
    Whole,
    /// Further entries are in a shared index file.
    Split,
}

/// No path is longer than the kernel takes.
const LONGEST_PATH: usize = 4096;
/// Modes of entries that are no files: a submodule's commit, and a folder of a sparse index.
const GITLINK: u32 = 0o160_000;
const SPARSE_FOLDER: u32 = 0o040_000;

/// Calls `each` with every tracked path, in the index's order, after the whole index has been found sound.
///
/// The index does not say which hash function it uses, so both lengths are tried: the padding, the name
/// lengths and the extensions fit together for one only.
pub(super) fn each_path(bytes: &[u8], each: &mut dyn FnMut(&[u8])) -> Result<IndexExtent, IndexProblem> {
    let mut header = Fields(bytes);
    if header.take(4) != Some(b"DIRC") {
        return Err(IndexProblem::NotAnIndex);
    }
    let version = header.u32().ok_or(IndexProblem::Damaged)?;
    if !(2..=4).contains(&version) {
        return Err(IndexProblem::Version(version));
    }
    for hash_length in [20, 32] {
        if read(bytes, version, hash_length, &mut |_| ()).is_some() {
            return read(bytes, version, hash_length, each).ok_or(IndexProblem::Damaged);
        }
    }
    Err(IndexProblem::Damaged)
}

fn read(bytes: &[u8], version: u32, hash_length: usize, each: &mut dyn FnMut(&[u8])) -> Option<IndexExtent> {
    let body = bytes.get(..bytes.len().checked_sub(hash_length)?)?;
    let mut fields = Fields(body);
    fields.take(8)?;
    let count = fields.u32()?;
    let mut name = Vec::new();
    for _ in 0..count {
        let mode = entry(&mut fields, version, hash_length, &mut name)?;
        if mode != GITLINK && mode != SPARSE_FOLDER && !name.is_empty() {
            each(&name);
        }
    }
    let mut extent = IndexExtent::Whole;
    while !fields.0.is_empty() {
        let signature = fields.take(4)?;
        fields.sized()?;
        if signature == b"link" {
            extent = IndexExtent::Split;
        }
    }
    Some(extent)
}

/// Reads one entry, leaves its path in `name` (which holds the path before it: version 4 names only what
/// differs), and returns its mode.
fn entry(fields: &mut Fields<'_>, version: u32, hash_length: usize, name: &mut Vec<u8>) -> Option<u32> {
    let start = fields.0.len();
    fields.take(24)?;
    let mode = fields.u32()?;
    fields.take(12 + hash_length)?;
    let flags = u16::from_be_bytes(fields.array()?);
    if flags & 0x4000 != 0 {
        if version < 3 {
            return None;
        }
        fields.take(2)?;
    }
    let kept = if version == 4 { name.len().checked_sub(varint(fields)?)? } else { 0 };
    name.truncate(kept);
    let end = fields.0.iter().position(|byte| *byte == 0)?;
    name.extend_from_slice(fields.take(end)?);
    if version == 4 {
        fields.take(1)?;
    } else {
        // One to eight zero bytes, up to a multiple of eight from the entry's start.
        let used = start - fields.0.len();
        let padding = fields.take(8 - used % 8)?;
        if padding.iter().any(|byte| *byte != 0) {
            return None;
        }
    }
    let stated = usize::from(flags & 0xfff);
    let fits = if stated == 0xfff { name.len() >= stated } else { name.len() == stated };
    (fits && name.len() <= LONGEST_PATH).then_some(mode)
}

/// Git's variable-length number in which every continuation adds one, so that no number has two forms.
fn varint(fields: &mut Fields<'_>) -> Option<usize> {
    let mut byte = fields.byte()?;
    let mut value = usize::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        byte = fields.byte()?;
        value = value.checked_add(1)?.checked_mul(128)?.checked_add(usize::from(byte & 0x7f))?;
    }
    Some(value)
}
