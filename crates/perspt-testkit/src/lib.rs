//! perspt-testkit

pub mod disk;
pub mod server;
