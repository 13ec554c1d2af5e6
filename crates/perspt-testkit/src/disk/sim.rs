//! A disk in memory. Bytes are durable once their file is synced, names once their folder is, owner and
//! permission bits once their file is synced whole.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use perspt_store::disk::{Dir, Disk, File, Kind, Locked, Open, Stat};
use rustix::io::Errno;

use super::world::{Body, Id, Image, Meta, ROOT, World, Write, error};

/// The simulated disk. Clones are the same disk.
#[derive(Clone)]
pub struct SimDisk(Arc<Mutex<World>>);

struct Handle {
    disk: SimDisk,
    node: Id,
    /// Tells this handle from others of the same node, for locks.
    number: u64,
}

impl Default for SimDisk {
    fn default() -> SimDisk {
        SimDisk::new()
    }
}

fn folder_body() -> Body {
    Body::Folder { live: BTreeMap::new(), safe: BTreeMap::new(), pending: Vec::new() }
}

fn file_body() -> Body {
    Body::File { live: Vec::new(), safe: Vec::new(), pending: Vec::new() }
}

impl SimDisk {
    /// An empty disk. Programs run as user 1000 with umask 022.
    pub fn new() -> SimDisk {
        SimDisk(Arc::new(Mutex::new(World::new())))
    }

    /// What is left of it after a crash; this disk stays as it is. Seed 0 drops all that was not synced,
    /// seed 1 keeps all, any other decides for each thing by itself. Nobody holds a lock afterwards.
    pub fn crash(&self, seed: u64) -> SimDisk {
        SimDisk(Arc::new(Mutex::new(self.world().crashed(seed))))
    }

    /// The same disk as a new process finds it after the old one was killed: nothing is lost but locks.
    pub fn kill(&self) -> SimDisk {
        let mut world = self.world().clone();
        world.locks.clear();
        SimDisk(Arc::new(Mutex::new(world)))
    }

    /// Makes all there is durable.
    pub fn flush(&self) {
        let mut world = self.world();
        let ids: Vec<Id> = world.nodes.keys().copied().collect();
        for id in ids {
            let _ = world.sync(id);
            if let Ok(node) = world.node(id) {
                node.safe_meta = node.meta;
            }
        }
    }

    /// Makes a folder and those above it, as a user would.
    pub fn make_folders(&self, path: &str) {
        let mut folder: Arc<dyn Dir> = Arc::new(self.handle(ROOT));
        for part in parts(path) {
            let _ = folder.make_folder(part, 0o777);
            folder = folder.folder(part).unwrap_or_else(|error| unreachable!("{path}: {error}"));
        }
    }

    /// Replaces a file, as an editor would that writes a new one and renames it.
    pub fn put(&self, path: &str, mode: u32, bytes: &[u8]) {
        let mut world = self.world();
        let file = world.add(file_body(), mode);
        let _ = world.write(file, Write::At(0, bytes.to_vec()));
        self.enter(world, path, Some(file));
    }

    /// Overwrites a file in its place, as a program would that holds it open.
    pub fn overwrite(&self, path: &str, bytes: &[u8]) {
        let mut world = self.world();
        if let Some(file) = find(&world, path) {
            let _ = world.write(file, Write::Length(0));
            let _ = world.write(file, Write::At(0, bytes.to_vec()));
        }
    }

    /// Removes an entry.
    pub fn remove(&self, path: &str) {
        self.enter(self.world(), path, None);
    }

    fn enter(&self, world: MutexGuard<'_, World>, path: &str, id: Option<Id>) {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        drop(world);
        self.make_folders(folder);
        let mut world = self.world();
        if let Some(folder) = find(&world, folder) {
            let _ = world.change(folder, vec![(name.to_owned(), id)]);
        }
    }

    /// The bytes of a file, if there is one.
    pub fn read(&self, path: &str) -> Option<Vec<u8>> {
        let world = self.world();
        match &world.nodes.get(&find(&world, path)?)?.body {
            Body::File { live, .. } => Some(live.clone()),
            Body::Folder { .. } | Body::Link(_) => None,
        }
    }

    /// What the disk says about a path, if there is such an entry.
    pub fn stat(&self, path: &str) -> Option<Stat> {
        let world = self.world();
        world.stat(find(&world, path)?).ok()
    }

    /// Everything below a folder, by path from it.
    pub fn images(&self, path: &str) -> BTreeMap<String, Image> {
        let world = self.world();
        let mut images = BTreeMap::new();
        if let Some(folder) = find(&world, path) {
            collect(&world, folder, "", &mut images);
        }
        images
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn handle(&self, node: Id) -> Handle {
        let number = self.world().fresh();
        Handle { disk: self.clone(), node, number }
    }
}

fn parts(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|part| !part.is_empty())
}

fn find(world: &World, path: &str) -> Option<Id> {
    parts(path).try_fold(ROOT, |folder, part| world.child(folder, part).ok())
}

fn collect(world: &World, folder: Id, prefix: &str, images: &mut BTreeMap<String, Image>) {
    let Some(Body::Folder { live, .. }) = world.nodes.get(&folder).map(|node| &node.body) else { return };
    for (name, id) in live {
        let Some(node) = world.nodes.get(id) else { continue };
        let path = format!("{prefix}{name}");
        match &node.body {
            Body::File { live, .. } => images.insert(path, Image::File(node.meta.mode, live.clone())),
            Body::Link(text) => images.insert(path, Image::Link(text.clone())),
            Body::Folder { live, .. } if live.is_empty() => images.insert(path, Image::EmptyFolder),
            Body::Folder { .. } => {
                collect(world, *id, &format!("{path}/"), images);
                None
            }
        };
    }
}

impl Disk for SimDisk {
    fn root(&self, path: &Path) -> io::Result<Arc<dyn Dir>> {
        let mut folder: Arc<dyn Dir> = Arc::new(self.handle(ROOT));
        for part in parts(path.to_str().ok_or(Errno::INVAL)?) {
            folder = folder.folder(part)?;
        }
        Ok(folder)
    }
}

impl Handle {
    fn world(&self) -> MutexGuard<'_, World> {
        self.disk.world()
    }

    fn lock(&self) -> io::Result<Locked> {
        let holder = *self.world().locks.entry(self.node).or_insert(self.number);
        Ok(if holder == self.number { Locked::Taken } else { Locked::Busy })
    }

    fn add(&self, name: &str, body: Body, mode: u32) -> io::Result<Id> {
        let mut world = self.world();
        if world.child(self.node, name).is_ok() {
            return error(Errno::EXIST);
        }
        let id = world.add(body, mode);
        world.change(self.node, vec![(name.to_owned(), Some(id))])?;
        Ok(id)
    }

    fn kind(&self, name: &str) -> io::Result<Kind> {
        let world = self.world();
        Ok(world.stat(world.child(self.node, name)?)?.kind)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let mut world = self.world();
        if world.locks.get(&self.node) == Some(&self.number) {
            world.locks.remove(&self.node);
        }
    }
}

impl Dir for Handle {
    fn stat(&self) -> io::Result<Stat> {
        self.world().stat(self.node)
    }

    fn look(&self, name: &str) -> io::Result<Stat> {
        let world = self.world();
        world.stat(world.child(self.node, name)?)
    }

    fn folder(&self, name: &str) -> io::Result<Arc<dyn Dir>> {
        match self.kind(name)? {
            Kind::Folder => {}
            Kind::File | Kind::Link | Kind::Other => return error(Errno::NOTDIR),
        }
        let node = self.world().child(self.node, name)?;
        Ok(Arc::new(self.disk.handle(node)))
    }

    fn make_folder(&self, name: &str, mode: u32) -> io::Result<()> {
        self.add(name, folder_body(), mode).map(drop)
    }

    fn remove_folder(&self, name: &str) -> io::Result<()> {
        let mut world = self.world();
        let id = world.child(self.node, name)?;
        match world.body(id)? {
            Body::Folder { live, .. } if live.is_empty() => {}
            Body::Folder { .. } => return error(Errno::NOTEMPTY),
            Body::File { .. } | Body::Link(_) => return error(Errno::NOTDIR),
        }
        world.change(self.node, vec![(name.to_owned(), None)])
    }

    fn open(&self, name: &str, how: Open) -> io::Result<Box<dyn File>> {
        let node = match (self.kind(name), how) {
            (Ok(_), Open::New(_)) => return error(Errno::EXIST),
            (Ok(Kind::Link), _) => return error(Errno::LOOP),
            (Ok(Kind::Folder | Kind::Other), Open::Append | Open::Any(_)) => return error(Errno::ISDIR),
            (Ok(Kind::File | Kind::Folder | Kind::Other), _) => self.world().child(self.node, name)?,
            (Err(_), Open::New(mode) | Open::Any(mode)) => self.add(name, file_body(), mode)?,
            (Err(error), Open::Read | Open::Append) => return Err(error),
        };
        Ok(Box::new(self.disk.handle(node)))
    }

    fn read_link(&self, name: &str) -> io::Result<Vec<u8>> {
        let world = self.world();
        let id = world.child(self.node, name)?;
        match world.body(id)? {
            Body::Link(text) => Ok(text.clone()),
            Body::File { .. } | Body::Folder { .. } => error(Errno::INVAL),
        }
    }

    fn make_link(&self, name: &str, text: &[u8]) -> io::Result<()> {
        self.add(name, Body::Link(text.to_vec()), 0o777).map(drop)
    }

    fn set_owner(&self, name: &str, uid: u32, gid: u32) -> io::Result<()> {
        let mut world = self.world();
        let id = world.child(self.node, name)?;
        let node = world.node(id)?;
        node.meta = Meta { uid, gid, ..node.meta };
        Ok(())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut world = self.world();
        let id = world.child(self.node, from)?;
        world.change(self.node, vec![(from.to_owned(), None), (to.to_owned(), Some(id))])
    }

    fn rename_new(&self, from: &str, to: &str) -> io::Result<()> {
        self.kind(from)?;
        if self.kind(to).is_ok() {
            return error(Errno::EXIST);
        }
        self.rename(from, to)
    }

    fn exchange(&self, one: &str, other: &str) -> io::Result<()> {
        let mut world = self.world();
        let (first, second) = (world.child(self.node, one)?, world.child(self.node, other)?);
        world.change(self.node, vec![(one.to_owned(), Some(second)), (other.to_owned(), Some(first))])
    }

    fn unlink(&self, name: &str) -> io::Result<()> {
        if self.kind(name)? == Kind::Folder {
            return error(Errno::ISDIR);
        }
        self.world().change(self.node, vec![(name.to_owned(), None)])
    }

    fn names(&self) -> io::Result<Vec<String>> {
        match self.world().body(self.node)? {
            Body::Folder { live, .. } => Ok(live.keys().cloned().collect()),
            Body::File { .. } | Body::Link(_) => error(Errno::NOTDIR),
        }
    }

    fn sync(&self) -> io::Result<()> {
        self.world().sync(self.node)
    }

    fn try_lock(&self) -> io::Result<Locked> {
        self.lock()
    }
}

impl File for Handle {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let world = self.world();
        let Body::File { live, .. } = world.body(self.node)? else { return error(Errno::ISDIR) };
        let rest = usize::try_from(offset).ok().and_then(|offset| live.get(offset..)).unwrap_or(&[]);
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        Ok(length)
    }

    fn append(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut world = self.world();
        let Body::File { live, .. } = world.body(self.node)? else { return error(Errno::ISDIR) };
        let end = live.len();
        world.write(self.node, Write::At(end, bytes.to_vec()))?;
        Ok(bytes.len())
    }

    fn truncate(&self, length: u64) -> io::Result<()> {
        let length = usize::try_from(length).map_err(|_| Errno::INVAL)?;
        self.world().write(self.node, Write::Length(length))
    }

    fn stat(&self) -> io::Result<Stat> {
        Dir::stat(self)
    }

    fn set_mode(&self, mode: u32) -> io::Result<()> {
        self.world().node(self.node)?.meta.mode = mode;
        Ok(())
    }

    fn set_owner(&self, uid: u32, gid: u32) -> io::Result<()> {
        let mut world = self.world();
        let node = world.node(self.node)?;
        node.meta = Meta { uid, gid, ..node.meta };
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        self.world().sync(self.node)
    }

    fn sync_all(&self) -> io::Result<()> {
        let mut world = self.world();
        world.sync(self.node)?;
        let node = world.node(self.node)?;
        node.safe_meta = node.meta;
        Ok(())
    }

    fn try_lock(&self) -> io::Result<Locked> {
        self.lock()
    }
}
