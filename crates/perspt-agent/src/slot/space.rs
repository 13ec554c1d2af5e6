//! Whether a command failed because the disk was full.

use std::path::Path;

use perspt_core::stage::StepOutput;

use crate::AgentError;

/// Whether a command that failed had room to write in `folder`. Where it had none, it failed for that alone.
pub(super) fn check(folder: &Path, output: &StepOutput) -> Result<(), AgentError> {
    const NEEDED: u64 = 256 * 1024;
    // A compiler that finds the disk full removes what it has written before it says so.
    const NEEDED_TO_BUILD: u64 = 256 * 1024 * 1024;
    let Ok(stat) = rustix::fs::statvfs(folder) else { return Ok(()) };
    let left = stat.f_bavail.saturating_mul(stat.f_frsize);
    let says_full = || says_full(&output.stdout) || says_full(&output.stderr);
    if left >= NEEDED_TO_BUILD || (left >= NEEDED && !says_full()) {
        return Ok(());
    }
    Err(AgentError::NoSpace { folder: folder.to_owned(), left })
}

/// Whether a program says that the disk is full, in the words of the C library, which most repeat. A linker that writes
/// to a mapped file dies of a bus error.
fn says_full(text: &[u8]) -> bool {
    const SIGNS: [&[u8]; 2] = [b"no space left on device", b"bus error"];
    let holds = |sign: &[u8]| text.windows(sign.len()).any(|window| window.eq_ignore_ascii_case(sign));
    SIGNS.into_iter().any(holds)
}
