//! Temporary homes and workspaces, and pictures of folders to hold against each other.
// A test library: what cannot be set up is a failed test.
#![allow(clippy::expect_used)]

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use perspt_store::disk::Disk;
use perspt_store::{Home, RealDisk};

/// A folder of its own below the system's temp dir, with `home` and `work` in it. It is removed on drop.
pub struct Place {
    folder: tempfile::TempDir,
    root: PathBuf,
}

impl Default for Place {
    fn default() -> Place {
        Place::new()
    }
}

impl Place {
    /// A new place with an empty workspace.
    pub fn new() -> Place {
        let folder = tempfile::Builder::new().prefix("perspt-").tempdir().expect("a temp folder");
        // A link on the way would be seen differently by confined commands.
        let root = folder.path().canonicalize().expect("a resolved temp folder");
        fs::create_dir(root.join("work")).expect("a workspace");
        Place { folder, root }
    }

    /// The folder that holds both.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A word that is in the path of everything here and nowhere else.
    pub fn mark(&self) -> String {
        self.folder.path().file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// The workspace.
    pub fn work(&self) -> PathBuf {
        self.root.join("work")
    }

    /// Where the home is, or will be.
    pub fn home_path(&self) -> PathBuf {
        self.root.join("home")
    }

    /// The home on the real disk.
    pub fn home(&self) -> Home {
        self.home_on(Arc::new(RealDisk))
    }

    /// The home on some disk.
    pub fn home_on(&self, disk: Arc<dyn Disk>) -> Home {
        Home::open(self.home_path(), disk).expect("a home")
    }

    /// Writes a file of the workspace, and the folders above it.
    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        write(&self.work().join(path), text.as_ref()).expect("a file of the workspace");
    }

    /// Writes several.
    pub fn with(self, files: &[(&str, &str)]) -> Place {
        for (path, text) in files {
            self.write(path, text);
        }
        self
    }

    /// The text of a file of the workspace; `None` where there is none.
    pub fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.work().join(path)).ok()
    }

    /// A picture of the workspace.
    pub fn picture(&self) -> Picture {
        Picture::of(&self.work())
    }
}

fn write(path: &Path, text: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, text)
}

/// What a folder holds, byte for byte: every file with its permission bits, every link, every empty folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture(pub BTreeMap<String, Shape>);

/// One thing in a folder.
#[derive(Clone, PartialEq, Eq)]
pub enum Shape {
    /// A file: permission bits and bytes.
    File(u32, Vec<u8>),
    /// A link and its text.
    Link(PathBuf),
    /// A folder with nothing in it.
    Empty,
}

impl std::fmt::Debug for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Shape::File(mode, bytes) => write!(f, "{mode:o} {:?}", String::from_utf8_lossy(bytes)),
            Shape::Link(text) => write!(f, "-> {}", text.display()),
            Shape::Empty => f.write_str("an empty folder"),
        }
    }
}

impl Picture {
    /// The picture of a folder as it is now.
    pub fn of(root: &Path) -> Picture {
        let mut found = BTreeMap::new();
        take(root, "", &mut found).expect("a readable folder");
        Picture(found)
    }
}

fn take(folder: &Path, below: &str, found: &mut BTreeMap<String, Shape>) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mut empty = true;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        empty = false;
        let name = format!("{below}{}", entry.file_name().to_string_lossy());
        let meta = entry.path().symlink_metadata()?;
        if meta.is_dir() {
            take(&entry.path(), &format!("{name}/"), found)?;
        } else if meta.is_symlink() {
            found.insert(name, Shape::Link(fs::read_link(entry.path())?));
        } else {
            let mode = meta.permissions().mode() & 0o7777;
            found.insert(name, Shape::File(mode, fs::read(entry.path())?));
        }
    }
    if empty && !below.is_empty() {
        found.insert(below.to_owned(), Shape::Empty);
    }
    Ok(())
}

/// How many processes on the machine carry a word in their environment or on their command line. Those that
/// have ended and are not yet collected carry neither.
pub fn processes_with(word: &str) -> usize {
    let carries = |process: &Path, file: &str| {
        fs::read(process.join(file)).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(word))
    };
    let own = std::process::id().to_string();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter(|entry| {
            let name = entry.file_name();
            let is_process = name.to_str().is_some_and(|name| name.parse::<u32>().is_ok() && name != own);
            is_process && (carries(&entry.path(), "environ") || carries(&entry.path(), "cmdline"))
        })
        .count()
}
