//! The stages of a session, in folders named after them, and the loop that drives them.
//!
//! task → explore → plan → question → [node: context → prompt → model → parse → apply → verify → commit] → ledger
//!
//! [`session::run`] is the loop: it appends what is due, starts what is wanted, and appends each outcome before acting on
//! it. [`actor::Actor`] says which room carries which effect out; the file there has the effect's name. Two rooms serve
//! all others: `tree` (files and blobs) and `slot` (where trees are laid out and commands run). Nothing here decides:
//! decisions are the fold's, in perspt-core. Start reading at `session`, then `actor`.

pub mod actor;
pub mod apply;
pub mod commit;
pub mod context;
pub mod explore;
pub mod model;
pub mod open;
pub mod parse;
pub mod plan;
pub mod ports;
pub mod prompt;
pub mod question;
pub mod session;
pub mod slot;
pub mod tree;
pub mod trouble;
pub mod verify;

mod error;

pub use error::AgentError;
