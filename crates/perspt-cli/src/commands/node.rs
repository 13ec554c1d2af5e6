//! `perspt ledger --node`: what became of one node, attempt by attempt.

use std::collections::BTreeMap;

use perspt_core::event::{Certificate, Closed, Commit, Ended, Event};
use perspt_core::ids::{EffectId, NodeId, SessionId};
use perspt_core::state::{Node, SessionState};
use perspt_core::tree::{Change, Entry};
use perspt_store::Home;

use super::ledger::Unread;
use crate::fail::Failure;
use crate::out;
use crate::pick::read_session;
use crate::view::{energy_words, session_word, slug};

/// Shows the node of the first session that has it in its plan; the newest comes first.
pub fn show(home: &Home, sessions: &[SessionId], name: &str) -> Result<u8, Failure> {
    let mut unread = Unread::default();
    for id in sessions {
        let mut story = Story::new(name);
        let state = read_session(home, id, &mut |_, event, _| {
            if let Some(event) = event {
                story.saw(event);
            }
        });
        let Some(state) = unread.unless(id, state) else { continue };
        if let Some(node) = state.nodes.get(&story.node) {
            let running = home.holder(id)?.is_some();
            head(id, &state, node, running);
            story.lines.iter().for_each(|line| out::line(&out::plain(line)));
            return Ok(0);
        }
    }
    unread.others()?;
    Err(Failure::usage(
        "the node was not found",
        format!("no session has a node `{name}`"),
        "`perspt status` lists the nodes of a session",
    ))
}

fn head(id: &SessionId, state: &SessionState, node: &Node, running: bool) {
    let workspace = state.meta.as_ref().map_or("", |meta| meta.workspace.as_str());
    out::line(&format!("session    {id}  {}", session_word(state, running)));
    out::line(&format!("workspace  {}", out::plain(workspace)));
    out::line(&format!("node       {}  {}", node.spec.id, node.state().as_str()));
    out::line(&format!("goal       {}", out::plain(&node.spec.goal)));
}

/// The node's lines, in the order things happened.
struct Story {
    node: NodeId,
    /// Whose effects are under way.
    begun: BTreeMap<EffectId, Option<NodeId>>,
    lines: Vec<String>,
}

impl Story {
    fn new(node: &str) -> Story {
        Story { node: NodeId::from(node), begun: BTreeMap::new(), lines: Vec::new() }
    }

    fn saw(&mut self, event: &Event) {
        match event {
            // A plan that replaces another makes its nodes anew.
            Event::PlanAdopted { .. } => self.lines.clear(),
            Event::EffectStarted { id, key, .. } => {
                self.begun.insert(*id, key.node.clone());
            }
            Event::EffectEnded { id, outcome } => {
                let of = self.begun.remove(id).flatten();
                if of.as_ref() == Some(&self.node) {
                    self.ended(outcome);
                }
            }
            Event::AttemptJudged { node, attempt, energy, verdict, reason, .. } if *node == self.node => {
                let reason = reason.as_deref().map(|reason| format!("  {reason}")).unwrap_or_default();
                self.lines.push(format!(
                    "attempt {attempt:<2} {:<10} {}{reason}",
                    slug(verdict),
                    energy_words(energy)
                ));
            }
            Event::NodeClosed { node, end } if *node == self.node => match end {
                Closed::Escalated { certificate } => self.given_up(certificate),
                Closed::Blocked { by } => self.lines.push(format!("blocked    by {by}")),
                Closed::Rejected => self.lines.push("rejected   by you".to_owned()),
            },
            _ => {}
        }
    }

    fn ended(&mut self, outcome: &Ended) {
        match outcome {
            Ended::BundleParsed { retry: Some(class), violations, .. } => {
                let why = violations.first().map_or("", String::as_str);
                self.lines.push(format!("answer     {:<10} {why}", class.as_str()));
            }
            Ended::BaseMoved { changed, more, .. } => {
                let paths: Vec<&str> = changed.iter().map(|path| path.as_str()).collect();
                let more = if *more > 0 { format!(" and {more} more") } else { String::new() };
                self.lines.push(format!("rebased    {}{more}", paths.join(", ")));
            }
            Ended::Published { commit, .. } => self.committed(commit),
            _ => {}
        }
    }

    fn committed(&mut self, commit: &Commit) {
        self.lines.push(format!(
            "commit     {} merkle={} retries={} evidence={}{} model={}",
            commit.id().short(),
            commit.merkle.short(),
            commit.retries,
            commit.grade.as_str(),
            crate::view::consents_field(&commit.consents),
            out::value(&commit.model)
        ));
        self.lines.extend(commit.artifacts.iter().map(file));
    }

    fn given_up(&mut self, certificate: &Certificate) {
        self.lines.push(format!(
            "given up   {} ({}) answers={} corrections={}",
            slug(&certificate.reason),
            certificate.category.as_str(),
            certificate.answers,
            certificate.corrections
        ));
        self.lines
            .extend(certificate.energy.iter().map(|energy| format!("best       {}", energy_words(energy))));
        self.lines.extend(certificate.residuals.iter().map(|line| format!("  residual {line}")));
        self.lines.push(format!("next       {}", certificate.next));
    }
}

fn file(change: &Change) -> String {
    let hash = |entry: &Option<Entry>| entry.map_or("none".to_owned(), |entry| entry.hash.short());
    format!("  file     {} {} -> {}", change.path, hash(&change.before), hash(&change.after))
}
