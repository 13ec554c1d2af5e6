//! The port to the disk. Everything durable in perspt goes through these three traits, so that a simulated
//! disk can stand under the log, the blobs, the inbox and a publication.
//!
//! Folders are handles and every other call names one entry of a folder: a name never holds a `/` and is
//! never followed if it is a link. So no call can be led elsewhere by a link, and a folder that is moved
//! while we work in it stays the same folder.

use std::io;
use std::path::Path;
use std::sync::Arc;

use perspt_core::ids::Millis;

/// Where folders are found by path.
pub trait Disk: Send + Sync {
    /// Opens a folder that the user or the platform named. This one path may pass through links.
    fn root(&self, path: &Path) -> io::Result<Arc<dyn Dir>>;
}

/// An open folder.
pub trait Dir: Send + Sync {
    /// What the folder itself is.
    fn stat(&self) -> io::Result<Stat>;
    /// What a name stands for; a link is not followed.
    fn look(&self, name: &str) -> io::Result<Stat>;
    /// Opens a folder below this one. A link is an error, even if it leads to a folder.
    fn folder(&self, name: &str) -> io::Result<Arc<dyn Dir>>;
    /// Makes a folder with these permission bits, less the umask.
    fn make_folder(&self, name: &str, mode: u32) -> io::Result<()>;
    /// Removes an empty folder.
    fn remove_folder(&self, name: &str) -> io::Result<()>;
    /// Opens or makes a file. A link is an error.
    fn open(&self, name: &str, how: Open) -> io::Result<Box<dyn File>>;
    /// The text of a link.
    fn read_link(&self, name: &str) -> io::Result<Vec<u8>>;
    /// Makes a link with this text.
    fn make_link(&self, name: &str, text: &[u8]) -> io::Result<()>;
    /// Changes the owner of an entry; of the link itself where it is one.
    fn set_owner(&self, name: &str, uid: u32, gid: u32) -> io::Result<()>;
    /// Renames within this folder, replacing what `to` was.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Renames within this folder; an error if `to` exists.
    fn rename_new(&self, from: &str, to: &str) -> io::Result<()>;
    /// Swaps two entries of this folder in one step; an error if one is missing.
    fn exchange(&self, one: &str, other: &str) -> io::Result<()>;
    /// Removes a file or link.
    fn unlink(&self, name: &str) -> io::Result<()>;
    /// The names in this folder, sorted. Names that are not UTF-8 are left out: none of ours is one.
    fn names(&self) -> io::Result<Vec<String>>;
    /// Makes every change of entries so far durable.
    fn sync(&self) -> io::Result<()>;
    /// Tries to take the advisory lock on this folder for as long as the handle lives.
    fn try_lock(&self) -> io::Result<Locked>;
}

/// An open file.
pub trait File: Send + Sync {
    /// Reads at an offset; zero bytes at the end.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
    /// One write at the end of the file; says how many bytes it took.
    fn append(&self, bytes: &[u8]) -> io::Result<usize>;
    /// Cuts the file to this length.
    fn truncate(&self, length: u64) -> io::Result<()>;
    /// What the file is.
    fn stat(&self) -> io::Result<Stat>;
    /// Sets the permission bits, whatever the umask.
    fn set_mode(&self, mode: u32) -> io::Result<()>;
    /// Sets owner and group.
    fn set_owner(&self, uid: u32, gid: u32) -> io::Result<()>;
    /// Makes bytes and length durable.
    fn sync_data(&self) -> io::Result<()>;
    /// Makes bytes, length, owner and permission bits durable.
    fn sync_all(&self) -> io::Result<()>;
    /// Tries to take the advisory lock on this file for as long as the handle lives.
    fn try_lock(&self) -> io::Result<Locked>;
}

/// How to open a file. Every write goes to the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Open {
    /// To read an existing file.
    Read,
    /// To read and append to an existing file.
    Append,
    /// To make a file that does not exist yet, with these permission bits less the umask.
    New(u32),
    /// To append to a file, making it with these permission bits less the umask if it is missing.
    Any(u32),
}

/// What came of asking for a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Locked {
    /// The handle holds the lock now.
    Taken,
    /// Another handle holds it.
    Busy,
}

/// What kind of thing a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A pipe, socket or device.
    Other,
}

/// What the disk says about a name or handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// The kind.
    pub kind: Kind,
    /// Length in bytes.
    pub size: u64,
    /// Permission bits.
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// When it last changed.
    pub modified: Millis,
}
