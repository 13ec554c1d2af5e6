//! Where things are.

use std::path::{Path, PathBuf};

use crate::process::Failed;

/// The folder of the workspace: told by `cargo run`, else found from here upwards. Never fixed when this
/// program is built, because a build folder may outlive the clone it was built from.
pub fn root() -> Result<PathBuf, Failed> {
    if let Some(ours) = std::env::var_os("CARGO_MANIFEST_DIR")
        && let Some(above) = Path::new(&ours).parent()
    {
        return Ok(above.to_owned());
    }
    let here = std::env::current_dir()?;
    let root = here.ancestors().find(|folder| folder.join("xtask/Cargo.toml").is_file());
    root.map(Path::to_owned).ok_or_else(|| Failed("run this inside the workspace".to_owned()))
}

/// Cargo's target folder: this program was built into it.
pub fn target() -> Result<PathBuf, Failed> {
    let exe = std::env::current_exe()?;
    let target = exe.ancestors().nth(2).map(Path::to_owned);
    target.ok_or_else(|| Failed(format!("{} does not lie in a target folder", exe.display())))
}

/// Where the output of the one test run is kept.
pub fn kept_tests() -> Result<PathBuf, Failed> {
    Ok(target()?.join("xtask").join("tests.txt"))
}

/// Where tools are kept between runs.
pub fn cache() -> Result<PathBuf, Failed> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let caches = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")));
    let caches = caches.ok_or_else(|| Failed("neither XDG_CACHE_HOME nor HOME is set".to_owned()))?;
    Ok(caches.join("perspt-ci"))
}
