//! A whole session on a disk that forgets what was not synced, crashed before every single change.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex};

use perspt_core::ids::{BlobId, Millis};
use perspt_core::path::RelPath;
use perspt_core::tree::{Change, EntryKind};
use perspt_store::disk::Disk;
use perspt_store::publish::{finish, pending, publish, settle};
use perspt_store::{
    Home, KeptBytes, LogWriter, Published, Record, StoreError, TailCut, WorkspaceLease, check_log,
};
use perspt_testkit::disk::{Call, Fault, Image, SimDisk, Watched};
use perspt_testkit::heavy;
use serde_json::{Value, json};

use crate::support::{
    HOME, Images, WORKSPACE, abort, change, entry, file, home_on, id, image, path, publication, sim,
};

/// What the session was told is done.
#[derive(Debug, Clone, Default)]
pub struct Acks {
    created: bool,
    events: Vec<Value>,
    blobs: BTreeSet<BlobId>,
    /// A text was stored and is not released.
    said: bool,
    sent: bool,
    taken: bool,
    published: bool,
    settled: bool,
    /// What a publication that was taken back had against the tree, and what it kept.
    base_moved: Option<(Vec<RelPath>, Vec<KeptBytes>)>,
    /// The user has changed a file, and their disk has it.
    pub edited: bool,
    /// What settling kept.
    kept: Vec<KeptBytes>,
    cut: Option<TailCut>,
    /// A torn end that the log had at the start.
    tail: Vec<u8>,
}

pub type Told = Arc<Mutex<Acks>>;

const CITED: &[u8] = b"an answer that is long";
const PASSING: &[u8] = b"an answer that is not kept";

/// What the user does to the tree, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum User {
    Watches,
    /// Edits a file just before it is exchanged, so that the publication has to be taken back.
    Edits,
}

pub fn before() -> Images {
    [
        ("keep.txt", image("kept")),
        ("src/a.rs", Image::File(0o600, b"old a".to_vec())),
        ("src/run.sh", Image::File(0o644, b"echo".to_vec())),
        ("old/deep/gone.txt", image("gone")),
        ("moved.txt", image("moved")),
        ("z.txt", image("old z")),
    ]
    .map(|(path, image)| (path.to_owned(), image))
    .into()
}

pub fn after() -> Images {
    [
        ("keep.txt", image("kept")),
        ("src/a.rs", Image::File(0o600, b"new a".to_vec())),
        ("src/run.sh", Image::File(0o755, b"echo".to_vec())),
        ("src/link", Image::Link(b"a.rs".to_vec())),
        ("new/deep/moved.txt", image("moved")),
        ("z.txt", image("new z")),
    ]
    .map(|(path, image)| (path.to_owned(), image))
    .into()
}

fn changes() -> Vec<Change> {
    vec![
        change("moved.txt", file("moved"), None),
        change("new/deep/moved.txt", None, file("moved")),
        change("old/deep/gone.txt", file("gone"), None),
        change("src/a.rs", file("old a"), file("new a")),
        change("src/link", None, Some(entry(EntryKind::Symlink, "a.rs"))),
        change("src/run.sh", file("echo"), Some(entry(EntryKind::Exec, "echo"))),
        change("z.txt", file("old z"), file("new z")),
    ]
}

pub fn start() -> SimDisk {
    let sim = sim();
    for (path, image) in before() {
        let Image::File(mode, bytes) = image else { unreachable!() };
        sim.put(&format!("{WORKSPACE}/{path}"), mode, &bytes);
    }
    sim.flush();
    sim
}

fn append(writer: &mut LogWriter, told: &Told, event: Value) -> Result<(), StoreError> {
    writer.append(Millis(5), 1, &event)?;
    told.lock().unwrap().events.push(event);
    Ok(())
}

fn put(home: &Home, told: &Told, bytes: &[u8]) -> Result<BlobId, StoreError> {
    let blob = home.blobs(&id())?.put(bytes)?;
    told.lock().unwrap().blobs.insert(blob);
    Ok(blob)
}

/// The whole life of a session.
pub fn session(disk: Watched, told: &Told) -> Result<(), StoreError> {
    let home = home_on(disk);
    let mut writer = LogWriter::create(&home, &id())?;
    told.lock().unwrap().created = true;
    append(&mut writer, told, json!({"kind": "note", "n": 1}))?;
    append(&mut writer, told, json!({"kind": "note", "n": 2}))?;
    home.texts(&id())?.put(PASSING)?;
    told.lock().unwrap().said = true;
    let cited = put(&home, told, CITED)?;
    append(&mut writer, told, json!({"kind": "cites", "blob": cited}))?;

    let inbox = home.inbox(&id())?;
    inbox.send(&abort("somebody"))?;
    told.lock().unwrap().sent = true;
    for (name, _) in inbox.take_all()?.messages {
        append(&mut writer, told, json!({"kind": "heard"}))?;
        inbox.done(&name)?;
    }
    told.lock().unwrap().taken = true;

    let lease = WorkspaceLease::try_acquire(&home, Path::new(WORKSPACE), &id())?;
    begin_publication(&home, &lease, &mut writer, told)?;

    told.lock().unwrap().said = false;
    home.texts(&id())?.release()?;
    append(&mut writer, told, json!({"kind": "end"}))
}

fn begin_publication(
    home: &Home,
    lease: &WorkspaceLease,
    writer: &mut LogWriter,
    told: &Told,
) -> Result<(), StoreError> {
    for bytes in ["new a", "a.rs", "echo", "moved", "new z"] {
        put(home, told, bytes.as_bytes())?;
    }
    let published = publish(home, lease, &publication(lease.workspace(), changes()))?;
    end_publication(home, lease, published, writer, told)
}

fn end_publication(
    home: &Home,
    lease: &WorkspaceLease,
    published: Published,
    writer: &mut LogWriter,
    told: &Told,
) -> Result<(), StoreError> {
    match published {
        Published::Done => {
            told.lock().unwrap().published = true;
            append(writer, told, json!({"kind": "committed"}))?;
            told.lock().unwrap().kept = settle(home, lease)?;
            told.lock().unwrap().settled = true;
        }
        Published::BaseMoved { paths, kept } => {
            told.lock().unwrap().base_moved = Some((paths, kept));
            append(writer, told, json!({"kind": "moved"}))?;
        }
    }
    Ok(())
}

/// Opens the log again, and believes what it says.
fn open(home: &Home, told: &Told) -> Result<LogWriter, StoreError> {
    let mut events = Vec::new();
    let mut read = |record: Record| events.push(serde_json::from_str(record.event.get()).unwrap());
    let (writer, cut) = match LogWriter::open(home, &id(), &mut read) {
        Err(StoreError::NoSession(_)) => (LogWriter::create(home, &id())?, None),
        opened => opened.map(|opened| (opened.writer, opened.cut))?,
    };
    let mut told = told.lock().unwrap();
    told.created = true;
    told.events = events;
    if !told.tail.is_empty() && told.cut.is_none() {
        told.cut = cut;
    }
    Ok(writer)
}

/// Only opens the log again.
pub fn reopen(disk: Watched, told: &Told) -> Result<(), StoreError> {
    open(&home_on(disk), told).map(drop)
}

/// What the next process does with what it finds: it brings the session to the same end.
pub fn resume<D: Disk + 'static>(disk: D, told: &Told) -> Result<(), StoreError> {
    let home = home_on(disk);
    let mut writer = open(&home, told)?;
    let events = told.lock().unwrap().events.clone();
    put(&home, told, CITED)?;
    let has = |kind: &str| events.iter().any(|event: &Value| event["kind"] == kind);
    let lease = WorkspaceLease::try_acquire(&home, Path::new(WORKSPACE), &id())?;
    match pending(&home, lease.workspace())? {
        Some(found) => {
            assert_eq!(found.record.get(), "{\"node\":\"n1\"}");
            if has("committed") {
                told.lock().unwrap().kept = settle(&home, &lease)?;
                told.lock().unwrap().settled = true;
            } else {
                let published = finish(&home, &lease)?;
                end_publication(&home, &lease, published, &mut writer, told)?;
            }
        }
        None if has("committed") || has("moved") => {}
        None => begin_publication(&home, &lease, &mut writer, told)?,
    }
    append(&mut writer, told, json!({"kind": "resumed"}))
}

/// Whether a disk holds what the session was told, as far as can be seen without changing it.
pub fn holds(sim: &SimDisk, acks: &Acks) -> Result<(), String> {
    let check = |good: bool, what: &str| if good { Ok(()) } else { Err(what.to_owned()) };
    let home = home_on(sim.clone());
    let mut events: Vec<Value> = Vec::new();
    let mut read = |record: Record| events.push(serde_json::from_str(record.event.get()).unwrap());
    match check_log(&home, &id(), &mut read) {
        Err(StoreError::NoSession(_)) if !acks.created => return Ok(()),
        verified => verified.map_err(|error| error.to_string())?,
    };
    let log = sim.read(&format!("{HOME}/sessions/s-1/log.jsonl"));
    check(!acks.created || log.is_some(), "a session that was begun has no log")?;
    check(events.starts_with(&acks.events), "a record that was acknowledged is gone")?;
    check(events.len() <= acks.events.len() + 1, "there is a record that nobody wrote")?;
    if let Some(cut) = &acks.cut {
        let kept = sim.read(cut.kept_as.to_str().unwrap());
        check(kept.as_ref() == Some(&acks.tail), "the bytes that were cut off are gone")?;
        let rest = &log.unwrap_or_default()[cut.offset as usize..];
        check(rest != acks.tail, "what was cut off is there again")?;
    }

    let blobs = home.blobs(&id()).unwrap();
    for blob in &acks.blobs {
        blobs.get(*blob).map_err(|error| format!("a stored blob: {error}"))?;
    }
    for event in events.iter().filter(|event| event["kind"] == "cites") {
        let blob = serde_json::from_value(event["blob"].clone()).unwrap();
        blobs.get(blob).map_err(|error| format!("a cited blob: {error}"))?;
    }
    let texts = home.texts(&id()).unwrap();
    check(!acks.said || texts.get(BlobId::of(PASSING)).is_ok(), "a text that is still needed is gone")?;

    let messages = home.inbox(&id()).unwrap().take_all().map_err(|error| error.to_string())?;
    check(messages.bad.is_empty(), "garbage in the inbox")?;
    let heard = events.iter().any(|event| event["kind"] == "heard");
    check(!acks.sent || heard || messages.messages.len() == 1, "a message that was sent is gone")?;
    check(!acks.taken || messages.messages.is_empty(), "a message that was dealt with is there again")?;

    let open = pending(&home, Path::new(WORKSPACE)).map_err(|error| error.to_string())?.is_some();
    let committed = events.iter().any(|event| event["kind"] == "committed");
    let moved = acks.base_moved.as_ref();
    check(acks.kept.is_empty(), "settling found bytes that nobody wrote")?;
    check(
        moved.is_none_or(|(paths, kept)| acks.edited && *paths == [path("z.txt")] && kept.is_empty()),
        &format!("taken back without need: {moved:?}"),
    )?;
    check(!(acks.settled || moved.is_some()) || !open, "a publication that is over is pending again")?;
    check(!acks.published || open || committed, "a publication that was done is forgotten")?;
    if !open {
        let mut wanted = if committed { after() } else { before() };
        if acks.edited {
            wanted.insert("z.txt".to_owned(), image("the user's z"));
        }
        let found = sim.images(WORKSPACE);
        check(found == wanted, &format!("the tree is {found:?}"))?;
    }
    Ok(())
}

/// Whether a disk holds what was told, still does after the next process has gone on from there, and would
/// after one more crash.
pub fn check(sim: &SimDisk, acks: &Acks) -> Result<(), String> {
    holds(sim, acks)?;
    let told = Told::new(Mutex::new(acks.clone()));
    resume(sim.clone(), &told).map_err(|error| format!("resume: {error}"))?;
    let acks = told.lock().unwrap().clone();
    holds(sim, &acks).map_err(|why| format!("after resume: {why}"))?;
    holds(&sim.crash(0), &acks).map_err(|why| format!("after resume and a crash: {why}"))
}

/// A moment at which the machine may stop: the disk and what was told by then.
pub struct Moment {
    pub next: Call,
    pub sim: SimDisk,
    pub acks: Acks,
}

/// Runs a program and takes a picture before each of its changes, and one at the end.
pub fn moments(
    sim: &SimDisk,
    faults: &[Fault],
    user: User,
    acks: Acks,
    program: impl FnOnce(Watched, &Told) -> Result<(), StoreError>,
) -> Vec<Moment> {
    let watched = Watched::new(Arc::new(sim.clone()), faults);
    let told = Told::new(Mutex::new(acks));
    let pictures = Arc::new(Mutex::new(Vec::new()));
    let picture = {
        let (sim, told, pictures) = (sim.clone(), Arc::clone(&told), Arc::clone(&pictures));
        move |call: &Call| {
            if !call.op.reads() {
                let acks = told.lock().unwrap().clone();
                pictures.lock().unwrap().push(Moment { next: call.clone(), sim: sim.kill(), acks });
            }
            if user == User::Edits
                && call.op == perspt_testkit::disk::Op::Exchange
                && call.path.ends_with("/z.txt")
                && sim.read(&format!("{WORKSPACE}/z.txt")).as_deref() == Some(b"old z")
            {
                sim.put(&format!("{WORKSPACE}/z.txt"), 0o644, b"the user's z");
                sim.flush();
                told.lock().unwrap().edited = true;
            }
        }
    };
    watched.before_each(picture.clone());
    let result = program(watched.clone(), &told);
    result.unwrap_or_else(|error| panic!("the program itself failed: {error}"));
    picture(&Call { number: 0, op: perspt_testkit::disk::Op::SyncAll, path: "the end".to_owned() });
    // The hook holds a way to this list.
    std::mem::take(&mut *pictures.lock().unwrap())
}

pub fn seeds() -> std::ops::Range<u64> {
    0..12
}

/// What a crash may do to what was not synced: drop all of it, keep all of it, or choose.
fn fates() -> Vec<u64> {
    let chosen = (0..).map(|n| heavy::seed().wrapping_add(n).max(2));
    [0, 1].into_iter().chain(chosen).take(heavy::cases(8, 32)).collect()
}

fn every_crash_is_survived(moments: &[Moment]) {
    for moment in moments {
        for seed in fates() {
            let crashed = moment.sim.crash(seed);
            if let Err(why) = check(&crashed, &moment.acks) {
                panic!("crash before {:?}, seed {seed}: {why}", moment.next);
            }
        }
    }
}

#[test]
fn after_a_crash_at_any_moment_all_that_was_acknowledged_is_there() {
    let moments = moments(&start(), &[], User::Watches, Acks::default(), session);
    assert!(moments.len() > 80, "only {} moments", moments.len());
    every_crash_is_survived(&moments);
    assert_eq!(moments.last().unwrap().sim.images(WORKSPACE), after());
}

#[test]
fn after_a_crash_at_any_moment_of_taking_back_the_tree_is_the_users() {
    let moments = moments(&start(), &[], User::Edits, Acks::default(), session);
    assert!(moments.last().unwrap().acks.base_moved.is_some());
    every_crash_is_survived(&moments);
}

/// A session whose last append was torn by a crash, all of it durable.
pub fn torn_session() -> (SimDisk, Acks) {
    let sim = start();
    let told = Told::default();
    let home = home_on(sim.clone());
    let mut writer = LogWriter::create(&home, &id()).unwrap();
    append(&mut writer, &told, json!({"kind": "note", "n": 1})).unwrap();
    let tail = b"{\"seq\":2,\"at\":5,\"v\":1,\"eve".to_vec();
    let log = format!("{HOME}/sessions/s-1/log.jsonl");
    let whole = [sim.read(&log).unwrap(), tail.clone()].concat();
    sim.overwrite(&log, &whole);
    sim.flush();
    let mut acks = told.lock().unwrap().clone();
    acks.tail = tail;
    (sim.kill(), acks)
}

#[test]
fn after_a_crash_at_any_moment_of_cutting_a_torn_tail_its_bytes_are_there() {
    let (sim, acks) = torn_session();
    let moments = moments(&sim, &[], User::Watches, acks, resume);
    assert!(moments.last().unwrap().acks.cut.is_some());
    every_crash_is_survived(&moments);
}

#[test]
fn a_kill_at_any_moment_and_then_a_crash_at_any_moment_of_resuming_lose_nothing() {
    let killed = moments(&start(), &[], User::Watches, Acks::default(), session);
    let fates = fates();
    for (k, killed) in killed.into_iter().enumerate() {
        let then = moments(&killed.sim, &[], User::Watches, killed.acks, resume);
        for (n, moment) in then.into_iter().enumerate() {
            // All is dropped where a sync was under way; elsewhere the fates take turns.
            let seed = if killed.next.op.syncs() { 0 } else { fates[(k + n) % fates.len()] };
            if let Err(why) = holds(&moment.sim.crash(seed), &moment.acks) {
                panic!("killed before {:?}, crash before {:?}, seed {seed}: {why}", killed.next, moment.next);
            }
        }
    }
}
