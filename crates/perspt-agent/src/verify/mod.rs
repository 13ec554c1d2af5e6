//! Verification: laying a branch out, measuring it stage by stage, running the tests as they were over it, showing that
//! each stage sees, and handing all of that to the judge.

mod calibrate;
mod commands;
mod judge;
mod lay_out;
mod masked;
mod measure;
mod more;
mod new_tests;
mod old_tests;
mod reuse;
mod structure;

pub(crate) use commands::Commands;
pub(crate) use judge::Exhibits;
pub(crate) use masked::{masked_finding, masked_lines};
