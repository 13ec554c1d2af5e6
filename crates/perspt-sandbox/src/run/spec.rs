//! What to run, in what sandbox, and the result.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use perspt_core::stage::{StepEnd, Streams};

use super::Captured;
use crate::confine::{Bind, Confinement, Network};

/// A command, complete: nothing of perspt's own environment is added.
#[derive(Debug, Clone)]
pub struct CommandSpec {
    /// Program and arguments; no shell. A program without a slash is searched in the PATH of `env`.
    pub argv: Vec<String>,
    /// The folder it starts in, as it sees it.
    pub cwd: PathBuf,
    /// The whole environment.
    pub env: BTreeMap<String, String>,
    /// How its output is captured.
    pub streams: Streams,
    /// After this time everything it started is ended.
    pub timeout: Duration,
    /// How many bytes of each captured stream are kept; the rest is read and dropped.
    pub output_cap: usize,
    /// Files it is to write, as it sees them: deleted before the run and collected after it.
    pub reports: Vec<PathBuf>,
}

/// The sandbox of a command: what it may reach. Paths are absolute and pass through no symbolic link.
#[derive(Debug, Clone)]
pub struct SandboxSpec {
    /// Folders and files it may write, as it sees them; they exist.
    pub writable: Vec<PathBuf>,
    /// Whether it has the network.
    pub network: Network,
    /// What it sees elsewhere than perspt does, in this order.
    pub binds: Vec<Bind>,
    /// Places it is not to read, whether they are there or not. One that it needs stays visible: one that holds a
    /// folder of its own or a path of its environment.
    pub hidden: Vec<PathBuf>,
    /// A lock that is held until nothing of the command is left, even where perspt dies before. An
    /// advisory `flock`: it is given up by closing only, never by unlocking.
    pub held: Option<Arc<OwnedFd>>,
}

impl SandboxSpec {
    /// Nothing writable, no network, no bind, nothing hidden, no lock.
    pub fn closed() -> SandboxSpec {
        SandboxSpec {
            writable: Vec::new(),
            network: Network::Off,
            binds: Vec::new(),
            hidden: Vec::new(),
            held: None,
        }
    }

    /// Where perspt finds what the command sees at `seen`.
    pub fn outside(&self, seen: &Path) -> PathBuf {
        let bind = self.binds.iter().rev().find_map(|bind| Some((bind, seen.strip_prefix(&bind.over).ok()?)));
        match bind {
            Some((bind, rest)) if rest.as_os_str().is_empty() => bind.from.clone(),
            Some((bind, rest)) => bind.from.join(rest),
            None => seen.to_owned(),
        }
    }
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunEnd {
    /// As a step ends.
    Step(StepEnd),
    /// It was cancelled, and everything it started was ended.
    Cancelled,
}

/// What a run left behind. When it exists, no process of the run does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// How it ended.
    pub end: RunEnd,
    /// Standard output; both streams where merged.
    pub stdout: Captured,
    /// Standard error; empty where merged.
    pub stderr: Captured,
    /// The report files that were there, by the path that the command sees.
    pub reports: BTreeMap<PathBuf, Vec<u8>>,
    /// Reports that were there and could not be taken, with the reason: a symbolic link, too large.
    pub refused_reports: BTreeMap<PathBuf, String>,
    /// What was in force.
    pub confinement: Confinement,
    /// How long it took.
    pub duration: Duration,
}
