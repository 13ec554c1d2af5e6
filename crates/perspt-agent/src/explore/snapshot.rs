//! The snapshot: the tree, its languages, and whether perspt can work here at all.

use std::path::Path;

use perspt_core::event::{Ended, Purpose, RepoMode, RootRef, Trouble};
use perspt_core::path::RelPath;
use perspt_core::reading::PluginName;
use perspt_core::state::SessionState;
use perspt_core::tree::Tree;
use perspt_lang::mentions;
use perspt_lang::plugin::Plugin;
use perspt_sandbox::Cancel;
use perspt_sandbox::slot::{WalkError, WalkNote};

use super::revision::Revision;
use crate::AgentError;
use crate::actor::Actor;
use crate::error::EffectError;
use crate::slot::stage_timeout;
use crate::tree::TreeFiles;

/// The most language roots a workspace may have.
const ROOTS: usize = 40;

impl Actor {
    pub(crate) async fn snapshot(&self, state: &SessionState, cancel: &Cancel) -> Result<Ended, EffectError> {
        let (tree, notes) = match self.walk_workspace() {
            Ok(walked) => walked,
            Err(AgentError::Walk(
                error @ (WalkError::NotUtf8 { .. }
                | WalkError::ControlCharacter { .. }
                | WalkError::TooManyFiles { .. }),
            )) => {
                return Ok(unworkable(
                    "the workspace cannot be read",
                    &error.to_string(),
                    "fix it or let git ignore it, then run again",
                ));
            }
            Err(error) => return Err(error.into()),
        };
        if let Some(outcome) = self.claimed_from_above(state) {
            return Ok(outcome);
        }
        let files = TreeFiles::new(tree.clone(), self.sources());
        let plugins = &self.parts.plugins;
        let mut roots: Vec<RootRef> = plugins
            .iter()
            .flat_map(|plugin| plugin.roots(&files))
            .map(|root| RootRef { dir: root.dir, plugin: root.plugin })
            .collect();
        let repo_mode = repo_mode(&tree);
        if repo_mode == RepoMode::Greenfield && !state.verifies() {
            roots = self.wished_roots(state);
        }
        if roots.is_empty() && state.settings().own.give_commands() {
            let plugin = PluginName(perspt_lang::generic::NAME.to_owned());
            roots.push(RootRef { dir: RelPath::root(), plugin });
        }
        if roots.len() > ROOTS {
            return Ok(unworkable(
                "the workspace has too many language roots",
                &format!("{} were found; {ROOTS} is the most", roots.len()),
                "run perspt in a folder further down",
            ));
        }
        let (since, runs) = match state.meta.as_ref().map(|meta| &meta.purpose) {
            Some(Purpose::Verify { since: Some(revision) }) => {
                match self.read_revision(revision, &tree, stage_timeout(state), cancel).await? {
                    Revision::Read(since, runs) => (Some(since), runs),
                    Revision::Unreadable(trouble) => return Ok(Ended::Unworkable { trouble }),
                }
            }
            Some(Purpose::Verify { since: None } | Purpose::Task) | None => (None, Vec::new()),
        };
        let files = tree.entries.len() as u64;
        let git_head = self.git_head();
        let notes = notes.iter().take(8).map(note_text).collect();
        Ok(Ended::Snapshotted {
            tree: self.store_tree(&tree)?,
            files,
            repo_mode,
            roots,
            git_head,
            notes,
            since,
            runs,
        })
    }

    /// The language of a new project: the one that the user gave, else those that the task names. Otherwise the plan's files
    /// decide.
    fn wished_roots(&self, state: &SessionState) -> Vec<RootRef> {
        let Some(meta) = &state.meta else { return Vec::new() };
        let wished = |plugin: &&&'static dyn Plugin| match &meta.lang {
            Some(lang) => lang.0 == plugin.name(),
            None => mentions(&meta.task, plugin.task_words()),
        };
        let plugins = self.parts.plugins.iter().filter(wished);
        plugins
            .map(|plugin| RootRef { dir: RelPath::root(), plugin: PluginName(plugin.name().to_owned()) })
            .collect()
    }

    /// A project above the folder would claim it: its lock file and members lie out of sight.
    fn claimed_from_above(&self, state: &SessionState) -> Option<Ended> {
        let command = if state.verifies() { "perspt verify" } else { "perspt agent -w" };
        let workspace = &self.parts.workspace;
        self.parts.plugins.iter().find_map(|plugin| {
            let read = |folder: &Path, name: &str| std::fs::read_to_string(folder.join(name)).ok();
            let own = read(workspace, plugin.manifest_name())?;
            let (above, project) = workspace.ancestors().skip(1).find_map(|above| {
                let below = RelPath::parse(workspace.strip_prefix(above).ok()?.to_str()?).ok()?;
                Some((above, plugin.claims(&own, &read(above, plugin.workspace_manifest())?, &below)?))
            })?;
            Some(unworkable(
                &format!("this folder belongs to a {project} further up"),
                &format!("{} is its root", above.display()),
                &format!("run perspt there: `{command} {}`", above.display()),
            ))
        })
    }

    /// The commit that git has checked out, read from its files. git itself is not run.
    fn git_head(&self) -> Option<String> {
        let git = self.parts.workspace.join(".git");
        let head = std::fs::read_to_string(git.join("HEAD")).ok()?;
        let head = head.trim();
        let id = match head.strip_prefix("ref: ") {
            Some(name) => std::fs::read_to_string(git.join(name)).ok()?.trim().to_owned(),
            None => head.to_owned(),
        };
        id.chars().all(|c| c.is_ascii_hexdigit()).then_some(id)
    }
}

/// Greenfield: nothing is there but what every repository has.
fn repo_mode(tree: &Tree) -> RepoMode {
    const FURNITURE: &[&str] = &[".gitignore", ".gitattributes", ".editorconfig", ".gitkeep"];
    const PAPERS: &[&str] = &["readme", "license", "licence", "copying", "notice"];
    let counts = |path: &RelPath| {
        let name = path.name().to_lowercase();
        let stem = name.split(['.', '-']).next().unwrap_or_default();
        !FURNITURE.contains(&name.as_str()) && !PAPERS.contains(&stem)
    };
    if tree.entries.keys().any(counts) { RepoMode::Existing } else { RepoMode::Greenfield }
}

fn unworkable(what: &str, why: &str, todo: &str) -> Ended {
    Ended::Unworkable {
        trouble: Trouble { what: what.to_owned(), why: why.to_owned(), todo: todo.to_owned() },
    }
}

fn note_text(note: &WalkNote) -> String {
    match note {
        WalkNote::Special { path } => format!("{path} is a socket, fifo or device and is left out"),
        WalkNote::Index { folder, problem } => format!("{folder}: {problem}"),
        WalkNote::Rule { folder, line } => format!("{folder}/.gitignore line {line} could not be understood"),
    }
}
