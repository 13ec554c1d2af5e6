//! The JavaScript tools that tests run on, installed where they are missing, into a folder of ours.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::place;
use crate::process::{Failed, run, works};

/// Each with the version that tests expect.
const PACKAGES: [(&str, &str); 5] = [
    ("typescript", "5.9.3"),
    ("vitest", "3.2.7"),
    ("jest", "30.5.2"),
    ("mocha", "11.8.0"),
    ("eslint", "9.39.5"),
];

/// Checks for Node and installs what may be missing. Tests look for it at the same place.
pub fn ready() -> Result<(), Failed> {
    for (program, what) in [("node", "Node.js 20 or later"), ("npm", "npm")] {
        let mut command = Command::new(program);
        command.arg("--version");
        if !works(command) {
            return Err(Failed(format!("`{program} --version` does not work: install {what}")));
        }
    }
    let folder = place::cache()?.join("javascript");
    if missing(&folder).is_none() {
        return Ok(());
    }
    println!("JavaScript tools are missing: installing them into {}", folder.display());
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join("package.json"), "{ \"private\": true }\n")?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--save-exact"]);
    npm.args(PACKAGES.map(|(name, version)| format!("{name}@{version}"))).current_dir(&folder);
    run(npm)?;
    match missing(&folder) {
        None => Ok(()),
        Some(name) => Err(Failed(format!("{name} was installed into {} and is not there", folder.display()))),
    }
}

/// A package that is not there in its version.
fn missing(folder: &Path) -> Option<&'static str> {
    let is_there = |(name, version): &(&str, &str)| {
        let manifest: PathBuf = folder.join("node_modules").join(name).join("package.json");
        let text = std::fs::read_to_string(manifest).unwrap_or_default();
        text.contains(&format!("\"version\": \"{version}\""))
    };
    PACKAGES.iter().find(|package| !is_there(package)).map(|(name, _)| *name)
}
