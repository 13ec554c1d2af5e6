//! Running one step of a stage in the slot.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::time::Duration;

use perspt_core::event::RunNote;
use perspt_core::stage::{Step, StepEnd, StepOutput};
use perspt_core::state::SessionState;
use perspt_lang::plugin::Machine;
use perspt_sandbox::slot::SlotError;
use perspt_sandbox::{Bind, Cancel, CommandSpec, Confinement, Level, Ran, RunEnd, Runner};

use super::{Outputs, SlotGuard, space};
use crate::AgentError;
use crate::error::EffectError;

/// How much of a command's output is kept.
const OUTPUT_CAP: usize = 16 * 1024 * 1024;

/// What every command in a slot is run with.
#[derive(Clone, Copy)]
pub struct RunConfig<'a> {
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
    /// Where outputs are kept, if they are.
    pub outputs: Option<Outputs<'a>>,
}

/// The folders that a step works with.
#[derive(Clone, Copy)]
struct Folders<'a> {
    /// What it takes for the tree.
    tree: &'a Path,
    /// For what it leaves behind: its temp dir, its home, its reports.
    tmp: &'a Path,
}

/// A step, and where it is run.
struct StepRun<'a> {
    /// For the record.
    stage: &'a str,
    step: &'a Step,
    folders: Folders<'a>,
    binds: Vec<Bind>,
    timeout: Duration,
}

impl SlotGuard<'_> {
    /// Runs one step on the tree that is laid out. `stage` is for the record.
    pub async fn run(
        &mut self,
        stage: &str,
        step: &Step,
        timeout: Duration,
        cancel: &Cancel,
    ) -> Result<StepOutput, EffectError> {
        let binds = if self.in_place() { self.binds() } else { Vec::new() };
        let tmp = self.slot.tmp();
        let folders = Folders { tree: &self.seen_as, tmp: &tmp };
        let run = StepRun { stage, step, folders, binds, timeout };
        let output = self.run_step(run, cancel).await;
        self.freed(output)
    }

    /// Runs one step of a probe in its own folder. Several may run at the same time. Where one of them finds the disk
    /// full, the caller frees space by [`SlotGuard::freed`] once all have ended.
    pub async fn run_probe_step(
        &self,
        folder: &Path,
        step: &Step,
        timeout: Duration,
        cancel: &Cancel,
    ) -> Result<StepOutput, EffectError> {
        // Probes that run at the same time must not find each other's reports.
        let tmp = folder.join("tmp");
        let folders = Folders { tree: folder, tmp: &tmp };
        let run = StepRun { stage: "probe", step, folders, binds: Vec::new(), timeout };
        self.run_step(run, cancel).await
    }

    /// Hands a result on. Where the disk was full, the temp dir is emptied first, so that there is room to record it.
    pub fn freed<T>(&mut self, result: Result<T, EffectError>) -> Result<T, EffectError> {
        if let Err(EffectError::Failed(AgentError::NoSpace { .. })) = &result {
            self.reset_tmp()?;
        }
        result
    }

    async fn run_step(&self, run: StepRun<'_>, cancel: &Cancel) -> Result<StepOutput, EffectError> {
        let StepRun { stage, step, folders, binds, timeout } = run;
        let spec = self.spec(step, folders, timeout)?;
        let sandbox = self.sandbox(step, folders.tree, binds)?;
        let ran = self.config.runner.run(&spec, &sandbox, cancel).await.map_err(AgentError::from)?;
        let end = match &ran.end {
            RunEnd::Step(end) => end.clone(),
            RunEnd::Cancelled => return Err(EffectError::Cancelled),
        };
        self.runs.lock().unwrap_or_else(PoisonError::into_inner).push(RunNote {
            step: format!("{stage}/{}", step.name),
            command: shortened(&spec.argv.join(" ")),
            end: end.shown(),
            confinement: confinement_text(&ran.confinement),
            ms: u64::try_from(ran.duration.as_millis()).unwrap_or(u64::MAX),
            slot: slot_name(self.slot.dir()),
            output: self.config.outputs.and_then(|outputs| outputs.keep(&ran)),
        });
        let output = self.output(step, folders, end, ran);
        if !output.end.is_success() {
            space::check(self.slot.dir(), &output)?;
        }
        Ok(output)
    }

    /// The command of a step that works in `tree`.
    fn spec(&self, step: &Step, folders: Folders<'_>, timeout: Duration) -> Result<CommandSpec, SlotError> {
        let Folders { tree, tmp } = folders;
        let home = tmp.join("home");
        std::fs::create_dir_all(&home).map_err(|source| SlotError::Io {
            what: "create",
            path: home.clone(),
            source,
        })?;
        let mut env = self.config.env.clone();
        env.insert("HOME".to_owned(), home.to_string_lossy().into_owned());
        env.insert("TMPDIR".to_owned(), tmp.to_string_lossy().into_owned());
        env.extend(step.env.iter().map(|(name, value)| (name.clone(), self.fill(value, folders))));
        Ok(CommandSpec {
            argv: step.argv.iter().map(|word| self.fill(word, folders)).collect(),
            cwd: if step.cwd.is_root() { tree.to_owned() } else { tree.join(step.cwd.as_str()) },
            env,
            streams: step.streams,
            timeout,
            output_cap: OUTPUT_CAP,
            reports: step.reports.iter().map(|name| PathBuf::from(self.fill(name, folders))).collect(),
        })
    }

    /// What a step gave, its reports under the names that the plugin knows.
    fn output(&self, step: &Step, folders: Folders<'_>, end: StepEnd, mut ran: Ran) -> StepOutput {
        let report =
            |name: &String| Some((name.clone(), ran.reports.remove(Path::new(&self.fill(name, folders)))?));
        StepOutput {
            step: step.name.clone(),
            end,
            reports: step.reports.iter().filter_map(report).collect(),
            cut: ran.stdout.cut || ran.stderr.cut,
            stdout: ran.stdout.bytes,
            stderr: ran.stderr.bytes,
        }
    }

    /// A text of a plugin with the slot's folders in its holes.
    fn fill(&self, text: &str, folders: Folders<'_>) -> String {
        let slot = &self.slot;
        let holes = [
            ("{tree}", folders.tree.to_owned()),
            ("{build}", slot.build()),
            ("{tmp}", folders.tmp.to_owned()),
            ("{assets}", slot.assets()),
        ];
        holes.iter().fold(text.to_owned(), |text, (hole, path)| text.replace(hole, &path.to_string_lossy()))
    }
}

/// How long one step of a stage may take.
pub(crate) fn stage_timeout(state: &SessionState) -> Duration {
    Duration::from_millis(state.settings().stage_timeout_ms)
}

/// How long one step of a probe may take.
pub(crate) fn probe_timeout(state: &SessionState) -> Duration {
    Duration::from_millis(state.settings().probe_timeout_ms)
}

/// The slot's name: the last part of its folder.
fn slot_name(dir: &Path) -> String {
    dir.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn shortened(text: &str) -> String {
    const CHARS: usize = 160;
    if text.chars().count() <= CHARS {
        text.to_owned()
    } else {
        text.chars().take(CHARS).chain("…".chars()).collect()
    }
}

/// A tool's message, on one line and short enough for an event.
pub(crate) fn one_line(text: &str) -> String {
    const CHARS: usize = 400;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// The confinement in a few words.
pub(crate) fn confinement_text(confinement: &Confinement) -> String {
    let level = match confinement.level() {
        Level::Full => return "full".to_owned(),
        Level::Partial => "partial",
        Level::None => "none",
    };
    format!("{level}: {}", confinement.missing.join("; "))
}
