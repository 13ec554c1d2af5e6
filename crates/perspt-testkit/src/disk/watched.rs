//! A disk under observation: every call is counted and may be made to fail.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use perspt_store::disk::{Dir, Disk, File, Locked, Open, Stat};
use rustix::io::Errno;

/// The kinds of call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "each is the method of its name")]
pub enum Op {
    Root,
    Stat,
    Look,
    Folder,
    MakeFolder,
    RemoveFolder,
    OpenToRead,
    OpenToWrite,
    ReadLink,
    MakeLink,
    SetOwner,
    Rename,
    RenameNew,
    Exchange,
    Unlink,
    Names,
    SyncFolder,
    Lock,
    Read,
    Append,
    Truncate,
    SetMode,
    SyncData,
    SyncAll,
}

impl Op {
    /// Whether it makes something durable.
    pub fn syncs(self) -> bool {
        matches!(self, Op::SyncFolder | Op::SyncData | Op::SyncAll)
    }

    /// Whether it only looks, or locks.
    pub fn reads(self) -> bool {
        matches!(
            self,
            Op::Root
                | Op::Stat
                | Op::Look
                | Op::Folder
                | Op::OpenToRead
                | Op::ReadLink
                | Op::Names
                | Op::Lock
                | Op::Read
        )
    }
}

/// One call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Its place among all calls, from one.
    pub number: u64,
    /// What it does.
    pub op: Op,
    /// What it does it to.
    pub path: String,
}

/// What goes wrong. Calls are counted from one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The nth call that changes or syncs something fails with this error and does nothing.
    Fail(u64, Errno),
    /// Every call of a kind fails with this error and does nothing.
    FailAll(Op, Errno),
    /// The nth call that changes or syncs something writes, if it writes, only half of its bytes.
    Short(u64),
    /// The nth sync does nothing and says that it did.
    SkipSync(u64),
    /// The nth call that changes or syncs something, and every call after it, fails and does nothing: the
    /// program is as good as dead.
    Stop(u64),
    /// Every call that changes something fails as on a read-only disk.
    ReadOnly,
}

type Hook = Box<dyn FnMut(&Call) + Send>;

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    hook: Mutex<Option<Hook>>,
}

#[derive(Default)]
struct State {
    calls: u64,
    steps: u64,
    syncs: u64,
    stopped: bool,
    counts: BTreeMap<Op, u64>,
    faults: Vec<Fault>,
}

enum Verdict {
    Go,
    Skip,
    Half,
}

/// A disk whose calls are watched.
#[derive(Clone)]
pub struct Watched {
    inner: Arc<dyn Disk>,
    shared: Arc<Shared>,
}

impl Watched {
    /// Watches a disk.
    pub fn new(inner: Arc<dyn Disk>, faults: &[Fault]) -> Watched {
        let watched = Watched { inner, shared: Arc::default() };
        watched.state(|state| state.faults = faults.to_vec());
        watched
    }

    /// From now on these faults, and counts from zero.
    pub fn reset(&self, faults: &[Fault]) {
        self.state(|state| *state = State { faults: faults.to_vec(), ..State::default() });
    }

    /// Runs this before every call. It may use the disk below, not this one.
    pub fn before_each(&self, hook: impl FnMut(&Call) + Send + 'static) {
        *self.shared.hook.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(hook));
    }

    /// How many calls of each kind there were.
    pub fn counts(&self) -> BTreeMap<Op, u64> {
        self.state(|state| state.counts.clone())
    }

    /// How many calls there were.
    pub fn calls(&self) -> u64 {
        self.state(|state| state.calls)
    }

    /// How many calls there were that change or sync something.
    pub fn steps(&self) -> u64 {
        self.state(|state| state.steps)
    }

    /// How many syncs there were.
    pub fn syncs(&self) -> u64 {
        self.state(|state| state.syncs)
    }

    fn state<T>(&self, with: impl FnOnce(&mut State) -> T) -> T {
        with(&mut self.shared.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Shared {
    fn call(&self, op: Op, path: &str) -> io::Result<Verdict> {
        let (number, verdict) = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            (state.calls + 1, state.judge(op))
        };
        if let Some(hook) = self.hook.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            hook(&Call { number, op, path: path.to_owned() });
        }
        verdict
    }
}

impl State {
    fn judge(&mut self, op: Op) -> io::Result<Verdict> {
        self.calls += 1;
        *self.counts.entry(op).or_default() += 1;
        self.steps += u64::from(!op.reads());
        self.syncs += u64::from(op.syncs());
        let step = if op.reads() { None } else { Some(self.steps) };
        for fault in &self.faults {
            match *fault {
                Fault::Fail(nth, errno) if step == Some(nth) => return Err(errno.into()),
                Fault::FailAll(kind, errno) if kind == op => return Err(errno.into()),
                Fault::Short(nth) if step == Some(nth) && op == Op::Append => return Ok(Verdict::Half),
                Fault::SkipSync(nth) if op.syncs() && self.syncs == nth => return Ok(Verdict::Skip),
                Fault::Stop(nth) if self.stopped || step == Some(nth) => {
                    self.stopped = true;
                    return Err(Errno::IO.into());
                }
                Fault::ReadOnly if !op.reads() && !op.syncs() => return Err(Errno::ROFS.into()),
                Fault::Fail(..)
                | Fault::FailAll(..)
                | Fault::Short(_)
                | Fault::SkipSync(_)
                | Fault::Stop(_)
                | Fault::ReadOnly => {}
            }
        }
        Ok(Verdict::Go)
    }
}

impl Disk for Watched {
    fn root(&self, path: &Path) -> io::Result<Arc<dyn Dir>> {
        let text = path.display().to_string();
        self.shared.call(Op::Root, &text)?;
        let inner = self.inner.root(path)?;
        Ok(Arc::new(WatchedDir { inner, path: text, shared: Arc::clone(&self.shared) }))
    }
}

struct WatchedDir {
    inner: Arc<dyn Dir>,
    path: String,
    shared: Arc<Shared>,
}

impl WatchedDir {
    fn call(&self, op: Op, name: &str) -> io::Result<Verdict> {
        self.shared.call(op, &self.at(name))
    }

    fn at(&self, name: &str) -> String {
        format!("{}/{name}", self.path)
    }
}

impl Dir for WatchedDir {
    fn stat(&self) -> io::Result<Stat> {
        self.call(Op::Stat, "")?;
        self.inner.stat()
    }

    fn look(&self, name: &str) -> io::Result<Stat> {
        self.call(Op::Look, name)?;
        self.inner.look(name)
    }

    fn folder(&self, name: &str) -> io::Result<Arc<dyn Dir>> {
        self.call(Op::Folder, name)?;
        let inner = self.inner.folder(name)?;
        Ok(Arc::new(WatchedDir { inner, path: self.at(name), shared: Arc::clone(&self.shared) }))
    }

    fn make_folder(&self, name: &str, mode: u32) -> io::Result<()> {
        self.call(Op::MakeFolder, name)?;
        self.inner.make_folder(name, mode)
    }

    fn remove_folder(&self, name: &str) -> io::Result<()> {
        self.call(Op::RemoveFolder, name)?;
        self.inner.remove_folder(name)
    }

    fn open(&self, name: &str, how: Open) -> io::Result<Box<dyn File>> {
        let op = match how {
            Open::Read => Op::OpenToRead,
            Open::Append | Open::New(_) | Open::Any(_) => Op::OpenToWrite,
        };
        self.call(op, name)?;
        let inner = self.inner.open(name, how)?;
        Ok(Box::new(WatchedFile { inner, path: self.at(name), shared: Arc::clone(&self.shared) }))
    }

    fn read_link(&self, name: &str) -> io::Result<Vec<u8>> {
        self.call(Op::ReadLink, name)?;
        self.inner.read_link(name)
    }

    fn make_link(&self, name: &str, text: &[u8]) -> io::Result<()> {
        self.call(Op::MakeLink, name)?;
        self.inner.make_link(name, text)
    }

    fn set_owner(&self, name: &str, uid: u32, gid: u32) -> io::Result<()> {
        self.call(Op::SetOwner, name)?;
        self.inner.set_owner(name, uid, gid)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.call(Op::Rename, from)?;
        self.inner.rename(from, to)
    }

    fn rename_new(&self, from: &str, to: &str) -> io::Result<()> {
        self.call(Op::RenameNew, from)?;
        self.inner.rename_new(from, to)
    }

    fn exchange(&self, one: &str, other: &str) -> io::Result<()> {
        self.call(Op::Exchange, other)?;
        self.inner.exchange(one, other)
    }

    fn unlink(&self, name: &str) -> io::Result<()> {
        self.call(Op::Unlink, name)?;
        self.inner.unlink(name)
    }

    fn names(&self) -> io::Result<Vec<String>> {
        self.call(Op::Names, "")?;
        self.inner.names()
    }

    fn sync(&self) -> io::Result<()> {
        match self.call(Op::SyncFolder, "")? {
            Verdict::Skip => Ok(()),
            Verdict::Go | Verdict::Half => self.inner.sync(),
        }
    }

    fn try_lock(&self) -> io::Result<Locked> {
        self.call(Op::Lock, "")?;
        self.inner.try_lock()
    }
}

struct WatchedFile {
    inner: Box<dyn File>,
    path: String,
    shared: Arc<Shared>,
}

impl WatchedFile {
    fn call(&self, op: Op) -> io::Result<Verdict> {
        self.shared.call(op, &self.path)
    }
}

impl File for WatchedFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.call(Op::Read)?;
        self.inner.read_at(buffer, offset)
    }

    fn append(&self, bytes: &[u8]) -> io::Result<usize> {
        match self.call(Op::Append)? {
            Verdict::Half => self.inner.append(&bytes[..bytes.len() / 2]),
            Verdict::Go | Verdict::Skip => self.inner.append(bytes),
        }
    }

    fn truncate(&self, length: u64) -> io::Result<()> {
        self.call(Op::Truncate)?;
        self.inner.truncate(length)
    }

    fn stat(&self) -> io::Result<Stat> {
        self.call(Op::Stat)?;
        self.inner.stat()
    }

    fn set_mode(&self, mode: u32) -> io::Result<()> {
        self.call(Op::SetMode)?;
        self.inner.set_mode(mode)
    }

    fn set_owner(&self, uid: u32, gid: u32) -> io::Result<()> {
        self.call(Op::SetOwner)?;
        self.inner.set_owner(uid, gid)
    }

    fn sync_data(&self) -> io::Result<()> {
        match self.call(Op::SyncData)? {
            Verdict::Skip => Ok(()),
            Verdict::Go | Verdict::Half => self.inner.sync_data(),
        }
    }

    fn sync_all(&self) -> io::Result<()> {
        match self.call(Op::SyncAll)? {
            Verdict::Skip => Ok(()),
            Verdict::Go | Verdict::Half => self.inner.sync_all(),
        }
    }

    fn try_lock(&self) -> io::Result<Locked> {
        self.call(Op::Lock)?;
        self.inner.try_lock()
    }
}
