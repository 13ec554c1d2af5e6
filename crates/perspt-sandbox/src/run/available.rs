//! Which namespaces this machine gives: tried, not guessed.

use std::collections::BTreeSet;

use super::SandboxError;
use crate::confine::{Allowed, Confinement, Namespace, Network};
use crate::helper::wire::Request;

/// The sets worth trying, the best first. Root needs no user namespace, unless it is root in a container
/// only; where `/proc` cannot be mounted, one without processes of its own is still worth having.
pub(super) fn candidates(allowed: &Allowed) -> Vec<BTreeSet<Namespace>> {
    use Namespace::{Mount, Net, Pid, User};
    let mut sets: Vec<BTreeSet<Namespace>> = Vec::new();
    if rustix::process::geteuid().is_root() {
        sets.push([Mount, Pid, Net].into());
    }
    sets.push([User, Mount, Pid, Net].into());
    sets.push([User, Mount, Net].into());
    let mut candidates = Vec::new();
    for set in sets {
        let needs_user = set.contains(&User);
        let mut set: BTreeSet<Namespace> = set.intersection(&allowed.namespaces).copied().collect();
        if !set.contains(&Mount) {
            set.remove(&Pid);
        }
        let useful = set.iter().any(|namespace| *namespace != User);
        if useful && needs_user == set.contains(&User) && !candidates.contains(&set) {
            candidates.push(set);
        }
    }
    candidates
}

/// A request that puts up all walls and runs nothing.
pub(super) fn trial(namespaces: BTreeSet<Namespace>, allowed: &Allowed) -> Request {
    Request {
        namespaces,
        landlock: allowed.landlock,
        seccomp: allowed.seccomp,
        network: Network::Off,
        binds: Vec::new(),
        writable: Vec::new(),
        hidden: Vec::new(),
        program: None,
    }
}

/// The best confinement that this machine allows.
#[derive(Debug)]
pub(super) struct Available {
    /// What will be in force.
    pub confinement: Confinement,
    /// Why better sets of namespaces did not work.
    pub refusals: Vec<String>,
}

impl Available {
    /// The namespaces for a run with this network.
    pub(super) fn namespaces(&self, network: Network) -> BTreeSet<Namespace> {
        let mut namespaces = self.confinement.namespaces.clone();
        if network == Network::On {
            namespaces.remove(&Namespace::Net);
        }
        namespaces
    }
}

/// Tells a set that the kernel refused from an error of another kind.
pub(super) fn refusal(error: SandboxError) -> Result<String, SandboxError> {
    match error {
        SandboxError::SetUp { step, why } => Ok(format!("{step}: {why}")),
        error @ (SandboxError::Helper { .. }
        | SandboxError::HelperLost(_)
        | SandboxError::Link { .. }
        | SandboxError::NoMountNamespace
        | SandboxError::OldReport { .. }) => Err(error),
    }
}
