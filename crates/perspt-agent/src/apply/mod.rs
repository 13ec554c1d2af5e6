//! Applying a bundle to a branch, in memory: every operation is checked before any file is written, and
//! the result is a list of changes or a list of reasons. Nothing here touches a disk.

pub mod merge;
mod operations;
mod scope;
mod secrets;

pub use operations::{Applied, apply};
pub use scope::{Touch, WriteScope};
pub use secrets::{lost, put_back};
