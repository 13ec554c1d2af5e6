//! Choosing the files and findings that a prompt is compiled from.

use perspt_core::effect::{Branch, Intent};
use perspt_core::event::Ended;
use perspt_core::ids::{BlobId, NodeId};
use perspt_core::judge::Judgement;
use perspt_core::path::RelPath;
use perspt_core::reading::PluginName;
use perspt_core::state::{Node, SessionState};
use perspt_lang::plugin::{Files, Plugin};
use perspt_model::estimate_tokens;

use super::{ContextBudget, Package, Request, assemble};
use crate::actor::Actor;
use crate::error::EffectError;
use crate::prompt::{Evidence, ProjectEvidence, RetryEvidence, compile};
use crate::verify::{masked_finding, masked_lines};

/// A prompt to be made.
pub(crate) struct PromptRequest<'a> {
    pub node: Option<&'a NodeId>,
    pub intent: Intent,
    pub attempt: u32,
    pub branch: &'a Branch,
    /// Judgements or rejected answers that it speaks of.
    pub evidence: &'a [BlobId],
}

impl Actor {
    pub(crate) fn assemble(
        &self,
        state: &SessionState,
        request: &PromptRequest<'_>,
    ) -> Result<Ended, EffectError> {
        let PromptRequest { node, intent, attempt, branch, evidence } = *request;
        let files = self.branch_files(branch)?;
        let node = node.and_then(|id| state.nodes.get(id));
        let task = state.meta.as_ref().map_or("", |meta| meta.task.as_str());
        let request = match node {
            Some(node) => self.node_request(state, node, &files, task),
            None => self.architect_request(&files, task),
        };
        let package = assemble(&request, &files, ContextBudget::default(), &self.parts.masks);
        files.check_complete()?;
        if intent == Intent::Generate {
            // With the text before, later edits of the user can be recognised.
            for text in request.own.iter().filter_map(|path| files.text(path)) {
                self.parts.blobs.put(text.as_bytes())?;
            }
        }
        let retry = match node {
            Some(node) => self.node_retry(state, node, intent, evidence)?,
            None => self.plan_retry(evidence)?,
        };
        let project = self.project_evidence(state, node);
        let spec = node.map(|node| &node.spec);
        let compiled = compile(
            intent,
            attempt,
            &Evidence { task, project, node: spec, package: &package, retry },
            evidence,
        );
        let tokens = estimate_tokens(&compiled.head).saturating_add(estimate_tokens(&compiled.body));
        let provenance = Box::new(compiled.provenance.clone());
        let prompt = self.store_text(&compiled)?;
        let Package { files, degraded, hash, .. } = package;
        Ok(Ended::Assembled {
            prompt,
            context: hash,
            files: files.into_iter().map(|file| file.path).collect(),
            degraded,
            tokens,
            provenance,
        })
    }

    fn plugins_of(&self, state: &SessionState, node: Option<&Node>) -> Vec<&'static dyn Plugin> {
        let roots = match (node, &state.found) {
            (Some(node), _) => node.roots.as_slice(),
            (None, Some(found)) => found.roots.as_slice(),
            (None, None) => &[],
        };
        let named = |plugin: &&'static dyn Plugin| roots.iter().any(|root| root.plugin.0 == plugin.name());
        self.parts.plugins.iter().copied().filter(named).collect()
    }

    fn project_evidence<'a>(&self, state: &'a SessionState, node: Option<&Node>) -> ProjectEvidence<'a> {
        let plugins = self.plugins_of(state, node);
        ProjectEvidence {
            roots: state.found.as_ref().map_or(&[], |found| found.roots.as_slice()),
            baseline: state.baseline.readings.values().filter_map(|runs| runs.first()).collect(),
            layout: plugins.iter().map(|plugin| plugin.layout_hint()).collect(),
            fragments: plugins.iter().map(|plugin| plugin.correction_fragment()).collect(),
            plugins: plugins.iter().map(|plugin| PluginName(plugin.name().to_owned())).collect(),
        }
    }

    /// Manifests and files that the task names, then other sources and texts, the smallest first. The same tree gives the
    /// same request.
    fn architect_request(&self, files: &dyn Files, task: &str) -> Request {
        let mut read = Vec::new();
        let mut maybe: Vec<(bool, u64, RelPath)> = Vec::new();
        for (path, entry) in &files.tree().entries {
            let manifest = self.parts.plugins.iter().any(|plugin| plugin.is_manifest(path));
            let source = self.parts.plugins.iter().any(|plugin| plugin.is_source(path));
            if manifest || names(task, path) {
                read.push(path.clone());
            } else {
                let first = source || path.name().eq_ignore_ascii_case("readme.md");
                maybe.push((!first, entry.size, path.clone()));
            }
        }
        maybe.sort();
        Request { own: vec![], read, maybe: maybe.into_iter().map(|(_, _, path)| path).collect() }
    }

    fn node_request(&self, state: &SessionState, node: &Node, files: &dyn Files, task: &str) -> Request {
        let spec = &node.spec;
        let declared = spec.changes_tests.iter().map(|declared| &declared.path);
        let own: Vec<RelPath> =
            spec.output_files.iter().chain(&spec.modifies).chain(declared).cloned().collect();
        let mut read = spec.context_files.clone();
        for dependency in spec.dependencies.iter().filter_map(|id| state.nodes.get(id)) {
            read.extend(dependency.spec.output_files.iter().cloned());
        }
        let plugins = self.plugins_of(state, Some(node));
        let in_root = |path: &&RelPath| node.roots.iter().any(|root| path.is_within(&root.dir));
        for path in files.tree().entries.keys().filter(in_root) {
            if plugins.iter().any(|plugin| plugin.is_support_file(path) || plugin.is_manifest(path)) {
                read.push(path.clone());
            }
        }
        let mut maybe = vec![];
        if spec.scope.is_open() {
            let wide = self.architect_request(files, task);
            read.extend(wide.read);
            maybe = wide.maybe;
        }
        Request { own, read, maybe }
    }

    fn node_retry(
        &self,
        state: &SessionState,
        node: &Node,
        intent: Intent,
        evidence: &[BlobId],
    ) -> Result<Option<RetryEvidence>, EffectError> {
        let Some(failure) = &node.failure else { return Ok(None) };
        let settings = state.settings();
        let mut retry = RetryEvidence {
            class: Some(failure.class),
            reason: self.parts.masks.masked(&failure.reason),
            violations: masked_lines(&self.parts.masks, &failure.lines),
            answers_left: settings.answers.saturating_sub(node.answers_used()),
            corrections_left: settings.corrections.saturating_sub(node.corrections.saturating_sub(1)),
            repeated: node.same_answer.times == 2 || node.same_findings.times == 2,
            discarded: node.discarded,
            ..RetryEvidence::default()
        };
        match intent {
            Intent::Correction => {
                for blob in evidence {
                    let judgement: Judgement = self.load_blob("a judgement", *blob)?;
                    let counted = judgement.counted().cloned();
                    retry.findings.extend(counted.map(|one| masked_finding(&self.parts.masks, one)));
                }
            }
            Intent::Retarget | Intent::Malformed => {
                if let Some(answer) = evidence.first() {
                    retry.answer = Some(self.load_answer(*answer)?);
                }
            }
            Intent::Generate | Intent::ArchitectExisting | Intent::ArchitectGreenfield => return Ok(None),
        }
        Ok(Some(retry))
    }

    fn plan_retry(&self, evidence: &[BlobId]) -> Result<Option<RetryEvidence>, EffectError> {
        let Some(blob) = evidence.first() else { return Ok(None) };
        let (violations, answer): (Vec<String>, String) = self.load_text("a rejected plan", *blob)?;
        Ok(Some(RetryEvidence { violations, answer: Some(answer), ..RetryEvidence::default() }))
    }
}

/// Whether the task's words name this file, by path or by file name.
fn names(task: &str, path: &RelPath) -> bool {
    task.contains(path.as_str()) || (path.name().contains('.') && task.contains(path.name()))
}
