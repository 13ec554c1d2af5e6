//! What users say of their own projects: the commands that build and test them, and which of their variables every
//! command gets. Recorded in the first event, so that a resumed session uses the same.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::path::RelPath;
use crate::stage::Root;

/// A command as words: a program and its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OwnCommand(pub Vec<String>);

impl fmt::Display for OwnCommand {
    /// The words as they could be typed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
        for (at, word) in self.0.iter().enumerate() {
            f.write_str(if at == 0 { "" } else { " " })?;
            match !word.is_empty() && word.chars().all(plain) {
                true => f.write_str(word)?,
                false => write!(f, "'{word}'")?,
            }
        }
        Ok(())
    }
}

/// The commands of a project, or of one language in it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnCommands {
    /// What builds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build_cmd: Option<OwnCommand>,
    /// What tests it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test_cmd: Option<OwnCommand>,
    /// The JUnit report that the tests leave, where the user names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test_report: Option<RelPath>,
}

impl OwnCommands {
    /// Whether there is no command.
    pub fn is_empty(&self) -> bool {
        *self == OwnCommands::default()
    }
}

/// Everything that a user says of how a project is built and tested.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnWays {
    /// For every root, run in the workspace's own folder.
    #[serde(default, skip_serializing_if = "OwnCommands::is_empty")]
    pub commands: OwnCommands,
    /// For the roots of one language, by its name, run in the root's folder.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub by_language: BTreeMap<String, OwnCommands>,
    /// The names of variables that commands get from the user's environment. Their values are recorded nowhere.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub pass_env: BTreeSet<String>,
}

/// A command of the user, and where it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedCommand<'a> {
    /// What is run.
    pub command: &'a OwnCommand,
    /// The folder it starts in.
    pub folder: RelPath,
    /// The report that it leaves there, where the user names it.
    pub report: Option<&'a RelPath>,
}

impl OwnWays {
    /// Whether the user says nothing.
    pub fn is_empty(&self) -> bool {
        *self == OwnWays::default()
    }

    /// Whether there is a command that holds for any project.
    pub fn give_commands(&self) -> bool {
        self.commands.build_cmd.is_some() || self.commands.test_cmd.is_some()
    }

    /// What builds a root, where the user says so.
    pub fn build(&self, root: &Root) -> Option<PlacedCommand<'_>> {
        let (command, folder, _) = self.of(root, |commands| commands.build_cmd.as_ref())?;
        Some(PlacedCommand { command, folder, report: None })
    }

    /// What tests a root, where the user says so.
    pub fn test(&self, root: &Root) -> Option<PlacedCommand<'_>> {
        let (command, folder, commands) = self.of(root, |commands| commands.test_cmd.as_ref())?;
        Some(PlacedCommand { command, folder, report: commands.test_report.as_ref() })
    }

    fn of(
        &self,
        root: &Root,
        pick: impl Fn(&OwnCommands) -> Option<&OwnCommand>,
    ) -> Option<(&OwnCommand, RelPath, &OwnCommands)> {
        let of_language = self.by_language.get(&root.plugin.0);
        let of_language = of_language.map(|commands| (commands, root.dir.clone()));
        let of_all = (&self.commands, RelPath::root());
        let mut layers = of_language.into_iter().chain([of_all]);
        layers.find_map(|(commands, folder)| Some((pick(commands)?, folder, commands)))
    }
}
