//! What JavaScript's tools are asked to do: parse every file, check types where the project does, run the tests, and
//! lint where that is asked for.

use std::collections::BTreeMap;

use perspt_core::path::RelPath;
use perspt_core::reading::StageKind;
use perspt_core::stage::{Preset, Profile, Root, Stage, StageRole, Step};

use super::manifest;
use super::runner::{self, Runner, Script, Suite, Tool};
use super::{lint, roots, types};
use crate::plugin::{Files, Host, Machine, NoTool, Selection, Terms, ToolState, Tools};
use crate::shared::step::{in_tree, step, with_env};
use crate::shared::works::works;

/// Node, as its probe calls it.
pub(crate) const NODE: &str = "node";

/// The folder that packages are installed into.
pub(crate) const MODULES: &str = "node_modules";

/// Tools that a project brings itself: the package, and the file in it that is run.
pub(crate) const OWN_TOOLS: [(&str, &str); 5] = [
    ("typescript", "bin/tsc"),
    ("vitest", "vitest.mjs"),
    ("jest", "bin/jest.js"),
    ("mocha", "bin/mocha.js"),
    ("eslint", "bin/eslint.js"),
];

/// What a tool of a project is called, by the folder whose packages it is one of.
fn program(tool: &str, dir: &RelPath) -> String {
    if dir.is_root() { tool.to_owned() } else { format!("{tool} {dir}") }
}

/// The project's packages, where they are installed. They are seen where they lie, so that links in them that lead to the
/// workspace's own packages lead into what is measured.
pub(crate) fn machine(host: &dyn Host) -> Machine {
    let mut machine = Machine::default();
    for folder in host.folders_named(MODULES) {
        let Some(dir) = RelPath::parse(&folder).ok().and_then(|path| path.parent()) else { continue };
        for (tool, file) in OWN_TOOLS {
            let path = format!("{}/{folder}/{tool}/{file}", host.workspace());
            if host.exists(&path) {
                machine.programs.insert(program(tool, &dir), path);
            }
        }
        machine.mounted.extend(RelPath::parse(&folder).ok());
    }
    machine
}

/// The program of a tool as a package finds it: in its own folder's packages, or in those of one above.
pub(crate) fn find<'m>(machine: &'m Machine, tool: &str, dir: &RelPath) -> Option<&'m str> {
    let mut dirs = std::iter::once(dir.clone()).chain(dir.ancestors());
    dirs.find_map(|dir| machine.programs.get(&program(tool, &dir))).map(String::as_str)
}

/// The program of a tool that is to be probed: the one nearest to the workspace's own folder.
pub(crate) fn first<'m>(machine: &'m Machine, tool: &str) -> Option<&'m str> {
    let is_of = |name: &&String| name.split(' ').next() == Some(tool);
    machine.programs.keys().find(is_of).and_then(|name| machine.programs.get(name)).map(String::as_str)
}

/// The stages of a root.
pub(crate) fn stages(root: &Root, files: &dyn Files, terms: &Terms<'_>) -> Vec<Result<Stage, NoTool>> {
    let node = |kind| works(kind, NODE, terms.tools);
    let syntax = node(StageKind::Syntax)
        .map(|()| Stage::required(StageKind::Syntax, "node check", vec![parse(root, files, terms.machine)]));
    let mut all = vec![syntax];
    all.extend(types::stage(root, files, terms));
    all.push(node(StageKind::Test).and_then(|()| tests(root, files, terms)));
    if terms.preset == Preset::Strict {
        all.extend(lint::stage(root, files, terms));
    }
    all
}

/// Whether a tool's version is this one or later.
pub(crate) fn is_from(version: (u32, u32), tool: &str, tools: &Tools) -> bool {
    let Some(ToolState::Works { version: said, .. }) = tools.get(tool) else { return false };
    let number = said.trim_start_matches(|c: char| !c.is_ascii_digit());
    let mut parts = number.split(['.', ' ']).map(|part| part.parse::<u32>().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0)) >= version
}

/// A tool that a package names and that is not installed for it.
pub(crate) fn not_installed(stage: StageKind, tool: &str, dir: &RelPath, files: &dyn Files) -> NoTool {
    let install = manifest::install(files, dir);
    NoTool {
        stage,
        tool: tool.to_owned(),
        why: format!("the project asks for {tool}, which is not in its {MODULES}"),
        install: format!("Install the project's packages: {install}."),
    }
}

/// A program of the project, run by Node.
pub(crate) fn by_node(name: &str, program: &str, arguments: &[&str], dir: &RelPath) -> Step {
    let argv: Vec<&str> = [NODE, program].into_iter().chain(arguments.iter().copied()).collect();
    step(name, &argv, dir)
}

fn parse(root: &Root, files: &dyn Files, machine: &Machine) -> Step {
    let dir = in_tree(&root.dir);
    let mut argv =
        vec![NODE, "--experimental-vm-modules", "--no-warnings", "{assets}/perspt_syntax.mjs", &dir];
    let compiler = find(machine, "typescript", &root.dir).or_else(|| first(machine, "typescript"));
    let library = compiler.and_then(|path| path.strip_suffix("/bin/tsc"));
    argv.extend(library.into_iter().flat_map(|library| ["--typescript", library]));
    let skipped: Vec<String> = roots::inside(files, root).iter().map(in_tree).collect();
    argv.extend(skipped.iter().flat_map(|folder| ["--skip", folder.as_str()]));
    step("parse", &argv, &root.dir)
}

/// The reports of a step: results, and what its processes have loaded.
pub(crate) fn reports(number: usize) -> [String; 2] {
    [format!("{{tmp}}/perspt-results-{number}.json"), format!("{{tmp}}/perspt-loaded-{number}.jsonl")]
}

/// The test stage: a step for each package that has tests of its own.
fn tests(root: &Root, files: &dyn Files, terms: &Terms<'_>) -> Result<Stage, NoTool> {
    let mut steps = Vec::new();
    let mut tools: Vec<&str> = Vec::new();
    for suite in runner::suites(files, root) {
        let (tool, script) = match &suite.runner {
            Runner::Known(tool, script) => (*tool, script),
            Runner::Unread(_) if suite.files.is_empty() => continue,
            Runner::Unread(name) => return Err(unread(name)),
        };
        if tool == Tool::Node && suite.files.is_empty() && root.packages.len() > 1 {
            continue;
        }
        if !tools.contains(&tool.name()) {
            tools.push(tool.name());
        }
        steps.extend(run(&suite, tool, script, terms, files, steps.len())?);
    }
    let tool = if tools.is_empty() { vec![NODE] } else { tools }.join(", ").replace(NODE, "node test");
    let role = if terms.preset == Preset::Minimal { StageRole::Shown } else { StageRole::Required };
    Ok(Stage { role, ..Stage::required(StageKind::Test, &tool, steps) })
}

fn unread(name: &str) -> NoTool {
    NoTool {
        stage: StageKind::Test,
        tool: name.to_owned(),
        why: format!("the project's tests run with {name}, whose report perspt does not read"),
        install: "perspt reads the reports of node --test, vitest, jest and mocha.".to_owned(),
    }
}

/// The steps of a suite. Where all its test files share a process, those that were there also run without the new ones,
/// which could help them.
fn run(
    suite: &Suite,
    tool: Tool,
    script: &Script,
    terms: &Terms<'_>,
    files: &dyn Files,
    number: usize,
) -> Result<Vec<Step>, NoTool> {
    let mut program_words: Vec<String> = vec![NODE.to_owned()];
    program_words.extend(script.node.iter().cloned());
    if tool == Tool::Node {
        program_words.push("--test".to_owned());
    } else {
        let lack = || not_installed(StageKind::Test, tool.name(), &suite.dir, files);
        program_words.push(find(terms.machine, tool.name(), &suite.dir).ok_or_else(lack)?.to_owned());
        works(StageKind::Test, tool.name(), terms.tools)?;
    }
    let name = program(tool.name(), &suite.dir);
    let whole = |name: &str, number: usize, more: &[String]| {
        let mut argv = program_words.clone();
        argv.extend(options(tool, &reports(number)[0], terms));
        argv.extend(script.options.iter().cloned());
        argv.extend(more.iter().cloned());
        test_step(name, &argv, &suite.dir, script, number)
    };
    let named = named_files(suite, tool, terms.selection);
    let mut steps = vec![whole(&name, number, &named)];
    let new = terms.selection.new_tests.iter().filter(|path| path.is_within(&suite.dir));
    let ignored: Vec<String> =
        new.filter_map(|path| path.below(&suite.dir)).map(|path| format!("--ignore={path}")).collect();
    if tool == Tool::Mocha && !ignored.is_empty() {
        steps.push(whole(&format!("{name} without new files"), number + 1, &ignored));
    }
    Ok(steps)
}

fn test_step(name: &str, argv: &[String], dir: &RelPath, script: &Script, number: usize) -> Step {
    let [results, loaded] = reports(number);
    let argv: Vec<&str> = argv.iter().map(String::as_str).collect();
    let mut step = Step { profile: Profile::Test, ..step(name, &argv, dir) };
    step.env.extend(script.env.iter().cloned());
    let own = script.env.iter().find(|(name, _)| name == "NODE_OPTIONS").map(|(_, value)| value.as_str());
    let preload = "--require \"{assets}/perspt_loaded.cjs\"";
    let options = own.map_or(preload.to_owned(), |own| format!("{own} {preload}"));
    step = with_env(step, &RUNS_TESTS);
    step.env.extend(BTreeMap::from([
        ("NODE_OPTIONS".to_owned(), options),
        ("PERSPT_RESULTS".to_owned(), results.clone()),
        ("PERSPT_LOADED".to_owned(), loaded.clone()),
        ("PERSPT_TREE".to_owned(), "{tree}".to_owned()),
    ]));
    step.reports = vec![results, loaded];
    step
}

/// Output that can be read; and no runner that waits for changes or writes what a later run would read.
const RUNS_TESTS: [(&str, &str); 4] =
    [("NO_COLOR", "1"), ("FORCE_COLOR", "0"), ("CI", "1"), ("JEST_HASTE_MAP_FORCE_NODE_FS", "1")];

/// How a runner is told to report, and not to let test files share more than it must.
fn options(tool: Tool, results: &str, terms: &Terms<'_>) -> Vec<String> {
    let report = format!("--outputFile={results}");
    let destination = format!("--test-reporter-destination={results}");
    let mut words: Vec<&str> = match tool {
        Tool::Node => vec!["--test-reporter={assets}/perspt_node.mjs", &destination],
        Tool::Vitest => {
            vec![
                "run",
                "--reporter=json",
                "--isolate",
                "--watch=false",
                "--coverage.enabled=false",
                "--cache=false",
                &report,
            ]
        }
        Tool::Jest => vec![
            "--json",
            "--testLocationInResults",
            "--ci",
            "--watchAll=false",
            "--coverage=false",
            "--cacheDirectory={tmp}/perspt-jest",
            &report,
        ],
        Tool::Mocha => vec!["--reporter={assets}/perspt_mocha.cjs", "--no-bail"],
    };
    // Otherwise the settings would be compiled into the folder of packages, where nothing may be written.
    if tool == Tool::Vitest && is_from((3, 2), tool.name(), terms.tools) {
        words.push("--configLoader=runner");
    }
    words.into_iter().map(str::to_owned).collect()
}

/// The files that a step names. Node is given each: what it would choose itself differs from version to version.
fn named_files(suite: &Suite, tool: Tool, selection: &Selection) -> Vec<String> {
    let is_asked =
        |path: &&RelPath| selection.only.is_empty() || selection.only.iter().any(|(only, _)| only == *path);
    let below = |path: &RelPath| path.below(&suite.dir).unwrap_or(path.as_str()).to_owned();
    match tool {
        Tool::Node => suite.files.iter().filter(is_asked).map(below).collect(),
        // Nothing is named where all are run; what is named must still be one that the settings choose.
        // It runs a file that it is told to run, whatever its settings say: so it is told none.
        Tool::Mocha => Vec::new(),
        Tool::Vitest | Tool::Jest => {
            let only = selection.only.iter().filter(|(path, _)| path.is_within(&suite.dir));
            only.map(|(path, _)| below(path)).collect()
        }
    }
}
