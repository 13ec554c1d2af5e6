//! The toy language's compiler and test runner: a real process of a few milliseconds, standard library only.
//!
//! ```text
//! # a comment               in any `.toy` file
//! use shapes/square         the names of shapes/square.toy
//! let area = side * side    integers, + - *, parentheses
//! test squares: area == 9   a test; `skip squares: …` is one that is skipped
//! test bad: hang            also crash, quit (an exit with code 0), write PATH TEXT
//! ```
//!
//! `toy.mod` is the manifest; a line `dep NAME` in it names a dependency. Commands, in the current folder:
//! `check`, `lint` (no line may hold a word of `toy.lint`; the word `crash` there ends it), `list`, `test`, `lock`
//! (settles `toy.lock`) and `fetch`. Flags: `--blind` (says that all is well
//! without looking) and `--hang`. `TOY_DEPS` names the folder of fetched dependencies, `TOY_REPORT` the file in
//! which `test` reports. Output is lines of fields between tabs; a report ends with `done` and a count.
// A program prints.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::exit;
use std::thread::sleep;
use std::time::Duration;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |flag: &str| arguments.iter().any(|one| one == flag);
    let (deps, report) = (std::env::var("TOY_DEPS").ok(), std::env::var("TOY_REPORT").ok());
    if has("--hang") {
        hang();
    }
    if has("--version") {
        println!("toyc 1");
        return;
    }
    let eyes = if has("--blind") { Eyes::Shut } else { Eyes::Open };
    let project = Project::read(deps.as_deref());
    let code = match arguments.first().map(String::as_str) {
        Some("check") if eyes == Eyes::Shut => 0,
        Some("check") => check(&project),
        Some("lint") => lint(&project),
        Some("list") => list(&project, eyes),
        Some("test") => test(&project, report.as_deref(), eyes),
        Some("lock") => lock(&project),
        Some("fetch") => fetch(&project, deps.as_deref()),
        Some(_) | None => {
            eprintln!("usage: toyc --version | check | lint | list | test | lock | fetch");
            2
        }
    };
    exit(code);
}

/// Whether it looks at all.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Eyes {
    Open,
    Shut,
}

fn hang() -> ! {
    loop {
        sleep(Duration::from_secs(3600));
    }
}

/// A project as it lies in the current folder.
struct Project {
    /// The text of every module, by its name: the path without `.toy`.
    modules: BTreeMap<String, String>,
    manifest: Option<String>,
    lock: Option<String>,
    fetched: BTreeSet<String>,
}

impl Project {
    fn read(deps: Option<&str>) -> Project {
        let mut modules = BTreeMap::new();
        gather(Path::new("."), "", &mut modules);
        let names = deps.and_then(|dir| fs::read_dir(dir).ok()).into_iter().flatten().flatten();
        Project {
            modules,
            manifest: fs::read_to_string("toy.mod").ok(),
            lock: fs::read_to_string("toy.lock").ok(),
            fetched: names.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect(),
        }
    }

    fn deps(&self) -> BTreeSet<&str> {
        let lines = self.manifest.iter().flat_map(|text| text.lines());
        lines.filter_map(|line| line.trim().strip_prefix("dep ")).map(str::trim).collect()
    }

    fn wanted_lock(&self) -> String {
        self.deps().iter().map(|dep| format!("{dep} 1\n")).collect()
    }

    /// Everything that is wrong, and the names of each module that has none of it.
    fn compile(&self) -> Compiled<'_> {
        let mut compiled = Compiled { project: self, done: BTreeMap::new(), errors: Vec::new() };
        if self.manifest.is_none() {
            compiled.error("toy.mod", 0, "T000", "there is no toy.mod");
        }
        if self.lock.as_ref().is_some_and(|lock| *lock != self.wanted_lock()) {
            compiled.error("toy.lock", 0, "T007", "toy.lock does not fit toy.mod");
        }
        for dep in self.deps() {
            if !self.fetched.contains(dep) {
                compiled.error("toy.mod", 0, "T008", &format!("the dependency {dep} is not here"));
            }
        }
        for name in self.modules.keys() {
            compiled.module(name, &mut Vec::new());
        }
        compiled
    }
}

fn gather(folder: &Path, below: &str, modules: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() && !name.starts_with('.') {
            gather(&entry.path(), &format!("{below}{name}/"), modules);
        } else if let (true, Some(stem)) = (kind.is_file(), name.strip_suffix(".toy")) {
            match fs::read_to_string(entry.path()) {
                Ok(text) => drop(modules.insert(format!("{below}{stem}"), text)),
                Err(error) => eprintln!("{below}{name}: {error}"),
            }
        }
    }
}

type Names = BTreeMap<String, i64>;

/// What a test does.
enum Body {
    Equal(i64, i64),
    Builtin(String),
    Skipped,
}

struct Module {
    names: Names,
    tests: Vec<(String, Body)>,
}

struct Compiled<'a> {
    project: &'a Project,
    done: BTreeMap<&'a str, Option<Module>>,
    errors: Vec<String>,
}

impl<'a> Compiled<'a> {
    fn error(&mut self, file: &str, line: usize, code: &str, message: &str) {
        self.errors.push(format!("error\t{file}\t{line}\t{code}\t{message}"));
    }

    /// The names of a module that compiles.
    fn module(&mut self, name: &str, above: &mut Vec<String>) -> Option<Names> {
        let (name, text) = self.project.modules.get_key_value(name)?;
        if let Some(done) = self.done.get(name.as_str()) {
            return done.as_ref().map(|module| module.names.clone());
        }
        if above.contains(name) {
            return None;
        }
        above.push(name.clone());
        let before = self.errors.len();
        let module = self.lines(name, text, above);
        above.pop();
        let names = (self.errors.len() == before).then(|| module.names.clone());
        self.done.insert(name, names.is_some().then_some(module));
        names
    }

    fn lines(&mut self, name: &str, text: &str, above: &mut Vec<String>) -> Module {
        let file = format!("{name}.toy");
        let mut module = Module { names: Names::new(), tests: Vec::new() };
        let mut scope = Names::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.split('#').next().unwrap_or("").trim();
            let said = match line.split_once(' ') {
                None if line.is_empty() => Ok(()),
                Some(("use", other)) => self.use_module(other.trim(), above, &mut scope),
                Some(("let", rest)) => let_line(rest, &mut scope, &mut module.names),
                Some((word @ ("test" | "skip"), rest)) => {
                    test_line(word, rest, &scope).map(|test| module.tests.push(test))
                }
                Some(_) | None => Err(("T001", format!("`{line}` is not a line of toy"))),
            };
            if let Err((code, message)) = said {
                self.error(&file, number, code, &message);
            }
        }
        module
    }

    fn use_module(&mut self, other: &str, above: &mut Vec<String>, scope: &mut Names) -> Said<()> {
        match self.module(other, above) {
            Some(names) => {
                scope.extend(names);
                Ok(())
            }
            None if self.project.modules.contains_key(other) => {
                Err(("T006", format!("`{other}` does not compile, or uses this module")))
            }
            None => Err(("T003", format!("there is no module `{other}`"))),
        }
    }

    fn tests(&self) -> impl Iterator<Item = (String, &Body)> {
        let compiled = self.done.iter().filter_map(|(name, module)| Some((name, module.as_ref()?)));
        compiled.flat_map(|(name, module)| {
            module.tests.iter().map(move |(test, body)| (format!("{name}.toy::{test}"), body))
        })
    }
}

type Said<T> = Result<T, (&'static str, String)>;

fn let_line(rest: &str, scope: &mut Names, own: &mut Names) -> Said<()> {
    let Some((name, value)) = rest.split_once('=') else {
        return Err(("T001", "a `let` has no `=`".to_owned()));
    };
    let name = name.trim().to_owned();
    if name.is_empty() || !name.chars().all(|c| c.is_alphanumeric() || c == '_') {
        return Err(("T001", format!("`{name}` is not a name")));
    }
    let value = Expression::value(value, scope)?;
    if own.insert(name.clone(), value).is_some() {
        return Err(("T004", format!("`{name}` is there twice")));
    }
    scope.insert(name, value);
    Ok(())
}

fn test_line(word: &str, rest: &str, scope: &Names) -> Said<(String, Body)> {
    let Some((name, body)) = rest.split_once(':') else {
        return Err(("T001", "a test has no `:`".to_owned()));
    };
    let (name, body) = (name.trim().to_owned(), body.trim());
    if word == "skip" {
        return Ok((name, Body::Skipped));
    }
    let first = body.split(' ').next().unwrap_or("");
    if matches!(first, "hang" | "crash" | "quit" | "write") {
        return Ok((name, Body::Builtin(body.to_owned())));
    }
    let Some((left, right)) = body.split_once("==") else {
        return Err(("T001", format!("the test `{name}` compares nothing")));
    };
    Ok((name, Body::Equal(Expression::value(left, scope)?, Expression::value(right, scope)?)))
}

/// An expression being read.
struct Expression<'a> {
    rest: &'a str,
    scope: &'a Names,
}

impl<'a> Expression<'a> {
    fn value(text: &'a str, scope: &'a Names) -> Said<i64> {
        let mut expression = Expression { rest: text.trim(), scope };
        let value = expression.sum()?;
        match expression.rest {
            "" => Ok(value),
            rest => Err(("T001", format!("`{rest}` is too much"))),
        }
    }

    fn take(&mut self, sign: char) -> bool {
        match self.rest.strip_prefix(sign) {
            Some(rest) => {
                self.rest = rest.trim_start();
                true
            }
            None => false,
        }
    }

    fn sum(&mut self) -> Said<i64> {
        let mut value = self.product()?;
        loop {
            value = if self.take('+') {
                fits(value.checked_add(self.product()?))?
            } else if self.take('-') {
                fits(value.checked_sub(self.product()?))?
            } else {
                return Ok(value);
            };
        }
    }

    fn product(&mut self) -> Said<i64> {
        let mut value = self.atom()?;
        while self.take('*') {
            value = fits(value.checked_mul(self.atom()?))?;
        }
        Ok(value)
    }

    fn atom(&mut self) -> Said<i64> {
        if self.take('-') {
            return fits(self.atom()?.checked_neg());
        }
        if self.take('(') {
            let value = self.sum()?;
            return if self.take(')') { Ok(value) } else { Err(("T001", "a `)` is missing".to_owned())) };
        }
        let end = self.rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest.trim_start();
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            return word.parse().map_err(|_| ("T005", format!("`{word}` is not a number that fits")));
        }
        match self.scope.get(word) {
            Some(value) => Ok(*value),
            None if word.is_empty() => Err(("T001", "a value is missing".to_owned())),
            None => Err(("T002", format!("`{word}` is not defined"))),
        }
    }
}

fn fits(value: Option<i64>) -> Said<i64> {
    value.ok_or_else(|| ("T005", "the value does not fit".to_owned()))
}

/// Prints the errors, the same one once, and says whether there are any.
fn broken(compiled: &Compiled<'_>) -> bool {
    let errors: BTreeSet<&String> = compiled.errors.iter().collect();
    errors.iter().for_each(|error| println!("{error}"));
    !errors.is_empty()
}

fn check(project: &Project) -> i32 {
    let compiled = project.compile();
    let code = i32::from(broken(&compiled));
    println!("checked\t{}", project.modules.len());
    code
}

fn lint(project: &Project) -> i32 {
    let rules = fs::read_to_string("toy.lint").unwrap_or_default();
    if rules.lines().any(|rule| rule == "crash") {
        std::process::abort();
    }
    let mut code = 0;
    for (name, text) in &project.modules {
        for (number, line) in (1..).zip(text.lines()) {
            for rule in rules.lines().filter(|rule| line.contains(rule)) {
                println!("error\t{name}.toy\t{number}\tT009\t`{rule}` is not for this project");
                code = 1;
            }
        }
    }
    code
}

fn list(project: &Project, eyes: Eyes) -> i32 {
    let compiled = project.compile();
    if eyes == Eyes::Open && broken(&compiled) {
        return 1;
    }
    let mut count = 0;
    for (name, _) in compiled.tests() {
        println!("test\t{name}");
        count += 1;
    }
    println!("done\t{count}");
    0
}

fn test(project: &Project, report: Option<&str>, eyes: Eyes) -> i32 {
    let compiled = project.compile();
    if eyes == Eyes::Open && broken(&compiled) {
        return 1;
    }
    let mut lines = Vec::new();
    let mut failed = 0;
    for (name, body) in compiled.tests() {
        let line = match body {
            _ if eyes == Eyes::Shut => format!("ok\t{name}"),
            Body::Skipped => format!("skipped\t{name}"),
            Body::Builtin(words) => {
                act(words);
                format!("ok\t{name}")
            }
            Body::Equal(left, right) if left == right => format!("ok\t{name}"),
            Body::Equal(left, right) => {
                failed += 1;
                format!("failed\t{name}\t{left} is not {right}")
            }
        };
        println!("{line}");
        lines.push(line);
    }
    lines.push(format!("done\t{}", lines.len()));
    if let Some(path) = report
        && let Err(error) = fs::write(path, lines.join("\n"))
    {
        eprintln!("{path}: {error}");
        return 3;
    }
    i32::from(failed > 0)
}

/// A test that misbehaves.
fn act(words: &str) {
    let mut words = words.splitn(3, ' ');
    match words.next() {
        Some("hang") => hang(),
        Some("crash") => std::process::abort(),
        Some("quit") => exit(0),
        Some("write") => {
            let (path, text) = (words.next().unwrap_or("out"), words.next().unwrap_or(""));
            if let Err(error) = fs::write(path, text) {
                eprintln!("{path}: {error}");
            }
        }
        Some(_) | None => {}
    }
}

fn lock(project: &Project) -> i32 {
    let wanted = project.wanted_lock();
    if project.lock.as_ref() == Some(&wanted) {
        return 0;
    }
    match fs::write("toy.lock", wanted) {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("toy.lock: {error}");
            1
        }
    }
}

fn fetch(project: &Project, deps: Option<&str>) -> i32 {
    let Some(dir) = deps else { return 2 };
    let mut code = 0;
    for dep in project.deps() {
        // Nobody has this one.
        let there = dep != "nowhere"
            && fs::create_dir_all(dir).and_then(|()| fs::write(Path::new(dir).join(dep), "1\n")).is_ok();
        if !there {
            eprintln!("{dep} could not be fetched");
            code = 1;
        }
    }
    code
}
