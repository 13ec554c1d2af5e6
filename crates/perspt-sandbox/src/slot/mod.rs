//! Trees and slots: what a workspace holds, and the place in which one branch at a time is laid out.
//!
//! [`walk`] reads a workspace into a [`Tree`](perspt_core::tree::Tree). A [`Slot`] is a warm folder with a
//! build directory of its own: [`Slot::lay_out`] makes its tree folder hold exactly a given tree, and
//! [`Slot::recheck`] says what a stage changed in it. [`leads_back`] finds links through which a stage in a
//! slot would reach the original workspace.
//!
//! Nothing here starts a process, reads a user's git configuration or follows a symbolic link.
//!
//! Two things carry the honesty of every reading taken in a slot:
//! - **Stamps** ([`FileStamp`], [`StatCache`]): a file is taken as unchanged without reading it only where its
//!   change time could not have stayed the same after a change.
//! - **Times** (`clock`): build tools compare modification times, so whatever is laid down is later than all
//!   that was in the slot before, by waiting, never by dating ahead and never by setting back.
//!
//! Start reading at `walk`, then `layout`.

mod cache;
mod clock;
mod codec;
mod contents;
mod error;
mod git_index;
mod layout;
mod leads_back;
mod names;
mod place;
mod recheck;
mod remove;
mod rules;
mod scan;
mod settle;
mod stamp;
mod tracked;
mod walk;

pub use cache::StatCache;
pub use contents::{Contents, Folder};
pub use error::{BadTarget, IndexProblem, SlotError, WalkError, WalkNote};
pub use layout::{Build, LaidOut};
pub use leads_back::{leads_back, link_texts};
pub use place::Slot;
pub use recheck::{Drift, NAMED_AT_MOST};
pub use settle::{READ_TRIES, Settled, read_hash, settle};
pub use stamp::{FileStamp, FsTime};
pub use walk::{WalkLimits, Walked, walk};
