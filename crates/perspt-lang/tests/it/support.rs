//! A small unconfined runner: lays a tree down, fills the holes, runs a plugin's own steps.
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use perspt_core::hash::Sha;
use perspt_core::inventory::Fate;
use perspt_core::path::RelPath;
use perspt_core::reading::{Reading, StageKind, TestEnd};
use perspt_core::residual::{Milli, Residual};
use perspt_core::stage::{Preset, Root, Stage, Step, StepEnd, StepOutput, Streams};
use perspt_core::tree::{Entry, EntryKind, Tree};
use perspt_lang::Plugin;
use perspt_lang::plugin::{
    Files, FromCandidate, Machine, OldTestFile, Pair, Plant, Probe, ReadContext, Selection,
    StructureFindings, Terms, ToolState, Tools,
};

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
    /// How much is measured.
    pub preset: Preset,
    /// Installed JavaScript packages that the tree is to find.
    pub packages: Option<PathBuf>,
}

impl Slot {
    pub fn new() -> Slot {
        let dir = tempfile::tempdir().unwrap();
        for name in ["tree", "build", "tmp", "assets"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
        }
        Slot { dir, path_first: None, preset: Preset::Default, packages: None }
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
        if let Some(packages) = &self.packages {
            std::os::unix::fs::symlink(packages, self.folder("tree").join("node_modules")).unwrap();
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
        if step.env.contains_key("GOCACHE") {
            // The standard library is compiled once for all tests: entries are found by their content.
            command.env("GOCACHE", concat!(env!("CARGO_TARGET_TMPDIR"), "/go-cache"));
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
            let continues = plugin.continues_after(stage, &output);
            outputs.push(output);
            if !continues {
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
        self.read_selected(plugin, files, kind, (machine, tools), &Selection::default())
    }

    /// A tree with a plant, read as calibration does: the planted test alone is run.
    pub fn read_planted(
        &self,
        plugin: &dyn Plugin,
        files: &Map,
        plant: &Plant,
        kind: StageKind,
        (machine, tools): (&Machine, &Tools),
    ) -> Reading {
        let mut planted = files.clone();
        for (path, text) in &plant.writes {
            planted.put(path.as_str(), text);
        }
        let selection = Selection { only: plant.only(), ..Selection::default() };
        self.read_selected(plugin, &planted, kind, (machine, tools), &selection)
    }

    fn read_selected(
        &self,
        plugin: &dyn Plugin,
        files: &Map,
        kind: StageKind,
        (machine, tools): (&Machine, &Tools),
        selection: &Selection,
    ) -> Reading {
        self.lay_out(files, plugin);
        let root = plugin.roots(files).remove(0);
        if let Some(step) = plugin.prepare(&root, files) {
            self.step(&step);
        }
        let terms = Terms { preset: self.preset, ..terms(machine, tools, selection) };
        let stages = plugin.stages(&root, files, &terms);
        let stage = stages.into_iter().flatten().find(|stage| stage.kind == kind).unwrap();
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
        let (tree, seen_as, tools) = (files.tree.id(), seen_as.to_str().unwrap(), &working());
        let context = ReadContext { tree, root, seen_as, files, tools };
        plugin.read(stage, outputs, &context)
    }
}

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// Tools that were all seen to work; the interpreter has said which modules it brings.
pub fn working() -> Tools {
    static PYTHON: LazyLock<ToolState> = LazyLock::new(|| {
        let python = perspt_lang::plugin("python").unwrap();
        let probe = python.probes(&Machine::default()).remove(0);
        python.read_probe(&probe, &Slot::probe(&probe, None))
    });
    let works = |name: &&str| ((*name).to_owned(), ToolState::works("1"));
    let others = [
        "cargo", "clippy", "rustfmt", "pytest", "unittest", "mypy", "pyright", "ty", "ruff", "go", "gofmt",
        "node", "eslint",
    ];
    let others = others.iter().map(works);
    let versions = [
        ("typescript", "Version 5.9.3"),
        ("vitest", "vitest/3.2.7"),
        ("jest", "30.5.2"),
        ("mocha", "11.8.0"),
    ];
    let versions = versions.map(|(tool, version)| (tool.to_owned(), ToolState::works(version)));
    others.chain(versions).chain([("python3".to_owned(), PYTHON.clone())]).collect()
}

/// What stages depend on, with the usual preset.
pub fn terms<'a>(machine: &'a Machine, tools: &'a Tools, selection: &'a Selection) -> Terms<'a> {
    Terms { machine, tools, selection, preset: Preset::Default }
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
    let stages = plugin.stages(root, files, &terms(machine, tools, &Selection::default()));
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

/// What a plugin finds in a candidate.
pub fn structure(plugin: &dyn Plugin, base: &Map, candidate: &Map) -> StructureFindings {
    plugin.structure(&Pair { base, candidate }, &working())
}

/// A candidate's inventory, a line for each entry: `changed file::name`, `moved`, `added`, `support`, `evidence` with
/// a `?` where results settle it, and `stub`.
pub fn facts(plugin: &dyn Plugin, base: &Map, candidate: &Map) -> Vec<String> {
    let found = structure(plugin, base, candidate);
    let inventory = &found.inventory;
    let mut lines = Vec::new();
    for test in &inventory.changed {
        let fate = if test.fate == Fate::Removed { "removed" } else { "changed" };
        let weaker = if test.weaker.is_empty() { "" } else { " weaker" };
        lines.push(format!("{fate} {}{weaker}", test.id.subject()));
    }
    lines.extend(
        inventory.moved.iter().map(|(old, new)| format!("moved {} {}", old.subject(), new.subject())),
    );
    lines.extend(inventory.added.iter().map(|id| format!("added {}", id.subject())));
    lines.extend(inventory.support.iter().map(|entry| format!("support {}", entry.path)));
    lines.extend(
        inventory.evidence.iter().map(|entry| {
            format!("evidence {}{}", entry.path, if entry.settled_by_results { "?" } else { "" })
        }),
    );
    lines.extend(
        found.residuals.iter().map(|one| format!("{} {}", one.class.as_str(), one.file.as_ref().unwrap())),
    );
    lines
}

/// The text a file has where tests are those of the base; `None` where it has none.
pub fn as_it_was(
    plugin: &dyn Plugin,
    base: &Map,
    candidate: &Map,
    conceded: &FromCandidate,
    name: &str,
) -> Option<String> {
    match plugin.old_tests(&Pair { base, candidate }, conceded).get(&path(name)) {
        Some(OldTestFile::Text(text)) => Some(text.clone()),
        Some(OldTestFile::Base) => Some(base.text_of(name)),
        Some(OldTestFile::Absent) => None,
        None => candidate.texts().get(&path(name)).cloned(),
    }
}

/// The whole tree of new code and old tests.
pub fn old_tree(plugin: &dyn Plugin, base: &Map, candidate: &Map, conceded: &FromCandidate) -> Map {
    let mut tree = candidate.clone();
    for (file, was) in plugin.old_tests(&Pair { base, candidate }, conceded) {
        match was {
            OldTestFile::Text(text) => tree.put(file.as_str(), &text),
            OldTestFile::Base => tree.put(file.as_str(), &base.text_of(file.as_str())),
            OldTestFile::Absent => tree = tree.without(file.as_str()),
        }
    }
    tree
}
