//! perspt-lang against real cargo, real pytest, real unittest and real go.

#![allow(clippy::unwrap_used, clippy::disallowed_types)]

mod garbage;
mod go_games;
mod go_read;
mod go_tests;
mod looks;
mod machine;
mod outline;
mod python_read;
mod python_tests;
mod rust_read;
mod rust_tests;
mod support;
