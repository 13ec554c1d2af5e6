//! Whole sessions: the real loop, store, runner and plugins, in a toy language and in real ones, with a scripted
//! model over HTTP.
// In a test a panic is the report.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod commands;
mod consents;
mod counts;
mod crash;
mod edits;
mod example;
mod faults;
mod hopeless;
mod plans;
mod reader;
mod shortcuts;
mod stops;
mod support;
mod tools;
mod verify;
mod waiting;
