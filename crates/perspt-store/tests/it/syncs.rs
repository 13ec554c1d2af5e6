//! Every sync is there for a reason: leave any one out, and some crash shows it.

use std::collections::BTreeSet;

use perspt_testkit::disk::{Fault, SimDisk, Watched};

use crate::crash::{
    Acks, Moment, Told, User, check, holds, moments, reopen, resume, seeds, session, start, torn_session,
};

type Look = fn(&SimDisk, &Acks) -> Result<(), String>;
type Program = fn(Watched, &Told) -> Result<(), perspt_store::StoreError>;

/// Whether some crash at some moment loses something that was acknowledged. Only the moments from the sync on
/// that was left out are of interest.
fn loses(sync: u64, moments: &[Moment]) -> bool {
    // A missing sync is mostly shown by dropping everything, so that is tried everywhere first.
    seeds().any(|seed| loses_with(seed, sync, moments))
}

fn loses_with(seed: u64, sync: u64, moments: &[Moment]) -> bool {
    let syncs = moments.iter().scan(0, |syncs, moment| {
        let before = *syncs;
        *syncs += u64::from(moment.next.op.syncs());
        Some(before)
    });
    let after: Vec<&Moment> =
        syncs.zip(moments).filter(|(syncs, _)| *syncs >= sync).map(|(_, moment)| moment).collect();
    // The cheap look first.
    after.iter().any(|moment| holds(&moment.sim.crash(seed), &moment.acks).is_err())
        || after.iter().any(|moment| check(&moment.sim.crash(seed), &moment.acks).is_err())
}

/// The name of every sync, in order; names of files that differ from run to run are made alike.
fn syncs_of(moments: &[Moment]) -> Vec<String> {
    let end = moments.len() - 1;
    let syncs = moments[..end].iter().filter(|moment| moment.next.op.syncs());
    let alike = |path: &str| path.split("/new-").next().unwrap_or_default().to_owned();
    syncs.map(|moment| format!("{:?} {}", moment.next.op, alike(&moment.next.path))).collect()
}

fn unmissed(start: impl Fn() -> (SimDisk, Acks), user: User, program: Program, least: usize) -> Vec<String> {
    let run = |faults: &[Fault]| {
        let (sim, acks) = start();
        moments(&sim, faults, user, acks, program)
    };
    let syncs = syncs_of(&run(&[]));
    assert!(syncs.len() >= least, "only {} syncs", syncs.len());
    let unmissed = (1..).zip(syncs).filter(|(n, _)| !loses(*n, &run(&[Fault::SkipSync(*n)])));
    unmissed.map(|(_, name)| name).collect()
}

const NONE: [&str; 0] = [];

#[test]
fn leaving_out_any_one_sync_of_a_session_loses_something() {
    assert_eq!(unmissed(|| (start(), Acks::default()), User::Watches, session, 40), NONE);
}

#[test]
fn leaving_out_any_one_sync_of_taking_back_loses_something() {
    assert_eq!(unmissed(|| (start(), Acks::default()), User::Edits, session, 40), NONE);
}

#[test]
fn leaving_out_any_one_sync_of_cutting_a_torn_tail_loses_something() {
    // These two are there in case the last process was killed, which is the next test.
    let folders = ["SyncFolder /u/data/perspt/", "SyncFolder /u/data/perspt/sessions/"];
    assert_eq!(unmissed(torn_session, User::Watches, reopen, 5), folders);
}

#[test]
fn leaving_out_any_one_sync_of_a_resume_after_a_kill_loses_something() {
    let run = |killed: &Moment, faults: &[Fault]| {
        moments(&killed.sim.kill(), faults, User::Watches, killed.acks.clone(), resume)
    };
    // Killed before anything else a session is as one killed just before that sync, or after the last one.
    let killed = moments(&start(), &[], User::Watches, Acks::default(), session).into_iter();
    let killed: Vec<Moment> = killed.filter(|moment| moment.next.op.syncs()).collect();
    let syncs: Vec<Vec<String>> = killed.iter().map(|killed| syncs_of(&run(killed, &[]))).collect();
    let mut open: BTreeSet<&String> = syncs.iter().flatten().collect();
    assert!(open.len() > 12);
    let bad = |moment: &Moment, look: Look| look(&moment.sim.crash(0), &moment.acks).is_err();
    for look in [holds as Look, check] {
        for (killed, syncs) in killed.iter().zip(&syncs) {
            for (n, name) in (1..).zip(syncs) {
                if !open.contains(name) {
                    continue;
                }
                let (with, without) = (run(killed, &[]), run(killed, &[Fault::SkipSync(n)]));
                let lost = |(with, without): (&Moment, &Moment)| bad(without, look) && !bad(with, look);
                if with.iter().zip(&without).any(lost) {
                    open.remove(name);
                }
            }
        }
    }
    assert_eq!(open, BTreeSet::new());
}
