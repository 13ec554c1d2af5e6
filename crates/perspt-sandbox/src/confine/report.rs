//! Which confinement was in force, said truthfully.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::Network;

/// A namespace of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Namespace {
    /// Users: the way to the others for someone who is not root. Stops nothing by itself.
    User,
    /// Mounts: the command's own view, read-only outside its writable folders.
    Mount,
    /// Processes: it sees its own only, and all of them end with it.
    Pid,
    /// Network: a loopback of its own.
    Net,
}

/// Whether the filter on kernel calls was in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Seccomp {
    /// It was.
    On,
    /// It was not.
    Off,
}

/// What was in force while a command ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    /// The namespaces it had for itself.
    pub namespaces: BTreeSet<Namespace>,
    /// The version of Landlock that was enforced; none where it was not.
    pub landlock: Option<u32>,
    /// The filter on kernel calls.
    pub seccomp: Seccomp,
    /// What was therefore not stopped, in words.
    pub missing: Vec<String>,
}

/// How much of the confinement was in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Commands run unconfined.
    None,
    /// Something, and something is missing.
    Partial,
    /// All of it.
    Full,
}

impl Confinement {
    /// What these means stop and do not stop for a command with this network.
    pub(crate) fn of(
        namespaces: BTreeSet<Namespace>,
        landlock: Option<u32>,
        seccomp: Seccomp,
        network: Network,
    ) -> Confinement {
        let mut confinement = Confinement { namespaces, landlock, seccomp, missing: Vec::new() };
        confinement.missing = confinement.holes(network).into_iter().map(str::to_owned).collect();
        confinement
    }

    /// For a command that never began: nothing ran, so nothing was in force.
    pub(crate) fn not_begun() -> Confinement {
        Confinement {
            namespaces: BTreeSet::new(),
            landlock: None,
            seccomp: Seccomp::Off,
            missing: vec!["the command did not begin".to_owned()],
        }
    }

    /// How much was in force.
    pub fn level(&self) -> Level {
        if self.missing.is_empty() {
            Level::Full
        } else if self.namespaces.iter().all(|n| *n == Namespace::User)
            && self.landlock.is_none()
            && self.seccomp == Seccomp::Off
        {
            Level::None
        } else {
            Level::Partial
        }
    }

    fn has(&self, namespace: Namespace) -> bool {
        self.namespaces.contains(&namespace)
    }

    fn holes(&self, network: Network) -> Vec<&'static str> {
        let abi = self.landlock.unwrap_or(0);
        let mut holes = Vec::new();
        if !self.has(Namespace::Mount) {
            match abi {
                0 => holes.push("writes outside the writable folders"),
                1 | 2 => holes.push("truncating files outside the writable folders"),
                _ => {}
            }
            holes.push("chmod, chown and utime outside the writable folders");
            holes.push("reading secret places such as ~/.ssh");
        } else if abi == 0 {
            holes.push("writes are kept in by read-only mounts alone, without Landlock");
        }
        if !self.has(Namespace::Pid) {
            holes.push("seeing other processes");
            if abi < 6 {
                holes.push("signals to other processes of the same user");
            }
        }
        match network {
            Network::Off => self.holes_in_no_network(abi, &mut holes),
            Network::On if abi < 6 => holes.push("abstract unix sockets"),
            Network::On => {}
        }
        if self.seccomp == Seccomp::Off {
            holes.push("kernel calls such as io_uring, bpf and keyctl");
        }
        holes
    }

    fn holes_in_no_network(&self, abi: u32, holes: &mut Vec<&'static str>) {
        if !self.has(Namespace::Net) {
            match (self.seccomp, abi) {
                (Seccomp::On, _) => {}
                (Seccomp::Off, 0..4) => holes.push("the network"),
                (Seccomp::Off, 4..) => holes.push("the network other than TCP"),
            }
            if abi < 6 {
                holes.push("abstract unix sockets");
            }
        }
        if !self.has(Namespace::Mount) && abi < 9 {
            holes.push("unix sockets reached by path");
        }
    }
}

/// Which means the helper may use. A test, or a person, may rule some of them out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allowed {
    /// These namespaces. Pid is used only together with Mount.
    pub namespaces: BTreeSet<Namespace>,
    /// Landlock.
    pub landlock: bool,
    /// The filter on kernel calls.
    pub seccomp: bool,
}

impl Allowed {
    /// Every means.
    pub fn everything() -> Allowed {
        let namespaces = [Namespace::User, Namespace::Mount, Namespace::Pid, Namespace::Net];
        Allowed { namespaces: namespaces.into(), landlock: true, seccomp: true }
    }

    /// Landlock and the filter, no namespace.
    pub fn without_namespaces() -> Allowed {
        Allowed { namespaces: BTreeSet::new(), ..Allowed::everything() }
    }

    /// No means at all.
    pub fn nothing() -> Allowed {
        Allowed { namespaces: BTreeSet::new(), landlock: false, seccomp: false }
    }
}
