//! The state of the simulated disk: what programs see, and what would be left after a crash.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use perspt_core::ids::Millis;
use perspt_store::disk::{Kind, Stat};
use rustix::io::Errno;

pub(super) type Id = u64;
pub(super) const ROOT: Id = 1;

pub(super) fn error<T>(errno: Errno) -> io::Result<T> {
    Err(errno.into())
}

/// An entry of a tree as a test looks at it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Image {
    /// A file: permission bits and bytes.
    File(u32, Vec<u8>),
    /// A link and its text.
    Link(Vec<u8>),
    /// A folder that holds nothing.
    EmptyFolder,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Meta {
    pub mode: u32,
    pub uid: u32,
    pub gid: u32,
}

#[derive(Debug, Clone)]
pub(super) enum Write {
    At(usize, Vec<u8>),
    Length(usize),
}

/// Several names of one folder that change together; `None` is a name that goes.
pub(super) type Entries = Vec<(String, Option<Id>)>;

#[derive(Debug, Clone)]
pub(super) enum Body {
    File { live: Vec<u8>, safe: Vec<u8>, pending: Vec<Write> },
    Folder { live: BTreeMap<String, Id>, safe: BTreeMap<String, Id>, pending: Vec<Entries> },
    Link(Vec<u8>),
}

#[derive(Debug, Clone)]
pub(super) struct Node {
    pub body: Body,
    pub meta: Meta,
    /// Owner and permission bits as they would be after a crash.
    pub safe_meta: Meta,
    pub modified: u64,
}

#[derive(Debug, Clone)]
pub(super) struct World {
    /// Shared between pictures of the disk until one of them changes.
    pub nodes: BTreeMap<Id, Arc<Node>>,
    pub locks: BTreeMap<Id, u64>,
    pub owner: (u32, u32),
    next: u64,
    clock: u64,
}

/// A small generator of numbers that look random; the same seed gives the same numbers.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % sides
    }
}

enum Fate {
    Kept,
    Dropped,
    Torn,
}

fn fate(seed: u64, dice: &mut Dice) -> Fate {
    match (seed, dice.roll(6)) {
        (0, _) => Fate::Dropped,
        (1, _) => Fate::Kept,
        (_, 0 | 1) => Fate::Dropped,
        (_, 2) => Fate::Torn,
        (_, _) => Fate::Kept,
    }
}

pub(super) fn write(bytes: &mut Vec<u8>, change: &Write) {
    match change {
        Write::At(offset, new) => {
            let end = offset + new.len();
            if bytes.len() < end {
                bytes.resize(end, 0);
            }
            bytes[*offset..end].copy_from_slice(new);
        }
        Write::Length(length) => bytes.resize(*length, 0),
    }
}

pub(super) fn enter(entries: &mut BTreeMap<String, Id>, change: &Entries) {
    for (name, id) in change {
        match id {
            Some(id) => entries.insert(name.clone(), *id),
            None => entries.remove(name),
        };
    }
}

impl Node {
    fn is_safe(&self) -> bool {
        let pending = match &self.body {
            Body::File { pending, .. } => pending.len(),
            Body::Folder { pending, .. } => pending.len(),
            Body::Link(_) => 0,
        };
        pending == 0 && self.meta == self.safe_meta
    }
}

impl World {
    pub fn new() -> World {
        let mut world =
            World { nodes: BTreeMap::new(), locks: BTreeMap::new(), owner: (1000, 1000), next: 1, clock: 1 };
        world.add(Body::Folder { live: BTreeMap::new(), safe: BTreeMap::new(), pending: Vec::new() }, 0o755);
        world
    }

    pub fn fresh(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    pub fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// A new node that has no name yet. The umask is 022.
    pub fn add(&mut self, body: Body, mode: u32) -> Id {
        let id = if self.nodes.is_empty() { ROOT } else { self.fresh() };
        let meta = Meta { mode: mode & !0o022, uid: self.owner.0, gid: self.owner.1 };
        let modified = self.tick();
        self.nodes.insert(id, Arc::new(Node { body, meta, safe_meta: meta, modified }));
        id
    }

    pub fn node(&mut self, id: Id) -> io::Result<&mut Node> {
        self.nodes.get_mut(&id).map(Arc::make_mut).ok_or_else(|| Errno::STALE.into())
    }

    pub fn body(&self, id: Id) -> io::Result<&Body> {
        self.nodes.get(&id).map(|node| &node.body).ok_or_else(|| Errno::STALE.into())
    }

    pub fn child(&self, folder: Id, name: &str) -> io::Result<Id> {
        let Some(Body::Folder { live, .. }) = self.nodes.get(&folder).map(|node| &node.body) else {
            return error(Errno::NOTDIR);
        };
        live.get(name).copied().ok_or_else(|| Errno::NOENT.into())
    }

    pub fn change(&mut self, folder: Id, change: Entries) -> io::Result<()> {
        let modified = self.tick();
        let node = self.node(folder)?;
        node.modified = modified;
        let Body::Folder { live, pending, .. } = &mut node.body else { return error(Errno::NOTDIR) };
        enter(live, &change);
        pending.push(change);
        Ok(())
    }

    pub fn write(&mut self, file: Id, change: Write) -> io::Result<()> {
        let modified = self.tick();
        let node = self.node(file)?;
        node.modified = modified;
        let Body::File { live, pending, .. } = &mut node.body else { return error(Errno::ISDIR) };
        write(live, &change);
        pending.push(change);
        Ok(())
    }

    pub fn sync(&mut self, id: Id) -> io::Result<()> {
        if self.nodes.get(&id).is_some_and(|node| node.is_safe()) {
            return Ok(());
        }
        match &mut self.node(id)?.body {
            Body::File { live, safe, pending } => {
                safe.clone_from(live);
                pending.clear();
            }
            Body::Folder { live, safe, pending } => {
                safe.clone_from(live);
                pending.clear();
            }
            Body::Link(_) => {}
        }
        Ok(())
    }

    pub fn stat(&self, id: Id) -> io::Result<Stat> {
        let Some(node) = self.nodes.get(&id) else { return error(Errno::STALE) };
        let (kind, size) = match &node.body {
            Body::File { live, .. } => (Kind::File, live.len()),
            Body::Folder { live, .. } => (Kind::Folder, live.len()),
            Body::Link(text) => (Kind::Link, text.len()),
        };
        let Meta { mode, uid, gid } = node.meta;
        Ok(Stat { kind, size: size as u64, mode, uid, gid, modified: Millis(node.modified) })
    }

    /// What a crash leaves: of everything not synced, each thing by itself is kept, dropped or torn. Seed 0
    /// drops all, seed 1 keeps all.
    pub fn crashed(&self, seed: u64) -> World {
        let mut dice = Dice(seed);
        let mut world = self.clone();
        world.locks.clear();
        for node in world.nodes.values_mut().filter(|node| !node.is_safe()) {
            let node = Arc::make_mut(node);
            match &mut node.body {
                Body::File { live, safe, pending } => {
                    for change in pending.drain(..) {
                        match (fate(seed, &mut dice), change) {
                            (Fate::Kept, change) => write(safe, &change),
                            (Fate::Torn, Write::At(offset, mut new)) => {
                                new.truncate(dice.roll(new.len() as u64 + 1) as usize);
                                write(safe, &Write::At(offset, new));
                            }
                            (Fate::Torn, Write::Length(_)) | (Fate::Dropped, _) => {}
                        }
                    }
                    live.clone_from(safe);
                }
                Body::Folder { live, safe, pending } => {
                    for change in pending.drain(..) {
                        if !matches!(fate(seed, &mut dice), Fate::Dropped) {
                            enter(safe, &change);
                        }
                    }
                    live.clone_from(safe);
                }
                Body::Link(_) => {}
            }
            if matches!(fate(seed, &mut dice), Fate::Dropped) {
                node.meta = node.safe_meta;
            }
            node.safe_meta = node.meta;
        }
        world
    }
}
