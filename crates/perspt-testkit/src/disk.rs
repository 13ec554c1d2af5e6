//! Disks for tests: one in memory that forgets on a crash whatever was not synced, and a wrapper around any
//! disk that counts calls, makes them fail, leaves syncs out, or lets a user edit in between.

mod sim;
mod watched;
mod world;

pub use sim::SimDisk;
pub use watched::{Call, Fault, Op, Watched};
pub use world::Image;
