//! Tests of the vocabulary: the fold and the two questions asked of it, energy and its proof, what is
//! charged to whom, how a session ends.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod babble;
mod dice;
mod nonsense;
mod plausible;
mod support;
mod world;
