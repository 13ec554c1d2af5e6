//! What a crash test tells the child that is to die, and what the child says if it does not.

use std::path::{Path, PathBuf};

use perspt_core::consent::Grant;
use perspt_core::ids::{SessionId, TreeId};
use perspt_core::outcome::Outcome;
use serde::{Deserialize, Serialize};

/// Where the child ends. Both count from zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kill {
    /// At this point of the session.
    Point(u64),
    /// Before this call that changes or syncs something on the disk under home and workspace.
    Disk(u64),
}

/// What the child does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// It begins the session.
    Begin,
    /// It takes it up again.
    Resume,
}

/// The languages the child knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Language {
    /// Toy alone, with the compiler at this path.
    Toy(PathBuf),
    /// Those of the product.
    Real,
}

/// How the child's commands are confined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Confine {
    /// By everything the kernel gives.
    Fully,
    /// Without namespaces: commands see the slot where it is.
    InPlace,
}

/// An edit of the user's, made before a node is published for the first time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edit {
    /// The node.
    pub before_publish_of: String,
    /// The file.
    pub file: String,
    /// What it then holds.
    pub text: String,
}

/// One life of the child.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Config {
    /// The home.
    pub home: PathBuf,
    /// The workspace.
    pub work: PathBuf,
    /// The sandbox's helper.
    pub helper: PathBuf,
    /// How its commands are confined.
    pub confine: Confine,
    /// What its commands carry.
    pub mark: String,
    /// Where the model is.
    pub base_url: String,
    /// The session.
    pub session: SessionId,
    /// The task.
    pub task: String,
    /// The languages.
    pub language: Language,
    /// What the user does meanwhile.
    pub edit: Edit,
    /// What the user permits whenever the session is taken up again.
    pub allow: Vec<Grant>,
    /// Which life of the session it is; the clock starts later in each.
    pub life: u64,
    /// Beginning or going on.
    pub mode: Mode,
    /// Where it ends, if it is to.
    pub kill: Option<Kill>,
}

/// How a life ended that was not cut short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ended {
    /// The session came to an end.
    With(Outcome, Option<TreeId>),
    /// There is no session to take up: its first event was never written.
    NeverBegun,
    /// Something failed.
    Failed(String),
}

/// What the child says at its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// Points that were passed.
    pub points: u64,
    /// Calls that changed or synced something on the disk.
    pub steps: u64,
    /// Of those, how many had been made when each publication began, and when it was over.
    pub publishes: Vec<(u64, u64)>,
    /// How it ended.
    pub ended: Ended,
}

/// Where real tools keep themselves, as the program passes it on.
pub fn tool_homes() -> impl Iterator<Item = (String, String)> {
    let names = [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup"), ("PYENV_ROOT", ".pyenv")];
    names.into_iter().filter_map(|(name, folder)| {
        let in_home = || Some(Path::new(&std::env::var_os("HOME")?).join(folder));
        let path = std::env::var_os(name).map(PathBuf::from).or_else(in_home)?;
        path.is_dir().then(|| (name.to_owned(), path.to_string_lossy().into_owned()))
    })
}
