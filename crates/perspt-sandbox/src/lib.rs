//! The one place where processes start, and the places they work in.
//!
//! [`run`] starts a command under a small helper process, confined by the kernel, and returns what it
//! left behind together with the confinement that was really in force. [`slot`] keeps the warm folders in
//! which a branch is laid out. The crate knows perspt-core and the kernel, nothing else of perspt.
//!
//! Start reading at [`run::Runner::run`], then `helper` (what happens on the other side) and `confine`
//! (one file per kernel means).

mod confine;
mod helper;
pub mod run;
mod secret_places;
pub mod slot;

pub use confine::{Allowed, Confinement, Level, Namespace, Seccomp};
pub use helper::helper_main;
pub use run::{
    Access, Bind, Cancel, Captured, CommandSpec, Network, Ran, RunEnd, Runner, SandboxError, SandboxSpec,
};
pub use secret_places::secret_places;
