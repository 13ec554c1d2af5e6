//! What a command may reach: the network, and folders shown at other paths.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Whether a command may leave the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// No network; a loopback of its own where a network namespace can be had.
    Off,
    /// The machine's network.
    On,
}

/// Whether a bound folder can be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Reading only, whatever lies around it.
    ReadOnly,
    /// Reading and writing.
    ReadWrite,
}

/// One folder or file shown to the command at another place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bind {
    /// What is shown: a path as perspt sees it, before any bind.
    pub from: PathBuf,
    /// Where it is shown: a path as the command sees it, after the binds before this one. Where it does
    /// not exist it is created, but only below the place of an earlier bind with read and write access.
    pub over: PathBuf,
    /// What the command may do there.
    pub access: Access,
}
