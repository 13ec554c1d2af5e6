//! Commands of an answer: which repeat a stage, which add packages, which need the user's consent; and running them. They
//! may change only the node's own files.

use std::collections::{BTreeMap, BTreeSet};

use perspt_core::consent::{ConsentKind, Declared, Need};
use perspt_core::path::RelPath;
use perspt_core::reading::PluginName;
use perspt_core::stage::{Profile, Root, Step, StepEnd, Streams};
use perspt_core::state::{Node, SessionState};
use perspt_core::tree::{Entry, Tree};
use perspt_lang::mentions;
use perspt_lang::plugin::{AddPackages, CommandKind, Fetch, Files, Plugin};
use perspt_policy::argv::parse_argv;
use perspt_sandbox::Cancel;

use super::{Applied, FileAction, WriteScope};
use crate::actor::Actor;
use crate::error::EffectError;
use crate::slot::{FileNow, SlotGuard, stage_timeout};
use crate::tree::TreeFiles;

/// An answer's commands, by what is done with them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Commands {
    /// Not run: a stage does the same anyway.
    pub skipped: Vec<String>,
    /// Run, in order.
    pub run: Vec<String>,
    /// Not run, each with the reason.
    pub refused: Vec<String>,
    /// Consents that are needed before any is run.
    pub needs: Vec<Need>,
}

/// A node whose commands are run.
#[derive(Clone, Copy)]
pub(super) struct NodeRun<'a> {
    pub state: &'a SessionState,
    pub node: &'a Node,
    pub cancel: &'a Cancel,
}

fn need(kind: ConsentKind, subject: &str, why: &str) -> Need {
    Need {
        kind,
        subject: subject.to_owned(),
        why: why.to_owned(),
        declared: Declared::No,
        weaker: vec![],
        notes: vec![],
        test: None,
    }
}

impl Actor {
    /// Sorts the commands of an answer. One that needs a shell is not run; the answer is used all the same.
    pub(crate) fn sort_commands(
        &self,
        state: &SessionState,
        node: &Node,
        commands: &[String],
        files: &TreeFiles,
    ) -> Commands {
        let mut sorted = Commands::default();
        for command in commands {
            let argv = match parse_argv(command) {
                Ok(argv) => argv,
                Err(_) if self.repeats_in_parts(node, command, files) => {
                    sorted.skipped.push(command.clone());
                    continue;
                }
                Err(refusal) => {
                    sorted.refused.push(format!("`{command}`: {refusal}"));
                    continue;
                }
            };
            match self.kind_of(node, &argv, files) {
                CommandKind::Repeats => {
                    sorted.skipped.push(command.clone());
                    continue;
                }
                CommandKind::Adds(AddPackages { names, .. }) => {
                    sorted.needs.extend(self.unknown_packages(state, node, names, files));
                }
                CommandKind::Other => {
                    let why = "the answer wants this command to be run";
                    sorted.needs.push(need(ConsentKind::Command, command, why));
                }
            }
            sorted.run.push(command.clone());
        }
        sorted
    }

    /// Whether a command line only changes folders and repeats stages.
    fn repeats_in_parts(&self, node: &Node, command: &str, files: &TreeFiles) -> bool {
        let parts = command.split("&&").flat_map(|part| part.split(';')).map(str::trim);
        parts.filter(|part| !part.is_empty()).all(|part| match parse_argv(part) {
            Ok(argv) if argv.first().is_some_and(|program| program == "cd") => true,
            Ok(argv) => self.kind_of(node, &argv, files) == CommandKind::Repeats,
            Err(_) => false,
        })
    }

    /// What kind of command this is. The plugins of the node's own languages are asked first.
    fn kind_of(&self, node: &Node, argv: &[String], files: &TreeFiles) -> CommandKind {
        let of_node = node.roots.iter().map(|root| &root.plugin.0);
        let mut plugins: Vec<_> = self.parts.plugins.iter().collect();
        plugins.sort_by_key(|plugin| !of_node.clone().any(|name| name == plugin.name()));
        let kinds = plugins
            .into_iter()
            .map(|plugin| plugin.command(argv, &self.root_of(node, plugin.name(), files), files));
        kinds.into_iter().find(|kind| !matches!(kind, CommandKind::Other)).unwrap_or(CommandKind::Other)
    }

    fn root_of(&self, node: &Node, plugin: &str, files: &TreeFiles) -> Root {
        let own = node.roots.iter().find(|root| root.plugin.0 == plugin);
        let dir = own.map_or_else(RelPath::root, |root| root.dir.clone());
        self.root(&dir, &PluginName(plugin.to_owned()), files)
    }

    /// Consents for those packages that no task, plan, manifest or lock file names.
    pub(crate) fn unknown_packages(
        &self,
        state: &SessionState,
        node: &Node,
        packages: impl IntoIterator<Item = String>,
        files: &dyn Files,
    ) -> Vec<Need> {
        let task = state.meta.as_ref().map_or("", |meta| meta.task.as_str());
        let plan: String = state.nodes.values().map(|node| format!("{} ", node.spec.goal)).collect();
        let known: BTreeSet<String> = node
            .roots
            .iter()
            .filter_map(|root| self.plugin(&root.plugin))
            .flat_map(|one| one.packages(files))
            .collect();
        let is_known = |name: &String| {
            known.contains(name) || [task, &plan].iter().any(|text| mentions(text, &[name.as_str()]))
        };
        let unknown = packages.into_iter().filter(|name| !is_known(name));
        let why = "it is to be added, and no task, plan, manifest or lock file names it";
        unknown.map(|name| need(ConsentKind::Deps, &name, why)).collect()
    }

    /// Consents for packages that an answer adds to a manifest and that nothing named before.
    pub(crate) fn new_packages(
        &self,
        state: &SessionState,
        node: &Node,
        applied: &Applied,
        files: &TreeFiles,
    ) -> Vec<Need> {
        let is_manifest = |path: &RelPath| self.parts.plugins.iter().any(|plugin| plugin.is_manifest(path));
        if !applied.files.keys().any(is_manifest) {
            return Vec::new();
        }
        let text = |now: &Option<(_, String)>| now.as_ref().map(|(_, text)| text.clone());
        let after = files.with_replaced(applied.files.iter().map(|(path, now)| (path.clone(), text(now))));
        let plugins = node.roots.iter().filter_map(|root| self.plugin(&root.plugin));
        let named: BTreeSet<String> = plugins.flat_map(|plugin| plugin.dependencies(&after)).collect();
        self.unknown_packages(state, node, named, files)
    }

    /// Runs commands on a tree, in order, and takes their changes into it. The lines say what they must not have done.
    pub(super) async fn run_commands(
        &self,
        run: NodeRun<'_>,
        slot: &mut SlotGuard<'_>,
        commands: &[String],
        tree: &mut Tree,
    ) -> Result<Vec<String>, EffectError> {
        let NodeRun { state, node, cancel } = run;
        let mut faults = Vec::new();
        for command in commands {
            let files = TreeFiles::new(tree.clone(), self.sources());
            let Ok(argv) = parse_argv(command) else { continue };
            let (step, instead, added) = match self.kind_of(node, &argv, &files) {
                CommandKind::Adds(AddPackages { fetch: Fetch { step, instead }, .. }) => {
                    (step, instead, true)
                }
                CommandKind::Repeats | CommandKind::Other => (plain_step(node, argv), BTreeMap::new(), false),
            };
            let files = files.with_replaced(instead.clone());
            slot.lay_out(&files)?;
            let output = slot.run("command", &step, stage_timeout(state), cancel).await?;
            if output.end.is_success() {
                let mut changes = slot.changes(files.tree())?;
                changes.retain(|(path, _)| !instead.contains_key(path));
                faults.extend(self.take_changes(run, changes, tree)?);
            } else if added {
                faults.push(failed(command, &output.end, &output.stderr));
                break;
            }
            // Any other command that fails is in the record; the stages show what it did not make.
        }
        Ok(faults)
    }

    /// Takes changed files into the tree, where the node may write them.
    fn take_changes(
        &self,
        NodeRun { state, node, .. }: NodeRun<'_>,
        changes: Vec<FileNow>,
        tree: &mut Tree,
    ) -> Result<Vec<String>, EffectError> {
        let before = tree.clone();
        let plugins = node.roots.iter().filter_map(|root| self.plugin(&root.plugin));
        let scope =
            WriteScope::new(state, node, &before, plugins.map(|plugin| plugin as &dyn Plugin).collect());
        let mut faults = Vec::new();
        for (path, now) in changes {
            let lock = self.parts.plugins.iter().any(|plugin| plugin.is_lockfile(&path));
            let keeps = self.parts.plugins.iter().any(|plugin| plugin.is_kept_by_tools(&path));
            if lock && !keeps && !before.entries.contains_key(&path) {
                continue;
            }
            let action = if now.is_some() { FileAction::Write } else { FileAction::Remove };
            if let (Err(refusal), false) = (scope.check(&path, action), lock) {
                faults.push(format!(
                    "a command of the answer changed a file that is not the node's: {refusal}"
                ));
                continue;
            }
            let Some((kind, bytes)) = now else {
                tree.entries.remove(&path);
                continue;
            };
            if let Some(old) = before.entries.get(&path) {
                self.store_original(&self.sources(), &path, old)?;
            }
            let id = self.parts.blobs.put(&bytes)?;
            tree.entries.insert(path, Entry { kind, hash: id.0, size: bytes.len() as u64 });
        }
        Ok(faults)
    }

    /// Fetches packages that the candidate's manifests name and the base's do not.
    pub(super) async fn fetch_new(
        &self,
        NodeRun { state, node, cancel }: NodeRun<'_>,
        slot: &mut SlotGuard<'_>,
        base: &Tree,
        tree: &Tree,
    ) -> Result<(), EffectError> {
        let old = TreeFiles::new(base.clone(), self.sources());
        let new = TreeFiles::new(tree.clone(), self.sources());
        for root in &node.roots {
            let Some(plugin) = self.plugin(&root.plugin) else { continue };
            if plugin.dependencies(&new).is_subset(&plugin.dependencies(&old)) {
                continue;
            }
            let root = self.root(&root.dir, &root.plugin, &new);
            let Some(Fetch { step, instead }) = plugin.fetch(&root, &new) else { continue };
            slot.lay_out(&new.with_replaced(instead))?;
            // A package that cannot be fetched shows in the build, in the compiler's own words.
            slot.run("fetch", &step, stage_timeout(state), cancel).await?;
            slot.recheck()?;
        }
        Ok(())
    }
}

fn plain_step(node: &Node, argv: Vec<String>) -> Step {
    Step {
        name: "command".to_owned(),
        argv,
        cwd: node.roots.first().map_or_else(RelPath::root, |root| root.dir.clone()),
        env: BTreeMap::new(),
        profile: Profile::Build,
        build_writes: vec![],
        streams: Streams::Apart,
        reports: vec![],
    }
}

fn failed(command: &str, end: &StepEnd, stderr: &[u8]) -> String {
    let stderr = String::from_utf8_lossy(stderr);
    let last = stderr.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let last: String = last.chars().take(300).collect();
    format!("the command `{command}` ended with {}: {last}", end.shown())
}
