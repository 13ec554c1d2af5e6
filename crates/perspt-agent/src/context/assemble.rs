//! Choosing the files and findings that a prompt is compiled from, within the window of the model that will read it.

use perspt_core::context::ContextRequest;
use perspt_core::effect::{Branch, Intent};
use perspt_core::event::{Ended, PART_CHARS, PARTS_MAX, PromptPart};
use perspt_core::hash::Sha;
use perspt_core::ids::{BlobId, NodeId};
use perspt_core::judge::Judgement;
use perspt_core::path::RelPath;
use perspt_core::reading::PluginName;
use perspt_core::residual::Residual;
use perspt_core::route::{AnswerForm, Route, Tier};
use perspt_core::state::{Node, SessionState};
use perspt_lang::plugin::{Files, Plugin};
use perspt_model::estimate_tokens;

use super::{ContextBudget, Focus, Package, Reply, Request, Served, Shown, TooSmall, assemble, serve};
use crate::actor::Actor;
use crate::error::EffectError;
use crate::parse::Analysis;
use crate::prompt::{ChangeForm, Compiled, Evidence, ProjectEvidence, RetryEvidence, compile};
use crate::verify::{masked_finding, masked_lines};

/// The most files that a package shows.
const FILES: usize = 20;
/// The most tokens of files and listing, however large the window is.
const MOST_TOKENS: u64 = 33_000;
/// The same where the model is small and its window is not known.
const SMALL_TOKENS: u64 = 5_000;
/// What is left for an answer in the smallest window.
const LEAST_OUTPUT: u64 = 700;
/// Whole files are asked for only up to this size: longer ones take a small model too long to repeat.
const WHOLE_BYTES: usize = 6_000;

/// A prompt to be made.
pub(crate) struct PromptRequest<'a> {
    pub node: Option<&'a NodeId>,
    pub intent: Intent,
    pub attempt: u32,
    pub branch: &'a Branch,
    /// Judgements or rejected answers that it speaks of.
    pub evidence: &'a [BlobId],
    /// What the verifier's model made of them.
    pub analysis: Option<BlobId>,
}

impl Actor {
    pub(crate) fn assemble(
        &self,
        state: &SessionState,
        request: &PromptRequest<'_>,
    ) -> Result<Ended, EffectError> {
        let PromptRequest { node, intent, attempt, branch, evidence, analysis } = *request;
        let files = self.branch_files(branch)?;
        let node = node.and_then(|id| state.nodes.get(id));
        let task = state.meta.as_ref().map_or("", |meta| meta.task.as_str());
        let route = state.route(intent.tier());
        let retry = match node {
            Some(node) => self.node_retry(state, node, intent, evidence)?,
            None => self.plan_retry(evidence)?,
        };
        let focus = focus(task, node, retry.as_ref());
        let mut request = match node {
            Some(node) => self.node_request(state, node, &files, task, focus),
            None => self.architect_request(&files, task, focus),
        };
        if retry.as_ref().is_some_and(|retry| retry.repeated) {
            // What did not help twice is left out: the next prompt is shorter, and about the one thing that is wrong.
            request.read.clear();
            request.maybe.clear();
        }
        let analysis = match analysis {
            Some(blob) => self.load_text::<Analysis>("an analysis", blob)?.lines(),
            None => Vec::new(),
        };
        let empty = Package::empty();
        let mut told = Evidence {
            task,
            project: self.project_evidence(state, node),
            node: node.map(|node| &node.spec),
            solo: node.is_some_and(|node| node.solo),
            own: &request.own,
            package: &empty,
            served: Vec::new(),
            analysis,
            retry,
            form: usual_form(&route),
            together: may_answer_together(state, &route),
        };
        let fixed = tokens_of(&compile(intent, attempt, &told, evidence));
        let room = room(state, &route, fixed);
        if let Some(node) = node.filter(|node| !node.requested.is_empty()) {
            let budget = ContextBudget { tokens: room / 3, files: FILES };
            let served = serve(&node.requested, &files, budget, &self.parts.masks);
            told.served = served.into_iter().map(shown).collect();
        }
        let served: u64 =
            told.served.iter().map(|(label, text)| estimate_tokens(label) + estimate_tokens(text)).sum();
        let budget = ContextBudget { tokens: room.saturating_sub(served), files: FILES };
        let package = match assemble(&request, &files, budget, &self.parts.masks) {
            Ok(package) => package,
            Err(TooSmall { needed, .. }) => {
                let needed = fixed.saturating_add(needed).saturating_add(LEAST_OUTPUT);
                let window = u64::from(route.window.unwrap_or(u32::MAX));
                return Ok(Ended::TooLargeForModel { needed, window, model: route.model });
            }
        };
        files.check_complete()?;
        if matches!(intent, Intent::Generate | Intent::SoloGenerate) {
            // With the text before, later edits of the user can be recognised.
            for text in request.own.iter().filter_map(|path| files.text(path)) {
                self.parts.blobs.put(text.as_bytes())?;
            }
        }
        if route.small && route.form == AnswerForm::Blocks && is_small(&package, &request.own) {
            let fresh = intent == Intent::SoloGenerate && !request.own.is_empty();
            let test = if fresh { self.new_test_file(state, node, &files, &request.own) } else { None };
            told.one_finding();
            let finding = told.retry.as_ref().and_then(|retry| retry.findings.first());
            let paths = self.to_write_next(state, node, intent, &request.own, finding);
            told.form = ChangeForm::Whole { paths, test };
        }
        told.package = &package;
        let parts = parts(&told, &package);
        let compiled = compile(intent, attempt, &told, evidence);
        let tokens = tokens_of(&compiled);
        let provenance = Box::new(compiled.provenance.clone());
        let prompt = self.store_text(&compiled)?;
        let Package { files, degraded, hash, .. } = package;
        let files = files.into_iter().map(|file| file.path).collect();
        Ok(Ended::Assembled { prompt, context: hash, files, degraded, tokens, parts, provenance })
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

    /// The files that a small model is asked to write again: after findings either the code or its own tests, by turns,
    /// for either may be wrong and both at once are too much. A test that uses a name it does not know is wrong itself.
    fn to_write_next(
        &self,
        state: &SessionState,
        node: Option<&Node>,
        intent: Intent,
        own: &[RelPath],
        finding: Option<&Residual>,
    ) -> Vec<RelPath> {
        let plugins = self.plugins_of(state, node);
        let is_test = |path: &&RelPath| plugins.iter().any(|plugin| plugin.is_test_file(path));
        let (tests, code): (Vec<&RelPath>, Vec<&RelPath>) = own.iter().partition(is_test);
        let corrections = node.map_or(0, |node| node.corrections);
        let is_its_own = |path: &&RelPath| finding.is_some_and(|one| lacks_a_name(one, path));
        let chosen = match intent {
            Intent::SoloCorrection if tests.iter().any(is_its_own) => {
                tests.into_iter().filter(is_its_own).collect()
            }
            Intent::SoloCorrection if corrections.is_multiple_of(2) && !tests.is_empty() => tests,
            Intent::SoloCorrection if !code.is_empty() => code,
            _ => own.iter().collect(),
        };
        chosen.into_iter().cloned().collect()
    }

    /// Where tests of a change of these files would stand, as their language has it.
    fn new_test_file(
        &self,
        state: &SessionState,
        node: Option<&Node>,
        files: &dyn Files,
        own: &[RelPath],
    ) -> Option<RelPath> {
        let source = own.first()?;
        let plugin = self.plugins_of(state, node).into_iter().find(|plugin| plugin.is_source(source))?;
        let tests = files.tree().entries.keys().filter(|path| plugin.is_test_file(path));
        let tests: Vec<RelPath> = tests.cloned().collect();
        let new = plugin.new_test_file(source, &tests)?;
        (!files.tree().entries.contains_key(&new)).then_some(new)
    }

    fn node_request(
        &self,
        state: &SessionState,
        node: &Node,
        files: &dyn Files,
        task: &str,
        focus: Focus,
    ) -> Request {
        let spec = &node.spec;
        let declared = spec.changes_tests.iter().map(|declared| &declared.path);
        let changed = node.best.iter().flat_map(|best| best.diff.create.iter().chain(&best.diff.modify));
        let mut own: Vec<RelPath> = Vec::new();
        for path in spec.output_files.iter().chain(&spec.modifies).chain(declared).chain(changed) {
            if !own.contains(path) {
                own.push(path.clone());
            }
        }
        let mut read = spec.context_files.clone();
        for dependency in spec.dependencies.iter().filter_map(|id| state.nodes.get(id)) {
            read.extend(dependency.spec.output_files.iter().cloned());
        }
        if node.solo {
            // Nobody said which files it is about, so the task's words choose them.
            let chosen = self.architect_request(files, task, focus);
            let new = chosen.own.iter().filter(|path| !own.contains(path)).cloned().collect::<Vec<_>>();
            own.extend(new);
            read.extend(chosen.read);
            return Request { own, read, maybe: chosen.maybe, focus: chosen.focus };
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
            let wide = self.architect_request(files, task, focus.clone());
            read.extend(wide.own);
            read.extend(wide.read);
            maybe = wide.maybe;
        }
        Request { own, read, maybe, focus }
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
            Intent::Correction | Intent::SoloCorrection | Intent::Analysis => {
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
            Intent::Generate
            | Intent::SoloGenerate
            | Intent::ArchitectExisting
            | Intent::ArchitectGreenfield => return Ok(None),
        }
        Ok(Some(retry))
    }

    fn plan_retry(&self, evidence: &[BlobId]) -> Result<Option<RetryEvidence>, EffectError> {
        let Some(blob) = evidence.first() else { return Ok(None) };
        let (violations, answer): (Vec<String>, String) = self.load_text("a rejected plan", *blob)?;
        Ok(Some(RetryEvidence { violations, answer: Some(answer), ..RetryEvidence::default() }))
    }
}

/// Whether a finding says that a file uses a name it does not know.
fn lacks_a_name(finding: &Residual, path: &RelPath) -> bool {
    finding.file.as_ref() == Some(path) && finding.message.contains("is not defined")
}

/// What the prompt is about: the words of task and goal, and where the tools found something.
fn focus(task: &str, node: Option<&Node>, retry: Option<&RetryEvidence>) -> Focus {
    let found = retry.map_or(&[][..], |retry| retry.findings.as_slice());
    let goal = node.map(|node| node.spec.goal.as_str());
    let symbols = found.iter().filter_map(|finding| finding.symbol.as_deref());
    let messages = found.iter().map(|finding| finding.message.as_str());
    let mut focus = Focus::of_texts([task].into_iter().chain(goal).chain(messages));
    focus.names.extend(symbols.map(str::to_owned));
    let place = |finding: &Residual| Some((finding.file.clone()?, finding.place.as_ref()?.line));
    focus.lines.extend(found.iter().filter_map(place));
    focus
}

/// The form that changes are asked for in.
fn usual_form(route: &Route) -> ChangeForm {
    match route.form {
        AnswerForm::Blocks => ChangeForm::Blocks,
        AnswerForm::Json => ChangeForm::Json,
    }
}

/// Whether every file that may change is shown whole, and is short enough to be written again.
fn is_small(package: &Package, own: &[RelPath]) -> bool {
    let files = package.files.iter().filter(|file| own.contains(&file.path));
    let mut bytes = 0;
    for file in files {
        if file.shown != Shown::Whole {
            return false;
        }
        bytes += file.text.len();
    }
    bytes <= WHOLE_BYTES
}

/// Whether a plan of one task may come together with its changes: the same model would write them.
fn may_answer_together(state: &SessionState, architect: &Route) -> bool {
    !architect.small && state.route(Tier::Actuator) == *architect
}

/// How many tokens files and listing may have, beside what is said in any case.
fn room(state: &SessionState, route: &Route, fixed: u64) -> u64 {
    let Some(window) = route.window.map(u64::from) else {
        return if route.small { SMALL_TOKENS } else { MOST_TOKENS };
    };
    let most = u64::from(state.settings().output_tokens.min(route.output.unwrap_or(u32::MAX)));
    let answer = most.min((window / 4).max(LEAST_OUTPUT));
    window.saturating_sub(answer).saturating_sub(fixed).min(MOST_TOKENS)
}

fn tokens_of(compiled: &Compiled) -> u64 {
    estimate_tokens(&compiled.head).saturating_add(estimate_tokens(&compiled.body))
}

/// A request that was served, as the model sees it: what it asked for, and the text or why there is none.
fn shown(Served { request, reply }: Served) -> (String, String) {
    let label = match request {
        ContextRequest::Read { path, .. } => path,
        ContextRequest::Search { query } => format!("search for `{query}`"),
        ContextRequest::Symbol { symbol } => format!("definition of `{symbol}`"),
    };
    // The model's own words must not look like more than one line.
    let label = label.replace(char::is_control, " ");
    match reply {
        Reply::Shown { text, .. } => (label, text),
        Reply::Refused { why } => (label, format!("(not shown: {why})")),
    }
}

/// What the parts of a prompt cost.
fn parts(told: &Evidence<'_>, package: &Package) -> Vec<PromptPart> {
    let part = |part: String, tokens: u64| PromptPart { part, tokens };
    let files = package
        .files
        .iter()
        .map(|file| part(format!("{} ({})", file.path, file.shown.as_str()), file.tokens));
    let served = told.served.iter().map(|(label, text)| part(label.clone(), estimate_tokens(text)));
    let listing = part("file list".to_owned(), estimate_tokens(&package.listing));
    let mut parts: Vec<PromptPart> =
        files.chain(served).chain([listing]).filter(|part| part.tokens > 0).collect();
    parts.sort_by(|a, b| b.tokens.cmp(&a.tokens).then(a.part.cmp(&b.part)));
    parts.truncate(PARTS_MAX);
    for part in &mut parts {
        part.part = part.part.chars().take(PART_CHARS).collect();
    }
    parts
}

impl Package {
    /// A package of nothing.
    fn empty() -> Package {
        Package { files: vec![], listing: String::new(), degraded: vec![], tokens: 0, hash: Sha::ZERO }
    }
}

#[cfg(test)]
mod tests {
    use perspt_core::residual::{Class, Component};

    use super::*;

    #[test]
    fn a_test_that_uses_an_unknown_name_is_wrong_itself_and_the_file_it_tests_is_not() {
        let path = |text: &str| RelPath::parse(text).unwrap();
        let finding = |message: &str| {
            let found = Residual::error(Component::Log, Class::TestFailed, "pytest", message);
            found.in_file(Some(path("test_a.py")))
        };
        let unknown = finding("`test_a.py::test_x` failed: NameError: name 'VALUES' is not defined");
        let wrong = finding("`test_a.py::test_x` failed: AssertionError: 1 != 2");
        let (test, code) = (path("test_a.py"), path("a.py"));
        assert!(
            lacks_a_name(&unknown, &test) && !lacks_a_name(&unknown, &code) && !lacks_a_name(&wrong, &test)
        );
    }
}
