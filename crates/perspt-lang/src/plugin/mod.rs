//! What a language must tell perspt, in three roles: [`Stages`] (what to run and what its output says), [`Structure`]
//! (what the files of a project are) and [`Words`] (what is said to the model, and what the model says). A plugin is
//! pure: it starts nothing and reads no disk of its own.

mod machine;
mod plant;
mod stages;
mod structure;
mod words;

use perspt_core::path::RelPath;
use perspt_core::tree::Tree;

pub use machine::{Cache, Host, Machine};
pub use plant::{Expect, Plant};
pub use stages::{
    Fetch, Further, FurtherFindings, NoTool, Probe, ReadContext, Selection, Stages, Terms, ToolState, Tools,
};
pub use structure::{FromCandidate, OldTestFile, Structure, StructureFindings};
pub use words::{AddPackages, CommandKind, Words};

/// A language.
pub trait Plugin: Stages + Structure + Words {
    /// Its name: `rust`, `python`.
    fn name(&self) -> &'static str;
}

/// The files of one tree, as a plugin may look at them.
pub trait Files: Sync {
    /// Which files there are.
    fn tree(&self) -> &Tree;
    /// The text of one file; `None` where it is not there, not UTF-8, a link, or over the cap for one file.
    fn text(&self, path: &RelPath) -> Option<String>;
}

/// A candidate beside the tree it is compared with.
pub struct Pair<'a> {
    /// The tree the node started from.
    pub base: &'a dyn Files,
    /// The tree with the node's changes.
    pub candidate: &'a dyn Files,
}
