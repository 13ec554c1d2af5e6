//! What happens to the tree: commits that move it, users who do, and which node is worked on next.

use super::node::{Candidate, Held, Laying, Node, Wait, Work};
use super::{PlanWork, SessionState, stage_key};
use crate::consent::Need;
use crate::effect::{Intent, TreeRef};
use crate::event::{Approval, Commit};
use crate::ids::NodeId;
use crate::outcome::NodeEnd;
use crate::path::RelPath;

impl SessionState {
    pub(super) fn move_head(&mut self, head: TreeRef) {
        self.head = Some(head);
        self.baseline.tree = Some(head);
        self.baseline.readings.clear();
        self.baseline.judged.clear();
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
        let readings = match &node.work {
            Work::Stable(candidate) => candidate.readings.clone(),
            _ => Vec::new(),
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
        for other in self.nodes.values_mut() {
            other.overtaken_by(commit);
        }
        self.move_head(head);
        for reading in readings.into_iter().filter(|reading| reading.tree == head.id) {
            let key = stage_key(&reading.stage);
            self.baseline.judged.insert(key.clone());
            self.baseline.readings.entry(key).or_default().push(reading);
        }
        self.active = None;
        self.choose_active();
    }

    pub(super) fn base_moved(&mut self, id: &Option<NodeId>, head: TreeRef, changed: &[RelPath], more: u64) {
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
        for node in self.nodes.values_mut().filter(|node| Some(&node.spec.id) != id.as_ref()) {
            node.overtaken_by_user(changed, more);
        }
        let Some(node) = self.node_mut(id) else { return };
        let touched = node.is_touched_by(changed, more);
        let laying = node.work.laying();
        node.generation = node.generation.saturating_add(1);
        node.rebuilds = node.rebuilds.saturating_add(1);
        node.best = None;
        node.failure = None;
        node.same_answer = Default::default();
        node.same_findings = Default::default();
        node.work = match laying {
            Some(laying) if !touched => Work::LayingOut(laying),
            Some(_) | None => Work::Context(Intent::Generate),
        };
    }

    /// Takes up what waits, now that more is permitted: a candidate is judged again, and an answer whose commands may
    /// run is laid out. What another node has overtaken is laid over the new head, or asked for again where the
    /// two overlap.
    pub(super) fn take_up_waiting(&mut self) {
        let head = self.head;
        for node in self.nodes.values_mut().filter(|node| node.waits()) {
            let Work::Waiting(wait) = &mut node.work else { continue };
            let missing = |needs: &[Need]| !self.consents.missing(needs).is_empty();
            node.work = match &wait.held {
                Held::Changes(_) if missing(&wait.needs) => continue,
                Held::Changes(_) if wait.overtaken => Work::Context(Intent::Generate),
                Held::Changes(laying) => Work::LayingOut(laying.clone()),
                Held::Candidate(_) if wait.overtaken => Work::Context(Intent::Generate),
                Held::Candidate(candidate) if Some(candidate.branch.base) == head => {
                    Work::Verifying(Box::new(Candidate { judgement: None, ..(**candidate).clone() }))
                }
                Held::Candidate(candidate) => match candidate.branch.changes {
                    Some(changes) => Work::LayingOut(Laying { changes, commands: vec![] }),
                    None => Work::Context(Intent::Generate),
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
                node.work = Work::Context(Intent::Generate);
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
    /// Whether what the user changed has to do with what it writes or was shown.
    fn is_touched_by(&self, changed: &[RelPath], more: u64) -> bool {
        let open = self.spec.scope.is_open();
        // A file that is now a folder, or the other way round, is in the way as much as a changed one.
        let overlaps = |path: &RelPath, other: &RelPath| path.is_within(other) || other.is_within(path);
        let declared = self.spec.changes_tests.iter().map(|declared| &declared.path);
        let own = self.spec.output_files.iter().chain(&self.spec.modifies).chain(declared);
        let mut concerned = own.chain(&self.reads);
        open || more > 0 || concerned.any(|file| changed.iter().any(|path| overlaps(path, file)))
    }

    /// The user changed files, and it was not this node that noticed. What would be laid over them is asked for again.
    fn overtaken_by_user(&mut self, changed: &[RelPath], more: u64) {
        let touched = self.is_touched_by(changed, more);
        match &mut self.work {
            Work::Waiting(wait) => {
                let in_diff = |candidate: &Candidate| changed.iter().any(|path| candidate.diff.touches(path));
                let differs = matches!(&wait.held, Held::Candidate(candidate) if in_diff(candidate));
                wait.overtaken |= touched || differs;
            }
            Work::LayingOut(_) if touched => {
                self.failure = None;
                self.work = Work::Context(Intent::Generate);
            }
            Work::LayingOut(_)
            | Work::Queued
            | Work::Context(_)
            | Work::Asking { .. }
            | Work::Parsing { .. }
            | Work::Verifying(_)
            | Work::Stable(_)
            | Work::Closed => {}
        }
    }

    /// Marks what waits where another node's commit has to do with the same files.
    fn overtaken_by(&mut self, commit: &Commit) {
        let Work::Waiting(wait) = &mut self.work else { return };
        wait.overtaken |= match &wait.held {
            Held::Changes(_) => true,
            Held::Candidate(candidate) => {
                commit.artifacts.iter().any(|change| candidate.diff.touches(&change.path))
            }
        };
    }
}
