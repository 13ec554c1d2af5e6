//! The sandbox against the real kernel: real processes, real mounts, real locks.
// In a test a panic is the report.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod run;
mod slot;
