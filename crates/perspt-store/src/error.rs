//! What can go wrong in the store: what was being done, where, and why not.

use std::fmt;
use std::io;
use std::path::PathBuf;

use perspt_core::ids::SessionId;
use perspt_core::path::RelPath;

use crate::lock::Holder;

/// An error of the store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The disk refused an operation.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// The operation, as a verb.
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The disk's own reason.
        source: io::Error,
    },
    /// A record of a log that is not as it was written, and that is not a torn tail.
    #[error("{} is damaged at line {line} (record {seq}): {why}", file.display())]
    Integrity {
        /// The log.
        file: PathBuf,
        /// The line, counted from one.
        line: u64,
        /// The record that was expected there.
        seq: u64,
        /// What is wrong with it.
        why: String,
    },
    /// A blob, journal or other whole file that is not what it was.
    #[error("{} is damaged: {why}", file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Someone else holds the session or the workspace.
    #[error("{} is held by {holder}", path.display())]
    Held {
        /// The lock file of a session, or the workspace's folder.
        path: PathBuf,
        /// Who holds it.
        holder: Box<Holder>,
    },
    /// An event that is too long for the log; long text belongs into a blob.
    #[error(
        "an event of {bytes} bytes is too long for the log (at most {limit}); longer text belongs into a blob"
    )]
    EventTooLong {
        /// How long it is.
        bytes: usize,
        /// How long it may be.
        limit: usize,
    },
    /// A value that has no form as one line of JSON.
    #[error("cannot encode {what}: {why}")]
    Encode {
        /// What was to be encoded.
        what: &'static str,
        /// Why it cannot be.
        why: String,
    },
    /// A blob that does not hold what it should.
    #[error("cannot read {what}: {why}")]
    Decode {
        /// Which blob.
        what: String,
        /// Why it cannot be read.
        why: String,
    },
    /// An earlier append to this log failed, so nobody knows what its end is.
    #[error("{} takes no more records after a failed append ({why}); open it again", file.display())]
    Poisoned {
        /// The log.
        file: PathBuf,
        /// Why the earlier append failed.
        why: String,
    },
    /// The session already has a log.
    #[error("session {0} already exists")]
    SessionExists(SessionId),
    /// There is no such session.
    #[error("there is no session {0}")]
    NoSession(SessionId),
    /// A text that cannot name a session.
    #[error("`{0}` cannot name a session: letters, digits, `-`, `_` and inner dots only, at most 100")]
    BadSessionId(String),
    /// A home or workspace must be named from the root.
    #[error("{} is not an absolute path", .0.display())]
    NotAbsolute(PathBuf),
    /// A publication into this workspace is not finished yet.
    #[error("an earlier publication into {} is unfinished; finish it first", .0.display())]
    PublishPending(PathBuf),
    /// There is no publication to finish in this workspace.
    #[error("no publication into {} is unfinished", .0.display())]
    NothingPending(PathBuf),
    /// The lease is for another workspace than the publication.
    #[error("the lease is for {}, the publication for {}", lease.display(), publication.display())]
    WrongLease {
        /// The workspace of the lease.
        lease: PathBuf,
        /// The workspace of the publication.
        publication: PathBuf,
    },
    /// A change that is never carried out.
    #[error("will not publish {path}: {why}")]
    Unpublishable {
        /// The path of the change.
        path: RelPath,
        /// Why not.
        why: PublishRefusal,
    },
}

/// Why a change is never carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PublishRefusal {
    /// It is the workspace itself, or a name of ours, or lies in a `.git` folder.
    Name,
    /// The path passes through a symbolic link.
    ThroughLink,
    /// Two changes name the same path.
    Twice,
    /// One change names a file below the path of another, so that a file would become a folder or a folder a file.
    FileAndFolder,
    /// The entry is the same before and after.
    NoChange,
}

impl fmt::Display for PublishRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PublishRefusal::Name => "this name is not for publishing",
            PublishRefusal::ThroughLink => "the path passes through a symbolic link",
            PublishRefusal::Twice => "it is named twice",
            PublishRefusal::FileAndFolder => "it would be a file and a folder",
            PublishRefusal::NoChange => "nothing changes",
        })
    }
}

impl StoreError {
    /// The disk's kind of error, where the disk refused.
    pub fn io_kind(&self) -> Option<io::ErrorKind> {
        if let StoreError::Io { source, .. } = self { Some(source.kind()) } else { None }
    }

    pub(crate) fn is_missing(&self) -> bool {
        self.io_kind() == Some(io::ErrorKind::NotFound)
    }

    pub(crate) fn is_taken(&self) -> bool {
        self.io_kind() == Some(io::ErrorKind::AlreadyExists)
    }
}
