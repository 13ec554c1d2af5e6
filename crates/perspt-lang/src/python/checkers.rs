//! Type checkers and ruff: which of them a project configures, and how each is started. None keeps a cache: mypy knows
//! an edited file by its size and the second of its change, and that misses edits.

use perspt_core::path::RelPath;
use perspt_core::stage::{Root, Step};

use super::stages::interpreter;
use super::{ini, is_test_source, roots};
use crate::plugin::{Files, Machine};
use crate::shared::step::{step, with_env};
use crate::shared::toml;

/// A tool that looks at types, the most common first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Checker {
    /// mypy, from 1.11 on.
    Mypy,
    /// pyright, which needs Node.
    Pyright,
    /// ty.
    Ty,
}

impl Checker {
    /// Every one.
    pub const ALL: [Checker; 3] = [Checker::Mypy, Checker::Pyright, Checker::Ty];

    /// Its name, also that of its probe and of its stage.
    pub fn name(self) -> &'static str {
        match self {
            Checker::Mypy => "mypy",
            Checker::Pyright => "pyright",
            Checker::Ty => "ty",
        }
    }

    /// The one with this name.
    pub fn named(name: &str) -> Option<Checker> {
        Checker::ALL.into_iter().find(|checker| checker.name() == name)
    }

    fn files(self) -> &'static [&'static str] {
        match self {
            Checker::Mypy => &["mypy.ini", ".mypy.ini"],
            Checker::Pyright => &["pyrightconfig.json"],
            Checker::Ty => &["ty.toml"],
        }
    }

    /// Whether a folder's own files configure it.
    pub fn is_configured(self, files: &dyn Files, dir: &RelPath) -> bool {
        is_configured(self.name(), self.files(), files, dir)
    }

    /// The command for these paths; what its own settings name where there are none.
    pub fn arguments(self, paths: &[String]) -> Vec<String> {
        let own: &[&str] = match self {
            Checker::Mypy => &[
                "--output=json",
                "--verbose",
                "--cache-dir=/dev/null",
                "--no-error-summary",
                "--no-color-output",
                "--python-executable",
                "PERSPT_PYTHON",
            ],
            Checker::Pyright => &["--outputjson", "--pythonpath", "PERSPT_PYTHON"],
            Checker::Ty => &[
                "check",
                "--no-progress",
                "--color=never",
                "--output-format=gitlab",
                "--python",
                "PERSPT_PYTHON",
            ],
        };
        own.iter().map(|&word| word.to_owned()).chain(paths.iter().cloned()).collect()
    }
}

/// The name of ruff's probe and stage.
pub(crate) const RUFF: &str = "ruff";

/// Files that hold settings of these tools: a probe takes them along.
pub(crate) const SETTINGS: [&str; 6] =
    ["pyproject.toml", "setup.cfg", "mypy.ini", ".mypy.ini", "pyrightconfig.json", "ty.toml"];

/// The type checkers that a root configures.
pub(crate) fn configured(files: &dyn Files, root: &Root) -> Vec<Checker> {
    Checker::ALL.into_iter().filter(|checker| checker.is_configured(files, &root.dir)).collect()
}

/// Whether a root configures ruff.
pub(crate) fn has_ruff(files: &dyn Files, root: &Root) -> bool {
    is_configured(RUFF, &["ruff.toml", ".ruff.toml"], files, &root.dir)
}

/// Whether a root has settings for ruff's formatter.
pub(crate) fn has_ruff_format(files: &dyn Files, root: &Root) -> bool {
    let document = |name: &str| toml::parse(&files.text(&root.dir.join(name).ok()?)?);
    let own = ["ruff.toml", ".ruff.toml"].into_iter().filter_map(document);
    own.into_iter().any(|settings| settings.get("format").is_some())
        || document("pyproject.toml").is_some_and(|all| toml::at(&all, &["tool", RUFF, "format"]).is_some())
}

fn is_configured(tool: &str, own: &[&str], files: &dyn Files, dir: &RelPath) -> bool {
    let text = |name: &str| files.text(&dir.join(name).ok()?);
    let in_pyproject = || {
        let document = toml::parse(&text("pyproject.toml")?)?;
        Some(toml::at(&document, &["tool", tool]).is_some())
    };
    let in_setup_cfg = || ini::sections(&text("setup.cfg")?).contains_key(tool).then_some(());
    own.iter().any(|name| text(name).is_some())
        || in_pyproject() == Some(true)
        || (tool == Checker::Mypy.name() && in_setup_cfg().is_some())
}

/// A step that starts a tool of the project's environment, or else of the path. `launcher` is where ours lies.
pub(crate) fn launched(
    name: &str,
    (machine, launcher): (&Machine, &str),
    tool: &str,
    arguments: &[String],
    cwd: &RelPath,
) -> Step {
    let mut argv = vec![interpreter(machine), "-B", launcher, tool];
    argv.extend(arguments.iter().map(String::as_str));
    let env = [
        ("PYTHONIOENCODING", "utf-8"),
        ("NO_COLOR", "1"),
        // It names the files that it checks in its log alone.
        ("TY_LOG", "ty_python_semantic=debug"),
        ("MYPY_FORCE_COLOR", "0"),
    ];
    with_env(step(name, &argv, cwd), &env)
}

/// Our launcher, as the stages find it.
pub(crate) const LAUNCHER: &str = "{assets}/perspt_tool.py";

/// The step of the type stage.
pub(crate) fn type_step(checker: Checker, root: &Root, files: &dyn Files, machine: &Machine) -> Step {
    let paths = if checker == Checker::Mypy { mypy_paths(root, files) } else { Vec::new() };
    launched("types", (machine, LAUNCHER), checker.name(), &checker.arguments(&paths), &root.dir)
}

/// What mypy is given where its settings name nothing: the packages and modules of the root, tests aside.
fn mypy_paths(root: &Root, files: &dyn Files) -> Vec<String> {
    if mypy_setting(root, files, &["files", "packages", "modules"]) {
        return Vec::new();
    }
    let own = roots::own_sources(files, root);
    let below: Vec<&str> = own.iter().filter_map(|path| path.below(&root.dir)).collect();
    if below.iter().any(|path| path.starts_with("src/")) {
        return vec!["src".to_owned()];
    }
    let helps = ["setup.py", "noxfile.py", "conftest.py"];
    let is_code = |path: &RelPath| !is_test_source(path) && !helps.contains(&path.name());
    let code = own.iter().filter(|path| is_code(path)).filter_map(|path| path.below(&root.dir));
    let is_package = |folder: &str| below.contains(&format!("{folder}/__init__.py").as_str());
    let mut paths: Vec<String> = code
        .filter_map(|path| match path.split_once('/') {
            None => Some(path.to_owned()),
            Some((folder, _)) => is_package(folder).then(|| folder.to_owned()),
        })
        .collect();
    paths.sort();
    paths.dedup();
    if paths.is_empty() { vec![".".to_owned()] } else { paths }
}

/// Whether mypy's settings hold one of these keys.
pub(crate) fn mypy_setting(root: &Root, files: &dyn Files, keys: &[&str]) -> bool {
    let text = |name: &str| files.text(&root.dir.join(name).ok()?);
    let in_ini = |name: &str| {
        let section = ini::sections(&text(name)?).remove("mypy")?;
        Some(keys.iter().any(|key| section.contains_key(*key)))
    };
    let in_pyproject = || {
        let document = toml::parse(&text("pyproject.toml")?)?;
        let table = toml::at(&document, &["tool", "mypy"])?;
        Some(keys.iter().any(|key| table.get(key).is_some()))
    };
    let own = ["mypy.ini", ".mypy.ini"].into_iter().find_map(in_ini);
    own.or_else(in_pyproject).or_else(|| in_ini("setup.cfg")).unwrap_or(false)
}

/// The steps of the lint stage. The formatter is asked only where the project has settings for it.
pub(crate) fn ruff_steps(root: &Root, machine: &Machine, with_format: bool) -> Vec<Step> {
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<String>>();
    let check = words(&["check", "--no-cache", "--no-fix", "--output-format=json", "."]);
    let format = words(&["format", "--check", "--no-cache", "--output-format=json", "."]);
    let made =
        |name: &str, arguments: &[String]| launched(name, (machine, LAUNCHER), RUFF, arguments, &root.dir);
    let format = with_format.then(|| made(super::ruff::FORMAT_STEP, &format));
    std::iter::once(made(super::ruff::CHECK_STEP, &check)).chain(format).collect()
}
