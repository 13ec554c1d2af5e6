//! What perspt keeps on disk: the event log of each session with its lock, blobs and inbox, and the journal
//! by which a change gets into the user's tree. A reader of sessions needs this crate and perspt-core only: see [`Follower`].
//!
//! Everything stands on one port, [`disk::Disk`], so that the tests can put a disk beneath it that loses
//! whatever was not synced. Start reading at [`home`], then [`log`], then [`publish`].
//!
//! A home looks like this, folders for their owner alone:
//!
//! ```text
//! sessions/<id>/log.jsonl      the log            sessions/<id>/blobs/<sha>   long text, for good
//! sessions/<id>/lock           its writer         sessions/<id>/texts/<sha>   prompts and answers, for a while
//! sessions/<id>/inbox/         commands from others
//! workspaces/<sha of path>/holder.json, publish.json                         who works there, what is half done
//! slots/                       laid-out branches; not the store's
//! ```

mod blobs;
pub mod disk;
mod error;
mod folder;
mod follow;
pub mod home;
mod inbox;
mod lock;
pub mod log;
pub mod publish;
mod question;
mod real;
mod record;
mod scan;

pub use blobs::Blobs;
pub use error::{PublishRefusal, StoreError};
pub use follow::{Followed, Follower};
pub use home::{Home, SessionInfo, Traces};
pub use inbox::{BadMessage, Inbox, InboxContents};
pub use lock::{Holder, WorkspaceLease};
pub use log::{LogCheck, LogReader, LogWriter, Opened, TailCut, check_log};
pub use publish::{KeptBytes, Publication, Published};
pub use question::asked;
pub use real::RealDisk;
pub use record::{Chain, EVENT_MAX, Record, Stamp, kind_of};
pub use scan::Torn;
