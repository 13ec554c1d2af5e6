//! Which tools work: each is run on a small project of ours. And what has to be fetched.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use perspt_core::effect::{Branch, TreeRef};
use perspt_core::event::{Ended, MissingTool, RootRef, RootStages, StageTool};
use perspt_core::path::RelPath;
use perspt_core::stage::StepEnd;
use perspt_core::state::SessionState;
use perspt_core::tree::{EntryKind, Tree};
use perspt_lang::plugin::{Files, Machine, Plugin, Probe, Selection, ToolState, Tools};
use perspt_sandbox::{Cancel, Runner};
use serde::{Deserialize, Serialize};

use crate::AgentError;
use crate::actor::{Actor, Bench, Floor, Halt, brief, shown};
use crate::files::Sources;

/// Everything the probes saw, kept for later stages and resumes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Probed {
    /// The tools of each plugin.
    pub tools: BTreeMap<String, Tools>,
}

impl Actor {
    pub(crate) async fn probe(&self, state: &SessionState, cancel: &Cancel) -> Result<Ended, Halt> {
        let Some(branch) = state.head_branch() else { return Err(Halt::BaseMoved) };
        let files = self.branch_files(&branch)?;
        let mut probed = Probed::default();
        let mut lines = Vec::new();
        let mut bench = self.bench().await?;
        let roots = self.roots(state, &files);
        let timeout = Duration::from_millis(state.settings().probe_timeout_ms);
        for root in &roots {
            let Some(plugin) = self.plugin(&root.plugin) else { continue };
            if probed.tools.contains_key(plugin.name()) {
                continue;
            }
            let mut tools = Tools::new();
            for probe in plugin.probes(&self.parts.machine) {
                let seen = run_probe(&mut bench, plugin, &probe, timeout, cancel).await?;
                lines.push(line(&probe.tool, &seen));
                tools.insert(probe.tool.clone(), seen);
            }
            probed.tools.insert(plugin.name().to_owned(), tools);
        }
        bench.reset_tmp()?;
        let stages = roots.iter().map(|root| self.root_stages(root, &probed, &files)).collect();
        let confinement = self.parts.runner.what_can_be_had().await.map_err(AgentError::from)?;
        let detail = self.keep(&probed)?;
        Ok(Ended::Probed { roots: stages, tools: lines, confinement: shown(&confinement), detail })
    }

    /// A tool of the plugin that worked when the session began and does not now, or is another one. Whoever would be
    /// blamed for an odd end is not, then.
    pub(crate) async fn changed_tool(
        &self,
        state: &SessionState,
        bench: &mut Bench<'_>,
        plugin: &'static dyn Plugin,
        cancel: &Cancel,
    ) -> Result<Option<MissingTool>, Halt> {
        let before = self.probed(state)?;
        let timeout = Duration::from_millis(state.settings().probe_timeout_ms);
        for probe in plugin.probes(&self.parts.machine) {
            let known = before.tools.get(plugin.name()).and_then(|tools| tools.get(&probe.tool));
            let Some(ToolState::Works { version: old, .. }) = known else { continue };
            let (why, install) = match run_probe(bench, plugin, &probe, timeout, cancel).await? {
                ToolState::Works { version, .. } if version == *old => continue,
                ToolState::Works { version, .. } => (
                    format!("it was `{old}` when the session began and is `{version}` now"),
                    "put the other one back or let this one stay, then `perspt resume`".to_owned(),
                ),
                ToolState::Missing { why, install } | ToolState::Broken { why, install } => {
                    (format!("it worked when the session began; now: {why}"), install)
                }
            };
            return Ok(Some(MissingTool { tool: probe.tool, why: brief(&why), install }));
        }
        Ok(None)
    }

    fn root_stages(&self, root: &perspt_core::stage::Root, probed: &Probed, files: &dyn Files) -> RootStages {
        let reference = RootRef { dir: root.dir.clone(), plugin: root.plugin.clone() };
        let mut stages = Vec::new();
        let mut lacks = Vec::new();
        for stage in self.stages_of(root, probed, files, &Selection::default()) {
            match stage {
                Ok(stage) => {
                    stages.push(StageTool { kind: stage.kind, tool: stage.tool, role: stage.role });
                }
                Err(lack) => lacks.push(lack),
            }
        }
        let tools = probed.tools.get(&root.plugin.0);
        let plugin = self.plugin(&root.plugin);
        lacks.extend(tools.and_then(|tools| plugin?.missing_tool(root, files, tools)));
        let missing = lacks
            .into_iter()
            .map(|lack| MissingTool { tool: lack.tool, why: brief(&lack.why), install: lack.install })
            .collect();
        RootStages { root: reference, stages, missing }
    }

    /// The stages of a root, as its plugin describes them with the tools that work.
    pub(crate) fn stages_of(
        &self,
        root: &perspt_core::stage::Root,
        probed: &Probed,
        files: &dyn Files,
        selection: &Selection,
    ) -> Vec<Result<perspt_core::stage::Stage, perspt_lang::plugin::NoTool>> {
        let none = Tools::new();
        let tools = probed.tools.get(&root.plugin.0).unwrap_or(&none);
        match self.plugin(&root.plugin) {
            Some(plugin) => plugin.stages(root, files, &self.parts.machine, tools, selection),
            None => vec![],
        }
    }

    /// What the probes saw.
    pub(crate) fn probed(&self, state: &SessionState) -> Result<Probed, AgentError> {
        state.probe_detail.map_or(Ok(Probed::default()), |blob| self.kept("the probes", blob))
    }

    /// What the probes saw of a plugin's tools.
    pub(crate) fn tools_of(&self, state: &SessionState, plugin: &dyn Plugin) -> Result<Tools, AgentError> {
        Ok(self.probed(state)?.tools.remove(plugin.name()).unwrap_or_default())
    }

    /// Brings what the lock files name onto the machine, without running any of it, or anything of the tree.
    pub(crate) async fn fetch(
        &self,
        state: &SessionState,
        tree: TreeRef,
        cancel: &Cancel,
    ) -> Result<Ended, Halt> {
        let branch = Branch { base: tree, changes: None, tree: tree.id };
        let files = self.branch_files(&branch)?;
        let mut bench = self.bench().await?;
        let timeout = Duration::from_millis(state.settings().stage_timeout_ms);
        for root in self.roots(state, &files) {
            let fetch = self.plugin(&root.plugin).and_then(|plugin| plugin.fetch(&root, &files));
            let Some(fetch) = fetch else { continue };
            let (tree, sources) = with_instead(files.tree(), self.sources(), fetch.instead);
            bench.lay(&tree, &sources)?;
            // What could not be fetched shows in the baseline, with the compiler's own words.
            bench.run("fetch", &fetch.step, timeout, cancel).await?;
            bench.recheck()?;
        }
        Ok(Ended::Fetched { runs: std::mem::take(&mut bench.runs) })
    }
}

/// A tree in which some files hold another text, or are left out.
pub(crate) fn with_instead(
    tree: &Tree,
    mut sources: Sources,
    instead: BTreeMap<RelPath, Option<String>>,
) -> (Tree, Sources) {
    let mut tree = tree.clone();
    for (path, text) in instead {
        tree.entries.remove(&path);
        let entry = text.map(|text| sources.hold(EntryKind::File, text));
        tree.entries.extend(entry.map(|entry| (path, entry)));
    }
    (tree, sources)
}

/// Tries every tool of every plugin in a place of its own, for people who want to know what works.
pub async fn try_tools(
    dir: &Path,
    workspace: &Path,
    runner: &Runner,
    machine: &Machine,
    env: &BTreeMap<String, String>,
    secret_places: &[PathBuf],
    timeout: Duration,
) -> Result<Vec<(&'static str, String, ToolState)>, AgentError> {
    let plugins = perspt_lang::plugins();
    let mut bench = Bench::own(Floor { runner, env, machine, workspace, secret_places }, dir, plugins)?;
    let cancel = Cancel::new();
    let mut seen = Vec::new();
    for plugin in plugins {
        for probe in plugin.probes(machine) {
            match run_probe(&mut bench, *plugin, &probe, timeout, &cancel).await {
                Ok(state) => seen.push((plugin.name(), probe.tool, state)),
                Err(Halt::Broke(error)) => return Err(error),
                Err(Halt::Cancelled | Halt::BaseMoved) => {}
            }
        }
    }
    bench.reset_tmp()?;
    Ok(seen)
}

async fn run_probe(
    bench: &mut Bench<'_>,
    plugin: &'static dyn Plugin,
    probe: &Probe,
    timeout: Duration,
    cancel: &Cancel,
) -> Result<ToolState, Halt> {
    let folder = bench.probe_folder(&format!("{}-{}", plugin.name(), probe.tool), &probe.files)?;
    let mut outputs = Vec::new();
    for step in &probe.steps {
        let output = bench.run_in(&folder, "probe", step, timeout, cancel).await?;
        let hung = output.end == StepEnd::TimedOut;
        outputs.push(output);
        if hung {
            break;
        }
    }
    Ok(plugin.read_probe(probe, &outputs))
}

fn line(tool: &str, state: &ToolState) -> String {
    let line = match state {
        ToolState::Works { version, .. } => format!("{tool}: {version}"),
        ToolState::Missing { why, .. } => format!("{tool}: missing ({why})"),
        ToolState::Broken { why, .. } => format!("{tool}: broken ({why})"),
    };
    brief(&line)
}
