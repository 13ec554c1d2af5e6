//! What can go wrong with trees and slots, and what is merely worth a note.

use std::io;
use std::path::PathBuf;

use perspt_core::path::RelPath;

/// Why a workspace could not be read into a tree.
#[derive(Debug, thiserror::Error)]
pub enum WalkError {
    /// A name is not UTF-8; it is shown with replacement characters.
    #[error("`{shown}` has a name that is not UTF-8; rename it or ignore it")]
    NotUtf8 {
        /// The path below the workspace, as well as it can be shown.
        shown: String,
    },
    /// A name holds a control character; it is shown escaped.
    #[error("`{shown}` has a control character in its name; rename it or ignore it")]
    ControlCharacter {
        /// The path below the workspace, escaped.
        shown: String,
    },
    /// There are more files than a tree may have.
    #[error("the workspace holds more than {limit} files that are not ignored")]
    TooManyFiles {
        /// The most that are allowed.
        limit: usize,
    },
    /// A file was different each time it was read.
    #[error("`{path}` kept changing while it was read")]
    Changing {
        /// The file.
        path: RelPath,
    },
    /// The file system refused.
    #[error("cannot read `{path}` in the workspace: {source}")]
    Io {
        /// The file or folder.
        path: RelPath,
        /// What the system said.
        source: io::Error,
    },
}

/// Something a walk met that does not stop it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WalkNote {
    /// A socket, fifo or device: not part of a tree.
    Special {
        /// Where it is.
        path: RelPath,
    },
    /// The list of files tracked by the repository in `folder` could not be read in full, so a file that is
    /// both tracked and ignored may be missing from the tree.
    Index {
        /// The folder that holds `.git`.
        folder: RelPath,
        /// What is wrong.
        problem: IndexProblem,
    },
    /// A line of an ignore file could not be understood and was passed over.
    Rule {
        /// The folder whose ignore file it is.
        folder: RelPath,
        /// The line, counted from one.
        line: usize,
    },
}

/// What is wrong with a git index.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IndexProblem {
    /// It does not start like an index.
    #[error("not a git index")]
    NotAnIndex,
    /// A version this reader does not know.
    #[error("git index version {0} is not known")]
    Version(u32),
    /// It ends early or its parts do not fit together.
    #[error("the git index is damaged")]
    Damaged,
    /// Part of its entries are in a shared file, which is not read.
    #[error("the git index is split; only its own part was read")]
    Split,
    /// Larger than any tree that is allowed here.
    #[error("the git index is too large")]
    TooLarge,
    /// The system would not let it be read.
    #[error("the git index cannot be read: {0}")]
    Unreadable(io::ErrorKind),
}

/// Why a slot could not be opened, laid out or checked.
#[derive(Debug, thiserror::Error)]
pub enum SlotError {
    /// Another process holds it.
    #[error("the slot {} is held by another process", dir.display())]
    Busy {
        /// The slot's folder.
        dir: PathBuf,
    },
    /// Something other than a folder is where a folder of the slot should be.
    #[error("{} is not a folder", path.display())]
    NotAFolder {
        /// The path that should be a folder.
        path: PathBuf,
    },
    /// Content that the tree names is no longer to be had: what the source gave is absent or different.
    #[error("the content of `{path}` is gone or has changed")]
    BaseGone {
        /// The file.
        path: RelPath,
    },
    /// The tree cannot be laid out.
    #[error("`{path}` cannot be laid out: {why}")]
    BadTarget {
        /// The path.
        path: RelPath,
        /// What is wrong with it.
        why: BadTarget,
    },
    /// A check was asked for before anything was laid out, or after the slot's index was lost.
    #[error("nothing is known to be laid out in the slot {}", dir.display())]
    NotLaidOut {
        /// The slot's folder.
        dir: PathBuf,
    },
    /// The file system's clock does not move on.
    #[error("the clock of the file system that holds {} does not move on", dir.display())]
    ClockStuck {
        /// The slot's folder.
        dir: PathBuf,
    },
    /// A file in the slot changes although no stage runs.
    #[error("`{path}` in the slot changes while it is read")]
    Changing {
        /// The file.
        path: RelPath,
    },
    /// The file system refused.
    #[error("cannot {what} {}: {source}", path.display())]
    Io {
        /// What was attempted, as a verb.
        what: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Why a path cannot be part of a tree in a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadTarget {
    /// It is the workspace itself.
    #[error("it names the workspace itself")]
    Root,
    /// It is `.git` or lies below one.
    #[error("a slot holds no `.git`")]
    Git,
    /// It has the form of the temporary names that publishing uses.
    #[error("the name is kept for temporary files")]
    Reserved,
    /// Another entry of the tree is a file or link where this path needs a folder.
    #[error("it lies below a file or link of the same tree")]
    BelowFile,
    /// It is where a folder is to be mounted.
    #[error("a folder is to be mounted there")]
    MountPoint,
}

impl SlotError {
    /// For `map_err`: the same error with what was attempted and where.
    pub(super) fn io(what: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> SlotError {
        let path = path.into();
        move |source| SlotError::Io { what, path, source }
    }
}
