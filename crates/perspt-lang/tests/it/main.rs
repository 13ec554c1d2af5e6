//! perspt-lang against real cargo, real pytest, real unittest and real go.

#![allow(clippy::unwrap_used, clippy::disallowed_types)]

mod garbage;
mod generic;
mod go_games;
mod go_read;
mod go_tests;
mod looks;
mod machine;
mod outline;
mod python_read;
mod python_tests;
mod python_types;
mod rust_lints;
mod rust_read;
mod rust_tests;
mod signature;
mod support;
