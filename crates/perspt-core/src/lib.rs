//! The vocabulary of perspt: plain types and pure functions. No I/O, no async, no clock, no environment.
//!
//! A session is a stream of [`event::Event`]s. The agent appends an event, folds it into
//! [`state::SessionState`], asks what is now due and wanted, and acts. Start reading at `event`, then `state`.

pub mod budget;
pub mod bundle;
pub mod consent;
pub mod context;
pub mod contract;
pub mod effect;
pub mod energy;
pub mod event;
pub mod grade;
pub mod hash;
pub mod ids;
pub mod inbox;
pub mod inventory;
pub mod judge;
pub mod outcome;
pub mod own;
pub mod path;
pub mod plan;
pub mod question;
pub mod reading;
pub mod residual;
pub mod route;
pub mod secret;
pub mod stage;
pub mod state;
pub mod tree;
pub mod view;
