//! A world to run the binary in: an empty home, a workspace, a scripted model.
#![allow(clippy::disallowed_types, reason = "tests start the real binary")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use perspt_testkit::server::{Ask, Reply, Script, ScriptedServer};
use serde_json::{Value, json};
use tempfile::TempDir;

/// What a run of the binary left.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Ran {
    pub fn of(output: Output) -> Ran {
        Ran {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Fails the test with everything that was printed, unless the exit code is this.
    #[track_caller]
    pub fn expect(self, code: i32) -> Ran {
        assert_eq!(self.code, code, "stdout:\n{}\nstderr:\n{}", self.out, self.err);
        self
    }

    #[track_caller]
    pub fn says(self, text: &str) -> Ran {
        assert!(self.out.contains(text), "no `{text}` in:\n{}\nstderr:\n{}", self.out, self.err);
        self
    }

    #[track_caller]
    pub fn warns(self, text: &str) -> Ran {
        assert!(self.err.contains(text), "no `{text}` in:\n{}\nstdout:\n{}", self.err, self.out);
        self
    }

    #[track_caller]
    pub fn never_says(self, text: &str) -> Ran {
        assert!(
            !self.out.contains(text) && !self.err.contains(text),
            "`{text}` in:\n{}\n{}",
            self.out,
            self.err
        );
        self
    }
}

pub struct World {
    base: TempDir,
    pub server: Option<ScriptedServer>,
    env: BTreeMap<String, String>,
}

impl World {
    /// An empty workspace that is not a repository.
    pub fn empty() -> World {
        let base = tempfile::Builder::new().prefix("perspt-it-").tempdir().unwrap();
        for folder in ["home", "ws", "user"] {
            fs::create_dir(base.path().join(folder)).unwrap();
        }
        let mut world = World { base, server: None, env: BTreeMap::new() };
        world.set("PERSPT_HOME", &world.home().to_string_lossy());
        world.set("HOME", &world.base.path().join("user").to_string_lossy());
        world.set("PERSPT_BACKOFF_MS", "1");
        for (name, folder) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup"), ("PYENV_ROOT", ".pyenv")]
        {
            let own = std::env::var(name).ok();
            let default = std::env::var("HOME").map(|home| format!("{home}/{folder}")).ok();
            if let Some(path) = own.or(default).filter(|path| Path::new(path).is_dir()) {
                world.set(name, &path);
            }
        }
        world.set("PATH", &std::env::var("PATH").unwrap());
        world
    }

    /// A small Rust crate under git, with a unit test and an integration test.
    pub fn rust() -> World {
        let world = World::empty();
        world.write("Cargo.toml", "[package]\nname = \"calc\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
        world.write("src/lib.rs", RUST_LIB);
        world.write(
            "tests/api.rs",
            "#[test]\nfn adds_negative() {\n    assert_eq!(calc::add(-1, 1), 0);\n}\n",
        );
        world.write(".gitignore", "/target\n");
        world.git();
        world
    }

    /// A small Python package under git, with pytest-style tests.
    pub fn python() -> World {
        let world = World::empty();
        world.write("pyproject.toml", "[project]\nname = \"calc\"\nversion = \"0.1\"\n");
        world.write("calc/__init__.py", PYTHON_LIB);
        world.write(
            "tests/test_calc.py",
            "from calc import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n",
        );
        world.git();
        world
    }

    /// A folder of notes under git. No tool looks at prose, so a session in it takes next to no time.
    pub fn prose() -> World {
        let world = World::empty();
        world.write("notes.md", PROSE_LIB);
        world.git();
        world
    }

    pub fn of(language: Language) -> World {
        match language {
            Language::Prose => World::prose(),
            Language::Rust => World::rust(),
            Language::Python => World::python(),
        }
    }

    pub fn git(&self) {
        for words in [&["init", "-q"][..], &["add", "-A"], &["commit", "-q", "--allow-empty", "-m", "start"]]
        {
            let mut git = Command::new("git");
            git.args(["-c", "user.name=t", "-c", "user.email=t@example.org"])
                .args(words)
                .current_dir(self.ws());
            assert!(git.output().unwrap().status.success());
        }
    }

    pub fn serve(mut self, script: impl Script) -> World {
        let server = ScriptedServer::start(script).unwrap();
        self.set("OPENAI_BASE_URL", &server.base_url());
        self.server = Some(server);
        self
    }

    pub fn set(&mut self, name: &str, value: &str) {
        self.env.insert(name.to_owned(), value.to_owned());
    }

    pub fn unset(&mut self, name: &str) {
        self.env.remove(name);
    }

    pub fn get(&self, name: &str) -> String {
        self.env.get(name).cloned().unwrap_or_default()
    }

    pub fn server(&self) -> &ScriptedServer {
        self.server.as_ref().unwrap()
    }

    pub fn base(&self) -> &Path {
        self.base.path()
    }

    pub fn home(&self) -> PathBuf {
        self.base.path().join("home")
    }

    pub fn ws(&self) -> PathBuf {
        self.base.path().join("ws")
    }

    pub fn write(&self, path: &str, text: &str) {
        let path = self.ws().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.ws().join(path)).unwrap()
    }

    /// Every file of the workspace with its bytes (links by their text), `.git` aside.
    pub fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let mut files = BTreeMap::new();
        collect(&self.ws(), &self.ws(), &mut files);
        files
    }

    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_perspt"));
        command.args(words).env_clear().envs(&self.env).current_dir(self.ws()).stdin(Stdio::null());
        command
    }

    pub fn perspt(&self, words: &[&str]) -> Ran {
        Ran::of(self.command(words).output().unwrap())
    }

    pub fn agent(&self, task: &str) -> Ran {
        self.perspt(&["agent", "-y", task])
    }

    pub fn spawn(&self, words: &[&str]) -> Running {
        Running::start(&mut self.command(words))
    }

    /// The ids of all sessions.
    pub fn sessions(&self) -> Vec<String> {
        let Ok(folder) = fs::read_dir(self.home().join("sessions")) else { return vec![] };
        let mut ids: Vec<String> =
            folder.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        ids.sort();
        ids
    }

    /// The events of the only session.
    pub fn events(&self) -> Vec<Value> {
        let [id] = &self.sessions()[..] else { panic!("one session expected: {:?}", self.sessions()) };
        let log = fs::read_to_string(self.home().join("sessions").join(id).join("log.jsonl")).unwrap();
        log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["event"].clone()).collect()
    }

    /// The events that are in the log now; a last line that is being written is left out.
    pub fn events_so_far(&self) -> Vec<Value> {
        let Some(id) = self.sessions().pop() else { return vec![] };
        let log =
            fs::read_to_string(self.home().join("sessions").join(id).join("log.jsonl")).unwrap_or_default();
        log.lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
            .map(|line| line["event"].clone())
            .collect()
    }

    /// The outcomes of this kind in the only session.
    pub fn outcomes(&self, ended: &str) -> Vec<Value> {
        self.events()
            .into_iter()
            .filter(|event| event["outcome"]["ended"] == ended)
            .map(|event| event["outcome"].clone())
            .collect()
    }

    /// Whether the project's own tools are green in a fresh copy with empty caches.
    pub fn green_elsewhere(&self, language: Language) -> bool {
        let copy = tempfile::Builder::new().prefix("perspt-it-copy-").tempdir().unwrap();
        for (path, bytes) in self.files() {
            let path = copy.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        let (program, words) = match language {
            Language::Prose => return true,
            Language::Rust => ("cargo", &["test", "--offline"][..]),
            Language::Python => ("python3", &["-m", "pytest", "-q", "-p", "no:cacheprovider"][..]),
        };
        let mut command = Command::new(program);
        command.args(words);
        command.env_clear().envs(&self.env).current_dir(copy.path()).output().unwrap().status.success()
    }
}

/// A binary that is running; ended with the test.
pub struct Running {
    child: Option<Child>,
}

impl Running {
    pub fn start(command: &mut Command) -> Running {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Running { child: Some(command.spawn().unwrap()) }
    }

    pub fn pid(&self) -> rustix::process::Pid {
        rustix::process::Pid::from_child(self.child.as_ref().unwrap())
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        rustix::process::kill_process(self.pid(), signal).unwrap();
    }

    /// The first line it writes to standard error, as soon as it is there; what follows is not kept.
    pub fn first_warning(&mut self) -> String {
        let mut line = String::new();
        let errors = self.child.as_mut().unwrap().stderr.take().unwrap();
        BufReader::new(errors).read_line(&mut line).unwrap();
        line
    }

    pub fn wait(mut self) -> Ran {
        Ran::of(self.child.take().unwrap().wait_with_output().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn collect(root: &Path, folder: &Path, files: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
        let meta = fs::symlink_metadata(&path).unwrap();
        if name == ".git" {
            continue;
        }
        if meta.is_symlink() {
            files.insert(name, fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes());
        } else if meta.is_dir() {
            collect(root, &path, files);
        } else {
            files.insert(name, fs::read(&path).unwrap());
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// None: for what has nothing to do with tools.
    Prose,
    Rust,
    Python,
}

pub const RUST_LIB: &str = "pub fn add(a: i64, b: i64) -> i64 {\n    a + b\n}\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn adds() {\n        assert_eq!(add(2, 3), 5);\n    }\n}\n";
const PROSE_LIB: &str = "# Notes\n\nadd is a + b\n";
pub const PYTHON_LIB: &str = "def add(a, b):\n    return a + b\n";

impl Language {
    /// The library of the small project.
    pub fn lib(self) -> &'static str {
        match self {
            Language::Prose => "notes.md",
            Language::Rust => "src/lib.rs",
            Language::Python => "calc/__init__.py",
        }
    }

    /// A new test file.
    pub fn new_test(self) -> &'static str {
        match self {
            Language::Prose => "more.md",
            Language::Rust => "tests/mul.rs",
            Language::Python => "tests/test_mul.py",
        }
    }

    /// An existing test file.
    pub fn old_test(self) -> &'static str {
        match self {
            Language::Prose => "notes.md",
            Language::Rust => "tests/api.rs",
            Language::Python => "tests/test_calc.py",
        }
    }

    pub fn test_text(self) -> &'static str {
        match self {
            Language::Prose => "more\n",
            Language::Rust => "#[test]\nfn muls() {\n    assert_eq!(calc::mul(4, 3), 12);\n}\n",
            Language::Python => "from calc import mul\n\n\ndef test_mul():\n    assert mul(4, 3) == 12\n",
        }
    }

    /// The library with a `mul` whose body is this expression.
    pub fn lib_with(self, body: &str) -> String {
        match self {
            Language::Prose => format!("{PROSE_LIB}\nmul is {body}\n"),
            Language::Rust => format!("pub fn mul(a: i64, b: i64) -> i64 {{\n    {body}\n}}\n\n{RUST_LIB}"),
            Language::Python => format!("{PYTHON_LIB}\n\ndef mul(a, b):\n    return {body}\n"),
        }
    }
}

pub fn write(path: &str, content: &str) -> Value {
    json!({"operation": "write", "path": path, "content": content})
}

pub fn bundle(artifacts: &[Value]) -> Reply {
    Reply::text(json!({ "artifacts": artifacts }).to_string())
}

/// A plan of one node, `mul`, that owns the library and a new test file.
pub fn plan(language: Language) -> Reply {
    plan_of(&[language.lib(), language.new_test()], "unit_test")
}

/// A plan of one node, `mul`.
pub fn plan_of(files: &[&str], task_type: &str) -> Reply {
    Reply::text(
        json!({"tasks": [{"id": "mul", "goal": "add mul", "output_files": files, "task_type": task_type}]})
            .to_string(),
    )
}

/// The bundle that solves it.
pub fn solution(language: Language) -> Reply {
    attempt(language, "a * b")
}

/// The bundle with another body.
pub fn attempt(language: Language, body: &str) -> Reply {
    bundle(&[
        write(language.lib(), &language.lib_with(body)),
        write(language.new_test(), language.test_text()),
    ])
}

/// A script: the plan for an architect, else this.
pub fn planned(
    language: Language,
    node: impl Fn(&Ask) -> Reply + Send + Sync + 'static,
) -> impl Fn(&Ask) -> Reply + Send + Sync + 'static {
    move |ask: &Ask| {
        let intent = ask.tag().map(|tag| tag.intent.clone()).unwrap_or_default();
        if intent.starts_with("architect") { plan(language) } else { node(ask) }
    }
}

/// The intent of a request.
pub fn intent(ask: &Ask) -> String {
    ask.tag().map(|tag| tag.intent.clone()).unwrap_or_default()
}
