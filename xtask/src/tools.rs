//! What the tests need besides the toolchain, installed where it is missing: pytest and what checks Python, and the
//! JavaScript tools of `packages`. Python's go into a virtual environment of ours, never into the machine's own.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{Failed, output, run, shown, works};
use crate::{packages, place};

/// The modules, and what pip is asked for. Those whose words tests read are pinned.
const MODULES: [(&str, &str); 4] =
    [("pytest", "pytest"), ("mypy", "mypy==2.4.1"), ("ruff", "ruff==0.17.5"), ("ty", "ty==0.0.104")];

/// What was found or installed.
pub struct Tools {
    /// Put before everything else on PATH; `None` where the machine's Python has all of them.
    python: Option<PathBuf>,
}

impl Tools {
    /// Checks for what must be there, installs what may be missing.
    pub fn ready() -> Result<Tools, Failed> {
        for (program, what) in [("git", "git"), ("cc", "a C compiler"), ("python3", "Python 3")] {
            if !works(command(program, &["--version"])) {
                return Err(Failed(format!("`{program} --version` does not work: install {what}")));
            }
        }
        if !works(command("go", &["version"])) {
            return Err(Failed("`go version` does not work: install Go 1.21 or later".to_owned()));
        }
        packages::ready()?;
        // Tests run Python with another home, so packages in the user's home do not count.
        let modules = MODULES.map(|(module, _)| module).join(", ");
        let imports = format!("import {modules}");
        if works(command("python3", &["-s", "-c", &imports])) {
            return Ok(Tools { python: None });
        }
        let folder = place::cache()?.join("python");
        let python = folder.join("bin").join("python3");
        let has_all = || works(command(&python, &["-s", "-c", &imports]));
        if !has_all() {
            println!("some of {modules} is missing: installing them into {}", folder.display());
            install(&folder, &python)?;
        }
        if !has_all() {
            let folder = folder.display();
            return Err(Failed(format!("one of {modules} was installed into {folder} and does not work")));
        }
        Ok(Tools { python: Some(folder.join("bin")) })
    }

    /// Lets a command find what was installed.
    pub fn put_on_path(&self, command: &mut Command) {
        let Some(first) = &self.python else { return };
        let rest = std::env::var_os("PATH").unwrap_or_default();
        let all = std::iter::once(first.clone()).chain(std::env::split_paths(&rest));
        if let Ok(path) = std::env::join_paths(all) {
            command.env("PATH", path);
        }
    }
}

fn command(program: impl AsRef<std::ffi::OsStr>, words: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(words);
    command
}

/// A Python that came without its own copy of pip still makes an environment without one, and pip installs
/// into a folder even where it must not touch the machine's packages. A Python without pip at all may have
/// the copy.
fn install(folder: &Path, python: &Path) -> Result<(), Failed> {
    let place = folder.to_string_lossy();
    let wanted = MODULES.map(|(_, wanted)| wanted);
    if works(command("python3", &["-m", "pip", "--version"])) {
        run(command("python3", &["-m", "venv", "--clear", "--without-pip", &place]))?;
        let script = "import sysconfig; print(sysconfig.get_paths()['purelib'])";
        let packages = output(command(python, &["-c", script]))?;
        let pip = ["-m", "pip", "install", "--quiet", "--upgrade", "--target", packages.trim()];
        run(command("python3", &[&pip[..], &wanted].concat()))
    } else {
        let venv = command("python3", &["-m", "venv", "--clear", &place]);
        let name = shown(&venv);
        run(venv).map_err(|_| Failed(format!("python3 has no pip and `{name}` failed: install pip")))?;
        run(command(python, &[&["-m", "pip", "install", "--quiet"][..], &wanted].concat()))
    }
}
