//! What the log owes next: decisions that follow from the facts in it, as events of their own.

use super::apply::REQUIRE;
use super::node::{Candidate, Node, Work};
use super::{PlanWork, SessionState, Stop};
use crate::consent::{ConsentKind, Need, flags_for};
use crate::effect::Effect;
use crate::event::{
    AnalysisChoice, Category, Certificate, Closed, EscalateReason, Event, JudgementNote, RetryClass,
    StageTool, Trouble, Verdict,
};
use crate::hash::ShaBuilder;
use crate::ids::{Millis, NodeId};
use crate::outcome::{Closing, EndReason, FinalPass, NodeEnd, outcome};
use crate::reading::StageId;
use crate::route::Tier;
use crate::stage::StageRole;

/// How often in a row the same answer or the same findings may come before a node is given up.
const SAME_IN_A_ROW: u32 = 3;

/// From so many headlines on, a judgement is long: it carries no more of them.
const MANY_HEADLINES: usize = 12;

impl SessionState {
    /// The next event that must be recorded before anything else is started; `None` where nothing is owed.
    pub fn due(&self, now: Millis) -> Option<Event> {
        if self.meta.is_none() || self.end.is_some() {
            return None;
        }
        let idle = self.in_flight.is_empty();
        if idle && self.stop == Stop::Abort {
            return Some(self.ending(EndReason::Aborted, None));
        }
        if idle && let Some(trouble) = &self.broke {
            return Some(self.ending(EndReason::Internal, Some(trouble.clone())));
        }
        if let (Some((tier, why)), true) = (&self.failing, self.stop != Stop::Abort)
            && let Some(fallback) = self.fallback(*tier)
        {
            let (from, to) = (self.route(*tier).model, fallback.model.clone());
            return Some(Event::TierMoved { tier: *tier, from, to, why: why.clone() });
        }
        if let (PlanWork::Proposed(source), true) = (self.planning.work.clone(), self.stop != Stop::Abort) {
            // A plan does not wait for what is measured beside it.
            return Some(self.adoption(source));
        }
        if !idle || self.stop == Stop::Abort {
            return None;
        }
        // Judgements that cost nothing are made even while pausing, so that a resume starts from them.
        self.decision().or_else(|| self.stopping(now))
    }

    fn decision(&self) -> Option<Event> {
        if let Some(node) = self.nodes.values().find(|node| node.refused && node.end.is_none()) {
            return Some(Event::NodeClosed { node: node.spec.id.clone(), end: Closed::Rejected });
        }
        if let Some(node) = self.active.as_ref().and_then(|id| self.nodes.get(id)) {
            if let Some(event) = self.judgement(node) {
                return Some(event);
            }
            if let Some(certificate) = self.give_up(node) {
                let end = Closed::Escalated { certificate: Box::new(certificate) };
                return Some(Event::NodeClosed { node: node.spec.id.clone(), end });
            }
        }
        self.blocked().map(|(node, by)| Event::NodeClosed { node, end: Closed::Blocked { by } })
    }

    fn stopping(&self, now: Millis) -> Option<Event> {
        if let Some(trouble) = &self.unworkable {
            return Some(self.ending(EndReason::Usage, Some(trouble.clone())));
        }
        if let Some(trouble) = &self.provider {
            return Some(self.ending(EndReason::Provider, Some(trouble.clone())));
        }
        if let Some(missing) = &self.degraded {
            let trouble = Trouble {
                what: match missing.tool.starts_with(REQUIRE) {
                    true => format!("less was proved than `{}` asks for", missing.tool),
                    false => format!("`{}` cannot be used to verify this project", missing.tool),
                },
                why: missing.why.clone(),
                todo: missing.install.clone(),
            };
            return Some(self.ending(EndReason::Degraded, Some(trouble)));
        }
        if self.refused {
            return Some(self.ending(EndReason::Refused, None));
        }
        if self.verifies() {
            let over = self.stop == Stop::No && self.next_effects().is_empty();
            let (reason, trouble) = if over { self.verified() } else { (EndReason::Paused, None) };
            return (over || self.stop == Stop::Pause).then(|| self.ending(reason, trouble));
        }
        if self.stop == Stop::Pause {
            return Some(self.ending(EndReason::Paused, None));
        }
        let next = self.next_effects();
        // A request that has to wait is measured by the moment it could begin.
        let refused = next.iter().find_map(|(node, effect)| match effect {
            Effect::Ask { estimate, .. } => {
                self.budget_refusal(*estimate, now.max(self.asker_of(node).not_before))
            }
            _ => None,
        });
        if let Some(kind) = refused {
            let trouble = Trouble {
                what: "the session's budget does not cover the next model call".to_owned(),
                why: format!("it could go over {}", kind.flag()),
                todo: format!("`perspt resume` with a higher {} goes on from here", kind.flag()),
            };
            return Some(self.ending(EndReason::Budget, Some(trouble)));
        }
        if next.is_empty() && self.all_closed() {
            return Some(self.ending(EndReason::NodesClosed, None));
        }
        if next.is_empty() && self.planning.work == PlanWork::Done && self.nodes.values().any(Node::waits) {
            return Some(self.ending(EndReason::Consents, Some(self.missing_consents())));
        }
        None
    }

    /// What is missing, and the one command that goes on from here.
    fn missing_consents(&self) -> Trouble {
        let needs: Vec<&Need> = self.waiting_needs().collect();
        let flags: Vec<String> =
            self.waiting_flags().iter().map(|flag| format!("--allow {}", quoted(flag))).collect();
        let first = needs.first().map_or_else(String::new, |need| format!("{}: {}", need.subject, need.why));
        let more = match needs.len() {
            0 | 1 => String::new(),
            many => format!(" (and {} more)", many - 1),
        };
        // What waits for a command or a package was not measured yet.
        let early = |need: &&Need| matches!(need.kind, ConsentKind::Command | ConsentKind::Deps);
        let free = if needs.iter().any(early) { "" } else { ", with no new model call" };
        let unmeasured = needs.iter().any(|need| need.kind == ConsentKind::Unmeasured);
        let or = match unmeasured && self.settings().own.commands.test_cmd.is_none() {
            true => "; or begin again with the command that tests it: `perspt agent --test-cmd COMMAND`",
            false => "",
        };
        Trouble {
            what: "finished work waits for your consent".to_owned(),
            why: format!("{first}{more}"),
            todo: format!("`perspt resume {}` goes on from here{free}{or}", flags.join(" ")),
        }
    }

    /// The words of `--allow` that cover everything that waits.
    pub fn waiting_flags(&self) -> Vec<String> {
        let mut flags: Vec<String> = Vec::new();
        for wait in self.nodes.values().filter(|node| node.waits()).filter_map(|node| node.work.wait()) {
            let is_cut = wait.count as usize > wait.needs.len();
            let covers = |flag: String| match flag.split_once(':') {
                Some((kind, _)) if is_cut => format!("{kind}:any"),
                _ => flag,
            };
            for flag in flags_for(&wait.needs).into_iter().map(covers) {
                if !flags.contains(&flag) {
                    flags.push(flag);
                }
            }
        }
        flags
    }

    /// The consents that nodes wait for.
    pub fn waiting_needs(&self) -> impl Iterator<Item = &Need> {
        let waits = self.order.iter().filter_map(|id| self.nodes.get(id)).filter(|node| node.waits());
        waits.flat_map(|node| match &node.work {
            Work::Waiting(wait) => wait.needs.as_slice(),
            _ => &[],
        })
    }

    fn adoption(&self, source: crate::event::PlanSource) -> Event {
        let mut hash = ShaBuilder::default();
        for (node, _) in &self.planning.proposal {
            hash.field(&serde_json::to_vec(node).unwrap_or_default());
        }
        Event::PlanAdopted {
            revision: self.planning.adopted.map_or(1, |adopted| adopted.1.saturating_add(1)),
            source,
            nodes: self.planning.proposal.len() as u32,
            plan: hash.finish(),
        }
    }

    /// The verdict on a candidate once it is judged.
    fn judgement(&self, node: &Node) -> Option<Event> {
        let Work::Verifying(candidate) = &node.work else { return None };
        let judgement = candidate.judgement.as_ref().filter(|_| self.degraded.is_none())?;
        let weights = self.settings().weights;
        let best = node.best.as_ref().and_then(Candidate::energy);
        let verdict = if judgement.energy.is_stable(&weights) && judgement.missing_count == 0 {
            Verdict::Stable
        } else if judgement.energy.is_stable(&weights) {
            Verdict::Waits
        } else if best.is_none_or(|best| judgement.energy.rank() < best.rank()) {
            Verdict::Improved
        } else {
            Verdict::Discarded
        };
        Some(Event::AttemptJudged {
            node: node.spec.id.clone(),
            attempt: node.attempts.saturating_add(1),
            tree: candidate.branch.tree,
            stages: judgement.stages.clone(),
            energy: judgement.energy.clone(),
            threshold: weights.epsilon,
            verdict,
            reason: judgement.headlines.first().cloned(),
            grade: judgement.grade,
            missing: judgement.missing.clone(),
            analysis: match verdict {
                Verdict::Stable | Verdict::Waits => None,
                Verdict::Improved | Verdict::Discarded => Some(self.analysis_choice(judgement)),
            },
        })
    }

    /// A second model's view is worth a call; the same model's only where there is much to read.
    fn analysis_choice(&self, judgement: &JudgementNote) -> AnalysisChoice {
        let same = self.route(Tier::Verifier) == self.route(Tier::Actuator);
        let small = self.route(Tier::Actuator).small;
        if self.no_analysis || (same && (small || judgement.headlines.len() < MANY_HEADLINES)) {
            AnalysisChoice::Skipped
        } else {
            AnalysisChoice::Asked
        }
    }

    fn stage_tool(&self, stage: &StageId) -> Option<&StageTool> {
        let roots = self.probed.iter().flatten();
        roots
            .filter(|root| root.root.dir == stage.root && root.root.plugin == stage.plugin)
            .flat_map(|root| &root.stages)
            .find(|tool| tool.kind == stage.kind)
    }

    pub(super) fn tool_of(&self, stage: &StageId) -> String {
        let tool = self.stage_tool(stage).map(|tool| tool.tool.clone());
        tool.unwrap_or_else(|| stage.kind.as_str().to_owned())
    }

    /// What a stage's result means. One that nobody describes is taken as required, as perspt's own look is.
    pub(super) fn role_of(&self, stage: &StageId) -> StageRole {
        self.stage_tool(stage).map(|tool| tool.role).unwrap_or_default()
    }

    /// Whether the node is given up before its next request, and with what certificate.
    pub(super) fn give_up(&self, node: &Node) -> Option<Certificate> {
        let failure = node.failure.as_ref();
        let asks_next = matches!(node.work, Work::Context(_));
        let settings = self.settings();
        let reason = if node.rebuilds > settings.rebuilds {
            EscalateReason::BaseKeptMoving
        } else if !asks_next {
            return None;
        } else if node.too_large.is_some() {
            EscalateReason::WindowTooSmall
        } else if failure.is_some_and(|failure| failure.class == RetryClass::Replan) {
            EscalateReason::RequiresReplan
        } else if failure.is_none() && node.answers_used() < settings.answers {
            return None;
        } else if failure.is_none() && node.rebuilds > 0 {
            EscalateReason::BaseKeptMoving
        } else if node.same_answer.times >= SAME_IN_A_ROW || self.found_too_often(node) {
            EscalateReason::Repeated
        } else if node.corrections > settings.corrections {
            EscalateReason::RetriesExhausted
        } else if node.answers_used() >= settings.answers {
            match failure.map(|failure| failure.class) {
                Some(RetryClass::Malformed | RetryClass::Retarget) => EscalateReason::Malformed,
                Some(RetryClass::Correction | RetryClass::Replan) | None => EscalateReason::RetriesExhausted,
            }
        } else {
            return None;
        };
        Some(self.certificate(node, reason))
    }

    /// Whether the same findings came too often. A small model writes code and tests by turns, one of them a prompt: what it
    /// mends in one may be seen only after the other, and the corrections are counted anyway.
    fn found_too_often(&self, node: &Node) -> bool {
        !self.route(Tier::Actuator).small && node.same_findings.times >= SAME_IN_A_ROW
    }

    fn certificate(&self, node: &Node, reason: EscalateReason) -> Certificate {
        const LINES: usize = 12;
        let class = node.failure.as_ref().map(|failure| failure.class);
        let (category, next) = match (reason, class) {
            (EscalateReason::RequiresReplan, _) => (
                Category::TopologyMismatch,
                "the plan gave this node too few files: name all of them in the task and run again",
            ),
            (EscalateReason::WindowTooSmall, _) => (
                Category::ModelCapability,
                "what the model must see does not fit its window: choose another with `--model`, or name one place in a smaller task",
            ),
            (EscalateReason::BaseKeptMoving, _) => (
                Category::TopologyMismatch,
                "the files on the REBASE lines kept changing: run again when they no longer change, or let git ignore those that a program writes",
            ),
            // Where something was measured, what the tools found is what stands in the way.
            (_, Some(RetryClass::Malformed)) if node.best.is_none() => (
                Category::ModelCapability,
                "no answer could be used, the findings say why: try another model with `--model`",
            ),
            (_, Some(RetryClass::Retarget)) if node.best.is_none() && node.rebuilds == 0 => (
                Category::ModelCapability,
                "the model named the wrong files or changes: name the files in the task, or try another model with `--model`",
            ),
            (_, Some(_) | None) if node.rebuilds > 0 => (
                Category::ImplementationError,
                "you changed files while perspt worked on this node: fix the findings in them, then run again",
            ),
            (_, Some(_) | None) => (
                Category::ImplementationError,
                "read the findings: make the task smaller or more exact, or try another model",
            ),
        };
        let best = node.best.as_ref();
        let failed = node.failure.iter().flat_map(|failure| failure.lines.clone());
        let mut residuals: Vec<String> = node.too_large.iter().cloned().chain(failed).collect();
        residuals.truncate(LINES);
        // Answers are not kept beyond their node; what was wrong with one stands in the lines.
        if class != Some(RetryClass::Correction) {
            // What the tools found before the model went astray is still what is wrong.
            let found = best.iter().filter_map(|best| best.judgement.as_ref());
            residuals.extend(found.flat_map(|judgement| &judgement.headlines).take(LINES).cloned());
        }
        let measured = node.failure.iter().filter(|failure| failure.class == RetryClass::Correction);
        Certificate {
            reason,
            category,
            energy: best.and_then(|best| best.energy().cloned()),
            residuals,
            evidence: measured.flat_map(|failure| failure.evidence.clone()).take(LINES).collect(),
            answers: node.answers_used(),
            corrections: node.corrections.min(self.settings().corrections),
            head: self.head.map_or(crate::ids::TreeId(crate::hash::Sha::ZERO), |head| head.id),
            next: next.to_owned(),
        }
    }

    /// A node that waits for one that did not make it.
    fn blocked(&self) -> Option<(NodeId, NodeId)> {
        let lost = |id: &&NodeId| {
            self.nodes.get(*id).is_some_and(|node| {
                matches!(node.end, Some(NodeEnd::Escalated | NodeEnd::Blocked | NodeEnd::Rejected))
            })
        };
        self.order.iter().filter_map(|id| self.nodes.get(id)).filter(|node| node.end.is_none()).find_map(
            |node| {
                let by = node.spec.dependencies.iter().find(lost)?;
                Some((node.spec.id.clone(), by.clone()))
            },
        )
    }

    fn ending(&self, reason: EndReason, trouble: Option<Trouble>) -> Event {
        let ends = self.node_ends();
        let final_pass = match reason {
            EndReason::NodesClosed => self.final_pass(&ends),
            // The last look comes when every node is closed.
            _ => FinalPass::NotNeeded,
        };
        let closing = Closing { final_pass };
        Event::SessionEnded { reason, outcome: outcome(reason, &ends, closing), closing, trouble }
    }

    /// What each node was judged by is of the head's own tree; what only the last look measured was judged then.
    fn final_pass(&self, ends: &[NodeEnd]) -> FinalPass {
        if self.verifies() {
            return if self.is_clean() { FinalPass::Clean } else { FinalPass::Red };
        }
        if !ends.contains(&NodeEnd::Committed) {
            return FinalPass::NotNeeded;
        }
        let weights = self.settings().weights;
        let looked =
            self.last_look.as_ref().filter(|(tree, _)| self.head.is_some_and(|head| head.id == *tree));
        let clean = match looked {
            Some((_, judgement)) => judgement.energy.is_stable(&weights),
            None => self.unjudged_stages().is_empty(),
        };
        if clean { FinalPass::Clean } else { FinalPass::Red }
    }
}

/// A word as a shell takes it.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@+".contains(c);
    if word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}
