//! What happens to the tree: commits that move it, users who do, and which node is worked on next.

use super::node::{Candidate, Held, Laying, Node, Wait, Work};
use super::{Baseline, PlanWork, SessionState, stage_key};
use crate::consent::Need;
use crate::effect::{Expects, TreeRef};
use crate::event::{Approval, Commit};
use crate::ids::NodeId;
use crate::outcome::NodeEnd;
use crate::path::RelPath;

impl SessionState {
    pub(super) fn move_head(&mut self, head: TreeRef) {
        self.head = Some(head);
        self.baseline = Baseline { tree: Some(head), ..Baseline::default() };
    }

    pub(super) fn published(&mut self, commit: &Commit, head: TreeRef) {
        for change in &commit.artifacts {
            if change.before.is_none() {
                self.authored.insert(change.path.clone());
            }
            self.edited.remove(&change.path);
        }
        self.parent = commit.id().0;
        let Some(node) = self.nodes.get_mut(&commit.node) else { return };
        let (readings, only_prose) = match &node.work {
            Work::Stable(candidate) => (candidate.readings.clone(), candidate.is_only_prose()),
            _ => (Vec::new(), false),
        };
        node.merkle = Some(commit.merkle);
        node.best = match std::mem::take(&mut node.work) {
            Work::Stable(candidate) => Some(*candidate),
            _ => None,
        };
        // Calibration comes after the judgement, and may have shown less.
        if let Some(judgement) = node.best.as_mut().and_then(|best| best.judgement.as_mut()) {
            judgement.grade = commit.grade;
            judgement.below.clone_from(&commit.below);
        }
        node.close(NodeEnd::Committed);
        for other in self.nodes.values_mut().filter(|node| node.end.is_none()) {
            other.rebase(head);
        }
        if only_prose {
            // What the tools said of the tree before they say of this one.
            (self.head, self.baseline.tree) = (Some(head), Some(head));
        } else {
            self.move_head(head);
        }
        for reading in readings.into_iter().filter(|reading| reading.tree == head.id) {
            if !self.role_of(&reading.stage).is_required() {
                continue;
            }
            let key = stage_key(&reading.stage);
            self.baseline.judged.insert(key.clone());
            self.baseline.readings.entry(key).or_default().push(reading);
        }
        self.active = None;
        self.choose_active();
    }

    pub(super) fn base_moved(&mut self, id: &Option<NodeId>, head: TreeRef, changed: &[RelPath]) {
        for (path, before) in changed.iter().zip(std::iter::repeat(self.head)) {
            if let Some(before) = before {
                self.edited.entry(path.clone()).or_insert(before);
            }
        }
        self.move_head(head);
        let committed = self.nodes.values().any(|node| node.end == Some(NodeEnd::Committed));
        if let Some(found) = self.found.as_mut().filter(|_| !committed) {
            found.base = head;
            self.parent = head.id.0;
            self.first_baseline.clear();
        }
        for node in self.nodes.values_mut().filter(|node| node.end == Some(NodeEnd::Committed)) {
            let Some(best) = &node.best else { continue };
            for path in changed {
                if best.diff.touches(path) && !node.changed_since.contains(path) {
                    node.changed_since.push(path.clone());
                }
            }
        }
        let open = |node: &&mut Node| node.end.is_none() && Some(&node.spec.id) != id.as_ref();
        self.nodes.values_mut().filter(open).for_each(|node| node.rebase(head));
        let Some(node) = self.node_mut(id) else { return };
        let laying = node.work.laying();
        node.generation = node.generation.saturating_add(1);
        node.rebuilds = node.rebuilds.saturating_add(1);
        node.overtaken();
        node.work = laying.map_or(Work::Context(node.first_intent()), Work::LayingOut);
    }

    /// Takes up what waits, now that more is permitted: a candidate is judged again, and an answer whose commands may
    /// run is laid out. Where the tree has moved since, the candidate is laid over the new one.
    pub(super) fn take_up_waiting(&mut self) {
        let head = self.head;
        for node in self.nodes.values_mut().filter(|node| node.waits()) {
            let Work::Waiting(wait) = &mut node.work else { continue };
            let missing = |needs: &[Need]| !self.consents.missing(needs).is_empty();
            node.work = match &wait.held {
                Held::Changes(_) if missing(&wait.needs) => continue,
                Held::Changes(laying) => Work::LayingOut(laying.clone()),
                Held::Candidate(candidate) if Some(candidate.branch.base) == head => {
                    Work::Verifying(Box::new(Candidate { judgement: None, ..(**candidate).clone() }))
                }
                Held::Candidate(candidate) => match candidate.branch.changes {
                    Some(changes) => Work::LayingOut(Laying { changes, commands: vec![] }),
                    None => Work::Context(node.first_intent()),
                },
            };
            if matches!(node.work, Work::Context(_)) {
                // What a failed attempt of before cites may be released by now.
                node.failure = None;
            }
        }
        self.active = None;
        self.choose_active();
    }

    /// The first node in the plan's order whose dependencies are all in the tree.
    pub(super) fn choose_active(&mut self) {
        if self.active.is_some() || self.planning.work != PlanWork::Done {
            return;
        }
        let committed =
            |id: &NodeId| self.nodes.get(id).is_some_and(|node| node.end == Some(NodeEnd::Committed));
        let next = self.order.iter().find(|id| {
            self.nodes.get(id).is_some_and(|node| {
                node.end.is_none() && !node.waits() && node.spec.dependencies.iter().all(committed)
            })
        });
        // Where someone can be asked, what waits is asked about once nothing else can go on.
        let asked = || {
            let asks = self.meta.as_ref().is_some_and(|meta| meta.approval == Approval::Person);
            self.order.iter().find(|id| asks && self.nodes.get(id).is_some_and(Node::waits))
        };
        if let Some(id) = next.or_else(asked).cloned() {
            if let Some(node) = self.nodes.get_mut(&id)
                && node.work == Work::Queued
            {
                node.work = match self.planning.bundle.take() {
                    None => Work::Context(node.first_intent()),
                    Some((answer, over)) => {
                        let intent = node.first_intent();
                        node.asker.answers.insert(intent, 1);
                        Work::Parsing { intent, answer, expects: Expects::Bundle(over) }
                    }
                };
            }
            self.active = Some(id);
        }
    }
}

impl Work {
    /// What it waits for, where it waits.
    pub(super) fn wait(&self) -> Option<&Wait> {
        match self {
            Work::Waiting(wait) => Some(wait),
            _ => None,
        }
    }

    /// What would have to be laid out again where the base moves.
    fn laying(&self) -> Option<Laying> {
        match self {
            Work::Stable(candidate) | Work::Verifying(candidate) => {
                candidate.branch.changes.map(|changes| Laying { changes, commands: vec![] })
            }
            Work::LayingOut(laying) => Some(laying.clone()),
            Work::Queued
            | Work::Context(_)
            | Work::Asking { .. }
            | Work::Parsing { .. }
            | Work::Waiting(_)
            | Work::Closed => None,
        }
    }
}

impl Node {
    /// The tree has moved under it. A candidate of the old tree is laid out again: laying out finds whether the two
    /// have changed the same files. A prompt that was made for the old tree is made again.
    fn rebase(&mut self, head: TreeRef) {
        let stale = self.best.as_ref().is_some_and(|best| best.branch.base != head);
        self.work = match std::mem::take(&mut self.work) {
            Work::Verifying(candidate) | Work::Stable(candidate) if candidate.branch.base != head => {
                match candidate.branch.changes {
                    Some(changes) => Work::LayingOut(Laying { changes, commands: vec![] }),
                    None => Work::Context(self.first_intent()),
                }
            }
            Work::Context(_) | Work::Asking { .. } if stale => {
                self.failure = None;
                Work::Context(self.first_intent())
            }
            Work::Asking { intent, .. } => Work::Context(intent),
            other => other,
        };
        if stale {
            self.best = None;
        }
    }

    /// Somebody else changed the files that its answer changes: it is asked for again.
    pub(super) fn overtaken(&mut self) {
        self.best = None;
        self.failure = None;
        self.same_answer = Default::default();
        self.same_findings = Default::default();
        self.work = Work::Context(self.first_intent());
    }
}
