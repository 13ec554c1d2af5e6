//! Tests of the vocabulary: the fold and the two questions asked of it, energy and its proof, what is
//! charged to whom, how a session ends.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod babble;
mod commute;
mod consent;
mod consents;
mod dice;
mod docs;
mod energy;
mod golden;
mod judge;
mod nonsense;
mod outcome;
mod plausible;
mod shortcuts;
mod sizes;
mod steps;
mod stories;
mod support;
mod tiers;
mod words;
mod world;
