//! The bench: a branch laid out in the slot, and steps run on it.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use perspt_core::event::RunNote;
use perspt_core::hash::Sha;
use perspt_core::path::RelPath;
use perspt_core::stage::{Profile, Step, StepOutput};
use perspt_core::tree::{EntryKind, Tree};
use perspt_lang::plugin::{Cache, Machine, Plugin};
use perspt_sandbox::slot::{Contents, Drift, Slot, SlotError, StatCache, WalkLimits, walk};
use perspt_sandbox::{Access, Bind, Bounds, Cancel, CommandSpec, Confinement, End, Level, Network, Runner};
use tokio::sync::MutexGuard;

use super::{Actor, Halt};
use crate::AgentError;

/// How long a helper that is about to end may still hold the slot.
const PATIENCE: Duration = Duration::from_secs(60);
/// How much of a command's output is kept.
const OUTPUT_CAP: usize = 16 * 1024 * 1024;

/// A file as a command left it; `None` where it is gone.
pub(crate) type FileNow = (RelPath, Option<(EntryKind, Vec<u8>)>);

/// What a bench stands on, whoever has the slot.
#[derive(Clone, Copy)]
pub(crate) struct Floor<'a> {
    /// The one runner.
    pub runner: &'a Runner,
    /// The environment every command starts from.
    pub env: &'a BTreeMap<String, String>,
    /// What the machine gives to the tools.
    pub machine: &'a Machine,
    /// The workspace.
    pub workspace: &'a Path,
    /// Places that are hidden from commands that do not fetch.
    pub secret_places: &'a [PathBuf],
}

/// A slot, ours alone or borrowed from the actor.
enum Hold<'a> {
    Borrowed(MutexGuard<'a, Option<Slot>>),
    Own(Box<Slot>),
}

/// A slot that is ours for one effect.
pub(crate) struct Bench<'a> {
    floor: Floor<'a>,
    slot: Hold<'a>,
    /// The path at which tools see the tree.
    seen_as: PathBuf,
    /// What was run.
    pub runs: Vec<RunNote>,
}

impl Actor {
    /// The slot's folder: one for each workspace.
    pub(crate) fn slot_dir(&self) -> PathBuf {
        let key = Sha::of(self.parts.workspace.as_os_str().as_encoded_bytes());
        self.parts.home.slots_dir().join(&key.to_string()[..16]).join("0")
    }

    /// Takes the slot.
    pub(crate) async fn bench(&self) -> Result<Bench<'_>, Halt> {
        let namespaces = *self
            .namespaces
            .get_or_try_init(|| self.parts.runner.namespaces_available())
            .await
            .map_err(AgentError::from)?;
        let mut slot = self.slot.lock().await;
        if slot.is_none() {
            let mut opened = Slot::open(&self.slot_dir(), PATIENCE)?;
            opened.set_mount_points(self.parts.machine.mounted.iter().cloned().collect());
            lay_assets(&opened, &self.parts.plugins)?;
            *slot = Some(opened);
        }
        let tree = slot.as_ref().map(Slot::tree).unwrap_or_default();
        let seen_as = if namespaces { self.parts.workspace.clone() } else { tree };
        let floor = Floor {
            runner: &self.parts.runner,
            env: &self.parts.env,
            machine: &self.parts.machine,
            workspace: &self.parts.workspace,
            secret_places: &self.parts.secret_places,
        };
        Ok(Bench { floor, slot: Hold::Borrowed(slot), seen_as, runs: Vec::new() })
    }
}

fn lay_assets(slot: &Slot, plugins: &[&'static dyn Plugin]) -> Result<(), SlotError> {
    for (name, text) in plugins.iter().flat_map(|plugin| plugin.assets()) {
        let path = slot.assets().join(name);
        std::fs::write(&path, text).map_err(|source| SlotError::Io { what: "write", path, source })?;
    }
    Ok(())
}

impl<'a> Bench<'a> {
    /// A bench of its own, for looking at tools without a session.
    pub fn own(
        floor: Floor<'a>,
        dir: &Path,
        plugins: &[&'static dyn Plugin],
    ) -> Result<Bench<'a>, SlotError> {
        let slot = Slot::open(dir, PATIENCE)?;
        lay_assets(&slot, plugins)?;
        Ok(Bench { floor, seen_as: slot.tree(), slot: Hold::Own(Box::new(slot)), runs: Vec::new() })
    }

    fn slot(&mut self) -> &mut Slot {
        match &mut self.slot {
            Hold::Own(slot) => slot,
            Hold::Borrowed(guard) => match &mut **guard {
                Some(slot) => slot,
                None => unreachable!("BUG: a bench is made with its slot open"),
            },
        }
    }

    /// The path at which tools see the tree.
    pub fn seen_as(&self) -> &Path {
        &self.seen_as
    }

    /// Whether tools see the tree at the workspace's own path.
    pub fn in_place(&self) -> bool {
        self.seen_as == self.floor.workspace
    }

    /// The slot's folder that holds what must survive, out of reach of tools.
    pub fn memo_dir(&mut self) -> PathBuf {
        self.slot().dir().join("memos")
    }

    /// Makes the slot hold exactly this tree, with an empty temp dir.
    pub fn lay(&mut self, tree: &Tree, contents: &dyn Contents) -> Result<(), SlotError> {
        self.slot().reset_tmp()?;
        self.slot().lay_out(tree, contents)?;
        Ok(())
    }

    /// Makes the slot hold exactly this tree again after a step; what that did to it comes back. Lock files that a
    /// build made in `folder` stay as they are, times included: a build script that does not say what it reads is
    /// run again after any file that is newer.
    pub fn lay_again(
        &mut self,
        tree: &Tree,
        contents: &dyn Contents,
        folder: &RelPath,
        is_lockfile: &dyn Fn(&RelPath) -> bool,
    ) -> Result<Drift, SlotError> {
        let place = self.slot().tree().join(folder.as_str());
        let entries = std::fs::read_dir(&place).into_iter().flatten().flatten();
        let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
        let made = files.map(|entry| entry.file_name()).find_map(|name| {
            let path = folder.join(name.to_str()?).ok()?;
            (is_lockfile(&path) && !tree.entries.contains_key(&path)).then(|| place.join(name))
        });
        let held = self.slot().dir().join("held");
        let moved = |from: &Path, to: &Path| {
            let path = from.to_owned();
            std::fs::rename(from, to).map_err(|source| SlotError::Io { what: "move", path, source })
        };
        made.iter().try_for_each(|lock| moved(lock, &held))?;
        let drift = self.recheck()?;
        self.lay(tree, contents)?;
        made.iter().try_for_each(|lock| moved(&held, lock))?;
        Ok(drift)
    }

    /// What a command did to the tree that was laid out: files it wrote, with their bytes, and files it removed. What the
    /// tree's ignore rules leave out is not looked at.
    pub fn changes(&mut self, laid: &Tree) -> Result<Vec<FileNow>, AgentError> {
        let folder = self.slot().tree();
        let walked = walk(&folder, &mut StatCache::default(), &WalkLimits::default())?.tree;
        let new = walked.entries.iter().filter(|(path, _)| !laid.entries.contains_key(*path));
        let new: Vec<(RelPath, EntryKind)> = new.map(|(path, entry)| (path.clone(), entry.kind)).collect();
        let bytes = |path: &RelPath| {
            let place = folder.join(path.as_str());
            std::fs::read(&place).map_err(|source| SlotError::Io { what: "read", path: place, source })
        };
        let mut changes = Vec::new();
        for (path, kind) in new.into_iter().filter(|(_, kind)| *kind != EntryKind::Symlink) {
            let now = bytes(&path)?;
            changes.push((path, Some((kind, now))));
        }
        let drift = self.recheck()?;
        for path in drift.changed {
            let kind = laid.entries.get(&path).map_or(EntryKind::File, |entry| entry.kind);
            let now = bytes(&path)?;
            changes.push((path, Some((kind, now))));
        }
        changes.extend(drift.gone.into_iter().map(|path| (path, None)));
        Ok(changes)
    }

    /// What running did to the tree.
    pub fn recheck(&mut self) -> Result<Drift, SlotError> {
        self.slot().recheck()
    }

    /// Whether a command that failed had room to write in the slot. Where it had not, it failed for that alone, and
    /// what it left in the temp dir goes, so that there is room to record it.
    fn has_room(&mut self, output: &StepOutput) -> Result<(), AgentError> {
        const NEEDED: u64 = 256 * 1024;
        // A compiler that finds the disk full removes what it has written before it says so.
        const NEEDED_TO_BUILD: u64 = 256 * 1024 * 1024;
        let folder = self.slot().dir().to_owned();
        let Ok(stat) = rustix::fs::statvfs(&folder) else { return Ok(()) };
        let left = stat.f_bavail.saturating_mul(stat.f_frsize);
        let told = || [&output.stdout, &output.stderr].into_iter().any(|text| says_full(text));
        if left >= NEEDED_TO_BUILD || (left >= NEEDED && !told()) {
            return Ok(());
        }
        self.slot().reset_tmp()?;
        Err(AgentError::NoSpace { folder, left })
    }

    /// The bytes of a file in the slot's tree, if it is there.
    pub fn read_in_tree(&mut self, path: &RelPath) -> Option<Vec<u8>> {
        std::fs::read(self.slot().tree().join(path.as_str())).ok()
    }

    /// A file below the build directory, if it is there.
    pub fn read_in_build(&mut self, below: &str) -> Option<Vec<u8>> {
        let below = RelPath::parse(below).ok()?;
        std::fs::read(self.slot().build().join(below.as_str())).ok()
    }

    /// A fresh folder outside the tree, for a probe's project.
    pub fn probe_folder(
        &mut self,
        name: &str,
        files: &BTreeMap<String, String>,
    ) -> Result<PathBuf, SlotError> {
        let folder = self.slot().tmp().join(format!("probe-{name}"));
        let io = |path: &Path| {
            let path = path.to_owned();
            move |source| SlotError::Io { what: "write", path, source }
        };
        for (file, text) in files {
            let path = folder.join(file);
            let parent = path.parent().unwrap_or(&folder);
            std::fs::create_dir_all(parent).map_err(io(parent))?;
            std::fs::write(&path, text).map_err(io(&path))?;
        }
        Ok(folder)
    }

    /// Empties the temp dir.
    pub fn reset_tmp(&mut self) -> Result<(), SlotError> {
        self.slot().reset_tmp()
    }

    /// Runs one step on the tree that is laid out.
    pub async fn run(
        &mut self,
        stage: &str,
        step: &Step,
        timeout: Duration,
        cancel: &Cancel,
    ) -> Result<StepOutput, HaltOr> {
        let tree = self.seen_as.clone();
        let binds = if self.in_place() { self.binds() } else { Vec::new() };
        self.run_at(stage, step, &tree, binds, timeout, cancel).await
    }

    /// Runs one step on a folder of ours, seen where it is.
    pub async fn run_in(
        &mut self,
        folder: &Path,
        stage: &str,
        step: &Step,
        timeout: Duration,
        cancel: &Cancel,
    ) -> Result<StepOutput, HaltOr> {
        self.run_at(stage, step, folder, Vec::new(), timeout, cancel).await
    }

    fn binds(&mut self) -> Vec<Bind> {
        let workspace = self.floor.workspace.to_owned();
        let mut binds =
            vec![Bind { from: self.slot().tree(), over: workspace.clone(), access: Access::ReadWrite }];
        let mounted = self.floor.machine.mounted.iter().map(|folder| workspace.join(folder.as_str()));
        let bind = |place: PathBuf| Bind { from: place.clone(), over: place, access: Access::ReadOnly };
        binds.extend(mounted.filter(|place| place.is_dir()).map(bind));
        binds
    }

    async fn run_at(
        &mut self,
        stage: &str,
        step: &Step,
        tree: &Path,
        binds: Vec<Bind>,
        timeout: Duration,
        cancel: &Cancel,
    ) -> Result<StepOutput, HaltOr> {
        let holes = self.holes(tree);
        let fill =
            |text: &String| holes.iter().fold(text.clone(), |text, (hole, path)| text.replace(hole, path));
        let reports: BTreeMap<PathBuf, String> =
            step.reports.iter().map(|name| (PathBuf::from(fill(name)), name.clone())).collect();
        let home = self.slot().tmp().join("home");
        std::fs::create_dir_all(&home).map_err(|source| SlotError::Io {
            what: "create",
            path: home.clone(),
            source,
        })?;
        let mut env = self.floor.env.clone();
        env.insert("HOME".to_owned(), home.to_string_lossy().into_owned());
        env.insert("TMPDIR".to_owned(), self.slot().tmp().to_string_lossy().into_owned());
        env.extend(step.env.iter().map(|(name, value)| (name.clone(), fill(value))));
        let spec = CommandSpec {
            argv: step.argv.iter().map(fill).collect(),
            cwd: if step.cwd.is_root() { tree.to_owned() } else { tree.join(step.cwd.as_str()) },
            env,
            streams: step.streams,
            timeout,
            output_cap: OUTPUT_CAP,
            reports: reports.keys().cloned().collect(),
        };
        let bounds = self.bounds(step, tree, binds)?;
        let ran = self.floor.runner.run(&spec, &bounds, cancel).await.map_err(AgentError::from)?;
        let end = match ran.end {
            End::Step(end) => end,
            End::Cancelled => return Err(HaltOr(Halt::Cancelled)),
        };
        self.runs.push(RunNote {
            step: format!("{stage}/{}", step.name),
            command: shortened(&spec.argv.join(" ")),
            end: end.shown(),
            confinement: shown(&ran.confinement),
            ms: u64::try_from(ran.duration.as_millis()).unwrap_or(u64::MAX),
        });
        let output = StepOutput {
            step: step.name.clone(),
            end,
            cut: ran.stdout.cut || ran.stderr.cut,
            stdout: ran.stdout.bytes,
            stderr: ran.stderr.bytes,
            reports: ran
                .reports
                .into_iter()
                .filter_map(|(path, bytes)| Some((reports.get(&path)?.clone(), bytes)))
                .collect(),
        };
        if !output.end.is_success() {
            self.has_room(&output)?;
        }
        Ok(output)
    }

    fn holes(&mut self, tree: &Path) -> Vec<(&'static str, String)> {
        let text = |path: PathBuf| path.to_string_lossy().into_owned();
        let slot = self.slot();
        vec![
            ("{tree}", text(tree.to_owned())),
            ("{build}", text(slot.build())),
            ("{tmp}", text(slot.tmp())),
            ("{assets}", text(slot.assets())),
        ]
    }

    fn bounds(&mut self, step: &Step, tree: &Path, binds: Vec<Bind>) -> Result<Bounds, HaltOr> {
        let slot = self.slot();
        let (build, tmp) = (slot.build(), slot.tmp());
        let held: OwnedFd = slot.lock_fd().try_clone_to_owned().map_err(|source| SlotError::Io {
            what: "share the lock of",
            path: slot.dir().to_owned(),
            source,
        })?;
        let mut writable = vec![tree.to_owned(), tmp];
        let network = match step.profile {
            Profile::Build => {
                writable.push(build);
                Network::Off
            }
            Profile::Test => {
                let named = step.build_writes.iter().map(|below| build.join(below));
                writable.extend(named.filter(|path| path.exists()));
                Network::Off
            }
            Profile::Fetch => {
                writable.push(build);
                writable.extend(package_caches(self.floor.machine));
                Network::On
            }
        };
        let hidden = match step.profile {
            Profile::Build | Profile::Test => self.floor.secret_places.to_vec(),
            // Private packages are fetched with the user's own credentials.
            Profile::Fetch => Vec::new(),
        };
        Ok(Bounds { writable, network, binds, hidden, held: Some(Arc::new(held)) })
    }
}

/// The places where tools keep packages, made where there are none. Where one cannot be made, the tool says so itself.
fn package_caches(machine: &Machine) -> Vec<PathBuf> {
    let made = machine.caches.iter().map(|cache| match cache {
        Cache::Folder(path) => {
            let _ = std::fs::create_dir_all(path);
            PathBuf::from(path)
        }
        Cache::File(path) => {
            let _ = std::fs::File::options().write(true).create_new(true).open(path);
            PathBuf::from(path)
        }
    });
    made.filter(|path| path.exists()).collect()
}

/// Why a step gave no output.
pub(crate) struct HaltOr(pub(crate) Halt);

impl From<HaltOr> for Halt {
    fn from(halt: HaltOr) -> Halt {
        halt.0
    }
}

impl<E: Into<AgentError>> From<E> for HaltOr {
    fn from(error: E) -> HaltOr {
        HaltOr(Halt::from(error))
    }
}

/// Whether a program says that the disk is full, in the words of the C library, which most repeat; a linker that
/// writes to memory that a file stands behind dies of it.
fn says_full(text: &[u8]) -> bool {
    const SIGNS: [&[u8]; 2] = [b"no space left on device", b"bus error"];
    let holds = |sign: &[u8]| text.windows(sign.len()).any(|window| window.eq_ignore_ascii_case(sign));
    SIGNS.into_iter().any(holds)
}

fn shortened(text: &str) -> String {
    const CHARS: usize = 160;
    if text.chars().count() <= CHARS {
        text.to_owned()
    } else {
        text.chars().take(CHARS).chain("…".chars()).collect()
    }
}

/// What a tool said, short enough for an event and on one line.
pub(crate) fn brief(text: &str) -> String {
    const CHARS: usize = 400;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// The confinement in a few words.
pub fn shown(confinement: &Confinement) -> String {
    let level = match confinement.level() {
        Level::Full => return "full".to_owned(),
        Level::Partial => "partial",
        Level::None => "none",
    };
    format!("{level}: {}", confinement.missing.join("; "))
}
