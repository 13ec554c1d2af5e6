//! What happens to the tree: commits that move it, users who do, and which node is worked on next.

use super::node::Work;
use super::{PlanWork, SessionState, stage_key};
use crate::effect::{Intent, TreeRef};
use crate::event::Commit;
use crate::ids::NodeId;
use crate::outcome::NodeEnd;
use crate::path::RelPath;
use crate::reading::StageKind;

impl SessionState {
    pub(super) fn move_head(&mut self, head: TreeRef) {
        self.head = Some(head);
        self.baseline.tree = Some(head);
        self.baseline.readings.clear();
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
        let roots = node.roots.clone();
        let writes_code = node.spec.task_type != crate::plan::TaskType::Documentation;
        node.merkle = Some(commit.merkle);
        node.best = match std::mem::take(&mut node.work) {
            Work::Stable(candidate) => Some(*candidate),
            _ => None,
        };
        node.close(NodeEnd::Committed);
        self.head = Some(head);
        self.baseline.tree = Some(head);
        self.baseline.readings.clear();
        for reading in readings.into_iter().filter(|reading| reading.tree == head.id) {
            self.baseline.readings.entry(stage_key(&reading.stage)).or_default().push(reading);
        }
        for root in &roots {
            self.settle_evidence(root, commit, writes_code);
        }
        self.active = None;
        self.choose_active();
    }

    /// Code that no test of its root reached is owed a test; a run that collected some pays for the root.
    fn settle_evidence(&mut self, root: &crate::event::RootRef, commit: &Commit, writes_code: bool) {
        let test = root.stage(StageKind::Test);
        let collected = self
            .baseline_of(&test)
            .iter()
            .filter_map(|reading| reading.tests)
            .map(|tests| tests.collected())
            .max();
        let key = format!("{}|{}", root.dir.as_str(), root.plugin);
        match collected {
            Some(0) if writes_code => {
                let files = commit.artifacts.iter().filter(|change| change.after.is_some());
                self.owed.entry(key).or_default().extend(files.map(|change| change.path.clone()));
            }
            Some(0) | None => {}
            Some(_) => {
                self.owed.remove(&key);
            }
        }
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
        let Some(node) = self.node_mut(id) else { return };
        let open = node.spec.scope != crate::plan::OpenScope::Listed;
        // A file that is now a folder, or the other way round, is in the way as much as a changed one.
        let overlaps = |path: &RelPath, other: &RelPath| path.is_within(other) || other.is_within(path);
        let mut concerned = node.spec.output_files.iter().chain(&node.spec.modifies).chain(&node.reads);
        let touched =
            open || more > 0 || concerned.any(|file| changed.iter().any(|path| overlaps(path, file)));
        let changes = match &node.work {
            Work::Stable(candidate) | Work::Verifying(candidate) => candidate.branch.changes,
            Work::LayingOut { changes } => Some(*changes),
            Work::Waiting | Work::Context(_) | Work::Asking { .. } | Work::Parsing { .. } | Work::Closed => {
                None
            }
        };
        node.generation = node.generation.saturating_add(1);
        node.rebuilds = node.rebuilds.saturating_add(1);
        node.best = None;
        node.failure = None;
        node.same_answer = Default::default();
        node.same_findings = Default::default();
        node.work = match changes {
            Some(changes) if !touched => Work::LayingOut { changes },
            Some(_) | None => Work::Context(Intent::Generate),
        };
    }

    /// The first node in the plan's order whose dependencies are all in the tree.
    pub(super) fn choose_active(&mut self) {
        if self.active.is_some() || self.planning.work != PlanWork::Done {
            return;
        }
        let committed =
            |id: &NodeId| self.nodes.get(id).is_some_and(|node| node.end == Some(NodeEnd::Committed));
        let next = self.order.iter().find(|id| {
            self.nodes
                .get(id)
                .is_some_and(|node| node.end.is_none() && node.spec.dependencies.iter().all(committed))
        });
        if let Some(id) = next.cloned() {
            if let Some(node) = self.nodes.get_mut(&id)
                && node.work == Work::Waiting
            {
                node.work = Work::Context(Intent::Generate);
            }
            self.active = Some(id);
        }
    }
}
