//! What commands get of this machine: the tools' folders and variables, the environment, and the places that stay
//! hidden from them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use perspt_lang::plugin::{Host, Machine};
use perspt_store::Home;

use crate::config::Config;

/// Answers what plugins may ask about the machine.
struct ThisHost {
    workspace: String,
}

impl Host for ThisHost {
    fn workspace(&self) -> &str {
        &self.workspace
    }

    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    fn exists(&self, path: &str) -> bool {
        Path::new(path).symlink_metadata().is_ok()
    }

    fn is_folder(&self, path: &str) -> bool {
        Path::new(path).is_dir()
    }

    fn folders_named(&self, name: &str) -> Vec<String> {
        let mut found = Vec::new();
        folders_named(name, Path::new(&self.workspace), DEEPEST, &mut found);
        let below = found.iter().filter_map(|path| path.strip_prefix(&self.workspace).ok()?.to_str());
        below.map(str::to_owned).collect()
    }
}

/// How far below the workspace a folder is looked for: that of a package of a workspace lies three or four deep.
const DEEPEST: usize = 5;

/// The folders of a name below this one, the nearest first; links and hidden folders are passed over.
fn folders_named(name: &str, folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_folder = |entry: &std::fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    let mut below: Vec<PathBuf> = entries.filter(is_folder).map(|entry| entry.path()).collect();
    below.sort_by_key(|path| (!path.ends_with(name), path.clone()));
    for path in below {
        let is_hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if path.ends_with(name) {
            found.push(path);
        } else if depth > 0 && !is_hidden {
            folders_named(name, &path, depth - 1, found);
        }
    }
}

/// What the plugins say that their tools need of this machine.
pub fn of(workspace: &Path) -> Machine {
    Machine::of(perspt_lang::plugins(), &ThisHost { workspace: workspace.to_string_lossy().into_owned() })
}

/// The environment every command starts from: an allow-list, and the variables that the user passes by name.
pub fn environment(machine: &Machine, passed: &BTreeSet<String>) -> BTreeMap<String, String> {
    let path = std::env::var("PATH").unwrap_or_else(|_| "/usr/local/bin:/usr/bin:/bin".to_owned());
    let own = [("PATH", path.as_str()), ("LANG", "C.UTF-8"), ("TERM", "dumb")];
    let own = own.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let passed = passed.iter().filter_map(|name| Some((name.clone(), std::env::var(name).ok()?)));
    machine.env.clone().into_iter().chain(passed).chain(own).collect()
}

/// What is hidden from the commands that build and test: the user's secrets and perspt's own data.
pub fn secret_places(home: &Home, config: &Config) -> Vec<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let mut places = perspt_sandbox::secret_places(variable("HOME").as_deref(), &variable);
    places.extend(home.private_places());
    places.push(config.file());
    places
}
