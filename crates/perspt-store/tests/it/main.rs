//! Tests of the store, over the simulated disk where the disk matters and over the real one where the
//! kernel does.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod blobs;
mod crash;
mod edits;
mod faults;
mod home;
mod inbox;
mod locks;
mod log;
mod memory;
mod publish;
mod support;
mod syncs;
