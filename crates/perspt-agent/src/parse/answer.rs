//! The `parse` effect: an answer is read as a plan, as a bundle for a node, or as an analysis of findings.

use perspt_core::bundle::Bundle;
use perspt_core::context::{ContextRequest, REQUEST_CHARS, REQUESTS_MAX};
use perspt_core::effect::{Branch, Expects};
use perspt_core::event::{
    Capture, Ended, MENDED_CHARS, MENDED_MAX, NEW_ROOTS_MAX, ParseState, Recovered, RetryClass, RootRef,
};
use perspt_core::ids::{BlobId, EffectId, NodeId};
use perspt_core::path::RelPath;
use perspt_core::route::Tier;
use perspt_core::state::{Node, SessionState};
use perspt_core::tree::{Change, Tree};
use perspt_lang::plugin::Files;

use super::{Finder, Payload, Reading, Recovery, Rejection, Shape, Wanted, capture, read};
use crate::actor::Actor;
use crate::apply::{Commands, restore_secrets};
use crate::error::EffectError;
use crate::plan::roots_of_files;
use crate::ports::Acted;
use crate::verify::masked_lines;

/// Lines of a rejection that an event carries; the evidence holds all of them.
const LINES: usize = 12;
const LINE_CHARS: usize = 600;

/// An answer to be read.
pub(crate) struct ParseRequest<'a> {
    pub effect: EffectId,
    pub node: Option<&'a NodeId>,
    pub answer: BlobId,
    pub expects: &'a Expects,
}

/// What a node's answer says.
enum Answer {
    /// It can be laid out.
    Changes(Box<Accepted>),
    /// The model wants to see something first.
    Requests(Vec<ContextRequest>),
}

/// An answer that can be laid out.
struct Accepted {
    bundle: Bundle,
    changes: Vec<Change>,
    /// New files that become the node's own.
    widened: Vec<RelPath>,
    /// The roots of all its files, where nobody planned them.
    roots: Vec<RootRef>,
    commands: Commands,
}

/// How much of an answer's form is forgiven in this session.
pub(crate) fn recovery(state: &SessionState) -> Recovery {
    if state.settings().strict_answers { Recovery::Strict } else { Recovery::Tolerant }
}

impl Actor {
    /// What came, without a secret that it may repeat.
    pub(crate) fn capture(&self, text: &str) -> Capture {
        let capture = capture(text);
        let first_line = self.parts.masks.masked(&capture.first_line);
        Capture { first_line, ..capture }
    }

    pub(crate) fn parse(
        &self,
        state: &SessionState,
        request: &ParseRequest<'_>,
    ) -> Result<Acted, EffectError> {
        let ParseRequest { effect, node, answer, expects } = *request;
        match expects {
            Expects::Plan => self.parse_plan(effect, state, answer, None),
            Expects::PlanOrFallback => {
                let task = state.meta.as_ref().map(|meta| meta.task.as_str());
                self.parse_plan(effect, state, answer, task)
            }
            Expects::Bundle(branch) => {
                let node = node.and_then(|id| state.nodes.get(id)).ok_or(EffectError::Cancelled)?;
                self.parse_bundle(state, node, answer, branch).map(Acted::from)
            }
            Expects::Analysis => self.parse_analysis(state, answer).map(Acted::from),
        }
    }

    fn parse_analysis(&self, state: &SessionState, answer: BlobId) -> Result<Ended, EffectError> {
        let text = self.load_answer(answer)?;
        let capture = self.capture(&text);
        let wanted = Wanted::one_of(&[Shape::Analysis]).with(recovery(state));
        Ok(match read(&text, &wanted) {
            Ok(Reading { payload: Payload::Analysis(analysis), state, finder, recovered }) => {
                Ended::AnalysisParsed {
                    state,
                    capture,
                    recovered: told(finder, &recovered),
                    analysis: Some(self.store_text(&analysis)?),
                }
            }
            Ok(Reading { state, .. }) | Err(Rejection { state, .. }) => {
                Ended::AnalysisParsed { state, capture, recovered: Recovered::default(), analysis: None }
            }
        })
    }

    /// Reads an answer as a bundle for a node, over the branch it is to be laid on.
    fn parse_bundle(
        &self,
        state: &SessionState,
        node: &Node,
        answer: BlobId,
        branch: &Branch,
    ) -> Result<Ended, EffectError> {
        let text = self.load_answer(answer)?;
        let shapes = match node.solo {
            // Nothing is offered that would end a node which is the whole task.
            true => &[Shape::Bundle, Shape::PlanWithBundle, Shape::ContextRequests][..],
            false => &[Shape::Bundle, Shape::PlanWithBundle, Shape::ContextRequests, Shape::Replan][..],
        };
        let mut came = Read {
            capture: self.capture(&text),
            state: ParseState::StructuredOk,
            recovered: Recovered::default(),
        };
        let understood = match read(&text, &Wanted::one_of(shapes).with(recovery(state))) {
            Ok(reading) => {
                came.state = reading.state;
                came.recovered = told(reading.finder, &reading.recovered);
                self.understood(state, node, reading.payload, branch)?
            }
            Err(rejection) => Err(rejection),
        };
        Ok(match understood {
            Ok(Answer::Changes(accepted)) => {
                let changes = self.store_blob(&accepted.changes)?;
                came.accepted(*accepted, changes)
            }
            Ok(Answer::Requests(requests)) => came.requesting(requests),
            Err(rejection) => {
                came.state = rejection.state;
                let lines = bounded(&masked_lines(&self.parts.masks, &rejection.lines));
                came.rejected(rejection.retry, lines, answer)
            }
        })
    }

    /// The meaning of an answer that could be read.
    fn understood(
        &self,
        state: &SessionState,
        node: &Node,
        payload: Payload,
        branch: &Branch,
    ) -> Result<Result<Answer, Rejection>, EffectError> {
        let rejected = |state, retry, lines| Ok(Err(Rejection { state, retry, lines }));
        let semantic = |lines| rejected(ParseState::SemanticallyRejected, RetryClass::Retarget, lines);
        let bundle = match payload {
            Payload::Bundle(bundle) | Payload::PlanWithBundle { bundle, .. } => bundle,
            Payload::ContextRequests(requests) => {
                return Ok(Ok(Answer::Requests(
                    requests.into_iter().take(REQUESTS_MAX).map(shortened).collect(),
                )));
            }
            Payload::Replan(replan) => {
                return rejected(ParseState::RequiresReplan, RetryClass::Replan, vec![replan.line()]);
            }
            Payload::Plan(_) | Payload::Analysis(_) => {
                let line = "the answer holds no changes".to_owned();
                return rejected(ParseState::SchemaInvalid, RetryClass::Malformed, vec![line]);
            }
        };
        let files = self.compared_files(branch)?;
        let restored = restore_secrets(&bundle, &files.candidate, &self.parts.masks);
        files.check_complete()?;
        let bundle = match restored {
            Ok(bundle) => bundle,
            Err(faults) => return semantic(faults),
        };
        let unasked = self.unasked(state, node, &bundle, &files.candidate)?;
        if !unasked.is_empty() {
            return semantic(unasked);
        }
        let applied = self.apply_bundle(state, node, &bundle, &files);
        let mut commands = self.sort_commands(state, node, &bundle.commands, &files.candidate);
        files.check_complete()?;
        let (applied, widened) = match applied {
            Ok(applied) => applied,
            Err(faults) => return semantic(faults),
        };
        commands.needs.extend(self.new_packages(state, node, &applied, &files.candidate));
        let changes = self.changes_with(branch, applied)?;
        if let Some(line) = self.only_tests(state, node, &changes, files.base.tree()) {
            return rejected(ParseState::SemanticallyRejected, RetryClass::Malformed, vec![line]);
        }
        let roots = match node.solo {
            true => {
                let paths: Vec<RelPath> = changes.iter().map(|change| change.path.clone()).collect();
                let mut roots =
                    self.with_project(state, branch, |project| roots_of_files(&paths, project))?;
                roots.truncate(NEW_ROOTS_MAX);
                roots
            }
            false => vec![],
        };
        Ok(Ok(Answer::Changes(Box::new(Accepted { bundle, changes, widened, roots, commands }))))
    }
}

/// The files of the program that a model is reminded of.
const REMINDED: usize = 3;

impl Actor {
    /// What is said to a small model whose first answer holds tests and nothing else, where nobody planned which files
    /// there are to be: small models write tests for what they forget to write. An answer that repeats it counts, but it
    /// is not told so, since it would take the easy way.
    fn only_tests(
        &self,
        state: &SessionState,
        node: &Node,
        changes: &[Change],
        tree: &Tree,
    ) -> Option<String> {
        let plugins = || self.parts.plugins.iter();
        let is_test = |path: &RelPath| plugins().any(|plugin| plugin.is_test_file(path));
        let first = node.attempts == 0 && node.failure.is_none();
        let asks = node.solo && first && state.route(Tier::Actuator).small;
        if !asks || changes.is_empty() || !changes.iter().all(|change| is_test(&change.path)) {
            return None;
        }
        let is_code = |path: &&RelPath| plugins().any(|plugin| plugin.is_source(path)) && !is_test(path);
        let code: Vec<String> =
            tree.entries.keys().filter(is_code).take(REMINDED + 1).map(|path| format!("`{path}`")).collect();
        let which = match code.len() {
            1..=REMINDED => code.join(", "),
            _ => "the file of the program that the task is about".to_owned(),
        };
        Some(format!(
            "only tests came, and nothing of the program was changed. Write {which}, whole and with the change."
        ))
    }
}

/// How an answer was found, where that is worth telling.
pub(crate) fn told(finder: Finder, recovered: &[String]) -> Recovered {
    match (finder, recovered) {
        (Finder::Json | Finder::Blocks, []) => Recovered::default(),
        _ => {
            let cut = |line: &String| line.chars().take(MENDED_CHARS).collect();
            let mended = recovered.iter().take(MENDED_MAX).map(cut).collect();
            Recovered { form: finder.as_str().to_owned(), mended }
        }
    }
}

fn shortened(request: ContextRequest) -> ContextRequest {
    let cut = |text: String| text.chars().take(REQUEST_CHARS).collect();
    match request {
        ContextRequest::Read { path, lines } => ContextRequest::Read { path: cut(path), lines },
        ContextRequest::Search { query } => ContextRequest::Search { query: cut(query) },
        ContextRequest::Symbol { symbol } => ContextRequest::Symbol { symbol: cut(symbol) },
    }
}

/// What is known of an answer before its meaning is.
struct Read {
    capture: Capture,
    state: ParseState,
    recovered: Recovered,
}

impl Read {
    /// An answer that can be laid out. `changes` is the blob with its changes.
    fn accepted(self, accepted: Accepted, changes: BlobId) -> Ended {
        let Accepted { bundle, widened, roots, commands, .. } = accepted;
        Ended::BundleParsed {
            state: self.state,
            capture: self.capture,
            changes: Some(changes),
            retry: None,
            violations: vec![],
            evidence: None,
            widened,
            changes_tests: bundle.changes_tests,
            leaves_red: bundle.leaves_red,
            skipped: commands.skipped,
            refused: commands.refused,
            commands: commands.run,
            needs: commands.needs,
            recovered: self.recovered,
            requests: vec![],
            roots,
        }
    }

    /// An answer that only asks to see something.
    fn requesting(self, requests: Vec<ContextRequest>) -> Ended {
        self.without_changes(None, vec![], None, requests)
    }

    /// An answer that cannot be used.
    fn rejected(self, retry: RetryClass, violations: Vec<String>, answer: BlobId) -> Ended {
        self.without_changes(Some(retry), violations, Some(answer), vec![])
    }

    fn without_changes(
        self,
        retry: Option<RetryClass>,
        violations: Vec<String>,
        evidence: Option<BlobId>,
        requests: Vec<ContextRequest>,
    ) -> Ended {
        Ended::BundleParsed {
            state: self.state,
            capture: self.capture,
            changes: None,
            retry,
            violations,
            evidence,
            widened: vec![],
            changes_tests: vec![],
            leaves_red: vec![],
            skipped: vec![],
            refused: vec![],
            commands: vec![],
            needs: vec![],
            recovered: self.recovered,
            requests,
            roots: vec![],
        }
    }
}

/// As many lines of a rejection as an event carries.
pub(crate) fn bounded(lines: &[String]) -> Vec<String> {
    let mut out: Vec<String> =
        lines.iter().take(LINES).map(|line| line.chars().take(LINE_CHARS).collect()).collect();
    if lines.len() > LINES {
        out.push(format!("(and {} more)", lines.len() - LINES));
    }
    out
}
