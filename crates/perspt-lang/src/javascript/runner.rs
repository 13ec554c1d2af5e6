//! Which runner a package's tests are for, and which files it would run: what its test script says, else what it
//! depends on.

use perspt_core::path::RelPath;
use perspt_core::stage::Root;

use super::manifest::Package;
use super::{is_test_name, roots};
use crate::plugin::Files;
use crate::shared::glob;

/// A runner of tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Tool {
    /// `node --test`.
    Node,
    /// Vitest.
    Vitest,
    /// Jest.
    Jest,
    /// Mocha.
    Mocha,
}

impl Tool {
    /// Those that a project brings.
    pub(crate) const PACKAGES: [Tool; 3] = [Tool::Vitest, Tool::Jest, Tool::Mocha];

    /// Its name, which is also that of its package.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Tool::Node => "node",
            Tool::Vitest => "vitest",
            Tool::Jest => "jest",
            Tool::Mocha => "mocha",
        }
    }

    /// The tool of a name.
    pub(crate) fn named(name: &str) -> Option<Tool> {
        std::iter::once(Tool::Node).chain(Tool::PACKAGES).find(|tool| tool.name() == name)
    }
}

/// How a package's script runs its tests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Script {
    /// Options for Node itself.
    pub node: Vec<String>,
    /// Options for the runner: where its configuration is.
    pub options: Vec<String>,
    /// Which files, where the script says.
    pub files: Vec<String>,
    /// Variables that the script sets.
    pub env: Vec<(String, String)>,
}

/// What runs a package's tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Runner {
    /// A runner whose report can be read.
    Known(Tool, Script),
    /// Another one, by its name.
    Unread(String),
}

/// Runners whose reports are not read here.
const UNREAD: [&str; 11] =
    ["ava", "tap", "tape", "uvu", "jasmine", "karma", "react-scripts", "borp", "bun", "deno", "playwright"];

/// Programs that run another one after them.
const BEFORE: [&str; 8] = ["npx", "cross-env", "c8", "nyc", "exec", "pnpm", "yarn", "bunx"];

/// Options of Node that take the next word with them.
const TAKES: [&str; 9] = [
    "--import",
    "--require",
    "-r",
    "--loader",
    "--experimental-loader",
    "--conditions",
    "-C",
    "--test-concurrency",
    "--test-timeout",
];

/// Options that would change what is reported, or share a process between test files.
const DROPPED: [&str; 7] = [
    "--test-reporter",
    "--test-coverage",
    "--experimental-test-coverage",
    "--test-isolation",
    "--experimental-test-isolation",
    "--watch",
    "--test-name-pattern",
];

/// The runner of a package; `None` where neither its script nor its dependencies say.
pub(crate) fn of(package: &Package) -> Option<Runner> {
    let scripted = package.script("test").and_then(|script| in_script(package, script, 0));
    let asked = || {
        let known = Tool::PACKAGES.into_iter().find(|tool| package.depends_on(tool.name()));
        let other = UNREAD.iter().find(|name| package.depends_on(name));
        let known = known.map(|tool| Runner::Known(tool, Script::default()));
        known.or_else(|| other.map(|name| Runner::Unread((*name).to_owned())))
    };
    scripted.or_else(asked)
}

/// The runner that a script starts, itself or through another script.
fn in_script(package: &Package, script: &str, depth: usize) -> Option<Runner> {
    let commands = script.split(['&', '|', ';']).map(words).filter(|words| !words.is_empty());
    commands.into_iter().find_map(|words| in_command(package, &words, depth))
}

/// The words of a command, without their quotes.
fn words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    for c in command.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None, c) if c.is_whitespace() => words.push(std::mem::take(&mut word)),
            (_, c) if c != '\\' => word.push(c),
            _ => {}
        }
    }
    words.push(word);
    words.into_iter().filter(|word| !word.is_empty()).collect()
}

fn in_command(package: &Package, words: &[String], depth: usize) -> Option<Runner> {
    let mut script = Script::default();
    let mut rest: Vec<&str> = words.iter().map(String::as_str).collect();
    while let Some(first) = rest.first().copied() {
        match first.split_once('=') {
            Some((name, value)) if !first.starts_with('-') => {
                script.env.push((name.to_owned(), value.to_owned()))
            }
            _ if BEFORE.contains(&first) && rest.len() > 1 => {}
            _ if first.starts_with('-') && script.node.is_empty() => {}
            _ => break,
        }
        rest.remove(0);
    }
    let (program, arguments) = rest.split_first()?;
    let called = |script: &&str| package.script(script).filter(|_| depth < 4);
    match *program {
        "node" if arguments.contains(&"--test") => Some(node(script, arguments)),
        "tsx" if arguments.contains(&"--test") => {
            script.node = vec!["--import".to_owned(), "tsx".to_owned()];
            Some(node(script, arguments))
        }
        "node" => {
            let at = arguments.iter().position(|word| !word.starts_with('-'))?;
            let tool = Tool::PACKAGES.into_iter().find(|tool| arguments[at].contains(tool.name()))?;
            script.node = arguments[..at].iter().map(|word| (*word).to_owned()).collect();
            script.options = options(tool, &arguments[at + 1..]);
            Some(Runner::Known(tool, script))
        }
        "npm" | "run" | "run-s" => {
            let name = arguments.iter().find(|word| !word.starts_with('-') && **word != "run")?;
            in_script(package, called(name)?, depth + 1)
        }
        program if UNREAD.contains(&program) => Some(Runner::Unread(program.to_owned())),
        program => match Tool::named(program) {
            Some(tool) => {
                script.options = options(tool, arguments);
                Some(Runner::Known(tool, script))
            }
            None => in_script(package, called(&program)?, depth + 1),
        },
    }
}

/// A command of Node's own runner.
fn node(mut script: Script, arguments: &[&str]) -> Runner {
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let takes = TAKES.contains(word);
        if DROPPED.iter().any(|option| word.starts_with(option)) {
            if !word.contains('=') && (word.starts_with("--test-reporter") || *word == "--test-name-pattern")
            {
                words.next();
            }
        } else if !word.starts_with('-') {
            script.files.push((*word).to_owned());
        } else if *word != "--test" {
            script.node.push((*word).to_owned());
            script.node.extend(words.next().filter(|_| takes).map(|value| (*value).to_owned()));
            continue;
        }
    }
    Runner::Known(Tool::Node, script)
}

/// What a script tells a runner and matters to what is run.
fn options(tool: Tool, arguments: &[&str]) -> Vec<String> {
    let is_kept = |word: &&&str| {
        !["--bail", "-b", "--watch", "-w", "--exit", "--parallel", "-p"].contains(word)
            && !["--reporter", "-R"].iter().any(|option| word.starts_with(option))
    };
    match tool {
        // It is told its files; a name after `--reporter` would be one of them.
        Tool::Mocha => {
            let named = |at: usize| at > 0 && ["--reporter", "-R"].contains(&arguments[at - 1]);
            let words = arguments.iter().enumerate().filter(|(at, _)| !named(*at)).map(|(_, word)| word);
            words.filter(is_kept).map(|word| (*word).to_owned()).collect()
        }
        Tool::Node | Tool::Vitest | Tool::Jest => settings(arguments),
    }
}

/// Where a runner finds its configuration.
fn settings(arguments: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let is_named = ["--config", "-c", "--root", "--rootDir", "--dir", "--project"].contains(word);
        if is_named {
            found.extend([word, words.next().unwrap_or(&"")].map(|word| (*word).to_owned()));
        } else if ["--config=", "--root=", "--rootDir=", "--dir="]
            .iter()
            .any(|option| word.starts_with(option))
        {
            found.push((*word).to_owned());
        }
    }
    found
}

/// A package of a root with its runner, and the test files that are its own by their names.
#[derive(Debug, Clone)]
pub(crate) struct Suite {
    /// The package's folder.
    pub dir: RelPath,
    /// What runs them.
    pub runner: Runner,
    /// Its test files by name and place. Vitest and Jest choose theirs themselves.
    pub files: Vec<RelPath>,
}

/// Every suite of a root: a package that says nothing of its tests leaves them to the one above it.
pub(crate) fn suites(files: &dyn Files, root: &Root) -> Vec<Suite> {
    let of_package = |dir: &RelPath| Package::of(files, dir).and_then(|package| of(&package));
    let mut found: Vec<Suite> = root
        .packages
        .iter()
        .filter_map(|dir| Some(Suite { dir: dir.clone(), runner: of_package(dir)?, files: Vec::new() }))
        .collect();
    if !found.iter().any(|suite| suite.dir == root.dir) {
        let runner = Runner::Known(Tool::Node, Script::default());
        found.push(Suite { dir: root.dir.clone(), runner, files: Vec::new() });
    }
    let dirs: Vec<RelPath> = found.iter().map(|suite| suite.dir.clone()).collect();
    for path in roots::own_sources(files, root) {
        let owner = roots::nearest(&dirs, &path).cloned();
        let suite = found.iter_mut().find(|suite| Some(&suite.dir) == owner.as_ref());
        if let Some(suite) = suite.filter(|suite| suite.runs(&path)) {
            suite.files.push(path);
        }
    }
    // Newer versions of Node run TypeScript as it is; where there is nothing else, that is what is meant.
    for suite in &mut found {
        let is_node = matches!(&suite.runner, Runner::Known(Tool::Node, script) if script.files.is_empty());
        if is_node && suite.files.is_empty() {
            let own = roots::own_sources(files, root).into_iter();
            let own = own.filter(|path| roots::nearest(&dirs, path) == Some(&suite.dir));
            let is_typed =
                |path: &RelPath| path.below(&suite.dir).is_some_and(|below| is_for_node(path, below, true));
            suite.files = own.filter(is_typed).collect();
        }
    }
    found
}

impl Suite {
    /// Whether its runner takes this file for a test, by its name and place.
    fn runs(&self, path: &RelPath) -> bool {
        let Some(below) = path.below(&self.dir) else { return false };
        match &self.runner {
            Runner::Known(Tool::Node, script) if !script.files.is_empty() => {
                script.files.iter().any(|named| names(named, below))
            }
            Runner::Known(Tool::Node, script) => is_for_node(path, below, compiles(script)),
            Runner::Known(Tool::Vitest | Tool::Jest, _) | Runner::Unread(_) => is_test_name(path),
            Runner::Known(Tool::Mocha, _) => {
                is_test_name(path) || below.split('/').rev().skip(1).any(|part| part == "test")
            }
        }
    }
}

/// Whether a word of a script names a file: itself, a folder around it, or a pattern. Node adds no extension.
fn names(named: &str, below: &str) -> bool {
    let named = named.trim_start_matches("./").trim_end_matches('/');
    named == "."
        || below == named
        || below.starts_with(&format!("{named}/"))
        || glob::path_matches(named, below)
}

/// Whether a script lets Node run TypeScript.
fn compiles(script: &Script) -> bool {
    const WORDS: [&str; 5] = ["strip-types", "transform-types", "tsx", "ts-node", "swc"];
    script.node.iter().any(|option| WORDS.iter().any(|word| option.contains(word)))
}

/// What Node runs by itself: names that say so, and whatever lies in a folder called `test`.
fn is_for_node(path: &RelPath, below: &str, compiled: bool) -> bool {
    let (stem, extension) = path.name().rsplit_once('.').unwrap_or((path.name(), ""));
    let is_typed = ["ts", "mts", "cts"].contains(&extension);
    if !(["js", "mjs", "cjs"].contains(&extension) || (is_typed && compiled)) || stem.ends_with(".d") {
        return false;
    }
    let named = [".test", "-test", "_test"].iter().any(|end| stem.ends_with(end));
    named
        || stem == "test"
        || stem.starts_with("test-")
        || below.split('/').rev().skip(1).any(|part| part == "test")
}
