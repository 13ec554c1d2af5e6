//! What the log owes next: decisions that follow from the facts in it, as events of their own.

use super::node::{Node, Work};
use super::{PlanWork, SessionState, Stop};
use crate::effect::Effect;
use crate::energy::Energy;
use crate::event::{
    Category, Certificate, Closed, EscalateReason, Event, RetryClass, StageResult, StageVerdict, Trouble,
    Verdict,
};
use crate::hash::ShaBuilder;
use crate::ids::{Millis, NodeId};
use crate::outcome::{Closing, EndReason, FinalPass, NodeEnd, outcome};
use crate::path::RelPath;
use crate::reading::Status;

/// How often in a row the same answer or the same findings may come before a node is given up.
const SAME_IN_A_ROW: u32 = 3;

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
        if !idle || self.stop == Stop::Abort {
            return None;
        }
        // Judgements that cost nothing are made even while pausing, so that a resume starts from them.
        self.decision().or_else(|| self.stopping(now))
    }

    fn decision(&self) -> Option<Event> {
        if let PlanWork::Proposed(source) = self.planning.work {
            return Some(self.adoption(source));
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
                what: format!("`{}` cannot be used to verify this project", missing.tool),
                why: missing.why.clone(),
                todo: missing.install.clone(),
            };
            return Some(self.ending(EndReason::Degraded, Some(trouble)));
        }
        if self.refused {
            return Some(self.ending(EndReason::Refused, None));
        }
        if self.stop == Stop::Pause {
            return Some(self.ending(EndReason::Paused, None));
        }
        let next = self.next_effect();
        // A request that has to wait is measured by the moment it could begin.
        if let Some((node, Effect::Ask { estimate, .. })) = &next
            && let Some(kind) = self.budget_refusal(*estimate, now.max(self.asker_of(node).not_before))
        {
            let trouble = Trouble {
                what: "the session's budget does not cover the next model call".to_owned(),
                why: format!("{} would be passed", kind.flag()),
                todo: format!("`perspt resume` with a higher {} goes on from here", kind.flag()),
            };
            return Some(self.ending(EndReason::Budget, Some(trouble)));
        }
        if next.is_none() && self.all_closed() {
            return Some(self.ending(EndReason::NodesClosed, None));
        }
        None
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

    /// The judgement of a candidate once every stage that can look has looked.
    fn judgement(&self, node: &Node) -> Option<Event> {
        let Work::Verifying(candidate) = &node.work else { return None };
        if self.next_stage(node).is_some() || self.degraded.is_some() {
            return None;
        }
        let settings = self.settings();
        let required = self.required_stages(&node.roots);
        let energy = Energy::of(&candidate.readings, &required, &settings.weights);
        let best = node.best.as_ref().and_then(|best| best.energy.as_ref());
        let verdict = if energy.is_stable(&settings.weights) && !required.is_empty() {
            Verdict::Stable
        } else if best.is_none_or(|best| energy.rank() < best.rank()) {
            Verdict::Improved
        } else {
            Verdict::Discarded
        };
        let stages = required
            .iter()
            .map(|stage| {
                let reading = candidate.readings.iter().find(|reading| reading.stage == *stage);
                let result = match reading.map(|reading| &reading.status) {
                    None | Some(Status::NotRun(_)) => StageResult::NotRun,
                    Some(Status::Unavailable(_)) => StageResult::Unavailable,
                    Some(Status::Measured) => match reading.map_or(0, |reading| reading.errors) {
                        0 => StageResult::Pass,
                        errors => StageResult::Fail(errors),
                    },
                };
                StageVerdict {
                    stage: stage.clone(),
                    tool: reading.map_or_else(|| self.tool_of(stage), |reading| reading.tool.clone()),
                    result,
                    tests: reading.and_then(|reading| reading.tests),
                }
            })
            .collect();
        Some(Event::AttemptJudged {
            node: node.spec.id.clone(),
            attempt: node.attempts.saturating_add(1),
            tree: candidate.branch.tree,
            stages,
            energy,
            threshold: settings.weights.epsilon,
            verdict,
            reason: candidate.readings.iter().flat_map(|reading| reading.headlines.iter()).next().cloned(),
        })
    }

    pub(super) fn tool_of(&self, stage: &crate::reading::StageId) -> String {
        self.probed
            .iter()
            .flatten()
            .filter(|root| root.root.dir == stage.root && root.root.plugin == stage.plugin)
            .flat_map(|root| &root.stages)
            .find(|tool| tool.kind == stage.kind)
            .map_or_else(|| stage.kind.as_str().to_owned(), |tool| tool.tool.clone())
    }

    /// Whether the node is given up before its next request, and with what certificate.
    fn give_up(&self, node: &Node) -> Option<Certificate> {
        let failure = node.failure.as_ref();
        let asks_next = matches!(node.work, Work::Context(_));
        let settings = self.settings();
        let reason = if node.rebuilds > settings.rebuilds {
            EscalateReason::BaseKeptMoving
        } else if !asks_next {
            return None;
        } else if failure.is_some_and(|failure| failure.class == RetryClass::Replan) {
            EscalateReason::RequiresReplan
        } else if failure.is_none() && node.answers_used() < settings.answers {
            return None;
        } else if failure.is_none() && node.rebuilds > 0 {
            EscalateReason::BaseKeptMoving
        } else if node.same_answer.times >= SAME_IN_A_ROW || node.same_findings.times >= SAME_IN_A_ROW {
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

    fn certificate(&self, node: &Node, reason: EscalateReason) -> Certificate {
        const LINES: usize = 12;
        let class = node.failure.as_ref().map(|failure| failure.class);
        let (category, next) = match (reason, class) {
            (EscalateReason::RequiresReplan, _) => (
                Category::TopologyMismatch,
                "the plan gave this node too few files: name them in the task and run again",
            ),
            (EscalateReason::BaseKeptMoving, _) => (
                Category::TopologyMismatch,
                "files that the REBASE lines name kept changing: run again when they are settled, or let the ignore rules have what a program writes",
            ),
            // Where something was measured, what the tools found is what stands in the way.
            (_, Some(RetryClass::Malformed)) if node.best.is_none() => (
                Category::ModelCapability,
                "no answer came that could be used, the residuals say why: try another model with `--model`",
            ),
            (_, Some(RetryClass::Retarget)) if node.best.is_none() && node.rebuilds == 0 => (
                Category::ModelCapability,
                "what the model wanted to do to the files was refused: name in the task what may change, or try another model with `--model`",
            ),
            (_, Some(_) | None) if node.rebuilds > 0 => (
                Category::ImplementationError,
                "you changed files while this node was worked on: where the residuals lie in them, mend those, then run again",
            ),
            (_, Some(_) | None) => (
                Category::ImplementationError,
                "read the residuals: say in the task what may change (`… and update the tests`), make it smaller or more exact, or try another model",
            ),
        };
        let best = node.best.as_ref();
        let mut residuals: Vec<String> =
            node.failure.iter().flat_map(|failure| failure.lines.clone()).collect();
        residuals.truncate(LINES);
        // Answers are not kept beyond their node; what was wrong with one stands in the lines.
        if class != Some(RetryClass::Correction) {
            // What the tools found before the model went astray is still what is wrong.
            let found = best.iter().flat_map(|best| &best.readings).flat_map(|reading| &reading.headlines);
            residuals.extend(found.take(LINES).cloned());
        }
        let measured = node.failure.iter().filter(|failure| failure.class == RetryClass::Correction);
        Certificate {
            reason,
            category,
            energy: best.and_then(|best| best.energy.clone()),
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
            self.nodes
                .get(*id)
                .is_some_and(|node| matches!(node.end, Some(NodeEnd::Escalated | NodeEnd::Blocked)))
        };
        self.order.iter().filter_map(|id| self.nodes.get(id)).filter(|node| node.end.is_none()).find_map(
            |node| {
                let by = node.spec.dependencies.iter().find(lost)?;
                Some((node.spec.id.clone(), by.clone()))
            },
        )
    }

    fn ending(&self, reason: EndReason, trouble: Option<Trouble>) -> Event {
        const LISTED: usize = 50;
        let ends = self.node_ends();
        let owed: Vec<RelPath> = self.owed.values().flatten().take(LISTED).cloned().collect();
        let closing = Closing { final_pass: self.final_pass(&ends), evidence_owed: !owed.is_empty() };
        Event::SessionEnded { reason, outcome: outcome(reason, &ends, closing), closing, trouble, owed }
    }

    /// The head's readings are the final pass: `wanted` has taken every one that was missing.
    fn final_pass(&self, ends: &[NodeEnd]) -> FinalPass {
        if !ends.contains(&NodeEnd::Committed) {
            return FinalPass::NotNeeded;
        }
        let clean = self.live_roots().all(|root| {
            self.root_stages(root).is_some_and(|stages| {
                stages.stages.iter().filter(|tool| tool.required).all(|tool| {
                    let readings = self.baseline_of(&root.stage(tool.kind));
                    !readings.is_empty() && readings.iter().all(|reading| reading.is_green())
                })
            })
        });
        if clean { FinalPass::Clean } else { FinalPass::Red }
    }
}
