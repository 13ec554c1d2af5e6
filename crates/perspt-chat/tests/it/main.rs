//! The talk as a state machine, and one real call.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

mod calls;
mod commands;
mod orders;
mod replies;
mod support;
