//! What the machine gives to a language's tools.

use std::collections::{BTreeMap, BTreeSet};

use perspt_core::path::RelPath;
use serde::{Deserialize, Serialize};

use super::Plugin;

/// Plain facts about the machine and the user's environment, for a plugin's own questions.
pub trait Host {
    /// The workspace's absolute path.
    fn workspace(&self) -> &str;
    /// A variable of the user's environment.
    fn variable(&self, name: &str) -> Option<String>;
    /// Whether something is at an absolute path, be it a link that leads nowhere.
    fn exists(&self, path: &str) -> bool;
    /// Whether an absolute path is a folder.
    fn is_folder(&self, path: &str) -> bool;

    /// Folders of this name in the workspace, as paths below it, without those inside one of them.
    fn folders_named(&self, name: &str) -> Vec<String> {
        let at_top = self.is_folder(&format!("{}/{name}", self.workspace()));
        at_top.then(|| name.to_owned()).into_iter().collect()
    }

    /// A folder that tools keep things in: where the variable says, else this folder of the user's home. Commands have a
    /// home of their own, so they must be told.
    fn tool_home(&self, variable: &str, in_home: &str) -> Option<(String, String)> {
        let usual = || {
            let path = format!("{}/{in_home}", self.variable("HOME")?);
            self.is_folder(&path).then_some(path)
        };
        Some((variable.to_owned(), self.variable(variable).or_else(usual)?))
    }
}

/// What the tools of a language are given: recorded once a session, since it decides what they say.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Programs that are not simply found on the path, by the name that the plugin gives them.
    pub programs: BTreeMap<String, String>,
    /// Variables that every command gets.
    pub env: BTreeMap<String, String>,
    /// Places outside the workspace that fetching may write.
    pub caches: BTreeSet<Cache>,
    /// Folders of the workspace that tools see as they are, though no tree holds them.
    pub mounted: BTreeSet<RelPath>,
}

/// A place where packages are kept for all projects, made where there is none.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cache {
    /// A folder, by its absolute path.
    Folder(String),
    /// A file, such as a lock.
    File(String),
}

impl Machine {
    /// What all these languages are given.
    pub fn of(plugins: &[&dyn Plugin], host: &dyn Host) -> Machine {
        plugins.iter().map(|plugin| plugin.machine(host)).fold(Machine::default(), |mut all, one| {
            all.programs.extend(one.programs);
            all.env.extend(one.env);
            all.caches.extend(one.caches);
            all.mounted.extend(one.mounted);
            all
        })
    }
}
