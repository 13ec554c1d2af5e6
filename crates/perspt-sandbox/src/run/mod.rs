//! Starting a command and waiting for everything it started.
//!
//! A [`Runner`] knows the helper program. [`Runner::run`] hands it a [`CommandSpec`] and [`SandboxSpec`] and
//! returns a [`Ran`] when nothing of the command is left: no process, no held lock, no open pipe that is
//! waited for.

mod available;
mod capture;
mod error;
mod link;
mod reports;
mod runner;
mod spec;

pub use crate::confine::{Access, Bind, Network};
pub use capture::Captured;
pub use error::SandboxError;
pub use runner::Runner;
pub use spec::{CommandSpec, Ran, RunEnd, SandboxSpec};
/// Says to a running command that it is no longer wanted.
pub use tokio_util::sync::CancellationToken as Cancel;
