//! The pure stages: reading answers, settling plans, applying bundles, assembling context.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

mod context;
mod merge;
mod parse;
mod plan;
mod scope;
mod secrets;
mod support;
