//! Tests of the vocabulary: the fold and the two questions asked of it, energy and its proof, what is
//! charged to whom, how a session ends.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod dice;
mod plausible;
mod support;
mod world;
