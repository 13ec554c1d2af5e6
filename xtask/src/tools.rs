//! What the tests need besides the toolchain, installed where it is missing: pytest, and the JavaScript tools of
//! `packages`. pytest goes into a virtual environment of ours, never into the machine's own Python.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{Failed, output, run, shown, works};
use crate::{packages, place};

/// What was found or installed.
pub struct Tools {
    /// Put before everything else on PATH; `None` where the machine's Python has pytest.
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
        if works(command("python3", &["-s", "-c", "import pytest"])) {
            return Ok(Tools { python: None });
        }
        let folder = place::cache()?.join("python");
        let python = folder.join("bin").join("python3");
        let has_pytest = || works(command(&python, &["-s", "-c", "import pytest"]));
        if !has_pytest() {
            println!("pytest is missing: installing it into {}", folder.display());
            install_pytest(&folder, &python)?;
        }
        if !has_pytest() {
            return Err(Failed(format!("pytest was installed into {} and does not work", folder.display())));
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
fn install_pytest(folder: &Path, python: &Path) -> Result<(), Failed> {
    let place = folder.to_string_lossy();
    if works(command("python3", &["-m", "pip", "--version"])) {
        run(command("python3", &["-m", "venv", "--clear", "--without-pip", &place]))?;
        let script = "import sysconfig; print(sysconfig.get_paths()['purelib'])";
        let packages = output(command(python, &["-c", script]))?;
        let pip = ["-m", "pip", "install", "--quiet", "--upgrade", "--target", packages.trim(), "pytest"];
        run(command("python3", &pip))
    } else {
        let venv = command("python3", &["-m", "venv", "--clear", &place]);
        let name = shown(&venv);
        run(venv)
            .map_err(|_| Failed(format!("python3 has no pip and `{name}` failed: install pip or pytest")))?;
        run(command(python, &["-m", "pip", "install", "--quiet", "pytest"]))
    }
}
