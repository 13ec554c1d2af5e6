//! A toy language: a plugin as a real one is, over a compiler (`toyc`, a binary of this crate) that takes a few
//! milliseconds. Whatever a stage of the agent can meet, a toy project can be made to show.
//!
//! See `toyc` for the language. `toy.mod` is the manifest, `toy.lock` the lock file, `main.toy` the support
//! file, `tests/` and `*_test.toy` hold tests, and `toy.run` decides how evidence is gathered. Where there is a
//! `toy.lint`, the stage `toyc lint` is shown.

mod read;
mod structure;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use perspt_core::path::RelPath;
use perspt_core::reading::{PluginName, Reading, StageKind};
use perspt_core::residual::Class;
use perspt_core::stage::{Profile, Root, Stage, StageRole, Step, StepOutput, Streams};
use perspt_lang::plugin::{
    CommandKind, Expect, Fetch, Files, FromCandidate, Machine, NoTool, OldTestFile, Pair, Plant, Plugin,
    Probe, ReadContext, Stages, Structure, StructureFindings, Terms, ToolState, Tools, Words,
};

/// The plugin's name.
pub const NAME: &str = "toy";

const TOOL: &str = "toyc";
/// The second tool of a pair.
const TWIN: &str = "toyc-twin";
const INSTALL: &str = "build perspt-testkit";
const REPORT: &str = "{tmp}/toy-report";
const DEPS: &str = "{build}/toy-deps";

/// What is wrong with the tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Flaw {
    /// Nothing.
    #[default]
    None,
    /// Its stages say that all is well without looking; its probe works.
    Blind,
    /// Its test stage alone does not look.
    BlindTests,
    /// It never answers.
    Hangs,
    /// It has two tools, and each answers its probe only while the other is probed too.
    Paired,
}

/// A step that waits for the probe of another tool to be running, and fails where that one's files are among its own.
fn after_meeting(tool: &str, other: &str, step: Step) -> Step {
    let wait = format!(
        "touch {{tmp}}/{tool}; cd {{tmp}}/../..; touch met-{tool}; until [ -e met-{other} ]; do sleep 0.01; done; \
         cd {{tree}}; [ ! -e {{tmp}}/{other} ] && exec \"$0\" \"$@\""
    );
    let shell = ["sh".to_owned(), "-c".to_owned(), wait];
    Step { argv: shell.into_iter().chain(step.argv).collect(), ..step }
}

/// The toy language over a compiler at some path.
#[derive(Debug, Clone)]
pub struct Toy {
    program: String,
    flaw: Flaw,
}

impl Toy {
    /// The language over this compiler. It is given back for the life of the process, as plugins are.
    pub fn plugin(toyc: &Path, flaw: Flaw) -> &'static dyn Plugin {
        Box::leak(Box::new(Toy { program: toyc.to_string_lossy().into_owned(), flaw }))
    }

    fn step(&self, name: &str, arguments: &[&str], cwd: &RelPath, blind: Option<&str>) -> Step {
        let hang = (self.flaw == Flaw::Hangs).then_some("--hang");
        let words = std::iter::once(self.program.as_str()).chain(arguments.iter().copied());
        Step {
            name: name.to_owned(),
            argv: words.chain(blind).chain(hang).map(str::to_owned).collect(),
            cwd: cwd.clone(),
            env: [("TOY_DEPS", DEPS), ("TOY_REPORT", REPORT)]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
            profile: Profile::Build,
            build_writes: Vec::new(),
            streams: Streams::Apart,
            reports: Vec::new(),
        }
    }

    fn stage_steps(&self, kind: StageKind, cwd: &RelPath) -> Vec<Step> {
        let blind = match (self.flaw, kind) {
            (Flaw::Blind, _) | (Flaw::BlindTests, StageKind::Test) => Some("--blind"),
            (Flaw::None | Flaw::Hangs | Flaw::BlindTests | Flaw::Paired, _) => None,
        };
        let confined = |step: Step| Step { profile: Profile::Test, ..step };
        if kind == StageKind::Test {
            let run = confined(self.step("run", &["test"], cwd, blind));
            let list = confined(self.step("list", &["list"], cwd, blind));
            return vec![list, Step { reports: vec![REPORT.to_owned()], ..run }];
        }
        let name = if kind == StageKind::Lint { "lint" } else { "check" };
        vec![self.step(name, &[name], cwd, blind)]
    }
}

fn is_source(path: &RelPath) -> bool {
    path.extension() == Some("toy")
}

fn is_test_file(path: &RelPath) -> bool {
    is_source(path)
        && (path.name().ends_with("_test.toy") || path.ancestors().any(|folder| folder.name() == "tests"))
}

fn has_tests(files: &dyn Files, dir: &RelPath) -> bool {
    let mut sources = files.tree().entries.keys().filter(|path| is_source(path) && path.is_within(dir));
    sources.any(|path| files.text(path).is_some_and(|text| !structure::tests(&text).is_empty()))
}

impl Plugin for Toy {
    fn name(&self) -> &'static str {
        NAME
    }
}

impl Stages for Toy {
    /// A root is an outermost `toy.mod`; those below it are its packages.
    fn roots(&self, files: &dyn Files) -> Vec<Root> {
        let manifests = files.tree().entries.keys().filter(|path| self.is_manifest(path));
        let mut folders: Vec<RelPath> = manifests.filter_map(RelPath::parent).collect();
        folders.sort_by_key(|folder| folder.parts().count());
        let mut roots: Vec<Root> = Vec::new();
        for dir in folders {
            match roots.iter_mut().find(|root| dir.is_within(&root.dir)) {
                Some(root) => root.packages.push(dir),
                None => roots.push(Root {
                    has_tests: has_tests(files, &dir),
                    plugin: PluginName(NAME.to_owned()),
                    packages: vec![dir.clone()],
                    dir,
                }),
            }
        }
        roots
    }

    fn assets(&self) -> &'static [(&'static str, &'static str)] {
        &[("toy-note", "laid down outside the tree\n")]
    }

    /// A project of two tests, one that passes and one that fails.
    fn probes(&self, _machine: &Machine) -> Vec<Probe> {
        let here = RelPath::root();
        let two = "test passes: 1 == 1\ntest fails: 1 == 2\n";
        let files = [("toy.mod", ""), ("two_test.toy", two)];
        let probe = |tool: &str, version: Step| Probe {
            role: StageRole::Required,
            tool: tool.to_owned(),
            files: files.map(|(name, text)| (name.to_owned(), text.to_owned())).into(),
            steps: vec![version, self.step("run", &["test"], &here, None)],
        };
        let version = || self.step("version", &["--version"], &here, None);
        match self.flaw {
            Flaw::Paired => [(TOOL, TWIN), (TWIN, TOOL)]
                .map(|(tool, other)| probe(tool, after_meeting(tool, other, version())))
                .into(),
            Flaw::None | Flaw::Blind | Flaw::BlindTests | Flaw::Hangs => vec![probe(TOOL, version())],
        }
    }

    fn read_probe(&self, _probe: &Probe, outputs: &[StepOutput]) -> ToolState {
        read::probe(outputs, INSTALL)
    }

    fn stages(
        &self,
        root: &Root,
        files: &dyn Files,
        Terms { tools, .. }: &Terms<'_>,
    ) -> Vec<Result<Stage, NoTool>> {
        let stage = |(kind, tool): (StageKind, &str)| match tools.get(TOOL) {
            Some(ToolState::Works { .. }) => {
                Ok(Stage::required(kind, tool, self.stage_steps(kind, &root.dir)))
            }
            Some(ToolState::Missing { why, install } | ToolState::Broken { why, install }) => {
                Err(NoTool { stage: kind, tool: TOOL.to_owned(), why: why.clone(), install: install.clone() })
            }
            None => Err(NoTool {
                stage: kind,
                tool: TOOL.to_owned(),
                why: "it was not probed".to_owned(),
                install: INSTALL.to_owned(),
            }),
        };
        let has_rules =
            root.dir.join("toy.lint").is_ok_and(|rules| files.tree().entries.contains_key(&rules));
        let lint = has_rules.then(|| {
            Ok(Stage::shown(StageKind::Lint, "toyc lint", self.stage_steps(StageKind::Lint, &root.dir)))
        });
        let required = [(StageKind::Build, "toyc check"), (StageKind::Test, "toyc test")].map(stage);
        required.into_iter().chain(lint).collect()
    }

    fn fetch(&self, root: &Root, files: &dyn Files) -> Option<Fetch> {
        let manifest = files.text(&root.dir.join("toy.mod").ok()?)?;
        manifest.lines().any(|line| line.starts_with("dep ")).then(|| Fetch {
            step: Step { profile: Profile::Fetch, ..self.step("fetch", &["fetch"], &root.dir, None) },
            instead: BTreeMap::new(),
        })
    }

    fn prepare(&self, root: &Root, _files: &dyn Files) -> Option<Step> {
        Some(self.step("lock", &["lock"], &root.dir, None))
    }

    fn read(&self, stage: &Stage, outputs: &[StepOutput], context: &ReadContext<'_>) -> Reading {
        read::stage(stage, outputs, context, REPORT)
    }

    fn plants(&self, stage: StageKind, root: &Root, files: &dyn Files, name: &str) -> Vec<Plant> {
        let all: Vec<(&RelPath, String)> = files
            .tree()
            .entries
            .keys()
            .filter(|path| is_source(path) && path.is_within(&root.dir))
            .filter_map(|path| Some((path, files.text(path)?)))
            .collect();
        let broken = |what: &str, expect: Expect| {
            let code = all.iter().filter(|(path, _)| !is_test_file(path));
            let writes: BTreeMap<RelPath, String> = code
                .map(|(path, text)| ((*path).clone(), format!("{text}\nlet planted = nothing\n")))
                .collect();
            (!writes.is_empty()).then_some(Plant { what: what.to_owned(), writes, expect })
        };
        let planted = root.dir.join(&format!("tests/{name}.toy")).ok().map(|path| Plant {
            what: "a failing test".to_owned(),
            writes: BTreeMap::from([(path, format!("test {name}: 1 == 2\n"))]),
            expect: Expect::TestFails(name.to_owned()),
        });
        let plant = if stage == StageKind::Build {
            broken("an unknown name", Expect::Red)
        } else {
            planted.filter(|_| stage == StageKind::Test)
        };
        plant.into_iter().collect()
    }

    fn environment_fault(&self, reading: &Reading) -> Option<String> {
        let missing = reading.residuals.iter().find(|residual| residual.class == Class::DependencyMissing)?;
        Some(missing.message.clone())
    }
}

impl Structure for Toy {
    fn is_manifest(&self, path: &RelPath) -> bool {
        path.name() == "toy.mod"
    }

    fn is_source(&self, path: &RelPath) -> bool {
        is_source(path)
    }

    fn is_test_file(&self, path: &RelPath) -> bool {
        is_test_file(path)
    }

    fn is_lockfile(&self, path: &RelPath) -> bool {
        path.name() == "toy.lock"
    }

    fn is_support_file(&self, path: &RelPath) -> bool {
        ["main.toy", "toy.mod"].contains(&path.name())
    }

    fn decides_evidence(&self, path: &RelPath) -> bool {
        path.name() == "toy.run"
    }

    fn structure(&self, pair: &Pair<'_>, _tools: &Tools) -> StructureFindings {
        structure::structure(pair)
    }

    fn old_tests(&self, pair: &Pair<'_>, _taken: &FromCandidate) -> BTreeMap<RelPath, OldTestFile> {
        structure::old_tests(pair)
    }

    fn take_more(&self, _pair: &Pair<'_>, so_far: &FromCandidate, _reading: &Reading) -> FromCandidate {
        so_far.clone()
    }
}

impl Words for Toy {
    fn task_words(&self) -> &'static [&'static str] {
        &[NAME]
    }

    fn manifest_name(&self) -> &'static str {
        "toy.mod"
    }

    fn layout_hint(&self) -> &'static str {
        "A toy project has toy.mod and .toy files; tests are lines that begin with `test`."
    }

    fn new_test_file(&self, _: &RelPath, _: &[RelPath]) -> Option<RelPath> {
        None
    }

    fn correction_fragment(&self) -> &'static str {
        "In toy a name must be defined on a line before it is used."
    }

    /// `toyc check` and `toyc test` repeat a stage; nothing adds packages.
    fn command(&self, argv: &[String], _root: &Root, _files: &dyn Files) -> CommandKind {
        let words: Vec<&str> = argv.iter().map(String::as_str).collect();
        if matches!(words[..], [TOOL, "check" | "test", ..]) {
            CommandKind::Repeats
        } else {
            CommandKind::Other
        }
    }

    fn packages(&self, files: &dyn Files) -> BTreeSet<String> {
        let manifests = files.tree().entries.keys().filter(|path| self.is_manifest(path));
        let texts = manifests.filter_map(|path| files.text(path));
        let names = texts.flat_map(|text| {
            text.lines()
                .filter_map(|line| line.strip_prefix("dep "))
                .map(|name| name.trim().to_owned())
                .collect::<Vec<_>>()
        });
        names.collect()
    }
}
