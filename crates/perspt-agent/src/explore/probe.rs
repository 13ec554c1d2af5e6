//! Which tools work: each is run on a small project of ours.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use futures_util::future::join_all;
use perspt_core::event::{Ended, MissingTool, RootRef, RootStages, StageTool};
use perspt_core::reading::StageKind;
use perspt_core::stage::{Preset, Stage, StageRole, StepEnd, Want};
use perspt_core::state::SessionState;
use perspt_lang::generic::in_place;
use perspt_lang::plugin::{Files, Machine, NoTool, Plugin, Probe, Selection, Terms, ToolState, Tools};
use perspt_sandbox::Cancel;
use serde::{Deserialize, Serialize};

use crate::AgentError;
use crate::actor::Actor;
use crate::error::EffectError;
use crate::slot::{RunConfig, SlotGuard, confinement_text, one_line, probe_timeout};

/// The results of all probes, stored for later stages and resumes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Probed {
    /// The tools of each plugin.
    pub tools: BTreeMap<String, Tools>,
}

/// The user's own commands that an event has room for.
const OWN_LINES: usize = 8;
/// The runs of probes that an event has room for.
const RUNS: usize = 4;

impl Actor {
    pub(crate) async fn probe(&self, state: &SessionState, cancel: &Cancel) -> Result<Ended, EffectError> {
        let Some(branch) = state.head_branch() else { return Err(EffectError::BaseMoved) };
        let files = self.branch_files(&branch)?;
        let mut slot = self.take_slot().await?;
        let roots = self.roots(state, &files);
        let mut plugins: Vec<&'static dyn Plugin> = Vec::new();
        for plugin in roots.iter().filter_map(|root| self.plugin(&root.plugin)) {
            if !plugins.iter().any(|known| known.name() == plugin.name()) {
                plugins.push(plugin);
            }
        }
        let preset = state.settings().preset;
        let probes = plugins.iter().flat_map(|plugin| {
            let probes = plugin.probes_for(&files, &self.parts.machine, preset);
            probes.into_iter().map(move |probe| (*plugin, probe))
        });
        let seen = run_probes(&mut slot, probes.collect(), probe_timeout(state), cancel).await?;
        let mut lines: Vec<String> = seen.iter().map(|(_, tool, state)| line(tool, state)).collect();
        let own = state.settings().own;
        let mine = roots.iter().flat_map(|root| [own.build(root), own.test(root)]).flatten();
        lines.extend(mine.map(|placed| one_line(&format!("your own: {}", placed.command))).take(OWN_LINES));
        let mut probed = Probed::default();
        probed.tools.extend(plugins.iter().map(|plugin| (plugin.name().to_owned(), Tools::new())));
        for (plugin, tool, state) in seen {
            probed.tools.entry(plugin.to_owned()).or_default().insert(tool, state);
        }
        let mut stages: Vec<RootStages> =
            roots.iter().map(|root| self.root_stages(state, root, &probed, &files)).collect();
        // A tool is named once, however many roots ask for it.
        let mut named = BTreeSet::new();
        for root in &mut stages {
            root.left_out.retain(|tool| named.insert(tool.tool.clone()));
        }
        let confinement = self.parts.runner.available_confinement().await.map_err(AgentError::from)?;
        let detail = self.store_blob(&probed)?;
        let mut runs = slot.take_runs();
        // They ran side by side; what failed is what somebody will look for.
        runs.sort_by_key(|run| (run.end == "exit code 0", run.step.clone(), run.command.clone()));
        runs.truncate(RUNS);
        let confinement = confinement_text(&confinement);
        Ok(Ended::Probed { roots: stages, tools: lines, confinement, detail, runs })
    }

    /// A tool of the plugin that worked when the session began and now fails or has another version. The candidate is then
    /// not to blame for an odd end.
    pub(crate) async fn changed_tool(
        &self,
        state: &SessionState,
        slot: &mut SlotGuard<'_>,
        plugin: &'static dyn Plugin,
        cancel: &Cancel,
    ) -> Result<Option<MissingTool>, EffectError> {
        let before = self.probed(state)?;
        let timeout = probe_timeout(state);
        let required = |probe: &Probe| probe.role == StageRole::Required;
        let Some(branch) = state.head_branch() else { return Ok(None) };
        let files = self.branch_files(&branch)?;
        let probes = plugin.probes_for(&files, &self.parts.machine, state.settings().preset);
        for probe in probes.into_iter().filter(required) {
            let known = before.tools.get(plugin.name()).and_then(|tools| tools.get(&probe.tool));
            let Some(ToolState::Works { version: old, .. }) = known else { continue };
            let seen = run_probe(slot, plugin, &probe, timeout, cancel).await;
            let (why, install) = match slot.freed(seen)? {
                ToolState::Works { version, .. } if version == *old => continue,
                ToolState::Works { version, .. } => (
                    format!("it was `{old}` when the session began and is `{version}` now"),
                    "put the other one back or let this one stay, then `perspt resume`".to_owned(),
                ),
                ToolState::Missing { why, install } | ToolState::Broken { why, install } => {
                    (format!("it worked when the session began; now: {why}"), install)
                }
            };
            return Ok(Some(MissingTool { tool: probe.tool, why: one_line(&why), install }));
        }
        Ok(None)
    }

    fn root_stages(
        &self,
        state: &SessionState,
        root: &perspt_core::stage::Root,
        probed: &Probed,
        files: &dyn Files,
    ) -> RootStages {
        let reference = RootRef { dir: root.dir.clone(), plugin: root.plugin.clone() };
        let mut stages = Vec::new();
        let preset = state.settings().preset;
        let (mut missing, mut left_out) = (Vec::new(), Vec::new());
        for stage in self.stages_of(state, root, probed, files, &Selection::default()) {
            match stage {
                Ok(stage) => {
                    stages.push(StageTool { kind: stage.kind, tool: stage.tool, role: stage.role });
                }
                Err(lack) => match preset.wants(lack.stage) {
                    Want::Must => missing.push(missing_tool(lack)),
                    Want::WhereItWorks => left_out.push(missing_tool(lack)),
                    Want::Shown | Want::Off => {}
                },
            }
        }
        let tools = probed.tools.get(&root.plugin.0);
        let plugin = self.plugin(&root.plugin);
        let lack = tools.and_then(|tools| plugin?.missing_tool(root, files, tools));
        let lack = lack.filter(|lack| preset.wants(lack.stage) == Want::Must);
        // What tests need is the business of whoever runs them.
        let own = state.settings().own;
        let lack = lack.filter(|lack| lack.stage != StageKind::Test || own.test(root).is_none());
        missing.extend(lack.map(missing_tool));
        RootStages { root: reference, stages, missing, left_out }
    }

    /// The stages of a root, as its plugin describes them with the tools that work, and as far as the preset wants them.
    pub(crate) fn stages_of(
        &self,
        state: &SessionState,
        root: &perspt_core::stage::Root,
        probed: &Probed,
        files: &dyn Files,
        selection: &Selection,
    ) -> Vec<Result<Stage, NoTool>> {
        let none = Tools::new();
        let tools = probed.tools.get(&root.plugin.0).unwrap_or(&none);
        match self.plugin(&root.plugin) {
            Some(plugin) => {
                let (machine, preset) = (&self.parts.machine, state.settings().preset);
                let described = plugin.stages(root, files, &Terms { machine, tools, selection, preset });
                let described = in_place(described, root, &state.settings().own);
                described.into_iter().filter_map(|stage| wanted(stage, preset)).collect()
            }
            None => vec![],
        }
    }

    /// The results of this session's probes.
    pub(crate) fn probed(&self, state: &SessionState) -> Result<Probed, AgentError> {
        state.probe_detail.map_or(Ok(Probed::default()), |blob| self.load_blob("the probes", blob))
    }

    /// What the probes saw of a plugin's tools.
    pub(crate) fn tools_of(&self, state: &SessionState, plugin: &dyn Plugin) -> Result<Tools, AgentError> {
        Ok(self.probed(state)?.tools.remove(plugin.name()).unwrap_or_default())
    }
}

/// A plugin's name, a tool of it, and whether it works.
pub type TriedTool = (&'static str, String, ToolState);

/// Tries every tool of every plugin in a slot at `dir`, outside any session.
pub async fn try_tools(
    dir: &Path,
    config: RunConfig<'_>,
    machine: &Machine,
    timeout: Duration,
) -> Result<Vec<TriedTool>, AgentError> {
    let plugins = perspt_lang::plugins();
    let mut slot = SlotGuard::open(config, dir, plugins)?;
    let probes = plugins
        .iter()
        .flat_map(|plugin| plugin.probes(machine).into_iter().map(move |probe| (*plugin, probe)));
    match run_probes(&mut slot, probes.collect(), timeout, &Cancel::new()).await {
        Ok(seen) => Ok(seen),
        Err(EffectError::Failed(error)) => Err(error),
        Err(EffectError::Cancelled | EffectError::BaseMoved) => Ok(Vec::new()),
    }
}

/// Runs these probes at the same time. The results are in their order. Where one fails, the others are still waited for.
async fn run_probes(
    slot: &mut SlotGuard<'_>,
    probes: Vec<(&'static dyn Plugin, Probe)>,
    timeout: Duration,
    cancel: &Cancel,
) -> Result<Vec<TriedTool>, EffectError> {
    let runs = probes.into_iter().map(async |(plugin, probe)| {
        let state = run_probe(slot, plugin, &probe, timeout, cancel).await?;
        Ok((plugin.name(), probe.tool, state))
    });
    let seen = join_all(runs).await.into_iter().collect();
    let seen = slot.freed(seen)?;
    slot.reset_tmp()?;
    Ok(seen)
}

async fn run_probe(
    slot: &SlotGuard<'_>,
    plugin: &'static dyn Plugin,
    probe: &Probe,
    timeout: Duration,
    cancel: &Cancel,
) -> Result<ToolState, EffectError> {
    let folder = slot.probe_folder(&format!("{}-{}", plugin.name(), probe.tool), &probe.files)?;
    let mut outputs = Vec::new();
    for step in &probe.steps {
        let output = slot.run_probe_step(&folder, step, timeout, cancel).await?;
        let hung = output.end == StepEnd::TimedOut;
        outputs.push(output);
        if hung {
            break;
        }
    }
    Ok(plugin.read_probe(probe, &outputs))
}

fn missing_tool(lack: NoTool) -> MissingTool {
    MissingTool { tool: lack.tool, why: one_line(&lack.why), install: lack.install }
}

/// A stage as far as the preset wants it: a plugin may give it less, never more.
fn wanted(stage: Result<Stage, NoTool>, preset: Preset) -> Option<Result<Stage, NoTool>> {
    let kind = stage.as_ref().map_or_else(|lack| lack.stage, |stage| stage.kind);
    match (preset.wants(kind), stage) {
        (Want::Off, _) => None,
        (Want::Shown, Ok(stage)) => Some(Ok(Stage { role: StageRole::Shown, ..stage })),
        (Want::Must | Want::WhereItWorks | Want::Shown, stage) => Some(stage),
    }
}

fn line(tool: &str, state: &ToolState) -> String {
    let line = match state {
        ToolState::Works { version, .. } => format!("{tool}: {version}"),
        ToolState::Missing { why, .. } => format!("{tool}: missing ({why})"),
        ToolState::Broken { why, .. } => format!("{tool}: broken ({why})"),
    };
    one_line(&line)
}
