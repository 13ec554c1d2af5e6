//! What the tests share.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use perspt_core::hash::Sha;
use perspt_core::ids::{EffectId, Millis, SessionId};
use perspt_core::inbox::Message;
use perspt_core::path::RelPath;
use perspt_core::tree::{Change, Entry, EntryKind};
use perspt_store::disk::Disk;
use perspt_store::{Home, LogWriter, Publication, RealDisk};
use perspt_testkit::disk::{Image, SimDisk};
use serde_json::json;

pub const HOME: &str = "/u/data/perspt";
pub const WORKSPACE: &str = "/u/ws";

pub fn id() -> SessionId {
    SessionId::from("s-1")
}

pub fn sim() -> SimDisk {
    let sim = SimDisk::new();
    sim.make_folders(WORKSPACE);
    sim.flush();
    sim
}

pub fn home_on(disk: impl Disk + 'static) -> Home {
    Home::open(PathBuf::from(HOME), Arc::new(disk)).unwrap()
}

/// A home and a workspace on the real disk.
pub struct Real {
    pub folder: tempfile::TempDir,
    pub home: Home,
}

impl Real {
    pub fn new() -> Real {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("ws")).unwrap();
        let home = Home::open(folder.path().join("home"), Arc::new(RealDisk)).unwrap();
        Real { folder, home }
    }

    pub fn workspace(&self) -> PathBuf {
        self.folder.path().join("ws")
    }

    pub fn log(&self) -> PathBuf {
        self.home.session_dir(&id()).join("log.jsonl")
    }
}

/// A session with this many small records.
pub fn session_of(home: &Home, records: u64) -> LogWriter {
    let mut writer = LogWriter::create(home, &id()).unwrap();
    for n in 1..=records {
        writer.append(Millis(1000 + n), 1, &json!({"kind": "note", "n": n})).unwrap();
    }
    writer
}

/// An abort by somebody.
pub fn abort(by: &str) -> Message {
    Message::Abort { by: by.to_owned() }
}

pub fn path(text: &str) -> RelPath {
    RelPath::parse(text).unwrap()
}

pub fn entry(kind: EntryKind, bytes: &str) -> Entry {
    Entry { kind, hash: Sha::of(bytes.as_bytes()), size: bytes.len() as u64 }
}

pub fn file(bytes: &str) -> Option<Entry> {
    Some(entry(EntryKind::File, bytes))
}

pub fn change(at: &str, before: Option<Entry>, after: Option<Entry>) -> Change {
    Change { path: path(at), before, after }
}

pub fn publication(workspace: &Path, changes: Vec<Change>) -> Publication {
    Publication {
        session: id(),
        effect: EffectId(Sha::of(b"publish")),
        workspace: workspace.to_owned(),
        changes,
        record: serde_json::value::to_raw_value(&json!({"node": "n1"})).unwrap(),
    }
}

pub type Images = BTreeMap<String, Image>;

pub fn image(bytes: &str) -> Image {
    Image::File(0o644, bytes.as_bytes().to_vec())
}

/// The bytes of every file below a real folder, and the text of every link.
pub fn real_tree(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            let kind = path.symlink_metadata().unwrap().file_type();
            if kind.is_dir() {
                open.push(path);
            } else if kind.is_symlink() {
                found.insert(name, std::fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes());
            } else {
                found.insert(name, std::fs::read(&path).unwrap());
            }
        }
    }
    found
}
