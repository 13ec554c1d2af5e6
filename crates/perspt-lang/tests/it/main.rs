//! perspt-lang against real cargo, real pytest and real unittest.

#![allow(clippy::unwrap_used, clippy::disallowed_types)]

mod garbage;
mod looks;
mod machine;
mod outline;
mod python_read;
mod python_settings;
mod python_tests;
mod python_types;
mod rust_lints;
mod rust_read;
mod rust_tests;
mod support;
