//! perspt-lang against real cargo, real pytest and real unittest, real Node, tsc, Vitest, Jest and eslint.

#![allow(clippy::unwrap_used, clippy::disallowed_types)]

mod garbage;
mod javascript_read;
mod javascript_tests;
mod looks;
mod machine;
mod outline;
mod python_read;
mod python_tests;
mod rust_read;
mod rust_tests;
mod support;
