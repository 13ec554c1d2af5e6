//! A context package: what a model is shown of a tree. Bounded, reproducible (the same tree and request
//! give the same bytes), hashed, and never silent about what was left out.

use perspt_core::hash::{Sha, ShaBuilder};
use perspt_core::path::RelPath;
use perspt_core::tree::EntryKind;
use perspt_lang::plugin::Files;
use perspt_policy::mask::{Masks, placeholders};
use perspt_policy::secrets::is_secret;

/// How much a package may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextBudget {
    /// Bytes of file text.
    pub bytes: usize,
    /// Files.
    pub files: usize,
}

impl Default for ContextBudget {
    fn default() -> ContextBudget {
        ContextBudget { bytes: 100_000, files: 20 }
    }
}

/// What to show, in the order of importance.
#[derive(Default)]
pub struct Request {
    /// Files the node will write: shown whole where they fit, else as marked regions.
    pub own: Vec<RelPath>,
    /// Files it should read: shown whole or named as left out.
    pub read: Vec<RelPath>,
    /// Files that may help: shown while there is room, otherwise left out without a note.
    pub maybe: Vec<RelPath>,
}

/// One file of a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextFile {
    /// Its path.
    pub path: RelPath,
    /// Why it is here.
    pub why: &'static str,
    /// Its text, or the marked regions of it.
    pub text: String,
}

/// A package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    /// The files.
    pub files: Vec<ContextFile>,
    /// The tree's paths.
    pub listing: String,
    /// What was left out or shortened, a line each.
    pub degraded: Vec<String>,
    /// The hash over all of it.
    pub hash: Sha,
}

/// Assembles a package from a tree. Secrets in texts are shown as placeholders.
pub fn assemble(request: &Request, files: &dyn Files, budget: ContextBudget, masks: &Masks) -> Package {
    let mut work = Assembly {
        files,
        masks,
        left: budget.bytes,
        room: budget.files,
        taken: Vec::new(),
        degraded: Vec::new(),
    };
    for path in &request.own {
        work.own(path);
    }
    for path in &request.read {
        work.read(path);
    }
    for path in &request.maybe {
        work.maybe(path);
    }
    let listing = listing(files);
    let mut hash = ShaBuilder::default();
    hash.field(listing.as_bytes());
    for file in &work.taken {
        hash.field(file.path.as_str().as_bytes());
        hash.field(file.text.as_bytes());
    }
    work.degraded.iter().for_each(|line| hash.field(line.as_bytes()));
    Package { files: work.taken, listing, degraded: work.degraded, hash: hash.finish() }
}

struct Assembly<'a> {
    files: &'a dyn Files,
    masks: &'a Masks,
    left: usize,
    room: usize,
    taken: Vec<ContextFile>,
    degraded: Vec<String>,
}

impl Assembly<'_> {
    fn skip(&mut self, path: &RelPath) -> bool {
        if self.taken.iter().any(|file| file.path == *path) || !self.files.tree().entries.contains_key(path) {
            return true;
        }
        if is_secret(path) {
            self.degraded.push(format!("{path}: it may hold secrets"));
            return true;
        }
        false
    }

    fn take(&mut self, path: &RelPath, why: &'static str, text: String) {
        self.left = self.left.saturating_sub(text.len());
        self.room = self.room.saturating_sub(1);
        let secrets = placeholders(&text).len();
        if secrets > 0 {
            self.degraded.push(format!(
                "{path}: {secrets} secrets, shown as `<perspt-secret-…>`; leave these as they are, they are put back"
            ));
        }
        self.taken.push(ContextFile { path: path.clone(), why, text });
    }

    /// A file's text as it may be shown.
    fn text(&self, path: &RelPath) -> Option<String> {
        Some(self.masks.masked(&self.files.text(path)?))
    }

    fn own(&mut self, path: &RelPath) {
        if self.skip(path) {
            return;
        }
        let Some(text) = self.text(path) else {
            self.degraded.push(format!("{path}: {}", self.not_shown(path)));
            return;
        };
        if text.len() <= self.left {
            self.take(path, "own file", text);
            return;
        }
        let budget = self.left.max(2000);
        self.degraded.push(format!("{path}: {} bytes, shown in part", text.len()));
        self.take(path, "own file, regions of it", regions(&text, budget));
    }

    fn read(&mut self, path: &RelPath) {
        if self.skip(path) {
            return;
        }
        match self.text(path) {
            Some(text) if text.len() <= self.left && self.room > 0 => self.take(path, "to read", text),
            Some(text) => {
                self.degraded.push(format!("{path}: {} bytes, over the context budget", text.len()))
            }
            None => self.degraded.push(format!("{path}: {}", self.not_shown(path))),
        }
    }

    /// Why a file of the tree has no text.
    fn not_shown(&self, path: &RelPath) -> &'static str {
        match self.files.tree().entries.get(path).map(|entry| entry.kind) {
            Some(EntryKind::Symlink) => "a symbolic link, which is not followed",
            _ => "not a text file of a size that can be shown",
        }
    }

    fn maybe(&mut self, path: &RelPath) {
        if self.room == 0 || is_secret(path) || self.skip(path) {
            return;
        }
        let size = self.files.tree().entries.get(path).map_or(u64::MAX, |entry| entry.size);
        if usize::try_from(size).is_ok_and(|size| size <= self.left)
            && let Some(text) = self.text(path)
        {
            self.take(path, "for context", text);
        }
    }
}

/// The beginning and the end of a text, whole lines, with a mark that says what is missing.
fn regions(text: &str, budget: usize) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut head = 0;
    let mut used = 0;
    while head < lines.len() && used + lines[head].len() <= budget / 2 {
        used += lines[head].len();
        head += 1;
    }
    let mut tail = lines.len();
    while tail > head && used + lines[tail - 1].len() <= budget {
        tail -= 1;
        used += lines[tail].len();
    }
    let hidden = tail - head;
    format!(
        "{}[… lines {} to {tail}, {hidden} in all, are not shown …]\n{}",
        lines[..head].concat(),
        head + 1,
        lines[tail..].concat()
    )
}

/// Every path, or folders with counts where there are too many.
fn listing(files: &dyn Files) -> String {
    const MOST: usize = 300;
    let paths: Vec<&RelPath> = files.tree().entries.keys().collect();
    if paths.len() <= MOST {
        return paths.iter().map(|path| path.as_str()).collect::<Vec<_>>().join("\n");
    }
    let mut folders: std::collections::BTreeMap<String, usize> = std::collections::BTreeMap::new();
    for path in &paths {
        let folder: Vec<&str> = path.parts().take(path.parts().count().saturating_sub(1).min(2)).collect();
        *folders.entry(folder.join("/")).or_insert(0) += 1;
    }
    let mut lines: Vec<String> = folders
        .iter()
        .take(MOST)
        .map(|(folder, count)| format!("{}/ ({count} files)", if folder.is_empty() { "." } else { folder }))
        .collect();
    if folders.len() > MOST {
        lines.push(format!("(and {} more folders)", folders.len() - MOST));
    }
    lines.join("\n")
}
