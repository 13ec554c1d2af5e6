//! How many tokens a text may cost, before anyone has counted them.

/// A rough upper estimate: one token for every three bytes, rounded up.
///
/// Prose and code run at about four bytes a token, so this is usually a quarter to a third too high, which is the
/// side a budget wants. It is no bound: text of rare symbols, or long runs of single digits, can take more.
pub fn estimate_tokens(text: &str) -> u64 {
    (text.len() as u64).div_ceil(3)
}
