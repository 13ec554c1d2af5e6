//! The tests as they were, over the code as it is now. A candidate that brings or changes tests could make its own
//! code look right from their side; so what was demanded before is demanded of the new code too, by the tests of
//! before and without the new ones.

use std::collections::BTreeSet;

use perspt_core::effect::{Branch, TreeRef};
use perspt_core::event::{MissingTool, RunNote};
use perspt_core::judge::TEST_UNITS;
use perspt_core::outcome::NodeEnd;
use perspt_core::path::RelPath;
use perspt_core::reading::{Reading, StageId, TestEnd, TestName, TestResult};
use perspt_core::residual::{Class, Component, Milli, Residual};
use perspt_core::stage::Root;
use perspt_core::state::{Node, SessionState};
use perspt_core::tree::{EntryKind, Tree};
use perspt_lang::plugin::{Files, Plugin, Touch, Was};
use perspt_lang::{
    asks_to_change, asks_to_rewrite, is_about, is_about_behaviour, is_about_change, is_about_each_line,
    is_about_gain, only_renames, same_values, stands_in,
};
use perspt_sandbox::Cancel;

use crate::actor::{Actor, Halt};
use crate::files::{Sources, TreeFiles};

/// A green reading of a candidate, and what it is held against.
pub(super) struct Green<'a> {
    /// The reading.
    pub reading: &'a Reading,
    /// Readings of before, the last one of the tree that the candidate began with.
    pub before: &'a [Reading],
    /// The candidate's files.
    pub files: &'a TreeFiles,
}

/// What the tests of before have against a candidate's code.
#[derive(Default)]
pub(super) struct Outvoted {
    /// What they have against it.
    pub residuals: Vec<Residual>,
    /// What was run to find out.
    pub runs: Vec<RunNote>,
    /// What kept them from being run.
    pub environment: Option<MissingTool>,
}

impl Outvoted {
    /// Whether there is nothing against the candidate.
    pub fn is_nothing(&self) -> bool {
        self.residuals.is_empty() && self.environment.is_none()
    }
}

impl Actor {
    /// What the tests of before have against the candidate's code.
    pub(super) async fn tests_as_before(
        &self,
        state: &SessionState,
        (node, branch): (&Node, &Branch),
        (stage, root, plugin): (&StageId, &Root, &'static dyn Plugin),
        green: &Green<'_>,
        cancel: &Cancel,
    ) -> Result<Outvoted, Halt> {
        let Some((first, head)) = first_look(state, branch, green.before) else {
            return Ok(Outvoted::default());
        };
        let base = TreeFiles::new(self.tests_of_the_user(state, first, branch)?, self.sources());
        let task = state.meta.as_ref().map_or("", |meta| meta.task.as_str());
        let (spec, authored) = (&node.spec, &state.authored);
        let touch = || Touch { base: &base, candidate: green.files, node: spec, task, authored };
        let was = plugin.tests_as_before(&touch());
        if was.is_empty() {
            return Ok(Outvoted::default());
        }
        let changed: BTreeSet<RelPath> = was.keys().cloned().collect();
        let (tree, sources) = with_tests(&touch(), was, self.sources());
        let code = TreeFiles::new(tree.clone(), sources.clone());
        base.is_whole()?;
        let (mut runs, mut environment) = (Vec::new(), None);
        let old = if tree.id() == head.tree {
            head.clone()
        } else {
            let mut bench = self.bench().await?;
            let (laid, root) = ((&tree, &sources), (root, Some(plugin)));
            let old;
            (old, environment) = self.take_whole(state, &mut bench, laid, stage, root, cancel).await?;
            runs = std::mem::take(&mut bench.runs);
            old
        };
        if environment.is_some() {
            return Ok(Outvoted { runs, environment, ..Default::default() });
        }
        let node_base = self.tree_of(branch.base)?;
        let changed_before = |file: &RelPath| {
            let (first, now) = (base.tree().entries.get(file), node_base.entries.get(file));
            first != now
        };
        let whole = |files: &TreeFiles, path: &RelPath| files.text(path).unwrap_or_default();
        // A test may reach what the task names through something else.
        let code_as_asked =
            base.tree().changes_to(code.tree()).iter().all(|change| {
                is_about_each_line(task, &whole(&base, &change.path), &whole(&code, &change.path))
            });
        let may_change = |test: &Demand<'_>| {
            let Demand { old: OldTest { name, file }, end, over } = test;
            let text = |files: &TreeFiles, name: &str| plugin.test_text(files, file, name);
            let about = |name: &str| is_about(task, name, &text(&base, name).unwrap_or_default());
            // Another test of its file, or what they import, may be why it cannot be built.
            let beside = || {
                let (before, after) = (whole(&base, file), whole(green.files, file));
                let mut others = names_of(head).filter(|other| text(&base, other).is_some());
                others.any(about) || is_about_change(task, &before, &after)
            };
            let as_it_was = || text(&base, name).is_some() && text(&base, name) == text(green.files, name);
            let may_demand = || match over {
                Over::Failed => {
                    let was = text(&base, name).unwrap_or_default();
                    let now = text(green.files, name).unwrap_or_default();
                    is_about_behaviour(task, name, &was)
                        || (is_about(task, name, &was) && is_about_gain(task, &was, &now))
                        || code_as_asked
                }
                Over::NotRun => about(name) || (as_it_was() && beside()),
            };
            // What failed shows what is wrong, whatever the task is about.
            let may = *end == TestEnd::Passed && may_demand();
            // What an earlier node changed was excused there.
            let by_test_node = spec.task_type.is_test() || changed_before(file);
            let asked = may || asks_to_change(task, test.old.function(), file.name());
            let with_other_values = || match (text(&base, name), text(green.files, name)) {
                (Some(was), Some(now)) => only_renames(task) && !same_values(task, &was, &now),
                _ => false,
            };
            by_test_node && asked && !with_other_values()
        };
        // A runner may know no more of a test than the crate it is built into.
        let home = |name: &str| changed.iter().find(|file| plugin.test_text(&base, file, name).is_some());
        let unmet = unmet(head, green, &old, &home).into_iter();
        let charged = unmet.filter(|test| !may_change(test)).map(|test| test.residual(&old));
        let mut residuals: Vec<Residual> = charged.collect();
        if spec.task_type.is_test() {
            let node_base = TreeFiles::new(node_base.clone(), self.sources());
            let needless = |test: &OldTest<'_>| {
                let text = |files: &TreeFiles| plugin.test_text(files, &test.file, test.name);
                let (was, now) = (text(&base), text(green.files));
                let differs = now.is_some() && now != was && now != text(&node_base);
                let (was, now) = (was.unwrap_or_default(), now.unwrap_or_default());
                // What the task speaks of may be tested more.
                let grows = || is_about(task, test.name, &was) && stands_in(&was, &now);
                differs && !grows() && !asks_to_rewrite(task, test.function(), test.file.name())
            };
            let met = met(head, &old, &home).into_iter().filter(needless);
            residuals.extend(met.map(|test| test.needless(&old.tool)));
        }
        Ok(Outvoted { residuals, runs, environment })
    }

    /// The tree that the session began with, and what the user changed of it since: files that differ from it now and
    /// that no commit of the session touched last.
    pub(super) fn tests_of_the_user(
        &self,
        state: &SessionState,
        first: TreeRef,
        branch: &Branch,
    ) -> Result<Tree, Halt> {
        let (mut tree, now) = (self.tree_of(first)?, self.tree_of(branch.base)?);
        let is_ours = |path: &RelPath| {
            let mut committed = state.nodes.values().filter(|node| node.end == Some(NodeEnd::Committed));
            committed.any(|node| {
                let touched = node.best.as_ref().is_some_and(|best| best.diff.touches(path));
                touched && !node.changed_since.contains(path)
            })
        };
        for change in tree.changes_to(&now).into_iter().filter(|change| !is_ours(&change.path)) {
            match change.after {
                Some(entry) => tree.entries.insert(change.path, entry),
                None => tree.entries.remove(&change.path),
            };
        }
        Ok(tree)
    }
}

/// The tree the session began with and the reading of its tests; that of the head where the first was not measured.
pub(super) fn first_look<'a>(
    state: &SessionState,
    branch: &Branch,
    before: &'a [Reading],
) -> Option<(TreeRef, &'a Reading)> {
    let first = state.found.as_ref().map(|found| found.base);
    let of = |tree: TreeRef| Some((tree, before.iter().find(|reading| reading.tree == tree.id)?));
    let (tree, reading) = first.and_then(of).or_else(|| Some((branch.base, before.last()?)))?;
    let has_tests = reading.tests.as_ref().is_some_and(|tests| !tests.results.is_empty());
    has_tests.then_some((tree, reading))
}

/// The tests of a reading.
fn names_of(reading: &Reading) -> impl Iterator<Item = &str> {
    reading.tests.iter().flat_map(|tests| tests.results.keys()).map(|name| name.0.as_str())
}

/// The candidate's tree with the tests of its base.
pub(super) fn with_tests(
    touch: &Touch<'_>,
    was: impl IntoIterator<Item = (RelPath, Was)>,
    mut sources: Sources,
) -> (Tree, Sources) {
    let mut tree = touch.candidate.tree().clone();
    for (path, was) in was {
        let kind = tree.entries.remove(&path).map_or(EntryKind::File, |entry| entry.kind);
        let entry = match was {
            Was::Base => touch.base.tree().entries.get(&path).copied(),
            Was::Absent => None,
            Was::Text(text) => Some(sources.hold(kind, text)),
        };
        tree.entries.extend(entry.map(|entry| (path, entry)));
    }
    (tree, sources)
}

/// A test of before.
struct OldTest<'a> {
    name: &'a str,
    /// The file that holds it, as far as that is known.
    file: RelPath,
}

/// A test of before that the new code does not pass as it was.
struct Demand<'a> {
    old: OldTest<'a>,
    /// How it ended before.
    end: TestEnd,
    /// How it ends over the new code.
    over: Over,
}

/// How a test of before ends over code that it does not pass.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Over {
    Failed,
    /// It cannot be built or collected over it, or is skipped.
    NotRun,
}

impl OldTest<'_> {
    /// The name of its function.
    fn function(&self) -> &str {
        let last = self.name.split('[').next().unwrap_or_default();
        last.rsplit("::").next().unwrap_or(last)
    }

    /// The charge for changing it, where it passes as it was.
    fn needless(&self, sensor: &str) -> Residual {
        let name = self.name.split('[').next().unwrap_or(self.name);
        let message = format!(
            "the test `{name}` does not demand what it did, though it passes over this code as it was and the task \
             does not ask for that"
        );
        let mut residual = Residual::error(Component::Log, Class::TestChangedUnasked, sensor, message);
        residual.score = Milli::units(TEST_UNITS);
        residual.symbol = Some(name.to_owned());
        residual.hint = Some("Leave every line of it as it was; put what you add beside it.".to_owned());
        residual.in_file(Some(self.file.clone()))
    }
}

impl Demand<'_> {
    fn residual(&self, old: &Reading) -> Residual {
        let of_it =
            || old.residuals.iter().find(|residual| residual.symbol.as_deref() == Some(self.old.name));
        // Where it could not be built or collected, the first error says why.
        let told = of_it().or_else(|| old.residuals.iter().find(|residual| residual.counts()));
        let told = told.map(|residual| format!(": {}", residual.message)).unwrap_or_default();
        let message = format!(
            "the test `{}` as it was does not pass over this code, only with tests that are changed or new{told}",
            self.old.name
        );
        let mut residual = Residual::error(Component::Log, Class::TestOutvoted, &old.tool, message);
        residual.score = Milli::units(TEST_UNITS);
        residual.symbol = Some(self.old.name.to_owned());
        residual.hint = Some(
            "Mend the code, and let existing tests and what they stand on be as they were: the task does not say \
             that this test may demand something else. Where the task cannot be done so, ask for another plan and \
             say why."
                .to_owned(),
        );
        residual.in_file(Some(self.old.file.clone()).filter(|file| !file.is_root()))
    }
}

/// How a test ended.
pub(super) fn end(reading: &Reading, name: &TestName) -> Option<TestEnd> {
    reading.tests.as_ref()?.results.get(name).map(|result| result.end)
}

/// Tests of before that passed and still do as they were, each function once, of files that were changed.
fn met<'a>(head: &'a Reading, old: &Reading, home: &dyn Fn(&str) -> Option<&'a RelPath>) -> Vec<OldTest<'a>> {
    let mut seen = BTreeSet::new();
    let passed = |name: &TestName| [head, old].iter().all(|one| end(one, name) == Some(TestEnd::Passed));
    let results = head.tests.iter().flat_map(|tests| tests.results.keys()).filter(|name| passed(name));
    let demands = results.filter_map(|name| {
        let file = home(&name.0)?;
        let function = name.0.split('[').next().unwrap_or(&name.0);
        let first = seen.insert((file, function.to_owned()));
        first.then(|| OldTest { name: &name.0, file: file.clone() })
    });
    demands.collect()
}

/// Tests of before that pass now, or are there under other names, and do not pass as they were. `home` knows those that
/// stand in a file which was changed.
fn unmet<'a>(
    head: &'a Reading,
    green: &Green<'_>,
    old: &Reading,
    home: &dyn Fn(&str) -> Option<&'a RelPath>,
) -> Vec<Demand<'a>> {
    // Where nothing of the old tests can be built, only those that were changed are in question.
    let any = old.tests.as_ref().is_some_and(|tests| !tests.results.is_empty());
    let wavers = |name: &TestName| {
        let ends: BTreeSet<_> = green
            .before
            .iter()
            .filter(|one| one.tree == head.tree)
            .filter_map(|one| end(one, name))
            .collect();
        ends.len() > 1
    };
    let counts = |(name, result): &(&TestName, &TestResult)| {
        let now = end(green.reading, name);
        result.end != TestEnd::Skipped
            && matches!(now, Some(TestEnd::Passed) | None)
            && end(old, name) != Some(TestEnd::Passed)
            && !wavers(name)
    };
    let results = head.tests.iter().flat_map(|tests| &tests.results).filter(counts);
    let demands = results.filter_map(|(name, result)| {
        let file = match home(&name.0) {
            Some(file) => file.clone(),
            None if any => result.file.clone().unwrap_or_else(RelPath::root),
            None => return None,
        };
        let over = if end(old, name) == Some(TestEnd::Failed) { Over::Failed } else { Over::NotRun };
        Some(Demand { old: OldTest { name: &name.0, file }, end: result.end, over })
    });
    demands.collect()
}
