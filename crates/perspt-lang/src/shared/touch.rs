//! What both languages' structure stages have in common: whose test it is, what the task asked for,
//! and texts a node's files must not hold.

use std::collections::{BTreeMap, BTreeSet};

use perspt_core::path::RelPath;
use perspt_core::residual::{Class, Component, Place, Residual};
use perspt_core::tree::Change;

use super::asked::{asks_by_name, asks_for, speaks_of};
use crate::plugin::Touch;

/// Who finds structural residuals.
pub(crate) const SENSOR: &str = "perspt structure";

/// How much a test demands, by its form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Strength {
    /// How many assertions it makes.
    pub assertions: usize,
    /// How often these compare something.
    pub comparisons: usize,
    /// How often they want two things equal.
    pub equalities: usize,
    /// How many ways out its assertions have: `a == 1 or b == 2`.
    pub alternatives: usize,
    /// How many forms it has that keep it from failing: assertions that always hold, early ends, failures caught.
    pub voids: usize,
    /// How many of these are blocks that never run.
    pub dead: usize,
    /// How often it calls something, assertions aside.
    pub calls: usize,
}

impl Strength {
    /// Whether a test can find nothing: it calls nothing, or only where nothing runs, and what it asserts holds anyway.
    fn is_empty(&self) -> bool {
        (self.calls == 0 || self.dead > 0) && self.assertions <= self.voids
    }

    /// What there is less of than before, in words; `None` where there is nothing.
    fn less_than(&self, old: &Strength) -> Option<String> {
        let counts = [
            ("assertions", old.assertions, self.assertions),
            ("equalities", old.equalities, self.equalities),
            ("comparisons", old.comparisons, self.comparisons),
        ];
        let fewer = counts.into_iter().find(|(_, old, new)| new < old);
        let more = ("ways out", old.alternatives, self.alternatives);
        let (what, old, new) = fewer.or_else(|| Some(more).filter(|(_, old, new)| new > old))?;
        Some(format!("{old} {what} before, {new} now"))
    }
}

/// One test of a file, as far as structure looks at it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Test {
    /// Its tokens, so that layout and comments do not count.
    pub tokens: String,
    /// How many marks that keep a test from running or from failing it carries.
    pub marks: usize,
    /// What it demands.
    pub strength: Strength,
    /// Where it starts.
    pub line: u32,
}

/// The tests of a file by their path in it.
pub(crate) type TestItems = BTreeMap<String, Test>;

/// An error of the structure stage.
pub(crate) fn error(class: Class, file: &RelPath, message: String) -> Residual {
    Residual::error(Component::Str, class, SENSOR, message).in_file(Some(file.clone()))
}

/// Something a reviewer should see that is not charged.
pub(crate) fn shown(class: Class, file: &RelPath, message: String) -> Residual {
    Residual::warning(Component::Str, class, SENSOR, message).in_file(Some(file.clone()))
}

/// Whether the tests of this file may be changed by this node whatever its type: the session made the
/// file, and the node is the one that owns it.
pub(crate) fn is_own(touch: &Touch<'_>, file: &RelPath) -> bool {
    touch.authored.contains(file)
        && (touch.node.output_files.contains(file) || touch.node.modifies.contains(file))
}

/// The charge for a changed rule of evidence; `None` where the task asks for one of its subjects.
pub(crate) fn evidence_changed(
    touch: &Touch<'_>,
    file: &RelPath,
    subjects: &[&str],
    what: String,
) -> Option<Residual> {
    if asks_for(touch.task, subjects) {
        return None;
    }
    let mut residual = error(Class::EvidenceRulesChanged, file, what);
    residual.hint = Some(
        "This decides how evidence is gathered, and the task does not ask for it. Leave it as it was, \
         or leave it out."
            .to_owned(),
    );
    Some(residual)
}

/// Files that have more of something than before, where all together have more: what only moved is not new.
pub(crate) fn more_than_before(
    before: &BTreeMap<RelPath, usize>,
    after: &BTreeMap<RelPath, usize>,
) -> Vec<RelPath> {
    if after.values().sum::<usize>() <= before.values().sum() {
        return Vec::new();
    }
    let more = after.iter().filter(|(path, count)| **count > before.get(*path).copied().unwrap_or_default());
    more.map(|(path, _)| path.clone()).collect()
}

/// The charge for code that does something else under test; `None` where the task speaks of it.
pub(crate) fn test_only(touch: &Touch<'_>, file: &RelPath, asked: &[&str], what: &str) -> Option<Residual> {
    let mut residual = error(Class::TestOnlyBehaviour, file, what.to_owned());
    residual.hint = Some("Let the code do the same whether tests run it or not.".to_owned());
    (!speaks_of(touch.task, asked)).then_some(residual)
}

/// Folders of nothing but what tests read or compare with.
const DATA_FOLDERS: [&str; 8] = [
    "testdata",
    "test_data",
    "test-data",
    "golden",
    "goldens",
    "__golden__",
    "__snapshots__",
    "expected_output",
];

/// Folders of the same kind whose names a module of the project may have too.
const DATA_OR_MODULE: [&str; 5] = ["fixtures", "snapshots", "expected", "expectations", "approved"];

/// Whether a folder of this name may hold nothing but what tests read or compare with.
pub(crate) fn is_data_folder(name: &str) -> bool {
    DATA_FOLDERS.contains(&name) || DATA_OR_MODULE.contains(&name)
}

/// Whether a project is data for the tests of another one: it lies in a folder of data below that one's. A project
/// of its own may well be called `snapshots`.
pub(crate) fn is_data_of(project: &RelPath, above: &RelPath) -> bool {
    let Some(below) = project.below(above).filter(|_| project != above) else { return false };
    let folders = below.rsplit_once('/').map_or("", |(folders, _)| folders);
    folders.split('/').any(is_data_folder) || DATA_FOLDERS.contains(&project.name())
}

/// Whether a file is data of tests by a folder it lies in. `source` is the language's extension: a source below
/// `fixtures` or `snapshots` may be an ordinary module.
pub(crate) fn is_test_data(path: &RelPath, source: &str) -> bool {
    let below = |names: &[&str]| path.ancestors().any(|folder| names.contains(&folder.name()));
    below(&DATA_FOLDERS) || (path.extension() != Some(source) && below(&DATA_OR_MODULE))
}

/// Files that say which version of a language's tools is run.
const VERSIONS: [&str; 3] = [".tool-versions", "mise.toml", ".mise.toml"];

/// Whether a file chooses the versions of tools, for whatever language.
pub(crate) fn chooses_tools(path: &RelPath) -> bool {
    VERSIONS.contains(&path.name())
}

/// Forbidden texts of the contract in the node's files, one residual each, at their first place.
pub(crate) fn forbidden_patterns(touch: &Touch<'_>, mine: impl Fn(&RelPath) -> bool) -> Vec<Residual> {
    let changed = touch.base.tree().changes_to(touch.candidate.tree());
    let mut files: BTreeSet<RelPath> = changed.into_iter().map(|change| change.path).collect();
    files.extend(touch.node.output_files.iter().cloned());
    let mut residuals = Vec::new();
    for file in files.iter().filter(|file| mine(file)) {
        let Some(text) = touch.candidate.text(file) else { continue };
        for pattern in touch.node.contract.forbidden_patterns.iter().filter(|pattern| !pattern.is_empty()) {
            let Some(at) = text.find(pattern.as_str()) else { continue };
            let line = text[..at].matches('\n').count() as u32 + 1;
            let message = format!("the contract forbids `{pattern}` in this node's files");
            let mut residual = error(Class::ForbiddenPattern, file, message);
            residual.place = Some(Place { line, column: 0 });
            residual.symbol = Some(pattern.clone());
            residuals.push(residual);
        }
    }
    residuals
}

/// What to do about a test that cannot fail.
const VOID_HINT: &str = "An assertion that always holds, an end before the assertions, a caught failure, a block that \
                         never runs or a second definition of the same name tests nothing. Put the test back.";

/// The last part of a test's path.
fn last(path: &str) -> &str {
    path.rsplit("::").next().unwrap_or(path)
}

/// What happened to the tests of one file that exist before and after.
pub(crate) fn compared(
    touch: &Touch<'_>,
    file: &RelPath,
    before: &TestItems,
    after: &TestItems,
) -> Vec<Residual> {
    let mut residuals = Vec::new();
    let own = is_own(touch, file);
    for (path, old) in before {
        let Some(new) = after.get(path).filter(|new| new.tokens != old.tokens) else { continue };
        let mut add = |mut residual: Residual| {
            residual.symbol = Some(path.clone());
            residual.place = Some(Place { line: new.line, column: 0 });
            residuals.push(residual);
        };
        if new.marks > old.marks {
            add(error(
                Class::TestWeakened,
                file,
                format!("the existing test `{path}` is now skipped, ignored or expected to fail"),
            ));
        }
        let is_void = new.strength.voids > old.strength.voids;
        if is_void {
            let message = format!("the existing test `{path}` has a new form that keeps it from failing");
            let mut residual = error(Class::TestWeakened, file, message);
            residual.hint = Some(VOID_HINT.to_owned());
            add(residual);
        }
        if touch.node.task_type.is_test() || own {
            add(shown(Class::TestChanged, file, format!("the existing test `{path}` was changed")));
        }
        if let Some(less) = new.strength.less_than(&old.strength).filter(|_| !own && !is_void) {
            let message = format!("`{path}` asserts less: {less}");
            let asked = asks_by_name(touch.task, last(path), file.name());
            add(if asked { shown } else { error }(Class::TestWeakened, file, message));
        }
    }
    residuals
}

/// The charges for new tests that can find nothing. `before` and `after` hold each changed file's tests; one that only
/// moved is not new.
pub(crate) fn empty_tests(
    before: &BTreeMap<RelPath, TestItems>,
    after: &BTreeMap<RelPath, TestItems>,
) -> Vec<Residual> {
    let was_there = |path: &str| before.values().flat_map(BTreeMap::keys).any(|old| last(old) == last(path));
    let mut residuals = Vec::new();
    for (file, tests) in after {
        for (path, test) in tests.iter().filter(|(path, test)| test.strength.is_empty() && !was_there(path)) {
            let message = format!("the new test `{path}` calls nothing and asserts nothing that could fail");
            let mut residual = error(Class::TestEmpty, file, message);
            residual.symbol = Some(path.clone());
            residual.place = Some(Place { line: test.line, column: 0 });
            residuals.push(residual);
        }
    }
    residuals
}

/// The items of one side that the other does not hold, in whatever order they stand.
pub(crate) fn left_over<'a, T, K: Ord>(these: &'a [T], others: &[T], same: impl Fn(&T) -> K) -> Vec<&'a T> {
    let mut there: BTreeMap<K, usize> = BTreeMap::new();
    for item in others {
        *there.entry(same(item)).or_default() += 1;
    }
    let mut missing = Vec::new();
    for item in these {
        match there.get_mut(&same(item)).filter(|left| **left > 0) {
            Some(left) => *left -= 1,
            None => missing.push(item),
        }
    }
    missing
}

/// Tests that a test node took away: gone from their file and from every other file it changed.
/// `before` and `after` hold each changed file's tests.
pub(crate) fn vanished(
    touch: &Touch<'_>,
    before: &BTreeMap<RelPath, TestItems>,
    after: &BTreeMap<RelPath, TestItems>,
) -> Vec<Residual> {
    if !touch.node.task_type.is_test() {
        return Vec::new();
    }
    let mut now: BTreeMap<String, usize> = BTreeMap::new();
    for path in after.values().flat_map(BTreeMap::keys) {
        *now.entry(last(path).to_owned()).or_default() += 1;
    }
    let mut residuals = Vec::new();
    for (file, tests) in before.iter().filter(|(file, _)| !is_own(touch, file)) {
        for path in tests.keys() {
            match now.get_mut(last(path)).filter(|left| **left > 0) {
                Some(left) => *left -= 1,
                None => {
                    let message = format!("the existing test `{path}` is gone");
                    let mut residual = error(Class::TestWeakened, file, message);
                    residual.symbol = Some(path.clone());
                    residuals.push(residual);
                }
            }
        }
    }
    residuals
}

/// A change of a file that was there and holds tests, or what tests compare with. `source` is the extension of the
/// files whose tests are compared one by one.
pub(crate) fn changed_test_file(
    touch: &Touch<'_>,
    change: &Change,
    source: &str,
    holds_tests: HoldsTests,
) -> Option<Residual> {
    change.before?;
    if is_own(touch, &change.path) {
        return None;
    }
    let deleted = if change.after.is_none() { Deleted::Yes } else { Deleted::No };
    if !touch.node.task_type.is_test() {
        return Some(not_its_test(&change.path, "an existing test file", deleted));
    }
    let is_data = change.path.extension() != Some(source);
    let what = match (is_data, holds_tests) {
        (true, _) => "what existing tests compare with was changed",
        (false, HoldsTests::No) => "what existing tests call was changed",
        (false, HoldsTests::Yes) => return None,
    };
    Some(shown(Class::TestChanged, &change.path, what.to_owned()))
}

/// Whether a source file had tests of its own, which are compared one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HoldsTests {
    /// It had.
    Yes,
    /// It is a helper of tests.
    No,
}

impl HoldsTests {
    /// By the tests that were found in it.
    pub fn of(tests: &TestItems) -> HoldsTests {
        if tests.is_empty() { HoldsTests::No } else { HoldsTests::Yes }
    }
}

/// The charge against a node that is not a test node for an existing test it changed or deleted.
pub(crate) fn not_its_test(file: &RelPath, what: &str, deleted: Deleted) -> Residual {
    let (class, did) = match deleted {
        Deleted::Yes => (Class::TestDeleted, "deletes"),
        Deleted::No => (Class::TestChanged, "changes"),
    };
    let mut residual = error(class, file, format!("a node that is not a test node {did} {what}"));
    residual.hint = Some("Leave existing tests as they are; put new tests into a new file.".to_owned());
    residual
}

/// Whether something is gone or only different.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deleted {
    /// Gone.
    Yes,
    /// Different.
    No,
}
