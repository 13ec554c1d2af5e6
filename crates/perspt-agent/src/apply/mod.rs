//! Applying an answer: its operations are checked and applied in memory, then the branch is laid out in the slot and its
//! commands are run there.

mod bundle;
mod commands;
mod lay_out;
pub mod merge;
mod operations;
mod patch;
mod scope;
mod secrets;

pub(crate) use commands::Commands;
pub(crate) use lay_out::Layout;
pub use operations::{Applied, apply};
pub use scope::{FileAction, WriteScope};
pub use secrets::{removed_secrets, restore_secrets};
