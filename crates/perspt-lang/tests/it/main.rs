//! perspt-lang against the real tools: cargo, pytest and unittest, Node, tsc, Vitest, Jest and eslint, go.

#![allow(clippy::unwrap_used, clippy::disallowed_types)]

mod garbage;
mod generic;
mod go_games;
mod go_read;
mod go_tests;
mod javascript_read;
mod javascript_tests;
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
mod signature;
mod support;
