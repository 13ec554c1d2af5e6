//! The pure stages: reading answers, settling plans, applying bundles, assembling context.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

mod context;
mod context_budget;
mod context_focus;
mod context_serve;
mod context_sources;
mod merge;
mod parse;
mod parse_corpus;
mod parse_stacks;
mod plan;
mod promises;
mod prompts;
mod scope;
mod secrets;
mod support;
