//! Decides, never acts: which paths an answer may name, and which files must never reach a model.
//!
//! Start at [`path_rules`]. This crate knows core alone; it looks at trees, never at a disk.

pub mod argv;
pub mod mask;
pub mod path_rules;
pub mod secrets;
