//! perspt-lang against real cargo, real pytest and real unittest.

#![allow(clippy::unwrap_used, clippy::disallowed_types)]

mod asked;
mod garbage;
mod python_read;
mod python_structure;
mod rust_read;
mod rust_structure;
mod support;
mod test_data;
