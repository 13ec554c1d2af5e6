//! The vocabulary of perspt: plain types and pure functions. No I/O, no async, no clock, no environment.
//!
//! A session is a stream of [`event::Event`]s. The agent appends an event, folds it into
//! [`state::SessionState`], asks what is now due and wanted, and acts. Start reading at `event`, then `state`.

pub mod bundle;
pub mod hash;
pub mod ids;
pub mod path;
pub mod plan;
pub mod reading;
pub mod residual;
pub mod stage;
pub mod tree;
