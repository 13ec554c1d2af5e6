//! The stages of a session, in folders named after them, and the loop that drives them.
//!
//! task → explore → plan → [node: context → prompt → model → parse → apply → verify → commit] → ledger
//!
//! [`session::run`] is the loop: it appends what is due, starts what is wanted, and appends each outcome
//! before acting on it. [`actor::Actor`] carries effects out, one function a stage. Nothing here decides:
//! decisions are the fold's, in perspt-core. Start reading at `session`, then `actor`.

pub mod actor;
pub mod apply;
pub mod commit;
pub mod context;
pub mod explore;
pub mod files;
pub mod open;
pub mod parse;
pub mod plan;
pub mod ports;
pub mod prompt;
pub mod session;
pub mod verify;

mod error;

pub use error::AgentError;
