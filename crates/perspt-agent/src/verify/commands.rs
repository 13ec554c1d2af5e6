//! Commands of an answer: which repeat a stage, which add packages, which need the user's word; and running them in the
//! branch, with what they change held to the node's own files.

use std::collections::BTreeMap;
use std::time::Duration;

use perspt_core::consent::{ConsentKind, Declared, Need};
use perspt_core::path::RelPath;
use perspt_core::stage::{Profile, Root, Step, StepEnd, Streams};
use perspt_core::state::{Node, SessionState};
use perspt_core::tree::{Entry, Tree};
use perspt_lang::mentions;
use perspt_lang::plugin::{AddPackages, CommandKind, Fetch, Files};
use perspt_policy::argv::parse_argv;
use perspt_sandbox::Cancel;

use crate::actor::{Actor, Bench, Halt};
use crate::apply::{Touch, WriteScope};
use crate::explore::with_instead;
use crate::files::TreeFiles;

/// What becomes of an answer's commands.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Commands {
    /// Those that repeat what is measured anyway.
    pub skipped: Vec<String>,
    /// Those that are run, in order.
    pub run: Vec<String>,
    /// Those that nobody runs, with why.
    pub refused: Vec<String>,
    /// Consents that are needed before that.
    pub needs: Vec<Need>,
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
    /// Sorts the commands of an answer. One that needs a shell is not run, and costs nothing else.
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

    /// Whether a command is nothing but a way to a folder and repeated stages, one after the other.
    fn repeats_in_parts(&self, node: &Node, command: &str, files: &TreeFiles) -> bool {
        let parts = command.split("&&").flat_map(|part| part.split(';')).map(str::trim);
        parts.filter(|part| !part.is_empty()).all(|part| match parse_argv(part) {
            Ok(argv) if argv.first().is_some_and(|program| program == "cd") => true,
            Ok(argv) => self.kind_of(node, &argv, files) == CommandKind::Repeats,
            Err(_) => false,
        })
    }

    /// What the plugins make of a command; one of the node's own languages first.
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
        self.root(&dir, &perspt_core::reading::PluginName(plugin.to_owned()), files)
    }

    /// The packages among these that stand in no task, plan, manifest or lock file.
    pub(crate) fn unknown_packages(
        &self,
        state: &SessionState,
        node: &Node,
        packages: impl IntoIterator<Item = String>,
        files: &dyn Files,
    ) -> Vec<Need> {
        let task = state.meta.as_ref().map_or("", |meta| meta.task.as_str());
        let plan: String = state.nodes.values().map(|node| format!("{} ", node.spec.goal)).collect();
        let known: std::collections::BTreeSet<String> = node
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

    /// Runs commands on a tree, in order, and takes what they change into it. The lines say what they must not have done.
    pub(super) async fn run_commands(
        &self,
        state: &SessionState,
        node: &Node,
        commands: &[String],
        bench: &mut Bench<'_>,
        tree: &mut Tree,
        cancel: &Cancel,
    ) -> Result<Vec<String>, Halt> {
        let timeout = Duration::from_millis(state.settings().stage_timeout_ms);
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
            let hidden: Vec<RelPath> = instead.keys().cloned().collect();
            let (laid, sources) = with_instead(tree, self.sources(), instead);
            bench.lay(&laid, &sources)?;
            let output = bench.run("command", &step, timeout, cancel).await?;
            if !output.end.is_success() && !added {
                // What it was to make is looked for as anything else is. Its process is in the record.
                continue;
            }
            if !output.end.is_success() {
                faults.push(failed(command, &output.end, &output.stderr));
                break;
            }
            faults.extend(self.take_changes(state, node, bench, (&laid, &hidden), tree)?);
        }
        Ok(faults)
    }

    /// Takes what a command changed into the tree, where the node may write it.
    fn take_changes(
        &self,
        state: &SessionState,
        node: &Node,
        bench: &mut Bench<'_>,
        (laid, hidden): (&Tree, &[RelPath]),
        tree: &mut Tree,
    ) -> Result<Vec<String>, Halt> {
        let before = tree.clone();
        let plugins = node.roots.iter().filter_map(|root| self.plugin(&root.plugin));
        let plugins: Vec<&dyn perspt_lang::Plugin> =
            plugins.map(|plugin| plugin as &dyn perspt_lang::Plugin).collect();
        let scope = WriteScope::new(state, node, &before, plugins);
        let mut faults = Vec::new();
        for (path, now) in bench.changes(laid)? {
            let lock = self.parts.plugins.iter().any(|plugin| plugin.is_lockfile(&path));
            let touch = if now.is_some() { Touch::Write } else { Touch::Remove };
            if hidden.contains(&path) || (lock && !before.entries.contains_key(&path)) {
                continue;
            }
            if let Err(refusal) = scope
                .check(&path, touch)
                .map(drop)
                .or_else(|refusal| if lock { Ok(()) } else { Err(refusal) })
            {
                faults.push(format!(
                    "a command of the answer changed a file that is not the node's: {refusal}"
                ));
                continue;
            }
            match now {
                Some((kind, bytes)) => {
                    if let Some(old) = before.entries.get(&path) {
                        self.keep_before(&self.sources(), &path, old)?;
                    }
                    let id = self.parts.blobs.put(&bytes)?;
                    tree.entries.insert(path, Entry { kind, hash: id.0, size: bytes.len() as u64 });
                }
                None => {
                    tree.entries.remove(&path);
                }
            }
        }
        Ok(faults)
    }

    /// Brings packages onto the machine that the candidate's manifests name and the base's do not.
    pub(super) async fn fetch_new(
        &self,
        state: &SessionState,
        node: &Node,
        bench: &mut Bench<'_>,
        (base, tree): (&Tree, &Tree),
        cancel: &Cancel,
    ) -> Result<(), Halt> {
        let timeout = Duration::from_millis(state.settings().stage_timeout_ms);
        let old = TreeFiles::new(base.clone(), self.sources());
        let new = TreeFiles::new(tree.clone(), self.sources());
        for root in &node.roots {
            let Some(plugin) = self.plugin(&root.plugin) else { continue };
            if plugin.dependencies(&new).is_subset(&plugin.dependencies(&old)) {
                continue;
            }
            let root = self.root(&root.dir, &root.plugin, &new);
            let Some(Fetch { step, instead }) = plugin.fetch(&root, &new) else { continue };
            let (laid, sources) = with_instead(tree, self.sources(), instead);
            bench.lay(&laid, &sources)?;
            // What could not be fetched shows in the build, with the compiler's own words.
            bench.run("fetch", &step, timeout, cancel).await?;
            bench.recheck()?;
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
    let told = String::from_utf8_lossy(stderr);
    let last = told.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let last: String = last.chars().take(300).collect();
    format!("the command `{command}` ended with {}: {last}", end.shown())
}
