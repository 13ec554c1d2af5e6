//! What a long run by `cargo xtask heavy` changes in a test: its seed, and how much it tries. Without one, the same
//! small sample on every machine.

/// The seed of the common run.
const SEED: u64 = 20_231_114;

/// The seed that a test draws its cases from.
pub fn seed() -> u64 {
    std::env::var("PERSPT_HEAVY_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(SEED)
}

/// How many cases a test draws: the first number, or the second where a suite is run whole.
pub fn cases(sample: usize, whole: usize) -> usize {
    if std::env::var_os("PERSPT_HEAVY_WHOLE").is_some() { whole } else { sample }
}
