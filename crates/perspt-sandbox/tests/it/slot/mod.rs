//! Trees and slots, on a real file system in temporary folders.
#![allow(clippy::unwrap_used, clippy::panic)]

mod cache;
mod drift;
mod git;
mod layout;
mod links;
mod random;
mod real_cargo;
mod times;
mod util;
mod walk;
