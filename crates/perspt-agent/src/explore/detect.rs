//! The snapshot: the tree, its languages, and whether perspt can work here at all.

use std::path::Path;

use perspt_core::event::{Ended, RepoMode, RootRef, Trouble};
use perspt_core::path::RelPath;
use perspt_core::reading::PluginName;
use perspt_core::state::SessionState;
use perspt_core::tree::Tree;
use perspt_lang::plugin::Plugin;
use perspt_sandbox::slot::{WalkError, WalkNote};
use toml_edit::DocumentMut;

use crate::AgentError;
use crate::actor::{Actor, Halt};
use crate::files::TreeFiles;

/// The most language roots a workspace may have.
const ROOTS: usize = 50;

impl Actor {
    pub(crate) async fn snapshot(&self, state: &SessionState) -> Result<Ended, Halt> {
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
                    "mend or ignore it, then run again",
                ));
            }
            Err(error) => return Err(error.into()),
        };
        if let Some(outcome) = self.claimed_from_above() {
            return Ok(outcome);
        }
        let task = state.meta.as_ref().map_or("", |meta| meta.task.as_str());
        let files = TreeFiles::new(tree.clone(), self.sources());
        let plugins = &self.parts.plugins;
        let mut roots: Vec<RootRef> = plugins
            .iter()
            .flat_map(|plugin| plugin.roots(&files))
            .map(|root| RootRef { dir: root.dir, plugin: root.plugin })
            .collect();
        let repo_mode = repo_mode(&tree, plugins);
        match repo_mode {
            RepoMode::Existing if roots.is_empty() => {
                let known: Vec<&str> = plugins.iter().map(|plugin| plugin.name()).collect();
                return Ok(unworkable(
                    "this project has no language perspt can verify",
                    &format!("no root of {} was found", known.join(" or ")),
                    "run perspt in the folder of the project's manifest, or with `-w`",
                ));
            }
            RepoMode::Existing => {}
            RepoMode::Greenfield => {
                let named = plugins.iter().filter(|plugin| plugin.named_in(task));
                roots = named
                    .map(|plugin| RootRef {
                        dir: RelPath::root(),
                        plugin: PluginName(plugin.name().to_owned()),
                    })
                    .collect();
                if roots.is_empty() {
                    return Ok(unworkable(
                        "there is no project in this folder yet and the task names no language",
                        "perspt cannot tell which compiler and tests would have to prove the result",
                        "say the language in the task, such as \"in Rust\" or \"in Python\"",
                    ));
                }
            }
        }
        if roots.len() > ROOTS {
            return Ok(unworkable(
                "the workspace has too many language roots",
                &format!("{} were found; {ROOTS} is the most", roots.len()),
                "run perspt in a folder further down, with `-w`",
            ));
        }
        let files = tree.entries.len() as u64;
        let git_head = self.git_head();
        let notes = notes.iter().take(8).map(note_text).collect();
        Ok(Ended::Snapshotted { tree: self.keep_tree(&tree)?, files, repo_mode, roots, git_head, notes })
    }

    /// A cargo workspace above the folder would claim it: its lock file and members lie out of sight.
    fn claimed_from_above(&self) -> Option<Ended> {
        let workspace = &self.parts.workspace;
        let manifest = |folder: &Path| -> Option<DocumentMut> {
            std::fs::read_to_string(folder.join("Cargo.toml")).ok()?.parse().ok()
        };
        if manifest(workspace)?.contains_key("workspace") {
            return None;
        }
        let above = workspace.ancestors().skip(1).find(|folder| {
            manifest(folder)
                .is_some_and(|found| found.contains_key("workspace") && !excludes(&found, folder, workspace))
        })?;
        Some(unworkable(
            "this folder belongs to a cargo workspace further up",
            &format!("{} is its root", above.display()),
            &format!("run perspt there: `perspt agent -w {}`", above.display()),
        ))
    }

    /// The commit git stands at, read from its files: git itself is not run.
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

/// Whether a cargo workspace leaves a folder below it out by its own words.
fn excludes(manifest: &DocumentMut, root: &Path, folder: &Path) -> bool {
    let Some(excluded) = manifest["workspace"].get("exclude").and_then(|item| item.as_array()) else {
        return false;
    };
    excluded.iter().filter_map(|path| path.as_str()).any(|path| folder.starts_with(root.join(path)))
}

/// Greenfield: no source file and no manifest of any language.
fn repo_mode(tree: &Tree, plugins: &[&'static dyn Plugin]) -> RepoMode {
    const SOURCE: &[&str] = &[
        "rs", "py", "js", "jsx", "ts", "tsx", "go", "java", "kt", "c", "cc", "cpp", "h", "hpp", "cs", "rb",
        "php", "swift", "scala", "hs", "ml", "ex", "exs", "clj", "lua", "zig", "dart", "sh",
    ];
    const MANIFESTS: &[&str] = &[
        "package.json",
        "go.mod",
        "pom.xml",
        "build.gradle",
        "build.gradle.kts",
        "Makefile",
        "CMakeLists.txt",
        "Gemfile",
        "composer.json",
        "mix.exs",
    ];
    let counts = |path: &RelPath| {
        path.extension().is_some_and(|extension| SOURCE.contains(&extension))
            || MANIFESTS.contains(&path.name())
            || plugins.iter().any(|plugin| plugin.is_source(path) || plugin.is_manifest(path))
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
