//! The output of every command, kept for whoever looks at a session later: its beginning and its end, without secrets.

use perspt_core::ids::BlobId;
use perspt_policy::mask::Masks;
use perspt_sandbox::Ran;
use perspt_store::Blobs;

/// What is kept of one stream: this much of its beginning, and this much of its end.
const HEAD: usize = 16 * 1024;
const TAIL: usize = 48 * 1024;

/// Where outputs are kept.
#[derive(Clone, Copy)]
pub struct Outputs<'a> {
    /// The session's blobs.
    pub blobs: &'a Blobs,
    /// What is never kept.
    pub masks: &'a Masks,
}

impl Outputs<'_> {
    /// Keeps what a command printed. `None` where it printed nothing, or where it cannot be kept: a disk that is full is
    /// told by what must be written next.
    pub(super) fn keep(&self, ran: &Ran) -> Option<BlobId> {
        let (out, err) = (shortened(&ran.stdout.bytes), shortened(&ran.stderr.bytes));
        let text = match (out.is_empty(), err.is_empty()) {
            (true, true) => return None,
            (_, true) => out,
            (true, false) => format!("--- stderr\n{err}"),
            (false, false) => format!("{out}\n--- stderr\n{err}"),
        };
        self.blobs.put(self.masks.masked(&text).as_bytes()).ok()
    }
}

/// The beginning and the end of an output, cut between lines.
fn shortened(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    if text.len() <= HEAD + TAIL {
        return text.trim_end().to_owned();
    }
    let head_end = text[..text.floor_char_boundary(HEAD)].rfind('\n').unwrap_or(0);
    let from = text.ceil_char_boundary(text.len() - TAIL);
    let tail_start = text[from..].find('\n').map_or(from, |newline| from + newline + 1);
    let left_out = tail_start - head_end;
    format!("{}\n… {left_out} bytes left out …\n{}", &text[..head_end], text[tail_start..].trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_output_keeps_its_beginning_and_its_end_in_whole_lines() {
        let lines: String = (0..40_000).map(|n| format!("line {n} é\n")).collect();
        let short = shortened(lines.as_bytes());
        assert!(short.starts_with("line 0 é\nline 1 é\n") && short.ends_with("line 39999 é"));
        assert!(
            short.len() < HEAD + TAIL + 100 && short.contains(" bytes left out …\nline "),
            "{}",
            short.len()
        );
        assert_eq!(shortened("one\ntwo\n\n".as_bytes()), "one\ntwo");
    }
}
