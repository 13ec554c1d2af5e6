//! The filter on kernel calls.

use std::collections::BTreeMap;

use seccompiler::{
    BackendError, BpfProgram, Error, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule,
};

use super::Seccomp;

/// Calls that no build or test needs and that reach past the other walls.
const NEVER: &[libc::c_long] = &[
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_setns,
    libc::SYS_open_by_handle_at,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_fanotify_init,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_syslog,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_pidfd_getfd,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
];

/// Calls into another process: harmless where it can only be one of the command's own.
const INTO_OTHERS: &[libc::c_long] =
    &[libc::SYS_ptrace, libc::SYS_process_vm_readv, libc::SYS_process_vm_writev];

/// On x86-64 the same calls have second numbers, for the x32 ABI.
#[cfg(target_arch = "x86_64")]
const SECOND_NUMBERS: Option<libc::c_long> = Some(0x4000_0000);
#[cfg(not(target_arch = "x86_64"))]
const SECOND_NUMBERS: Option<libc::c_long> = None;

const NEW_NAMESPACES: [libc::c_int; 8] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
    0x80, // CLONE_NEWTIME, which only `unshare` takes
];

/// Which sockets may be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sockets {
    /// Those between processes of one machine.
    Unix,
    /// Those, and those a network namespace holds in: internet and netlink.
    Internet,
}

/// Whether the command can reach processes that are not its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Others {
    /// Namespaces or Landlock keep it from them.
    OutOfReach,
    /// Nothing else does.
    InReach,
}

/// Filters the calls of this process for good. A kernel without filters is no error: it is reported.
pub(crate) fn restrict(sockets: Sockets, others: Others) -> Seccomp {
    let applied = denials(sockets, others)
        .and_then(|filter| seccompiler::apply_filter(&filter))
        // Where the flags lie in memory a filter cannot see them; without `clone3` libraries take `clone`.
        .and_then(|()| program(BTreeMap::from([(libc::SYS_clone3, Vec::new())]), libc::ENOSYS))
        .and_then(|filter| seccompiler::apply_filter(&filter));
    match applied {
        Ok(()) => Seccomp::On,
        Err(_) => Seccomp::Off,
    }
}

fn denials(sockets: Sockets, others: Others) -> Result<BpfProgram, Error> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = NEVER.iter().map(|call| (*call, Vec::new())).collect();
    if others == Others::InReach {
        rules.extend(INTO_OTHERS.iter().map(|call| (*call, Vec::new())));
    }
    let allowed: &[libc::c_int] = match sockets {
        Sockets::Unix => &[libc::AF_UNIX],
        Sockets::Internet => &[libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK],
    };
    let families = allowed.iter().map(|family| condition(SeccompCmpOp::Ne, *family));
    rules.insert(libc::SYS_socket, vec![SeccompRule::new(families.collect::<Result<_, _>>()?)?]);
    rules.insert(libc::SYS_unshare, namespace_rules(&NEW_NAMESPACES)?);
    // In `clone` the lowest byte is a signal's number, so the last flag does not exist there.
    rules.insert(libc::SYS_clone, namespace_rules(&NEW_NAMESPACES[..7])?);
    if let Some(offset) = SECOND_NUMBERS {
        let seconds: Vec<_> = rules.iter().map(|(call, rules)| (call | offset, rules.clone())).collect();
        rules.extend(seconds);
    }
    program(rules, libc::EPERM)
}

fn namespace_rules(flags: &[libc::c_int]) -> Result<Vec<SeccompRule>, Error> {
    let rule = |flag: &libc::c_int| {
        let mask = u64::from(flag.unsigned_abs());
        Ok(SeccompRule::new(vec![condition(SeccompCmpOp::MaskedEq(mask), *flag)?])?)
    };
    flags.iter().map(rule).collect()
}

fn condition(operator: SeccompCmpOp, value: libc::c_int) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(0, SeccompCmpArgLen::Dword, operator, u64::from(value.unsigned_abs()))
}

fn program(rules: BTreeMap<i64, Vec<SeccompRule>>, error: libc::c_int) -> Result<BpfProgram, Error> {
    let denied = SeccompAction::Errno(error.unsigned_abs());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, denied, std::env::consts::ARCH.try_into()?)?;
    Ok(filter.try_into()?)
}
