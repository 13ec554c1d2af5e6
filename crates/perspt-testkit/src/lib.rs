//! What tests stand on: doubles for the world, never for our own code.
//!
//! [`home`] has temp homes and workspaces, [`disk`] a simulated disk and a watched one, [`server`] a scripted
//! model behind HTTP, `log` logs made from events, [`heavy`] the seed of a long run. With the feature `session`
//! there are also a fixed clock (`clock`), a toy language whose compiler is a real process (`toy`), and whole
//! sessions that can be watched, and stopped, at every append and every effect (`session`).

#[cfg(feature = "session")]
pub mod clock;
pub mod disk;
pub mod heavy;
pub mod home;
pub mod log;
pub mod server;
#[cfg(feature = "session")]
pub mod session;
#[cfg(feature = "session")]
pub mod toy;
