//! What the kernel can be asked to stop, one file per means.
//!
//! All of it runs in the helper process, single-threaded, never in perspt itself. `namespaces` and
//! `mounts` make the command's own view of the machine, `caps`, `landlock` and `seccomp` narrow what it
//! may do in that view, and `report` says in words what was in force and what was therefore not stopped.
//! Reading is restricted by `hide` alone: a command sees every file that its user sees, but for secret places.

mod access;
pub(crate) mod caps;
mod dev;
mod failed;
pub(crate) mod hide;
pub(crate) mod landlock;
pub(crate) mod loopback;
pub(crate) mod mounts;
pub(crate) mod namespaces;
mod report;
pub(crate) mod seccomp;
pub(crate) mod sockets;
pub(crate) mod sys;

pub use access::{Access, Bind, Network};
pub(crate) use failed::{Failed, NameStep};
pub use report::{Allowed, Confinement, Level, Namespace, Seccomp};
