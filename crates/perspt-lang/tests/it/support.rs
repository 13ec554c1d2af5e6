//! A small unconfined runner: lays a tree down, fills the holes, runs a plugin's own steps.
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use perspt_core::hash::Sha;
use perspt_core::path::RelPath;
use perspt_core::plan::{PlanNode, TaskType};
use perspt_core::reading::{Reading, StageKind, TestEnd};
use perspt_core::residual::{Milli, Residual};
use perspt_core::stage::{Root, Stage, Step, StepEnd, StepOutput, Streams};
use perspt_core::tree::{Entry, EntryKind, Tree};
use perspt_lang::Plugin;
use perspt_lang::plugin::{Files, Machine, Probe, ReadContext, ToolState, Tools, Touch};

/// A path of the tree.
pub fn path(text: &str) -> RelPath {
    RelPath::parse(text).unwrap()
}

/// Files in memory.
#[derive(Clone, Default)]
pub struct Map {
    tree: Tree,
    texts: BTreeMap<RelPath, String>,
}

impl Map {
    pub fn of(files: &[(&str, &str)]) -> Map {
        let mut map = Map::default();
        for (name, text) in files {
            map.put(name, text);
        }
        map
    }

    pub fn put(&mut self, name: &str, text: &str) {
        let entry = Entry { kind: EntryKind::File, hash: Sha::of(text.as_bytes()), size: text.len() as u64 };
        self.tree.entries.insert(path(name), entry);
        self.texts.insert(path(name), text.to_owned());
    }

    pub fn with(&self, name: &str, text: &str) -> Map {
        let mut map = self.clone();
        map.put(name, text);
        map
    }

    pub fn without(&self, name: &str) -> Map {
        let mut map = self.clone();
        map.tree.entries.remove(&path(name));
        map.texts.remove(&path(name));
        map
    }

    pub fn text_of(&self, name: &str) -> String {
        self.texts[&path(name)].clone()
    }

    pub fn texts(&self) -> &BTreeMap<RelPath, String> {
        &self.texts
    }
}

impl Files for Map {
    fn tree(&self) -> &Tree {
        &self.tree
    }

    fn text(&self, path: &RelPath) -> Option<String> {
        self.texts.get(path).cloned()
    }
}

/// A place to run in, gone at the end of the test.
pub struct Slot {
    dir: tempfile::TempDir,
    /// Folders put before the machine's on PATH.
    pub path_first: Option<PathBuf>,
}

impl Slot {
    pub fn new() -> Slot {
        let dir = tempfile::tempdir().unwrap();
        for name in ["tree", "build", "tmp", "assets"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
        }
        Slot { dir, path_first: None }
    }

    pub fn folder(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn fill(&self, text: &str) -> String {
        ["tree", "build", "tmp", "assets"].iter().fold(text.to_owned(), |text, name| {
            text.replace(&format!("{{{name}}}"), self.folder(name).to_str().unwrap())
        })
    }

    /// Lays files down in place of what was there.
    pub fn lay_out(&self, files: &Map, plugin: &dyn Plugin) {
        std::fs::remove_dir_all(self.folder("tree")).unwrap();
        std::fs::create_dir(self.folder("tree")).unwrap();
        for (name, text) in files.texts() {
            write(&self.folder("tree").join(name.as_str()), text);
        }
        for (name, text) in plugin.assets() {
            write(&self.folder("assets").join(name), text);
        }
    }

    /// Runs one step.
    pub fn step(&self, step: &Step) -> StepOutput {
        for report in &step.reports {
            let _ = std::fs::remove_file(self.fill(report));
        }
        let argv: Vec<String> = step.argv.iter().map(|argument| self.fill(argument)).collect();
        let mut command = Command::new(&argv[0]);
        command.args(&argv[1..]).current_dir(self.folder("tree").join(step.cwd.as_str())).env_clear();
        let path = std::env::var("PATH").unwrap();
        let path = match &self.path_first {
            Some(first) => format!("{}:{path}", first.display()),
            None => path,
        };
        command.env("PATH", path).env("LANG", "C.UTF-8").env("HOME", self.folder("tmp")).env("TERM", "dumb");
        let home = std::env::var("HOME").unwrap();
        for (name, folder) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup"), ("PYENV_ROOT", ".pyenv")]
        {
            command.env(name, std::env::var(name).unwrap_or(format!("{home}/{folder}")));
        }
        for (name, value) in &step.env {
            command.env(name, self.fill(value));
        }
        let out = self.folder("out");
        let err = self.folder("err");
        let stdout = std::fs::File::create(&out).unwrap();
        let stderr = match step.streams {
            Streams::Merged => stdout.try_clone().unwrap(),
            Streams::Apart => std::fs::File::create(&err).unwrap(),
        };
        command.stdin(Stdio::null()).stdout(stdout).stderr(stderr);
        let end = match command.status() {
            Err(error) => StepEnd::NotStarted(error.to_string()),
            Ok(status) => status.code().map_or(StepEnd::Signalled(9), StepEnd::Exited),
        };
        let stderr = match step.streams {
            Streams::Merged => Vec::new(),
            Streams::Apart => std::fs::read(&err).unwrap(),
        };
        let reports =
            step.reports.iter().filter_map(|name| Some((name.clone(), std::fs::read(self.fill(name)).ok()?)));
        StepOutput {
            step: step.name.clone(),
            end,
            stdout: std::fs::read(&out).unwrap(),
            stderr,
            cut: false,
            reports: reports.collect(),
        }
    }

    /// Runs a stage as the agent would.
    pub fn outputs(&self, plugin: &dyn Plugin, stage: &Stage) -> Vec<StepOutput> {
        let mut outputs = Vec::new();
        for step in &stage.steps {
            let mut output = self.step(step);
            for name in plugin.late_reports(stage, &output) {
                if let Ok(bytes) = std::fs::read(self.folder("build").join(&name)) {
                    output.reports.insert(name, bytes);
                }
            }
            let goes_on = plugin.goes_on(stage, &output);
            outputs.push(output);
            if !goes_on {
                break;
            }
        }
        outputs
    }

    /// Runs a probe in a slot of its own.
    pub fn probe(probe: &Probe, path_first: Option<&Path>) -> Vec<StepOutput> {
        let slot = Slot { path_first: path_first.map(Path::to_owned), ..Slot::new() };
        for (name, text) in &probe.files {
            write(&slot.folder("tree").join(name), text);
        }
        probe.steps.iter().map(|step| slot.step(step)).collect()
    }

    /// Lays out, prepares, runs and reads one stage of the first root.
    pub fn read(&self, plugin: &dyn Plugin, files: &Map, kind: StageKind) -> Reading {
        self.read_with(plugin, files, kind, &Machine::default(), &working())
    }

    pub fn read_with(
        &self,
        plugin: &dyn Plugin,
        files: &Map,
        kind: StageKind,
        machine: &Machine,
        tools: &Tools,
    ) -> Reading {
        self.lay_out(files, plugin);
        let root = plugin.roots(files).remove(0);
        if let Some(step) = plugin.prepare(&root, files) {
            self.step(&step);
        }
        let stage = stage(plugin, &root, files, kind, machine, tools);
        let outputs = self.outputs(plugin, &stage);
        self.read_outputs(plugin, &stage, &outputs, &root, files)
    }

    pub fn read_outputs(
        &self,
        plugin: &dyn Plugin,
        stage: &Stage,
        outputs: &[StepOutput],
        root: &Root,
        files: &Map,
    ) -> Reading {
        let seen_as = self.folder("tree");
        let context = ReadContext { tree: files.tree.id(), root, seen_as: seen_as.to_str().unwrap(), files };
        plugin.read(stage, outputs, &context)
    }
}

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// Tools that were all seen to work.
pub fn working() -> Tools {
    let works = || ToolState::Works { version: "1".to_owned() };
    ["cargo", "python3", "pytest", "unittest"].iter().map(|name| ((*name).to_owned(), works())).collect()
}

/// One stage of a root.
pub fn stage(
    plugin: &dyn Plugin,
    root: &Root,
    files: &Map,
    kind: StageKind,
    machine: &Machine,
    tools: &Tools,
) -> Stage {
    let stages = plugin.stages(root, files, machine, tools);
    stages.into_iter().flatten().find(|stage| stage.kind == kind).unwrap()
}

/// The classes of the counted residuals, in order.
pub fn classes(reading: &Reading) -> Vec<&str> {
    counted(&reading.residuals).map(|residual| residual.class.as_str()).collect()
}

pub fn counted(residuals: &[Residual]) -> impl Iterator<Item = &Residual> {
    residuals.iter().filter(|residual| residual.counts())
}

/// The sum of all counted scores.
pub fn energy(reading: &Reading) -> Milli {
    Milli(counted(&reading.residuals).map(|residual| residual.score.0).sum())
}

/// Names and ends of a reading's tests.
pub fn ends(reading: &Reading) -> BTreeMap<&str, TestEnd> {
    let tests = reading.tests.as_ref().unwrap();
    tests.results.iter().map(|(name, result)| (name.0.as_str(), result.end)).collect()
}

/// A node of this type that owns these files.
pub fn node(task_type: TaskType, owns: &[&str]) -> PlanNode {
    // By its written form, so that a new optional field of a plan changes nothing here.
    let node = serde_json::json!({ "id": "n", "goal": "", "task_type": task_type, "output_files": owns });
    serde_json::from_value(node).unwrap()
}

/// The structure residuals of a change, as `class file`.
pub fn touched(
    plugin: &dyn Plugin,
    base: &Map,
    candidate: &Map,
    node: &PlanNode,
    task: &str,
) -> Vec<Residual> {
    touched_with(plugin, base, candidate, node, task, &[])
}

pub fn touched_with(
    plugin: &dyn Plugin,
    base: &Map,
    candidate: &Map,
    node: &PlanNode,
    task: &str,
    authored: &[&str],
) -> Vec<Residual> {
    let authored: BTreeSet<RelPath> = authored.iter().map(|name| path(name)).collect();
    plugin.structure(&Touch { base, candidate, node, task, authored: &authored })
}

/// `class file` of each counted residual.
pub fn charged(residuals: &[Residual]) -> Vec<String> {
    let shown = |residual: &Residual| {
        format!(
            "{} {}",
            residual.class.as_str(),
            residual.file.as_ref().map_or("-".to_owned(), ToString::to_string)
        )
    };
    counted(residuals).map(shown).collect()
}
