//! Headless lines: one stage a line, `key=value` fields.

use perspt_agent::ports::{Appended, View};
use perspt_core::context::ContextRequest;
use perspt_core::effect::{Effect, EffectKind, EffectNote, Intent};
use perspt_core::event::{
    AskNext, Calibration, Certificate, Closed, Decision, Ended, Event, MissingTool, Recovered, Verdict,
};
use perspt_core::ids::{Millis, NodeId};
use perspt_core::outcome::EndReason;
use perspt_core::reading::StageKind;
use perspt_core::route::TierRoute;
use perspt_core::stage::Want;
use perspt_core::state::{SessionState, Work};

use super::money::models_fields;
use super::plan::{PlanShown, mode, plan_lines};
use super::progress::Progress;
use super::readings::{already_failing, look};
use super::summary::summary;
use super::text::{
    consents_field, diff_fields, energy_fields, kept_place, languages_field, preset_field, verdict_field,
    why_words,
};
use crate::out::{self, plain, value};

/// The lines.
#[derive(Default)]
pub struct Lines {
    plan: PlanShown,
    progress: Progress,
}

impl View for Lines {
    fn saw(&mut self, Appended { at, event, state, history, .. }: Appended<'_>) {
        self.progress.clear();
        if self.plan.is_owed(event) {
            plan_lines(state, out::line);
        }
        match event {
            Event::SessionStarted(started) => {
                out::line(&format!(
                    "SESSION id={} workspace={} model={}",
                    started.session,
                    value(&started.workspace),
                    value(&started.model)
                ));
                models_line(&started.routes);
            }
            Event::SessionResumed(resumed) => {
                let meta = state.meta.as_ref();
                out::line(&format!(
                    "RESUME session={} workspace={}",
                    meta.map(|meta| meta.session.to_string()).unwrap_or_default(),
                    value(meta.map_or("", |meta| &meta.workspace))
                ));
                models_line(&resumed.routes);
            }
            Event::TailCut { bytes, kept_as, .. } => {
                out::line(&format!("REPAIR torn_record={bytes} kept_as={}", value(kept_as)));
            }
            Event::BytesKept { path, place } => {
                let at = state.meta.as_ref().map(|meta| kept_place(&meta.session, place));
                let (path, at) = (value(path.as_str()), value(&at.unwrap_or_default()));
                out::line(&format!("KEPT your_bytes_of={path} in={at}"));
            }
            Event::EffectStarted { key, effect, .. } => {
                already_failing(key.node.as_ref(), effect, state);
                node_line(key.node.as_ref(), effect, state);
                self.progress.show(effect);
            }
            Event::EffectEnded { of, outcome, .. } => ended(of.as_deref(), outcome, at, state),
            Event::NodeProposed { .. } => {}
            Event::TierMoved { tier, from, to, why } => {
                let (from, to, why) = (value(from), value(to), value(why));
                out::line(&format!("FALLBACK tier={} from={from} to={to} why={why}", tier.as_str()));
            }
            Event::PlanAdopted { .. } => plan_lines(state, out::line),
            Event::AttemptJudged { node, stages, energy, threshold, verdict, .. } => {
                let roots =
                    stages.iter().map(|stage| &stage.stage.root).collect::<std::collections::BTreeSet<_>>();
                let fields: Vec<String> =
                    stages.iter().map(|stage| verdict_field(stage, roots.len() > 2)).collect();
                out::line(&format!("VERIFY {}", fields.join(" ")));
                out::line(&format!("ENERGY {}", energy_fields(energy, stages, *threshold)));
                if *verdict == Verdict::Waits {
                    wait_lines(node, state);
                }
            }
            Event::NodeClosed { node, end } => match end {
                Closed::Escalated { certificate } => escalate_lines(node, certificate),
                Closed::Blocked { by } => out::line(&format!("BLOCKED node={node} by={by}")),
                Closed::Rejected => out::line(&format!("REJECTED node={node} by=you")),
            },
            Event::PauseAsked => out::note("pausing: what runs is finished first; Ctrl-C again aborts"),
            Event::AbortAsked { by } => out::line(&format!("ABORT by={}", value(by))),
            Event::SessionEnded { .. } => summary(state, history),
        }
    }
}

fn node_line(node: Option<&NodeId>, effect: &Effect, state: &SessionState) {
    let Some(node) = node.and_then(|id| state.nodes.get(id)) else { return };
    let intent = match effect {
        Effect::Assemble { intent, .. } => intent,
        // Its first answer came together with the plan.
        Effect::Parse { .. } if node.prompt.is_none() => &node.first_intent(),
        _ => return,
    };
    match intent {
        Intent::Generate | Intent::SoloGenerate => {
            let again = if node.generation > 0 { " rebuilt=base-moved" } else { "" };
            out::line(&format!("NODE id={} goal={}{again}", node.spec.id, value(&node.spec.goal)));
        }
        Intent::Correction | Intent::SoloCorrection | Intent::Retarget | Intent::Malformed => {
            if let Some(failure) = &node.failure {
                let corrects = *intent == node.correction_intent();
                let kept = if node.discarded && corrects { " kept=best-before" } else { "" };
                out::line(&format!(
                    "RETRY class={} reason={}{kept}",
                    failure.class.as_str(),
                    value(&failure.reason)
                ));
            }
            out::line(&format!("NODE id={} retry={}", node.spec.id, node.attempts));
        }
        Intent::ArchitectExisting | Intent::ArchitectGreenfield | Intent::Analysis => {}
    }
}

/// Whether what is due after a failed request means that there will be no other. One that is paused goes on.
fn is_last(due: &Option<Event>) -> bool {
    match due {
        Some(Event::SessionEnded { reason, .. }) => {
            matches!(reason, EndReason::Provider | EndReason::Budget)
        }
        Some(Event::NodeClosed { .. }) => true,
        _ => false,
    }
}

fn ended(of: Option<&EffectNote>, outcome: &Ended, at: Millis, state: &SessionState) {
    let node = of.and_then(|of| of.node.as_ref());
    match outcome {
        Ended::Snapshotted { files, repo_mode, notes, .. } => {
            out::line(&format!(
                "DETECT plugins={} files={files} repo_mode={}",
                languages_field(state),
                mode(*repo_mode)
            ));
            notes.iter().for_each(|note| out::note(&format!("note: {}", plain(note))));
        }
        Ended::Probed { roots, tools, confinement, .. } => {
            out::line(&format!(
                "TOOLS {} confinement={}",
                tools.iter().map(|tool| value(tool)).collect::<Vec<_>>().join(" "),
                value(confinement)
            ));
            roots.iter().flat_map(|root| &root.left_out).for_each(left_out);
        }
        Ended::Measured { reading, environment, reused, .. } if node.is_none() => {
            look(reading, *reused, state);
            if let (Some(missing), true) = (environment, state.degraded.is_none()) {
                let (root, tool) = (plain(reading.stage.root.shown()), &missing.tool);
                out::note(&format!("note: `{root}` cannot be measured ({tool}: {})", plain(&missing.why)));
                out::note(&format!("      {}", plain(&missing.install)));
            }
        }
        Ended::Calibrated { verdict, .. } => {
            let stage = match of.map(|of| of.kind) {
                Some(EffectKind::Calibrate(stage)) => stage.as_str(),
                _ => "?",
            };
            let result = match verdict {
                Calibration::Sees(plants) => format!("sees planted={}", value(&plants.join("; "))),
                Calibration::Remembered => "remembered".to_owned(),
                Calibration::Blind(plant) => format!("blind plant={}", value(plant)),
                Calibration::Unmeasured(why) => format!("unmeasured why={}", value(why)),
            };
            out::line(&format!("CALIBRATE stage={} result={result}", stage));
            let kind = of.and_then(|of| match of.kind {
                EffectKind::Calibrate(stage) => Some(stage),
                _ => None,
            });
            let goes_on = |kind: StageKind| state.settings().preset.wants(kind) == Want::WhereItWorks;
            if matches!(verdict, Calibration::Blind(_) | Calibration::Unmeasured(_))
                && kind.is_some_and(goes_on)
            {
                out::note("note: what it finds is shown from now on, and does not count");
            }
        }
        Ended::Assembled { context, files, degraded, tokens, .. } if node.is_some() => {
            let (hash, files) = (context.short(), files.len());
            out::line(&format!("CONTEXT hash={hash} files={files} digests=0 seals=0 tokens={tokens}"));
            degraded.iter().for_each(|line| out::note(&format!("context: not shown: {}", plain(line))));
        }
        Ended::AskFailed { class, what, next, .. } => {
            let next = match next {
                _ if is_last(&state.due(at)) => "give-up",
                AskNext::Again(_) => "again",
                AskNext::Malformed => "retry",
                AskNext::Unusable => "give-up",
            };
            out::line(&format!("MODEL error={class} next={next} what={}", value(what)));
        }
        Ended::Measured { reading, .. } if of.is_some_and(|of| of.kind == EffectKind::RunOldTests) => {
            let tests = reading.tests.unwrap_or_default();
            out::line(&format!("OLD-TESTS passed={} failed={}", tests.passed, tests.failed));
        }
        Ended::NewTestsRan { tests, .. } if tests.added > 0 => {
            out::line(&format!("NEW-TESTS added={} fail_on_old_code={}", tests.added, tests.failed_before));
        }
        Ended::TooLargeForModel { needed, window, model } => {
            let next = if node.is_some() { "give-up" } else { "plan-without-architect" };
            let model = value(model);
            out::line(&format!(
                "CONTEXT too-large needed={needed} window={window} model={model} next={next}"
            ));
        }
        Ended::AnalysisParsed { analysis, .. } => {
            let usable = if analysis.is_some() { "usable" } else { "unusable" };
            out::line(&format!("ANALYSIS result={usable}"));
        }
        Ended::BundleParsed { widened, skipped, refused, recovered, requests, .. } => {
            let Some(node) = node else { return };
            // An answer that came with the plan was told with it.
            if state.nodes.get(node).is_some_and(|node| node.prompt.is_some()) {
                read_line(recovered);
            }
            for request in requests {
                let asked = match request {
                    ContextRequest::Read { path, .. } => format!("read={}", value(path)),
                    ContextRequest::Search { query } => format!("search={}", value(query)),
                    ContextRequest::Symbol { symbol } => format!("symbol={}", value(symbol)),
                };
                out::line(&format!("LOOKUP node={node} {asked}"));
            }
            if !widened.is_empty() {
                let paths: Vec<&str> = widened.iter().map(|path| path.as_str()).collect();
                out::line(&format!("SCOPE node={node} widened={}", value(&paths.join(","))));
            }
            for command in skipped {
                out::line(&format!("COMMAND skipped={} why=measured-anyway", value(command)));
            }
            refused.iter().for_each(|line| out::line(&format!("COMMAND refused={}", value(line))));
            wait_lines(node, state);
        }
        Ended::LayoutRefused { .. } => {}
        Ended::PlanParsed { proposed: Some(_), settled, recovered, .. } => {
            read_line(recovered);
            settled.iter().for_each(|line| out::line(&format!("PLAN put-right={}", value(line))));
        }
        Ended::PlanParsed { proposed: None, diagnostics, .. } => {
            let reason = diagnostics.first().map_or("the plan cannot be used", String::as_str);
            out::line(&format!("RETRY class=plan reason={}", value(reason)));
        }
        Ended::LaidOut { diff, runs, .. } => {
            for run in runs.iter().filter(|run| run.step.starts_with("command/")) {
                out::line(&format!("COMMAND ran={} end={}", value(&run.command), value(&run.end)));
            }
            out::line(&format!("DIFF {}", diff_fields(diff)));
        }
        Ended::Published { commit, .. } => {
            let unmeasured = if commit.unmeasured.is_empty() { "" } else { " promises=unmeasured" };
            out::line(&format!(
                "COMMIT node={} merkle={} evidence={}{unmeasured}{}{} ledger={}",
                commit.node,
                commit.merkle.short(),
                commit.grade.as_str(),
                preset_field(commit.preset),
                consents_field(&commit.consents),
                commit.id().short()
            ));
            commit.below.iter().for_each(|line| out::note(&format!("note: {}", plain(line))));
            let promised =
                |line: &String| out::note(&format!("note: promised, not measured: {}", plain(line)));
            commit.unmeasured.iter().for_each(promised);
        }
        Ended::BaseMoved { changed, .. } => {
            let paths: Vec<&str> = changed.iter().map(|path| path.as_str()).take(8).collect();
            out::line(&format!("REBASE your_changes={}", value(&paths.join(","))));
        }
        Ended::Overtaken { files } => {
            let paths: Vec<&str> = files.iter().map(|path| path.as_str()).take(8).collect();
            let node = node.map(NodeId::as_str).unwrap_or_default();
            out::line(&format!("REBASE node={node} asked-again changed-since={}", value(&paths.join(","))));
        }
        Ended::Decided { answer, from: Some(from), .. } => {
            let answer = match answer {
                Decision::Yes => "yes".to_owned(),
                Decision::No => "no".to_owned(),
                Decision::Correct(why) => value(why),
            };
            out::line(&format!("ANSWER answer={answer} from={}", value(from)));
        }
        Ended::NewTestsRan { .. }
        | Ended::Decided { .. }
        | Ended::Measured { .. }
        | Ended::Assembled { .. }
        | Ended::PlannedLocally
        | Ended::Answered { .. }
        | Ended::Fetched { .. }
        | Ended::Judged { .. }
        | Ended::Unworkable { .. }
        | Ended::Broke { .. }
        | Ended::Lost
        | Ended::Cancelled => {}
    }
}

/// Which models are asked.
fn models_line(routes: &[TierRoute]) {
    if !routes.is_empty() {
        out::line(&format!("MODELS {}", models_fields(routes)));
    }
}

/// How an answer was understood that did not come as it was asked for.
fn read_line(recovered: &Recovered) {
    if recovered.is_plain() {
        return;
    }
    let mended = match recovered.mended.len() {
        0 => String::new(),
        _ => format!(" put-right={}", value(&recovered.mended.join("; "))),
    };
    out::line(&format!("READ form={}{mended}", value(&recovered.form)));
}

/// What a node waits for, and the words that let it go on.
fn wait_lines(node: &NodeId, state: &SessionState) {
    let Some(Work::Waiting(wait)) = state.nodes.get(node).map(|node| &node.work) else { return };
    for need in &wait.needs {
        out::line(&format!(
            "WAIT node={node} consent={} why={}",
            value(&format!("{}:{}", need.kind, need.subject)),
            value(&why_words(need))
        ));
        need.notes.iter().for_each(|note| out::note(&format!("  {}", plain(note))));
    }
    let more = (wait.count as usize).saturating_sub(wait.needs.len());
    if more > 0 {
        out::note(&format!("  (and {more} more)"));
    }
}

/// A tool that the project asks for and that is left out.
fn left_out(tool: &MissingTool) {
    out::note(&format!("note: {} is left out ({})", plain(&tool.tool), plain(&tool.why)));
    out::note(&format!("      {}", plain(&tool.install)));
}

fn escalate_lines(node: &NodeId, certificate: &Certificate) {
    out::line(&format!(
        "ESCALATE node={node} category={} reason={} answers={} next={}",
        certificate.category.as_str(),
        value(&format!("{:?}", certificate.reason)),
        certificate.answers,
        value(&certificate.next)
    ));
    for line in &certificate.residuals {
        out::line(&format!("  found {}", plain(line)));
    }
}
