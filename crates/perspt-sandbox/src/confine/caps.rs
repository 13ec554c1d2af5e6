//! Capabilities: a command of root keeps those that concern files and users, and loses those over the
//! machine.

use rustix::thread::{CapabilitySet, CapabilitySets};

use super::{Failed, NameStep};

const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::NET_BIND_SERVICE);

/// The bounding set has 64 places; those above the kernel's last one are refused and do not matter.
const PLACES: u32 = 64;

/// Gives up all capabilities over the machine, for this process and all it starts.
pub(crate) fn give_up() -> Result<(), Failed> {
    let name = || "giving up capabilities".to_owned();
    let now = rustix::thread::capabilities(None).step(name)?;
    let kept = if rustix::process::geteuid().is_root() { KEPT } else { CapabilitySet::empty() };
    if now.permitted.contains(CapabilitySet::SETPCAP) {
        for place in 0..PLACES {
            let capability = CapabilitySet::from_bits_retain(1 << place);
            if !kept.contains(capability)
                && rustix::thread::capability_is_in_bounding_set(capability) == Ok(true)
            {
                rustix::thread::remove_capability_from_bounding_set(capability).step(name)?;
            }
        }
    }
    let kept = now.permitted & kept;
    let sets = CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() };
    rustix::thread::set_capabilities(None, sets).step(name)
}
