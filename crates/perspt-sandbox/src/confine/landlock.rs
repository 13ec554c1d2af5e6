//! Landlock: read and run everywhere, write below the writable folders only.

use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, LandlockStatus, PathBeneath, PathFd, RestrictionStatus,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};
use rustix::fs::FileType;

use super::{Failed, NameStep, Network, mounts};

/// The newest version this file knows. An older kernel enforces its part of it.
const KNOWN: ABI = ABI::V9;

/// Devices that may be written.
const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/ptmx"];

/// Restricts this process for good. Returns the version in force, none where the kernel has none.
pub(crate) fn restrict(
    writable: &[PathBuf],
    network: Network,
    own_network: OwnNetwork,
) -> Result<Option<u32>, Failed> {
    let opened = writable.iter().map(|path| mounts::resolve(path)).collect::<Result<Vec<_>, _>>()?;
    let status =
        enforce(opened, network, own_network).step(|| "restricting writes with Landlock".to_owned())?;
    Ok(match (status.ruleset, status.landlock) {
        (RulesetStatus::NotEnforced, _) => None,
        (_, LandlockStatus::Available { effective_abi, .. }) => Some(effective_abi as u32),
        (_, LandlockStatus::NotEnabled | LandlockStatus::NotImplemented) => None,
    })
}

/// Whether the command has a network namespace for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OwnNetwork {
    /// It has.
    Yes,
    /// It shares the machine's.
    No,
}

fn enforce(
    writable: Vec<OwnedFd>,
    network: Network,
    own: OwnNetwork,
) -> Result<RestrictionStatus, RulesetError> {
    let mut ruleset = Ruleset::default().handle_access(AccessFs::from_all(KNOWN))?;
    if network == Network::Off && own == OwnNetwork::No {
        ruleset = ruleset.handle_access(AccessNet::from_all(KNOWN))?;
    }
    let mut rules = ruleset.scope(Scope::from_all(KNOWN))?.create()?;
    let mut everywhere = AccessFs::from_read(KNOWN);
    if network == Network::On {
        everywhere |= AccessFs::ResolveUnix;
    }
    rules = allow_path(rules, "/", everywhere)?;
    // A device file made in a writable folder would open the whole disk to root.
    let inside = AccessFs::from_all(KNOWN) & !(AccessFs::MakeChar | AccessFs::MakeBlock);
    for fd in writable {
        rules = allow(rules, fd, inside)?;
    }
    for device in DEVICES {
        rules = allow_path(rules, device, AccessFs::from_file(KNOWN) & !AccessFs::Execute)?;
    }
    rules = allow_path(rules, "/dev/shm", inside)?;
    rules = allow_path(rules, "/dev/pts", AccessFs::from_file(KNOWN) | AccessFs::ReadDir)?;
    rules.restrict_self()
}

/// Adds a rule for a path of the system; one that is not there needs none.
fn allow_path(
    rules: RulesetCreated,
    path: &str,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    match PathFd::new(path) {
        Ok(fd) => allow(rules, fd, access),
        Err(_) => Ok(rules),
    }
}

fn allow(
    rules: RulesetCreated,
    fd: impl AsFd,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    let is_folder =
        rustix::fs::fstat(&fd).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory);
    let access = if is_folder { access } else { access & AccessFs::from_file(KNOWN) };
    rules.add_rule(PathBeneath::new(fd, access))
}
