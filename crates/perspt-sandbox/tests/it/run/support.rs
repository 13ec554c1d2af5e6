//! A temp folder with an inside that may be written and an outside that may not, and short words for runs.
// Tests start a few processes beside the runner: the interpreter's own name is asked of it.
#![allow(clippy::disallowed_types)]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use perspt_core::stage::{StepEnd, Streams};
use perspt_sandbox::{
    Allowed, Cancel, CommandSpec, Level, Namespace, Network, Ran, RunEnd, Runner, SandboxError, SandboxSpec,
};

/// The variable that every process of a run carries, by which they are counted.
pub const MARK: &str = "PERSPT_TEST_MARK";

/// A temp folder: `inside` is writable to the runs, `outside` is not.
pub struct Room {
    _dir: tempfile::TempDir,
    pub root: PathBuf,
    pub inside: PathBuf,
    pub outside: PathBuf,
}

impl Room {
    pub fn new() -> Room {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let (inside, outside) = (root.join("inside"), root.join("outside"));
        std::fs::create_dir(&inside).unwrap();
        std::fs::create_dir(&outside).unwrap();
        Room { _dir: dir, root, inside, outside }
    }

    pub fn sandbox(&self) -> SandboxSpec {
        SandboxSpec { writable: vec![self.inside.clone()], ..SandboxSpec::closed() }
    }

    /// A command in `inside` that carries this room's mark.
    pub fn spec(&self, argv: &[&str]) -> CommandSpec {
        let mut env = BTreeMap::new();
        env.insert("PATH".to_owned(), std::env::var("PATH").unwrap());
        env.insert("HOME".to_owned(), self.inside.display().to_string());
        env.insert("TMPDIR".to_owned(), self.inside.display().to_string());
        env.insert("IN".to_owned(), self.inside.display().to_string());
        env.insert("OUT".to_owned(), self.outside.display().to_string());
        env.insert(MARK.to_owned(), self.mark());
        CommandSpec {
            argv: argv.iter().map(|&arg| arg.to_owned()).collect(),
            cwd: self.inside.clone(),
            env,
            streams: Streams::Apart,
            // No test waits for it, unless it says so.
            timeout: Duration::from_secs(3600),
            output_cap: 1024 * 1024,
            reports: Vec::new(),
        }
    }

    pub fn sh(&self, script: &str) -> CommandSpec {
        self.spec(&["/bin/sh", "-c", script])
    }

    pub fn python(&self, script: &str) -> CommandSpec {
        self.spec(&[python(), "-c", script])
    }

    /// Unique to this room.
    pub fn mark(&self) -> String {
        self.root.file_name().unwrap().to_str().unwrap().to_owned()
    }

    /// How many processes of this room's runs there are on the machine.
    pub fn processes(&self) -> usize {
        processes_with(&self.mark())
    }
}

/// How many processes carry the mark in their environment.
pub fn processes_with(mark: &str) -> usize {
    let wanted = format!("{MARK}={mark}");
    std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| std::fs::read(entry.ok()?.path().join("environ")).ok())
        .filter(|environ| environ.split(|byte| *byte == 0).any(|one| one == wanted.as_bytes()))
        .count()
}

/// The helper: this crate's own, or the one a test that changed its user was given.
pub fn helper() -> PathBuf {
    match std::env::var_os("PERSPT_TEST_HELPER") {
        Some(path) => path.into(),
        None => env!("CARGO_BIN_EXE_perspt-box-helper").into(),
    }
}

pub fn runner() -> Runner {
    Runner::new(helper(), Vec::new())
}

/// Every way in which something is confined.
pub fn confined_runners() -> Vec<(&'static str, Runner)> {
    vec![
        ("everything", runner()),
        ("no pid namespace", runner().with(without(&[Namespace::Pid]))),
        (
            "namespaces only",
            runner().with(Allowed { landlock: false, seccomp: false, ..Allowed::everything() }),
        ),
        ("no namespaces", runner().with(Allowed::without_namespaces())),
    ]
}

/// Those, and the one without any confinement.
pub fn all_runners() -> Vec<(&'static str, Runner)> {
    let mut all = confined_runners();
    all.push(("nothing", runner().with(Allowed::nothing())));
    all
}

pub fn without(namespaces: &[Namespace]) -> Allowed {
    let mut allowed = Allowed::everything();
    allowed.namespaces.retain(|namespace| !namespaces.contains(namespace));
    allowed
}

pub fn run(runner: &Runner, spec: &CommandSpec, sandbox: &SandboxSpec) -> Ran {
    try_run(runner, spec, sandbox).unwrap()
}

pub fn try_run(runner: &Runner, spec: &CommandSpec, sandbox: &SandboxSpec) -> Result<Ran, SandboxError> {
    block_on(runner.run(spec, sandbox, &Cancel::new()))
}

pub fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// Runs a script that must succeed, and returns its output.
pub fn succeed(name: &str, runner: &Runner, spec: &CommandSpec, sandbox: &SandboxSpec) -> String {
    let ran = run(runner, spec, sandbox);
    assert_eq!(ran.end, RunEnd::Step(StepEnd::Exited(0)), "{name}: {} {}", out(&ran), err(&ran));
    out(&ran)
}

pub fn out(ran: &Ran) -> String {
    String::from_utf8_lossy(&ran.stdout.bytes).into_owned()
}

pub fn err(ran: &Ran) -> String {
    String::from_utf8_lossy(&ran.stderr.bytes).into_owned()
}

pub fn exited(code: i32) -> RunEnd {
    RunEnd::Step(StepEnd::Exited(code))
}

pub fn network_on(sandbox: SandboxSpec) -> SandboxSpec {
    SandboxSpec { network: Network::On, ..sandbox }
}

/// The interpreter itself: a name on the PATH may be a shim that wants the user's own home.
pub fn python() -> &'static str {
    static PYTHON: OnceLock<String> = OnceLock::new();
    PYTHON.get_or_init(|| {
        let asked =
            std::process::Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output();
        String::from_utf8(asked.unwrap().stdout).unwrap().trim().to_owned()
    })
}

pub fn is_full(ran: &Ran) -> bool {
    ran.confinement.level() == Level::Full
}
